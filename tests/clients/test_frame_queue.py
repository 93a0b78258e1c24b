"""What waits for a reader who pauses: bounded, in order per source, nothing left out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_tui.clients.frame_queue import FrameQueue
from agent_tui.model.errors import ProtocolError, StreamLost
from agent_tui.wire.agent_socket import SocketFrame
from tests.fakes.agents import agent_socket_server as fake


def socket_frame(fields: dict[str, Any]) -> SocketFrame:
    return SocketFrame(fields["type"], {name: value for name, value in fields.items() if name != "type"})


async def taken(queue: FrameQueue) -> list[dict[str, Any]]:
    return [(await queue.get()).data() for _ in range(len(queue))]


async def test_what_is_taken_at_once_is_as_it_came() -> None:
    queue = FrameQueue()
    sent = [fake.text(word) for word in "abc"]
    for fields in sent:
        queue.put(socket_frame(fields), 1)
    assert await taken(queue) == sent


async def test_more_than_can_be_kept_is_an_error_and_what_was_taken_makes_room() -> None:
    queue = FrameQueue(max_characters=2000)
    for _ in range(100):
        queue.put(socket_frame(fake.text("x" * 500)), 500)
        await queue.get()
    queue.put(socket_frame(fake.text("x" * 500)), 500)
    with pytest.raises(ProtocolError, match="too large"):
        queue.put(socket_frame(fake.text("x" * 1500)), 1500)


async def test_an_error_comes_after_all_that_waits_and_the_first_one_counts() -> None:
    queue = FrameQueue()
    queue.put(socket_frame(fake.text("a")), 1)
    queue.fail(StreamLost("first"))
    queue.fail(StreamLost("second"))
    assert await taken(queue) == [fake.text("a")]
    with pytest.raises(StreamLost, match="first"):
        await queue.get()


async def test_a_reader_who_waits_is_told_and_may_be_cancelled() -> None:
    queue = FrameQueue()
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.put(socket_frame(fake.text("a")), 1)
    assert (await waiting).data() == fake.text("a")


async def test_a_call_that_the_client_is_to_run_counts_as_a_tool_until_its_result() -> None:
    queue = FrameQueue()
    queue.put(socket_frame(fake.client_call("c1", "pick", {})), 1)
    queue.put(SocketFrame("CLIENT_TOOL_RESULT", {"call_id": "c1", "result": 1}), 1)
    await queue.get()
    assert queue.is_in_tool
    await queue.get()
    assert not queue.is_in_tool


async def test_a_result_without_a_name_ends_a_call_of_its_source() -> None:
    queue = FrameQueue()
    nameless = {name: value for name, value in fake.result("", 1).items() if name != "tool_name"}
    for fields in (fake.call("grep", "{}"), fake.call("find", "{}", "other"), nameless):
        queue.put(socket_frame(fields), 1)
    await taken(queue)
    assert queue.is_in_tool  # the other agent's
    queue.put(socket_frame({**nameless, "source": "other"}), 1)
    await queue.get()
    assert not queue.is_in_tool


async def test_a_call_that_was_streamed_before_the_client_was_to_run_it_is_one_call() -> None:
    queue = FrameQueue()
    for fields in (fake.call("pick", "{}"), fake.client_call("c1", "pick", {})):
        queue.put(socket_frame(fields), 1)
    queue.put(SocketFrame("CLIENT_TOOL_RESULT", {"call_id": "c1", "result": 1}), 1)
    await queue.get()
    await queue.get()
    assert queue.is_in_tool
    await queue.get()
    assert not queue.is_in_tool
