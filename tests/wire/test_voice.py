"""Messages of an agent's session become events, whatever is in them; tokens are cut out of every text."""

from __future__ import annotations

import struct
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.model.errors import ProtocolError
from agent_tui.model.events import Step, StepSet, ToolStatusChanged, Unknown
from agent_tui.model.voice import (
    AgentStateChanged,
    FalseInterruption,
    HandedOver,
    HistoryLoaded,
    ItemStored,
    SessionFailed,
    SpokenItem,
    TurnTimes,
    UserStateChanged,
    VoiceEvent,
    WordsHeard,
    WordsSpoken,
    WordsUnclear,
)
from agent_tui.wire import voice as wire

Event = pb.AgentSessionEvent
Tool = pb.AgentSessionEvent.ToolExecutionUpdated
Item = pb.ChatContext.ChatItem
TOKEN = (
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSIsImV4cCI6MTAwLCJ2aWRlbyI6eyJyb29tIjoiZGVtbyJ9fQ.c2ln-_bmF0dXJl"
)


def at(seconds: float) -> Timestamp:
    stamp = Timestamp()
    stamp.FromNanoseconds(int(seconds * 1e9))
    return stamp


def told(*events: pb.AgentSessionEvent) -> list[VoiceEvent]:
    """Return what a decoder makes of ``events`` that went over the wire."""
    decoder = wire.SessionDecoder()
    return [
        event
        for sent in events
        for event in decoder.message(wire.decode(wire.encode(pb.AgentSessionMessage(event=sent))))
    ]


def said(role: int, text: str, **more: object) -> pb.ChatMessage:
    content = [pb.ChatMessage.ChatContent(text=text)]
    return pb.ChatMessage(id=f"item-{text}", role=role, content=content, **more)  # type: ignore[arg-type]


def added(**item: object) -> pb.AgentSessionEvent:
    return Event(conversation_item_added=Event.ConversationItemAdded(item=Item(**item)))  # type: ignore[arg-type]


# --- what is pushed ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("number", "word"),
    [
        (pb.AS_INITIALIZING, "initializing"),
        (pb.AS_IDLE, "idle"),
        (pb.AS_LISTENING, "listening"),
        (pb.AS_THINKING, "thinking"),
        (pb.AS_SPEAKING, "speaking"),
    ],
)
def test_every_state_of_the_agent_has_a_word(number: pb.AgentState, word: str) -> None:
    [event] = told(Event(agent_state_changed=Event.AgentStateChanged(new_state=number)))
    assert isinstance(event, AgentStateChanged)
    assert event.state == word
    assert wire.agent_word(word) == word


@pytest.mark.parametrize(
    ("number", "word"), [(pb.US_SPEAKING, "speaking"), (pb.US_LISTENING, "listening"), (pb.US_AWAY, "away")]
)
def test_every_state_of_the_person_has_a_word(number: pb.UserState, word: str) -> None:
    [event] = told(Event(user_state_changed=Event.UserStateChanged(new_state=number)))
    assert isinstance(event, UserStateChanged)
    assert event.state == word


def test_a_state_that_nobody_knows_is_kept_as_unknown() -> None:
    message = pb.AgentSessionMessage()
    # As a newer agent would send it: enums of proto3 are open.
    message.ParseFromString(
        wire.encode(pb.AgentSessionMessage(event=Event(agent_state_changed=Event.AgentStateChanged())))
    )
    message.event.agent_state_changed.ParseFromString(b"\x10\x63")
    [event] = wire.SessionDecoder().message(message)
    assert event == Unknown("agent state", "99", "not known")
    assert wire.agent_word("dancing") is None


