"""Events of chats, shortly."""

from __future__ import annotations

from typing import Any

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState


def started(turn_id: str = "a1", parent_id: str = "") -> ev.TurnStarted:
    return ev.TurnStarted(turn_id, "", "assistant", "demo", "", 0, parent_id=parent_id)


def words(text: str, step_id: str = "step-0", turn_id: str = "a1", kind: str = "text") -> ev.StepSet:
    return ev.StepSet(turn_id, ev.Step(step_id, type=kind, content=text))


def call(step_id: str = "step-1", arguments: str = "{}", turn_id: str = "a1", **fields: Any) -> ev.StepSet:
    step = ev.Step(step_id, type="tool_call", name="look", arguments=arguments, **fields)
    return ev.StepSet(turn_id, step)


def result(of: str, step_id: str = "step-2", turn_id: str = "a1", **fields: Any) -> ev.StepSet:
    return ev.StepSet(turn_id, ev.Step(step_id, type="tool_result", id_ref=of, content="found", **fields))


def status(word: str, step_id: str = "step-1", **fields: Any) -> ev.ToolStatusChanged:
    return ev.ToolStatusChanged("a1", step_id, word, **fields)


def message(id_: str, text: str = "", role: str = "user", **fields: Any) -> ev.Message:
    steps = (ev.Step("step-0", content=text),) if text and role != "user" else ()
    common: dict[str, Any] = {"sender_name": "", "sender_color": "", "round_number": 0, "token_count": 0}
    return ev.Message(id_, "c", role, text, text, created_at="t", **common, **{"steps": steps, **fields})


def loaded(*messages: ev.Message, **fields: Any) -> ev.ConversationLoaded:
    return ev.ConversationLoaded(ev.ConversationInfo("c", **fields), messages)


def after(*events: ev.Event) -> ConversationState:
    state = ConversationState()
    for event in events:
        state.apply(event)
    return state


def kinds(state: ConversationState, turn_id: str = "a1") -> list[tuple[str, str]]:
    steps = state.turns[turn_id].steps.all.values()
    return [(step.type, step.content.text or step.arguments.text) for step in steps]
