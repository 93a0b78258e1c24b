"""Slash commands of rooms, chats and voice rooms: one table, and what runs and completes them."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine, Mapping
from inspect import iscoroutine
from typing import Any, Final, Literal, NamedTuple

from tui.live.composer import Writing
from tui.live.host import Host
from tui.live.pager import PagerScreen
from tui.screens.words import say
from widgets.choices import Completion, Suggestion
from widgets.fuzzy import match
from widgets.transcript.transcript import Transcript

Kind = Literal["room", "chat", "voice"]
ALL: Final[tuple[Kind, ...]] = ("room", "chat", "voice")
BOTH: Final[tuple[Kind, ...]] = ("room", "chat")
ROOM: Final[tuple[Kind, ...]] = ("room",)
CHAT: Final[tuple[Kind, ...]] = ("chat",)
VOICE: Final[tuple[Kind, ...]] = ("voice",)

OF_SETTINGS: Final = (  # a field of the settings, which other programs have a command for
    *("config", "options", "status", "tools", "mcp", "permissions", "system", "prompt"),
    *("thinking", "reasoning", "temperature", "workspace", "folder", "cd"),
)


class SlashCommand(NamedTuple):
    """A command: the ``kinds`` of screens with it, and its other names (``also``)."""

    name: str
    kinds: tuple[Kind, ...] = ALL
    also: tuple[str, ...] = ()
    needs_words: bool = False


COMMANDS: Final[tuple[SlashCommand, ...]] = (
    SlashCommand("help", also=("commands", "keys")),
    SlashCommand("model", BOTH, also=("models", "provider", "agents")),
    SlashCommand("new", BOTH),
    SlashCommand("clear", CHAT, also=("reset",)),
    SlashCommand("compact", CHAT, also=("summary", "summarise", "compress")),
    SlashCommand("chats", also=("sessions", "history", "resume")),
    SlashCommand("rooms"),
    SlashCommand("pause", ROOM),
    SlashCommand("resume", ROOM, also=("start",)),
    SlashCommand("stop", also=("cancel", "interrupt")),
    SlashCommand("retry", ROOM, also=("again",)),
    SlashCommand("skip", ROOM),
    SlashCommand("timeline", ROOM),
    SlashCommand("title", CHAT, also=("rename", "name"), needs_words=True),
    SlashCommand("changes", BOTH, also=("diff", "files", "undo")),
    SlashCommand("mute", VOICE, also=("unmute", "microphone")),
    SlashCommand("devices", VOICE, also=("speaker", "sound")),
    SlashCommand("headphones", VOICE, also=("echo",)),
    SlashCommand("text", VOICE, also=("talk",)),
    SlashCommand("file", VOICE, also=("send", "attach"), needs_words=True),
    SlashCommand("settings", also=OF_SETTINGS),
    SlashCommand("theme", also=("themes", "colors")),
    SlashCommand("copy"),
    SlashCommand("export", also=("save",)),
    SlashCommand("quit", also=("exit", "q", "bye")),
)
_COMMAND: Final = re.compile(r"/([a-z]+)(?:[ \t]+(.*))?\s*\Z", re.DOTALL)


def of_kind(kind: Kind) -> list[SlashCommand]:
    return [command for command in COMMANDS if kind in command.kinds]


def typed_command(text: str) -> tuple[str, str] | None:
    """Return a command, known or not, and its words; None for words to the model: "/etc/hosts is …"."""
    found = _COMMAND.match(text.strip())
    return (found[1], (found[2] or "").strip()) if found else None


def meant(written: str, kind: Kind | None = None) -> str:
    """Return the command that ``written`` names, by its name or another; "" if there is none of that kind."""
    among = COMMANDS if kind is None else of_kind(kind)
    by_name = sorted(among, key=lambda command: command.name != written)
    return next((command.name for command in by_name if written in (command.name, *command.also)), "")


def completion(text: str, kind: Kind) -> Completion:
    """Return the commands that ``text`` may mean, also by their other names."""
    if not text.startswith("/") or " " in text or "\n" in text:
        return Completion()
    begun = text[1:]
    commands = of_kind(kind)
    found = [(command, fits) for command in commands if (fits := match(begun, command.name)) is not None]
    if begun:
        found.sort(key=lambda pair: pair[1].rank)
    matches = {command: fits.places for command, fits in found}
    for command in commands:
        if begun and any(name.startswith(begun) for name in command.also):
            matches.setdefault(command, ())
    choices = [
        Suggestion(
            f"/{command.name}",
            f"/{command.name}",
            say(f"command.{command.name}"),
            marks=tuple(at + 1 for at in places),
            is_all=not command.needs_words,
        )
        for command, places in matches.items()
    ]
    return Completion(len(text), tuple(choices))


class NotDone(Exception):
    """A command was refused; the text says why, one line for a person, "" if that was said already."""


class Commands:
    """Runs the slash commands of one screen; ``does`` has its own, each gets the words behind it.

    A coroutine that one returns is run. One that raises ``NotDone`` stays in the line.
    """

    def __init__(
        self, kind: Kind, composer: Writing, host: Host, does: Mapping[str, Callable[[str], object]]
    ) -> None:
        self._kind = kind
        self._composer = composer
        self._host = host
        self._does: Mapping[str, Callable[[str], object]] = {
            "help": lambda _: self._show_commands(),
            "theme": lambda _: host.do("app.themes"),
            "quit": lambda _: host.do("app.leave"),
            **does,
        }

    def run(self, text: str) -> bool:
        """Do what a command says; return whether ``text`` is one."""
        command = typed_command(text)
        if command is None:
            return False
        written, rest = command
        name = meant(written, self._kind)
        if name not in self._does:
            self._composer.tell(say("command.unknown", name=written))
            return True
        was_written = self._composer.line.text.startswith(text)  # not if a key stands for the command
        self._composer.line.take_away(text)
        kept = text if was_written else ""
        try:
            going = self._does[name](rest)
        except NotDone as why:
            self._put_back(kept, why)
        else:
            if iscoroutine(going):
                self._host.run("command", self._finish(going, kept))
        return True

    async def _finish(self, going: Coroutine[Any, Any, None], text: str) -> None:
        try:
            await going
        except NotDone as why:
            self._put_back(text, why)

    def _put_back(self, text: str, why: NotDone) -> None:
        """Write a refused command into the line again, unless another text was begun there."""
        if not self._composer.line.text:
            self._composer.line.put(text)
            self._composer.line.action_close_choices()  # it was chosen already
        if str(why):
            self._composer.tell(str(why))

    def _show_commands(self) -> None:
        lines = [f"- `/{command.name}` {say(f'command.{command.name}')}" for command in of_kind(self._kind)]
        self._host.open(PagerScreen(say("command.help.title"), "\n".join(lines), self._host.clock))


def copy_newest(transcript: Transcript | None, text: str, host: Host) -> None:
    """Copy the newest answer, or say that there is none."""
    if transcript is None or not text:
        host.tell(say("copy.nothing"))
    else:
        transcript.call_later(_tell_to_copy, transcript, text)


def _tell_to_copy(transcript: Transcript, text: str) -> None:
    """Post from the transcript itself: a message only rises from whoever is active when it is made."""
    transcript.post_message(Transcript.CopyRequested(transcript, text, "message"))
