"""Old databases are brought up to date, all or nothing, with a copy kept."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import create_engine

from agent_tui.backend.store import schema
from agent_tui.backend.store.database import MIGRATIONS, open_engines
from agent_tui.backend.store.store import Store
from agent_tui.errors import StoreError

NEXT = """
import sqlalchemy as sa
from alembic import op
revision = "0002"
down_revision = "0001"
def upgrade():
    op.add_column("room", sa.Column("budget", sa.Integer))
    op.execute("UPDATE room SET budget = 7")
    {more}
"""


def tables(file: Path) -> list[tuple[str, str]]:
    """Return the name and definition of everything in the file, alembic's own table aside."""
    query = "SELECT name, sql FROM sqlite_master WHERE name NOT LIKE '%alembic%' ORDER BY name"
    with closing(sqlite3.connect(file)) as connection:
        return [(name, " ".join((sql or "").split())) for name, sql in connection.execute(query)]


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
        assert compare_metadata(MigrationContext.configure(connection), schema.metadata) == []
    engine.dispose()
    await Store(tmp_path / "made.db").close()
    assert tables(file) == tables(tmp_path / "made.db")
    assert version(file) == version(tmp_path / "made.db") == [(schema.HEAD,)]


@pytest.fixture
def later(tmp_path: Path) -> Path:
    """Return a folder of migrations as a later version of the program may have it."""
    folder = tmp_path / "migrations"
    shutil.copytree(MIGRATIONS, folder)
    (folder / "versions" / "v0002_budget.py").write_text(NEXT.format(more=""))
    return folder


async def old(tmp_path: Path) -> Path:
    file = tmp_path / "rooms.db"
    await Store(file).close()
    row = "('r', 1, 'n', 't', 'sequential', 1, 'idle', 'idle', '', 0, 0, 0, 0, 0, '', '')"
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute(f"INSERT INTO room VALUES {row}")  # noqa: S608 - a constant
    return file


async def test_an_older_database_is_migrated_and_a_copy_kept(tmp_path: Path, later: Path) -> None:
    file = await old(tmp_path)
    migrate(file, later, "0002")
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("SELECT id, budget FROM room").fetchall() == [("r", 7)]
    assert version(file) == [("0002",)]
    backup = tmp_path / "rooms.db.backup-0001"
    assert version(backup) == [("0001",)]
    assert "budget" not in dict(tables(backup))["room"]
    migrate(file, later, "0002")  # nothing is left to do


async def test_a_migration_that_fails_changes_nothing(tmp_path: Path, later: Path) -> None:
    file = await old(tmp_path)
    before = tables(file)
    (later / "versions" / "v0002_budget.py").write_text(NEXT.format(more='op.execute("DROP TABLE none")'))
    with pytest.raises(StoreError, match="no such table"):
        migrate(file, later, "0002")
    assert tables(file) == before
    assert version(file) == [("0001",)]
    await Store(file).close()


async def test_a_version_that_no_program_had_is_refused(tmp_path: Path) -> None:
    file = await old(tmp_path)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '0000'")
    with pytest.raises(StoreError, match="cannot be brought up to date"):
        Store(file)


def test_alembic_is_not_loaded_for_a_database_of_today(tmp_path: Path) -> None:
    program = f"""
import asyncio, sys
from pathlib import Path
from agent_tui.backend.store.store import Store
from agent_tui.errors import StoreError
for _ in range(2):
    asyncio.run(Store(Path({str(tmp_path / "rooms.db")!r})).close())
sys.exit("alembic" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
