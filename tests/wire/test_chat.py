from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import events as ev
from agent_tui.wire.chat import (
    ChatDecoder,
    decode_conversation,
    decode_conversations,
    decode_messages,
)
from agent_tui.wire.content import encodable
from agent_tui.wire.fields import ADVICE, NO_REASON


def step(**fields: Any) -> str:
    return json.dumps({"step": {"id": "step-0", "index": 0, "type": "text", **fields}}, ensure_ascii=False)


def decoded(*frames: tuple[str, str], turn_id: str = "a1") -> list[ev.Event]:
    decoder = ChatDecoder(turn_id)
    return [decoder.decode(name, data) for name, data in frames]


def told(*events: ev.Event) -> str:
    """Return the content of the only step as events tell it."""
    content = ""
    for event in events:
        if isinstance(event, ev.StepSet):
            content = event.step.content
        elif isinstance(event, ev.StepAdded):
            content += event.content
    return content


# --- the plain form ---------------------------------------------------------------------------------------


def test_a_snapshot_that_goes_on_becomes_what_is_new() -> None:
    first, second = decoded(
        ("process_step", step(content="It ")), ("process_step", step(content='It "has" 一\n'))
    )
    assert first == ev.StepSet("a1", ev.Step("step-0", content="It "))
    assert second == ev.StepAdded("a1", "step-0", '"has" 一\n')


@pytest.mark.parametrize("ascii_only", [True, False])
@given(pieces=st.lists(st.text(st.characters(exclude_categories=[]), max_size=6), max_size=8))
def test_snapshots_tell_the_same_text_however_they_are_written(ascii_only: bool, pieces: list[str]) -> None:
    decoder, whole = ChatDecoder("a1"), ""
    events: list[ev.Event] = []
    for piece in pieces:
        whole += piece
        value = {"step": {"id": "step-0", "index": 0, "type": "text", "content": whole}}
        data = encodable(json.dumps(value, ensure_ascii=ascii_only))  # as it comes out of UTF-8
        events.append(decoder.decode("process_step", data))
        if isinstance(events[-1], ev.StepSet):
            del events[:-1]
        whole_told = told(*events)
        # Halves of pairs that meet in JSON are one character; those that stay alone cannot be encoded.
        assert whole_told == encodable(json.loads(data)["step"]["content"])


@pytest.mark.parametrize("later", ["Its", "", "So it is: 二", "It"])
def test_content_that_shrinks_or_changes_its_beginning_is_read_whole(later: str) -> None:
    _, event = decoded(("process_step", step(content="It has")), ("process_step", step(content=later)))
    assert event == ev.StepSet("a1", ev.Step("step-0", content=later))


def test_a_snapshot_of_another_step_is_never_taken_for_more_of_this_one() -> None:
    events = decoded(
        ("process_step", step(content="It")),
        ("process_step", step(id="step-1", content="It goes on")),
        ("process_step", step(id="step-1", content="It goes on.")),
        ("process_step", step(content="It stays")),
    )
    assert [type(event).__name__ for event in events] == ["StepSet", "StepSet", "StepAdded", "StepSet"]
    assert events[2] == ev.StepAdded("a1", "step-1", ".")


@pytest.mark.parametrize(
    ("first", "second", "content"),
    [
        # The last string of the frame is not the content: what follows it is not content either.
        (
            '{"step":{"id":"s","content":"hi","type":"text"}}',
            '{"step":{"id":"s","content":"hi","type":"textual"}}',
            "hi",
        ),
        # What looks like more of the content ends it.
        (
            '{"step":{"id":"s","type":"text","content":"hi"}}',
            '{"step":{"id":"s","type":"text","content":"hi","content":"no"}}',
            "no",
        ),
        (
            '{"step":{"id":"s","type":"text","content":"hi"}}',
            '{"step":{"id":"s","type":"text","content":"hi\\ud83d"}}',
            "hi\ufffd",
        ),
        (
            '{"step":{"id":"s","type":"text","content":"hi\\ud83d"}}',
            '{"step":{"id":"s","type":"text","content":"hi\\ud83d\\ude00"}}',
            "hi😀",
        ),
        ('{"step":{"id":"s","type":"text","content":""}}', '{"step":{"id":"s","content":"x"} }', "x"),
    ],
)
def test_a_frame_that_only_seems_to_go_on_is_read_whole(first: str, second: str, content: str) -> None:
    assert told(*decoded(("process_step", first), ("process_step", second))) == content


def test_a_call_and_its_result_come_with_all_their_fields() -> None:
    call = {"id": "step-1", "index": 0, "type": "tool_call", "id_ref": "call_9", "name": "read_file"}
    result = {"id": "step-2", "index": 1, "type": "tool_result", "id_ref": "step-1", "name": "read_file"}
    events = decoded(
        ("process_step", json.dumps({"step": {**call, "arguments": '{"path":"M"}'}})),
        ("process_step", json.dumps({"step": {**result, "content": "all:", "success": False}})),
    )
    assert events == [
        ev.StepSet(
            "a1",
            ev.Step("step-1", type="tool_call", id_ref="call_9", name="read_file", arguments='{"path":"M"}'),
        ),
        ev.StepSet(
            "a1", ev.Step("step-2", 1, "tool_result", "all:", "read_file", id_ref="step-1", success=False)
        ),
    ]


