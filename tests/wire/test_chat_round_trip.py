"""What our backend writes, our client reads: each event comes back as it was."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agent_tui.model import events as ev
from agent_tui.wire.chat import ChatDecoder, decode_conversation, decode_messages
from agent_tui.wire.chat_encode import (
    answer_content,
    conversation_fields,
    encode,
    question_content,
    stored_message_fields,
)

ASK = ev.ToolAsk("run_command(make)", "-a\n+b", "diff", "run_command(make *)")
CALL = ev.Step("step-1", 1, "tool_call", name="look", arguments='{"a":"一"}', id_ref="call_1")
RESULT = ev.Step("step-2", 2, "tool_result", '{"success":false}', "look", id_ref="step-1", success=False)
USAGE = ev.Usage(10, 20, 0.5, 0.25)
CONVERSATION = ev.ConversationInfo(
    "c1", "Make", enabled_tools=("look",), temperature=0.2, head="m2", max_cost=1.5, cost=0.1, tokens=7
)


def message(role: str, content: str, **fields: object) -> ev.Message:
    about = {"sender_name": "demo" if role == "assistant" else "", "sender_color": "", "round_number": 0}
    told = {"token_count": 3, "created_at": "2026-03-01", "parent_id": "m0", **about, **fields}
    return ev.Message("m1", "c1", role, content, **told)  # type: ignore[arg-type]


QUESTION = message(
    "user",
    question_content("Hi\n一", [ev.Attachment("a.md", "# A", "text/markdown")]),
    text="Hi\n一",
    attachments=(ev.Attachment("a.md", "# A", "text/markdown"),),
)
NOTES = (ev.Note("no_tools"), ev.Note("server_missing", "slow: it ended"))
STEPS = (ev.Step("step-0", content="One"), CALL, RESULT, ev.Step("step-3", 3, content="Two"))


@pytest.mark.parametrize(
    "event",
    [
        ev.MessageStored(QUESTION),
        ev.TurnNoted("m1", "trimmed", 12),
        ev.TurnNoted("m1", "server_missing", about="slow: it ended"),
        ev.TurnStarted("m1", "", "assistant", "demo", "", 0, attempt=2, parent_id="m0"),
        ev.StepSet("m1", STEPS[0]),
        ev.StepSet("m1", CALL),
        ev.StepSet("m1", RESULT),
        ev.StepAdded("m1", "step-0", "more"),
        ev.StepAdded("m1", "step-1", "", '{"a'),
        ev.ToolStatusChanged("m1", "step-1", "asks", ask=ASK),
        ev.ToolStatusChanged("m1", "step-1", "running", progress="2 of 5: reading"),
        ev.ToolStatusChanged("m1", "step-1", "done", 0.25),
        ev.TurnEnded("m1", "", 5, interrupted="stop", usage=USAGE, seconds=1.5),
        ev.TurnEnded("m1", "", 5, error="API Error: 500"),
        ev.TurnDone("m1", "m1", 5, ev.Usage(10, 20)),
        ev.RunFailed("Stopped"),
        ev.ConversationChanged(CONVERSATION),
    ],
    ids=lambda event: type(event).__name__,
)
def test_every_event_comes_back_as_it_was(event: ev.Event) -> None:
    name, data = encode(event)
    assert ChatDecoder("m1").decode(name, json.dumps(data, ensure_ascii=False)) == event


@pytest.mark.parametrize("ended", [{"interrupted": "stop"}, {"error": "API Error"}, {"status": "streaming"}])
def test_a_stored_answer_comes_back_as_it_was(ended: dict[str, str]) -> None:
    steps = (STEPS[0], replace(CALL, status="asks", ask=ASK), *STEPS[2:])
    answer = message(
        "assistant",
        answer_content("One\n\nTwo", steps),
        text="One\n\nTwo",
        steps=steps,
        usage=USAGE,
        seconds=2.5,
        versions=("m1", "m9"),
        trimmed=4,
        notes=NOTES,
        **ended,
    )
    (read,) = decode_messages({"messages": [stored_message_fields(answer)]})
    assert read == answer


def test_a_conversation_comes_back_as_it_was() -> None:
    assert decode_conversation(json.loads(json.dumps(conversation_fields(CONVERSATION)))) == CONVERSATION
