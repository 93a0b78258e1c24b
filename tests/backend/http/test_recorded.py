"""What was said in a voice session stands in a conversation: whole messages, and how they were spoken."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from agent_tui.wire.chat import decode_messages
from tests.backend.chat_backend import A_PATH, FULL, PLAIN, ChatBackend, chat_backend, names, refused
from tests.backend.engine.chat_house import speaks

TIMES = {"started_at": 1_700_000_000.5, "ended_at": 1_700_000_002.0, "whole": 0.61}


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[ChatBackend]:
    async with chat_backend(tmp_path, speaks(["Two rooms are running, and ", "one is paused."])) as running:
        yield running


async def recorded(running: ChatBackend, path: str, **fields: Any) -> str:
    answer = await running.post(f"{path}/messages", {"recorded": fields})
    assert answer.status == 201, answer.body
    message_id = answer.json["message_id"]
    assert isinstance(message_id, str)
    return message_id


def said(role: str, content: str, key: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, "client_key": key, **more}


async def test_what_others_said_is_stored_once_in_order_and_found(session: ChatBackend) -> None:
    path = await session.chat(kind="voice")
    first = said("assistant", "Hello, I listen.", "item-1", speaker="greeter", spoken=TIMES)
    ids = [await recorded(session, path, **first), await recorded(session, path, **first)]
    assert ids[0] == ids[1]
    await recorded(session, path, **said("user", "What is running?", "item-2", spoken=TIMES))
    cut = said("assistant", "Two rooms, and", "item-3", interrupted=True)
    await recorded(session, path, **cut)
    stored = decode_messages((await session.client.call("GET", f"{path}/messages")).json)
    assert [(one.role, one.text, one.interrupted) for one in stored] == [
        ("assistant", "Hello, I listen.", ""),
        ("user", "What is running?", ""),
        ("assistant", "Two rooms, and", "interject"),
    ]
    assert stored[0].sender_name == "greeter"
    assert stored[1].spoken is not None
    assert (stored[1].spoken.started_at, stored[1].spoken.whole) == (TIMES["started_at"], 0.61)
    chat = (await session.client.call("GET", path)).json
    assert (chat["kind"], chat["title"], chat["status"]) == ("voice", "Hello, I listen.", "idle")
    hits = (await session.client.call("GET", "/api/search?q=running")).json["hits"]
    assert [hit["role"] for hit in hits] == ["user"]


async def test_two_programs_that_record_the_same_session_make_one_conversation(session: ChatBackend) -> None:
    body = {"kind": "voice", "title": "demo", "client_key": "livekit:RM_1"}
    made = await asyncio.gather(*(session.post(A_PATH, body) for _ in range(2)))
    assert {answer.status for answer in made} == {201}
    path = f"{A_PATH}/{made[0].json['id']}"
    assert made[0].json["id"] == made[1].json["id"]
    both = (recorded(session, path, **said("user", "Hello", "item-1")) for _ in range(2))
    assert len(set(await asyncio.gather(*both))) == 1
    assert len((await session.client.call("GET", f"{path}/messages")).json["messages"]) == 1


async def test_an_answer_of_ours_says_how_much_of_it_was_heard_and_its_model_is_told_so(
    session: ChatBackend,
) -> None:
    path = await session.chat(kind="voice")
    frames = await session.ask(path, "What is running?", FULL)
    answer_id = next(frame.fields["message_id"] for frame in frames if frame.name == "answer_started")
    spoken = {"text": "Two rooms are", **TIMES}
    assert await recorded(session, path, message_id=answer_id, spoken=spoken) == answer_id
    (_, answer) = decode_messages((await session.client.call("GET", f"{path}/messages")).json)
    assert answer.text == "Two rooms are running, and one is paused."
    assert answer.spoken is not None
    assert answer.spoken.text == "Two rooms are"
    await session.ask(path, "And now?")
    told = session.model.calls[-1].request.messages
    assert [message.content for message in told if message.role == "assistant"] == ["Two rooms are"]
    after = f"{path}/events?after={frames[-1].id}"
    full = await session.all_frames("GET", after, None, FULL)
    assert [frame.fields["spoken"]["text"] for frame in full if frame.name == "message_spoken"] == [
        "Two rooms are"
    ]
    plain = await session.all_frames("GET", after, None, PLAIN)
    assert "message_spoken" not in names(plain)


async def test_what_is_no_message_is_refused(session: ChatBackend) -> None:
    path = await session.chat(kind="voice")
    for fields, status in (
        ({"message_id": "nobody", "spoken": {}}, 404),
        ({"role": "user", "content": "Hi"}, 422),  # no client_key
        ({"role": "system", "content": "Hi", "client_key": "a"}, 422),
        ({"role": "user", "content": " ", "client_key": "a"}, 422),
        ({"role": "user", "content": "Hi", "client_key": "a", "spoken": {"whole": "long"}}, 422),
        ({"message_id": "nobody", "content": "other words"}, 422),
        ("not an object", 422),
    ):
        await refused(session, "POST", f"{path}/messages", {"recorded": fields}, status)
    await refused(session, "POST", A_PATH, {"kind": "opera"}, 422)


async def test_a_question_may_follow_words_that_had_no_answer(session: ChatBackend) -> None:
    path = await session.chat(kind="voice")
    await recorded(session, path, **said("user", "Hm.", "item-1"))
    frames = await session.ask(path, "What is running?")
    assert frames[-1].name == "done"
    listed = (await session.client.call("GET", f"{path}/messages")).json["messages"]
    assert [one["role"] for one in listed] == ["user", "user", "assistant"]