@pytest.mark.parametrize(
    ("content", "success"),
    [
        ('{"success": false, "error": "x"}', False),
        ('{"success": 0}', False),
        ('{"success": null}', False),
        ('{"success": "no"}', True),
        ('{"ok": false}', True),
        ("[false]", True),
        ("{not json", True),
        ("", True),
    ],
)
def test_a_result_that_does_not_say_is_as_good_as_its_content_says(content: str, success: bool) -> None:
    data = json.dumps({"step": {"id": "s", "type": "tool_result", "content": content}})
    (event,) = decoded(("process_step", data))
    assert isinstance(event, ev.StepSet)
    assert event.step.success is success


def test_done_of_another_message_names_none() -> None:
    data = '{"message_id":"made-up","token_count":3,"usage":{"prompt_tokens":1,"completion_tokens":2}}'
    assert decoded(("done", data)) == [ev.TurnDone("a1", "", 3, ev.Usage(1, 2))]
    assert decoded(("done", data), turn_id="made-up") == [
        ev.TurnDone("made-up", "made-up", 3, ev.Usage(1, 2))
    ]


@pytest.mark.parametrize("data", ["", "[DONE]", "null", '{"token_count": "many", "usage": 7}', "[" * 5000])
def test_done_ends_an_answer_whatever_it_says(data: str) -> None:
    assert decoded(("done", data)) == [ev.TurnDone("a1", "")]


def test_error_ends_an_answer_whatever_it_says() -> None:
    assert decoded(("error", '{"content":"API Error: 500"}')) == [ev.RunFailed("API Error: 500")]
    assert decoded(("error", "Bad Gateway")) == [ev.RunFailed("Bad Gateway")]
    assert decoded(("error", "{}")) == [ev.RunFailed(f"{NO_REASON}: {ADVICE}")]


def test_ids_that_start_again_after_an_end_are_of_the_next_answer() -> None:
    events = decoded(
        ("process_step", step(content="One")),
        ("done", "{}"),
        ("process_step", step(content="One more")),
        ("error", '{"content":"x"}'),
        ("process_step", step(content="One more")),
    )
    assert [event.turn_id for event in events if isinstance(event, ev.StepSet)] == ["a1", "a1-2", "a1-3"]


# --- the deltas form, and ours ----------------------------------------------------------------------------


def test_pieces_of_words_and_arguments_are_added() -> None:
    events = decoded(
        ("process_step", step(content="")),
        ("process_step_delta", '{"id":"step-0","content":"It"}'),
        ("process_step", '{"step":{"id":"step-1","index":1,"type":"tool_call","name":"x","arguments":""}}'),
        ("process_step_delta", '{"id":"step-1","arguments":"{\\"a"}'),
    )
    assert events[1] == ev.StepAdded("a1", "step-0", "It")
    assert events[3] == ev.StepAdded("a1", "step-1", arguments='{"a')


def test_our_own_events_are_read() -> None:
    started = '{"message_id":"m2","parent_id":"m1","model":"demo","attempt":2}'
    asks = '{"id":"step-1","status":"asks","ask":{"call":"rm x","preview":"-a","preview_type":"diff"}}'
    ended = (
        '{"message_id":"m2","interrupted":"stop","token_count":4,"seconds":1.5,"usage":{"prompt_tokens":9}}'
    )
    events = decoded(
        ("message", '{"id":"m1","role":"user","content":"{\\"text\\":\\"Hi\\",\\"attachments\\":[]}"}'),
        ("answer_started", started),
        ("answer_note", '{"message_id":"m2","note":"rate_limit","until":"2026-01-01","seconds":9}'),
        ("process_step", step(content="It")),
        ("tool_status", asks),
        ("tool_status", '{"id":"step-1","status":"done","seconds":0.25}'),
        ("answer_ended", ended),
        ("conversation", '{"id":"c1","title":"New","head":"m2","enabled_tools":["x"],"max_cost":null}'),
        ("done", '{"message_id":"m2"}'),
    )
    assert isinstance(events[0], ev.MessageStored)
    assert (events[0].message.id, events[0].message.text) == ("m1", "Hi")
    assert events[1] == ev.TurnStarted("m2", "", "assistant", "demo", "", 0, attempt=2, parent_id="m1")
    assert events.pop(2) == ev.TurnNoted("m2", "rate_limit", until="2026-01-01", seconds=9.0)
    assert events[2] == ev.StepSet("m2", ev.Step("step-0", content="It"))
    ask = ev.ToolAsk("rm x", "-a", "diff")
    assert events[3] == ev.ToolStatusChanged("m2", "step-1", "asks", None, ask)
    assert events[4] == ev.ToolStatusChanged("m2", "step-1", "done", 0.25)
    assert events[5] == ev.TurnEnded("m2", "", 4, interrupted="stop", usage=ev.Usage(9), seconds=1.5)
    expected = ev.ConversationInfo("c1", "New", head="m2", enabled_tools=("x",))
    assert events[6] == ev.ConversationChanged(expected)
    assert events[7] == ev.TurnDone("m2", "m2")


