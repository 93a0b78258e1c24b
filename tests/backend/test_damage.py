"""Rows that this program did not write so: the conversation is shown as damaged, the others live."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.backend.chat_backend import A_PATH, ChatBackend, chat_backend, refused
from tests.fakes.scripted_model import ScriptedModel

pytestmark = pytest.mark.slow

NOT_TEXT = b"\xff\xfe\x00"
BAD = 8  # how many bad ones there are of each kind
ODD: tuple[Any, ...] = ("abc", -1.5, NOT_TEXT, 2**62, "{", "[1]", "")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder in which the first test makes the database of all."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture
async def before(made: Path, tmp_path: Path) -> Path:
    """Give a database with some rooms and chats, each with words of a model, that nobody has open."""
    if is_empty(made):
        await make(made)
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def is_empty(folder: Path) -> bool:
    return not any(folder.iterdir())


async def make(folder: Path) -> None:
    async with chat_backend(folder, ScriptedModel(lambda _: ["Yes."], free=True)) as running:
        for name in ("good", *(f"bad {number}" for number in range(BAD))):
            room = await running.client.call(
                "POST",
                "/api/rooms",
                {"task": "t", "name": name, "agents": [{"name": "Ada"}], "max_rounds": 1},
            )
            await running.all_frames("POST", f"/api/rooms/{room.json['id']}/run")
            await running.ask(await running.chat(title=name))


def columns(folder: Path, table: str) -> list[str]:
    with closing(sqlite3.connect(folder / "chats.db")) as database:
        return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def damage(folder: Path, table: str, column: str, value: Any, which: str, number: int = 0) -> bool:
    """Put ``value`` into a column of what belongs to a bad room or chat; say whether SQLite took it."""
    key = "id" if table == "conversation" else "conversation_id"
    with closing(sqlite3.connect(folder / "chats.db")) as database, database:
        text = isinstance(value, bytes)
        new = "CAST(? AS TEXT)" if text else "?"
        wanted = "(SELECT id FROM conversation WHERE name = ? AND kind = ?)"
        try:
            database.execute(
                f"UPDATE {table} SET {column} = {new} WHERE {key} = {wanted}",  # noqa: S608 - names of ours
                (value, f"bad {number}", which),
            )
        except sqlite3.IntegrityError:
            return False
    return True


async def rooms_and_chats(running: ChatBackend) -> tuple[list[Any], list[Any]]:
    rooms = await running.client.call("GET", "/api/rooms?archived=1")
    chats = await running.client.call("GET", f"{A_PATH}?archived=1")
    assert (rooms.status, chats.status) == (200, 200), (rooms.body, chats.body)
    return rooms.json["rooms"], chats.json["conversations"]


KEYS = ("id", "conversation_id", "number", "kind", "desired", "message_id")  # what belongs to what
TABLES = (
    ("conversation", "room"), ("conversation", "chat"), ("agent", "room"), ("agent", "chat"),
    ("turn", "room"), ("turn", "chat"), ("user_message", "chat"),
)  # fmt: skip


@pytest.mark.parametrize(("table", "which"), TABLES)
async def test_whatever_stands_in_a_row_the_backend_starts_and_lists_and_the_others_live(
    before: Path, table: str, which: str
) -> None:
    taken = 0
    for number, column in enumerate(columns(before, table)):
        if column not in KEYS and damage(before, table, column, ODD[number % len(ODD)], which, number % BAD):
            taken += 1
    assert taken >= 5
    async with chat_backend(before, ScriptedModel(lambda _: ["Yes."], free=True)) as running:
        await _check(running)


async def _check(running: ChatBackend) -> None:
    """All are listed and answered, the good ones as they were; each can be deleted."""
    rooms, chats = await rooms_and_chats(running)
    assert (len(rooms), len(chats)) == (BAD + 1, BAD + 1)
    assert next(room for room in rooms if room["name"] == "good")["status"] == "completed"
    paths = [f"/api/rooms/{room['id']}" for room in rooms] + [f"{A_PATH}/{chat['id']}" for chat in chats]
    for path in paths:
        assert (await running.client.call("GET", path)).status == 200, path
        assert (await running.client.call("GET", f"{path}/messages")).status in (200, 503), path
    for path in paths:
        assert (await running.client.call("DELETE", path)).status == 200, path
    assert await rooms_and_chats(running) == ([], [])


async def test_a_damaged_room_or_chat_says_what_is_wrong_and_that_it_can_be_deleted(before: Path) -> None:
    assert damage(before, "conversation", "max_rounds", "abc", "room")
    assert damage(before, "conversation", "tools", "{", "chat")
    async with chat_backend(before, ScriptedModel(lambda _: ["Yes."], free=True)) as running:
        rooms, chats = await rooms_and_chats(running)
        bad = next(room for room in rooms if room["name"] == "bad 0")
        assert (bad["status"], bad["last_words"]) == ("error", "damaged: max_rounds")
        chat = next(chat for chat in chats if chat["title"] == "bad 0")
        assert chat["error"] == "damaged: tools"
        run = await refused(running, "POST", f"/api/rooms/{bad['id']}/run", None, 503)
        assert "max_rounds cannot be read. Delete it" in run
        ask = await refused(running, "POST", f"{A_PATH}/{chat['id']}/messages", {"content": "Well?"}, 503)
        assert "tools cannot be read. Delete it" in ask


async def test_a_room_that_cannot_go_on_does_not_stop_the_start(before: Path) -> None:
    assert damage(before, "conversation", "status", "running", "room")
    assert damage(before, "turn", "text", NOT_TEXT, "room")
    assert damage(before, "turn", "round", "abc", "room")
    async with chat_backend(before, ScriptedModel(lambda _: ["Yes."], free=True)) as running:
        await _check(running)
