"""Readers of a room get every frame, once, in order, and cost no memory when they lag."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.backend import hub as hubs
from agent_tui.backend.hub import Hub, StoredFrame
from agent_tui.backend.store.rows import (
    ConversationCreated,
    ConversationDropped,
    ConversationRow,
    EventsDropped,
    NewEvent,
)
from agent_tui.backend.store.store import FileStore
from agent_tui.model.errors import StoreError
from agent_tui.model.events import TextAdded, TurnEnded
from tests.backend.stores import open_store


@asynccontextmanager
async def opened(folder: Path, rooms: str = "a") -> AsyncIterator[tuple[FileStore, Hub]]:
    store = open_store(folder / "rooms.db")
    hub = Hub(store)
    for room_id in rooms:
        await store.append(
            room_id, (), [ConversationCreated(ConversationRow(room_id, "n", "t", "sequential", 1))]
        )
    try:
        yield store, hub
    finally:
        hub.close()
        await store.close()


def event(size: int = 1) -> NewEvent:
    return NewEvent.of(TextAdded("m", "x" * size))


async def read_to(hub: Hub, seq: int, after: int = 0, room_id: str = "a") -> list[int]:
    """Return the seqs that a reader gets up to ``seq``."""
    seqs: list[int] = []
    async with aclosing(hub.read(room_id, after)) as batches:
        async for batch in batches:
            seqs += [frame.seq for frame in batch]
            if seqs[-1] >= seq:
                return seqs
    return seqs


async def test_a_reader_gets_what_is_stored_and_then_what_comes(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, hub):
        await store.append("a", [event()] * 3)
        reading = asyncio.create_task(read_to(hub, 6))
        for _ in range(3):
            await store.append("a", [event()])
        assert await reading == [1, 2, 3, 4, 5, 6]


async def test_a_reader_begins_where_it_says(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, hub):
        await store.append("a", [event()] * 5)
        assert await read_to(hub, 5, after=3) == [4, 5]
        beyond = asyncio.create_task(read_to(hub, 8, after=6))
        await asyncio.sleep(0)
        for _ in range(3):
            await store.append("a", [event()])
        assert await beyond == [7, 8]


async def test_a_room_is_read_by_its_own_readers_only(tmp_path: Path) -> None:
    async with opened(tmp_path, "ab") as (store, hub):
        reading = asyncio.create_task(read_to(hub, 2, room_id="b"))
        await store.append("a", [event()] * 5)
        await store.append("b", [event()] * 2)
        assert await reading == [1, 2]


async def test_all_readers_share_one_frame(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, hub):
        readers = [hub.read("a", 0) for _ in range(3)]
        await store.append("a", [event()])
        for reader in readers:
            await anext(reader)
        await store.append("a", [event()])
        batches = [await anext(reader) for reader in readers]
        assert len({id(batch[0]) for batch in batches}) == 1
        for reader in readers:
            await reader.aclose()


@pytest.mark.parametrize("size", [1, 100_000], ids=["many frames", "large frames"])
async def test_a_reader_that_never_reads_costs_no_memory_and_loses_nothing(
    tmp_path: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "MAX_QUEUED_FRAMES", 100)
    monkeypatch.setattr(hubs, "MAX_QUEUED_CHARACTERS", 500_000)
    async with opened(tmp_path) as (store, hub):
        lazy = hub.read("a", 0)
        await store.append("a", [event()])
        seqs = [frame.seq for frame in await anext(lazy)]
        most = 0
        for _ in range(30):
            await store.append("a", [event(size)] * 10)
            (reader,) = hub._rooms["a"].readers
            most = max(most, sum(len(batch) for batch in reader._batches))
        assert most <= (100 if size == 1 else 10)
        quick = await read_to(hub, 301)
        while seqs[-1] < 301:
            seqs += [frame.seq for frame in await anext(lazy)]
        assert seqs == quick == list(range(1, 302))
        # Having caught up it is live again.
        await store.append("a", [event()])
        assert [frame.seq for frame in await anext(lazy)] == [302]
        await lazy.aclose()


async def test_one_frame_larger_than_the_bound_arrives_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "MAX_QUEUED_CHARACTERS", 10)
    async with opened(tmp_path) as (store, hub):
        reading = asyncio.create_task(read_to(hub, 3))
        for _ in range(3):
            await store.append("a", [event(1_000)])
        assert await reading == [1, 2, 3]


async def test_a_long_log_is_read_in_pages_and_others_live_meanwhile(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, hub):
        for _ in range(6):
            await store.append("a", [event()] * 400)
        sizes = []
        async with aclosing(hub.read("a", 0)) as batches:
            async for batch in batches:
                sizes.append(len(batch))
                if sum(sizes) == 2_400:
                    break
        assert sizes == [500, 500, 500, 500, 400]


async def test_a_replay_gives_the_loop_its_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "PAGE_FRAMES", 10)
    async with opened(tmp_path) as (store, hub):
        await store.append("a", [event()] * 200)
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        await read_to(hub, 200)
        counting.cancel()
        assert turns >= 20


async def test_watchers_are_counted_while_they_watch(tmp_path: Path) -> None:
    async with opened(tmp_path, "ab") as (store, hub):
        told: list[int] = []
        hub.on_watchers.append(lambda: told.append(hub.watchers()))
        for room_id in "ab":
            await store.append(room_id, [event()])
        first, second, other = hub.read("a", 0), hub.read("a", 0, counts=False), hub.read("b", 0)
        for reader in (first, second, other):
            await anext(reader)
        assert (hub.watchers(), hub.readers()) == (2, 3)
        await first.aclose()
        await second.aclose()
        assert (hub.watchers(), hub.readers()) == (1, 1)
        await other.aclose()
        assert told == [1, 1, 2, 1, 1, 0]


async def test_a_reader_that_is_cancelled_is_gone(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, hub):
        come = asyncio.Event()
        hub.on_watchers.append(lambda: come.set())
        reading = asyncio.create_task(read_to(hub, 1))
        await come.wait()
        reading.cancel()
        await asyncio.wait({reading})
        assert hub.readers() == 0


async def test_closing_ends_all_readers_after_what_they_had_coming(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, hub):
        reader = hub.read("a", 0)
        await store.append("a", [event()])
        await anext(reader)
        await store.append("a", [event()])
        hub.close()
        assert [[frame.seq for frame in batch] async for batch in reader] == [[2]]
        assert [batch async for batch in hub.read("a", 0)] == []
        assert hub.readers() == 0


async def test_the_readers_of_a_deleted_room_end(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, hub):
        come = asyncio.Event()
        hub.on_watchers.append(lambda: come.set())
        reading = asyncio.create_task(read_to(hub, 100))
        await store.append("a", [event()] * 2)
        await come.wait()
        await store.append("a", (), [EventsDropped(2), ConversationDropped()])
        hub.end("a")
        assert await reading in ([], [1, 2])
        assert await read_to(hub, 100) == []


async def test_readers_are_told_when_a_room_cannot_go_on(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, hub):
        reader = hub.read("a", 0)
        await store.append("a", [event()])
        await anext(reader)
        hub.end("a", StoreError("The disk is full"))
        with pytest.raises(StoreError, match="The disk is full"):
            await anext(reader)
        # Those who come later read on.
        assert await read_to(hub, 1) == [1]


async def test_the_hub_says_what_was_said_before(tmp_path: Path) -> None:
    async with opened(tmp_path) as (_, hub):
        assert await hub.text_before("a", "nothing", 10) == ""


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=20),
    pauses=st.lists(st.integers(0, 5), min_size=1, max_size=10),
    after=st.integers(0, 10),
)
def test_however_a_reader_and_the_writer_take_turns_no_frame_is_lost_or_doubled(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], pauses: list[int], after: int
) -> None:
    async def run() -> None:
        folder = tmp_path_factory.mktemp("hub")
        total = sum(sizes)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(hubs, "MAX_QUEUED_FRAMES", 10)
            patch.setattr(hubs, "PAGE_FRAMES", 7)
            async with opened(folder) as (store, hub):

                async def write() -> None:
                    for size in sizes:
                        await store.append("a", [event()] * size)

                async def read() -> list[StoredFrame]:
                    frames: list[StoredFrame] = []
                    async with aclosing(hub.read("a", after)) as batches:
                        async for batch in batches:
                            frames += batch
                            for _ in range(pauses[len(frames) % len(pauses)]):
                                await asyncio.sleep(0)
                            if frames[-1].seq == total:
                                break
                    return frames

                if total <= after:
                    await write()
                    return
                frames, _ = await asyncio.gather(read(), write())
                assert [frame.seq for frame in frames] == list(range(after + 1, total + 1))

    asyncio.run(run())


async def test_words_for_a_crowd_are_joined_and_the_end_of_a_turn_brings_them_along_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hubs, "MAX_HOLD_SECONDS", 3600.0)
    monkeypatch.setattr(hubs, "SECONDS_PER_READER", 3600.0)
    async with opened(tmp_path) as (store, hub):
        await store.append("a", [event()])
        crowd = [hub.read("a", 0) for _ in range(hubs.CROWD_READERS)]
        for reader in crowd:
            assert [frame.seq for frame in await anext(reader)] == [1]
        await store.append("a", [event()])  # the first words after a silence are not held
        for reader in crowd:
            assert [frame.seq for frame in await anext(reader)] == [2]
        for _ in range(3):
            await store.append("a", [event()])
        await store.append("a", [NewEvent.of(TurnEnded("m", "", 0))])
        batches = [await anext(reader) for reader in crowd]
        assert all([frame.seq for frame in batch] == [3, 4, 5, 6] for batch in batches)
        assert {id(batch) for batch in batches} == {id(batches[0])}, "shared, so encoded once"


async def test_words_held_for_a_crowd_come_without_anything_pushing_them(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, hub):
        readings = [asyncio.create_task(read_to(hub, 3)) for _ in range(hubs.CROWD_READERS)]
        for _ in range(3):
            await store.append("a", [event()])
        assert await asyncio.gather(*readings) == [[1, 2, 3]] * hubs.CROWD_READERS


async def test_who_comes_while_words_are_held_gets_each_once(tmp_path: Path) -> None:
    async with opened(tmp_path) as (store, hub):
        readings = [asyncio.create_task(read_to(hub, 40)) for _ in range(hubs.CROWD_READERS)]
        for number in range(40):
            await store.append("a", [event()])
            if number % 10 == 5:
                readings.append(asyncio.create_task(read_to(hub, 40)))
        assert await asyncio.gather(*readings) == [list(range(1, 41))] * len(readings)
