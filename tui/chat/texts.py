"""What a chat screen says about a chat: pure functions from state to text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from agent_tui.config.tool_rules import WRITING_TOOLS, is_exact, spelled_out
from agent_tui.model.events import UNDONE, ToolAsk, TurnNoted
from agent_tui.model.inert import inert_line, visible, visible_line
from agent_tui.model.tool_forms import ToolForm
from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import StepState
from agent_tui.state.turn import Turn
from tui.live import signs
from tui.live import texts as live_texts
from tui.live.texts import (
    Hint,
    Status,
    choosing_hints,
    link_status,
    rate_limited,
    told_apart,
    tools_at_work,
    under_way,
)
from tui.screens.words import count, say
from widgets.signs import twin
from widgets.transcript.step_body import MORE, escaped, fenced, step_body
from widgets.transcript.step_body import step_head as head_of
from widgets.units import duration, size

MAX_TITLE_CHARACTERS: Final = 200
MAX_DETAIL_CHARACTERS: Final = 200
MAX_NAME_CHARACTERS: Final = 60
MAX_RULE_CHARACTERS: Final = 2_000
HEAD_CHARACTERS: Final = 400  # of a thought: its first words are in the head row, no more is looked at
OPENS: Final = "chat.open_step"  # the action that opens all of a body
WRITING: Final = ""  # the status of a call whose arguments still come
TYPED: Final = ("@", "/")  # in the line


@dataclass(frozen=True, slots=True)
class Shown:
    """What the screen itself knows, for the lines above and below."""

    is_writing: bool = True  # the line has the focus
    is_choosing: bool = False  # what may be written is listed
    is_asking: bool = False  # the bar that asks has it
    is_finding: bool = False
    is_following: bool = True
    has_selection: bool = False
    is_editing: bool = False
    is_sending: bool = False
    is_stopping: bool = False
    has_text: bool = False
    queued: int = 0
    is_held: bool = False
    on_question: bool = False
    has_versions: bool = False
    can: frozenset[str] = frozenset()  # of again, continue: what was not answered to its end


# --- the line above ----------------------------------------------------------------------------------------


def title(state: ConversationState) -> str:
    """Return what the chat is called, in one harmless line."""
    return inert_line(state.conversation.title, MAX_TITLE_CHARACTERS) or say("chat.untitled")


def provider(state: ConversationState) -> str:
    """Return the provider's name, where one is chosen."""
    return inert_line(state.conversation.provider_id, MAX_NAME_CHARACTERS)


def model(state: ConversationState) -> str:
    """Return the model's name: the chosen one, else the one that spoke last."""
    named = state.conversation.model
    if not named:
        named = next((turn.sender_name for turn in reversed(state.turns.values()) if turn.sender_name), "")
    return inert_line(named, MAX_NAME_CHARACTERS) or say("chat.model.default")


def status(state: ConversationState, shown: Shown, seconds_left: int = 0) -> Status:
    """Return the one text that says what is going on, with its sign."""
    if link := link_status(state.link, seconds_left):
        return Status(link)
    turn = state.open_turn
    if shown.is_stopping and turn is not None:
        return Status(f"{signs.WAITING} {say('chat.stopping')}", "stop")
    if state.asking:
        return Status(f"{signs.PAUSED} {say('chat.asks')}")
    if turn is not None:
        return _doing(turn)
    if shown.is_sending or state.conversation.status == "running":
        return Status(f"{signs.WAITING} {say('chat.sending')}", "send")
    if state.run_error:
        detail = inert_line(state.run_error, MAX_DETAIL_CHARACTERS)
        return Status(f"{signs.FAILED} {say('chat.failed', detail=detail)}")
    if state.conversation.archived:
        return Status(f"{signs.DONE} {say('chat.archived')}")
    return Status(f"{signs.DONE} {say('chat.ready')}" if state.loaded else "")


