"""The doctor's checks of files: the config, the templates, the data folder, the database."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from agent_tui.config import agent_templates
from agent_tui.config.file import Config, load
from agent_tui.model.errors import AgentTuiError
from tui.cli.commands.config import problems
from tui.cli.doctor.checks import Check, Surroundings
from tui.runtime import DATABASE

LOCK_SECONDS: Final = 5.0
LEAST_FREE_BYTES: Final = 100 * 1024 * 1024
# Network file systems: locks and shared memory, which the database needs, are not reliable there.
NETWORK: Final = ("nfs", "cifs", "smb", "sshfs", "9p", "afs", "ceph", "gluster", "lustre", "davfs")


def config(here: Surroundings) -> tuple[Check, Config | None]:
    """Return the check of the config file, and its contents if it can be read."""
    title = "config file"
    try:
        read = load(here.config)
        found = problems(read)
    except AgentTuiError as error:
        return Check("config", "failed", title, str(error), f"edit {here.config}"), None
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return Check("config", "warning", title, found[0] + more, "agent-tui config check names all"), read
    missing = "" if here.config.exists() else " (no such file: the defaults hold)"
    return Check("config", "ok", title, f"{here.config}{missing}"), read


def checks(here: Surroundings) -> Iterator[Check]:
    """Yield the checks of the other files of this user."""
    yield _templates(here)
    yield _folder(here)
    yield _file_system(here)
    yield _database(here.data / DATABASE)


def _templates(here: Surroundings) -> Check:
    found, warnings = agent_templates.load(here.config.parent / agent_templates.FOLDER)
    if warnings:
        fix = f"mend or remove it in {here.config.parent / agent_templates.FOLDER}"
        return Check("templates", "warning", "agent templates", warnings[0], fix)
    return Check("templates", "ok", "agent templates", f"{len(found)}")


def _folder(here: Surroundings) -> Check:
    """Try to write where the backend will; makes the folder, as the backend would."""
    title, probe = "data folder", here.data / f".doctor-{os.getpid()}"
    try:
        here.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe.write_bytes(b"x" * 4096)
        probe.unlink()
        room = os.statvfs(here.data)
    except OSError as error:
        detail = f"{here.data}: {error.strerror or error}"
        fix = "make it writable, or name another one: export AGENT_TUI_DATA=FOLDER"
        return Check("data.writable", "failed", title, detail, fix)
    free = room.f_bavail * room.f_frsize
    if free < LEAST_FREE_BYTES:
        detail = f"{here.data}: {free // 1024**2} MiB are free"
        return Check("data.writable", "warning", title, detail, "make room on this disk")
    return Check("data.writable", "ok", title, str(here.data))


def _file_system(here: Surroundings) -> Check:
    title = "file system of the data folder"
    if not here.mounts:
        return Check("data.file_system", "skipped", title, "this system does not say")
    kind = _kind_of(here.data, here.mounts)
    if any(name in kind for name in NETWORK):
        detail = f"{kind}, over a network: the database may be damaged there"
        fix = "export AGENT_TUI_DATA=FOLDER with a folder on a disk of this machine"
        return Check("data.file_system", "failed", title, detail, fix)
    return Check("data.file_system", "ok", title, kind)


def _kind_of(folder: Path, mounts: str) -> str:
    """Return the type of the file system of ``folder``."""
    resolved = os.path.realpath(folder)  # never fails
    best, kind = "", ""
    for line in mounts.splitlines():
        parts = line.split()
        if len(parts) < 3:
            continue
        place = parts[1].replace("\\040", " ")
        inside = resolved == place or resolved.startswith(place.rstrip("/") + "/")
        if inside and len(place) >= len(best):
            best, kind = place, parts[2]
    return kind


def _database(path: Path) -> Check:
    """Check the database with SQLite's own check; never writes to it."""
    title = "database"
    if not os.access(path, os.F_OK):
        return Check("database", "ok", title, "none yet: it is made when it is needed")
    fix = f"keep a copy of {path}, then move it away: a new one is made"
    try:
        opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=LOCK_SECONDS)
        with closing(opened) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
            version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return Check("database", "failed", title, f"{path} is of another program", fix)
        return Check("database", "failed", title, f"{path}: {error}", "check the file's permissions")
    except sqlite3.DatabaseError as error:
        return Check("database", "failed", title, f"{path}: {error}", fix)
    if not found or found[0] != "ok":
        return Check("database", "failed", title, f"{path}: {found[0] if found else 'no answer'}", fix)
    return Check("database", "ok", title, f"whole, version {version[0] if version else 'unknown'}")
