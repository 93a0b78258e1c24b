"""Server-sent events, inwards: bytes to frames, exactly as the WHATWG standard says (HTML, 9.2.6).

Pure: no socket, no clock. One parser reads one connection; the next connection gets a new one that is
told the ``last_event_id`` of the one before. Every byte is looked at a constant number of times, however
the stream is cut into chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from agent_tui.errors import ProtocolError

MAX_EVENT_BYTES = 64 * 1024 * 1024
MAX_RETRY_MS = 1_000_000_000

_BOM = b"\xef\xbb\xbf"
_MAX_RETRY_DIGITS = 9  # int() of a hostile run of digits is quadratic, and refuses 4300 of them


class Frame(NamedTuple):
    """One dispatched event. ``id`` is the stream's last event id, which stays until a frame changes it."""

    event: str
    data: str
    id: str


class SSEParser:
    """Turns the bytes of one event stream into frames.

    ``last_event_id`` is what ``Last-Event-ID`` must say on the next connection: it moves at the blank
    line that ends a block, also when the block dispatches nothing. ``retry`` is the server's wish for the
    delay before reconnecting, in ms. ``on_comment`` gets the text of each comment: a sign of life.
    """

    def __init__(
        self,
        last_event_id: str = "",
        max_event_bytes: int = MAX_EVENT_BYTES,
        on_comment: Callable[[str], None] | None = None,
    ) -> None:
        self.last_event_id = last_event_id
        self.retry: int | None = None
        self._max_event_bytes = max_event_bytes
        self._on_comment = on_comment
        self._at_start = True
        self._after_cr = False
        self._rest = bytearray()  # the line that is not complete yet
        self._name = b""
        self._data = bytearray()  # each data line with a line feed behind it
        self._id = last_event_id

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that ``chunk`` completes.

        Raises ``ProtocolError`` when one event, or one line, grows over the limit; what is buffered
        at the end of a stream is simply never dispatched, as the standard wants it.
        """
        frames: list[Frame] = []
        *lines, rest = self._split(chunk)
        for line in lines:
            whole = self._whole_line(line)
            if whole:
                self._field(whole)
            elif (frame := self._dispatch()) is not None:
                frames.append(frame)
        self._rest += rest
        self._check_size()
        return frames

    def _split(self, chunk: bytes) -> list[bytes]:
        """Cut at LF, CR and CRLF. A CR ends its line at once; an LF right after it belongs to it."""
        if self._after_cr and chunk:
            self._after_cr = False
            if chunk.startswith(b"\n"):
                chunk = chunk[1:]
        if b"\r" in chunk:
            self._after_cr = chunk.endswith(b"\r")
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return chunk.split(b"\n")

    def _whole_line(self, tail: bytes) -> bytes:
        if self._rest:
            tail = bytes(self._rest + tail)
            self._rest.clear()
        if self._at_start:
            self._at_start = False
            tail = tail.removeprefix(_BOM)
        return tail

    def _field(self, line: bytes) -> None:
        name, colon, value = line.partition(b":")
        if colon and not name:
            if self._on_comment is not None:
                self._on_comment(value.decode("utf-8", "replace"))
            return
        if value.startswith(b" "):
            value = value[1:]
        if name == b"data":
            self._data += value
            self._data += b"\n"
            self._check_size()
        elif name == b"event":
            self._name = value
        elif name == b"id" and b"\0" not in value:
            self._id = value.decode("utf-8", "replace")
        elif name == b"retry" and value.isdigit():
            digits = value.lstrip(b"0") or b"0"
            self.retry = int(digits) if len(digits) <= _MAX_RETRY_DIGITS else MAX_RETRY_MS

    def _dispatch(self) -> Frame | None:
        self.last_event_id = self._id
        frame = None
        if self._data:  # one empty ``data:`` counts: its buffer is a line feed, not empty
            del self._data[-1]
            # Decoding after the cut at line ends is the same as before it: no UTF-8 sequence holds CR or LF.
            data = self._data.decode("utf-8", "replace")
            frame = Frame(self._name.decode("utf-8", "replace") or "message", data, self._id)
            self._data.clear()
        self._name = b""
        return frame

    def _check_size(self) -> None:
        if len(self._rest) + len(self._data) > self._max_event_bytes:
            raise ProtocolError(
                f"the server sent an event of more than {self._max_event_bytes:,} bytes",
                "It was not read any further.",
            )