def _doing(turn: Turn) -> Status:
    if waits := rate_limited(turn.waits):
        return Status(waits)
    newest = next(reversed(turn.steps.all.values()), None)
    if turn.waits_for:
        told = say("chat.servers", servers=inert_line(turn.waits_for, MAX_NAME_CHARACTERS))
        return Status(f"{signs.WAITING} {told}", f"servers {turn.id}")
    if turn.summarises:
        told = say("chat.summarising", count=count(turn.summarises))
        return Status(f"{signs.WAITING} {told}", f"summary {turn.id}")
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


def hints(state: ConversationState, shown: Shown) -> list[Hint]:
    """Return which keys make sense now, the most useful first."""
    found: list[Hint] = []
    if shown.is_choosing:
        return choosing_hints()
    if shown.is_editing:
        found.append(Hint("esc", say("hint.back"), 0))
    elif shown.has_selection:
        found.append(Hint("y", say("hint.copy"), 0))
    elif shown.is_finding:
        found += [Hint("n", say("hint.next"), 0), Hint("esc", say("hint.close"), 1)]
    elif state.open_turn is not None:
        found.append(Hint("esc", say("hint.stop"), 0))
    if shown.is_asking:
        return [*found, Hint("tab", say("hint.read"), 2)]
    unfinished = [
        Hint(key if shown.is_writing else letter, say(text), 0)
        for act, letter, key, text in (
            ("continue", "c", "f8", "hint.continue"),
            ("again", "r", "f7", "hint.again"),
        )
        if act in shown.can
    ]
    if shown.is_writing:
        return [*found, *unfinished, *_writing_hints(shown)]
    found += unfinished
    if not shown.is_following:
        found.append(Hint("end", say("hint.newest"), 1))
    if shown.on_question:
        found.append(Hint("e", say("hint.edit"), 3))
    if shown.has_versions:
        found.append(Hint("[", say("hint.versions"), 3))
    found += [
        Hint("space", say("hint.fold"), 4),
        Hint("F", say("hint.fold_all"), 6),
        Hint("o", say("hint.open_all"), 6),
        *([] if "again" in shown.can else [Hint("r", say("hint.again"), 7)]),
        Hint("y", say("hint.copy"), 7),
        Hint("i", say("hint.write"), 2),
        Hint("?", say("hint.help"), 2),
    ]
    return found


def _writing_hints(shown: Shown) -> list[Hint]:
    found = []
    if shown.queued and shown.is_held and not shown.has_text:
        found.append(Hint("enter", say("hint.send_queued"), 1))
    return [
        *found,
        Hint("@", say("hint.file"), 3),
        Hint("/", say("hint.command"), 3),
        Hint("ctrl+l", say("hint.model"), 5),
        Hint("ctrl+e", say("hint.editor"), 6),
        Hint("ctrl+r", say("hint.history"), 6),
        Hint("tab", say("hint.read"), 2),
    ]


def used(state: ConversationState) -> str:
    """Return what was used, see ``live_texts.used``; "" before anything was."""
    return live_texts.used(state) if state.ledger.tokens or state.conversation.max_tokens else ""


def workspace(state: ConversationState) -> str:
    """Return which folder the tools work in, short."""
    folder = state.conversation.workspace
    if not folder:
        return ""
    home = str(Path.home())
    if home != "/" and (folder == home or folder.startswith(f"{home}/")):
        folder = f"~{folder[len(home) :]}"
    return say("chat.workspace", folder=inert_line(folder, MAX_NAME_CHARACTERS))


def told_beside(noted: TurnNoted) -> str:
    """Return what an agent of others tells that belongs to no answer; "" for all else."""
    about = inert_line(noted.about, MAX_DETAIL_CHARACTERS)
    match noted.note:
        case "agent_left":
            return say("chat.agent.left", reason=about)
        case "orphan":
            return say("chat.agent.orphan", text=about)
        case "not_cancelled":
            return say("chat.agent.not_cancelled", reason=about)
        case _:
            return ""


# --- turns -------------------------------------------------------------------------------------------------


