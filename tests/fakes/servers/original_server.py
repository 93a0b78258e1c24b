"""A server of the original system: it answers one POST with a stream, and nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from tests.fakes.servers.http_server import FakeServer, Request, Responder, streams
from tests.fakes.servers.room_frames import Event, frame


class OriginalServer(FakeServer):
    """The stream sends ``events``; with ``stop_after`` it sends only so many of them and then does ``then``:
    ``drop`` or ``reset`` the connection, ``end`` it cleanly, or ``stay`` silent until the client leaves.

    Each POST begins anew, which is why nobody may repeat one: ``posts`` counts them.
    """

    STREAM: ClassVar[str]  # where it is asked for, as a pattern

    def __init__(self, events: Sequence[Event], *, stop_after: int | None = None, then: str = "drop") -> None:
        super().__init__()
        self.events = list(events)
        self.stop_after = stop_after
        self.then = then

    @property
    def posts(self) -> int:
        """How many streams were asked for."""
        return sum(request.method == "POST" for request in self.requests)

    def responder(self, request: Request) -> Responder:
        if request.method == "POST" and re.fullmatch(self.STREAM, request.path):
            frames = [frame(name, data) for name, data in self.events]
            if self.stop_after is None:
                return streams(*frames)
            return streams(*frames[: self.stop_after], then=self.then)
        return super().responder(request)
