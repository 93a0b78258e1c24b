"""What can be done on the current screen: each action, its keys, its node, and why it is impossible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from textual.actions import parse
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widget import Widget

from tui.chat.screen import ChatScreen
from tui.forms.fields import FormPart
from tui.forms.setup import SetupScreen
from tui.home.screen import HomeScreen
from tui.keys.keymap import APP, BESIDE_ROOMS, SCOPES, Keymap, KeymapEntry, catalogue, shared_ids
from tui.keys.names import shown_all
from tui.language import KEY, translated
from tui.lists.screen import ListScreen
from tui.live.find import FindBar
from tui.live.key_hints import Hints
from tui.live.pager import WholeScreen
from tui.live.screen import LiveScreen
from tui.live.waiting import WaitingList
from tui.room.screen import RoomScreen
from tui.screens.dialog import Dialog
from tui.screens.help import Row, Section
from tui.screens.words import say
from tui.voice.screen import VoiceScreen
from widgets.composer import Composer
from widgets.signs import is_ascii
from widgets.transcript.transcript import Transcript

GROUPS: Final = (  # of the help, in their order
    *("home", "list", "room", "chat", "voice", "ask"),
    *("agent", "composer", "panes", "reading", "find", "program"),
)
WRITTEN_IN: Final = ("home", "room", "chat", "voice")  # scopes of screens with a line that is sent
OF_ALL_LISTS: Final = "list."  # the beginning of ids that come after those of one list alone
SETS_UP: Final = "app.setup"
NUMBERED: Final = "pane.focus_"  # the beginning of ids that differ only by a number
# Scopes whose group has another name; any other scope that is not a group belongs to a dialog.
_GROUP_OF_SCOPE: Final = {
    APP: "program",
    "pane": "reading",
    "words": "composer",
    "rooms": "list",
    "chats": "list",
}
_BEGINNINGS: Final = {  # of ids that belong to another group than their scope; the first that fits counts
    "agent": ("agent.",),
    "program": ("live.",),
    "reading": ("pane.next_message", "pane.previous_message", "pane.go_to"),
    "panes": ("room.zoom", "room.timeline", "pane.next", "pane.previous", "pane.focus"),
    "find": ("pane.find", "pane.copy", "pane.clear", "pane.select"),
}


@dataclass(frozen=True, slots=True)
class Offer:
    """One action at this moment; ``reason`` says why it cannot be done now, or is ""."""

    ids: tuple[str, ...]  # several if several bindings do the same
    action: str
    description: str
    keys: tuple[str, ...]
    group: str
    node: DOMNode
    reason: str
    english: str  # its description, whatever language is spoken


def offers(screen: Screen[object], keymap: Keymap) -> list[Offer]:
    """Return everything that ``screen`` and its widgets can do, in the order of the catalogue."""
    found: dict[tuple[str, str], Offer] = {}
    nodes = _nodes(screen)
    beside = next((scope for scope in BESIDE_ROOMS if scope in nodes), "")
    own = {key for entry in catalogue() if nodes.get(entry.scope) is screen for key in keymap.keys[entry.id]}
    for entry in catalogue():
        node = nodes.get(beside if beside and entry.id in shared_ids(beside) else entry.scope)
        if node is None or (entry.scope == APP and screen.is_modal and not _goes_on(entry, screen, own)):
            continue
        if isinstance(node, Composer) and not (node.display and _writes(entry.id, node, nodes)):
            continue
        if isinstance(node, Transcript) and not node.can_focus:  # its keys go to the list beside it
            continue
        keys = keymap.keys[entry.id]
        action = f"{APP}.{entry.action}" if entry.scope == APP else entry.action
        same = found.get((action, entry.description))
        if same is None:
            group, reason = group_of(entry), _reason(entry, node)
            does = translated(KEY, entry.description)
            offer = Offer((entry.id,), entry.action, does, keys, group, node, reason, entry.description)
        else:  # in another group: an action of the program for which the screen has a key of its own
            group = group_of(entry)
            both = (*same.keys, *keys) if group == same.group else (*keys, *same.keys)
            offer = replace(same, ids=(*same.ids, entry.id), keys=both, group=group)
            if group != same.group:
                del found[action, entry.description]  # it comes where the screen has it
        found[action, entry.description] = offer
    return list(found.values())


def sections(screen: Screen[object], keymap: Keymap) -> list[Section]:
    """Return the help of ``screen``, group by group; what does nothing now comes last."""
    groups: dict[str, list[Row]] = {}
    written = [
        Row(key, does[:1].upper() + does[1:]) for hints in screen.query(Hints) for key, does in hints.written
    ]
    if written:
        groups["dialog"] = written
    found = _numbered_as_one(offers(screen, keymap))
    for offer in sorted(found, key=lambda offer: offer.ids[0].startswith(OF_ALL_LISTS)):
        keys = shown_all(offer.keys, ascii_only=is_ascii(screen)) or say("help.no_key")
        reason = offer.reason or _elsewhere(offer)
        groups.setdefault(offer.group, []).append(Row(keys, offer.description, reason))
    order = sorted(groups, key=lambda group: GROUPS.index(group) if group in GROUPS else -1)
    made = [
        Section(say(f"help.group.{group}"), tuple(sorted(groups[group], key=_is_idle))) for group in order
    ]
    return sorted(made, key=lambda section: all(map(_is_idle, section.rows)))


def _is_idle(row: Row) -> bool:
    """Whether its keys do nothing now."""
    return bool(row.reason)


def _goes_on(entry: KeymapEntry, screen: Screen[object], own: set[str]) -> bool:
    """Whether an action of the program can be done while a dialog is open that has ``own`` keys."""
    if entry.id == SETS_UP and any(isinstance(one, SetupScreen) for one in screen.app.screen_stack):
        return False  # it is open already
    if entry.is_priority:
        return own.isdisjoint(entry.keys)  # the question before quitting takes the key as its answer
    line = screen.focused
    is_typed = line is not None and line.check_consume_key("question_mark", "?")
    return entry.id == "app.help" and isinstance(screen, Dialog | WholeScreen) and not is_typed


def _elsewhere(offer: Offer) -> str:
    """Return why its keys are typed as text: they belong to another field. The palette can reach it."""
    is_away = isinstance(offer.node, FormPart) and not offer.node.has_focus_within
    return say("help.why.another_field") if is_away else ""


def _numbered_as_one(found: list[Offer]) -> list[Offer]:
    """Return the offers with "Go to agent 1", "… 2" and so on as one."""
    numbered = [offer for offer in found if offer.ids[0].startswith(NUMBERED)]
    if not numbered:
        return found
    keys = tuple(key for offer in numbered for key in offer.keys)
    reason = "" if any(not offer.reason for offer in numbered) else numbered[0].reason
    joined = replace(numbered[0], description=say("help.numbered"), keys=keys, reason=reason)
    place = found.index(numbered[0])
    return [*found[:place], joined, *(offer for offer in found[place:] if offer not in numbered)]


def group_of(entry: KeymapEntry) -> str:
    """Return the group of an action in the help; for a dialog it is "dialog"."""
    named = (group for group, beginnings in _BEGINNINGS.items() if entry.id.startswith(beginnings))
    group = next(named, _GROUP_OF_SCOPE.get(entry.scope, entry.scope))
    return group if group in GROUPS else "dialog"


def _nodes(screen: Screen[object]) -> dict[str, DOMNode]:
    """Return what the actions of each scope act on, if it is there."""
    nodes: dict[str, DOMNode] = {APP: screen.app}
    for scope, (owner, _) in SCOPES.items():
        if issubclass(owner, Screen):
            if isinstance(screen, owner):
                nodes[scope] = screen
        elif issubclass(owner, Widget):
            widget = next(_candidates(screen, owner), None)
            if widget is not None:
                nodes[scope] = widget
    return nodes


def _writes(binding_id: str, line: Composer, nodes: Mapping[str, DOMNode]) -> bool:
    """Whether a line can ever do it: those of forms send nothing, and some have no list of what fits."""
    match binding_id:
        case "composer.new_line":
            return True
        case "composer.send" | "composer.end":
            return not nodes.keys().isdisjoint(WRITTEN_IN)
        case _:
            return line.completes


def _candidates(screen: Screen[object], owner: type[Widget]) -> Iterator[Widget]:
    """Yield the widgets that a key could mean: the one with the focus, then the visible ones."""
    if screen.focused is not None:
        for node in screen.focused.ancestors_with_self:
            if isinstance(node, owner):
                yield node
    yield from sorted(screen.query(owner), key=lambda widget: not widget.is_on_screen)


def _reason(entry: KeymapEntry, node: DOMNode) -> str:
    """Return why an action cannot be done now; "" if it can."""
    act = entry.id.split(".")[1]
    if isinstance(node, RoomScreen) and entry.id in _BY_ROOM and (reason := node.why_not(act)):
        return reason
    if isinstance(node, ChatScreen) and entry.scope == "chat" and act in _BY_CHAT:
        return node.why_not("settings" if act == "models" else act)
    if isinstance(node, VoiceScreen) and (reason := node.why_not(entry.id)):
        return reason
    if reason := _why_not(entry.id, node):
        return say(f"help.why.{reason}")
    namespace, name, parameters = parse(entry.action)
    target: DOMNode = node
    if namespace == "app":
        target = node.app
    elif namespace == "screen" and node.screen is not None:
        target = node.screen
    return "" if target.check_action(name, parameters) else say("help.why.not_now")


def _why_not(binding_id: str, node: DOMNode) -> str:
    """Return why ``node`` cannot do it now: a word of "help.why"; "" if it can."""
    can: object
    match binding_id:
        case "pane.copy_code":
            can, why = isinstance(node, Transcript) and node.reader.code_text(), "no_code"
        case "pane.copy_message" | "pane.previous_message" | "pane.next_message":
            can, why = isinstance(node, Transcript) and node.reader.message_count, "no_message"
        case "pane.copy_selection" | "pane.clear_selection":
            can, why = isinstance(node, Transcript) and node.reader.has_selection, "no_selection"
        case "pane.find_next" | "pane.find_previous":
            can, why = any(pane.reader.found.total for pane in node.query(Transcript)), "not_searched"
        case "find.next" | "find.previous":
            can, why = isinstance(node, FindBar) and node.asks == "find", "bar_closed"
        case "form.pick" | "form.next" | "form.previous" | "form.mark":
            can, why = node.screen is not None and node.screen.focused is node, "another_field"
        case _ if binding_id.partition(".")[2].startswith("fold"):
            can, why = isinstance(node, RoomScreen | ChatScreen | VoiceScreen) and node.has_step, "no_step"
        case "room.answer" | "chat.answer" | "voice.answer":
            can, why = isinstance(node, LiveScreen) and node.is_asked, "nothing_asks"
        case "ask.once" | "ask.conversation" | "ask.always" | "ask.deny" | "ask.whole":
            can, why = node.has_class("-open"), "nothing_asks"
        case (
            "queue.edit"
            | "queue.drop"
            | "chat_queue.edit"
            | "chat_queue.drop"
            | "chat_queue.up"
            | "chat_queue.down"
        ):
            can, why = any(waiting.chosen for waiting in node.query(WaitingList)), "not_now"
        case "home.open" | "home.rows" | "home.up" | "home.down":
            can, why = isinstance(node, HomeScreen) and node.has_rows, "list_empty"
        case _ if isinstance(node, RoomScreen) and binding_id.startswith(NUMBERED):
            can, why = int(binding_id.removeprefix(NUMBERED)) <= len(node.state.agents), "not_now"
        case _:
            why = node.why(binding_id) if isinstance(node, ListScreen) else ""
            can = not why
    return "" if can else why


# What the room and the chat say about their own actions.
_BY_ROOM: Final = frozenset(
    ("agent.stop", "agent.skip", "agent.retry", "room.continue", "room.say", "room.queue", "room.settings")
)
_BY_CHAT: Final = frozenset(
    ("edit", "again", "continue", "version", "open_step", "queue", "settings", "models")
)
