"""Answers of limited size: counted as they arrive, refused if they are packed; and answers in UTF-8.

Needs ``httpx2``, whose import costs a third of a second, so it is imported only where it is needed.
"""

from __future__ import annotations

import codecs
from collections.abc import AsyncIterator, Callable

import httpx2


class BoundedBody(httpx2.AsyncByteStream):
    """The bytes of ``response`` as they arrive, at most ``most``; 0: any number. Packed bodies are refused,
    since a few bytes could be unpacked to more than the memory. ``see`` gets each piece, ``refuse`` makes the
    error from a title and a detail.
    """

    def __init__(
        self,
        response: httpx2.Response,
        most: int,
        refuse: Callable[[str, str], Exception],
        see: Callable[[bytes], None] = lambda piece: None,
    ) -> None:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        self._stream = response.stream
        self._is_packed = response.headers.get("content-encoding", "identity").lower() != "identity"
        self._most = most
        self._refuse = refuse
        self._see = see

    async def __aiter__(self) -> AsyncIterator[bytes]:
        if self._is_packed:
            raise self._refuse("the answer came packed", "the server was asked for it as it is; given up")
        size = 0
        async for piece in self._stream:
            size += len(piece)
            if self._most and size > self._most:
                limit = f"{self._most // 1024 // 1024} MB"
                raise self._refuse("the answer is too long", f"the server sent more than {limit}; given up")
            self._see(piece)
            yield piece

    async def aclose(self) -> None:
        """Close the underlying stream."""
        await self._stream.aclose()


class Utf8Body(httpx2.AsyncByteStream):
    """The bytes of ``stream`` as UTF-8: what is not, is replaced. SDKs give up a whole answer otherwise."""

    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        async for piece in self._stream:
            if text := decoder.decode(piece):
                yield text.encode()
        if text := decoder.decode(b"", final=True):
            yield text.encode()

    async def aclose(self) -> None:
        """Close the underlying stream."""
        await self._stream.aclose()
