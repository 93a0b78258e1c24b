"""Server-sent events, inwards: bytes to frames, exactly as the WHATWG standard says (HTML, 9.2.6).

Pure: no socket, no clock. One parser reads one connection; the next connection gets a new one with the
``last_event_id`` of the one before. Every byte is read a constant number of times, however the stream is cut
into chunks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from agent_tui.model.errors import ProtocolError

MAX_EVENT_BYTES = 64 * 1024 * 1024
MAX_RETRY_MS = 1_000_000_000

Line = bytes | bytearray

_BOM = b"\xef\xbb\xbf"
_DATA = b"data:"
_LINE_BYTES = 64  # a line in memory takes about this much besides its text
_LONG_BYTES = 4096  # longer lines are compared with the one before
_CHANGING_BYTES = 16  # at its end, where brackets close what is growing
_MAX_RETRY_DIGITS = 9  # int() of a hostile run of digits is quadratic, and refuses 4300 of them


class Frame(NamedTuple):
    """One dispatched event. ``id`` is the stream's last event id, which stays until a frame changes it."""

    event: str
    data: str
    id: str


class _DataText:
    """Decodes lines of data. A long line that begins like the one before is decoded from there on: some
    servers send a whole text again for each word.
    """

    def __init__(self) -> None:
        self._line: Line = b""
        self._text = ""

    def of(self, line: Line, start: int) -> str:
        """Return the long ``line`` from ``start`` on."""
        previous = self._line
        shared = max(len(previous) - _CHANGING_BYTES, 0)
        while shared and previous[shared] & 0xC0 == 0x80:  # not inside a character
            shared -= 1
        with memoryview(line) as new, memoryview(previous) as old:
            if shared > start and line.startswith(old[:shared]):
                characters = len(self._text) - len(str(old[shared:], "utf-8", "replace"))
                text = self._text[:characters] + str(new[shared:], "utf-8", "replace")
            else:
                text = str(new[start:], "utf-8", "replace")
        # Decoding pure ASCII is faster than comparing it.
        self._line, self._text = (b"", "") if text.isascii() else (line, text)
        return text


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
        self._is_long = False  # whether there was a long line recently
        self._name: Line = b""
        self._data: list[str] = []  # the data lines
        self._data_bytes = 0
        self._text = _DataText()
        self._id = last_event_id

    def feed(self, chunk: bytes) -> list[Frame]:
        """Return the frames that ``chunk`` completes.

        Raises ``ProtocolError`` when one event, or one line, exceeds the limit. What is buffered at the end
        of a stream is not dispatched, as the standard wants it.
        """
        frames: list[Frame] = []
        *lines, rest = self._split(chunk)
        self._is_long = len(rest) >= _LONG_BYTES
        for line in lines:
            if self._rest or self._at_start or len(line) >= _LONG_BYTES:
                whole = self._whole_line(line)
            else:
                whole = line
            if whole:
                self._field(whole)
            elif (frame := self._dispatch()) is not None:
                frames.append(frame)
        self._rest += rest
        if len(self._rest) + self._data_bytes > self._max_event_bytes:
            raise self._too_large()
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
        if not self._is_long:
            return chunk.split(b"\n")
        # ``split`` reads byte by byte, ``find`` many at once, which is better for long lines.
        lines, start = [], 0
        while (end := chunk.find(b"\n", start)) >= 0:
            lines.append(chunk[start:end])
            start = end + 1
        lines.append(chunk[start:])
        return lines

    def _whole_line(self, tail: bytes) -> Line:
        line: Line = tail
        if self._rest:
            line, self._rest = self._rest, bytearray()
            line += tail
        if len(line) >= _LONG_BYTES:
            self._is_long = True
        if self._at_start:
            self._at_start = False
            line = line.removeprefix(_BOM)
        return line

    def _field(self, line: Line) -> None:
        if line.startswith(_DATA):  # not copied, since it may be long
            start = len(_DATA) + (line[len(_DATA) : len(_DATA) + 1] == b" ")
            is_long = len(line) >= _LONG_BYTES
            text = self._text.of(line, start) if is_long else str(line[start:], "utf-8", "replace")
            self._data.append(text)
            self._data_bytes += len(line) - start + _LINE_BYTES
            if self._data_bytes > self._max_event_bytes:
                raise self._too_large()
            return
        name, colon, value = line.partition(b":")
        if colon and not name:
            if self._on_comment is not None:
                self._on_comment(value.decode("utf-8", "replace"))
            return
        if value.startswith(b" "):
            value = value[1:]
        if name == b"data":
            self._data.append("")
            self._data_bytes += _LINE_BYTES
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
        if self._data:  # one empty ``data:`` counts
            # Decoding line by line gives the same result: no UTF-8 sequence contains CR or LF.
            data = self._data[0] if len(self._data) == 1 else "\n".join(self._data)
            frame = Frame(self._name.decode("utf-8", "replace") or "message", data, self._id)
            self._data.clear()
            self._data_bytes = 0
        self._name = b""
        return frame

    def _too_large(self) -> ProtocolError:
        return ProtocolError(
            f"the server sent an event of more than {self._max_event_bytes:,} bytes",
            "It was not read any further.",
        )
