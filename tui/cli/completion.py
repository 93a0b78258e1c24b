"""Shell completion by Typer's own scripts, and the names that it offers.

A shell that completes a line calls the program with ``_AGENT_TUI_COMPLETE=complete_SHELL``. Zsh evaluates the
answer and bash splits it at blanks, so names and descriptions from elsewhere are offered only in plain
letters. Nothing here starts a backend or prints errors.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

from typer._click.shell_completion import get_completion_class
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script, install

from agent_tui.config.file import AGENT_KINDS, AGENT_PROVIDER, DEMO_PROVIDER, EMBEDDED, data_path, load
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.paths import file_exists
from tui.cli import output
from tui.cli.arguments import COMPLETION_OPTIONS, COMPLETION_VARIABLE
from tui.cli.output import PROGRAM
from tui.request import wants_embedded
from tui.runtime import DATABASE
from tui.screens.localised import localised

SHELLS: Final = ("bash", "zsh", "fish")
BUSY_SECONDS: Final = 0.2  # how long to wait for a locked database
MOST: Final = 200  # rooms or chats that are offered, the newest first
MAX_NAME_CHARACTERS: Final = 60
ID_CHARACTERS: Final = 12  # of an id: enough to be unique
_PLAIN: Final = re.compile(r"\w[\w.,:+@-]*")  # a word that no shell sees more in
_UNPLAIN: Final = re.compile(r"[^\w .,+@-]+")
_QUERY: Final = (
    "SELECT id, name, status FROM conversation WHERE kind = ? AND archived = 0 ORDER BY updated_at DESC"
)

# Zsh loads the script at the first TAB, which would else only define the function.
_ZSH_FIRST: Final = '\n[[ $zsh_eval_context[-1] == loadautofunc ]] && _agent_tui_completion "$@"\n'

Offered = list[tuple[str, str]]  # words, and what each is


def asked_for_script(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the option for completion and its shell, if the words are that; raises ``ConfigError``."""
    name, _, shell = words[0].partition("=") if words else ("", "", "")
    if name not in COMPLETION_OPTIONS or len(words) > 2:
        return None
    shell = shell or (words[1] if len(words) > 1 else Path(os.environ.get("SHELL", "")).name)
    if shell not in SHELLS:
        shown = inert_line(shell, MAX_NAME_CHARACTERS) or "an unknown shell"
        raise ConfigError(f"there is no completion for {shown}", f"name one: {', '.join(SHELLS)}")
    return name, shell


def set_up(option: str, shell: str) -> None:
    """Print the script of a shell, or write it where that shell reads it; raises ``ConfigError``."""
    if option == "--show-completion":
        script = get_completion_script(prog_name=PROGRAM, complete_var=COMPLETION_VARIABLE, shell=shell)
        output.write(f"{script}\n")
        return
    try:
        _, path = install(shell, PROGRAM, COMPLETION_VARIABLE)
        if shell == "zsh":
            with path.open("a", encoding="utf-8") as written:
                written.write(_ZSH_FIRST)
    except (OSError, ValueError, RuntimeError) as error:
        why = str(error)
        if isinstance(error, OSError) and error.strerror:
            why = f"{error.filename}: {error.strerror}"
        raise ConfigError("completion cannot be set up", why) from error
    output.say(localised(f"{shell} completion is in {path}; it works in the next shell"))


def answer(command: Any) -> None:
    """Write what may come next, as the shell wants it; after any error, nothing is offered."""
    completion_init()
    asking = get_completion_class(os.environ[COMPLETION_VARIABLE].removeprefix("complete_"))
    with suppress(Exception):  # a TAB must not print errors over a person's command line
        if asking is not None:
            output.write(f"{asking(command, {}, PROGRAM, COMPLETION_VARIABLE).complete()}\n")


# --- what there is -----------------------------------------------------------------------------------------
# ``ctx`` is typer's; its ``obj`` is the connection. Other servers are not asked.


def rooms(ctx: Any) -> Offered:
    """Return the rooms of this user: the word for each, and its description."""
    return _read_store("room") if wants_embedded(ctx.obj) else []


def conversations(ctx: Any) -> Offered:
    """Return the chats of this user, as ``rooms``."""
    return _read_store("chat") if wants_embedded(ctx.obj) else []


def _read_store(kind: str) -> Offered:
    """Read the store of the embedded backend, whether that is running or not; never writes."""
    import sqlite3  # lazy: only a TAB reads the store directly

    path = data_path() / DATABASE
    if not file_exists(path):
        return []
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as database:
        rows = database.execute(f"{_QUERY} LIMIT {MOST}", (kind,)).fetchall()
    names = [name for _, name, _ in rows]
    return _only_plain(
        (name, status)
        if _PLAIN.fullmatch(name) and names.count(name) == 1
        else (id_[:ID_CHARACTERS], f"{name[:MAX_NAME_CHARACTERS]} {status}")
        for id_, name, status in rows
    )


def _only_plain(offered: Iterable[tuple[str, str]]) -> Offered:
    return [(word, _UNPLAIN.sub(" ", about)) for word, about in offered if _PLAIN.fullmatch(word)]


def providers(ctx: Any) -> Offered:
    """Return the providers of the config file, agents on other servers for rooms, and the demo."""
    if not wants_embedded(ctx.obj):
        return []
    config = load()
    named = [(provider.name, provider.kind) for provider in config.providers.values()]
    agents = [backend.name for backend in config.backends.values() if backend.kind in AGENT_KINDS]
    remote = [(f"{AGENT_PROVIDER}{name}", "an agent on another server") for name in agents]
    return _only_plain([*named, *remote, (DEMO_PROVIDER, "the demo model")])


def backends() -> Offered:
    """Return the servers of the config file, and the user's own."""
    return _only_plain([*((one.name, one.kind) for one in load().backends.values()), (EMBEDDED, "your own")])


def templates() -> Offered:
    from agent_tui.config import agent_templates  # lazy: it reads files

    return _only_plain((template.id, template.in_language("en")[2]) for template in agent_templates.load()[0])
