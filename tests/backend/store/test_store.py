"""What is acknowledged is on disk, in order, once."""

from __future__ import annotations

import asyncio
import gc
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import (
    KINDS,
    Change,
    ConversationCreated,
    ConversationRow,
    ConversationSet,
    ConversationUsed,
    NewEvent,
    RunOpened,
    StoredFrame,
    TurnClosed,
    TurnOpened,
    TurnRow,
    UserSaid,
)
from agent_tui.backend.store.store import FileStore, Store
from agent_tui.model.errors import NotFound, StoreError
from agent_tui.model.events import AgentInfo, RoundStarted, TextAdded
from tests.fakes.full_disk import disk

ADA, BOB = AgentInfo("ada", "Ada"), AgentInfo("bob", "Bob", turn_order=1)


@asynccontextmanager
async def opened(file: Path, *retry_seconds: float, busy_seconds: float = 5.0) -> AsyncIterator[Store]:
    store = FileStore(file, retry_seconds=retry_seconds, busy_seconds=busy_seconds)
    try:
        yield store
    finally:
        await store.close()


async def made(store: Store, *ids: str) -> None:
    """Make rooms of these ids, each with an agent of its own."""
    for room_id in ids:
        agent = AgentInfo(f"{room_id}-agent", "Ada")
        row = ConversationRow(room_id, room_id, "Talk", "sequential", 2, agents=(agent,))
        await store.append(room_id, (), [ConversationCreated(row)])


def event(text: str = "x", message_id: str = "") -> NewEvent:
    return NewEvent.of(TextAdded(message_id, text), message_id)


def closed(message_id: str, status: str, text: str = "") -> TurnClosed:
    return TurnClosed(TurnRow(1, "ada", 1, message_id, status, text=text))


async def seqs(store: Store, room_id: str) -> list[int]:
    return [frame.seq for frame in await store.read(reads.frames, room_id, 0, 10_000)]


