"""The doctor's checks of files: the config, the templates, the data folder, the database."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Final

from agent_tui import DATABASE_VERSION
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
    check = partial(Check, "config", "config file")
    try:
        read = load(here.config)
        found = problems(read)
    except AgentTuiError as error:
        return check("failed", str(error), f"edit {here.config}"), None
    if found:
        more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
        return check("warning", found[0] + more, "agent-tui config check names all"), read
    missing = "" if here.config.exists() else " (no such file: the defaults hold)"
    return check("ok", f"{here.config}{missing}"), read


def checks(here: Surroundings) -> Iterator[Check]:
    """Yield the checks of the other files of this user."""
    yield _templates(here)
    yield _folder(here.data)
    yield _file_system(here)
    yield _database(here.data / DATABASE)


def _templates(here: Surroundings) -> Check:
    check = partial(Check, "templates", "agent templates")
    found, warnings = agent_templates.load(here.config.parent / agent_templates.FOLDER)
    if warnings:
        fix = f"correct or remove it in {here.config.parent / agent_templates.FOLDER}"
        return check("warning", warnings[0], fix)
    return check("ok", f"{len(found)}")


def _folder(data: Path) -> Check:
    """Try to write where the backend will; makes the folder, as the backend would."""
    check, probe = partial(Check, "data.writable", "data folder"), data / f".doctor-{os.getpid()}"
    try:
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        probe.write_bytes(b"x" * 4096)
        probe.unlink()
        free = shutil.disk_usage(data).free
    except OSError as error:
        fix = "make it writable, or name another one: export AGENT_TUI_DATA=FOLDER"
        return check("failed", f"{data}: {error.strerror or error}", fix)
    if free < LEAST_FREE_BYTES:
        return check("warning", f"{data}: {free // 1024**2} MiB are free", "make room on this disk")
    return check("ok", str(data))


def _file_system(here: Surroundings) -> Check:
    check = partial(Check, "data.file_system", "file system of the data folder")
    if not here.mounts:
        return check("skipped", "this system does not say")
    kind = _kind_of(here.data, here.mounts)
    if any(name in kind for name in NETWORK):
        fix = "export AGENT_TUI_DATA=FOLDER with a folder on a disk of this machine"
        return check("failed", f"{kind}, over a network: the database may be damaged there", fix)
    return check("ok", kind)


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
    check = partial(Check, "database", "database")
    if not os.access(path, os.F_OK):
        return check("ok", "none yet: it is made when it is needed")
    fix = f"keep a copy of {path}, then move it away: a new one is made"
    try:
        opened = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, timeout=LOCK_SECONDS)
        with closing(opened) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
            version = connection.execute("SELECT version_num FROM alembic_version").fetchone()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return check("failed", f"{path} is of another program", fix)
        return check("failed", f"{path}: {error}", "check the file's permissions")
    except sqlite3.DatabaseError as error:
        return check("failed", f"{path}: {error}", fix)
    if not found or found[0] != "ok":
        return check("failed", f"{path}: {found[0] if found else 'no answer'}", fix)
    if version and version[0] > DATABASE_VERSION:
        return check("failed", f"{path} was written by a newer version", "update the program")
    return check("ok", f"whole, version {version[0] if version else 'unknown'}")
