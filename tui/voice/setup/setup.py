"""``agent-tui voice setup``: shows what is missing, its size and licences; asks; installs it."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Final

from agent_tui.config.file import data_path
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.voice_parts import (
    AGENT,
    MODELS,
    PartName,
    VoicePart,
    find_agent_python,
    missing_parts,
)
from tui.cli import exits, output
from tui.cli.output import PROGRAM
from tui.screens.localised import localised
from tui.screens.words import list_of, say
from tui.voice.setup import getting
from widgets.units import duration, size
from widgets.wrap import wrap

COMMAND: Final = f"{PROGRAM} voice setup"
BAR_CELLS: Final = 24
HANGING: Final = "  "  # before the second row of a line and those that follow
_MODEL_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
SHOWN_SECONDS: Final = 0.1  # between two updates of a progress bar
TICK_SECONDS: Final = 1.0  # a bar without news, as while the server is linked, still counts


def setup(
    *,
    yes: bool = False,
    remove: bool = False,
    only: Sequence[PartName] = (),
    hearing: str = "",
    voice: str = "",
) -> int:
    """Install what is missing, or with ``remove`` delete everything that was installed; return the exit code.

    ``only``: just these parts. ``hearing`` and ``voice``: these models instead. Raises ``ConfigError``
    without a terminal, where it could not ask.
    """
    data = data_path()
    if remove:
        return _remove(data, yes=yes)
    if hearing or voice:
        wanted: dict[getting.ModelKind, str] = {"hearing": hearing, "voice": voice}
        return _get_named(data, {kind: name for kind, name in wanted.items() if name})
    missing = [part for part in missing_parts(data) if not only or part.name in only]
    if not missing:
        output.say(localised("Voice is set up: nothing is missing."))
        return exits.DONE
    if chosen := missing if yes else ask_for_parts(missing):
        get(chosen, data)
    return exits.DONE


def ask_for_parts(missing: Sequence[VoicePart]) -> list[VoicePart]:
    """Show what is missing and ask for each part; return the wanted ones.

    Raises ``ConfigError`` (exit code 2) if nobody can be asked.
    """
    _show(describe_missing(missing))
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigError("voice is not set up", f"run: {COMMAND} --yes")
    is_one = len(missing) == 1
    if _ask_yes_no(localised("Get it?" if is_one else "Get all of it?"), default=True):
        return list(missing)
    if is_one:
        return []
    chosen: list[VoicePart] = []
    for part in missing:
        if part is MODELS and AGENT in missing and AGENT not in chosen:
            continue  # they are installed with the agent, and nothing else needs them
        if _ask_yes_no(localised(f"Get the {part.name} ({size(part.download)})?"), default=False):
            chosen.append(part)
    return chosen


def _show(lines: Sequence[str]) -> None:
    """Write lines to stderr, wrapped by cells and with a hanging indent."""
    for line in lines:
        words = line.lstrip()
        indent = " " * (len(line) - len(words))
        rows = wrap([(words, 0)], max(40, output_width() - 1) - len(indent) - len(HANGING))
        texts = ["".join(text for text, _ in row).rstrip() for row in rows]
        sys.stderr.write(f"{indent}" + f"\n{indent}{HANGING}".join(texts) + "\n")
    sys.stderr.flush()


def describe_missing(missing: Sequence[VoicePart]) -> list[str]:
    """Return the lines about what is missing, its size, its licence, and how voice works without it."""
    lines = [localised("Voice needs some things that are not on this machine yet:")]
    for part in missing:
        lines += [
            f"  {localised(part.name)}{say('between.detail')}{localised(part.what)}",
            "    "
            + localised(f"download {size(part.download)}, keeps {size(part.kept)}; licence: {part.licence}"),
            "    " + localised(f"without it: {part.without}"),
        ]
    total = size(sum(part.download for part in missing))
    return [
        *lines,
        localised(f"All of it is a download of about {total}; {COMMAND} --remove deletes it again."),
    ]


def get(parts: Sequence[VoicePart], data: Path) -> None:
    """Install ``parts``, in their order, with a progress bar; raises ``NotGot`` or ``ConfigError``.

    A part that fails does not prevent the others; its error is raised at the end.
    """
    failed: getting.NotGot | None = None
    with getting.one_at_a_time(data):
        getting.check_room(data, parts)
        for part in parts:
            if part is MODELS and failed is not None and find_agent_python(data) is None:
                continue
            try:
                with closing(Bar(localised(part.name))) as bar:
                    _get(part.name, data, bar.tell)
            except getting.NotGot as error:
                output.complain(f"{part.name}: {error.title}")
                failed = failed or error
    left = missing_parts(data)
    missing = list_of(part.name for part in left)
    output.notice(localised(f"Still missing: {missing}." if missing else "Voice is set up."))
    if failed is not None:
        raise failed


def _get(name: PartName, data: Path, tell: getting.Progress) -> None:
    match name:
        case "server":
            getting.get_server(data, tell)
        case "agent":
            getting.get_agent(data, tell)
        case "models":
            python = find_agent_python(data)
            if python is None:
                raise ConfigError("the models need the agent", f"run: {COMMAND}")
            getting.get_models(python, tell)


def _get_named(data: Path, wanted: Mapping[getting.ModelKind, str]) -> int:
    for name in wanted.values():
        if not _MODEL_NAME.fullmatch(name):
            raise ConfigError(
                f"{inert_line(name, 60)!r} is not the name of a model", "like small or de_DE-thorsten-medium"
            )
    python = find_agent_python(data)
    if python is None:
        raise ConfigError("models need the agent's libraries", f"run: {COMMAND}")
    with getting.one_at_a_time(data):
        for kind, name in wanted.items():
            with closing(Bar(kind)) as bar:
                getting.get_model(data, python, kind, name, bar.tell)
    return exits.DONE


def _remove(data: Path, *, yes: bool) -> int:
    if not yes and not _ask_yes_no(localised("Delete everything that voice setup got?"), default=False):
        return exits.DONE
    with getting.one_at_a_time(data):
        freed = getting.remove_all(data)
    output.say(localised(f"deleted: {size(freed)}"))
    return exits.DONE


def _ask_yes_no(question: str, *, default: bool) -> bool:
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise ConfigError("nobody can be asked", "add --yes")
    answer = output.typed_line(f"{question} [{'Y/n' if default else 'y/N'}] ")
    if not answer:
        raise ConfigError("nobody answered", "add --yes")
    reply = answer.strip().lower()
    return default if not reply else reply.startswith("y")


class Bar:
    """A progress bar in one line of a terminal, which counts the seconds; elsewhere one line for each
    tenth.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._began = time.monotonic()
        self._shown = -1.0
        self._tenth = -1
        self._told = (0.0, "")
        self._drawing = threading.Lock()
        self._over = threading.Event()
        self._ticking: threading.Thread | None = None

    def tell(self, done: float, what: str) -> None:
        """Show the done share, from 0 to 1, and what is happening now."""
        if not sys.stderr.isatty():
            if (tenth := int(done * 10)) != self._tenth:
                self._tenth = tenth
                output.notice(f"{self._name}: {done:.0%} {what}")
            return
        self._told = (done, what)
        if self._ticking is None:
            self._ticking = threading.Thread(target=self._tick, daemon=True)
            self._ticking.start()
        if done >= 1 or time.monotonic() - self._shown >= SHOWN_SECONDS:
            self._draw()

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            self._draw()

    def _draw(self) -> None:
        with self._drawing:
            (done, what), now = self._told, time.monotonic()
            self._shown = now
            full = round(done * BAR_CELLS)
            bar = f"{'#' * full}{'.' * (BAR_CELLS - full)}"
            line = f"{self._name:6} [{bar}] {done:4.0%} {duration(now - self._began):>6} {what}"
            sys.stderr.write(f"\r{line[: output_width() - 1]}\x1b[K")
            sys.stderr.flush()

    def close(self) -> None:
        """Leave the line as it is and go to the next."""
        self._over.set()
        if self._ticking is not None:
            self._ticking.join()
            self._ticking = None
            sys.stderr.write("\n")


def output_width() -> int:
    """Return the width of the terminal on stderr in cells."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns
    except OSError:
        return 80
