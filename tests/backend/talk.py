"""What the agents of these tests say, and how their streams are read."""

from __future__ import annotations

from collections.abc import AsyncIterator

from tests.backend.in_process import Backend
from tests.backend.wire_client import Frame

WORDS = ["Über ", "老王, ", 'I say "no".\n\n', "- a\n- b"]
TEXT = "".join(WORDS)
HALF = "".join(WORDS[:2])
CHUNK = "message_chunk"
A_TURN = ["message_start", "message_chunk", "message_end", "message"]


def names(frames: list[Frame]) -> list[str]:
    """Return the frames' names; chunks in a row count as one, for pieces may be stored together."""
    all_names = [frame.name for frame in frames]
    return [n for n, last in zip(all_names, ["", *all_names], strict=False) if (n, last) != (CHUNK, CHUNK)]


def said(frames: list[Frame]) -> str:
    return "".join(frame.fields["content"] for frame in frames if frame.name == "message_chunk")


async def until(stream: AsyncIterator[Frame], name: str) -> list[Frame]:
    """Return the frames up to the first one called ``name``."""
    frames = [await anext(stream)]
    while frames[-1].name != name:
        frames.append(await anext(stream))
    return frames


async def until_said(stream: AsyncIterator[Frame], text: str) -> list[Frame]:
    """Return the frames up to the chunk with which ``text`` has been said."""
    frames: list[Frame] = []
    while said(frames) != text:
        frames.append(await anext(stream))
    return frames


async def run_to_end(running: Backend, room_id: str, query: str = "") -> list[Frame]:
    return await running.client.frames("POST", f"/api/rooms/{room_id}/run{query}")
