"""The three forms of a chat's stream, made of one log: which frames, which fields, from anywhere in it."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.http.chat_forms import ClientForm, Snapshots, form_of_accept, in_form
from agent_tui.backend.hub import Batch
from agent_tui.backend.store.rows import StoredFrame
from agent_tui.model import events as ev
from agent_tui.wire.content import dump
from agent_tui.wire.steps_encode import step_fields

Event = tuple[str, dict[str, Any]]


def step(number: int, type_: str, **fields: Any) -> Event:
    return "process_step", {"step": {"id": f"step-{number}", "index": number, "type": type_, **fields}}


def call(number: int, arguments: str) -> Event:
    return step(number, "tool_call", id_ref=f"call_{number}", name="look", arguments=arguments)


def result(number: int, of: int) -> Event:
    return step(number, "tool_result", id_ref=f"step-{of}", name="look", content="{}", success=True)


def said(number: int, content: str) -> Event:
    return "process_step_delta", {"id": f"step-{number}", "content": content}


def asked_for(number: int, arguments: str) -> Event:
    return "process_step_delta", {"id": f"step-{number}", "arguments": arguments}


def stands(number: int, status: str) -> Event:
    return "tool_status", {"id": f"step-{number}", "status": status}


DONE: Event = ("done", {"message_id": "a", "token_count": 1, "usage": {}})
ANSWER: list[Event] = [
    ("message", {"id": "q"}),
    ("answer_started", {"message_id": "a"}),
    ("conversation", {"id": "c"}),
    step(0, "thinking", content=""),
    said(0, "Über "),
    said(0, '"so"\n'),
    step(1, "text", content=""),
    said(1, "目标: "),
    said(1, "😀\\"),
    call(2, ""),
    call(3, ""),
    asked_for(2, '{"a":'),
    asked_for(3, '{"b":'),
    asked_for(2, "1}"),
    call(2, '{"a":1}'),
    stands(2, "running"),
    call(3, '{"b":'),
    stands(3, "failed"),
    result(4, 3),
    stands(2, "done"),
    result(5, 2),
    step(6, "text", content=""),
    said(6, "It is."),
    ("answer_ended", {"message_id": "a"}),
    ("conversation", {"id": "c"}),
    DONE,
]


def log(*events: Event) -> list[StoredFrame]:
    return [StoredFrame("c", seq, name, dump(fields), "a") for seq, (name, fields) in enumerate(events, 1)]


async def batched(*batches: Sequence[StoredFrame]) -> AsyncGenerator[list[StoredFrame], None]:
    for batch in batches:
        yield list(batch)


async def sent(
    form: ClientForm, *batches: Sequence[StoredFrame], after: int = 0, ends: Sequence[str] = ("done",)
) -> list[StoredFrame]:
    """Return all frames that go out for ``batches``."""
    stream = in_form(batched(*batches), form, after, lambda frame: frame.name in ends)
    return [frame async for frames in stream for frame in frames]


def told(frames: Sequence[StoredFrame]) -> list[tuple[int, str, Any]]:
    """Return (id, name, what its data or its step says) of each frame."""
    fields = [(frame.seq, frame.name, json.loads(frame.data)) for frame in frames]
    return [(seq, name, data.get("step", data)) for seq, name, data in fields]


# --- which form ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", ClientForm.PLAIN),
        ("*/*", ClientForm.PLAIN),
        ("text/event-stream", ClientForm.PLAIN),
        ("text/event-stream; deltas=0; full=1", ClientForm.PLAIN),
        ("text/event-stream; full=1", ClientForm.PLAIN),
        ("application/json; deltas=1", ClientForm.PLAIN),
        ("*/*; deltas=1", ClientForm.PLAIN),
        ("text/event-streams;deltas=1", ClientForm.PLAIN),
        ("text/event-stream; deltas=1", ClientForm.DELTAS),
        ("text/event-stream;deltas=1", ClientForm.DELTAS),
        ("Text/Event-Stream ; Deltas = 1", ClientForm.DELTAS),
        ('text/event-stream; deltas="1"', ClientForm.DELTAS),
        ("application/json, text/event-stream; deltas=1; q=0.5, */*; q=0.1", ClientForm.DELTAS),
        ("text/event-stream; deltas=1; full=1", ClientForm.FULL),
        ("text/event-stream; full=1; x; deltas=1;", ClientForm.FULL),
        ("text/event-stream, text/event-stream; deltas=1; full=1", ClientForm.FULL),
        ("text/event-stream; deltas=1; full=1; q=0", ClientForm.PLAIN),
        ("text/event-stream; q=0.9, text/event-stream; deltas=1; q=0.8", ClientForm.PLAIN),
        ("text/event-stream; q=0.2, text/event-stream; deltas=1; q=0.8", ClientForm.DELTAS),
        ('application/x; a="text/event-stream; deltas=1, text/event-stream; deltas=1"', ClientForm.PLAIN),
        ('text/event-stream; a="\\"; deltas=1"', ClientForm.PLAIN),
        ('text/event-stream; deltas=1; a="', ClientForm.DELTAS),
        ("text/event-stream; deltas=1; q=nan", ClientForm.DELTAS),
        (",;,=;;,", ClientForm.PLAIN),
    ],
)
def test_the_accept_header_says_which_form(accept: str, form: ClientForm) -> None:
    assert form_of_accept(accept) is form


@given(st.text(alphabet='text/event-stream;,="\\ deltas1full', max_size=200))
def test_no_accept_header_is_too_strange(accept: str) -> None:
    assert form_of_accept(accept) in ClientForm


def test_a_huge_accept_header_takes_no_time() -> None:
    assert form_of_accept('"\\' * 30_000 + "," * 30_000 + "text/event-stream; deltas=1") is ClientForm.PLAIN


# --- each form -----------------------------------------------------------------------------------------


async def test_the_full_form_is_the_log_and_its_batches_are_shared() -> None:
    frames = log(*ANSWER)
    shared = Batch(frames[:5])
    stream = in_form(batched_as_is(shared), ClientForm.FULL, 0, lambda frame: False)
    assert [batch is shared async for batch in stream] == [True]
    assert await sent(ClientForm.FULL, frames) == frames


async def batched_as_is(batch: Batch) -> AsyncGenerator[list[StoredFrame], None]:
    yield batch


async def test_the_deltas_form_is_the_log_without_what_only_we_know() -> None:
    frames = log(*ANSWER)
    ours = {"message", "answer_started", "conversation", "tool_status", "answer_ended"}
    assert await sent(ClientForm.DELTAS, frames) == [frame for frame in frames if frame.name not in ours]


async def test_the_plain_form_has_each_step_whole_and_nothing_else() -> None:
    thought = {"id": "step-0", "index": 0, "type": "thinking"}
    words = {"id": "step-1", "index": 1, "type": "text"}
    first = {"id": "step-2", "index": 2, "type": "tool_call", "id_ref": "call_2", "name": "look"}
    second = {"id": "step-3", "index": 3, "type": "tool_call", "id_ref": "call_3", "name": "look"}
    rest = [
        (16, "process_step", {**first, "arguments": '{"a":1}'}),
        (18, "process_step", {**second, "arguments": '{"b":'}),
        (19, "process_step", result(4, 3)[1]["step"]),
        (21, "process_step", result(5, 2)[1]["step"]),
        (23, "process_step", {"id": "step-6", "index": 6, "type": "text", "content": "It is."}),
        (26, *DONE),
    ]
    one_by_one = await sent(ClientForm.PLAIN, *([frame] for frame in log(*ANSWER)))
    assert told(one_by_one) == [
        (5, "process_step", {**thought, "content": "Über "}),
        (6, "process_step", {**thought, "content": 'Über "so"\n'}),
        (8, "process_step", {**words, "content": "目标: "}),
        (9, "process_step", {**words, "content": "目标: 😀\\"}),
        *rest,
    ]
    at_once = await sent(ClientForm.PLAIN, log(*ANSWER))
    assert told(at_once) == [
        (6, "process_step", {**thought, "content": 'Über "so"\n'}),
        (9, "process_step", {**words, "content": "目标: 😀\\"}),
        *rest,
    ]


async def test_agents_that_speak_at_once_are_each_whole_in_the_plain_form() -> None:
    def words(number: int, type_: str, content: str) -> Event:
        named = {"name": "helper"} if type_ == "sub_agent" else {}
        return step(number, type_, **named, content=content)

    events = [
        ANSWER[1],
        words(0, "sub_agent", ""),
        said(0, "I look"),
        words(1, "text", ""),
        said(1, "It looks."),
        said(0, " here."),
        DONE,
    ]
    at_once = await sent(ClientForm.PLAIN, log(*events))
    assert told(at_once) == [
        (3, "process_step", words(0, "sub_agent", "I look")[1]["step"]),
        (5, "process_step", words(1, "text", "It looks.")[1]["step"]),
        (6, "process_step", words(0, "sub_agent", "I look here.")[1]["step"]),
        (7, *DONE),
    ]


@pytest.mark.parametrize("type_", ["text", "thinking", "sub_agent"])
def test_the_words_of_a_step_are_its_last_field_in_which_they_can_grow(type_: str) -> None:
    assert list(step_fields(ev.Step("step-0", type=type_, name="helper", content="x")))[-1] == "content"


async def test_a_call_without_arguments_is_sent_once_in_the_plain_form() -> None:
    frames = log(ANSWER[1], call(0, ""), call(0, ""), stands(0, "asks"), stands(0, "running"), DONE)
    assert [seq for seq, _, _ in told(await sent(ClientForm.PLAIN, *([frame] for frame in frames)))] == [4, 6]


async def test_a_call_whose_name_came_last_is_sent_once_in_every_form() -> None:
    frames = log(ANSWER[1], call(0, ""), stands(0, "failed"), result(1, 0), DONE)
    for form in (ClientForm.PLAIN, ClientForm.DELTAS):
        assert len(told(await sent(form, frames))) == 3


async def test_steps_of_the_next_answer_have_nothing_of_the_one_before() -> None:
    again = [
        ANSWER[1],
        step(0, "text", content=""),
        said(0, "Anew."),
        call(1, ""),
        stands(1, "running"),
        DONE,
    ]
    frames = log(ANSWER[1], step(0, "text", content=""), said(0, "Old."), call(1, "{}"), *again)
    plain = told(await sent(ClientForm.PLAIN, *([frame] for frame in frames)))
    assert [step.get("content", step.get("arguments")) for _, _, step in plain] == ["Old.", "Anew.", "", None]


async def test_a_stream_ends_with_its_last_frame_whatever_comes_behind_it() -> None:
    frames = log(*ANSWER, ("conversation", {"id": "c"}), ("answer_started", {}), DONE)
    for form in ClientForm:
        for batches in ([frames], [[frame] for frame in frames]):
            assert (await sent(form, *batches))[-1].seq == len(ANSWER)


async def test_the_last_frame_is_sent_to_those_too_who_know_it() -> None:
    for form in ClientForm:
        assert [frame.seq for frame in await sent(form, log(*ANSWER), after=1000)] == [len(ANSWER)]


# --- from anywhere -------------------------------------------------------------------------------------


@pytest.mark.parametrize("after", range(len(ANSWER)))
@pytest.mark.parametrize("size", [1, 3, 100])
async def test_who_comes_back_anywhere_has_the_same_frames_from_there(after: int, size: int) -> None:
    frames = log(*ANSWER)
    batches = [frames[at : at + size] for at in range(0, len(frames), size)]
    for form in ClientForm:
        whole = await sent(form, *batches)
        assert await sent(form, *batches, after=after) == [frame for frame in whole if frame.seq > after]


pieces = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
spoken = st.lists(st.lists(pieces, min_size=1, max_size=6), min_size=1, max_size=4)


@given(spoken, st.lists(st.integers(1, 7), min_size=1), st.integers(0, 40))
async def test_plain_and_deltas_tell_the_same_however_they_are_sent(
    steps: list[list[str]], sizes: list[int], after: int
) -> None:
    events: list[Event] = [ANSWER[1]]
    for number, words in enumerate(steps):
        events += [step(number, "text", content=""), *(said(number, word) for word in words)]
    frames = log(*events, DONE)
    batches: list[list[StoredFrame]] = []
    at = 0
    while at < len(frames):
        size = sizes[len(batches) % len(sizes)]
        batches.append(frames[at : at + size])
        at += size
    whole = {f"step-{number}": "".join(words) for number, words in enumerate(steps)}
    plain = told(await sent(ClientForm.PLAIN, *batches))
    assert {one["id"]: one["content"] for _, name, one in plain if name == "process_step"} == whole
    ids = [seq for seq, _, _ in plain]
    assert ids == sorted(set(ids))
    late = await sent(ClientForm.PLAIN, *batches, after=after)
    assert {frame.seq: frame.data for frame in late}.items() <= {
        frame.seq: frame.data for frame in await sent(ClientForm.PLAIN, *([frame] for frame in frames))
    }.items()


def test_a_snapshot_is_written_as_its_step_would_be() -> None:
    hostile = 'a"\\\n\r\t\x00\x1b\u2028\u202e😀é'
    frames = log(ANSWER[1], step(0, "text", content=""), *(said(0, char) for char in hostile))
    assert Snapshots().frames(frames)[0].data == dump(step(0, "text", content=hostile)[1])
