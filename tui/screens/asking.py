"""Screens on which tools ask before they run: they have the approvals, and say where their questions are."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from agent_tui.state.conversation import ConversationState
from tui.link import Link
from tui.screens.approvals import Approvals
from tui.screens.live_screen import LiveScreen
from tui.screens.live_texts import Spot
from tui.screens.writing import Writing
from widgets.terminal.frame_clock import FrameClock
from widgets.transcript.transcript import Transcript


class Asking(LiveScreen):
    """A room or a chat: what it is asked is in ``approvals.Questions``, which it is."""

    state: ConversationState
    _composer: Writing
    _link: Link[Any]

    def __init__(self, clock: FrameClock, *, ascii_only: bool) -> None:
        super().__init__(clock, ascii_only=ascii_only)
        self._approvals = Approvals(self, self._show_soon, clock, ascii_only=ascii_only)
        self.now: Callable[[], float] = time.monotonic

    @property
    def composer(self) -> Writing:
        """Where it is written."""
        return self._composer

    async def client(self) -> Any:
        """Return the client of the room's or the chat's server."""
        return await self._link.client()

    @abstractmethod
    def place_of(self, spot: Spot) -> tuple[Transcript, str] | None:
        """Return which transcript shows what would be done, and the key of the row there."""

    @abstractmethod
    def go_to_ask(self, spot: Spot) -> None:
        """Have a transcript shown that has the question."""

    @abstractmethod
    def focus_words(self) -> None:
        """Give the focus to what is read."""

    def on_transcript_resized(self, event: Transcript.Resized) -> None:
        """What is asked stays readable."""
        self._approvals.keep_readable(event.transcript)

    def on_screen_resume(self) -> None:
        """A dialog was closed: a key that is still down was meant for that."""
        self._approvals.uncovered()
