"""What the tests of the chat client share: asking a server, and looking at what came of it."""

from __future__ import annotations

from typing import Any

from agent_tui.clients.chat import ChatClient, Question
from agent_tui.clients.http import Net
from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from tests.fakes.clock import FakeClock
from tests.fakes.collector import Collector
from tests.fakes.servers.chat_server import QUESTION, Event, LogChatServer, done, user_message
from tests.fakes.servers.http_server import FakeServer

ASK = "/api/conversations/c1/messages"
EVENTS = "/api/conversations/c1/events"


def client_of(server: FakeServer, clock: FakeClock) -> ChatClient:
    return ChatClient(Net(server.url, environ={}), clock=clock)


async def asked(server: FakeServer, clock: FakeClock, **fields: Any) -> Collector[ev.Event]:
    """Ask the server and read its answer to the end."""
    client = client_of(server, clock)
    async with Collector(client.ask("c1", Question(QUESTION, **fields))) as reading:
        await reading.end()
    await client.aclose()
    return reading


def after(events: list[ev.Event]) -> ConversationState:
    state = ConversationState()
    for event in events:
        state.apply(event)
    return state


def told(state: ConversationState) -> list[tuple[str, str, str]]:
    return [(turn.role, turn.text, turn.status) for turn in state.turns.values()]


def our_answer(words: str = "One.") -> list[Event]:
    """Return a whole answer in our form, with the question it answers."""
    return [
        ("message", user_message("m1", QUESTION)),
        ("answer_started", {"message_id": "m2", "parent_id": "m1", "model": "demo", "attempt": 1}),
        ("process_step", {"step": {"id": "step-0", "index": 0, "type": "text", "content": ""}}),
        *[("process_step_delta", {"id": "step-0", "content": char}) for char in words],
        ("answer_ended", {"message_id": "m2", "token_count": 2, "seconds": 0.5}),
        done("m2"),
    ]


async def publish_when_asked(server: LogChatServer, *events: Event) -> None:
    await server.until(lambda: bool(server.asked("POST", ASK)))
    server.publish(*events)