# --- what does not fit ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        "",
        "{",
        "[]",
        "NaN",
        "1" * 5000,
        '{"step": null}',
        '{"step": {"index": 1}}',
        '{"step": {"id": ""}}',
        '{"step": {"id": {"a": [}}',
        '{"step":' * 2000,
    ],
)
def test_what_is_no_step_is_kept_as_unknown(data: str) -> None:
    (event,) = decoded(("process_step", data))
    assert isinstance(event, ev.Unknown)
    assert event.data == data
    assert event.reason


def test_events_and_steps_that_nobody_knows_are_kept() -> None:
    unknown, odd = decoded(
        ("step_of_mine", "{}"), ("process_step", step(type="image", content="x", index="q"))
    )
    assert isinstance(unknown, ev.Unknown)
    assert odd == ev.StepSet("a1", ev.Step("step-0", type="image", content="x"))


@given(
    name=st.sampled_from(["process_step", "tool_status", "answer_ended", "done", "message"]), data=st.text()
)
def test_nothing_that_comes_makes_the_decoder_fail(name: str, data: str) -> None:
    decoded((name, data), (name, f'{{"step":{{"id":"s","content":"{data}"}}}}'), (name, '{"id": 1}'))


@pytest.mark.parametrize("name", ["process_step", "process_step_delta", "message", "error"])
def test_what_is_nested_too_deep_is_no_reason_to_fail_however_deep_it_is(name: str) -> None:
    decoder = ChatDecoder("a1")
    for depth in range(900, 1000):  # at some of them it can just be read, and not be written again
        deep = "[" * depth + "]" * depth
        data = f'{{"id": "x", "content": {deep}, "step": {{"id": "step-0", "content": {deep}}}}}'
        assert isinstance(decoder.decode(name, data), ev.Event)


def test_hostile_text_comes_through_as_it_is_and_can_be_encoded() -> None:
    hostile = "\x1b]52;c;x\x07\u202e[b]\u0000"
    (event,) = decoded(("process_step", json.dumps(json.loads(step(content=hostile + "\ud800")))))
    assert told(event) == hostile + "\ufffd"
    assert told(event).encode()


# --- answers of calls -------------------------------------------------------------------------------------


def stored(**fields: Any) -> ev.Message:
    (message,) = decode_messages({"messages": [{"id": "m2", "role": "assistant", **fields}]})
    return message


def test_a_stored_answer_has_its_steps_and_what_became_of_its_calls() -> None:
    steps = [
        {"id": "step-0", "index": 0, "type": "text", "content": "One"},
        {"id": "step-1", "type": "tool_call", "name": "x", "arguments": "{}"},
        {"id": "step-2", "type": "text", "content": "Two"},
        {"no": "step"},
    ]
    content = json.dumps({"text": "Two", "steps": steps, "tool_calls": [{}]})
    calls = {"step-1": {"status": "asks", "seconds": 2, "ask": {"call": "x"}}, "step-7": 3}
    message = stored(content=content, calls=calls, parent_id="m1", versions=["m0", "m2", 7], model="demo")
    assert message.text == "One\n\nTwo"
    assert [step.id for step in message.steps] == ["step-0", "step-1", "step-2"]
    assert message.steps[1] == ev.Step(
        "step-1", type="tool_call", name="x", arguments="{}", status="asks", seconds=2, ask=ev.ToolAsk("x")
    )
    assert (message.parent_id, message.versions, message.sender_name) == ("m1", ("m0", "m2"), "demo")


def test_a_stored_answer_of_words_alone_is_one_step() -> None:
    assert stored(content='{"text":"Hi"}').steps == (ev.Step("step-0", content="Hi"),)
    assert stored(content="plain words").steps == (ev.Step("step-0", content="plain words"),)
    assert stored(content=None).steps == ()


def test_a_stored_question_has_its_attachments() -> None:
    content = json.dumps({"text": "Hi", "attachments": [{"name": "a.md", "content": "# A"}, "x"]})
    message = stored(role="user", content=content)
    assert (message.text, message.steps) == ("Hi", ())
    assert message.attachments == (ev.Attachment("a.md", "# A"),)


def test_a_conversation_is_read_tolerantly() -> None:
    assert decode_conversation({"id": 7, "title": None, "temperature": None, "x": 1}) == ev.ConversationInfo(
        "7"
    )
    with pytest.raises(ValueError, match="id"):
        decode_conversation({"title": "no id"})
    assert decode_conversations([{"id": "a"}, {}, 3]) == [ev.ConversationInfo("a")]
    assert decode_conversations({"conversations": [{"id": "a"}]}) == [ev.ConversationInfo("a")]
