"""Old databases are brought up to date, all or nothing, with a copy kept."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from agent_tui.backend.hub import translated
from agent_tui.backend.store import reads, schema, sqlite
from agent_tui.backend.store.rows import KINDS, ConversationCreated, ConversationRow, RulePut, StoredRule
from agent_tui.backend.store.sqlite import MIGRATIONS, open_engines
from agent_tui.backend.store.store import FileStore
from agent_tui.model.errors import StoreError
from agent_tui.wire import rooms_encode

LATER = f"{int(schema.HEAD) + 1:04}"  # the version after ours
NEXT = """
import sqlalchemy as sa
from alembic import op
revision = "{next}"
down_revision = "{head}"
def upgrade():
    op.add_column("conversation", sa.Column("budget", sa.Integer))
    op.execute("UPDATE conversation SET budget = 7")
    {more}
"""


def next_one(more: str = "") -> str:
    """Return the migration of the version after ours."""
    return NEXT.format(head=schema.HEAD, next=LATER, more=more)


def tables(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return what everything in the file consists of, alembic's own table aside.

    Not its text: columns that a table got later have defaults, and stand after the table's constraints and
    after its older columns, in any order.
    """
    query = "SELECT type, name, sql FROM sqlite_master WHERE name NOT LIKE '%alembic%' ORDER BY name"
    found: dict[str, list[tuple[object, ...]]] = {}
    with closing(sqlite3.connect(file)) as connection:
        for kind, name, sql in connection.execute(query).fetchall():
            if kind == "index":
                found[name] = [(" ".join((sql or "").split()),)]
                continue
            asked = 'SELECT name, type, "notnull", pk FROM pragma_table_info(?)'
            found[name] = sorted(connection.execute(asked, (name,)).fetchall())
            for pragma in ("foreign_key_list", "index_list"):
                rows = connection.execute(f"PRAGMA {pragma}({name})")
                found[name] += sorted(row[1:] for row in rows)  # without its number
            found[name].append(("WITHOUT ROWID" in sql,))
    return found


def is_search(name: str | None) -> bool:
    return name is not None and name.startswith(sqlite.SEARCH_WORDS)


def version(file: Path) -> list[tuple[str]]:
    with closing(sqlite3.connect(file)) as connection:
        return connection.execute("SELECT version_num FROM alembic_version").fetchall()


def migrate(file: Path, migrations: Path, head: str) -> None:
    """Open the file as the program of that version does."""
    for engine in open_engines(file, busy_seconds=0, readers=1, migrations=migrations, head=head):
        engine.dispose()


async def test_the_migrations_make_the_tables_of_the_schema(tmp_path: Path) -> None:
    file = tmp_path / "migrated.db"
    engine = create_engine(f"sqlite:///{file}")
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        # Alembic knows no virtual tables: the one for searching is compared below, with all it consists of.
        known = {"include_name": lambda name, kind, _: kind != "table" or not is_search(name)}
        assert compare_metadata(MigrationContext.configure(connection, opts=known), schema.metadata) == []
    engine.dispose()
    await FileStore(tmp_path / "made.db").close()
    assert tables(file) == tables(tmp_path / "made.db")
    assert version(file) == version(tmp_path / "made.db") == [(schema.HEAD,)]


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """Return a folder of migrations as a later version of the program may have it."""
    folder = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, folder)
    (folder / "versions" / "v_budget.py").write_text(next_one())
    return folder


async def old(tmp_path: Path) -> Path:
    file = tmp_path / "rooms.db"
    store = FileStore(file)
    await store.append("r", (), [ConversationCreated(ConversationRow("r", "n", "t", "sequential", 1))])
    await store.close()
    return file


