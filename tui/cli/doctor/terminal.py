"""The doctor's checks of the terminal, multiplexers, and the clipboard."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from typing import Final

from tui.cli.doctor.checks import Check, Surroundings
from tui.clipboard import tools

ASK_SECONDS: Final = 2.0
USABLE: Final = (20, 5)  # the fewest columns and rows for a screen
COMFORTABLE: Final = (80, 24)
SLOW_ESCAPE_MILLISECONDS: Final = 50
_TRUECOLOR: Final = ("truecolor", "24bit")
_CONFIG_OF_TMUX: Final = "in ~/.tmux.conf"


def checks(here: Surroundings) -> Iterator[Check]:
    """Yield the checks of the terminal."""
    yield _kind(here.environ)
    yield _colors(here.environ)
    yield _locale(here.environ)
    yield _size(here.size)
    yield _between(here.environ)
    yield _clipboard(here.environ)


def _kind(environ: Mapping[str, str]) -> Check:
    term = environ.get("TERM", "")
    if term in ("", "dumb"):
        detail = "TERM is not set" if not term else "TERM=dumb cannot show a screen"
        return Check("terminal.kind", "failed", "terminal", detail, "export TERM=xterm-256color")
    return Check("terminal.kind", "ok", "terminal", term)


def _colors(environ: Mapping[str, str]) -> Check:
    title = "colours"
    if environ.get("NO_COLOR"):
        detail = "NO_COLOR is set: agents differ by name alone"
        return Check("terminal.colors", "warning", title, detail, "unset NO_COLOR, if you want colours")
    term = environ.get("TERM", "")
    if environ.get("COLORTERM", "").lower() in _TRUECOLOR or term.endswith("-direct"):
        return Check("terminal.colors", "ok", title, "16 million")
    count = "256" if "256" in term else "sixteen"
    fix = "export COLORTERM=truecolor, if the terminal can (most can)"
    return Check("terminal.colors", "warning", title, f"{count}: COLORTERM does not say truecolor", fix)


def _locale(environ: Mapping[str, str]) -> Check:
    name = next((environ[key] for key in ("LC_ALL", "LC_CTYPE", "LANG") if environ.get(key)), "")
    if "utf8" in name.lower().replace("-", ""):
        return Check("terminal.locale", "ok", "letters", name)
    detail = f"the locale {name} is not UTF-8" if name else "no locale is set"
    return Check("terminal.locale", "failed", "letters", detail, "export LANG=C.UTF-8")


def _size(size: tuple[int, int] | None) -> Check:
    if size is None:
        return Check("terminal.size", "skipped", "size", "the output is no terminal")
    detail = f"{size[0]} × {size[1]}"
    if size[0] < USABLE[0] or size[1] < USABLE[1]:
        fix = f"make the window larger than {USABLE[0]} × {USABLE[1]}"
        return Check("terminal.size", "failed", "size", detail, fix)
    if size[0] < COMFORTABLE[0] or size[1] < COMFORTABLE[1]:
        fix = f"{COMFORTABLE[0]} × {COMFORTABLE[1]} shows several agents at once"
        return Check("terminal.size", "warning", "size", detail, fix)
    return Check("terminal.size", "ok", "size", detail)


def _between(environ: Mapping[str, str]) -> Check:
    """Check tmux or GNU screen, if one runs between the terminal and us."""
    if environ.get("TMUX"):
        return _tmux(environ)
    if environ.get("STY"):
        detail = "GNU screen: 256 colours, long selections are not copied"
        return Check("terminal.multiplexer", "warning", "multiplexer", detail, "tmux does both")
    return Check("terminal.multiplexer", "ok", "multiplexer", "none")


def _tmux(environ: Mapping[str, str]) -> Check:
    title = "tmux"
    names = ("set-clipboard", "escape-time", "default-terminal")
    settings = {name: _tmux_says(environ, name) for name in names}
    if all(value is None for value in settings.values()):
        return Check("terminal.multiplexer", "warning", title, "it does not answer", "tmux show -s")
    wrong = []
    if settings["set-clipboard"] == "off":
        wrong.append(("copying does not reach the terminal", "set -s set-clipboard on"))
    pause = settings["escape-time"] or ""
    if pause.isdecimal() and int(pause[:9]) > SLOW_ESCAPE_MILLISECONDS:
        wrong.append((f"the escape key waits {pause} ms", "set -s escape-time 10"))
    if (settings["default-terminal"] or "") in ("screen", "ansi", "dumb"):
        wrong.append(("few colours", 'set -s default-terminal "tmux-256color"'))
    if not wrong:
        return Check("terminal.multiplexer", "ok", title)
    detail = ", ".join(what for what, _ in wrong)
    fix = "; ".join(setting for _, setting in wrong)
    return Check("terminal.multiplexer", "warning", title, detail, f"{fix} ({_CONFIG_OF_TMUX})")


def _tmux_says(environ: Mapping[str, str], name: str) -> str | None:
    """Return the value of a tmux setting, ``None`` if it does not say."""
    program = shutil.which("tmux", path=environ.get("PATH", ""))
    if program is None:
        return None
    try:
        done = subprocess.run(
            [program, "show-options", "-sv", name],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=ASK_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else None


def _clipboard(environ: Mapping[str, str]) -> Check:
    title = "clipboard"
    for command in tools(environ):
        if shutil.which(command[0], path=environ.get("PATH", "")):
            return Check("clipboard", "ok", title, f"{command[0]}, and through the terminal (OSC 52)")
    detail = "no tool: copying goes through the terminal (OSC 52) alone, which some refuse"
    if environ.get("SSH_CONNECTION"):
        return Check("clipboard", "ok", title, "through the terminal (OSC 52), as always over SSH")
    fix = "install wl-clipboard or xclip" if environ.get("WAYLAND_DISPLAY") or environ.get("DISPLAY") else ""
    return Check("clipboard", "warning" if fix else "ok", title, detail, fix)
