"""The engine on a real file: durable tokens/s, token latency with many rooms, time from pause to paused.

A token counts when a reader of its room has it, which is after its commit to disk. Models here are plain
loops, so that the figures are those of engine, store and hub.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from pathlib import Path
from statistics import median, quantiles

from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.hub import Hub, StoredFrame, in_dialect
from agent_tui.backend.models.model import Model, ModelRequest, Piece, TextPiece
from agent_tui.backend.models.prices import Terms
from agent_tui.backend.store.store import FileStore
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.config.file import Config
from agent_tui.model.events import RoomInfo
from agent_tui.wire.rooms_encode import frame as frame_of
from benchmarks.table import row

TOKEN = "abcdef "
FAST_ROOMS, FAST_TOKENS = 10, 10_000
MANY_ROOMS, MANY_RATE, MANY_TOKENS = 50, 50.0, 500
CUTS = 20

Cut = Callable[[Engine, RoomInfo], Awaitable[None]]


class Talker:
    """Says ``tokens`` tokens, ``rate`` a second (0: as fast as it goes), and notes when each was said."""

    name = "talker"

    def __init__(self, tokens: int, rate: float) -> None:
        self.tokens = tokens
        self.rate = rate
        self.said: dict[str, list[float]] = {}

    def default_provider(self) -> str:
        """Return the only provider there is."""
        return self.name

    def default_model(self, provider_id: str) -> str:
        """Return the only model there is."""
        return self.name

    def check(self, provider_id: str) -> None:
        """Take any provider."""

    def open(self, provider_id: str, model: str) -> tuple[Model, int]:
        """Return itself."""
        return self, 2000

    def terms(self, provider_id: str, model: str = "") -> Terms:
        """Return terms that cost nothing."""
        return Terms()

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """Say the tokens, each at its time; the task tells the room."""
        said = self.said[request.task] = []
        started = time.perf_counter()
        for number in range(self.tokens):
            if self.rate:
                await asyncio.sleep(max(0.0, started + number / self.rate - time.perf_counter()))
            said.append(time.perf_counter())
            yield TextPiece(TOKEN)


@asynccontextmanager
async def opened(talker: Talker) -> AsyncIterator[tuple[Engine, Hub]]:
    """Give an engine and its hub on a new file."""
    with tempfile.TemporaryDirectory() as folder:
        store = FileStore(Path(folder) / "rooms.db")
        hub = Hub(store)
        config = Config(Path(folder) / "config.toml")
        engine = Engine(store, hub, talker, Toolbox(lambda: config), unwatched_seconds=None)
        await engine.start(resume=False)
        try:
            yield engine, hub
        finally:
            await engine.stop_all()
            hub.close()
            await store.close()


async def read(hub: Hub, room_id: str, until: str) -> list[tuple[float, StoredFrame]]:
    """Return what the room's readers are told, and when it came, up to the first frame of that name."""
    frames: list[tuple[float, StoredFrame]] = []
    async with aclosing(in_dialect(hub.read(room_id, 0), frame_of)) as batches:
        async for batch in batches:
            now = time.perf_counter()
            frames += [(now, frame) for frame in batch]
            if any(frame.name == until for frame in batch):
                break
    return frames


async def run_rooms(talker: Talker, rooms: int) -> list[tuple[str, list[tuple[float, StoredFrame]]]]:
    """Run so many rooms of one turn at once; return each one's task and frames."""
    async with opened(talker) as (engine, hub):

        async def one(number: int) -> tuple[str, list[tuple[float, StoredFrame]]]:
            task = f"task {number}"
            room = await engine.create(ROOMS, {"task": task, "max_rounds": 1, "agents": ({"name": "Ada"},)})
            reading = asyncio.create_task(read(hub, room.id, "room_completed"))
            await engine.rooms.run(room.id)
            return task, await reading

        return await asyncio.gather(*(one(number) for number in range(rooms)))


def chunks(frames: list[tuple[float, StoredFrame]]) -> list[tuple[float, int]]:
    """Return when each chunk came and how many tokens it had."""
    return [
        (at, len(json.loads(frame.data)["content"]) // len(TOKEN))
        for at, frame in frames
        if frame.name == "message_chunk"
    ]


async def tokens_per_second() -> tuple[float, float]:
    """Return (tokens/s, stored chunks/s) of rooms whose models never wait."""
    talker = Talker(FAST_TOKENS, 0)
    came = [chunk for _, frames in await run_rooms(talker, FAST_ROOMS) for chunk in chunks(frames)]
    seconds = max(at for at, _ in came) - min(said[0] for said in talker.said.values())
    return sum(tokens for _, tokens in came) / seconds, len(came) / seconds


async def latencies() -> list[float]:
    """Return for each token of many rooms the seconds from being said to being read."""
    talker = Talker(MANY_TOKENS, MANY_RATE)
    found: list[float] = []
    for task, frames in await run_rooms(talker, MANY_ROOMS):
        said = iter(talker.said[task])
        for at, tokens in chunks(frames):
            found += [at - next(said) for _ in range(tokens)]
    return found


async def cuts(cut: Cut, until: str) -> list[float]:
    """Return the seconds from each call of ``cut`` to that event at a reader, other rooms speaking."""
    talker = Talker(1_000_000, MANY_RATE)
    found = []
    async with opened(talker) as (engine, hub):
        for number in range(CUTS):
            three = tuple({"name": name} for name in ("Ada", "Bob", "Cyd"))
            room = await engine.create(
                ROOMS,
                {
                    "task": f"task {number}",
                    "name": "",
                    "execution_mode": "parallel",
                    "max_rounds": 1,
                    "agents": three,
                },
            )
            await engine.rooms.run(room.id)
            await read(hub, room.id, "message_chunk")
            reading = asyncio.create_task(read(hub, room.id, until))
            began = time.perf_counter()
            await cut(engine, room)
            found.append((await reading)[-1][0] - began)
            await engine.rooms.resume(room.id)
    return found


async def pause(engine: Engine, room: RoomInfo) -> None:
    """Pause the room."""
    await engine.pause(ROOMS, room.id)


async def stop(engine: Engine, room: RoomInfo) -> None:
    """Stop the first agent; the two others speak on."""
    await engine.rooms.stop_agent(room.id, room.agents[0].id)


def main() -> None:
    """Print each figure beside its target."""
    tokens, stored = asyncio.run(tokens_per_second())
    figure = f"{FAST_ROOMS} rooms in one backend, durable tokens/s"
    row(figure, "≥ 5,000", f"{tokens:,.0f}", f"in {stored:,.0f} chunks/s")
    late = asyncio.run(latencies())
    p95, middle = quantiles(late, n=20)[-1] * 1000, median(late) * 1000
    figure = f"{MANY_ROOMS} rooms × {MANY_RATE:.0f} tok/s, p95 token latency"
    row(figure, "≤ 60 ms", f"{p95:.0f} ms", f"median {middle:.0f} ms")
    for figure, target, cut, until in (
        ("pause to room_paused at a reader, worst", "≤ 200 ms", pause, "room_paused"),
        ("stop to the end of that agent's text, worst", "≤ 100 ms", stop, "message_end"),
    ):
        seconds = asyncio.run(cuts(cut, until))
        note = f"median {median(seconds) * 1000:.0f} ms, everybody else speaking on"
        row(figure, target, f"{max(seconds) * 1000:.0f} ms", note)


if __name__ == "__main__":
    main()