async def test_an_older_database_is_migrated_and_a_copy_kept(tmp_path: Path, later: Path) -> None:
    file = await old(tmp_path)
    migrate(file, later, LATER)
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT id, budget FROM conversation").fetchall() == [("r", 7)]
    assert version(file) == [(LATER,)]
    backup = tmp_path / f"rooms.db.backup-{schema.HEAD}"
    assert version(backup) == [(schema.HEAD,)]
    assert "budget" not in {column for column, *_ in tables(backup)["conversation"]}
    migrate(file, later, LATER)  # nothing is left to do


SCRIPT_OF_0001 = """
INSERT INTO room VALUES
  ('r', 1, 'n', 't', 'parallel', 2, 'paused', 'paused', 'pause', 1, 1, 0, 1, 8, 'c', 'u'),
  ('s', 2, 'm', 'u', 'sequential', 1, 'idle', 'idle', '', 0, 0, 0, 0, 0, 'c', 'u');
INSERT INTO room_agent VALUES
  ('r', 0, 'a', 'Ada', '#000001', 'Be Ada.', 'big', 'demo'),
  ('r', 1, 'b', 'Bob', '#000002', '', 'big', 'demo');
INSERT INTO turn VALUES
  ('r', 1, 0, 1, 'm1', 'completed', '', 'All of it.', '', 4, 2, 'c1'),
  ('r', 1, 1, 1, 'm2', 'interrupted', 'crash', 'Half', '', 5, 1, 'c2'),
  ('r', 1, 1, 2, 'm3', 'failed', '', '', 'gone', 7, 0, 'c3');
INSERT INTO user_message VALUES ('t1', 'r', 0, 't', 'user', '#10b981', 2, 'c0');
INSERT INTO event VALUES ('r', 1, 'room_started', '', '{}', 1.5), ('r', 2, 'message', 't1', '{}', 1.5);
"""


def made(file: Path, revision: str, script: str) -> Path:
    """Make a database of that version, and run ``script`` in it."""
    engine = create_engine(f"sqlite:///{file}")
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()
    with closing(sqlite3.connect(file)) as old_file, old_file:
        old_file.executescript(script)
    return file


async def test_a_database_of_the_first_version_comes_over_whole(tmp_path: Path) -> None:
    file = made(tmp_path / "rooms.db", "0001", SCRIPT_OF_0001)
    store = FileStore(file)
    rows = await store.read(reads.conversations)
    _, turns = await store.read(reads.state, "r")
    page = await store.read(reads.page, "r", KINDS, None, 10)
    frames = await store.read(reads.frames, "r", 0, 10)
    await store.close()
    await FileStore(tmp_path / "made.db").close()
    assert tables(file) == tables(tmp_path / "made.db")
    assert [(row.id, row.status, row.interrupted, row.round_open, row.last_seq) for row in rows] == [
        ("r", "paused", "pause", 1, 8),
        ("s", "idle", "", 0, 0),
    ]
    assert [(row.max_tokens, row.on_error, row.on_resume, row.archived, row.queue) for row in rows] == [
        (0, "continue", "continue", False, ())
    ] * 2
    assert (rows[0].parallel, rows[0].used_tokens, rows[0].last_speaker, rows[0].last_words) == (
        True,
        3,
        "Bob",
        "Half",
    )
    assert [(agent.id, agent.name, agent.system_prompt, agent.skip_next) for agent in rows[0].agents] == [
        ("a", "Ada", "Be Ada.", False),
        ("b", "Bob", "", False),
    ]
    assert [turn.notes for turn in turns] == ["", "", ""]
    assert [(turn.agent_id, turn.attempt, turn.status, turn.reason, turn.error) for turn in turns] == [
        ("a", 1, "completed", "", ""),
        ("b", 1, "interrupted", "crash", ""),
        ("b", 2, "failed", "", "gone"),
    ]
    assert [(message.id, message.sender_name, message.text) for message in page.messages] == [
        ("t1", "user", "t"),
        ("m1", "Ada", "All of it."),
        ("m2", "Bob", "Half"),
    ]
    sent = [(frame.name, frame.data) for frame in translated(frames, rooms_encode.frame)]
    assert sent == [("room_started", "{}"), ("message", "{}")]


