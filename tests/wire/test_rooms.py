"""Every event of protocols.md §1 both ways, and what a careless server may send."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import events as ev
from agent_tui.wire.content import content_text, steps_content, text_content
from agent_tui.wire.fields import ADVICE, NO_REASON
from agent_tui.wire.rooms import decode, decode_messages, decode_room, decode_rooms
from agent_tui.wire.rooms_encode import encode, frame_bytes, message_fields, progress, token_count

NOTHING_SAID = f"{NO_REASON}: {ADVICE}"
NESTED = '{"error":' * 4 + '"x"' + "}" * 4
MESSAGE = ev.Message(
    "m", "r", "assistant", steps_content("hi"), "hi", "Ada", "#10b981", 1, 4, "2026-01-01T00:00:00Z"
)
# One of each, with the data to the letter of the protocol's table.
TABLE: list[tuple[ev.Event, str, dict[str, object]]] = [
    (ev.RunStarted("r", "task"), "room_started", {"room_id": "r", "task": "task"}),
    (
        ev.RunStarted("r", "task", resumed=True),
        "room_started",
        {"room_id": "r", "task": "task", "resumed": True},
    ),
    (
        ev.MessageStored(MESSAGE),
        "message",
        {
            "id": "m",
            "room_id": "r",
            "role": "assistant",
            "content": '{"steps":[{"id":"step-0","index":0,"type":"text","content":"hi"}]}',
            "sender_name": "Ada",
            "sender_color": "#10b981",
            "round_number": 1,
            "token_count": 4,
            "created_at": "2026-01-01T00:00:00Z",
        },
    ),
    (ev.RoundStarted(1, 3), "round_start", {"round": 1, "max_rounds": 3}),
    (
        ev.ParallelStarted(1, 3, (ev.AgentInfo("a", "Ada"),)),
        "parallel_start",
        {"round": 1, "max_rounds": 3, "agents": [{"id": "a", "name": "Ada"}]},
    ),
    (
        ev.AgentStatusChanged("a", "Ada", "pending"),
        "agent_status",
        {"agent_id": "a", "agent_name": "Ada", "status": "pending"},
    ),
    (
        ev.TurnNoted("m", "rate_limit", 0, "a", "Ada", "2026-01-01T00:00:09+00:00", 9.0),
        "agent_status",
        {
            "agent_id": "a",
            "agent_name": "Ada",
            "status": "streaming",
            "message_id": "m",
            "note": "rate_limit",
            "until": "2026-01-01T00:00:09+00:00",
            "seconds": 9.0,
        },
    ),
    (
        ev.TurnStarted("m", "r", "assistant", "Ada", "#10b981", 1),
        "message_start",
        {
            "id": "m",
            "room_id": "r",
            "role": "assistant",
            "sender_name": "Ada",
            "sender_color": "#10b981",
            "round_number": 1,
        },
    ),
    (
        ev.TextAdded("m", "hi", "oh hi", "a", 3),
        "message_chunk",
        {"id": "m", "content": "hi", "accumulated": "oh hi", "agent_id": "a", "progress": 3},
    ),
    (ev.TextAdded("m", "hi"), "message_chunk", {"id": "m", "content": "hi"}),
    (ev.TurnEnded("m", "hi", 0), "message_end", {"id": "m", "content": "hi", "token_count": 0}),
    (
        ev.TurnEnded("m", "h", 0, "a", "pause"),
        "message_end",
        {"id": "m", "content": "h", "token_count": 0, "agent_id": "a", "interrupted": "pause"},
    ),
    (
        ev.TurnFailed("boom", "a", "Ada"),
        "agent_error",
        {"agent": "Ada", "error": "boom", "agent_id": "a", "agent_name": "Ada"},
    ),
    (
        ev.TurnStarted("m", "r", "assistant", "Ada", "", 1, "a", 2, "old", 3),
        "message_start",
        {
            "id": "m",
            "room_id": "r",
            "role": "assistant",
            "sender_name": "Ada",
            "sender_color": "",
            "round_number": 1,
            "agent_id": "a",
            "attempt": 2,
            "supersedes": "old",
            "trimmed": 3,
        },
    ),
    (
        ev.TurnEnded("m", "h", 1, "a", "stop", ev.Usage(10, 5, 0.5, 0.25)),
        "message_end",
        {
            "id": "m",
            "content": "h",
            "token_count": 1,
            "agent_id": "a",
            "interrupted": "stop",
            "usage": {
                "prompt_tokens": 10,
                "completion_tokens": 5,
                "first_token_seconds": 0.5,
                "cost": 0.25,
            },
        },
    ),
    (ev.ParallelEnded(1, 2), "parallel_end", {"round": 1, "agent_count": 2}),
    (ev.RoundEnded(1), "round_end", {"round": 1}),
    (ev.RunCompleted("r", 3), "room_completed", {"room_id": "r", "total_rounds": 3}),
    (ev.RunPaused("r"), "room_paused", {"room_id": "r"}),
    (
        ev.RunPaused("r", 2, "pause"),
        "room_paused",
        {"room_id": "r", "round": 2, "interrupted": "pause"},
    ),
    (ev.RunFailed("Room not found"), "error", {"content": "Room not found"}),
]


@pytest.mark.parametrize(("event", "name", "data"), TABLE, ids=lambda value: str(value)[:30])
def test_every_event_travels_both_ways(event: ev.Event, name: str, data: dict[str, object]) -> None:
    assert encode(event) == (name, data)
    assert list(encode(event)[1]) == list(data)  # the order of the table, too
    assert decode(name, json.dumps(data)) == event


def test_a_frame_is_framed_to_the_letter() -> None:
    assert frame_bytes(7, "round_end", '{"round":1}') == b'id: 7\nevent: round_end\ndata: {"round":1}\n\n'
    assert (
        frame_bytes(None, "error", '{"content":"\u00e9"}')
        == 'event: error\ndata: {"content":"é"}\n\n'.encode()
    )


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ('{"content": " Room not found\\n"}', "Room not found"),
        ('{"content": {"message": "no"}}', "no"),
        ('{"error": {"message": "the quota is gone", "code": 429}}', "the quota is gone"),
        ('{"content": "", "detail": "no such model"}', "no such model"),
        ('"boom"', "boom"),
        ("<h1>Bad Gateway</h1>", "<h1>Bad Gateway</h1>"),
        *((data, NOTHING_SAID) for data in ("", "{}", "null", "[]", '{"content": null}', '{"content": ""}')),
        ('{"code": 500}', f'{NO_REASON}, only {{"code": 500}}: {ADVICE}'),
        (NESTED, f"{NO_REASON}, only {NESTED}: {ADVICE}"),
    ],
)
def test_an_error_always_says_something_that_a_person_can_act_on(data: str, said: str) -> None:
    assert decode("error", data) == ev.RunFailed(said)


def test_an_agents_error_without_a_reason_says_so() -> None:
    assert decode("agent_error", '{"agent":"Ada"}') == ev.TurnFailed(NOTHING_SAID, "", "Ada")


@pytest.mark.parametrize(
    "data", ["", "null", "[]", "<html>", '{"round": "x", "total_rounds": []}', "[" * 5000]
)
def test_the_last_event_of_a_run_ends_it_whatever_its_data_are(data: str) -> None:
    assert decode("room_completed", data) == ev.RunCompleted("", 0)
    assert decode("room_paused", data) == ev.RunPaused("", None, "")


def test_the_two_shapes_of_agent_error_are_one_event() -> None:
    assert decode("agent_error", '{"agent":"Ada","error":"x"}') == ev.TurnFailed("x", "", "Ada")
    assert decode("agent_error", '{"agent_id":"a","agent_name":"Ada","error":"x"}') == ev.TurnFailed(
        "x", "a", "Ada"
    )


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("no_such_event", "{}"),
        ("message_chunk", "not json"),
        ("message_chunk", "[1]"),
        ("message_chunk", "17"),
        ("message_chunk", "{}"),
        ("round_start", '{"round":NaN}'),
        ("round_start", '{"round":"one"}'),
        ("round_end", "[" * 2000),
        ("agent_status", '{"agent_id":"a"}'),
        ("", ""),
    ],
)
def test_what_does_not_fit_is_kept_as_unknown_with_a_reason(name: str, data: str) -> None:
    event = decode(name, data)
    assert isinstance(event, ev.Unknown)
    assert (event.name, event.data) == (name, data)
    assert event.reason


def test_careless_types_are_read_all_the_same() -> None:
    assert decode("message_chunk", '{"id":5,"content":null,"more":{}}') == ev.TextAdded("5", "")
    assert decode("message_end", '{"id":5,"content":"x","token_count":null}') == ev.TurnEnded("5", "x", 0)
    stored = decode("message", '{"id":"m","content":{"text":"hi"},"round_number":null}')
    assert isinstance(stored, ev.MessageStored)
    assert stored.message.text == "hi"


def test_half_a_surrogate_pair_becomes_a_replacement_character() -> None:
    assert decode("message_chunk", '{"id":"1","content":"a\\ud800b"}') == ev.TextAdded("1", "a\ufffdb")


@given(st.text(max_size=20), st.text(max_size=40))
def test_decoding_never_raises(name: str, data: str) -> None:
    assert decode(name, data) is not None


@given(st.text())
def test_content_is_read_as_it_was_written(text: str) -> None:
    clean = text.encode("utf-8", "replace").decode()
    assert content_text(steps_content(clean)) == clean
    assert content_text(text_content(clean)) == clean


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("plain", "plain"),
        ("{broken", "{broken"),
        ('{"other":1}', '{"other":1}'),
        ('{"text":5}', '{"text":5}'),
        ('{"steps":[{"type":"thinking","content":"a"},{"type":"text","content":"b"},7]}', "b"),
        ('{"steps":[{"type":"text","content":"b"},{"type":"text","content":"c"}]}', "b\n\nc"),
        ('{"steps":[]}', ""),
        ("[1]", "[1]"),
    ],
)
def test_content_of_every_shape_becomes_text(content: str, text: str) -> None:
    assert content_text(content) == text


def test_a_room_is_read_with_its_agents_in_turn_order() -> None:
    room = decode_room(
        {
            "id": 4,
            "name": None,
            "status": "paused",
            "turn_order": ["b", "a"],
            "agents": [{"id": "a", "name": "A"}, {"id": "b", "name": "B"}],
            "surprise": [],
        }
    )
    assert (room.id, room.name, [agent.id for agent in room.agents]) == ("4", "", ["b", "a"])


@pytest.mark.parametrize("queue", [None, 7, "queue", {"id": "m"}, [7, None, "x", {}, {"content": "no id"}]])
def test_a_room_is_shown_whatever_its_queue_holds(queue: object) -> None:
    room = decode_room({"id": "r", "queue": queue, "archived": None, "keep_running": None, "max_cost": None})
    assert (room.queue, room.archived, room.max_cost) == ((), False, 0.0)


def test_what_waits_is_read_among_what_does_not_fit() -> None:
    room = decode_room({"id": "r", "queue": [{"id": 5, "content": None, "more": 1}, "rubbish"]})
    assert room.queue == (ev.QueuedMessage("5", ""),)


@pytest.mark.parametrize("usage", [None, 7, "much", [], {"prompt_tokens": "many"}, {"cost": []}])
def test_a_usage_that_is_none_is_left_out(usage: object) -> None:
    data = json.dumps({"id": "m", "content": "x", "token_count": 1, "usage": usage})
    assert decode("message_end", data) == ev.TurnEnded("m", "x", 1)


def test_what_is_noted_of_a_stored_message_comes_back_as_it_was() -> None:
    noted = replace(MESSAGE, notes=(ev.Note("no_tools"), ev.Note("server_missing", "slow: it ended")))
    fields = message_fields(noted)
    assert fields["notes"] == [{"note": "no_tools"}, {"note": "server_missing", "about": "slow: it ended"}]
    assert decode_messages([fields])[0] == [noted]


@pytest.mark.parametrize("notes", [None, 7, "no_tools", {"note": "no_tools"}, [7, None, {}, []]])
def test_a_message_is_shown_whatever_its_server_notes_of_it(notes: object) -> None:
    ((message,), *_) = decode_messages([{"id": "m", "content": "x", "notes": notes}])
    assert (message.text, message.notes) == ("x", ())


def test_lists_are_read_bare_or_wrapped_and_skip_what_does_not_fit() -> None:
    assert [room.id for room in decode_rooms([{"id": "x"}, 7, {}])] == ["x"]
    assert [room.id for room in decode_rooms({"rooms": [{"id": "x"}]})] == ["x"]
    assert decode_rooms("rubbish") == []
    messages, following, as_of = decode_messages({"messages": [{"id": "m"}, 1], "next": "m", "as_of": 9})
    assert ([m.id for m in messages], following, as_of) == (["m"], "m", 9)
    assert decode_messages([{"id": "m"}])[1:] == (None, None)


def test_tokens_and_progress_are_the_protocols() -> None:
    assert (token_count("1234567"), progress(399), progress(10**6)) == (1, 19, 95)
