"""Everything specific to SQLite: opening the file, its settings, what its errors mean for a person; and what
other databases do differently: full text search, replacing a row, partial indexes.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Insert,
    Table,
    bindparam,
    column,
    create_engine,
    delete,
    event,
    insert,
    inspect,
    make_url,
    select,
    table,
    text,
)
from sqlalchemy.dialects import registry
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.dialects.sqlite.pysqlite import SQLiteDialect_pysqlite
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement
from sqlalchemy.util import LRUCache

from agent_tui.backend.store import schema
from agent_tui.model.errors import StoreError, StoreFull

MIGRATIONS = Path(__file__).parent / "migrations"
SYNCHRONOUS = "FULL"  # a commit is on the disk before it is acknowledged
# Free space: for the copy, for every page again in the write-ahead log, for some growth.
SPACE_PER_BYTE = 3
# Errors of reading and writing; a StoreError is ours: the request contradicts what is stored.
DATABASE_ERRORS = (DBAPIError, sqlite3.Error, StoreError)
NUMBERS_PER_DELETE = 500
# Errors of reading a row that is not one of ours.
DAMAGE = (ValueError, TypeError, LookupError)

# Primary result codes (sqlite.org/rescode.html) → what happened, what helps.
_LOCKED = ("is locked by another program", "Close the other program that has it open, then try again.")
_FULL = ("cannot grow: the disk is full", "Nothing that was shown is lost. Free some space, then go on.")
_READ_ONLY = ("cannot be written", "Check the permissions of the file and of its folder.")
_DAMAGED = ("is damaged", "Move the file away to start afresh, or put a backup in its place.")
_MEANING = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_LOCKED: _LOCKED,
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_READONLY: _READ_ONLY,
    sqlite3.SQLITE_PERM: _READ_ONLY,
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
    sqlite3.SQLITE_NOTADB: ("is not a database", "Name another file; this one is left as it is."),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "Check the permissions of the file and of its folder."),
    sqlite3.SQLITE_IOERR: ("cannot be read or written", "The disk reports an error."),
    sqlite3.SQLITE_CONSTRAINT: ("refused a write that contradicts what is stored", ""),
}
# Errors that may be over in a moment: these writes are tried again.
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)

for _table in schema.metadata.tables.values():
    for _index in _table.indexes:
        if where := _index.info.get("where"):
            _index.dialect_options["sqlite"]["where"] = text(where)
schema.event.dialect_options["sqlite"]["with_rowid"] = False

# Full text search (FTS5). SQLAlchemy does not support such tables, so this is our own SQL.
MAKE_SEARCH_WORDS = (
    "CREATE VIRTUAL TABLE search_words USING fts5("
    "words, tokenize = 'unicode61 remove_diacritics 2', prefix = '1 2 3')"
)
SEARCH_WORDS = "search_words"
search_words = table(SEARCH_WORDS, column("rowid"), column("words"))
_INDEX = insert(search_words)
_FOUND = text(
    "SELECT searched.conversation_id, conversation.name, searched.message_id, searched.role, "
    "search_words.words, searched.created_at, conversation.kind "
    "FROM search_words JOIN searched ON searched.number = search_words.rowid "
    "JOIN conversation ON conversation.id = searched.conversation_id "
    "LEFT JOIN turn ON turn.message_id = searched.message_id "
    "WHERE search_words MATCH :words AND conversation.desired != 'deleted' AND conversation.kind IN :kinds "
    "AND turn.status IS NOT 'superseded' ORDER BY search_words.rowid DESC LIMIT :most"
).bindparams(bindparam("kinds", expanding=True))


def index(connection: Connection, number: int, words: str) -> None:
    """Make these words searchable under ``number``."""
    connection.execute(_INDEX, {"rowid": number, "words": words})


def unindex(connection: Connection, numbers: Sequence[int]) -> None:
    """Remove these words from the search."""
    for of, number in ((search_words, search_words.c.rowid), (schema.searched, schema.searched.c.number)):
        for at in range(0, len(numbers), NUMBERS_PER_DELETE):
            some = numbers[at : at + NUMBERS_PER_DELETE]
            connection.execute(delete(of).where(number.in_(some)))


def search(connection: Connection, wanted: str, kinds: Collection[str], most: int) -> list[tuple[Any, ...]]:
    """Return (conversation, its name, message, role, words as indexed, time, kind) of at most this many
    messages in conversations of these kinds that match ``words.expression``, the newest first.
    """
    values = {"words": wanted, "kinds": list(kinds), "most": most}
    return [tuple(row) for row in connection.execute(_FOUND, values)]


def put(into: Table) -> Insert:
    """Return an insert that replaces the row with the same key."""
    new = sqlite_insert(into)
    rest = {column_of.name: new.excluded[column_of.name] for column_of in into.c if not column_of.primary_key}
    return new.on_conflict_do_update(index_elements=list(into.primary_key), set_=rest)


def put_once(into: Table) -> Insert:
    """Return an insert that does nothing if there is such a row."""
    return sqlite_insert(into).on_conflict_do_nothing()


def database_file(database: str | Path) -> Path:
    """Return the file named by a path or a ``sqlite:///…`` URL; raises ``StoreError`` for anything else."""
    if isinstance(database, Path):
        return database
    try:
        url = make_url(database)
    except ArgumentError as error:
        raise StoreError(
            f"{database[:200]!r} is not a database URL", "sqlite:///path/file.db is one."
        ) from error
    if url.get_backend_name() != "sqlite":
        detail = "This version stores in SQLite only: sqlite:///path/file.db"
        raise StoreError(f"{url.get_backend_name()} databases are not offered", detail)
    if not url.database or url.database == ":memory:":
        raise StoreError("The database must be a file", "For example sqlite:///path/file.db")
    return Path(url.database)


