"""kill -9 at seeded random points: no word that anybody has seen is lost, doubled or out of order."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.backend.processes import Process, running, serve
from tests.backend.wire_client import Frame, WireClient
from tests.thorough import THOROUGH

pytestmark = pytest.mark.slow

ROUNDS = 3
AGENTS = 4
MODES = ("sequential", "parallel")
KILLS = 8 if THOROUGH else 4
MOST_KILLS = 6 * KILLS  # when the first few hit too little
ROOMS_PER_MODE = 2  # that run at each kill, so each kill is one point in each of four rooms
FEWEST_HITS_PER_MODE = KILLS + 1  # in each of the two tests; a room may be done or paused when it happens
TOKENS_PER_SECOND = "5000"  # some hundred events for each room, within a second or two
MOST_EVENTS_BETWEEN_KILLS = 150  # of all rooms together
PAUSES = 0.5  # how often a kill comes around a pause, and how often such a pause is waited for


class Audience:
    """Wakes who waits for something to be seen in any room."""

    def __init__(self) -> None:
        self.events = 0
        self._news = asyncio.Event()

    def tell(self) -> None:
        self.events += 1
        self._news.set()

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until ``true()``; looks whenever an event has been seen. For one at a time."""
        while not true():
            self._news.clear()
            await self._news.wait()


@dataclass(slots=True, eq=False)
class Room:
    """One room and all that its readers were ever sent: the raw frame for each id."""

    id: str
    mode: str
    audience: Audience
    frames: dict[int, Frame] = field(default_factory=dict)
    last: int = 0  # the greatest id
    hits: int = 0  # how often the backend was killed before it was done
    pausing: bool = False  # a pause was acknowledged and the room not run again since

    @property
    def path(self) -> str:
        return f"/api/rooms/{self.id}"

    @property
    def newest(self) -> str:
        return self.frames[self.last].name if self.frames else ""

    @property
    def done(self) -> bool:
        return self.newest == "room_completed"

    def take(self, frame: Frame) -> None:
        """Keep a frame; the same id must always be the same bytes."""
        assert self.frames.setdefault(frame.id, frame).raw == frame.raw
        self.last = max(self.last, frame.id)
        self.audience.tell()

    def named(self, name: str) -> list[Frame]:
        return [self.frames[n] for n in sorted(self.frames) if self.frames[n].name == name]


async def follow(client: WireClient, room: Room, method: str, call: str, headers: dict[str, str]) -> None:
    """Read a stream until the room is done or the server is."""
    last = 0
    try:
        async with client.open(method, f"{room.path}/{call}?accumulated=0", headers=headers) as stream:
            assert stream.status == 200
            async for frame in stream.frames():
                assert frame.id > last, "out of order"
                last = frame.id
                room.take(frame)
                if frame.name == "room_completed":
                    return
    except (ConnectionError, asyncio.IncompleteReadError):
        pass  # killed


@asynccontextmanager
async def followed(process: Process, rooms: list[Room], run: list[Room]) -> AsyncIterator[None]:
    """Follow ``rooms`` from where their readers were, and run those in ``run``."""
    async with asyncio.TaskGroup() as tasks:
        for room in rooms:
            headers = {"last-event-id": str(room.last)} if room.last else {}
            tasks.create_task(follow(process.client, room, "GET", "events", headers))
            if room in run:
                tasks.create_task(follow(process.client, room, "POST", "run", headers))
        yield


async def make_rooms(client: WireClient, rooms: list[Room], audience: Audience) -> list[Room]:
    """Make new rooms in the place of those that are done; return them."""
    made = []
    for mode in MODES:
        for _ in range(ROOMS_PER_MODE - sum(room.mode == mode for room in undone(rooms))):
            agents = [{"name": f"Agent {n}"} for n in range(AGENTS)]
            fields = {"task": "Redis or PostgreSQL?", "max_rounds": ROUNDS, "agents": agents}
            answer = await client.call("POST", "/api/rooms", {**fields, "execution_mode": mode})
            made.append(Room(answer.json["id"], mode, audience))
    return made


async def pause_one(client: WireClient, room: Room, *, wait: bool) -> None:
    """Pause a room; ``wait`` until it says so, else the kill comes in the middle of it."""
    answer = await client.call("POST", f"{room.path}/pause")
    assert answer.status == 202
    room.pausing = True
    if wait:
        await room.audience.until(lambda: room.newest in ("room_paused", "room_completed"))


async def look_after_restart(client: WireClient, room: Room, *, resumes: bool) -> None:
    """What was running goes on or says that it crashed; what was paused stays so until it is resumed."""
    info = (await client.call("GET", room.path)).json
    if room.pausing:
        assert info["status"] in ("paused", "completed"), info
        assert info.get("interrupted", "pause") == "pause"
        room.pausing = False
        if resumes and info["status"] == "paused":
            assert (await client.call("POST", f"{room.path}/resume")).status == 202
    elif not resumes:
        assert info["status"] in ("paused", "completed"), info
        assert info.get("interrupted", "crash") == "crash"


