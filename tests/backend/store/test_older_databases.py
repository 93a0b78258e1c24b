"""A database of an older version comes over: what is answered stays byte for byte what it was.

``databases/version-NNNN.db.gz`` were written by the programs of these versions: rooms one after the other and
at once, with tools, paused with a queue, archived, killed; chats with branches, attachments, tools, archived,
cut by a kill; a voice session. ``version-NNNN.answers.json.gz`` is what that program then answered to GET
requests. What 0009 stored were the bytes of each protocol, 0012 had a table of its own for chats.
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from agent_tui.backend.store import reads, schema, sqlite
from agent_tui.backend.store.migrations.versions.v0010_log import in_log, replayed
from agent_tui.backend.store.rows import KINDS, ROOM
from agent_tui.backend.store.sqlite import open_engines
from agent_tui.backend.store.store import FileStore
from agent_tui.model.errors import StoreError, StoreFull
from agent_tui.model.events import TextAdded, ToolAsk, ToolStatusChanged
from agent_tui.wire import log
from agent_tui.wire.content import dump
from tests.backend.processes import TOKEN, running
from tests.backend.wire_client import WireClient

pytestmark = pytest.mark.slow

DATABASES = Path(__file__).parent / "databases"
_UPDATED = re.compile(r'"updated_at":"[^"]*"')


@pytest.fixture(params=["0009", "0012"])
def old(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Return a database of that version."""
    file = tmp_path / "rooms.db"
    file.write_bytes(gzip.decompress((DATABASES / f"version-{request.param}.db.gz").read_bytes()))
    return file


def before(old: Path) -> dict[str, Any]:
    """Return path (and what is accepted) → what the old program answered."""
    answers = DATABASES / f"version-{version(old)}.answers.json.gz"
    found: dict[str, Any] = json.loads(gzip.decompress(answers.read_bytes()))
    found.pop("/api/tools", None)  # they are the program's, not the database's
    return found


def timeless(value: Any) -> Any:
    """Return an answer without what is different each time, or a field since."""
    match value:
        case dict():
            skipped = (
                "updated_at",
                "cursor",
                "on_resume",
                "guide",
                "view",
                "synthesis",
                "on_full",
                *(("kind",) if "snippet" in value else ()),
            )
            return {name: timeless(one) for name, one in value.items() if name not in skipped}
        case list():
            return [timeless(one) for one in value]
        case str():
            return _UPDATED.sub("", value)
        case _:
            return value


async def streamed(client: WireClient, path: str, accept: str, frames: int) -> str:
    """Return so many frames of an event stream, as the answers have them."""
    found: list[str] = []
    async with client.open("GET", path, headers={"accept": accept}) as stream:
        async for frame in stream.frames():
            found.append(frame.raw.decode() + "\n")
            if len(found) == frames:
                break
    return "\n".join(found)


async def test_whatever_is_asked_is_answered_as_the_version_before_did(old: Path) -> None:
    answers = before(old)
    assert len(answers) > 50
    options = ("--database", f"sqlite:///{old}", "--no-resume", "--token", TOKEN)
    async with running("serve", *options, folder=old.parent) as process:
        for asked, answer in answers.items():
            if not asked.startswith("events "):
                got = await process.client.call("GET", quote(asked, safe="/?=&"))
                assert timeless(got.json) == timeless(answer), asked
                continue
            _, where, accept = (*asked.split(" ", 2), "")[:3]
            id_, _, query = where.partition("?")
            path = f"/api/conversations/{id_}/events?follow=1" if accept else f"/api/rooms/{id_}/events"
            frames = answer.count("\nevent: ") + answer.startswith("event: ")
            got_frames = await streamed(
                process.client, f"{path}?{query}" if query else path, accept or "*/*", frames
            )
            assert timeless(got_frames.strip()) == timeless(answer.strip()), asked


async def test_what_was_said_in_rooms_is_found_after_it_and_stands_in_its_time(old: Path) -> None:
    store = FileStore(old)
    rooms = await store.read(reads.conversations, ROOM)
    for room in rooms:
        page = await store.read(reads.page, room.id, ROOM, None, 1_000)
        for message in page.messages:
            if message.text and not (message.superseded or message.status):
                word = max(re.findall(r"\w+", message.text), key=len)
                hits = await store.read(reads.search, word, 500, KINDS)
                assert (room.id, message.id, "room") in {
                    (hit.conversation_id, hit.message_id, hit.kind) for hit in hits
                }
                said = [hit.created_at for hit in hits if hit.message_id and hit.kind == "room"]
                assert said == sorted(said, reverse=True)
    await store.close()
    assert sum(room.last_seq > 0 for room in rooms) > 3


@pytest.mark.parametrize(
    "lost", ["DELETE FROM step", "UPDATE turn SET text = ''", "UPDATE event SET data = '{}' WHERE seq = 3"]
)
def test_a_conversation_that_would_lose_something_is_left_as_it_was(old: Path, lost: str) -> None:
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute(f"CREATE TRIGGER lose AFTER UPDATE ON room BEGIN {lost}; END")
    was = rows(old)
    with pytest.raises(StoreError, match="cannot be brought up to date"):
        FileStore(old)
    assert rows(old) == was


