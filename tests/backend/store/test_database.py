"""A database that cannot be used says why in one clear line, and is left as it is."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from agent_tui.backend.store import reads, schema, sqlite
from agent_tui.backend.store.sqlite import database_file
from agent_tui.backend.store.store import FileStore
from agent_tui.model.errors import StoreError
from tests.backend.conftest import AS_SHIPPED

NOBODY = 65534


def refusal(database: str | Path) -> str:
    """Return the one line with which the database is refused."""
    with pytest.raises(StoreError) as error:
        FileStore(database, busy_seconds=0)
    assert "\n" not in error.value.title
    assert error.value.detail
    return error.value.title


def names(folder: Path) -> list[str]:
    return [file.name for file in folder.iterdir()]


async def made(file: Path) -> Path:
    await FileStore(file).close()
    return file


async def test_a_new_file_gets_the_tables_and_an_old_one_keeps_them(tmp_path: Path) -> None:
    file = tmp_path / "rooms.db"
    for _ in range(2):
        store = FileStore(f"sqlite:///{file}")
        assert store.file == file
        assert await store.read(reads.conversations) == []
        await store.close()


@pytest.mark.parametrize("name", ["ordinary.db", "a b%20c.db", "q?mode=ro#x.db", "файл 库.db"])
async def test_a_file_may_be_called_anything(tmp_path: Path, name: str) -> None:
    await made(tmp_path / name)
    assert (tmp_path / name).is_file()


def test_the_folder_must_exist(tmp_path: Path) -> None:
    assert refusal(tmp_path / "no" / "rooms.db") == f"The folder {tmp_path / 'no'} does not exist"


async def test_a_locked_database_is_named_as_such(tmp_path: Path) -> None:
    file = await made(tmp_path / "rooms.db")
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert "is locked by another program" in refusal(file)
    await made(file)


@pytest.mark.parametrize("content", [b"Dear diary, this is no database at all. " * 100, b"\x00" * 5000])
def test_a_file_that_is_no_database_is_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "rooms.db"
    file.write_bytes(content)
    assert "is not a database" in refusal(file)
    assert file.read_bytes() == content


async def test_a_damaged_database_is_named_as_such(tmp_path: Path) -> None:
    file = await made(tmp_path / "rooms.db")
    whole = file.read_bytes()
    file.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
    assert "is damaged" in refusal(file)


def test_a_database_of_another_program_is_left_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "rooms.db"
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE recipes (name TEXT)")
    before = file.read_bytes()
    assert "belongs to another program" in refusal(file)
    assert file.read_bytes() == before
    assert names(tmp_path) == ["rooms.db"]


async def test_a_newer_database_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    file = await made(tmp_path / "rooms.db")
    with closing(sqlite3.connect(file)) as other, other:
        other.execute("UPDATE alembic_version SET version_num = '9999'")
    before = file.read_bytes()
    assert refusal(file) == f"The database {file} was written by a newer version"
    assert file.read_bytes() == before


@contextmanager
def unprivileged() -> Iterator[Path]:
    """Give a folder; within, this process may not do more than an ordinary user."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    user = os.geteuid()
    try:
        if user == 0:
            os.seteuid(NOBODY)
        yield folder
    finally:
        if user == 0:
            os.seteuid(0)
        folder.chmod(0o755)
        shutil.rmtree(folder)


def test_a_folder_that_cannot_be_written_is_named_as_such() -> None:
    with unprivileged() as folder:
        if os.getuid() != 0:
            folder.chmod(0o555)
        title = refusal(folder / "rooms.db")
        assert title == f"The database {folder / 'rooms.db'} cannot be opened"
        assert names(folder) == []


async def test_a_file_that_cannot_be_written_is_named_as_such(tmp_path: Path) -> None:
    file = await made(tmp_path / "rooms.db")
    with unprivileged() as folder:
        os.seteuid(os.getuid())
        shutil.copy(file, folder / "rooms.db")
        (folder / "rooms.db").chmod(0o444)
        folder.chmod(0o555)
        if os.getuid() == 0:
            os.seteuid(NOBODY)
        assert refusal(folder / "rooms.db") == f"The database {folder / 'rooms.db'} cannot be written"


@pytest.mark.parametrize(
    ("database", "title"),
    [
        ("postgresql://host/rooms", "postgresql databases are not offered"),
        ("sqlite://", "The database must be a file"),
        ("sqlite:///:memory:", "The database must be a file"),
        ("rooms.db", "'rooms.db' is not a database URL"),
    ],
)
def test_only_files_of_sqlite_are_databases(database: str, title: str) -> None:
    assert refusal(database) == title


def test_a_url_names_a_file() -> None:
    assert database_file("sqlite:////data/rooms.db") == Path("/data/rooms.db")
    assert database_file("sqlite:///rooms.db") == Path("rooms.db")


async def test_every_commit_reaches_the_disk_before_it_is_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "SYNCHRONOUS", AS_SHIPPED)
    store = FileStore(tmp_path / "rooms.db")
    settings = {}
    for name in ("journal_mode", "synchronous", "foreign_keys"):
        settings[name] = await store.read(
            lambda connection, pragma: connection.exec_driver_sql(f"PRAGMA {pragma}").scalar(), name
        )
    await store.close()
    assert settings == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1}
    assert schema.HEAD == "0020"
