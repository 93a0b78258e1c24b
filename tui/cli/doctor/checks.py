"""``agent-tui doctor``: what is wrong here, and how to fix it. No check raises, none shows a secret."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

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
STATUSES: Final[tuple[Status, ...]] = ("ok", "warning", "failed", "skipped")


@dataclass(frozen=True, slots=True)
class Check:
    """The result for one thing, and the ``fix``; a person reads ``told``, if any, instead of ``detail``."""

    id: str
    status: Status
    title: str
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
        try:
            mounts = MOUNTS.read_text(encoding="utf-8", errors="replace")
        except OSError:
            mounts = ""
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
        output.say(
            localised(
                "nothing failed, 1 warning" if warnings == 1 else f"nothing failed, {warnings} warnings"
            )
        )
    if not ok:
        failed = sum(not check.ok for check in found)
        output.complain(f"{failed} of {len(found)} checks failed")
    return exits.DONE if ok else exits.FAILED


def checks(here: Surroundings) -> Iterator[Check]:
    """Yield every check as soon as it is done."""
    # Lazy: these need parts of the screens, SQLite and the network.
    from tui.cli.doctor import machine as doctor_machine
    from tui.cli.doctor import servers as doctor_servers
    from tui.cli.doctor import terminal as doctor_terminal
    from tui.cli.doctor import voice as doctor_voice

    yield from doctor_terminal.checks(here)
    check, config = doctor_machine.config(here)
    yield check
    yield from doctor_machine.checks(here)
    yield from doctor_servers.checks(here, config)
    yield from doctor_voice.checks(here, config)


def lines(check: Check) -> list[str]:
    """Return the lines about a check for a person."""
    about = check.told or check.detail
    told = localised(inert_line(about, MAX_DETAIL_CHARACTERS))
    signs = {status: say(f"doctor.{status}") for status in STATUSES}
    space = max(map(cell_len, signs.values())) + 1 - cell_len(signs[check.status])
    title = localised(check.title) + (say("between.detail") + told if told else "")
    found = f"{signs[check.status]}{' ' * space}{title}"
    return [found, f"{'':<10}→ {localised(check.fix)}"] if check.fix else [found]


def said(error: object) -> str:
    """Return an error in one line; ``Net`` has removed passwords from its addresses."""
    return inert_line(str(error), MAX_ERROR_CHARACTERS)