def sqlite_code(error: BaseException | None) -> int:
    """Return the primary result code of a SQLite error, 0 for any other error."""
    if isinstance(error, DBAPIError):
        error = error.orig
    # An error raised by the Python module itself has no code.
    return getattr(error, "sqlite_errorcode", 0) & 0xFF if isinstance(error, sqlite3.Error) else 0


def is_passing(error: BaseException) -> bool:
    """Return whether the same write may succeed later."""
    return sqlite_code(error) in _PASSING


def is_undecodable(error: DBAPIError) -> bool:
    """Return whether a text is not UTF-8; Python's own module has no code for that."""
    return isinstance(error.orig, sqlite3.OperationalError) and "decode to UTF-8" in str(error.orig)


@contextmanager
def with_replacements(connection: Connection) -> Iterator[None]:
    """Read text that is not UTF-8 with U+FFFD in its place, as long as the context is open."""
    driver = cast("sqlite3.Connection", connection.connection.dbapi_connection)
    strict, driver.text_factory = driver.text_factory, partial(str, encoding="utf-8", errors="replace")
    try:
        yield
    finally:
        driver.text_factory = strict


def store_error(file: Path, error: BaseException) -> StoreError:
    """Return the meaning of ``error``, in one clear line."""
    if isinstance(error, StoreError):
        return error
    cause = error.orig if isinstance(error, DBAPIError) else error
    code = sqlite_code(error)
    title, detail = _MEANING.get(code, ("failed", ""))
    why = str(cause) if isinstance(cause, sqlite3.Error) else type(cause).__name__  # may quote what was said
    return (StoreFull if code == sqlite3.SQLITE_FULL else StoreError)(
        f"The database {file} {title}", detail or why
    )


@contextmanager
def clear_errors(file: Path) -> Iterator[None]:
    """Raise the errors of SQLite and SQLAlchemy as ``StoreError``."""
    try:
        yield
    except StoreError:
        raise
    except DATABASE_ERRORS as error:
        raise store_error(file, error) from error


class SharedDialect(SQLiteDialect_pysqlite):
    """The SQLite dialect of SQLAlchemy, made equal for all engines: what one has compiled serves the whole
    process.
    """

    supports_statement_cache = True
    begin = "BEGIN"

    def do_begin(self, dbapi_connection: PoolProxiedConnection) -> None:
        """Begin a transaction: the module begins them too late for reading."""
        # Not by an event of the engine: with one, SQLAlchemy looks for listeners at every statement.
        with closing(dbapi_connection.cursor()) as cursor:
            cursor.execute(self.begin)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SharedDialect)

    def __hash__(self) -> int:
        return hash(SharedDialect)


registry.register("sqlite.alike", __name__, SharedDialect.__name__)
_COMPILED: LRUCache[Any, Any] = LRUCache(500)


