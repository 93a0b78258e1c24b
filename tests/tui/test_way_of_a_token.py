"""How many generators of ours a token passes between its socket and a screen's loop (architecture.md §4)."""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from types import FrameType
from typing import cast

import pytest

import agent_tui
from agent_tui.clients.chat import Question
from agent_tui.model.events import Event, LinkChanged, RoundStarted, StepSet
from tests.fakes.room_link import FakeLink
from tests.fakes.servers.chat_server import LogChatServer, OriginalChatServer
from tests.fakes.servers.http_server import FakeServer
from tests.fakes.servers.rooms_server import LogRoom, LogRoomsServer, OriginalRoomsServer
from tests.tui.room.one_room import OneRoom
from tests.tui.watched import rows_of, until
from tui.link import ChatLink, RoomLink
from tui.request import Server

AGENTS = [{"id": "a", "name": "Mika"}, {"id": "b", "name": "Ada"}]
START = {"role": "assistant", "sender_name": "Mika", "sender_color": "", "round_number": 1, "agent_id": "a"}

OURS = Path(agent_tui.__file__).parent.parent
FOLDERS = tuple(str(OURS / name) for name in ("agent_tui", "tui", "widgets"))


async def generators_of(events: AsyncGenerator[Event, None], happen: Callable[[], None]) -> set[str]:
    """Return the async generators of ours that run between the first live moment and the next event."""
    ran: set[str] = set()

    def look(frame: FrameType, what: str, _: object) -> None:
        code = frame.f_code
        if code.co_flags & inspect.CO_ASYNC_GENERATOR and code.co_filename.startswith(FOLDERS):
            ran.add(code.co_qualname)

    async with aclosing(events):
        try:
            async for event in events:
                if isinstance(event, LinkChanged) and event.status == "live":
                    sys.setprofile(look)
                    happen()
                if isinstance(event, RoundStarted | StepSet):
                    break
        finally:
            sys.setprofile(None)
    return ran


async def follow_room(server: FakeServer) -> AsyncGenerator[Event, None]:
    return await RoomLink(Server(server.url)).follow("r1")


async def run_room(server: FakeServer) -> AsyncGenerator[Event, None]:
    return await RoomLink(Server(server.url)).run("r1")


async def follow_chat(server: FakeServer) -> AsyncGenerator[Event, None]:
    return await ChatLink(Server(server.url)).follow("c1")


async def ask_chat(server: FakeServer) -> AsyncGenerator[Event, None]:
    return await ChatLink(Server(server.url)).ask("c1", Question("What is new?"))


def publish(server: FakeServer) -> None:
    if isinstance(server, LogRoomsServer):
        server.publish("r1", "round_start", {"round": 1, "max_rounds": 2})
    elif isinstance(server, LogChatServer):
        step = {"id": "step-0", "index": 0, "type": "text", "content": "One."}
        server.publish(("answer_started", {"message_id": "m1"}), ("process_step", {"step": step}))


@pytest.mark.parametrize(
    ("make", "reader"),
    [
        (lambda: LogRoomsServer(LogRoom("r1", status="running")), follow_room),
        (OriginalRoomsServer, run_room),
        (LogChatServer, follow_chat),
        (OriginalChatServer, ask_chat),
    ],
    ids=["a room", "a run of a foreign room", "a chat", "an answer of a foreign chat"],
)
async def test_three_generators_lead_from_the_socket_to_the_loop(
    make: Callable[[], FakeServer], reader: Callable[[FakeServer], Awaitable[AsyncGenerator[Event, None]]]
) -> None:
    async with make() as server:
        ran = await generators_of(await reader(server), lambda: publish(server))
    assert len(ran) == 3, sorted(ran)


MAX_CALLS, MAX_FILES = 45, 14


async def calls_of_a_token(app: OneRoom, publish: Callable[[], object]) -> list[str]:
    """Return the calls of ours from the bytes of one frame to the pane that is marked to be drawn."""
    calls: list[str] = []
    is_over = False

    def look(frame: FrameType, what: str, _: object) -> None:
        nonlocal is_over
        code = frame.f_code
        if is_over or what != "call" or not code.co_filename.startswith(FOLDERS):
            return
        name = code.co_qualname
        if calls or name == "Net._body":
            calls.append(f"{Path(code.co_filename).relative_to(OURS)} {name}")
        is_over = bool(calls) and name == "FrameClock.mark"

    sys.setprofile(look)
    try:
        publish()
        await until(lambda: is_over, app)
    finally:
        sys.setprofile(None)
    return calls


async def test_a_token_of_a_room_takes_few_calls_to_the_pane() -> None:
    room = LogRoom("r", status="running", agents=AGENTS)
    async with LogRoomsServer(room) as server:
        link = RoomLink(Server(server.url))
        app = OneRoom(cast("FakeLink", link))
        async with app.run_test(size=(120, 30)):
            server.publish("r", "message_start", {**START, "id": "m1", "room_id": "r"})
            server.publish("r", "message_chunk", {"id": "m1", "content": "The first "})
            await until(lambda: "The first" in rows_of(app), app)
            token = {"id": "m1", "content": "word "}
            calls = await calls_of_a_token(app, lambda: server.publish("r", "message_chunk", token))
        await link.close()
    files = {call.split()[0] for call in calls}
    assert len(calls) <= MAX_CALLS, calls
    assert len(files) <= MAX_FILES, sorted(files)
