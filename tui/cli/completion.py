"""Shell completion: the words for a TAB, and the scripts that ask for them.

A shell calls the program with ``_AGENT_TUI_COMPLETE=lines`` and the words so far, as they were typed, as
arguments. The answer has a line for each possible word: the word, a tab and its description. The shell
quotes the words itself and never evaluates them: a room's name may be anything. Bash splits words at signs
such as =, and does not quote: with ``_AGENT_TUI_COMPLETE=bash`` the arguments are its line so far and the
part that is replaced, and the answer has what comes in place of that, quoted like it. Nothing here starts a
backend or prints errors.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final

import shellingham  # type: ignore[import-untyped]

from agent_tui.config.file import AGENT_KINDS, AGENT_PROVIDER, DEMO_PROVIDER, EMBEDDED, data_path, load
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.paths import file_exists, named_path
from tui.cli import output
from tui.cli.arguments import COMPLETION_VARIABLE, CONNECTION_OPTIONS, take_connection
from tui.cli.declared import COMMANDS, path_in
from tui.cli.output import PROGRAM
from tui.request import wants_embedded
from tui.runtime import DATABASE
from tui.screens.localised import localised

LINES: Final = "lines"  # the variable's values that ask for words
FOR_BASH: Final = "bash"
OLD_BASH: Final = "complete_bash"
BUSY_SECONDS: Final = 0.2  # how long to wait for a locked database
MOST: Final = 200  # rooms or chats that are offered, the newest first
MAX_NAME_CHARACTERS: Final = 60
MAX_ABOUT_CHARACTERS: Final = 60
ID_CHARACTERS: Final = 12  # of an id: enough to be unique
_PLAIN: Final = re.compile(r"\w[\w .,+@-]*", re.ASCII)  # a name that only needs quotes because of blanks
_WORD: Final = re.compile(  # of a command line, as it was typed
    r"""(?:\\.?|"(?:\\.|[^"\\])*"?|'[^']*'?|[^\s"'\\])+""", re.DOTALL
)
_BREAKS: Final = "=:@"  # where bash splits a word, too
_QUERY: Final = (
    "SELECT id, name, status FROM conversation WHERE kind = ? AND archived = 0 ORDER BY updated_at DESC"
)

_BASH: Final = """\
_agent_tui() {
    local line last=${COMP_WORDS[COMP_CWORD]}
    COMPREPLY=()
    while IFS= read -r line; do
        [ -n "$line" ] && COMPREPLY+=("$line")
    done < <(_AGENT_TUI_COMPLETE=bash agent-tui "${COMP_LINE:0:COMP_POINT}" "$last" 2>/dev/null)
}
complete -o default -F _agent_tui agent-tui
"""
_ZSH: Final = """\
#compdef agent-tui
_agent_tui() {
    local -a lines words_found shown
    local line
    lines=("${(@f)$(_AGENT_TUI_COMPLETE=lines agent-tui "${(@)words[2,CURRENT]}" 2>/dev/null)}")
    for line in "${lines[@]}"; do
        [[ -n $line ]] || continue
        words_found+=("${line%%$'\\t'*}")
        shown+=("${line/$'\\t'/  -- }")
    done
    if (( $#words_found )); then
        compadd -l -d shown -a words_found
    else
        _files
    fi
}
if [[ $funcstack[1] == _agent-tui ]]; then
    _agent_tui "$@"
else
    compdef _agent_tui agent-tui
fi
"""
_FISH: Final = """\
function __agent_tui
    set -l words (commandline -opc)
    set -e words[1]
    env _AGENT_TUI_COMPLETE=lines agent-tui $words (commandline -ct) 2>/dev/null
end
complete -c agent-tui --no-files --condition '__agent_tui | string length -q' -a '(__agent_tui)'
"""
SCRIPTS: Final = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}


# --- setting it up -----------------------------------------------------------------------------------------