KILLED = """
import os, shutil, signal, sys
from sqlalchemy import Engine, event
from pathlib import Path
from agent_tui.backend.store.sqlite import open_engines

old, left = Path(sys.argv[1]), 0
# Migrate once before the first fork: all of them share what that loads and compiles.
for engine in open_engines(Path(shutil.copy(old, old.with_name("first.db"))), busy_seconds=1, readers=1):
    engine.dispose()

@event.listens_for(Engine, "before_cursor_execute")
def count(connection, cursor, statement, parameters, context, many):
    global left
    left -= 1
    if not left:
        os.kill(os.getpid(), signal.SIGKILL)

def migrated(file, step):
    global left
    pid = os.fork()
    if not pid:
        left = step
        open_engines(file, busy_seconds=1, readers=1)
        os._exit(0)
    return os.waitpid(pid, 0)[1] == 0

for step in range(1, 1000, 41):
    file = old.with_name(f"killed-{step}.db")
    shutil.copy(old, file)
    whole = migrated(file, step)
    finished = shutil.copy(file, old.with_name(f"finished-{step}.db"))
    for log in old.parent.glob(f"{file.name}-wal"):
        shutil.copy(log, f"{finished}-wal")
    assert migrated(finished, 0), step
    if whole:
        break
"""


def rows(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Return all that is stored, by table."""
    with closing(sqlite3.connect(file)) as connection:
        names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()  # noqa: S608 - its own
            for (name,) in names
            if not name.startswith(("search_words", "alembic"))
        }


def version(file: Path) -> str:
    with closing(sqlite3.connect(file)) as connection:
        found: str = connection.execute("SELECT version_num FROM alembic_version").fetchone()[0]
        return found


def test_killed_at_any_step_it_is_the_old_database_or_the_new_one(old: Path) -> None:
    was, began = rows(old), version(old)
    copy = old.with_name("copy.db")
    shutil.copy(old, copy)
    for engine in open_engines(copy, busy_seconds=1, readers=1):
        engine.dispose()
    now = rows(copy)
    run = subprocess.run(
        [sys.executable, "-c", KILLED, str(old)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    killed = sorted(old.parent.glob("killed-*.db"))
    assert len(killed) > 5
    for file in killed:
        backup = file.with_name(f"{file.name}.backup-{began}")
        assert rows(file) == (now if version(file) == schema.HEAD else was)
        assert not backup.exists() or rows(backup) == was
    assert {version(file) for file in killed} == {began, schema.HEAD}
    for file in old.parent.glob("finished-*.db"):  # the next start
        assert (version(file), rows(file)) == (schema.HEAD, now)


def test_it_is_not_begun_where_there_is_too_little_space(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    was = rows(old)
    monkeypatch.setattr(sqlite, "SPACE_PER_BYTE", 10**12)
    with pytest.raises(StoreFull, match="cannot be brought up to date: there is too little space"):
        FileStore(old)
    assert rows(old) == was
    assert [file.name for file in old.parent.iterdir()] == [old.name]


@pytest.mark.parametrize("is_room", [True, False])
@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("message_chunk", '{"content": "spaced", "id": "m"}'),
        ("message_chunk", '{"id":"m","content":"{\\"as_sent\\":[1]}"}'),
        ("message_end", '{"id":"m","content":"{\\"text\\":\\"x\\"}","token_count":2}'),
        ("process_step", '{"step":{"id":"step-0","index":0,"type":"text","content":"","more":1}}'),
        ("process_step_delta", '{"id":"step-0","content":"\\ud83d\\ude00"}'),
        ("error", '{"content":"  "}'),
        ("done", '{"message_id":"another","token_count":"7"}'),
        ("never_heard_of", "not even JSON"),
        ("message", "{}"),
    ],
)
def test_a_frame_that_no_dialect_would_write_today_is_replayed_as_it_was(
    name: str, data: str, is_room: bool
) -> None:
    assert replayed(*in_log(name, "m", data, is_room=is_room), is_room=is_room) == (name, data)


def test_what_was_said_is_known_whatever_its_frame_looks_like() -> None:
    kept = in_log("message_chunk", "m", '{"content": "spaced", "id": "m"}', is_room=True)
    assert log.decode(*kept) == TextAdded("m", "spaced")


def test_an_ask_is_read_without_what_only_an_earlier_version_said_of_it() -> None:
    asks = ToolStatusChanged("m", "step-1", "asks", ask=ToolAsk("make -n"))
    name, data = log.encode(asks)
    ask = {"call": "make -n", "suspended": "run_command(make *)"}
    assert log.decode(name, dump({**json.loads(data), "ask": ask})) == asks


def test_a_text_cannot_pass_for_a_frame_that_was_kept() -> None:
    text = '"as_sent":["a","b"]'
    name, data = in_log("message_chunk", "m", dump({"id": "m", "content": text}), is_room=True)
    assert log.as_sent(data) is None
    assert log.decode(name, data) == TextAdded("m", text)