async def test_events_are_numbered_from_one_in_each_room_without_a_gap(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        await made(store, "a", "b")
        assert await store.append("a", [event(), event()]) == 1
        assert await store.append("b", [event()]) == 1
        assert await store.append("a", [event()]) == 3
        assert await store.append("a") == 0
        assert await seqs(store, "a") == [1, 2, 3]
        assert (await store.read(reads.conversation, "a")).last_seq == 3
    async with opened(tmp_path / "rooms.db") as store:
        assert await store.append("a", [event()]) == 4


async def test_what_many_rooms_write_at_once_is_committed_together_and_stays_in_order(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        ids = [f"room-{number}" for number in range(20)]
        await made(store, *ids)
        published: list[StoredFrame] = []
        store.subscribe(published.extend)

        async def write(room_id: str) -> None:
            pending = [store.append(room_id, [event(str(number)), event()]) for number in range(20)]
            assert await asyncio.gather(*pending) == list(range(1, 41, 2))

        await asyncio.gather(*(write(room_id) for room_id in ids))
        for room_id in ids:
            stored = await store.read(reads.frames, room_id, 0, 1000)
            assert [frame for frame in published if frame.room_id == room_id] == stored
            assert [frame.seq for frame in stored] == list(range(1, 41))


async def test_a_frame_is_published_after_its_commit_and_before_its_writer_goes_on(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        await made(store, "a")
        seen: list[int] = []

        def look(frames: list[StoredFrame]) -> None:
            with closing(sqlite3.connect(tmp_path / "rooms.db")) as other:
                (stored,) = other.execute("SELECT max(seq) FROM event").fetchone()
            assert stored >= frames[-1].seq
            seen.append(frames[-1].seq)

        store.subscribe(look)
        for number in range(1, 6):
            await store.append("a", [event()])
            assert seen[-1] == number


async def test_the_database_refuses_a_turn_completed_twice(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        row = ConversationRow("a", "a", "Talk", "sequential", 2, agents=(ADA, BOB))
        await store.append("a", (), [ConversationCreated(row)])
        for attempt, message_id in ((1, "m1"), (2, "m2")):
            turn = TurnRow(1, "ada", attempt, message_id)
            await store.append("a", [event()], [TurnOpened(turn)])
        await store.append("a", [event()], [closed("m1", "completed", "said")])
        with pytest.raises(StoreError, match="contradicts"):
            await store.append("a", [event("not to be seen")], [closed("m2", "completed", "said again")])
        with pytest.raises(StoreError, match="not open"):
            await store.append("a", [event("not to be seen")], [closed("m1", "failed", "")])
        await store.append("a", [event()], [closed("m2", "interrupted", "said again")])
        assert await seqs(store, "a") == [1, 2, 3, 4]
        frames = await store.read(reads.frames, "a", 0, 100)
        assert not any("seen" in frame.data for frame in frames)


async def test_one_bad_write_takes_no_other_with_it(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        await made(store, "a", "b")
        bad: list[Change] = [closed("nothing", "completed")]
        outcomes = await asyncio.gather(
            store.append("a", [event("1")]),
            store.append("a", [event("2")], bad),
            store.append("a", [event("2")], [ConversationUsed(10**30)]),  # no number of SQLite
            store.append("b", [event("3")]),
            store.append("nowhere", [event("4")]),
            store.append("a", [event("5")]),
            return_exceptions=True,
        )
        assert [outcome if isinstance(outcome, int) else type(outcome) for outcome in outcomes] == [
            1,
            StoreError,
            StoreError,
            1,
            StoreError,
            2,
        ]
        stored = await store.read(reads.frames, "a", 0, 100)
        assert [frame.event for frame in stored] == [TextAdded("", "1"), TextAdded("", "5")]


async def test_a_writer_whose_caller_went_away_writes_all_the_same(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        await made(store, "a")
        caller = asyncio.create_task(store.append("a", [event()]))
        await asyncio.sleep(0)
        caller.cancel()
        await asyncio.wait({caller})
        assert caller.cancelled()
        assert await store.append("a", [event()]) == 2


async def test_closing_commits_what_is_queued_and_refuses_the_rest(tmp_path: Path) -> None:
    store = FileStore(tmp_path / "rooms.db")
    await made(store, "a")
    pending = [asyncio.create_task(store.append("a", [event()])) for _ in range(50)]
    await asyncio.sleep(0)
    await store.close()
    assert await asyncio.gather(*pending) == list(range(1, 51))
    with pytest.raises(StoreError, match="closed"):
        await store.append("a", [event()])
    with pytest.raises(StoreError, match="closed"):
        await store.read(reads.conversation, "a")
    with closing(sqlite3.connect(tmp_path / "rooms.db")) as other:
        assert other.execute("SELECT count(*) FROM event").fetchone() == (50,)


async def test_a_lock_held_by_somebody_else_is_waited_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "rooms.db"
    async with opened(file, *[0.01] * 10_000, busy_seconds=0) as store:
        await made(store, "a")
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.create_task(store.append("a", [event()]))
            while "locked by another program" not in caplog.text:  # noqa: ASYNC110 - told only in the log
                await asyncio.sleep(0)
            assert not waiting.done()
            assert (await store.read(reads.conversation, "a")).last_seq == 0  # reading goes on
            other.execute("ROLLBACK")
        assert await waiting == 1


async def test_a_lock_that_stays_is_an_error_and_the_next_write_is_tried_anew(tmp_path: Path) -> None:
    file = tmp_path / "rooms.db"
    async with opened(file, busy_seconds=0) as store:
        await made(store, "a")
        with closing(sqlite3.connect(file, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(StoreError, match="locked by another program"):
                await store.append("a", [event()])
            other.execute("ROLLBACK")
        assert await store.append("a", [event()]) == 1


async def test_a_full_disk_is_an_error_and_nothing_is_half_stored(
    tmp_path: Path,
) -> None:
    with disk() as space:
        async with opened(tmp_path / "rooms.db") as store:
            await made(store, "a")
            published: list[StoredFrame] = []
            store.subscribe(published.extend)
            space.fill()
            with pytest.raises(StoreError, match="the disk is full") as error:
                await store.append("a", [event("x" * 50_000), event("y" * 50_000)], [RunOpened()])
            assert "\n" not in error.value.title
            assert published == []
            row = await store.read(reads.conversation, "a")
            assert (row.last_seq, row.status) == (0, "idle")
            space.free()
            assert await store.append("a", [event("x" * 50_000)]) == 1


async def test_while_a_disk_stays_full_only_the_first_write_waits_for_space(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Otherwise a call that comes meanwhile waits twice, which is longer than its client does."""
    with disk() as space:
        async with opened(tmp_path / "rooms.db", 0.0, 0.0) as store:
            await made(store, "a")
            for tries in (2, 4):
                space.fill()
                for _ in range(3):
                    with pytest.raises(StoreError, match="the disk is full"):
                        await store.append("a", [event("x" * 50_000)])
                assert caplog.text.count("trying again") == tries
                space.free()
                await store.append("a", [event("x" * 50_000)])


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_when_the_writer_dies_nobody_waits_for_ever(tmp_path: Path) -> None:
    def bug() -> datetime:
        raise SystemExit

    store = FileStore(tmp_path / "rooms.db", now=bug)
    with pytest.raises(StoreError, match="failed"):
        await made(store, "a")
    store._writer._thread.join()
    with pytest.raises(StoreError, match="closed"):
        await made(store, "a")
    assert await store.read(reads.conversations) == []
    await store.close()


async def test_closing_does_not_wait_for_a_full_disk(tmp_path: Path) -> None:
    with disk() as space:
        store = FileStore(tmp_path / "rooms.db", retry_seconds=[3600.0])
        await made(store, "a")
        space.fill()
        waiting = asyncio.create_task(store.append("a", [event("x" * 50_000)]))
        await asyncio.sleep(0)
        await store.close()
        with pytest.raises(StoreError):
            await waiting


async def test_text_before_is_what_was_said_up_to_there(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        row = ConversationRow("a", "a", "Talk", "parallel", 2, agents=(ADA, BOB))
        await store.append("a", (), [ConversationCreated(row)])
        for agent, message_id in (("ada", "m0"), ("bob", "m1")):
            start = NewEvent.of(RoundStarted(1, 1), message_id)
            await store.append("a", [start], [TurnOpened(TurnRow(1, agent, 1, message_id))])
        for number in range(6):
            await store.append("a", [event(str(number), f"m{number % 2}")])
        assert await store.read(reads.text_before, "a", "m0", 3) == ""
        assert await store.read(reads.text_before, "a", "m0", 6) == "02"
        assert await store.read(reads.text_before, "a", "m1", 100) == "135"
        assert await store.read(reads.text_before, "a", "unknown", 100) == ""
        assert await store.read(reads.text_before, "b", "m0", 100) == ""


async def test_messages_and_their_as_of_are_one_moment(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        await made(store, "a")
        task = UserSaid("task", 0, "Talk", "user", "#000000", "now")
        await store.append("a", [NewEvent.of(RoundStarted(1, 1), "task")], [task])
        start = NewEvent.of(RoundStarted(1, 1), "m")
        await store.append("a", [start], [TurnOpened(TurnRow(1, "ada", 1, "m"))])

        async def write() -> None:
            for _ in range(50):
                await store.append("a", [event("x", "m")])

        async def read() -> None:
            while (page := await store.read(reads.page, "a", KINDS, None, 10)).as_of < 52:
                assert len(page.messages[1].text) == page.as_of - 2

        await asyncio.gather(write(), read())
        assert (await store.read(reads.conversation, "a")).last_seq == 52


async def test_what_is_not_there_is_not_found(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        await made(store, "a")
        for query in (reads.conversation, reads.state):
            with pytest.raises(NotFound):
                await store.read(query, "b")
        await store.append("a", (), [ConversationSet({"desired": "deleted"})])
        with pytest.raises(NotFound):
            await store.read(reads.conversation, "a")


async def test_nothing_is_left_open(tmp_path: Path) -> None:
    async with opened(tmp_path / "rooms.db") as store:
        await made(store, "a")
        await asyncio.gather(*(store.read(reads.conversation, "a") for _ in range(10)))
    gc.collect()  # an open connection would warn, and warnings are errors
    assert not (tmp_path / "rooms.db-wal").exists()


@settings(max_examples=10, deadline=None)
@given(st.lists(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 3)), max_size=8), max_size=4))
def test_however_writes_are_grouped_every_room_counts_for_itself(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[tuple[str, int]]]
) -> None:
    async def run() -> None:
        async with opened(tmp_path_factory.mktemp("store") / "rooms.db") as store:
            await made(store, *"abc")
            counts = dict.fromkeys("abc", 0)
            for group in groups:
                writes = [store.append(room_id, [event()] * number) for room_id, number in group]
                for (room_id, number), first in zip(group, await asyncio.gather(*writes), strict=True):
                    assert first == (counts[room_id] + 1 if number else 0)
                    counts[room_id] += number
            for room_id, count in counts.items():
                assert await seqs(store, room_id) == list(range(1, count + 1))

    asyncio.run(run())