RULES_OF_0005 = """
INSERT INTO tool_rule VALUES
  ('1', '', 'run_command', 'run_command(make -n *)', 'c'),
  ('2', 'r', 'run_command', 'run_command(make all)', 'd');
"""


async def test_rules_that_no_person_saw_as_they_are_do_not_come_over(tmp_path: Path) -> None:
    file = made(tmp_path / "rooms.db", "0005", RULES_OF_0005)
    store = FileStore(file)
    rules = await store.read(reads.rules)
    await store.close()
    assert rules == []


RULES_OF_0019 = """
INSERT INTO tool_rule (id, conversation_id, tool, pattern, created_at, folder, scope) VALUES
  ('1', 'r', 'run_command', 'run_command(make all)', 'c', '/code', 'exact'),
  ('2', 'r', 'run_command', 'run_command(make all)', 'c', '/code', 'wide'),
  ('3', '', 'run_command', 'run_command(make *)', 'c', '', 'suspended');
"""


async def test_of_all_rules_only_exact_ones_come_over_each_once(tmp_path: Path) -> None:
    file = made(tmp_path / "rooms.db", "0019", RULES_OF_0019)
    store = FileStore(file)
    seen = StoredRule("1", "run_command", "run_command(make all)", "c", "r", "/code")
    await store.append("r", (), [RulePut(replace(seen, id="4"))])
    rules = await store.read(reads.rules)
    await store.close()
    assert rules == [seen]


async def test_a_migration_that_fails_changes_nothing(tmp_path: Path, later: Path) -> None:
    file = await old(tmp_path)
    before = tables(file)
    (later / "versions" / "v_budget.py").write_text(next_one('op.execute("DROP TABLE none")'))
    with pytest.raises(StoreError, match="no such table"):
        migrate(file, later, LATER)
    assert tables(file) == before
    assert version(file) == [(schema.HEAD,)]
    await FileStore(file).close()


async def test_a_version_that_no_program_had_is_refused(tmp_path: Path) -> None:
    file = await old(tmp_path)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
    with pytest.raises(StoreError, match="cannot be brought up to date"):
        FileStore(file)


def test_alembic_is_not_loaded_for_a_database_of_today(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from agent_tui.backend.store.store import FileStore
from agent_tui.model.errors import StoreError
for _ in range(2):
    asyncio.run(FileStore(Path({str(tmp_path / "rooms.db")!r})).close())
sys.exit("alembic" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


CHATS_OF_0004 = """
INSERT INTO room SELECT id, number, '', '', 'sequential', 0, 'idle', 'idle', '', 0, 0, 0, 0, 0, 'c', 'u', '',
  0, 0.0, 'continue', 0, 0, NULL, '', '', 'chat', '', ''
  FROM (SELECT 'c1' AS id, 1 AS number UNION SELECT 'c2', 2);
INSERT INTO room_agent
  (room_id, id, turn_order, name, color, system_prompt, model, provider_id, removed, skip_next, tokens)
VALUES ('c1', 'a1', 0, 'm', '', '', 'm', 'p', 0, 0, 0), ('c2', 'a2', 0, 'm', '', '', 'm', 'p', 0, 0, 0);
INSERT INTO conversation (room_id, temperature, thinking, tools, workspace, head, is_named) VALUES
  ('c1', NULL, 0, NULL, '', '', 0), ('c2', 0.5, 1, NULL, '', '', 0);
"""


async def test_a_chat_that_never_said_anything_of_thinking_leaves_it_to_its_model(tmp_path: Path) -> None:
    store = FileStore(made(tmp_path / "rooms.db", "0004", CHATS_OF_0004))
    found = {row.id: (row.thinking, row.temperature) for row in await store.read(reads.conversations)}
    await store.close()
    assert found == {"c1": (None, None), "c2": (True, 0.5)}
