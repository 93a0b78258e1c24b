"""Which rooms changed since when."""

from __future__ import annotations

import asyncio

from agent_tui.backend.engine.changes import MAX_REMOVED, Changes
from agent_tui.backend.store.rows import StoredFrame

AT_ONCE = 0.0
LONG_SECONDS = 60.0


def frame(room_id: str, name: str = "text_added") -> list[StoredFrame]:
    return [StoredFrame(room_id, 1, name, "{}", "")]


async def test_without_a_cursor_everything_counts_as_changed_at_once() -> None:
    changes = Changes()
    changes.note("a")
    for unknown in ("", "rubbish", "0123456789abcdef-1", f"{changes.cursor}0"):
        news = await changes.wait(unknown, LONG_SECONDS)
        assert (news.is_all, news.changed, news.cursor) == (True, (), changes.cursor)


async def test_another_process_knows_no_cursor_of_this_one() -> None:
    assert (await Changes().wait(Changes().cursor, LONG_SECONDS)).is_all


async def test_only_what_changed_since_the_cursor_is_told_each_room_once() -> None:
    changes = Changes()
    changes.note("a")
    cursor = changes.cursor
    for room_id in ("b", "c", "b"):
        changes.note(room_id)
    news = await changes.wait(cursor, LONG_SECONDS)
    assert (news.changed, news.removed, news.is_all) == (("c", "b"), (), False)
    assert (await changes.wait(news.cursor, AT_ONCE)).changed == ()


async def test_a_room_that_is_gone_is_told_as_removed() -> None:
    changes = Changes()
    cursor = changes.cursor
    changes.note("a")
    changes.remove("a")
    news = await changes.wait(cursor, LONG_SECONDS)
    assert (news.changed, news.removed) == ((), ("a",))


async def test_who_waits_is_woken_by_the_next_change() -> None:
    changes = Changes()
    async with asyncio.TaskGroup() as tasks:
        waiting = [tasks.create_task(changes.wait(changes.cursor, LONG_SECONDS)) for _ in range(3)]
        await asyncio.sleep(0)
        changes.note("a")
    assert [task.result().changed for task in waiting] == [("a",)] * 3


async def test_closing_ends_all_waiting_now_and_later() -> None:
    changes = Changes()
    async with asyncio.TaskGroup() as tasks:
        waiting = tasks.create_task(changes.wait(changes.cursor, LONG_SECONDS))
        await asyncio.sleep(0)
        changes.close()
    assert waiting.result().changed == ()
    assert (await changes.wait(changes.cursor, LONG_SECONDS)).changed == ()


async def test_a_room_that_streams_counts_once_until_it_has_rested() -> None:
    changes = Changes(stream_seconds=LONG_SECONDS)
    changes.publish(frame("a"))
    cursor = changes.cursor
    for _ in range(10):
        changes.publish(frame("a"))
    assert changes.cursor == cursor
    changes.publish(frame("a", "run_paused"))
    assert (await changes.wait(cursor, LONG_SECONDS)).changed == ("a",)
    changes.close()


async def test_what_streamed_meanwhile_is_told_after_the_rest() -> None:
    changes = Changes(stream_seconds=0.01)
    changes.publish(frame("a"))
    cursor = changes.cursor
    changes.publish(frame("a"))
    assert (await changes.wait(cursor, LONG_SECONDS)).changed == ("a",)
    changes.close()


async def test_cursors_older_than_what_is_remembered_get_everything() -> None:
    changes = Changes()
    cursor = changes.cursor
    for number in range(MAX_REMOVED + 1):
        changes.remove(f"room-{number}")
    assert (await changes.wait(cursor, LONG_SECONDS)).is_all
