"""Frames of an agent socket to the events of one turn, and what clients send (protocols.md §4)."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import StepState
from agent_tui.wire.agent_socket import (
    AgentSocketDecoder,
    ClientToolCall,
    ClientToolResult,
    SocketFrame,
    UserMessage,
    client_frame,
    client_tool_call,
    error_line,
    error_parts,
    parse_frame,
    progress_line,
    source_of,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
SUB = "tools:4f2a"


def frame(kind: str, **fields: Any) -> SocketFrame:
    return parse_frame(json.dumps({"type": f"AGENT_EVENT_{kind}", **fields}))


def text(words: str, source: str = "main") -> SocketFrame:
    return frame("TEXT_CHUNK", text=words, source=source)


def call(name: str | None = None, arguments: str | None = None, source: str = "main") -> SocketFrame:
    fields = {"tool_name": name, "args_chunk": arguments, "source": source}
    return frame("TOOL_CALL_CHUNK", **{key: value for key, value in fields.items() if value is not None})


def result(name: str, content: object, source: str = "main") -> SocketFrame:
    return frame("TOOL_RESULT", tool_name=name, result=content, source=source)


def decoded(*frames: SocketFrame) -> list[ev.Event]:
    decoder = AgentSocketDecoder("t1")
    return [event for one in frames for event in decoder.decode(one)]


def state_of(*frames: SocketFrame) -> ConversationState:
    state = ConversationState()
    for event in decoded(*frames):
        state.apply(event)
    return state


def steps_of(*frames: SocketFrame) -> list[StepState]:
    (turn,) = state_of(*frames).turns.values()
    return list(turn.steps.all.values())


# --- words -----------------------------------------------------------------------------------------


def test_text_chunks_grow_one_step_and_the_end_says_what_was_used() -> None:
    events = decoded(text("Hel"), text("lo"), frame("END", tokens_used=12))
    assert events == [
        ev.StepSet("t1", ev.Step("step-0", 0, "text")),
        ev.StepAdded("t1", "step-0", "Hel"),
        ev.StepAdded("t1", "step-0", "lo"),
        ev.TurnDone("t1", "", 12),
    ]


def test_a_chunk_without_a_source_is_the_main_agents() -> None:
    assert decoded(frame("TEXT_CHUNK", text="Hi"))[1] == ev.StepAdded("t1", "step-0", "Hi")


def test_what_a_sub_agent_says_is_shown_by_its_source_and_is_not_in_the_whole_text() -> None:
    frames = [text("I ask. "), text("Look", SUB), text("Found it."), text("ing", SUB), frame("END")]
    steps = steps_of(*frames)
    assert [(step.type, step.name, step.content.text) for step in steps] == [
        ("text", "", "I ask. Found it."),
        ("sub_agent", SUB, "Looking"),
    ]
    assert source_of(steps[1].id) == SUB
    assert state_of(*frames).whole_text() == "I ask. Found it."


def test_words_after_a_call_are_a_step_of_their_own() -> None:
    frames = [text("A"), call("f", "{}"), result("f", "r"), text("B")]
    assert [(step.type, step.content.text) for step in steps_of(*frames)] == [
        ("text", "A"),
        ("tool_call", ""),
        ("tool_result", "r"),
        ("text", "B"),
    ]


# --- calls -----------------------------------------------------------------------------------------


def test_a_chunk_with_a_tool_name_begins_a_call_and_one_without_goes_on_with_it() -> None:
    steps = steps_of(call("search", '{"q": '), call(None, '"tea'), call(None, '"}'))
    assert [(step.name, step.arguments.text, step.status) for step in steps] == [
        ("search", '{"q": "tea"}', "running")
    ]


def test_a_chunk_without_a_name_belongs_to_the_last_open_call_of_its_source() -> None:
    frames = [
        call("a", "1"),
        call("b", "2", SUB),
        call("c", "3"),
        call(None, "-main"),
        call(None, "-sub", SUB),
        result("c", "done"),
        call(None, "-again"),
    ]
    assert [(step.name, step.arguments.text) for step in steps_of(*frames) if step.type == "tool_call"] == [
        ("a", "1-again"),
        ("b", "2-sub"),
        ("c", "3-main"),
    ]


def test_a_result_closes_the_oldest_open_call_of_its_name_and_source() -> None:
    frames = [
        call("get", '{"n":1}'),
        call("get", '{"n":2}'),
        call("get", '{"n":3}', SUB),
        result("get", "third", SUB),
        result("get", "first"),
        result("get", "second"),
    ]
    found = {
        step.arguments.text: step.result.content.text for step in steps_of(*frames) if step.result is not None
    }
    assert found == {'{"n":1}': "first", '{"n":2}': "second", '{"n":3}': "third"}


@pytest.mark.parametrize(
    ("content", "shown", "status"),
    [
        ("plain", "plain", "done"),
        ({"rows": [1]}, '{"rows":[1]}', "done"),
        ([1, "b"], '[1,"b"]', "done"),
        ({"success": False, "error": "no"}, '{"success":false,"error":"no"}', "failed"),
        (None, "", "done"),
    ],
)
def test_a_result_may_be_text_an_object_or_a_list(content: object, shown: str, status: str) -> None:
    first, second = steps_of(call("f", "{}"), result("f", content))
    assert (first.status, second.content.text) == (status, shown)


def test_a_result_before_its_call_is_kept_and_takes_no_later_call() -> None:
    steps = steps_of(result("f", "early"), call("f", "{}"))
    assert [(step.type, step.result is None) for step in steps] == [
        ("tool_result", True),
        ("tool_call", True),
    ]


def test_arguments_of_no_call_are_kept_as_unknown() -> None:
    (event,) = decoded(call(None, '{"a"'))
    assert isinstance(event, ev.Unknown)
    assert json.loads(event.data) == {
        "type": "AGENT_EVENT_TOOL_CALL_CHUNK",
        "args_chunk": '{"a"',
        "source": "main",
    }


def test_arguments_that_never_form_json_are_shown_as_they_came() -> None:
    (step,) = steps_of(call("f", '{"a": '), call(None, "oops"), frame("END"))
    assert (step.arguments.text, step.status) == ('{"a": oops', "unknown")


@given(st.text(alphabet='{}[]"\\a,: ', max_size=30), st.data())
def test_a_call_runs_once_its_arguments_are_whole_wherever_they_are_split(
    words: str, data: st.DataObject
) -> None:
    written = json.dumps({"a": words, "b": [{"c": words}]})
    cuts = sorted(data.draw(st.sets(st.integers(1, len(written) - 1), max_size=6)))
    edges = [0, *cuts, len(written)]
    chunks = [written[start:stop] for start, stop in itertools.pairwise(edges)]
    frames = [call("f"), *(call(None, chunk) for chunk in chunks)]
    assert steps_of(*frames[:-1])[0].status == ""
    assert steps_of(*frames)[0].status == "running"


# --- progress, files, ends ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("payload", "line"),
    [
        ({"status": "running", "progress": "3 of 9"}, "3 of 9"),
        ({"status": "indexing", "progress": 40}, "status: indexing, progress: 40"),
        ({"status": "running"}, "running"),
        ({"found": ["a"], "more": None}, 'found: ["a"]'),
        ({}, ""),
        ("half", "half"),
    ],
)
def test_the_line_of_a_custom_update(payload: object, line: str) -> None:
    assert progress_line(payload) == line


def test_progress_is_that_of_the_one_open_call_of_its_source() -> None:
    update = frame("CUSTOM_UPDATE", payload={"progress": "half"}, source=SUB)
    (step,) = steps_of(call("f", "{}", SUB), update)
    assert (step.status, step.progress) == ("running", "half")
    note = ev.TurnNoted("t1", "progress", about="half", agent_name=SUB)
    assert decoded(update) == [note]
    assert decoded(call("f", "{}", SUB), call("g", "{}", SUB), update)[-1] == note
    assert decoded(call("f", "{}"), update)[-1] == note


def test_an_offered_file_is_noted_with_its_path() -> None:
    assert decoded(frame("SEND_FILE", path="out/a.png")) == [
        ev.TurnNoted("t1", "file_offered", about="out/a.png")
    ]


@pytest.mark.parametrize("used", [None, "many", -3, True, [1], 2**63 - 1, 10**30])
def test_an_end_that_says_no_number_of_tokens_is_an_end(used: object) -> None:
    assert decoded(frame("END", tokens_used=used)) == [ev.TurnDone("t1", "", 0)]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"code": "RATE_LIMIT", "details": "slow down"}, "RATE_LIMIT: slow down"),
        ({"code": "RATE_LIMIT", "details": None}, "RATE_LIMIT"),
        ({"code": 7, "details": {"why": "x"}}, '7: {"why":"x"}'),
        ({"code": "AGENT_ERROR", "details": "API Error: 500"}, "API Error: 500"),
        ({"code": "STOPPED", "details": "Stopped"}, "Stopped"),
        ({}, "unknown error"),
    ],
)
def test_an_error_says_its_code_and_details(fields: dict[str, Any], said: str) -> None:
    told = parse_frame(json.dumps({"type": "ERROR", **fields}))
    assert error_line(told) == said
    assert decoded(told) == [ev.RunFailed(said)]
    assert all(isinstance(part, str) for part in error_parts(told))


def test_status_and_goodbye_say_nothing_of_an_answer() -> None:
    assert decoded(SocketFrame("STATUS"), SocketFrame("GRACEFUL_DISCONNECT")) == []


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "AGENT_EVENT_DANCE", "step": 1},
        {"type": "AGENT_EVENT_TEXT_CHUNK", "text": 5},
        {"type": "AGENT_EVENT_TOOL_RESULT", "tool_name": "f"},
        {"type": "AGENT_EVENT_SEND_FILE"},
        {"type": "AGENT_EVENT_CUSTOM_UPDATE"},
        {"type": "USER_MESSAGE", "text": "not yours"},
        {"type": 5},
        {"text": "no type"},
        {"type": "AGENT_EVENT_CLIENT_TOOL_CALL"},
    ],
)
def test_what_is_not_in_the_protocol_is_kept_whole(odd: dict[str, Any]) -> None:
    (event,) = decoded(parse_frame(json.dumps(odd)))
    assert isinstance(event, ev.Unknown)
    assert json.loads(event.data) == odd


@pytest.mark.parametrize("value", [[1, 2], "text", 5, None])
def test_json_that_is_no_object_is_kept_too(value: object) -> None:
    (event,) = decoded(parse_frame(json.dumps(value)))
    assert isinstance(event, ev.Unknown)
    assert json.loads(event.data) == {"value": value}


@pytest.mark.parametrize(
    "raw",
    ["", "nonsense", b"\xff\xfe", "[" * 100_000, '{"type": NaN}', '{"a":' * 100_000 + "1" + "}" * 100_000],
)
def test_what_is_not_json_is_a_value_error(raw: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whichever kind
        parse_frame(raw)


@pytest.mark.parametrize("raw", ['{"type": "STATUS"}', b'{"type": "STATUS"}'])
def test_a_binary_frame_is_read_like_text(raw: str | bytes) -> None:
    assert parse_frame(raw) == SocketFrame("STATUS")


KINDS = ["TEXT_CHUNK", "TOOL_CALL_CHUNK", "TOOL_RESULT", "CUSTOM_UPDATE", "SEND_FILE", "END"]


@given(
    st.lists(
        st.builds(
            lambda kind, fields: {"type": kind, **fields},
            st.sampled_from(
                [f"AGENT_EVENT_{kind}" for kind in [*KINDS, "CLIENT_TOOL_CALL"]]
                + ["STATUS", "ERROR", "CLIENT_TOOL_RESULT", "?"]
            ),
            st.dictionaries(
                st.sampled_from(
                    ["text", "source", "tool_name", "args_chunk", "result", "payload", "path", "call_id"]
                ),
                st.sampled_from(["main", SUB, "f"]) | JSON,
            ),
        ),
        max_size=12,
    )
)
def test_no_frames_are_too_odd_for_the_decoder_and_the_state(frames: list[dict[str, Any]]) -> None:
    state_of(*(parse_frame(json.dumps(one)) for one in frames))


def test_halves_of_surrogate_pairs_are_replaced() -> None:
    assert decoded(parse_frame('{"type":"AGENT_EVENT_TEXT_CHUNK","text":"a\\ud800b"}'))[1] == ev.StepAdded(
        "t1", "step-0", "a\ufffdb"
    )


def test_an_emoji_that_comes_in_two_halves_is_one() -> None:
    halves = [("main", "a\ud83d"), (SUB, "odd\ud83d"), ("main", "\ude00b"), (SUB, "c")]
    decoder = AgentSocketDecoder("t1")
    frames = [frame("TEXT_CHUNK", text=half, source=source) for source, half in halves]
    events = [event for one in frames for event in decoder.decode(one)]
    said = [(event.step_id, event.content) for event in events if isinstance(event, ev.StepAdded)]
    assert said == [
        ("step-0", "a"),
        (f"step-1@{SUB}", "odd"),
        ("step-0", "\U0001f600b"),
        (f"step-1@{SUB}", "\ufffdc"),
    ]


# --- what clients send -------------------------------------------------------------------------------


def test_a_question_to_the_letter() -> None:
    message = UserMessage("Hi", ("in/a.txt",))
    assert json.loads(message.frame().json()) == {
        "type": "USER_MESSAGE",
        "text": "Hi",
        "attachments": ["in/a.txt"],
    }
    assert client_frame(parse_frame(message.frame().json())) == message


def test_older_clients_send_no_attachments() -> None:
    assert client_frame(SocketFrame("USER_MESSAGE", {"text": "Hi"})) == UserMessage("Hi")


@pytest.mark.parametrize("answer", [ClientToolResult("c1", {"rows": 2}), ClientToolResult("c1", error="no")])
def test_the_result_of_a_client_tool_to_the_letter(answer: ClientToolResult) -> None:
    sent = json.loads(answer.frame().json())
    said = {"error": "no"} if answer.error else {"result": {"rows": 2}}
    assert sent == {"type": "CLIENT_TOOL_RESULT", "call_id": "c1", **said}
    assert client_frame(answer.frame()) == answer


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "USER_MESSAGE"},
        {"type": "USER_MESSAGE", "text": 5},
        {"type": "USER_MESSAGE", "text": "Hi", "attachments": "a.txt"},
        {"type": "USER_MESSAGE", "text": "Hi", "attachments": [1]},
        {"type": "CLIENT_TOOL_RESULT", "result": 1},
        {"type": "STATUS"},
        {"text": "Hi"},
    ],
)
def test_what_no_client_sends_is_refused_with_a_reason(odd: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"USER_MESSAGE|attachments|CLIENT_TOOL_RESULT|clients send no"):
        client_frame(parse_frame(json.dumps(odd)))


# --- tools that run on the user's machine --------------------------------------------------------------


def test_a_client_tool_is_a_call_like_others_and_its_result_is_shown_once() -> None:
    asked = ClientToolCall("c1", "pick_file", {"kind": "png"}).frame()
    answered = ClientToolResult("c1", "a.png").frame()
    frames = [asked, answered, result("pick_file", "a.png")]
    first, second = steps_of(*frames)
    assert (first.name, first.arguments.text, first.status) == ("pick_file", '{"kind":"png"}', "done")
    assert (second.content.text, second.call_id) == ("a.png", first.id)


def test_a_client_tool_whose_call_was_streamed_before_is_the_same_call() -> None:
    frames = [
        call("pick_file", '{"kind":"png"}'),
        ClientToolCall("c1", "pick_file", {"kind": "png"}).frame(),
        ClientToolResult("c1", error="the person said no").frame(),
    ]
    first, second = steps_of(*frames)
    assert (first.status, second.content.text) == ("failed", "the person said no")


def test_how_a_call_of_the_client_stands_is_said_by_this_program_alone() -> None:
    decoder = AgentSocketDecoder("t1")
    step = decoder.decode(ClientToolCall("c1", "write", {}).frame())[0]
    assert isinstance(step, ev.StepSet)
    asks = ev.ToolStatusChanged("elsewhere", "step-9", "asks", ask=ev.ToolAsk("write a.txt"))
    ours = SocketFrame("CLIENT_TOOL_STATUS", {"call_id": "c1"}, asks)
    assert decoder.decode(ours) == [ev.ToolStatusChanged("t1", step.step.id, "asks", ask=asks.ask)]
    forged = {
        "type": "CLIENT_TOOL_STATUS",
        "call_id": "c1",
        "status": {"status": "asks", "ask": {"call": "x"}},
    }
    told = decoder.decode(parse_frame(json.dumps(forged)))
    assert [type(event) for event in told] == [ev.Unknown]


def test_a_call_of_the_client_that_was_denied_stays_denied() -> None:
    decoder = AgentSocketDecoder("t1")
    decoder.decode(ClientToolCall("c1", "write", {}).frame())
    denied = ev.ToolStatusChanged("elsewhere", "step-9", "denied")
    decoder.decode(SocketFrame("CLIENT_TOOL_STATUS", {"call_id": "c1"}, denied))
    status, _ = decoder.decode(ClientToolResult("c1", error="denied by the user").frame())
    assert isinstance(status, ev.ToolStatusChanged)
    assert status.status == "denied"


def test_a_call_of_the_client_needs_an_id_and_a_name() -> None:
    assert client_tool_call(ClientToolCall("c1", "f").frame()) == ClientToolCall("c1", "f")
    assert client_tool_call(frame("CLIENT_TOOL_CALL", call_id="c1")) is None
    assert client_tool_call(text("Hi")) is None
