"""A hundred readers of one room: what an event costs our backend, and a server built on sse-starlette.

Both are processes of their own on loopback and send the same events at the same pace to the same readers.
Ours runs the room besides: its demo model speaks, and every event is on disk before it is sent. What that
costs is measured with a single reader and told apart from what the other readers cost.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.request import Request, urlopen

from benchmarks.table import row

READERS: Final = 100
RATE: Final = 300  # tokens a second of each of three agents
ROOM: Final = {
    "task": "Should sessions live in Redis or PostgreSQL?",
    "execution_mode": "parallel",
    "max_rounds": 1,
    "keep_running": True,
}
LAST: Final = b"event: room_completed"
TOKEN: Final = "bench-token"
CLOCK_TICKS: Final = os.sysconf("SC_CLK_TCK")
READ_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class Cost:
    """What sending so many events of a room to so many readers took: CPU time of the serving process and
    time on the clock, both in seconds.
    """

    cpu: float
    seconds: float
    events: int
    readers: int

    @property
    def micro(self) -> float:
        """Microseconds of CPU for each event and reader, the room's own work included."""
        return self.cpu / self.events / self.readers * 1e6

    def beyond(self, alone: Cost) -> float:
        """Microseconds for each event and reader that is not the first one."""
        of_readers = self.cpu / self.events - alone.cpu / alone.events
        return of_readers / (self.readers - alone.readers) * 1e6


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used so far (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


async def read(port: int, path: str, began: asyncio.Event) -> bytes:
    """Return what a stream sends up to the room's last event, its frames' ends as LF."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=READ_BYTES)
    head = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    writer.write(head.encode())
    taken = bytearray()
    try:
        while chunk := await reader.read(READ_BYTES):
            began.set()
            taken += chunk
            if LAST in taken[-len(chunk) - len(LAST) :]:
                break
    finally:
        writer.close()
    return bytes(taken)


async def cost_of(pid: int, port: int, path: str, readers: int, start: asyncio.Event) -> Cost:
    """Open the readers, say ``start`` when all have their first byte, read everything."""
    began = [asyncio.Event() for _ in range(readers)]
    async with asyncio.TaskGroup() as group:
        reading = [group.create_task(read(port, path, event)) for event in began]
        for event in began:
            await event.wait()
        before, at = cpu_seconds(pid), time.perf_counter()
        start.set()
    counts = [task.result().count(b"event: ") for task in reading]
    used, seconds = cpu_seconds(pid) - before, time.perf_counter() - at
    assert len(set(counts)) == 1, "the readers did not get the same"
    return Cost(used, seconds, counts[0], readers)


@asynccontextmanager
async def child(*arguments: str) -> AsyncIterator[tuple[int, int]]:
    """Give (pid, port) of a server process whose first line names its address; it is ended at the end."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", *arguments,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    line = await process.stdout.readline()
    try:
        yield process.pid, int(line.decode().rstrip().rpartition(":")[2])
    finally:
        process.send_signal(signal.SIGTERM)
        await process.wait()


def post(port: int, path: str, body: object) -> Any:
    """Return the answer to a POST of our backend, of a stream nothing."""
    headers = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
    request = Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), headers)
    with urlopen(request, timeout=30) as answer:  # noqa: S310 - loopback, our own child
        is_stream = answer.headers["content-type"].startswith("text/event-stream")
        return None if is_stream else json.load(answer)


def tape_of(stream: bytes) -> list[tuple[str, str, str]]:
    """Return (id, name, data) of every event in an answer of ours."""
    found = []
    for block in stream.decode("utf-8", "replace").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
        if "data" in fields and "event" in fields:
            found.append((fields.get("id", ""), fields["event"], fields["data"]))
    return found


async def ours(folder: str, readers: int) -> tuple[Cost, list[tuple[str, str, str]]]:
    """Return what an event costs us, and the events."""
    options = ("--token", TOKEN, "--database", f"sqlite:///{folder}/{readers}.db", "--demo-rate", str(RATE))
    async with child("agent_tui.backend", "serve", *options) as (pid, port):
        room = await asyncio.to_thread(post, port, "/api/rooms", ROOM)
        path = f"/api/rooms/{room['id']}"
        start = asyncio.Event()
        measuring = asyncio.create_task(cost_of(pid, port, f"{path}/events?accumulated=0", readers, start))
        await start.wait()
        await asyncio.to_thread(post, port, f"{path}/run", {})
        cost = await measuring
        stream = await read(port, f"{path}/events?accumulated=0", asyncio.Event())
        return cost, tape_of(stream)


async def theirs(folder: str, readers: int, seconds: float) -> Cost:
    """Return what the same events cost a server on sse-starlette."""
    arguments = (f"{folder}/tape.json", f"{seconds:.1f}", str(readers))
    async with child("benchmarks.sse_rival", *arguments) as (pid, port):
        return await cost_of(pid, port, "/events", readers, asyncio.Event())


async def measure() -> tuple[Cost, Cost, Cost, Cost]:
    """Return (ours alone, ours for the crowd, theirs alone, theirs for the crowd)."""
    with tempfile.TemporaryDirectory() as folder:
        our_alone, _ = await ours(folder, 1)
        our_crowd, tape = await ours(folder, READERS)
        (Path(folder) / "tape.json").write_text(json.dumps(tape))
        their_alone = await theirs(folder, 1, our_crowd.seconds)
        return our_alone, our_crowd, their_alone, await theirs(folder, READERS, our_crowd.seconds)


def main() -> None:
    """Print the ratio beside its target."""
    our_alone, our_crowd, their_alone, their_crowd = asyncio.run(measure())
    mine, other = our_crowd.beyond(our_alone), their_crowd.beyond(their_alone)
    note = f"{mine:.1f} µs to {other:.0f} µs; with the room itself {our_crowd.micro:.1f} µs"
    pace = f"{our_crowd.events} events in {our_crowd.seconds:.0f} s, theirs took {their_crowd.seconds:.0f} s"
    figure = f"{READERS} readers of one room: CPU per event and reader"
    row(figure, "≤ 1/10 of sse-starlette", f"1/{other / mine:.1f}", f"{note}; {pace}")


if __name__ == "__main__":
    main()
