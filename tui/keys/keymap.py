"""Every action that has a binding id, and its keys under the ``[keys]`` of the config file.

The ``BINDINGS`` of the classes are the only definition; help, palette, ``config keys`` and ``config check``
are made from what is collected here. The keymap that Textual gets has no clashes, so Textual's own rule never
applies (a key that is configured once silently deletes another binding).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from typing import Final

from textual.binding import Binding, BindingType
from textual.dom import DOMNode

from tui.app import AgentTuiApp
from tui.chat.queue import ChatQueueScreen
from tui.chat.screen import ChatScreen
from tui.forms.agent_choice import AgentChoice
from tui.forms.agent_form import AgentFormScreen
from tui.forms.fields import Choice, Marking, Picking
from tui.forms.new_room import NewRoomScreen
from tui.forms.settings import SettingsScreen
from tui.forms.setup import SetupScreen
from tui.home.screen import HomeScreen
from tui.keys.names import character_of, key_name, parse, shown_all
from tui.lists.chats import ConversationsScreen
from tui.lists.rooms import RoomsScreen
from tui.lists.screen import ListScreen
from tui.lists.search import SearchScreen
from tui.live.approvals import Approvals
from tui.live.ask_bar import AskScreen, KeepScreen, ReasonScreen
from tui.live.changes import ChangesScreen
from tui.live.find import FindBar
from tui.live.pager import PagerScreen
from tui.live.tool_form import ToolFormScreen
from tui.room.composer import RoomComposer
from tui.room.queue import QueueScreen
from tui.room.screen import RoomScreen
from tui.room.settings import AgentList
from tui.screens.choose import ChooseScreen
from tui.screens.dialog import QuestionScreen, QuitScreen, RenameScreen
from tui.screens.help import HelpScreen
from tui.voice.screen import VoiceScreen
from widgets.composer import Composer
from widgets.transcript.transcript import Transcript

APP: Final = "app"
BESIDE_ROOMS: Final = ("chat", "voice")  # other screens with a transcript, a line and a find bar
_LIVE: Final = ("room", *BESIDE_ROOMS)
_IN_APP: Final = (APP,)
# Where bindings are: scope → (what declares them, the scopes around it). A dialog covers everything.
SCOPES: Final[Mapping[str, tuple[type[DOMNode], tuple[str, ...]]]] = {
    APP: (AgentTuiApp, ()),
    "home": (HomeScreen, _IN_APP),
    "room": (RoomScreen, _IN_APP),
    "pane": (Transcript, _LIVE),
    "composer": (Composer, _LIVE),
    "words": (RoomComposer, ("room",)),
    "find": (FindBar, _LIVE),
    "chat": (ChatScreen, _IN_APP),
    "ask": (Approvals, ("chat",)),
    "voice": (VoiceScreen, _IN_APP),
    "list": (ListScreen, _IN_APP),
    "rooms": (RoomsScreen, ("list",)),
    "chats": (ConversationsScreen, ("list",)),
    "new": (NewRoomScreen, ()),
    "rename": (RenameScreen, ()),
    "help": (HelpScreen, ()),
    "setup": (SetupScreen, ()),
    "quit": (QuitScreen, ()),
    "question": (QuestionScreen, ()),
    "queue": (QueueScreen, ()),
    "settings": (SettingsScreen, ()),
    "agents": (AgentList, ("settings",)),
    "agent_choice": (AgentChoice, ("new",)),
    "agent_form": (AgentFormScreen, ()),
    "search": (SearchScreen, ()),
    "choose": (ChooseScreen, ()),
    "pager": (PagerScreen, ()),
    "changes": (ChangesScreen, ()),
    "asked": (AskScreen, ()),
    "reason": (ReasonScreen, ()),
    "keep": (KeepScreen, ()),
    "tool_form": (ToolFormScreen, ()),
    "chat_queue": (ChatQueueScreen, ()),
    "choice": (Choice, ("new", "setup", "settings", "agent_form", "tool_form")),
    "picking": (Picking, ("new", "settings", "agent_form")),
    "marking": (Marking, ("new", "settings", "tool_form")),
}
ALWAYS: Final = ("ctrl+c", "ctrl+q", "ctrl+s")  # scripts and users rely on them: they cannot be changed
THERE: Final[Mapping[str, tuple[str, ...]]] = {  # scopes whose keys work in a place
    "room": (APP, "room", "pane", "composer", "words"),
    "chat": (APP, "chat", "ask", "pane", "composer"),
    "voice": (APP, "voice", "ask", "pane", "composer"),
}
_OURS: Final = ("tui.", "widgets.")
_MAX_ID: Final = 60  # characters of an unknown id, in a complaint


@dataclass(frozen=True, slots=True)
class KeymapEntry:
    """One action: ``keys`` are the ones it has by default, by Textual's names."""

    id: str
    scope: str
    keys: tuple[str, ...]
    action: str
    description: str
    is_priority: bool


