"""Compressed bodies, unpacked piece by piece so that a small answer cannot become a huge one at once."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

from agent_tui.model.errors import ProtocolError
from agent_tui.model.inert import inert_line

PIECE_BYTES = 64 * 1024

_ZLIB_OR_GZIP = zlib.MAX_WBITS | 32  # zlib looks at the header itself


class Inflater:
    """Unpacks one body; raises ``ProtocolError`` for a ``Content-Encoding`` it does not know."""

    def __init__(self, encoding: str) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise ProtocolError(
                "the server's answer is packed in a way we did not ask for", inert_line(name, 60)
            )
        self._zlib = None if name in ("", "identity") else zlib.decompressobj(_ZLIB_OR_GZIP)

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        """Yield what ``chunk`` unpacks to, in pieces of at most 64 KiB; raises ``ProtocolError`` for rubbish.

        Bytes that came unpacked pass through in one piece.
        """
        if self._zlib is None:
            yield chunk
            return
        try:
            yield from self._unpacked(chunk, self._zlib)
        except zlib.error as error:
            raise ProtocolError(
                "the server's answer is packed, but broken", inert_line(str(error))
            ) from error

    def _unpacked(self, data: bytes, unpacker: zlib._Decompress) -> Iterator[bytes]:
        while True:
            piece = unpacker.decompress(data, PIECE_BYTES)
            if piece:
                yield piece
            data = unpacker.unconsumed_tail
            if unpacker.eof:
                data = unpacker.unused_data  # a body may be several gzip members, one behind the other
                if not data:
                    return
                unpacker = self._zlib = zlib.decompressobj(_ZLIB_OR_GZIP)
            elif not data and len(piece) < PIECE_BYTES:
                return  # a full piece may have more behind it even without further input