async def live_and_die(folder: Path, seed: int, *, resumes: bool) -> list[Room]:
    """Run rooms to their end, through at least ``KILLS`` kills and as many more as it takes until they hit
    enough; return the rooms with all that was seen of them.
    """
    chance = random.Random(seed)
    arguments = serve(folder, *([] if resumes else ["--no-resume"]), rate=TOKENS_PER_SECOND)
    audience = Audience()
    rooms: list[Room] = []
    for life in range(MOST_KILLS + 1):
        async with running(*arguments, folder=folder) as process:
            for room in [room for room in undone(rooms) if room.last]:
                await look_after_restart(process.client, room, resumes=resumes)
            last_life = life >= KILLS and hit_enough(rooms)
            if not last_life:
                rooms += await make_rooms(process.client, rooms, audience)
            run = [room for room in undone(rooms) if not resumes or not room.last]
            async with followed(process, undone(rooms), run):
                if not last_life:
                    await die(process, rooms, audience, chance)
            if last_life:
                for room in rooms:
                    await check_record(process.client, room)
                return rooms
    raise AssertionError(f"{MOST_KILLS} kills hit too little")


def hit_enough(rooms: list[Room]) -> bool:
    """Were rooms of both modes hit often enough, and enough turns cut in the middle?"""
    hits = [sum(room.hits for room in rooms if room.mode == mode) for mode in MODES]
    cut = [
        end for room in rooms for end in room.named("message_end") if end.fields.get("interrupted") == "crash"
    ]
    return min(hits) >= FEWEST_HITS_PER_MODE and len(cut) > KILLS


def undone(rooms: list[Room]) -> list[Room]:
    return [room for room in rooms if not room.done]


async def die(process: Process, rooms: list[Room], audience: Audience, chance: random.Random) -> None:
    """Kill the process after so many events, now and then around a pause."""
    enough = audience.events + chance.randint(1, MOST_EVENTS_BETWEEN_KILLS)
    await audience.until(lambda: audience.events >= enough or not undone(rooms))
    running_rooms = [room for room in undone(rooms) if room.last]
    if running_rooms and chance.random() < PAUSES:
        await pause_one(process.client, chance.choice(running_rooms), wait=chance.random() < PAUSES)
    await process.kill()
    for room in undone(rooms):
        room.hits += bool(room.last)


# --- what must hold ------------------------------------------------------------------------------------


async def check_record(client: WireClient, room: Room) -> None:
    """What readers have seen over all connections is what the store has, and both are whole."""
    again = await client.frames("GET", f"{room.path}/events?accumulated=0", until="room_completed")
    assert [frame.id for frame in again] == list(range(1, len(again) + 1))
    assert sorted(room.frames) == list(range(1, len(again) + 1)), "a gap or a double"
    assert [room.frames[frame.id].raw for frame in again] == [frame.raw for frame in again]
    info = (await client.call("GET", room.path)).json
    assert (info["status"], info["last_event_id"]) == ("completed", len(again))
    stored = (await client.call("GET", f"{room.path}/messages")).json
    assert stored["next"] is None
    for message, frame in zip(stored["messages"], in_log_order(room), strict=True):
        assert message.pop("status") == ("interrupted" if "interrupted" in frame.fields else "completed")
        message.pop("agent_id")
        assert message == frame.fields


def in_log_order(room: Room) -> list[Frame]:
    """Return the `message` frames in the order in which their messages began."""
    began = {frame.fields["id"]: frame.id for frame in room.named("message_start")}
    return sorted(room.named("message"), key=lambda frame: began.get(frame.fields["id"], frame.id))


def check_turns(room: Room) -> Counter[str]:
    """Every turn was said to its end exactly once; return why the others were cut, and how often."""
    started = {frame.fields["id"]: frame.fields for frame in room.named("message_start")}
    ended = {frame.fields["id"]: frame.fields for frame in room.named("message_end")}
    assert started.keys() == ended.keys()
    assert len(room.named("message_start")) == len(started)
    assert len(room.named("message_end")) == len(ended)
    said: Counter[str] = Counter()
    texts = dict.fromkeys(started, "")
    for chunk in room.named("message_chunk"):
        texts[chunk.fields["id"]] += chunk.fields["content"]
    assert texts == {turn: fields["content"] for turn, fields in ended.items()}
    cuts: Counter[str] = Counter()
    for turn, fields in ended.items():
        if reason := fields.get("interrupted"):
            cuts[reason] += 1
        else:
            said[f"{started[turn]['round_number']} {started[turn]['sender_name']}"] += 1
    turns = [f"{round_} Agent {agent}" for round_ in range(1, ROUNDS + 1) for agent in range(AGENTS)]
    assert said == Counter(turns)
    return cuts


def check_runs(room: Room) -> None:
    """Rounds begin and end once; each run but the last was paused, each but the first resumed."""
    rounds = list(range(1, ROUNDS + 1))
    assert [frame.fields["round"] for frame in room.named("round_start")] == rounds
    assert [frame.fields["round"] for frame in room.named("round_end")] == rounds
    runs = [frame.fields.get("resumed", False) for frame in room.named("room_started")]
    assert runs == [False] + [True] * (len(runs) - 1)
    assert len(room.named("room_paused")) == len(runs) - 1
    assert len(room.named("room_completed")) == 1
    assert room.named("error") == []


@pytest.mark.parametrize("resumes", [True, False], ids=["resumed by itself", "run again"])
async def test_nothing_is_lost_or_said_twice_however_often_the_backend_is_killed(
    tmp_path: Path, resumes: bool
) -> None:
    rooms = await live_and_die(tmp_path, seed=7 + resumes, resumes=resumes)
    cuts: Counter[str] = Counter()
    for room in rooms:
        cuts += check_turns(room)
        check_runs(room)
    assert cuts.keys() <= {"crash", "pause"}