def asked_for_script(words: Sequence[str]) -> tuple[str, str] | None:
    """Return the option for completion and its shell, if the words are that; raises ``ConfigError``."""
    name, _, shell = words[0].partition("=") if words else ("", "", "")
    if name not in ("--show-completion", "--install-completion") or len(words) > 2:
        return None
    shell = shell or (words[1] if len(words) > 1 else _own_shell())
    if shell not in SCRIPTS:
        shown = inert_line(shell, MAX_NAME_CHARACTERS) or "an unknown shell"
        raise ConfigError(f"there is no completion for {shown}", f"name one: {', '.join(SCRIPTS)}")
    return name, shell


def _own_shell() -> str:
    try:
        return str(shellingham.detect_shell()[0])
    except (shellingham.ShellDetectionFailure, OSError):
        return Path(os.environ.get("SHELL", "")).name


def set_up(option: str, shell: str) -> None:
    """Print the script of a shell, or write it where that shell reads it; raises ``ConfigError``."""
    script = SCRIPTS[shell]
    if option == "--show-completion":
        output.write(script)
        return
    home = named_path("~", "completion cannot be set up")
    bash = home / ".bash_completions" / f"{PROGRAM}.sh"
    path, line = {
        "bash": (bash, f"source '{bash}'"),
        "zsh": (home / ".zfunc" / f"_{PROGRAM}", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
        "fish": (home / ".config" / "fish" / "completions" / f"{PROGRAM}.fish", ""),
    }[shell]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(script, encoding="utf-8")
        start = home / f".{shell}rc"
        known = start.read_text(encoding="utf-8", errors="surrogateescape") if file_exists(start) else ""
        if line and line not in known.splitlines():
            with start.open("a", encoding="utf-8") as file:
                file.write(("\n" if known and not known.endswith("\n") else "") + line + "\n")
    except OSError as error:
        raise ConfigError("completion cannot be set up", f"{path}: {error.strerror or error}") from error
    output.say(localised(f"{shell} completion is in {path}; it works in the next shell"))


# --- answering ---------------------------------------------------------------------------------------------


def answer(command: Any, arguments: Sequence[str], environ: Mapping[str, str]) -> None:
    """Write what may replace the last word; after any error, nothing is offered.

    Scripts of earlier versions get an answer only for bash: that of zsh evaluated what it got.
    """
    words, asked_by = list(arguments), environ[COMPLETION_VARIABLE]
    if asked_by == FOR_BASH:
        words = _words_of(arguments[0])[1:]
    elif asked_by == OLD_BASH:
        words = environ.get("COMP_WORDS", "").split()[1:]
        if len(words) < int(environ.get("COMP_CWORD", "0")):
            words.append("")
    elif asked_by != LINES:
        return
    with suppress(Exception):  # a TAB must not print errors over a person's command line
        words = [_unquoted(word) for word in words]
        found = _candidates(command, words[:-1], words[-1] if words else "")
        if asked_by == FOR_BASH:
            lines = [_for_bash(word, words[-1], arguments[1]) for word in found]
        elif asked_by == OLD_BASH:
            lines = [*found]
        else:
            lines = [f"{word}\t{inert_line(about, MAX_ABOUT_CHARACTERS)}" for word, about in found.items()]
        output.write("".join(f"{line}\n" for line in lines))


def _candidates(command: Any, before: Sequence[str], begun: str) -> dict[str, str]:
    """Return each word that begins so and may come after ``before``, with its description."""
    option, has_value, value = begun.partition("=")
    if has_value and option.startswith("--"):
        found = _candidates(command, [*before, option], value)
        return {f"{option}={word}": about for word, about in found.items()}
    if before and before[-1] in CONNECTION_OPTIONS:
        offered = backends() if before[-1] == "--backend" else []
    else:
        offered = _of_commands(command, before, begun)
    return {word: about for word, about in offered if word.startswith(begun) and word.isprintable()}


def _of_commands(command: Any, before: Sequence[str], begun: str) -> list[tuple[str, str]]:
    from typer._completion_classes import BashComplete  # lazy; any shell's class walks a command line

    connection, rest = take_connection(before)
    completing = BashComplete(command, {"obj": connection}, PROGRAM, COMPLETION_VARIABLE)
    items = completing.get_completions(rest, begun)
    options = []
    if begun.startswith("-"):
        declared = COMMANDS.get(path_in(rest))
        options = [("--help", "")]
        if declared is None or declared.takes_server:
            options += [(option, "") for option in CONNECTION_OPTIONS]
        elif declared.own_parser:
            options += [(option.name, option.text) for option in declared.options]
    return [(item.value, item.help or "") for item in items if item.type == "plain"] + options


# --- words as shells have them -----------------------------------------------------------------------------


def _words_of(line: str) -> list[str]:
    """Return the words of a command line as they were typed, quotes and all; the last one may be empty."""
    found = list(_WORD.finditer(line))
    is_open = bool(found) and found[-1].end() == len(line)
    return [*(word[0] for word in found), *([] if is_open else [""])]


def _unquoted(word: str) -> str:
    """Return a word without its quotes, of which the last one may be open."""
    for whole in (word, word.removesuffix("\\"), f'{word}"', f"{word}'"):
        with suppress(ValueError):
            return " ".join(shlex.split(whole))
    return word


def _for_bash(word: str, begun: str, replaced: str) -> str:
    """Return what bash puts in place of ``replaced``, the end of what was ``begun``, in the same quotes."""
    kept = begun.removesuffix(_unquoted(replaced)) if replaced.strip(_BREAKS) else begun
    word = word.removeprefix(kept)
    if replaced[:1] == '"':
        return re.sub(r'(["\\$`])', r"\\\1", word)
    if replaced[:1] == "'":
        return word.replace("'", "'\\''")
    return re.sub(r"([^\w@%+=:,./-])", r"\\\1", word)


# --- what there is -----------------------------------------------------------------------------------------
# ``ctx`` is typer's; its ``obj`` is the connection. Other servers are not asked.


def rooms(ctx: Any) -> list[tuple[str, str]]:
    """Return the rooms of this user: the word for each, and its description."""
    return _stored("room") if wants_embedded(ctx.obj) else []


def conversations(ctx: Any) -> list[tuple[str, str]]:
    """Return the chats of this user, as ``rooms``."""
    return _stored("chat") if wants_embedded(ctx.obj) else []


def _stored(kind: str) -> list[tuple[str, str]]:
    """Read the store of the embedded backend, whether that is running or not; never writes."""
    import sqlite3  # lazy: only a TAB reads the store directly

    path = data_path() / DATABASE
    if not file_exists(path):
        return []
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, timeout=BUSY_SECONDS)) as database:
        rows = database.execute(f"{_QUERY} LIMIT {MOST}", (kind,)).fetchall()
    names = [name for _, name, _ in rows]
    return [
        (name, status)
        if _can_be_typed(name) and names.count(name) == 1
        else (id_[:ID_CHARACTERS], f"{name} · {status}")
        for id_, name, status in rows
    ]


def _can_be_typed(name: str) -> bool:
    return len(name) <= MAX_NAME_CHARACTERS and _PLAIN.fullmatch(name) is not None and name == name.strip()


def providers(ctx: Any) -> list[tuple[str, str]]:
    """Return the providers of the config file, agents on other servers for rooms, and the demo."""
    if not wants_embedded(ctx.obj):
        return []
    config = load()
    named = [(one.name, one.kind) for one in config.providers.values()]
    agents = [one.name for one in config.backends.values() if one.kind in AGENT_KINDS]
    remote = [(f"{AGENT_PROVIDER}{name}", "an agent on another server") for name in agents]
    return [*named, *remote, (DEMO_PROVIDER, "the demo model")]


def backends() -> list[tuple[str, str]]:
    """Return the servers of the config file, and the embedded backend."""
    return [*((one.name, one.kind) for one in load().backends.values()), (EMBEDDED, "your own backend")]


def templates() -> list[tuple[str, str]]:
    """Return the templates of agents."""
    from agent_tui.config import agent_templates  # lazy: it reads files

    return [(one.id, one.in_language("en")[2]) for one in agent_templates.load()[0]]
