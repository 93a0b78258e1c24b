"""A store, a hub and an engine on a file of the test's, and the log of what was committed."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from functools import partial
from pathlib import Path
from typing import Any

from agent_tui.backend.engine.answer.tools import ToolSource
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.resources import ModelSource
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.unwatched import OpenPrograms
from agent_tui.backend.hub import Dialect, Hub, StoredFrame, translated
from agent_tui.backend.models.model import ModelRequest, Piece, TextPiece
from agent_tui.backend.store import reads
from agent_tui.backend.store.store import FileStore
from agent_tui.model.settings import Values
from agent_tui.wire import rooms_encode
from tests.backend.stores import open_store
from tests.fakes.scripted_model import FakeModels, ScriptedModel
from tests.fakes.scripted_tools import ScriptedBox

TERMINAL = ("room_completed", "room_paused", "error")
MODES = ("sequential", "parallel")


class Log:
    """Every committed frame of every room, as readers of ``dialect`` get them."""

    def __init__(self, dialect: Dialect = rooms_encode.frame) -> None:
        self._dialect = dialect
        self.frames: dict[str, list[StoredFrame]] = {}
        self.left_out: dict[str, set[int]] = {}  # the seqs of events that the dialect does not have
        self.watchers: list[Callable[[list[StoredFrame]], None]] = []  # called with each commit's frames
        self._stored: dict[str, int] = {}  # the last seq of what was read from the file
        self._waiting: dict[str, list[asyncio.Future[None]]] = {}

    def __call__(self, frames: list[StoredFrame]) -> None:
        room_id, frames = frames[0].room_id, self._told(frames)
        # A commit is in the file a moment before it is told: the reading may have been between the two.
        stored = self._stored.get(room_id, 0)
        self.frames.setdefault(room_id, []).extend(frame for frame in frames if frame.seq > stored)
        for watcher in self.watchers:
            watcher(frames)
        for future in self._waiting.pop(room_id, []):
            if not future.done():
                future.set_result(None)

    def begin(self, room_id: str, stored: list[StoredFrame]) -> None:
        """Put what is ``stored`` of the room before what was told of it meanwhile."""
        self._stored[room_id] = len(stored)
        live = self.of(room_id)
        live[:] = self._told(stored) + [frame for frame in live if frame.seq > len(stored)]

    def _told(self, frames: list[StoredFrame]) -> list[StoredFrame]:
        told = translated(frames, self._dialect)
        if frames:
            unsaid = {frame.seq for frame in frames} - {frame.seq for frame in told}
            self.left_out.setdefault(frames[0].room_id, set()).update(unsaid)
        return told

    async def until(self, room_id: str, condition: Callable[[], bool]) -> None:
        """Wait until ``condition`` holds; looked at after each commit of the room."""
        while not condition():
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.setdefault(room_id, []).append(future)
            await future

    def of(self, room_id: str) -> list[StoredFrame]:
        """Return the room's frames so far."""
        return self.frames.setdefault(room_id, [])

    def names(self, room_id: str) -> list[str]:
        """Return the names of the room's events so far."""
        return [frame.name for frame in self.of(room_id)]

    async def seen(self, room_id: str, name: str, times: int = 1) -> None:
        """Wait until the room had so many events of that name."""
        await self.until(room_id, lambda: self.names(room_id).count(name) >= times)

    async def ended(self, room_id: str) -> str:
        """Wait until the room's last event ends a run; return its name."""
        await self.until(room_id, lambda: bool(self.of(room_id)) and self.of(room_id)[-1].name in TERMINAL)
        return self.of(room_id)[-1].name


class House:
    """What a backend consists of, without its server."""

    def __init__(
        self,
        store: FileStore,
        models: ModelSource,
        unwatched: float | None,
        timing: Timing,
        box: ToolSource | None = None,
    ) -> None:
        self.store = store
        self.hub = Hub(store)
        self.log = Log()
        store.subscribe(self.log)
        self.presence = OpenPrograms()
        self.engine = Engine(
            store,
            self.hub,
            models,
            box or ScriptedBox(),
            unwatched_seconds=unwatched,
            timing=timing,
            presence=self.presence,
        )

    async def load(self, room_id: str) -> None:
        """Put what is stored of the room into the log; what is committed meanwhile comes by itself."""
        self.log.begin(room_id, await self.store.read(reads.frames, room_id, 0, 1_000_000))


@asynccontextmanager
async def open_house(
    file: Path,
    models: ModelSource,
    *,
    resume: bool = False,
    unwatched: float | None = None,
    timing: Timing | None = None,
    retry_seconds: Sequence[float] = (),
    box: ToolSource | None = None,
) -> AsyncIterator[House]:
    """Open the database ``file``, start an engine on it; stop and close both in the end."""
    house = House(open_store(file, retry_seconds), models, unwatched, timing or Timing(), box)
    try:
        await house.engine.start(resume=resume)
        yield house
    finally:
        await house.engine.stop_all()
        house.hub.close()
        await house.store.close()


def crash_copy(file: Path, copy: Path) -> Path:
    """Copy what is committed now, as a process that dies now would leave it; return ``copy``."""
    with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


def new_room(mode: str, rounds: int = 2, names: str = "Ada Bob Cyd", task: str = "Talk") -> Values:
    """Return a room whose agents have these names."""
    agents = tuple({"name": name} for name in names.split())
    return {"task": task, "execution_mode": mode, "max_rounds": rounds, "agents": agents}


def words(request: ModelRequest) -> list[str]:
    """Return what ``request``'s speaker says in its round, in two pieces; the rest of it where it is to
    continue.
    """
    said, rest = len(request.continues), []
    for piece in (f"{request.speaker} says, ", f"in round {request.round}."):
        if more := piece[said:]:
            rest.append(more)
        said = max(0, said - len(piece))
    return rest


def free_models() -> FakeModels:
    """Return models that say their ``words`` at once."""
    return FakeModels(ScriptedModel(words, free=True))


class PacedModel:
    """Says its ``words``, each piece only after the one before is on record: one event for each piece.

    In rooms whose task is among ``held`` it begins no further piece.
    """

    name = "paced"

    def __init__(self) -> None:
        self.held: set[str] = set()
        self._log = Log()

    def watch(self, log: Log) -> None:
        """Take what is on record from ``log``."""
        self._log = log

    async def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """Yield the words; the room is known by its task."""
        room_id, frames = next(
            (room_id, frames)
            for room_id, frames in self._log.frames.items()
            if frames and data(frames[0])["task"] == request.task
        )
        turn = next(
            frame.message_id
            for frame in reversed(frames)
            if frame.name == "message_start" and data(frame)["sender_name"] == request.speaker
        )
        for said, piece in enumerate(words(request), 1):
            await self._log.until(room_id, lambda: request.task not in self.held)
            yield TextPiece(piece)
            await self._log.until(room_id, partial(_recorded, frames, turn, said))


def _recorded(frames: list[StoredFrame], turn: str, chunks: int) -> bool:
    return sum(frame.name == "message_chunk" and frame.message_id == turn for frame in frames) >= chunks


def data(frame: StoredFrame) -> dict[str, Any]:
    """Return the frame's data."""
    value = json.loads(frame.data)
    assert isinstance(value, dict)
    return value