def test_words_heard_replace_each_other_until_they_are_final_and_then_begin_anew() -> None:
    heard = Event.UserInputTranscribed
    events = told(
        Event(user_input_transcribed=heard(transcript="hel")),
        Event(user_input_transcribed=heard(transcript="hello", is_final=True)),
        Event(user_input_transcribed=heard(transcript="again")),
    )
    assert events == [
        WordsHeard("heard-0", "hel"),
        WordsHeard("heard-0", "hello", is_final=True),
        WordsHeard("heard-1", "again"),
    ]
    taken_back, nothing = heard(transcript=""), heard(transcript="", is_final=True)
    [unclear] = told(Event(user_input_transcribed=taken_back))
    assert isinstance(unclear, WordsUnclear)
    [final] = told(Event(user_input_transcribed=nothing))
    assert final == WordsHeard("heard-0", "", is_final=True)


def test_a_failed_answer_of_our_chats_is_not_said_to_be_an_error_of_an_interface() -> None:
    raw = "type='llm_error' error=APIError('API Error: the answer broke off', body=None) recoverable=False"
    assert told(Event(error=Event.Error(message=raw))) == [
        SessionFailed("The model failed: the answer broke off.")
    ]


def test_words_that_are_complete_are_not_taken_back() -> None:
    heard = Event.UserInputTranscribed
    complete = Event(user_input_transcribed=heard(transcript="yes", is_final=True))
    cleared = Event(user_input_transcribed=heard(transcript=""))
    assert told(complete, cleared) == [WordsHeard("heard-0", "yes", is_final=True)]


def test_an_item_has_its_text_its_times_and_what_its_parts_took() -> None:
    metrics = pb.MetricsReport(
        started_speaking_at=at(100.5),
        stopped_speaking_at=at(102.25),
        transcription_delay=0.4,
        end_of_turn_delay=0.5,
        llm_node_ttft=0.1,
        tts_node_ttfb=0.2,
        e2e_latency=0.7,
    )
    message = said(pb.ASSISTANT, "Once upon", interrupted=True, created_at=at(99), metrics=metrics)
    [event] = told(added(message=message))
    assert event == ItemStored(
        SpokenItem(
            id="item-Once upon",
            role="assistant",
            text="Once upon",
            interrupted=True,
            created_at=99.0,
            started_at=100.5,
            ended_at=102.25,
            times=TurnTimes(hearing=0.4, end_of_turn=0.5, model=0.1, voice=0.2, whole=0.7),
        )
    )


def test_times_that_were_not_sent_or_are_no_times_are_not_made_up() -> None:
    metrics = pb.MetricsReport(llm_node_ttft=float("nan"), tts_node_ttfb=-1.0, e2e_latency=float("inf"))
    [event] = told(added(message=said(pb.USER, "hello", metrics=metrics)))
    assert isinstance(event, ItemStored)
    assert event.item.times == TurnTimes()
    assert (event.item.created_at, event.item.started_at) == (None, None)


def test_the_parts_of_an_item_are_one_text() -> None:
    content = [pb.ChatMessage.ChatContent(text=text) for text in ("one", "two")]
    [event] = told(added(message=pb.ChatMessage(id="i", role=pb.USER, content=content)))
    assert isinstance(event, ItemStored)
    assert event.item.text == "one\ntwo"


def test_a_hand_over_is_told_and_the_first_agent_is_none() -> None:
    first = pb.AgentHandoff(new_agent_id="front")
    second = pb.AgentHandoff(old_agent_id="front", new_agent_id="billing")
    assert told(added(agent_handoff=first), added(agent_handoff=second)) == [HandedOver("front", "billing")]
    same = pb.AgentHandoff(old_agent_id="front", new_agent_id="front")
    assert told(added(agent_handoff=same)) == []


def test_a_false_interruption_and_a_failure_are_told_and_usage_is_not() -> None:
    assert told(
        Event(agent_false_interruption=Event.AgentFalseInterruption(resumed=True)),
        Event(error=Event.Error(message=f"no model for {TOKEN}")),
        Event(error=Event.Error()),
        Event(session_usage_updated=Event.SessionUsageUpdated()),
    ) == [
        FalseInterruption(resumed=True),
        SessionFailed("no model for ********"),
        SessionFailed("The agent did not say what failed."),
    ]


