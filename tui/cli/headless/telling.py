"""How a room or an answer is shown without a screen: what stderr says about its tools, and which may run."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from agent_tui.clients.agents.chats import AgentChats
from agent_tui.clients.chat import ChatClient
from agent_tui.config.tool_rules import PATH_TOOLS, allows, is_pattern, spelled_out
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, Refused
from agent_tui.model.inert import inert_line, visible_line
from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import StepState
from agent_tui.state.turn import Turn
from agent_tui.wire.chat_encode import answer_content, question_content
from agent_tui.wire.content import content_text
from tui.cli import output
from tui.cli.commands.asking import note_line, step_line
from tui.cli.headless.ask_input import AskInput
from tui.cli.headless.formats import Format, Frame, as_told
from tui.cli.output import MAX_LINE_CHARACTERS
from tui.live.texts import asked_call
from tui.screens.localised import localised
from tui.screens.words import say

MAX_ERROR_CHARACTERS: Final = 500
# Notes that many turns have: each is told once.
SAID_ONCE: Final = ("servers_wait", "server_missing", "no_tools", "no_images")
NOT_ALLOWED: Final = "this was asked without a screen, where nobody can be asked; nothing allows it"


@dataclass(slots=True)
class Telling:
    """Takes events into ``state`` and writes them: what agents say by ``form``, everything else to stderr.

    Each call has a line when it begins to run, and another one if it failed.
    """

    form: Format
    state: ConversationState = field(default_factory=ConversationState)
    said: set[tuple[str, str, str]] = field(default_factory=set)  # (turn id, step id, what) of calls
    notes_told: set[str] = field(default_factory=set)  # lines that are said once
    tells_status: bool = False  # a server of ours says when a call begins to run

    def take(self, event: ev.Event, frame: Frame | None = None) -> None:
        """Take an event, and the frame in which it came first."""
        self.state.apply(self._as_streamed(event))
        if frame is not None:
            self.form.frame(*frame)
        for turn_id in self.state.changed:
            if (turn := self.state.turns.get(turn_id)) is not None and turn.role != "user":
                self.tells_status = self.tells_status or isinstance(event, ev.TurnStarted)
                changed = (turn.steps.all[step_id] for step_id in turn.steps.changed)
                steps = sorted(changed, key=lambda step: step.place)
                self.form.said(turn, steps)
                for step in steps:
                    if step.type == "tool_call":
                        self._tell_call(turn_id, step, event)
                turn.steps.changed.clear()
        self.state.changed.clear()
        if isinstance(event, ev.TurnNoted):
            self._tell_note(event)
        if isinstance(event, ev.StepSet) and (line := step_line(event.step, self.speaker(event.turn_id))):
            self.notice(line)

    def speaker(self, turn_id: str) -> str:
        """Return who speaks in a turn of a room."""
        turn = self.state.turn_of(turn_id)
        return inert_line(turn.sender_name) if turn is not None and self.state.is_room else ""

    def _as_streamed(self, event: ev.Event) -> ev.Event:
        """Return an event that leaves words that look like JSON as they came: its end takes them apart."""
        turn = self.state.turn_of(event.turn_id) if isinstance(event, ev.TurnEnded) else None
        if isinstance(event, ev.TurnEnded) and turn is not None and content_text(turn.text) == event.text:
            return replace(event, text="")
        return event

    def _tell_note(self, event: ev.TurnNoted) -> None:
        line = note_line(event)
        if line and not (event.note in SAID_ONCE and line in self.notes_told):
            self.notes_told.add(line)
            self.notice(line)

    def _tell_call(self, turn_id: str, step: StepState, event: ev.Event) -> None:
        if self._runs(step, event) and self._is_new(turn_id, step.id, "runs"):
            self.notice(_call_line(step))
        result = step.result
        if result is not None and not result.success and self._is_new(turn_id, step.id, "failed"):
            self.notice(f"{_call_line(step)}{say('between.detail')}{_failure(result)}")

    def _runs(self, step: StepState, event: ev.Event) -> bool:
        if not self.tells_status:
            return True  # others send a call once, when it begins
        if step.status == "running":
            return isinstance(event, ev.ToolStatusChanged)
        return step.status in ("done", "failed")

    def _is_new(self, turn_id: str, step_id: str, what: str) -> bool:
        before = len(self.said)
        self.said.add((turn_id, step_id, what))
        return len(self.said) > before

    def notice(self, text: str) -> None:
        """Write one line to stderr."""
        self.form.aside()
        output.notice(text)


async def decide(
    client: ChatClient | AgentChats,
    conversation_id: str,
    allow: Sequence[str],
    telling: Telling,
    asks: ev.ToolStatusChanged,
) -> None:
    """Let a call that asks run if ``allow`` names it; deny every other one, and say how it could run."""
    step, ask = telling.state.step(asks.turn_id, asks.step_id), asks.ask
    if step is None or ask is None or asks.status != "asks":
        return
    decision, why = "once", ""
    if ask.form is not None:
        telling.notice(declined(ask))
        decision, why = refusal(ask)
    elif not _is_allowed(step, ask, allow):
        telling.said |= {(asks.turn_id, asks.step_id, what) for what in ("runs", "failed")}
        telling.notice(_not_allowed(step.name, ask))
        decision, why = refusal(ask)
    try:
        await client.answer(conversation_id, asks.turn_id, asks.step_id, decision, reason=why)
    except Refused:
        pass  # another client has answered, or it no longer asks
    except AgentTuiError as error:
        telling.notice(localised(f"the answer to {step.name} was not taken: {error}"))


def refusal(ask: ev.ToolAsk) -> tuple[str, str]:
    """Return the decision, and its reason, where nobody can be asked: a form is declined, a call denied."""
    return ("decline", "") if ask.form is not None else ("deny", NOT_ALLOWED)


def declined(ask: ev.ToolAsk) -> str:
    """Return the line about a form that nobody can be asked to fill in."""
    call = asked_call(ask)
    return localised(f"{call}: declined, nobody can be asked without a screen")


def _is_allowed(step: StepState, ask: ev.ToolAsk, patterns: Sequence[str]) -> bool:
    """Return whether one of ``patterns`` covers a call; none covers arguments that are not a JSON object. A
    file has to be covered both as it is named and as it was found: its name may be a link.
    """
    try:
        arguments = json.loads(step.arguments.text or "{}")
    except (ValueError, RecursionError):
        return False
    if not isinstance(arguments, dict):
        return False
    spellings = [arguments]
    if step.name in PATH_TOOLS and not str(arguments.get("path")).startswith("/"):
        spellings.append({**arguments, "path": spelled_out(ask.pattern).removeprefix(f"{step.name}(")[:-1]})
    return any(all(allows(pattern, step.name, spelling) for spelling in spellings) for pattern in patterns)


def _not_allowed(tool: str, ask: ev.ToolAsk) -> str:
    """Return what is said about a call that nothing allows: how it could run, if all of that can be shown."""
    call = visible_line(ask.call) or tool
    option = f"--allow {shlex.quote(ask.pattern if is_pattern(ask.pattern) else tool)}"
    whole = say("ask.not_allowed.option", call=call, option=option)
    is_seen = inert_line(option) == option and len(whole) <= MAX_LINE_CHARACTERS
    return whole if is_seen else say("ask.not_allowed", call=call)


def _call_line(step: StepState) -> str:
    from widgets.transcript.step_body import step_head  # lazy: only answers that call tools need it

    return step_head("tool_call", name=step.name, arguments=step.arguments.text)[0]


def _failure(result: StepState) -> str:
    from widgets.transcript.step_body import failure  # as in _call_line

    return failure(result.content.text, MAX_LINE_CHARACTERS)


def streamed(asked: AskInput, state: ConversationState) -> list[object]:
    """Return question and answer as they would be stored."""
    question = {"role": "user", "content": question_content(asked.content, asked.attachments)}
    answers = (turn for turn in state.turns.values() if turn.role != "user")
    return [question, *({"role": "assistant", "content": _content(turn)} for turn in answers)]


def _content(turn: Turn) -> str:
    return answer_content(turn.text, [as_told(step) for step in turn.steps.all.values()])
