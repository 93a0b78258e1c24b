"""Event streams of chats: what each reader gets, who comes back, who leaves."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest

from agent_tui.backend.models.model import CallPiece, ThinkingPiece
from tests.backend.chat_backend import (
    DELTAS,
    FULL,
    PLAIN,
    ChatBackend,
    chat_backend,
    grown,
    names,
)
from tests.backend.engine.chat_house import speaks
from tests.backend.wire_client import Frame
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import reader

ROUND: Script = [
    ThinkingPiece("I "),
    ThinkingPiece("look."),
    "Let me\n",
    "see.",
    CallPiece(0, "call_a", "look", '{"at": '),
    CallPiece(0, arguments='"目标"}'),
]
WORDS = ["It ", "is ", "blue."]
OURS = {"message", "answer_started", "conversation", "tool_status", "answer_ended"}


@pytest.fixture
async def looking(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    """A backend whose model thinks, speaks, looks and speaks again, at once."""
    async with chat_backend(tmp_path, speaks(ROUND, WORDS), reader()) as running:
        yield running


@pytest.fixture
async def held(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    """A backend whose model says each of the words when the test lets it."""
    async with chat_backend(tmp_path, ScriptedModel(lambda request: WORDS), reader()) as running:
        yield running


@pytest.mark.parametrize("headers", [PLAIN, DELTAS, FULL])
async def test_every_form_tells_the_same_steps_and_ends_with_done(
    looking: ChatBackend, headers: Mapping[str, str]
) -> None:
    path = await looking.chat()
    frames = await looking.ask(path, headers=headers)
    stored = (await looking.client.call("GET", f"{path}/messages")).json["messages"][-1]
    assert list(grown(frames).values()) == json.loads(stored["content"])["steps"]
    assert names(frames)[-1] == "done"
    assert [frame.id for frame in frames] == sorted({frame.id for frame in frames})
    assert bool(OURS & set(names(frames))) == (headers is FULL)
    assert ("process_step_delta" in names(frames)) == (headers is not PLAIN)


async def test_the_full_form_begins_with_the_question_and_has_no_gap(looking: ChatBackend) -> None:
    path = await looking.chat()
    frames = await looking.ask(path, "Blue?", headers=FULL)
    assert [frame.id for frame in frames] == list(range(1, len(frames) + 1))
    assert names(frames)[:3] == ["message", "answer_started", "conversation"]
    assert json.loads(frames[0].fields["content"])["text"] == "Blue?"
    assert frames[1].fields["parent_id"] == frames[0].fields["id"]
    assert names(frames)[-3:] == ["answer_ended", "conversation", "done"]
    statuses = [frame.fields["status"] for frame in frames if frame.name == "tool_status"]
    assert statuses == ["running", "done"]


async def test_deltas_of_a_call_come_between_its_beginning_and_the_whole(looking: ChatBackend) -> None:
    frames = await looking.ask(await looking.chat(), headers=DELTAS)
    first, *_, last = [
        frame for frame in frames if frame.name == "process_step" and frame.fields["step"]["index"] == 2
    ]
    assert (first.fields["step"]["arguments"], last.fields["step"]["arguments"]) == ("", '{"at": "目标"}')
    added = [
        frame.fields["arguments"]
        for frame in frames
        if first.id < frame.id < last.id and "id" in frame.fields
    ]
    assert "".join(added) == '{"at": "目标"}'


async def test_an_answer_that_fails_ends_with_its_error(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, speaks(["Well, ", RuntimeError("no network")])) as running:
        frames = await running.ask(await running.chat())
        assert names(frames)[-1] == "error"
        assert "no network" in frames[-1].fields["content"]


# --- coming back ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [PLAIN, DELTAS, FULL])
async def test_who_comes_back_after_any_event_gets_the_rest(
    looking: ChatBackend, headers: Mapping[str, str]
) -> None:
    path = await looking.chat()
    frames = await looking.ask(path, headers=headers)
    told = grown(frames)
    for place, seen in enumerate(frames[:-1]):
        by_query = await looking.all_frames("GET", f"{path}/events?after={seen.id}", headers=headers)
        by_header = await looking.all_frames(
            "GET", f"{path}/events?after=0", headers={**headers, "last-event-id": str(seen.id)}
        )
        assert [frame.raw for frame in by_query] == [frame.raw for frame in by_header]
        assert grown([*frames[: place + 1], *by_query]) == told
        assert by_query[-1].raw == frames[-1].raw
        if headers is not PLAIN:
            assert [frame.raw for frame in by_query] == [frame.raw for frame in frames[place + 1 :]]


async def test_nothing_running_and_nothing_newer_is_a_204(looking: ChatBackend) -> None:
    path = await looking.chat()

    async def status(query: str, headers: Mapping[str, str] = PLAIN) -> int:
        return (await looking.client.call("GET", f"{path}/events{query}", headers=headers)).status

    assert await status("") == 204
    last = (await looking.ask(path))[-1].id
    assert await status("") == 200
    assert await status(f"?after={last}") == 204
    assert await status("?after=999999999") == 204
    assert await status("", {"last-event-id": str(last)}) == 204
    await looking.client.call("PATCH", path, {"title": "Sky"})
    assert await status(f"?after={last}", PLAIN) == 204  # nothing that this form would say
    assert await status(f"?after={last}", DELTAS) == 204
    news = await looking.all_frames("GET", f"{path}/events?after={last}", headers=FULL)
    assert [(frame.name, frame.fields["title"]) for frame in news] == [("conversation", "Sky")]
    assert await status("?after=x") == 400
    assert await status("", {"last-event-id": "-1"}) == 400


async def test_a_reader_is_told_one_answer_at_a_time(looking: ChatBackend) -> None:
    path = await looking.chat()
    first, second = await looking.ask(path, headers=FULL), await looking.ask(path, headers=FULL)
    for headers in (PLAIN, DELTAS, FULL):
        one = await looking.all_frames("GET", f"{path}/events?after=0", headers=headers)
        two = await looking.all_frames("GET", f"{path}/events?after={one[-1].id}", headers=headers)
        assert (one[-1].raw, two[-1].raw) == (first[-1].raw, second[-1].raw)
        newest = await looking.all_frames("GET", f"{path}/events", headers=headers)  # who names no event
        assert (newest[-1].raw, grown(newest)) == (second[-1].raw, grown(second))


async def test_leaving_never_stops_an_answer_and_who_comes_back_hears_the_rest_live(
    held: ChatBackend,
) -> None:
    path = await held.chat()
    for number, headers in enumerate((PLAIN, DELTAS, FULL), 1):
        async with held.client.open("POST", f"{path}/messages", {"content": "Well?"}, headers) as stream:
            answering = await held.model.called(number)
            answering.release()
            frames = []
            async for frame in stream.frames():
                frames.append(frame)
                if any(step["content"] == "It " for step in grown(frames).values()):
                    break
        assert answering.open
        answering.release()
        last = {**headers, "last-event-id": str(frames[-1].id)}
        async with held.client.open("GET", f"{path}/events", headers=last) as stream:
            answering.finish()
            frames += [frame async for frame in stream.frames()]
        assert grown(frames)["step-0"]["content"] == "It is blue."
        assert names(frames)[-1] == "done"


async def test_the_same_client_key_attaches_to_the_answer_and_asks_nothing_again(held: ChatBackend) -> None:
    path = await held.chat()
    asking = [
        asyncio.create_task(held.ask(path, headers=headers, client_key="key-1"))
        for headers in (FULL, PLAIN, FULL)
    ]
    (await held.model.called(1)).finish()
    one, plain, two = await asyncio.gather(*asking)
    assert [frame.raw for frame in one] == [frame.raw for frame in two]
    assert plain[-1].raw == one[-1].raw
    late = await held.ask(path, "something else", headers=FULL, client_key="key-1")
    assert [frame.raw for frame in late] == [frame.raw for frame in one]
    seen = {**FULL, "last-event-id": str(one[3].id)}
    rest = await held.ask(path, headers=seen, client_key="key-1")
    assert [frame.raw for frame in rest] == [frame.raw for frame in one[4:]]
    assert len(held.model.calls) == 1


async def test_two_readers_at_once_hear_the_same_and_one_that_follows_hears_every_answer(
    held: ChatBackend,
) -> None:
    path = await held.chat()
    async with (
        held.client.open("GET", f"{path}/events?follow=1", headers=FULL) as followed,
        held.client.open("GET", f"{path}/events?follow=1", headers=PLAIN) as plain,
    ):
        assert (followed.status, plain.status) == (200, 200)
        asked = []
        for number in (1, 2):
            asking = asyncio.create_task(held.ask(path, headers=FULL))
            (await held.model.called(number)).finish()
            asked += await asking
        heard = await until_ends(followed.frames(), 2)
        assert [frame.raw for frame in heard] == [frame.raw for frame in asked]
        plainly = await until_ends(plain.frames(), 2)
        assert {step["content"] for step in grown(plainly).values()} == {"It is blue."}
        assert plainly[-1].raw == asked[-1].raw
        await held.client.call("DELETE", path)
        assert [frame async for frame in followed.frames()] == []  # a deleted conversation has no events


async def until_ends(frames: AsyncIterator[Frame], ends: int) -> list[Frame]:
    """Return the frames up to that end of an answer."""
    heard: list[Frame] = []
    while sum(frame.name in ("done", "error") for frame in heard) < ends:
        heard.append(await anext(frames))
    return heard


async def test_what_was_said_long_ago_comes_as_one_snapshot(held: ChatBackend) -> None:
    path = await held.chat()
    async with held.client.open("POST", f"{path}/messages", {"content": "Well?"}) as stream:
        answering = await held.model.called(1)
        frames = stream.frames()
        for said in ("It ", "It is ", "It is blue."):
            answering.release()
            assert (await anext(frames)).fields["step"]["content"] == said
        answering.finish()
        [done] = [frame async for frame in frames]
    words, again = await held.all_frames("GET", f"{path}/events")
    assert (words.fields["step"]["content"], again.raw) == ("It is blue.", done.raw)


async def test_a_quiet_answer_is_kept_alive(tmp_path: Path) -> None:
    model = ScriptedModel(lambda request: WORDS)
    async with chat_backend(tmp_path, model, keep_alive_seconds=0.02) as running:
        path = await running.chat()
        async with running.client.open("POST", f"{path}/messages", {"content": "Well?"}) as stream:
            answering = await model.called(1)
            answering.release()
            frames = stream.frames()
            await anext(frames)
            async for chunk in stream.chunks():
                assert chunk == b": keep-alive\n\n"
                break
            answering.finish()
