"""The doctor's checks of the terminal, multiplexers, and the clipboard."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from tui.cli.doctor.checks import Check, Surroundings, run_program
from tui.clipboard import tools

ASK_SECONDS: Final = 2.0
USABLE: Final = (20, 5)  # the fewest columns and rows for a screen
COMFORTABLE: Final = (80, 24)
SLOW_ESCAPE_MILLISECONDS: Final = 50
_TRUECOLOR: Final = ("truecolor", "24bit")
_CONFIG_OF_TMUX: Final = "in ~/.tmux.conf"


def checks(here: Surroundings) -> Iterator[Check]:
    yield _kind(here.environ)
    yield _colors(here.environ)
    yield _locale(here.environ)
    yield _size(here.size)
    yield _multiplexer(here.environ)
    yield _clipboard(here.environ)


def _kind(environ: Mapping[str, str]) -> Check:
    check, term = partial(Check, "terminal.kind", "terminal"), environ.get("TERM", "")
    if term in ("", "dumb"):
        detail = "TERM is not set" if not term else "TERM=dumb cannot show a screen"
        return check("failed", detail, "export TERM=xterm-256color")
    return check("ok", term)


def _colors(environ: Mapping[str, str]) -> Check:
    check, term = partial(Check, "terminal.colors", "colours"), environ.get("TERM", "")
    if environ.get("NO_COLOR"):
        detail = "NO_COLOR is set: agents differ by name alone"
        return check("warning", detail, "unset NO_COLOR, if you want colours")
    if environ.get("COLORTERM", "").lower() in _TRUECOLOR or term.endswith("-direct"):
        return check("ok", "16 million")
    count = "256" if "256" in term else "sixteen"
    fix = "export COLORTERM=truecolor, if the terminal can (most can)"
    return check("warning", f"{count}: COLORTERM does not say truecolor", fix)


def _locale(environ: Mapping[str, str]) -> Check:
    check = partial(Check, "terminal.locale", "letters")
    name = next((environ[key] for key in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(key)), "")
    if "utf8" in name.lower().replace("-", ""):
        return check("ok", name)
    detail = f"the locale {name} is not UTF-8" if name else "no locale is set"
    return check("failed", detail, "export LANG=C.UTF-8")


def _size(size: tuple[int, int] | None) -> Check:
    check = partial(Check, "terminal.size", "size")
    if size is None:
        return check("skipped", "the output is not a terminal")
    detail = f"{size[0]} × {size[1]}"
    if size[0] < USABLE[0] or size[1] < USABLE[1]:
        return check("failed", detail, f"make the window larger than {USABLE[0]} × {USABLE[1]}")
    if size[0] < COMFORTABLE[0] or size[1] < COMFORTABLE[1]:
        return check("warning", detail, f"{COMFORTABLE[0]} × {COMFORTABLE[1]} shows several agents at once")
    return check("ok", detail)


def _multiplexer(environ: Mapping[str, str]) -> Check:
    """Check tmux or GNU screen, if one runs between the terminal and us."""
    if environ.get("TMUX"):
        return _tmux(environ)
    check = partial(Check, "terminal.multiplexer", "multiplexer")
    if environ.get("STY"):
        return check("warning", "GNU screen: 256 colours, long selections are not copied", "tmux does both")
    return check("ok", "none")


def _tmux(environ: Mapping[str, str]) -> Check:
    check = partial(Check, "terminal.multiplexer", "tmux")
    names = ("set-clipboard", "escape-time", "default-terminal")
    settings = {name: _tmux_says(environ, name) for name in names}
    if all(value is None for value in settings.values()):
        return check("warning", "it does not answer", "tmux show -s")
    wrong = []
    if settings["set-clipboard"] == "off":
        wrong.append(("copying does not reach the terminal", "set -s set-clipboard on"))
    pause = settings["escape-time"] or ""
    if pause.isdecimal() and int(pause[:9]) > SLOW_ESCAPE_MILLISECONDS:
        wrong.append((f"the escape key waits {pause} ms", "set -s escape-time 10"))
    if settings["default-terminal"] in ("screen", "ansi", "dumb"):
        wrong.append(("few colours", 'set -s default-terminal "tmux-256color"'))
    if not wrong:
        return check("ok")
    detail = ", ".join(what for what, _ in wrong)
    fix = "; ".join(setting for _, setting in wrong)
    return check("warning", detail, f"{fix} ({_CONFIG_OF_TMUX})")


def _tmux_says(environ: Mapping[str, str], name: str) -> str | None:
    """Return the value of a tmux setting, ``None`` if it does not say."""
    program = shutil.which("tmux", path=environ.get("PATH", ""))
    if program is None:
        return None
    with suppress(OSError, subprocess.TimeoutExpired):
        done = run_program([program, "show-options", "-sv", name], ASK_SECONDS, environ)
        return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None
    return None


def _clipboard(environ: Mapping[str, str]) -> Check:
    check = partial(Check, "clipboard", "clipboard")
    for command in tools(environ):
        if shutil.which(command[0], path=environ.get("PATH", "")):
            return check("ok", f"{command[0]}, and through the terminal (OSC 52)")
    detail = "no tool: copying goes through the terminal (OSC 52) alone, which some refuse"
    if environ.get("SSH_CONNECTION"):
        return check("ok", "through the terminal (OSC 52), as always over SSH")
    fix = "install wl-clipboard or xclip" if environ.get("WAYLAND_DISPLAY") or environ.get("DISPLAY") else ""
    return check("warning" if fix else "ok", detail, fix)
