"""A server as sse-starlette's own examples have it: a queue for each reader, an event at a time.

``python -m benchmarks.sse_rival TAPE SECONDS READERS`` plays the events of the file TAPE (a JSON list of
[id, name, data]) evenly within SECONDS to everybody, once so many readers are there.
"""

from __future__ import annotations

import asyncio
import json
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import uvicorn
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

Tape = list[tuple[str, str, str]]


class TapePlayer:
    """Plays one tape to all readers."""

    def __init__(self, tape: Tape, seconds: float, readers: int) -> None:
        self._tape = tape
        self._pause = seconds / len(tape)
        self._awaited = readers
        self._queues: list[asyncio.Queue[ServerSentEvent | None]] = []
        self._playing: asyncio.Task[None] | None = None

    async def events(self, _request: Request) -> Response:
        """Answer with the stream."""
        queue: asyncio.Queue[ServerSentEvent | None] = asyncio.Queue()
        self._queues.append(queue)
        if len(self._queues) == self._awaited:
            self._playing = asyncio.create_task(self._play())
        return EventSourceResponse(self._read(queue), sep="\n")

    async def _read(self, queue: asyncio.Queue[ServerSentEvent | None]) -> AsyncIterator[ServerSentEvent]:
        yield ServerSentEvent(comment="welcome")
        while (event := await queue.get()) is not None:
            yield event

    async def _play(self) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        for number, (event_id, name, data) in enumerate(self._tape):
            await asyncio.sleep(max(0.0, began + number * self._pause - loop.time()))
            for queue in self._queues:
                # Encoded where it is sent, as its generators do.
                queue.put_nowait(ServerSentEvent(id=event_id, event=name, data=json.dumps(json.loads(data))))
        for queue in self._queues:
            queue.put_nowait(None)


def main() -> None:
    """Serve until SIGTERM; the first line on stdout is the address."""
    tape, seconds, readers = sys.argv[1:]
    player = TapePlayer(json.loads(Path(tape).read_text()), float(seconds), int(readers))
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    print(f"listening on http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
    app = Starlette(routes=[Route("/events", player.events)])
    config = uvicorn.Config(app, log_level="warning", access_log=False)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
