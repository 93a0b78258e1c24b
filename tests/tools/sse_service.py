"""Our event-stream client as a "test service" of launchdarkly/sse-contract-tests.

Start it with ``python -m tests.tools.sse_service [PORT]`` and point that harness at it:
``--url http://127.0.0.1:PORT --host 127.0.0.1``. Not part of our tests: the harness is another program.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
from contextlib import aclosing
from typing import Any
from urllib.parse import urlsplit

from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import LogStream
from agent_tui.clients.retry import Backoff
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import LinkChanged
from agent_tui.wire.sse import Frame
from tests.fakes.servers.http_server import FakeServer, Request, Responder, answers, answers_json

DEFAULT_PORT = 8000
DEFAULT_DELAY_MS = 100
CAPABILITIES = ["bom", "last-event-id", "server-directed-shutdown-request"]


class SSEService(FakeServer):
    """Opens a stream for each ``POST /`` and tells the harness what comes of it."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.port = port
        self.over = asyncio.Event()
        self._streams: dict[str, asyncio.Task[None]] = {}
        self._number = itertools.count(1)

    def responder(self, request: Request) -> Responder:
        match request.method, request.path:
            case "GET", "/":
                return answers_json({"capabilities": CAPABILITIES})
            case "POST", "/":
                path = f"/streams/{next(self._number)}"
                self._streams[path] = asyncio.create_task(_report(json.loads(request.body)))
                return answers(status=201, headers={"Location": self.url + path})
            case "DELETE", "/":
                self.over.set()
                return answers(status=204)
            case "DELETE", path if path in self._streams:
                self._streams.pop(path).cancel()
                return answers(status=204)
            case _:
                return answers(status=404)


async def _report(wanted: dict[str, Any]) -> None:
    """Read the stream that the harness wants read, and post to it each event and each failure."""
    numbers = itertools.count(1)
    async with _net(wanted["streamUrl"]) as net, _net(wanted["callbackUrl"]) as harness:

        async def tell(message: dict[str, Any]) -> None:
            await harness.call(
                "POST", f"{urlsplit(wanted['callbackUrl']).path}/{next(numbers)}", json=message
            )

        stream = LogStream(
            net,
            _path(wanted["streamUrl"]),
            last_event_id=wanted.get("lastEventId") or "",
            backoff=Backoff(base=(wanted.get("initialDelayMs") or DEFAULT_DELAY_MS) / 1000),
        )
        try:
            async with aclosing(aiter(stream)) as items:
                async for item in items:
                    match item:
                        case Frame(event, data, id_):
                            await tell({"kind": "event", "event": {"type": event, "data": data, "id": id_}})
                        case LinkChanged("waiting", detail):
                            await tell({"kind": "error", "comment": detail})
                        case LinkChanged():
                            pass
        except AgentTuiError as error:
            await tell({"kind": "error", "comment": str(error)})


def _net(url: str) -> Net:
    parts = urlsplit(url)
    return Net(f"{parts.scheme}://{parts.netloc}", environ={})


def _path(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.path}?{parts.query}" if parts.query else parts.path


async def _main(port: int) -> None:
    async with SSEService(port) as service:
        sys.stdout.write(f"listening on {service.url}\n")
        sys.stdout.flush()
        await service.over.wait()


if __name__ == "__main__":
    asyncio.run(_main(int(sys.argv[1]) if len(sys.argv) > 1 else DEFAULT_PORT))