def turn_title(turn: Turn, model: str = "") -> str:
    """Return what stands over a turn; behind a tab what stands at its right. ``model`` is who speaks where
    nobody says so.
    """
    if turn.role == "user":
        name = say("room.you")
    else:
        name = inert_line(turn.sender_name or model, MAX_NAME_CHARACTERS) or say("chat.model.default")
    if len(turn.versions) > 1 and turn.id in turn.versions:
        number = turn.versions.index(turn.id) + 1
        name = say("chat.version", name=name, number=number, count=len(turn.versions))
    name = " · ".join([name, *told_apart(turn)])
    if turn.role == "user" or turn.status == "speaking":
        return name
    parts = [duration(turn.seconds)] if turn.seconds is not None else []
    if turn.tokens:
        parts.append(say("chat.tok", count=count(turn.tokens)))
    return f"{name}\t{' · '.join(parts)}" if parts else name


# --- steps -------------------------------------------------------------------------------------------------


def is_written(step: StepState) -> bool:
    """Whether it is a call whose arguments still come."""
    return step.type == "tool_call" and step.status == WRITING and step.result is None


def is_folded(step: StepState) -> bool:
    """Say whether a tool's step is folded by itself: once it is over, and not because it failed."""
    if step.type == "tool_call":
        return step.status in ("cut", UNDONE) or (
            step.status == "done" and (step.result is None or step.result.success)
        )
    return step.type != "tool_result" or step.success


