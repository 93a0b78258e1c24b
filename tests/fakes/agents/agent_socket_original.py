"""A client of the agent socket as the original's, written from protocols.md §4 alone.

It knows what the original knows: the nine frames of a server, attachments as paths, HTTP 403 as the only
sign of a busy chat, and one question at a time. What else a server says fails it.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urljoin

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

STATUS_SECONDS = 5.0
HEARTBEAT_SECONDS = 30.0
SERVER_FRAMES: dict[str, dict[str, type | tuple[type, ...]]] = {
    "STATUS": {},
    "ERROR": {"code": str, "details": (str, dict, list)},
    "GRACEFUL_DISCONNECT": {},
    "AGENT_EVENT_TEXT_CHUNK": {"text": str, "source": str},
    "AGENT_EVENT_TOOL_CALL_CHUNK": {"source": str},
    "AGENT_EVENT_TOOL_RESULT": {"tool_name": str, "result": (str, dict, list), "source": str},
    "AGENT_EVENT_CUSTOM_UPDATE": {"payload": dict, "source": str},
    "AGENT_EVENT_SEND_FILE": {"path": str},
    "AGENT_EVENT_END": {"tokens_used": int},
}


class OriginalError(Exception):
    """What the original reports: one of its codes."""

    def __init__(self, code: str, details: str = "") -> None:
        super().__init__(code, details)
        self.code = code
        self.details = details


class Busy(Exception):
    """Another client holds the chat, or a question is being answered here."""


@dataclass(slots=True)
class Answer:
    """What came of one question: every frame, and what is made of them. ``calls`` and ``results`` are
    (source, name, JSON text) each, in order.
    """

    frames: list[dict[str, Any]] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)  # source → all it said
    calls: list[list[str]] = field(default_factory=list)
    results: list[tuple[str, str, Any]] = field(default_factory=list)
    updates: list[dict[str, Any]] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    tokens_used: int = -1

    @property
    def text(self) -> str:
        """Return what the main agent said."""
        return self.texts.get("main", "")

    def take(self, frame: dict[str, Any]) -> None:
        """Take one frame of the answer."""
        self.frames.append(frame)
        source = frame.get("source", "main")
        match frame["type"]:
            case "AGENT_EVENT_TEXT_CHUNK":
                self.texts[source] = self.texts.get(source, "") + frame["text"]
            case "AGENT_EVENT_TOOL_CALL_CHUNK" if "tool_name" in frame:
                self.calls.append([source, frame["tool_name"], frame.get("args_chunk", "")])
            case "AGENT_EVENT_TOOL_CALL_CHUNK":
                of_source = [call for call in self.calls if call[0] == source]
                of_source[-1][2] += frame["args_chunk"]
            case "AGENT_EVENT_TOOL_RESULT":
                self.results.append((source, frame["tool_name"], frame["result"]))
            case "AGENT_EVENT_CUSTOM_UPDATE":
                self.updates.append(frame["payload"])
            case "AGENT_EVENT_SEND_FILE":
                self.files.append(frame["path"])
            case "AGENT_EVENT_END":
                self.tokens_used = frame["tokens_used"]
            case _:
                raise OriginalError("UNEXPECTED_MSG_TYPE", frame["type"])


@dataclass(slots=True)
class OriginalClient:
    """One connection. ``orphans`` are frames that came with no question, ``errors`` what was reported."""

    base_url: str
    chat_id: int = 0
    fixed_url: bool = False  # an older client, which joins no chat id
    orphans: list[dict[str, Any]] = field(default_factory=list)
    errors: list[OriginalError] = field(default_factory=list)
    disconnects: int = 0
    graceful: bool = False
    _socket: ClientConnection | None = None
    _reader: asyncio.Task[None] | None = None
    _frames: asyncio.Queue[dict[str, Any] | None] | None = None  # of the question that is being answered

    @property
    def url(self) -> str:
        """Return the address: a base without trailing slash loses its last part."""
        base = self.base_url.replace("http", "ws", 1) if self.base_url.startswith("http") else self.base_url
        return base if self.fixed_url else urljoin(base, f"v1/agent_ws/{self.chat_id}/")

    async def connect(self) -> None:
        """Connect and wait for ``STATUS``; raises ``Busy`` for HTTP 403 and ``OriginalError``."""
        try:
            self._socket = await connect(self.url, ping_interval=HEARTBEAT_SECONDS, proxy=None)
        except InvalidStatus as error:
            if error.response.status_code == 403:
                raise Busy from error
            raise OriginalError("CONNECTION_ERROR", str(error)) from error
        except OSError as error:
            raise OriginalError("CONNECTION_ERROR", str(error)) from error
        try:
            async with asyncio.timeout(STATUS_SECONDS):
                first = self._parsed(await self._socket.recv())
        except TimeoutError as error:
            await self._socket.close()
            raise OriginalError("TIMEOUT") from error
        except ConnectionClosed as error:
            raise OriginalError("CONNECTION_ERROR", str(error)) from error
        if first["type"] != "STATUS":
            await self._socket.close()
            raise OriginalError("INVALID_STATUS", first["type"])
        self._reader = asyncio.create_task(self._read(self._socket))

    async def ask(self, text: str, attachments: list[str] | None = None) -> Answer:
        """Return the whole answer; raises ``OriginalError`` for an ``ERROR`` or a close before the end."""
        if self._socket is None:
            raise OriginalError("NOT_CONNECTED")
        if self._frames is not None:
            raise Busy
        frames = self._frames = asyncio.Queue()
        answer = Answer()
        try:
            message = {"type": "USER_MESSAGE", "text": text, "attachments": attachments or []}
            await self._socket.send(json.dumps(message))
            while (frame := await frames.get()) is not None:
                if frame["type"] == "ERROR":
                    raise OriginalError(frame["code"], str(frame["details"]))
                answer.take(frame)
                if frame["type"] == "AGENT_EVENT_END":
                    return answer
            raise OriginalError("CONNECTION_ERROR", "closed before the end")
        finally:
            self._frames = None

    async def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            await self._socket.close()
        if self._reader is not None:
            await self._reader

    async def _read(self, socket: ClientConnection) -> None:
        try:
            async for raw in socket:
                frame = self._parsed(raw)
                if frame["type"] == "ERROR":
                    self.errors.append(OriginalError(frame["code"], str(frame["details"])))
                if frame["type"] == "GRACEFUL_DISCONNECT":
                    self.graceful = True
                    await socket.close()
                elif self._frames is not None:
                    self._frames.put_nowait(frame)
                    if frame["type"] in ("AGENT_EVENT_END", "ERROR"):
                        self._frames = None
                elif frame["type"] != "ERROR":
                    self.orphans.append(frame)
        except (ConnectionClosed, OriginalError) as error:
            if isinstance(error, OriginalError):
                self.errors.append(error)
        finally:
            self.disconnects += 1
            if self._frames is not None:
                self._frames.put_nowait(None)

    def _parsed(self, raw: str | bytes) -> dict[str, Any]:
        """Return a frame that is to the letter; raises ``OriginalError`` for any other."""
        try:
            frame = json.loads(raw)
        except ValueError as error:
            raise OriginalError("PARSE_ERROR", str(error)) from error
        kind = frame.get("type")
        if kind not in SERVER_FRAMES:
            raise OriginalError("UNEXPECTED_MSG_TYPE", str(kind))
        for name, wanted in SERVER_FRAMES[kind].items():
            if not isinstance(frame.get(name), wanted):
                raise OriginalError("PARSE_ERROR", f"{kind}.{name} is {frame.get(name)!r}")
        if kind == "AGENT_EVENT_TOOL_CALL_CHUNK":
            for name in ("tool_name", "args_chunk"):
                if not isinstance(frame.get(name, ""), str):
                    raise OriginalError("PARSE_ERROR", f"{kind}.{name} is {frame[name]!r}")
        return frame  # type: ignore[no-any-return]
