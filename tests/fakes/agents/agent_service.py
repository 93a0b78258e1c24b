"""An agent service as others run it (protocols.md §3), which does what a test tells it to."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from agent_tui.backend.http.connection import bound_socket

WORDS = "one two three four five"


@dataclass(slots=True)
class AgentService:
    """What became known: ``posts`` are the bodies, ``frames`` those that clients sent, ``order`` all in turn.

    ``script`` says for each coming task what happens: "ok", "slow" (one word, then nothing until it is
    cancelled), "drop" (the socket closes before a word), "cut" (after two; a code of the close may follow, as
    in "cut 1008"), "abort", "exit", "error", "tools", "silent", "late" (says nothing until ``go_on``), "held"
    (the POST is answered after ``go_on``), "gone" (the socket closes before the POST is answered), "nameless"
    (the POST names no task), "broken" (its answer breaks off), "numbers" (ids are numbers), a number (the
    status of the POST) or "ws N" (that of the handshake). "ok" when it is empty.
    """

    url: str = ""
    script: list[str] = field(default_factory=list)
    posts: list[dict[str, Any]] = field(default_factory=list)
    frames: list[dict[str, Any]] = field(default_factory=list)
    order: list[str] = field(default_factory=list)
    headers: list[tuple[str, str]] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    closed: list[int] = field(default_factory=list)  # codes that clients closed with
    has_cancel: bool = True
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _sockets: set[WebSocket] = field(default_factory=set)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def until(self, holds: Any) -> None:
        """Wait until ``holds(self)``; a test's own time-out bounds it."""
        async with self.changed:
            await self.changed.wait_for(lambda: holds(self))

    async def _note(self, what: str) -> None:
        async with self.changed:
            self.order.append(what)
            self.changed.notify_all()

    async def post(self, request: Request) -> Response:
        body = await request.json()
        self.posts.append(body)
        self.headers.append(("post", request.headers.get("authorization", "")))
        mode = self.script.pop(0) if self.script else "ok"
        await self._note("post")
        if mode.isdigit():
            return JSONResponse({"message": "no"}, int(mode))
        if mode == "nameless":
            return JSONResponse({"status": "queued"})
        if mode == "broken":
            return PlainTextResponse('{"sessionId":', 201, {"Content-Length": "99"})
        if mode == "gone":
            await self._drop()
            await self.until(lambda one: "gone" in one.order)
        if mode == "held":
            await self.go_on.wait()
        task_id: Any = f"t{len(self.posts)}"
        session_id = body.get("sessionId") or f"s{len(self.posts)}"
        if mode == "numbers":
            session_id, task_id = 5, len(self.posts)
        going = asyncio.create_task(self._go(task_id, mode))
        self._tasks.add(going)
        return JSONResponse({"sessionId": session_id, "taskId": task_id}, 201)

    async def cancel(self, request: Request) -> Response:
        if not self.has_cancel:
            return JSONResponse({"message": "no such route"}, 404)
        self.cancelled.append(request.path_params["task"])
        await self._note("cancel")
        return JSONResponse({})

    async def listen(self, socket: WebSocket) -> None:
        self.headers.append(("socket", socket.headers.get("authorization", "")))
        if self.script and self.script[0].startswith("ws "):
            status = int(self.script.pop(0)[3:])
            await self._note("refused")
            await socket.send_denial_response(PlainTextResponse("no", status))
            return
        await socket.accept()
        self._sockets.add(socket)
        try:
            while True:
                self.frames.append(json.loads(await socket.receive_text()))
                await self._note("frame")
        except WebSocketDisconnect as error:
            self.closed.append(error.code)
        except RuntimeError:
            pass
        finally:
            self._sockets.discard(socket)
            await self._note("gone")

    def end(self) -> None:
        """Give up what still goes on."""
        for task in self._tasks:
            task.cancel()

    async def tell(self, task_id: str | int | None, **data: Any) -> None:
        """Send an event to everybody; ``None``: of no named task."""
        named = {} if task_id is None else {"taskId": task_id}
        frame = json.dumps({"event": "stream_event", "data": {**named, **data}})
        for one in list(self._sockets):
            with contextlib.suppress(RuntimeError, WebSocketDisconnect):
                await one.send_text(frame)

    async def _drop(self, code: str = "") -> None:
        for one in list(self._sockets):
            await one.close(int(code or 1011))

    async def _go(self, task_id: str | int, mode: str) -> None:
        subscribed = lambda one: any(f["data"].get("taskId") == task_id for f in one.frames)  # noqa: E731
        await self.until(subscribed)
        await self.tell("somebody-elses", type="text", content="not yours ")
        await self.tell(task_id, type="heartbeat")
        for one in list(self._sockets):
            await one.send_text("not json")
        mode, _, code = mode.partition(" ")
        match mode:
            case "drop":
                await self._drop(code)
            case "abort" | "exit" | "error":
                said = {"abort": "the session was Aborted", "exit": "process EXITED with code 1"}
                await self.tell(task_id, type="error", message=said.get(mode, "the model is gone"))
            case "cut":
                await self.tell(task_id, type="text", content="one ")
                await self.tell(task_id, type="text", content="two ")
                await self._drop(code)
            case "slow":
                await self.tell(task_id, type="text", content="one ")
                await self.until(lambda one: task_id in one.cancelled)
                await self.tell(task_id, type="text", content="too late ")
            case "silent":
                pass
            case "tools":
                await self.tell(task_id, type="thinking", content="Let me see")
                await self.tell(task_id, type="tool_use", id="c1", name="look", input={"at": "it"})
                await self.tell(
                    task_id, type="tool_result", id="c1", name="look", content="blue", success=True
                )
                await self.tell(task_id, type="text", content="Blue.")
                await self.tell(task_id, type="completed")
            case "gone":
                pass
            case _:
                if mode == "late":
                    await self.go_on.wait()
                for word in WORDS.split(" "):
                    await self.tell(None if word == "two" else task_id, type="text", content=f"{word} ")
                await self.tell(task_id, type="completed")


@asynccontextmanager
async def agent_service() -> AsyncIterator[AgentService]:
    """Serve one on a port of its own."""
    service = AgentService()
    app = Starlette(
        routes=[
            Route("/api/v1/agent/tasks", service.post, methods=["POST"]),
            Route("/api/v1/agent/tasks/{task}/cancel", service.cancel, methods=["POST"]),
            WebSocketRoute("/ws/agent", service.listen),
        ]
    )
    listener = bound_socket("127.0.0.1", 0)
    ready = asyncio.Event()
    config = uvicorn.Config(app, ws="websockets-sansio", lifespan="off", log_config=None)
    server = _Server(config, ready)
    serving = asyncio.create_task(server.serve([listener]))
    await ready.wait()
    service.url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        yield service
    finally:
        service.end()
        server.should_exit = True
        await serving


class _Server(uvicorn.Server):
    """Says when it is ready, and leaves the signals to the test."""

    def __init__(self, config: uvicorn.Config, ready: asyncio.Event) -> None:
        super().__init__(config)
        self._ready = ready

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()
