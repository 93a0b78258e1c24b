"""``agent-tui doctor``: what is wrong here, and how to fix it. No check raises, none shows a secret."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, get_args

from rich.cells import cell_len

from agent_tui.config.file import config_path, data_path
from agent_tui.model.inert import inert_line
from tui.cli import exits, output
from tui.screens.localised import localised
from tui.screens.words import say

Status = Literal["ok", "warning", "failed", "skipped"]
MOUNTS: Final = Path("/proc/self/mounts")
MAX_DETAIL_CHARACTERS: Final = 500
MAX_ERROR_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Check:
    """The result for one thing, and the ``fix``; a person reads ``told``, if any, instead of ``detail``."""

    id: str
    title: str
    status: Status
    detail: str = ""
    fix: str = ""
    told: str = ""

    @property
    def ok(self) -> bool:
        """Whether it did not fail."""
        return self.status != "failed"

    def fields(self) -> dict[str, object]:
        """Return the check as in ``--json``."""
        return {
            "id": self.id,
            "ok": self.ok,
            "status": self.status,
            "title": self.title,
            "detail": inert_line(self.detail, MAX_DETAIL_CHARACTERS),
            "fix": self.fix,
        }


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What the checks look at; ``size`` is (columns, rows), ``mounts`` Linux's table of file systems."""

    environ: Mapping[str, str] = field(repr=False)
    config: Path
    data: Path
    size: tuple[int, int] | None
    mounts: str = ""

    @classmethod
    def here(cls) -> Surroundings:
        """Return the surroundings of this process."""
        size = shutil.get_terminal_size() if os.isatty(1) else None
        mounts = ""
        with suppress(OSError):
            mounts = MOUNTS.read_text(encoding="utf-8", errors="replace")
        return cls(dict(os.environ), config_path(), data_path(), size, mounts)


def run(as_json: bool) -> int:
    """Run all checks, print the results; return 4 if one failed, else 0."""
    found = []
    for check in checks(Surroundings.here()):
        found.append(check)
        if not as_json:
            output.say("\n".join(lines(check)))
    ok = all(check.ok for check in found)
    if as_json:
        output.write_json({"ok": ok, "checks": [check.fields() for check in found]})
    elif ok:
        warnings = sum(check.status == "warning" for check in found)
        summary = "nothing failed, 1 warning" if warnings == 1 else f"nothing failed, {warnings} warnings"
        output.say(localised(summary))
    if not ok:
        failed = sum(not check.ok for check in found)
        output.complain(f"{failed} of {len(found)} checks failed")
    return exits.DONE if ok else exits.FAILED


def checks(here: Surroundings) -> Iterator[Check]:
    """Yield every check as soon as it is done."""
    from tui.cli.doctor import machine, servers, terminal, voice  # lazy: they need screens, SQLite, network

    yield from terminal.checks(here)
    check, config = machine.config(here)
    yield check
    yield from machine.checks(here)
    yield from servers.checks(here, config)
    yield from voice.checks(here, config)


def lines(check: Check) -> list[str]:
    """Return the lines about a check for a person."""
    detail = localised(inert_line(check.told or check.detail, MAX_DETAIL_CHARACTERS))
    signs = {status: say(f"doctor.{status}") for status in get_args(Status)}
    space = max(map(cell_len, signs.values())) + 1 - cell_len(signs[check.status])
    title = localised(check.title) + (say("between.detail") + detail if detail else "")
    found = f"{signs[check.status]}{' ' * space}{title}"
    return [found, f"{'':<10}→ {localised(check.fix)}"] if check.fix else [found]


def run_program(
    command: Sequence[str], seconds: float, environ: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    """Return what a program answers; raises ``OSError``, ``TimeoutExpired``."""
    return subprocess.run(
        command, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, env=environ, check=False
    )


def error_line(error: object) -> str:
    """Return an error in one line; ``Net`` has removed passwords from its addresses."""
    return inert_line(str(error), MAX_ERROR_CHARACTERS)
