from __future__ import annotations

import json
from typing import Any

from agent_tui.model import events as ev
from agent_tui.model.errors import NotFound
from tests.clients.chat_reading import (
    ASK,
    EVENTS,
    after,
    client_of,
    our_answer,
    told,
)
from tests.fakes.clock import FakeClock
from tests.fakes.collector import Collector
from tests.fakes.servers.chat_server import (
    QUESTION,
    LogChatServer,
    OriginalChatServer,
    done,
    frame,
    text,
    user_message,
)
from tests.fakes.servers.http_server import answers_json, streams


def streaming(words: str) -> dict[str, Any]:
    content = {"text": words, "steps": [{"id": "step-0", "index": 0, "type": "text", "content": words}]}
    return {
        "id": "m2",
        "role": "assistant",
        "content": json.dumps(content),
        "parent_id": "m1",
        "status": "streaming",
    }


def said(items: list[ev.Event]) -> str:
    return after(items).whole_text()


async def test_a_conversation_is_followed_from_the_middle_of_an_answer(
    ours: LogChatServer, clock: FakeClock
) -> None:
    events = our_answer()
    ours.publish(*events[:4])
    ours.messages = [user_message("m1", QUESTION), streaming("O")]
    ours.fields = {"status": "running"}
    client = client_of(ours, clock)
    async with Collector(client.follow("c1")) as read:
        await read.until(lambda items: ev.LinkChanged("live") in items)
        ours.publish(*events[4:])
        await read.until(lambda items: any(isinstance(item, ev.TurnDone) for item in items))
        # The same connection goes on with the next answer.
        ours.publish(
            ("message", user_message("m3", "Two?", "m2")),
            ("answer_started", {"message_id": "m4", "parent_id": "m3"}),
            text("Two."),
            ("answer_ended", {"message_id": "m4", "token_count": 1}),
            done("m4"),
        )
        await read.until(lambda items: list(after(items).turns) == ["m1", "m2", "m3", "m4"])
        await read.until(lambda items: ev.TurnDone("m4", "m4", 5, ev.Usage(10, 5)) in items)
    await client.aclose()
    assert isinstance(read.items[1], ev.ConversationLoaded)
    assert said(read.items) == "One.\n\nTwo."
    assert {turn.status for turn in after(read.items).turns.values()} == {"said"}
    assert ours.asked("GET", EVENTS)[0].query == {"after": "4", "follow": "1"}


async def test_a_break_while_following_is_read_on_and_each_event_comes_once(
    ours: LogChatServer, clock: FakeClock
) -> None:
    client = client_of(ours, clock)
    async with Collector(client.follow("c1")) as read:
        await read.until(lambda items: ev.LinkChanged("live") in items)
        for part, words in ((our_answer()[:5], "On"), (our_answer()[5:], "One.")):
            await ours.drop_all()
            ours.publish(*part)
            await read.until(lambda items: getattr(items[-1], "status", "") == "waiting")
            await clock.advance(60)
            await read.until(lambda items, words=words: said(items) == words)  # type: ignore[misc]
    await client.aclose()
    assert said(read.items) == "One."


async def test_frames_that_are_missing_are_asked_for_at_once(ours: LogChatServer, clock: FakeClock) -> None:
    ours.publish(*our_answer())
    ours.as_of = 0
    frames = [frame(name, data, id_) for id_, name, data in ours.log]
    ours.on("GET", EVENTS, streams(*frames[:4], *frames[6:], then="stay"), streams(*frames[4:], then="stay"))
    client = client_of(ours, clock)
    async with Collector(client.follow("c1")) as read:
        await read.until(lambda items: any(isinstance(item, ev.TurnDone) for item in items))
    await client.aclose()
    assert said(read.items) == "One."
    assert [request.query["after"] for request in ours.asked("GET", EVENTS)] == ["0", "4"]
    assert "waiting" not in [getattr(item, "status", "") for item in read.items]


async def test_another_branch_that_somebody_shows_is_loaded(ours: LogChatServer, clock: FakeClock) -> None:
    other = {**streaming("Other."), "id": "m9", "status": ""}
    ours.messages = [user_message("m1", QUESTION), {**streaming("One."), "status": ""}]
    client = client_of(ours, clock)
    async with Collector(client.follow("c1")) as read:
        await read.until(lambda items: ev.LinkChanged("live") in items)
        ours.publish(("conversation", {"id": "c1", "title": "New", "head": "m2"}))
        await read.until(lambda items: isinstance(items[-1], ev.ConversationChanged))
        ours.messages = [user_message("m1", QUESTION), other]
        ours.publish(("conversation", {"id": "c1", "title": "New", "head": "m9"}))
        await read.until(lambda items: list(after(items).turns) == ["m1", "m9"])
    await client.aclose()
    assert said(read.items) == "Other."


async def test_a_server_without_a_log_is_shown_as_it_is_stored(clock: FakeClock) -> None:
    async with OriginalChatServer() as server:
        server.on("GET", ASK, answers_json([user_message("m1", QUESTION)]))
        client = client_of(server, clock)
        async with Collector(client.follow("c1")) as read:
            await read.end()
        await client.aclose()
    assert read.error is None
    assert told(after(read.items)) == [("user", QUESTION, "said")]
    assert isinstance(read.items[-1], ev.LinkChanged)
    assert read.items[-1].status == "ended"


async def test_a_conversation_that_is_not_there_is_not_waited_for(
    ours: LogChatServer, clock: FakeClock
) -> None:
    ours.is_deleted = True
    client = client_of(ours, clock)
    async with Collector(client.follow("c1")) as read:
        await read.end()
    await client.aclose()
    assert isinstance(read.error, NotFound)


async def test_a_conversation_that_is_deleted_ends_the_following(
    ours: LogChatServer, clock: FakeClock
) -> None:
    client = client_of(ours, clock)
    async with Collector(client.follow("c1")) as read:
        await read.until(lambda items: ev.LinkChanged("live") in items)
        ours.is_deleted = True
        await ours.drop_all()
        await read.until(lambda items: getattr(items[-1], "status", "") == "waiting")
        await clock.advance(60)
        await read.end()
    await client.aclose()
    assert isinstance(read.error, NotFound)