@dataclass(frozen=True, slots=True)
class Keymap:
    """The keys of each action; ``problems`` are lines for ``config check``."""

    keys: Mapping[str, tuple[str, ...]]
    problems: tuple[str, ...] = ()

    def keys_of(self, binding_id: str) -> str:
        """Return the action's keys for a person, "p, space"; "" if it has none."""
        return shown_all(self.keys[binding_id])

    def now(self, place: str, key: str) -> str:
        """Return the key, or "", that now does what ``key`` does by default in a room, chat or voice room."""
        wanted = {*parse(key)[0]}
        there = [
            entry for entry in catalogue() if entry.scope in THERE[place] or entry.id in shared_ids(place)
        ]
        keys = [now for entry in there if wanted & {*entry.keys} for now in self.keys[entry.id]]
        return key if wanted & {*keys} else "".join(key_name(now) for now in keys[:1])

    def for_textual(self) -> dict[str, str]:
        """Return the argument for ``App.set_keymap``: only what differs from the defaults."""
        return {
            # For Textual, an empty list of keys means the default ones: no terminal sends this one.
            entry.id: ",".join(self.keys[entry.id]) or f"no key for {entry.id}"
            for entry in catalogue()
            if self.keys[entry.id] != entry.keys
        }


@cache
def catalogue() -> tuple[KeymapEntry, ...]:
    """Return every action with a binding id, scope by scope, in the order of their declaration."""
    found: dict[str, KeymapEntry] = {}
    for scope, (owner, _) in SCOPES.items():
        for binding in _bindings(owner):
            entry = found.get(binding.id or "")
            if binding.id and entry is None:
                found[binding.id] = KeymapEntry(
                    binding.id, scope, (binding.key,), binding.action, binding.description, binding.priority
                )
            elif entry is not None and entry.scope == scope and entry.action == binding.action:
                found[entry.id] = replace(entry, keys=(*entry.keys, binding.key))
    return tuple(found.values())


@cache
def shared_ids(scope: str) -> frozenset[str]:
    """Return the ids of a room's actions that the screen of ``scope`` also has."""
    own = {binding.id for binding in _bindings(SCOPES[scope][0])}
    return frozenset(entry.id for entry in catalogue() if entry.scope == "room" and entry.id in own)


def _bindings(owner: type[DOMNode]) -> list[Binding]:
    """Return the bindings of ``owner`` and of our classes under it, one for each key."""
    declared: list[BindingType] = []
    for cls in owner.__mro__:
        if cls.__module__.startswith(_OURS):
            declared += vars(cls).get("BINDINGS", [])
    return list(Binding.make_bindings(declared))


def _around(scope: str) -> set[str]:
    """Return a scope and all scopes around it."""
    return {scope}.union(*map(_around, SCOPES[scope][1]))


