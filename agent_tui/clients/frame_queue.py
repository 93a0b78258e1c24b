"""Received frames that were not taken yet, so that a paused reader does not stop reading from the socket.

A socket that is not read answers no ping, and is closed. So everything is read at once and waits here. When
there is much, pieces of one text are joined; nothing is dropped.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Final

from agent_tui.model.errors import AgentTuiError, ProtocolError
from agent_tui.wire.agent_socket import (
    CLIENT_TOOL_CALL,
    CLIENT_TOOL_RESULT,
    CUSTOM_UPDATE,
    TEXT_CHUNK,
    TOOL_CALL_CHUNK,
    TOOL_RESULT,
    SocketFrame,
)

MERGED_FROM: Final = 256  # waiting frames, from which pieces are joined
MAX_CHARACTERS: Final = 64 * 1024 * 1024
_FRAME_CHARACTERS: Final = 500  # the cost of a frame besides its texts
_GROWING: Final = {TEXT_CHUNK: "text", TOOL_CALL_CHUNK: "args_chunk"}
_OF_A_SOURCE: Final = frozenset({TEXT_CHUNK, TOOL_CALL_CHUNK, TOOL_RESULT, CUSTOM_UPDATE})


@dataclass(slots=True)
class _Waiting:
    frame: SocketFrame
    characters: int
    pieces: list[str] = field(default_factory=list)  # what was added to its text

    def whole(self) -> SocketFrame:
        if not self.pieces:
            return self.frame
        name = _GROWING[self.frame.type]
        text = "".join((self.frame.text(name), *self.pieces))
        return SocketFrame(self.frame.type, {**self.frame.fields, name: text})


class FrameQueue:
    """The frames of one answer, for one reader. ``put`` never waits. ``is_in_tool``: according to what was
    taken, a tool is running.
    """

    def __init__(self, *, max_characters: int = MAX_CHARACTERS) -> None:
        self.received = 0  # frames that were put in
        self._waiting: deque[_Waiting] = deque()
        self._newest: dict[str, _Waiting] = {}  # source → its newest frame, if it is waiting
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
        self._changed.set()
        if len(self) >= MERGED_FROM and (newest := self._grows(frame)) is not None:
            newest.pieces.append(frame.text(_GROWING[frame.type]))
            newest.characters += characters
            self._characters += characters
            return
        waiting = _Waiting(frame, characters + _FRAME_CHARACTERS)
        self._characters += waiting.characters
        self._waiting.append(waiting)
        if frame.type in _OF_A_SOURCE:  # the order of different sources does not matter
            self._newest[frame.source] = waiting
        else:
            self._newest.clear()

    def _grows(self, frame: SocketFrame) -> _Waiting | None:
        """Return the waiting frame whose text ``frame`` continues, if there is one."""
        newest = self._newest.get(frame.source)
        is_same = newest is not None and newest.frame.type == frame.type
        return newest if is_same and frame.type in _GROWING and not frame.text("tool_name") else None

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
        waiting = self._waiting.popleft()
        frame = waiting.whole()
        if self._newest.get(frame.source) is waiting:
            del self._newest[frame.source]
        self._characters -= waiting.characters
        self._note_tool(frame)
        return frame

    def _note_tool(self, frame: SocketFrame) -> None:
        if frame.type in (CLIENT_TOOL_CALL, CLIENT_TOOL_RESULT):
            here = "", frame.text("call_id")  # no source has this name
            self._running[here] = int(frame.type == CLIENT_TOOL_CALL)
        source, name = frame.source, frame.text("tool_name")
        if frame.type == TOOL_CALL_CHUNK and name:
            self._running[source, name] += 1
        elif frame.type in (TOOL_RESULT, CLIENT_TOOL_CALL):  # the server may have streamed the client's call
            own = (call for call in +self._running if call[0] == source and name in ("", call[1]))
            if (call := next(own, None)) is not None:
                self._running[call] -= 1
