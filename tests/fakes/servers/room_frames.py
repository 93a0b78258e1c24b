"""What a server of the rooms protocol sends (protocols.md §1), written by hand: messages, frames, a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Event = tuple[str, dict[str, Any]]

TASK = "Should sessions live in Redis?"
AGENTS = ("Mika", "Ada")
WORDS = ("Short ", "answer: ", "нет. ", "因为 ", "it loses data.")


def frame(name: str, data: Mapping[str, Any], id_: int | None = None) -> bytes:
    """Return one SSE frame as the protocol frames it."""
    head = "" if id_ is None else f"id: {id_}\n"
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def stored(message_id: str, text: str, name: str, round_: int, room_id: str = "r1") -> dict[str, Any]:
    """Return a stored message of an agent."""
    content = {"steps": [{"id": "step-0", "index": 0, "type": "text", "content": text}]}
    return {
        "id": message_id,
        "room_id": room_id,
        "role": "assistant",
        "content": json.dumps(content, ensure_ascii=False),
        "sender_name": name,
        "sender_color": "#10b981",
        "round_number": round_,
        "token_count": len(text) // 4,
        "created_at": "2026-03-01T12:00:00+00:00",
    }


def person(words: Mapping[str, Any], room_id: str = "r1") -> dict[str, Any]:
    """Return the stored message of a person's words."""
    message = stored(words["id"], words["content"], "用户", 1, room_id)
    to = {"to": words["to"]} if words.get("to") else {}
    return message | {"role": "user", "content": json.dumps({"text": words["content"]}), **to}


def run_events(
    room_id: str = "r1",
    *,
    agents: Sequence[str] = AGENTS,
    rounds: int = 1,
    words: Sequence[str] = WORDS,
    accumulated: bool = True,
) -> list[Event]:
    """Return a whole run of a sequential room, as the original sends it: no agent ids, no event ids."""
    task = stored("m0", TASK, "用户", 0, room_id) | {"role": "user", "content": json.dumps({"text": TASK})}
    events: list[Event] = [("room_started", {"room_id": room_id, "task": TASK}), ("message", task)]
    for round_ in range(1, rounds + 1):
        events.append(("round_start", {"round": round_, "max_rounds": rounds}))
        for agent in agents:
            events += _turn(f"m-{round_}-{agent}", agent, round_, room_id, words, accumulated)
        events.append(("round_end", {"round": round_}))
    events.append(("room_completed", {"room_id": room_id, "total_rounds": rounds}))
    return events


def _turn(
    message_id: str, agent: str, round_: int, room_id: str, words: Sequence[str], accumulated: bool
) -> Iterator[Event]:
    message = stored(message_id, "".join(words), agent, round_, room_id)
    start = ("id", "room_id", "role", "sender_name", "sender_color", "round_number")
    yield "message_start", {name: message[name] for name in start}
    text = ""
    for word in words:
        text += word
        whole = {"accumulated": text} if accumulated else {}
        yield "message_chunk", {"id": message_id, "content": word, **whole}
    yield "message_end", {"id": message_id, "content": text, "token_count": len(text) // 4}
    yield "message", message
