"""The quality of the connection to a voice room: the server's rating, and the round-trip time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Final

from livekit import rtc

from agent_tui.clients.voice.room_link import RtcLink
from agent_tui.clients.voice.running import SessionTasks
from agent_tui.model.voice import LinkMeasured, Quality, VoiceEvent

MEASURE_EVERY_SECONDS: Final = 2.0
_QUALITIES: Final[dict[int, Quality]] = {0: "poor", 1: "good", 2: "excellent", 3: "lost"}


class LinkQuality:
    """The quality of our own connection, "unknown" until the server rates it."""

    def __init__(self, running: SessionTasks) -> None:
        self._running = running
        self._now: Quality = "unknown"

    def changed(self, link: RtcLink, who: rtc.Participant | None, quality: int) -> Iterable[VoiceEvent]:
        """Take the server's rating of a participant's connection."""
        if who is not None and who.identity == link.room.local_participant.identity:
            self._now = _QUALITIES.get(int(quality), "unknown")
            yield LinkMeasured(self._now)

    async def measure(self, link: RtcLink) -> None:
        """Tell every two seconds how long a round trip takes, until the room is left."""
        while not link.is_left:
            await asyncio.sleep(MEASURE_EVERY_SECONDS)
            round_trip = await link.round_trip()
            if round_trip is not None:
                self._running.tell(LinkMeasured(self._now, round_trip))
