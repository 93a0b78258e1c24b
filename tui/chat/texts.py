"""The texts of a chat screen: pure functions of the state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.events import TurnNoted
from agent_tui.model.inert import inert_line
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from tui.live import signs
from tui.live import texts as live_texts
from tui.live.texts import (
    Hint,
    Looking,
    Status,
    asking,
    choosing_hints,
    finding_hints,
    link_status,
    possible,
    rate_limited,
    short_folder,
    told_apart,
    tools_at_work,
    under_way,
)
from tui.screens.localised import localised
from tui.screens.words import count, say
from widgets.units import duration

MAX_TITLE_CHARACTERS: Final = 200
MAX_DETAIL_CHARACTERS: Final = 200
MAX_NAME_CHARACTERS: Final = 60
TYPED: Final = ("@", "/")  # in the line


@dataclass(frozen=True, slots=True)
class ChatShown:
    """What the screen itself knows, for the lines above and below."""

    is_writing: bool = True  # the line has the focus
    is_choosing: bool = False  # the completion list is open
    has_models: bool = True  # to choose from: an agent that others run has its own
    has_ask: bool = False  # there is a bar with a question
    is_asking: bool = False  # which has the focus
    looking: Looking = ""
    is_following: bool = True
    has_selection: bool = False
    has_step: bool = False
    is_editing: bool = False
    is_sending: bool = False
    is_stopping: bool = False
    has_text: bool = False
    queued: int = 0
    is_held: bool = False
    acts: frozenset[str] = frozenset()  # again, edit, version: what can be done with the reader's message
    can: frozenset[str] = frozenset()  # again, continue: the last answer is not complete


# --- the line above ----------------------------------------------------------------------------------------


def title(state: ConversationState) -> str:
    """Return the chat's title, safe and in one line; "" while nothing is known of the chat."""
    if not state.is_known:
        return ""
    return inert_line(state.conversation.title, MAX_TITLE_CHARACTERS) or say("chat.untitled")


def provider(state: ConversationState) -> str:
    """Return the provider's name, if one is chosen; the demo has one word for it and its model."""
    provider_id = state.conversation.provider_id
    return "" if provider_id == DEMO_PROVIDER else inert_line(provider_id, MAX_NAME_CHARACTERS)


def model(state: ConversationState) -> str:
    """Return the model's name: the chosen one, else the last speaker's; the demo has its own word."""
    named = state.conversation.model
    if state.conversation.provider_id == DEMO_PROVIDER and named in ("", DEMO_PROVIDER):
        return say("room.demo")
    if not named:
        named = next((turn.sender_name for turn in reversed(state.turns.values()) if turn.sender_name), "")
    return live_texts.model_name(named, "") or say("chat.model.default")


def status(state: ConversationState, shown: ChatShown, seconds_left: int = 0) -> Status:
    """Return the state of the chat in one text, with its sign."""
    if link := link_status(state.link, seconds_left):
        return Status(link)
    turn = state.open_turn
    if shown.is_stopping and turn is not None:
        return Status(f"{signs.WAITING} {say('chat.stopping')}", "stop")
    if asks := asking(state):
        return Status(asks)
    if turn is not None:
        return _doing(turn)
    if shown.is_sending or state.conversation.status == "running":
        return Status(f"{signs.WAITING} {say('chat.sending')}", "send")
    if state.run_error:
        detail = inert_line(state.run_error, MAX_DETAIL_CHARACTERS)
        return Status(f"{signs.FAILED} {say('room.error', detail=detail)}")
    if state.conversation.archived:
        return Status(f"{signs.DONE} {say('chat.archived')}")
    return Status(f"{signs.DONE} {say('chat.ready')}" if state.loaded else "")


def _doing(turn: Turn) -> Status:
    if waits := rate_limited(turn.waits):
        return Status(waits)
    newest = next(reversed(turn.steps.all.values()), None)
    if turn.waits_for:
        text = say("chat.servers", servers=inert_line(turn.waits_for, MAX_NAME_CHARACTERS))
        return Status(f"{signs.WAITING} {text}", f"servers {turn.id}")
    if turn.summarises:
        text = say("chat.summarising", count=count(turn.summarises))
        return Status(f"{signs.WAITING} {text}", f"summary {turn.id}")
    if turn.is_loading:
        return Status(f"{signs.WAITING} {say('chat.loading_model')}", f"loading {turn.id}")
    if calls := under_way(turn.steps):
        return Status(tools_at_work(calls), f"step {turn.id} {calls[0].id}")
    if newest is None or newest.type == "tool_result" or newest.result is not None:
        after = newest.id if newest is not None else ""
        return Status(f"{signs.WAITING} {say('chat.waiting')}", f"model {turn.id} {after}")
    if turn.progress:
        return Status(f"{signs.SPEAKING} {inert_line(turn.progress, MAX_DETAIL_CHARACTERS)}")
    if newest.type in ("thinking", "sub_agent"):
        return Status(f"{signs.THINKING} {say('chat.thinking')}", f"step {turn.id} {newest.id}")
    return Status(f"{signs.SPEAKING} {say('chat.answering')}")


# --- the line below ----------------------------------------------------------------------------------------