def open_engines(
    file: Path,
    *,
    busy_seconds: float,
    readers: int,
    migrations: Path = MIGRATIONS,
    head: str = schema.HEAD,
    upgrading: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> tuple[Engine, Engine]:
    """Return (the writing engine, the reading engine) of a file with the current tables.

    Makes the tables in a new file and upgrades those of an older version. Raises ``StoreError`` for a missing
    folder, a file that is locked, damaged, read-only, not a database, another program's, or of a newer
    version.
    """
    if not file.parent.is_dir():
        raise StoreError(f"The folder {file.parent} does not exist", "Make it, or name another one.")
    writing = _engine(file, "BEGIN IMMEDIATE", busy_seconds, 1)
    try:
        with clear_errors(file):
            if version := _version_to_upgrade(writing, file, head):
                with upgrading():
                    _back_up(file, file.with_name(f"{file.name}.backup-{version}"))
                    with writing.begin() as connection:
                        _migrate(connection, file, migrations, head)
            _use_wal(writing, file)
    except StoreError:
        writing.dispose()
        raise
    return writing, _engine(file, "BEGIN", busy_seconds, readers)


def _engine(file: Path, begin: str, busy_seconds: float, connections: int) -> Engine:
    engine = create_engine(
        URL.create("sqlite+alike", database=str(file)),
        pool_size=connections,
        max_overflow=0,
        connect_args={"timeout": busy_seconds},
        execution_options={"compiled_cache": _COMPILED},
    )

    @event.listens_for(engine, "connect")
    def settings(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the dialect begins transactions
        with closing(connection.cursor()) as cursor:
            cursor.execute(f"PRAGMA synchronous = {SYNCHRONOUS}")
            cursor.execute("PRAGMA foreign_keys = ON")

    cast("SharedDialect", engine.dialect).begin = begin
    return engine


def _use_wal(engine: Engine, file: Path) -> None:
    # Only now: a file that is not ours must stay as it is. The mode is kept in the file.
    with closing(engine.raw_connection()) as connection, closing(connection.cursor()) as cursor:
        cursor.execute("PRAGMA journal_mode = WAL")
        mode = cursor.fetchone()
    if mode != ("wal",):
        detail = "Its folder does not support a write-ahead log; is it on a network drive? Name a local one."
        raise StoreError(f"The database {file} cannot be used safely", detail)


def _version_to_upgrade(engine: Engine, file: Path, head: str) -> str:
    """Return the version of the file if it is an older one, else ""; a new file gets its tables.

    Takes one query if there is nothing to do.
    """
    with engine.begin() as connection:  # takes the write lock: fails at once if the file is read-only
        found = _version(connection)
        if found == head:
            return ""
        if not found:
            _create(connection, file, head)
            return ""
    if found > head:
        detail = f"It has version {found}, this program knows up to {head}. Update the program."
        raise StoreError(f"The database {file} was written by a newer version", detail)
    return found


def _back_up(file: Path, backup: Path) -> None:
    """Copy the database; the copy is complete or not there, and stays until a person deletes it."""
    size = file.stat().st_size
    needed, free = SPACE_PER_BYTE * size, shutil.disk_usage(file.parent).free
    if free < needed:
        title = f"The database {file} cannot be brought up to date: there is too little space"
        raise StoreFull(title, f"{needed:,} bytes are needed, {free:,} are free. Free some space, try again.")
    part = backup.with_name(f"{backup.name}.part")
    part.unlink(missing_ok=True)
    try:
        # Readable only by its owner from the first byte on.
        part.touch(mode=0o600)
        with closing(sqlite3.connect(file)) as source, closing(sqlite3.connect(part)) as copy:
            source.backup(copy)
        part.replace(backup)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise StoreError(f"The database {file} cannot be copied", error.strerror or "") from error


def _version(connection: Connection) -> str:
    try:
        return connection.execute(select(schema.version.c.version_num)).scalar() or ""
    except OperationalError as error:
        if sqlite_code(error) != sqlite3.SQLITE_ERROR:
            raise
        return ""  # no such table


def _create(connection: Connection, file: Path, head: str) -> None:
    if inspect(connection).get_table_names():
        detail = "Name another file; this one is left as it is."
        raise StoreError(f"The database {file} belongs to another program", detail)
    for statement in _table_statements():
        connection.exec_driver_sql(statement)
    connection.execute(insert(schema.version).values(version_num=head))


@cache
def _table_statements() -> tuple[str, ...]:
    """Return the statements that make all tables: compiled once, which takes longer than to run them."""
    statements: list[ExecutableDDLElement] = []
    for each in (*schema.metadata.sorted_tables, schema.version):
        indexes = sorted(each.indexes, key=lambda index: str(index.name))
        statements += [CreateTable(each), *map(CreateIndex, indexes)]
    return (*(str(item.compile(dialect=SharedDialect())) for item in statements), MAKE_SEARCH_WORDS)


def _migrate(connection: Connection, file: Path, migrations: Path, head: str) -> None:
    # Lazy: alembic costs 290 ms at the start and is needed once per new version (architecture.md §7).
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(migrations).replace("%", "%%"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, head)
    except CommandError as error:
        raise StoreError(f"The database {file} cannot be brought up to date", str(error)) from error
