"""Received frames that were not taken yet, so that a paused reader does not stop reading from the socket.

A socket that is not read answers no ping, and is closed. So everything is read at once and waits here, and
nothing is dropped.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from typing import Final

from agent_tui.model.errors import AgentTuiError, ProtocolError
from agent_tui.wire.agent_socket import (
    CLIENT_TOOL_CALL,
    CLIENT_TOOL_RESULT,
    TOOL_CALL_CHUNK,
    TOOL_RESULT,
    SocketFrame,
)

MAX_CHARACTERS: Final = 64 * 1024 * 1024
_FRAME_CHARACTERS: Final = 500  # the cost of a frame besides its texts


class FrameQueue:
    """The frames of one answer, for one reader. ``put`` never waits. ``is_in_tool``: according to what was
    taken, a tool is running.
    """

    def __init__(self, *, max_characters: int = MAX_CHARACTERS) -> None:
        self.received = 0  # frames that were put in
        self._waiting: deque[tuple[SocketFrame, int]] = deque()  # each with its characters
        self._characters = 0
        self._max_characters = max_characters
        self._error: AgentTuiError | None = None
        self._changed = asyncio.Event()
        self._running: Counter[tuple[str, str]] = Counter()  # calls without a result, by source and tool

    @property
    def is_in_tool(self) -> bool:
        return self._running.total() > 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, frame: SocketFrame, characters: int) -> None:
        """Add a frame of ``characters``; raises ``ProtocolError`` when too much is waiting."""
        self.received += 1
        if self._characters + characters > self._max_characters:
            raise ProtocolError("the answer is too large", "More waits to be shown than can be kept.")
        self._characters += characters + _FRAME_CHARACTERS
        self._waiting.append((frame, characters + _FRAME_CHARACTERS))
        self._changed.set()

    def fail(self, error: AgentTuiError) -> None:
        """Make ``get`` raise ``error`` after everything that is waiting was taken."""
        self._error = self._error or error
        self._changed.set()

    async def get(self) -> SocketFrame:
        """Return the next frame; raises the error given to ``fail``. Safe to cancel."""
        while not self._waiting:
            if self._error is not None:
                raise self._error
            self._changed.clear()
            await self._changed.wait()
        frame, characters = self._waiting.popleft()
        self._characters -= characters
        self._note_tool(frame)
        return frame

    def _note_tool(self, frame: SocketFrame) -> None:
        if frame.type in (CLIENT_TOOL_CALL, CLIENT_TOOL_RESULT):
            client_call = "", frame.text("call_id")  # no source has this name
            self._running[client_call] = int(frame.type == CLIENT_TOOL_CALL)
        source, name = frame.source, frame.text("tool_name")
        if frame.type == TOOL_CALL_CHUNK and name:
            self._running[source, name] += 1
        elif frame.type in (TOOL_RESULT, CLIENT_TOOL_CALL):  # the server may have streamed the client's call
            calls = (call for call in +self._running if call[0] == source and name in ("", call[1]))
            if (call := next(calls, None)) is not None:
                self._running[call] -= 1