def step_head(step: StepState) -> tuple[str, str, str]:
    """Return title, summary and sign of a step's row."""
    if is_written(step) and step.arguments.length > 2 * HEAD_CHARACTERS:
        begun = step.arguments.slice(0, 2 * HEAD_CHARACTERS)
        title, _ = head_of("tool_call", name=step.name, arguments=begun)
        return title, say("step.writing", size=size(step.arguments.length)), signs.THINKING
    if step.type == "summary":
        number = int(step.name) if step.name.isdecimal() else 0
        about = say("step.summary.size", count=count(step.content.length // 4))
        return say("step.summary", count=count(number)), about, ""
    result = step.result
    is_thought = step.type in ("thinking", "sub_agent")
    title, summary = head_of(
        step.type,
        name=step.name,
        arguments=step.arguments.text,
        content=step.content.slice(0, HEAD_CHARACTERS) if is_thought else step.content.text,
        result=result.content.text if result is not None else None,
        success=result.success if result is not None else step.success,
        seconds=step.seconds if step.seconds is not None or result is None else result.seconds,
    )
    if step.type != "tool_call":
        return title, summary, "" if step.type != "tool_result" else _outcome_sign(step.success)
    match step.status:
        case "asks":
            is_form = step.ask is not None and step.ask.form is not None
            return title, say("step.asks.form" if is_form else "step.asks"), signs.PAUSED
        case "running":
            far = inert_line(step.progress, MAX_NAME_CHARACTERS)
            return title, " · ".join(filter(None, (say("step.running"), far))), signs.SPEAKING
        case "denied" if result is None:
            return title, say("step.denied"), signs.FAILED
        case "unknown" if result is None:
            return title, say("step.no_result"), signs.CUT
        case "unknown":
            return title, say("step.unknown"), signs.FAILED
        case "cut":
            return title, say("step.cut"), signs.CUT
        case status if status == UNDONE:
            return title, say("step.undone"), signs.CUT
        case "" if result is None:
            return title, summary, signs.THINKING
        case _:
            return title, summary, _outcome_sign(result is None or result.success)


def _outcome_sign(success: bool) -> str:
    return signs.DONE if success else signs.FAILED


def step_body_of(
    step: StepState,
    key: Callable[[str], str] | None = None,
    *,
    shows_all: bool = False,
    ascii_only: bool = False,
) -> str:
    """Return the body of a step as Markdown; of a call that asks with the keys that answer, of a long one
    with the key that opens all. ``key`` names them by the ids of their actions.
    """
    if step.type == "tool_call" and step.status == "asks" and step.ask is not None:
        return asking_body(step.ask, key, shows_all=shows_all, ascii_only=ascii_only)
    return step_body(
        step.type,
        arguments=step.arguments.text,
        content=step.content.text,
        result=step.result.content.text if step.result is not None else None,
        limit=None if shows_all else limit_of(key, ascii_only=ascii_only),
    )


def limit_of(key: Callable[[str], str] | None, *, ascii_only: bool) -> str:
    """Return what is said where a body ends early, with the key that opens all, where there is one."""
    opens = key(OPENS) if key is not None else ""
    text = say("step.more.opens", press=escaped(opens), more="{more}") if opens else MORE
    return twin(text) if ascii_only else text


def asking_body(
    ask: ToolAsk,
    key: Callable[[str], str] | None = None,
    *,
    shows_all: bool = False,
    ascii_only: bool = False,
) -> str:
    """Return exactly what a tool would do, nothing in it hidden, and which keys answer if ``key`` is given,
    as Markdown.
    """
    limit = None if shows_all else limit_of(None, ascii_only=ascii_only)
    if ask.form is not None:
        return _form_body(ask, ask.form, key, limit, ascii_only=ascii_only)
    call, preview = visible(ask.call), visible(ask.preview)
    pieces = [say("ask.allow"), fenced(call, limit=limit)]
    if preview.strip() and not call.strip().endswith(preview.strip()):
        pieces.append(fenced(preview, "diff" if ask.preview_type == "diff" else "", limit=limit))
    is_file = ask.pattern.partition("(")[0] in WRITING_TOOLS
    if ask.pattern and (is_file or not is_exact(ask.pattern, ask.folder)):
        rule, reach = kept_rule(ask)
        pieces.append(escaped(say("ask.rule", rule=rule, reach=reach)))
    if ask.suspended:
        pieces.append(escaped(say("ask.suspended", pattern=visible_line(ask.suspended))))
    if key is not None:
        pieces.append(_asking_keys(ask, key, ascii_only=ascii_only))
    return "\n\n".join(pieces)


def _form_body(
    ask: ToolAsk, form: ToolForm, key: Callable[[str], str] | None, limit: str | None, *, ascii_only: bool
) -> str:
    """Return who asks for what, which of it is needed, and the keys."""
    server = visible_line(form.server, MAX_NAME_CHARACTERS)
    pieces = [escaped(say("ask.form", server=server, amount=form.amount))]
    named = [f"- {visible_line(one.label, 120)}{' *' if one.required else ''}" for one in form.fields]
    pieces.append(fenced("\n".join([visible(form.message), *named]), limit=limit))
    if form.asks_for_secret:
        pieces.append(escaped(say("ask.form.secret")))
    if key is not None:
        pieces.append(_asking_keys(ask, key, ascii_only=ascii_only))
    return "\n\n".join(pieces)


def kept_rule(ask: ToolAsk) -> tuple[str, str]:
    """Return the rule that "conversation" and "always" keep, and how far it goes, each in a line."""
    if not is_exact(ask.pattern, ask.folder):
        return visible_line(ask.pattern, MAX_RULE_CHARACTERS), say("ask.keep.wide")
    pattern = visible_line(spelled_out(ask.pattern), MAX_RULE_CHARACTERS)
    if ask.pattern.partition("(")[0] in WRITING_TOOLS:
        return pattern, say("ask.keep.file", folder=visible_line(ask.folder))
    if ask.folder:
        return pattern, say("ask.keep.folder", folder=visible_line(ask.folder))
    return pattern, say("ask.keep.exact")


def _asking_keys(ask: ToolAsk, key: Callable[[str], str], *, ascii_only: bool) -> str:
    own: Callable[[str], str] = twin if ascii_only else str
    offers = answers(ask) | ({} if ask.form is not None else {"whole": say("ask.whole")})
    keys = {act: key(f"ask.{act}") for act in offers}
    return own(" · ").join(
        f"**{escaped(keys[act])}** {own(text)}" for act, text in offers.items() if keys[act]
    )


def answers(ask: ToolAsk) -> dict[str, str]:
    """Return what may be decided, by the last part of the id of its key; no rule where none can be kept."""
    if ask.form is not None:
        return {"once": say("ask.fill_in"), "deny": say("ask.decline")}
    kept = ("conversation", "always") if ask.pattern else ()
    return {act: say(f"ask.{act}") for act in ("once", *kept, "deny")}