def hints(state: ConversationState, shown: ChatShown) -> list[Hint]:
    """Return the hints for the keys that make sense now, the most useful first."""
    if shown.is_choosing:
        return choosing_hints()
    if shown.looking in ("find", "go_to"):
        return finding_hints(shown.looking)
    if shown.is_editing:
        found = [Hint("esc", say("hint.back"))]
    elif shown.has_selection:
        found = [Hint("y", say("hint.copy"))]
    elif shown.looking and not shown.is_writing:
        found = finding_hints(shown.looking)
    else:
        found = possible((state.open_turn is not None, "esc", "hint.stop", 0))
    if shown.is_asking:
        return [*found, Hint("tab", say("hint.read"), 2)]
    found += possible(
        ("continue" in shown.can, "f8" if shown.is_writing else "c", "hint.continue", 0),
        ("again" in shown.can, "f7" if shown.is_writing else "r", "hint.retry", 0),
    )
    return [*found, *(_writing_hints(shown) if shown.is_writing else _reading_hints(state, shown))]


def _reading_hints(state: ConversationState, shown: ChatShown) -> list[Hint]:
    acts, has_turns = shown.acts, bool(state.turns)
    return possible(
        (not shown.is_following, "end", "hint.newest", 1),
        ("edit" in acts, "e", "hint.edit", 3),
        ("version" in acts, "[", "hint.versions", 3),
        (shown.has_step, "space", "hint.fold", 4),
        (shown.has_step, "F", "hint.fold_all", 6),
        (shown.has_step, "o", "hint.open_all", 6),
        (has_turns and "again" in acts - shown.can, "r", "hint.retry", 7),
        (has_turns, "y", "hint.copy", 7),
        (True, "i", "hint.say", 2),
        (True, "?", "hint.help", 2),
    )


def _writing_hints(shown: ChatShown) -> list[Hint]:
    return possible(
        (shown.queued and shown.is_held and not shown.has_text, "enter", "hint.send_queued", 1),
        (True, "@", "hint.file", 3),
        (True, "/", "hint.command", 3),
        (shown.has_models, "ctrl+l", "hint.model", 5),
        (True, "ctrl+e", "hint.editor", 6),
        (True, "ctrl+r", "hint.history", 6),
        (True, "tab", "hint.answer" if shown.has_ask else "hint.read", 2),
    )


def usage_text(state: ConversationState) -> live_texts.UsedText:
    """Return the usage, see ``live_texts.usage_text``; nothing if there is none."""
    is_any = state.ledger.tokens or state.conversation.max_tokens
    return live_texts.usage_text(state) if is_any else live_texts.UsedText()


def over_budget(state: ConversationState, key: str) -> str:
    """Return which budget of the chat is used up, and the ``key`` of the settings; "" if none is."""
    info, ledger = state.conversation, state.ledger
    ceiling = ledger.limit_reached(info)
    if not ceiling:
        return ""
    used, most = count(ledger.tokens), count(info.max_tokens)
    if ceiling == "max_cost":
        used, most = live_texts.dollars(ledger.cost or 0.0), live_texts.dollars(info.max_cost)
    text = say("chat.over_budget", setting=say(f"setting.{ceiling}"), used=used, most=most)
    return f"{text} · {say('room.paused.raise', press=key)}" if key else text


def workspace(state: ConversationState) -> str:
    """Return the short name of the tools' folder."""
    folder = short_folder(state.conversation.workspace)
    return say("chat.workspace", folder=folder) if folder else ""


def told_beside(event: TurnNoted) -> str:
    """Return a note of an agent on another server that belongs to no answer; "" for anything else."""
    about = inert_line(event.about, MAX_DETAIL_CHARACTERS)
    match event.note:
        case "agent_left":
            return say("chat.agent.left", reason=localised(about))
        case "orphan":
            return say("chat.agent.orphan", text=about)
        case "not_cancelled":
            return say("chat.agent.not_cancelled", reason=localised(about))
        case "file_saved" if not event.turn_id:
            return say("plain.file_saved", about=about)
        case "unreadable":
            return localised(about)
        case "file_refused" if not event.turn_id:
            return localised(about)
        case _:
            return ""


# --- turns -------------------------------------------------------------------------------------------------


def turn_title(turn: Turn, model: str = "") -> str:
    """Return the head of a turn: what follows a tab is shown at its right, what follows another one below.
    ``model`` is the speaker if none is named.
    """
    if turn.role == "user":
        name = say("room.you")
    else:
        named = turn.sender_name or model
        name = live_texts.model_name(named, provider_id=named) or say("chat.model.default")
    if len(turn.versions) > 1 and turn.id in turn.versions:
        number = turn.versions.index(turn.id) + 1
        name = say("chat.version", name=name, number=number, count=len(turn.versions))
    parts = []
    if turn.role != "user" and turn.status != "speaking":
        parts += [duration(turn.seconds)] if turn.seconds is not None else []
        parts += [say("agent.tokens", count=count(turn.tokens))] if turn.tokens else []
    return "\t".join([name, " · ".join(parts), " · ".join(told_apart(turn))]).rstrip("\t")