def test_a_failure_of_livekits_is_told_in_words_and_once_until_something_is_said() -> None:
    raw = (
        "type='llm_error' timestamp=1795355784.24 label='livekit.agents.inference.llm.LLM' "
        "error=APIConnectionError('Connection error.', body=None, retryable=True) recoverable="
    )
    again, over = (
        Event(error=Event.Error(message=f"{raw}True")),
        Event(error=Event.Error(message=f"{raw}False")),
    )
    hello = added(message=said(pb.USER, "hello"))
    told_failures = [
        event for event in told(again, again, over, hello, over) if isinstance(event, SessionFailed)
    ]
    assert [event.message for event in told_failures] == [
        "The model failed: Connection error. It is tried again.",
        "The model failed: Connection error.",
        "The model failed: Connection error.",
    ]


def test_what_is_of_no_use_to_a_person_is_left_out_and_what_is_new_is_kept_as_unknown() -> None:
    assert told(
        Event(overlapping_speech=Event.OverlappingSpeech(is_interruption=True)),
        Event(eot_prediction=Event.EotPrediction(probability=0.5)),
        Event(amd_prediction=Event.AmdPrediction()),
        Event(debug_message=pb.DebugMessage()),
        added(agent_config_update=pb.AgentConfigUpdate(id="c")),
    ) == []  # fmt: skip
    decoder = wire.SessionDecoder()
    assert isinstance(decoder.message(pb.AgentSessionMessage())[0], Unknown)
    assert told(Event()) == [Unknown("session event", "", "not known")]
    assert told(Event(tool_execution_updated=Tool())) == [Unknown("session tool update", "", "not known")]
    assert told(added()) == [Unknown("session item", "", "not known")]


def test_the_words_of_an_answer_come_as_debug_messages_and_no_other_debugging_is_shown() -> None:
    def debug(**fields: str | bool) -> pb.AgentSessionEvent:
        message = pb.DebugMessage()
        message.payload.update(fields)
        return Event(debug_message=message)

    words: dict[str, Any] = {"type": "agent-tui.words", "segment": "s1", "is_voiced": True}
    assert told(
        debug(**words, text="Two rooms ", is_final=False),
        debug(**words, text="", is_final=True),
        debug(type="agent-tui.words", segment="s2", text="read"),
        debug(type="something else", segment="s1", text="no"),
        debug(type="agent-tui.words", text="no segment"),
    ) == [WordsSpoken("s1", "Two rooms "), WordsSpoken("s1", "", is_final=True),
          WordsSpoken("s2", "read", is_voiced=False)]  # fmt: skip


# --- tools -------------------------------------------------------------------------------------------------

CALL = pb.FunctionCall(id="item_1", call_id="call-1", name="clock", arguments='{"zone":"UTC"}')


def test_a_call_of_a_tool_is_a_step_that_runs_says_how_far_it_is_and_ends_with_its_result() -> None:
    events = told(
        added(message=said(pb.USER, "time")),
        Event(created_at=at(10), tool_execution_updated=Tool(started=Tool.Started(function_call=CALL))),
        Event(
            tool_execution_updated=Tool(call_updated=Tool.CallUpdated(call_id="call-1", message="looking"))
        ),
        Event(
            created_at=at(10.5),
            tool_execution_updated=Tool(
                ended=Tool.Ended(call_id="call-1", message="half past", status=pb.TC_DONE)
            ),
        ),
    )
    call = Step(
        "call-1",
        type="tool_call",
        name="clock",
        arguments='{"zone":"UTC"}',
        id_ref="call-1",
        status="running",
    )
    assert events[1:] == [
        StepSet("item-time", call),
        ToolStatusChanged("item-time", "call-1", "running", progress="looking"),
        ToolStatusChanged("item-time", "call-1", "done", 0.5),
        StepSet("item-time", Step("result-call-1", type="tool_result", content="half past", id_ref="call-1")),
    ]