def live_together(one: KeymapEntry, other: KeymapEntry) -> bool:
    """Whether one press could mean either: in one scope, one inside the other, or one with priority."""
    for inner, outer in ((one, other), (other, one)):
        is_inside = outer.scope in _around(inner.scope)
        is_shared = outer.scope in BESIDE_ROOMS and inner.id in shared_ids(outer.scope)
        if is_inside or is_shared or (outer.scope == APP and outer.is_priority):
            return True
    return False


def resolve(written: Mapping[str, str]) -> Keymap:
    """Return every action's keys under ``written`` (binding id → keys as a person writes them).

    A configured key is taken from the action that has it by default. If two actions are given the same key,
    the first keeps it. The keys of ``ALWAYS`` stay where they are. Never raises: what is not possible becomes
    a line in ``problems``, and the rest applies.
    """
    if not written:
        return Keymap({entry.id: entry.keys for entry in catalogue()})
    return _Resolution(catalogue()).of(written)


class _Resolution:
    """The steps of ``resolve``."""

    def __init__(self, entries: Sequence[KeymapEntry]) -> None:
        self._entries = {entry.id: entry for entry in entries}
        self._chosen: dict[str, tuple[str, ...]] = {}
        self._problems: list[str] = []

    def of(self, written: Mapping[str, str]) -> Keymap:
        for binding_id, text in written.items():
            if binding_id in self._entries:
                self._choose(self._entries[binding_id], text)
            else:
                self._problems.append(self._unknown_problem(binding_id))
        keys = {
            entry.id: self._chosen[entry.id] if entry.id in self._chosen else self._keys_left(entry)
            for entry in self._entries.values()
        }
        return Keymap(keys, tuple(self._problems))

    def _unknown_problem(self, binding_id: str) -> str:
        near = get_close_matches(binding_id, self._entries, n=1, cutoff=0.4)
        hint = f"did you mean {near[0]}?" if near else "agent-tui config keys lists them"
        return f"keys.{binding_id[:_MAX_ID]}: no such action; {hint}"

    def _choose(self, entry: KeymapEntry, text: str) -> None:
        """Take the configured keys of one action, as far as possible."""
        keys, complaints = parse(text)
        complaints = (*complaints, *filter(None, (self._complaint(entry, key) for key in keys)))
        self._problems += [f"keys.{entry.id}: {complaint}" for complaint in complaints]
        kept = tuple(key for key in keys if not self._complaint(entry, key))
        if kept or not complaints:
            own = tuple(key for key in entry.keys if key in ALWAYS and key not in kept)
            self._chosen[entry.id] = (*own, *kept)

    def _complaint(self, entry: KeymapEntry, key: str) -> str:
        """Return why an action cannot have a key; "" if it can."""
        name = key_name(key)
        if key in ALWAYS:
            return "" if key in entry.keys else f"{name} always stays what it is; choose another key"
        if entry.is_priority and key not in entry.keys and character_of(key):
            return (
                f"{name!r} could not be typed into any line of text; choose one with ctrl or alt, or f1 … f12"
            )
        for other_id, chosen in self._chosen.items():
            if key in chosen and self._clash(entry, self._entries[other_id], key):
                return f"{name!r} was given to {other_id} already, which keeps it"
        return ""

    def _clash(self, one: KeymapEntry, other: KeymapEntry, key: str) -> bool:
        """Whether two actions cannot both have ``key``. Those that share one by default may."""
        return live_together(one, other) and not (key in one.keys and key in other.keys)

    def _keys_left(self, entry: KeymapEntry) -> tuple[str, ...]:
        """Return the default keys that an action without configured keys still has."""
        kept = list(entry.keys)
        for chosen_id, chosen in self._chosen.items():
            other = self._entries[chosen_id]
            lost = [key for key in kept if key in chosen and self._clash(entry, other, key)]
            kept = [key for key in kept if key not in lost]
            if lost:
                rest = f"has {shown_all(kept)} left" if kept else "has no key now"
                self._problems.append(
                    f"keys.{chosen_id}: takes {shown_all(lost)} from {entry.id}, which {rest}"
                )
        return tuple(kept)
