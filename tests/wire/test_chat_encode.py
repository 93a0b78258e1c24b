"""Chats outwards: exactly the fields of the protocol, and what our own client reads back."""

from __future__ import annotations

import json

import pytest

from agent_tui.model import events as ev
from agent_tui.wire.chat import ChatDecoder
from agent_tui.wire.chat_encode import (
    answer_content,
    conversation_fields,
    encode,
    question_content,
    step_fields,
    stored_message_fields,
)
from agent_tui.wire.content import dump

TEXT = ev.Step("step-0", 0, "text", "Hello.")
CALL = ev.Step("step-1", 1, "tool_call", name="look", arguments='{"a": 1}', id_ref="c1")
RESULT = ev.Step("step-2", 2, "tool_result", "no", name="look", id_ref="step-1", success=False)
ASK = ev.ToolAsk("rm x", "- x", "diff", "run_command(rm x)")
USAGE = ev.Usage(3, 4, 0.5, 0.25)


@pytest.mark.parametrize(
    "event",
    [
        ev.StepSet("t", TEXT),
        ev.StepSet("t", ev.Step("step-0", 0, "thinking", "Hm")),
        ev.StepSet("t", CALL),
        ev.StepSet("t", RESULT),
        ev.StepAdded("t", "step-0", content=" More"),
        ev.StepAdded("t", "step-1", arguments='{"'),
        ev.ToolStatusChanged("t", "step-1", "asks", ask=ASK),
        ev.ToolStatusChanged("t", "step-1", "done", 1.5),
        ev.TurnStarted("t", "", "assistant", "big", "", 0, attempt=2, parent_id="q"),
        ev.TurnEnded("t", "", 7, interrupted="stop", usage=USAGE, seconds=2.5),
        ev.TurnEnded("t", "", 7, error="API Error: no", seconds=2.5),
        ev.RunFailed("Stopped"),
        ev.ConversationChanged(ev.ConversationInfo("c", "T", enabled_tools=("look",), head="t", cost=0.5)),
        ev.ConversationChanged(ev.ConversationInfo("c", temperature=0.2, thinking_enabled=True)),
        ev.ConversationChanged(ev.ConversationInfo("c", on_resume="again")),
    ],
)
def test_what_goes_out_is_read_back_as_what_it_was(event: ev.Event) -> None:
    name, data = encode(event)
    assert ChatDecoder("t").decode(name, dump(data)) == event


def test_a_chat_that_continues_when_resumed_is_told_of_as_before_there_was_a_choice() -> None:
    usual = ev.ConversationInfo("c")
    assert "on_resume" not in encode(ev.ConversationChanged(usual))[1]
    assert conversation_fields(usual)["on_resume"] == "continue"


def test_steps_have_exactly_the_fields_of_the_protocol() -> None:
    assert step_fields(TEXT) == {"id": "step-0", "index": 0, "type": "text", "content": "Hello."}
    call = {"id": "step-1", "index": 1, "type": "tool_call", "id_ref": "c1", "name": "look"}
    assert step_fields(CALL) == {**call, "arguments": '{"a": 1}'}
    result = {"id": "step-2", "index": 2, "type": "tool_result", "id_ref": "step-1", "name": "look"}
    assert step_fields(RESULT) == {**result, "content": "no", "success": False}


def test_done_adds_the_tokens_up() -> None:
    name, data = encode(ev.TurnDone("t", "t", 2, USAGE))
    counts = {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    assert (name, data) == ("done", {"message_id": "t", "token_count": 2, "usage": counts})
    assert encode(ev.TurnDone("t", "t"))[1]["usage"]["total_tokens"] == 0


def test_a_stored_answer_says_how_its_calls_stand_and_is_read_back() -> None:
    asking = ev.Step("step-1", 1, "tool_call", name="look", id_ref="c1", status="asks", ask=ASK)
    steps = (TEXT, asking)
    message = ev.Message(
        id="t",
        room_id="c",
        role="assistant",
        content=answer_content("Hello.", steps),
        text="Hello.",
        sender_name="big",
        sender_color="",
        round_number=0,
        token_count=1,
        created_at="now",
        status="streaming",
        usage=USAGE,
        steps=steps,
        parent_id="q",
        versions=("s", "t"),
        seconds=1.5,
    )
    fields = stored_message_fields(message)
    assert fields["calls"]["step-1"]["ask"]["pattern"] == "run_command(rm x)"
    assert json.loads(fields["content"])["tool_calls"] == [{"id": "c1", "name": "look", "arguments": ""}]
    assert ChatDecoder("t").decode("message", dump(fields)) == ev.MessageStored(message)


def test_a_stored_question_has_its_files_and_is_read_back() -> None:
    files = (ev.Attachment("a.txt", "words"),)
    content = question_content("Look", files)
    message = ev.Message("q", "c", "user", content, "Look", "", "", 0, 1, "now", attachments=files)
    assert json.loads(content) == {
        "text": "Look",
        "attachments": [{"name": "a.txt", "type": "text/plain", "content": "words"}],
    }
    assert ChatDecoder("t").decode("message", dump(stored_message_fields(message))) == ev.MessageStored(
        message
    )


def test_a_conversation_has_the_names_of_its_record() -> None:
    info = ev.ConversationInfo("c", enabled_tools=("a", "b"))
    fields = conversation_fields(info)
    assert fields["enabled_tools"] == ["a", "b"]
    assert {*fields, "unpriced"} == set(ev.ConversationInfo.__dataclass_fields__)  # only if there are any


def test_what_is_of_rooms_does_not_travel_here() -> None:
    with pytest.raises(ValueError, match="not of a chat"):
        encode(ev.RoundEnded(1))