@pytest.mark.parametrize(
    ("number", "status"), [(pb.TC_ERROR, "failed"), (pb.TC_CANCELLED, "cut"), (pb.TC_RUNNING, "running")]
)
def test_a_call_that_ends_badly_says_how(number: pb.ToolCallStatus, status: str) -> None:
    ended = Tool(ended=Tool.Ended(call_id="call-1", message="no", status=number))
    events = told(
        Event(tool_execution_updated=Tool(started=Tool.Started(function_call=CALL))),
        Event(tool_execution_updated=ended),
    )
    assert events[1] == ToolStatusChanged("", "call-1", status)
    result = events[2]
    assert isinstance(result, StepSet)
    assert not result.step.success


def test_a_call_that_is_told_three_times_on_the_wire_is_told_once() -> None:
    output = pb.FunctionCallOutput(call_id="call-1", name="clock", output="half past nine")
    once = [
        Event(tool_execution_updated=Tool(started=Tool.Started(function_call=CALL))),
        Event(tool_execution_updated=Tool(ended=Tool.Ended(call_id="call-1", status=pb.TC_DONE))),
        Event(
            function_tools_executed=Event.FunctionToolsExecuted(
                function_calls=[CALL], function_call_outputs=[output]
            )
        ),
        added(function_call=CALL),
        added(function_call_output=output),
    ]
    events = told(*once, *once)
    assert [type(event) for event in events] == [StepSet, ToolStatusChanged, StepSet]


def test_an_older_agent_that_only_tells_what_was_executed_has_steps_too() -> None:
    output = pb.FunctionCallOutput(call_id="call-1", name="clock", output="no clock", is_error=True)
    executed = Event.FunctionToolsExecuted(function_calls=[CALL], function_call_outputs=[output])
    events = told(Event(function_tools_executed=executed))
    assert [type(event) for event in events] == [StepSet, ToolStatusChanged, StepSet]
    assert events[1] == ToolStatusChanged("", "call-1", "failed")


def test_however_many_calls_there_are_a_decoder_remembers_a_bounded_number() -> None:
    decoder = wire.SessionDecoder()
    for number in range(wire.MAX_CALLS * 3):
        call = pb.FunctionCall(call_id=f"call-{number}", name="t")
        started = Event(tool_execution_updated=Tool(started=Tool.Started(function_call=call)))
        assert len(list(decoder.event(started))) == 1
    again = Event(tool_execution_updated=Tool(started=Tool.Started(function_call=call)))
    assert list(decoder.event(again)) == []


# --- history, requests -------------------------------------------------------------------------------------


def test_a_history_has_its_items_and_the_steps_between_them_and_a_running_call_goes_on() -> None:
    decoder = wire.SessionDecoder()
    running = pb.FunctionCall(call_id="call-2", name="slow")
    started = Event(
        created_at=at(5), tool_execution_updated=Tool(started=Tool.Started(function_call=running))
    )
    list(decoder.event(started))
    output = pb.FunctionCallOutput(call_id="call-1", name="clock", output="nine")
    loaded, *steps = decoder.history(
        [
            Item(agent_handoff=pb.AgentHandoff(new_agent_id="front")),
            Item(message=said(pb.USER, "time")),
            Item(function_call=CALL),
            Item(function_call_output=output),
            Item(message=said(pb.ASSISTANT, "nine")),
        ]
    )
    assert isinstance(loaded, HistoryLoaded)
    assert [(item.role, item.text) for item in loaded.items] == [("user", "time"), ("assistant", "nine")]
    assert [type(step) for step in steps] == [StepSet, ToolStatusChanged, StepSet]
    assert all(step.turn_id == "item-time" for step in steps if isinstance(step, StepSet))
    ended = Tool(ended=Tool.Ended(call_id="call-2", status=pb.TC_DONE))
    [over] = decoder.event(Event(created_at=at(7), tool_execution_updated=ended))
    assert over == ToolStatusChanged("", "call-2", "done", 2.0)


def test_a_long_history_keeps_its_end() -> None:
    items = [Item(message=said(pb.USER, str(number))) for number in range(wire.MAX_ITEMS + 10)]
    loaded = wire.SessionDecoder().history(items)[0]
    assert isinstance(loaded, HistoryLoaded)
    assert len(loaded.items) == wire.MAX_ITEMS
    assert loaded.items[-1].text == str(wire.MAX_ITEMS + 9)


def test_requests_carry_their_id_and_are_framed_with_their_length() -> None:
    for name in ("ping", "get_chat_history", "get_session_state"):
        request = wire.ask("r1", name).request
        assert (request.request_id, request.WhichOneof("request")) == ("r1", name)
    framed = wire.framed(wire.run_input("r2", "say \ud800 this"))
    (size,) = struct.unpack(">I", framed[:4])
    message = wire.decode(framed[4:])
    assert size == len(framed) - 4
    assert message.request.run_input.text == "say ? this"
    frame = wire.sound(bytes(960), 48_000).audio_input
    assert (frame.sample_rate, frame.num_channels, frame.samples_per_channel) == (48_000, 1, 480)
    assert wire.playback_finished().WhichOneof("message") == "audio_playback_finished"
    assert wire.playback_clear().WhichOneof("message") == "audio_playback_clear"


def test_the_state_of_a_session_is_both_states() -> None:
    response = pb.SessionResponse.GetSessionStateResponse(agent_state=pb.AS_SPEAKING, user_state=pb.US_AWAY)
    assert wire.SessionDecoder().state(response) == [AgentStateChanged("speaking"), UserStateChanged("away")]


# --- hostile -----------------------------------------------------------------------------------------------


@given(st.binary(max_size=300))
def test_whatever_bytes_come_are_events_or_a_protocol_error(data: bytes) -> None:
    try:
        message = wire.decode(data)
    except ProtocolError:
        return
    decoder = wire.SessionDecoder()
    decoder.message(message)
    decoder.history(message.response.get_chat_history.items)
    decoder.state(message.response.get_session_state)


def test_texts_and_names_are_cut_to_a_bounded_size() -> None:
    huge = "x" * (wire.MAX_TEXT_CHARACTERS * 2)
    [event] = told(added(message=pb.ChatMessage(id=huge, role=pb.USER, content=[{"text": huge}])))
    assert isinstance(event, ItemStored)
    assert len(event.item.text) == wire.MAX_TEXT_CHARACTERS
    assert len(event.item.id) == wire.MAX_NAME_CHARACTERS
    [failed] = told(Event(error=Event.Error(message=huge)))
    assert isinstance(failed, SessionFailed)
    assert len(failed.message) == wire.MAX_LINE_CHARACTERS
    with pytest.raises(ProtocolError):
        wire.decode(bytes(wire.MAX_MESSAGE_BYTES + 1))


# --- tokens ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        f"401 Unauthorized - invalid token: {TOKEN}",
        f"ws://127.0.0.1:7880/rtc/v1?access_token={TOKEN}&sdk=python",
        f"{TOKEN},{TOKEN}",
        f"cut off {TOKEN[:40]}",
        f"ws%3A%2F%2Fhost%3Faccess_token%3D{TOKEN}",
    ],
)
def test_a_token_is_cut_out_wherever_it_stands(text: str) -> None:
    shown = wire.redact(text)
    assert "eyJ" not in shown
    assert "alice" not in shown
    assert TOKEN.split(".")[2] not in shown


@given(st.text(max_size=50), st.text(max_size=50))
def test_no_text_keeps_a_token(before: str, after: str) -> None:
    assert "eyJ" not in wire.redact(f"{before}{TOKEN}{after}")


@given(st.text(alphabet=st.characters(exclude_characters="e:"), max_size=100))
def test_a_text_without_a_token_stays_as_it_is(text: str) -> None:
    assert wire.redact(text) == text


def test_the_claims_of_a_token_are_read_and_what_is_no_token_has_none() -> None:
    assert wire.token_claims(TOKEN) == {"sub": "alice", "exp": 100, "video": {"room": "demo"}}
    for wrong in ("", "x", "a.b.c", "a.W10=.c", "a.\N{SNOWMAN}.c"):
        assert wire.token_claims(wrong) == {}
