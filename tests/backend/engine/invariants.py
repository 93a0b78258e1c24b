"""What must hold of a room's log whatever happened: pauses, crashes, restarts, failing models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.engine.plan import is_final
from agent_tui.backend.hub import StoredFrame
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import TurnRow
from agent_tui.model.events import Message, RoomInfo
from agent_tui.wire.rooms_encode import message_fields
from tests.backend.engine.house import TERMINAL, House, data


async def check_room(house: House, room_id: str) -> None:
    """Check the room's log, of which ``house`` has seen all, against what the engine answers."""
    await check_as_it_is(house, await house.engine.show(ROOMS, room_id))


async def check_as_it_is(house: House, room: RoomInfo) -> None:
    """The same for a ``room`` that was just read."""
    room_id = room.id
    page = await house.engine.messages(ROOMS, room_id, None, None)
    assert page.as_of == room.last_event_id
    frames = house.log.of(room_id)
    seqs = [frame.seq for frame in frames]
    assert seqs == sorted(seqs)
    assert sorted([*seqs, *house.log.left_out.get(room_id, ())]) == list(range(1, room.last_event_id + 1))
    check(frames, room, page.messages)
    if room.status == "completed":
        _check_attempts(room, (await house.store.read(reads.state, room_id))[1])


def _check_attempts(room: RoomInfo, turns: Sequence[TurnRow]) -> None:
    """Of the attempts at each turn the last one stands, and it alone."""
    for round_, agent in product(range(max(1, room.max_rounds - 1), room.max_rounds + 1), room.agents):
        of_turn = [row for row in turns if (row.round, row.agent_id) == (round_, agent.id)]
        *before, last = sorted(of_turn, key=lambda row: row.attempt)
        assert [row.attempt for row in (*before, last)] == list(range(1, len(of_turn) + 1))
        assert is_final(last)
        assert not last.again
        assert not last.to_continue
        assert last.status != "superseded"
        continued = {row.continues for row in of_turn}
        assert all(
            row.status in ("superseded", "skipped") or row.continues or row.message_id in continued
            for row in before
            if is_final(row)
        )


def check(frames: Sequence[StoredFrame], room: RoomInfo, messages: Sequence[Message]) -> None:
    """Check the whole log of ``room`` and its stored ``messages`` against each other."""
    _check_runs(frames)
    _check_rounds(frames, room)
    _check_turns(frames, running=room.status == "running")
    _check_chains(frames)
    _check_messages(frames, messages)
    if room.status == "completed":
        _check_completed(frames, room)


def _named(frames: Sequence[StoredFrame], name: str) -> list[dict[str, Any]]:
    return [data(frame) for frame in frames if frame.name == name]


def _check_runs(frames: Sequence[StoredFrame]) -> None:
    """Runs do not overlap; all but the first are marked resumed; nothing is said outside of one.

    Only that a room which was completed has rounds to go again is said between two of them.
    """
    starts = [frame for frame in frames if frame.name == "room_started"]
    assert [data(frame).get("resumed", False) for frame in starts] == [n > 0 for n in range(len(starts))]
    running, before = False, ""
    for frame in frames:
        before, reopened = frame.name, (before, frame.name) == ("room_completed", "room_paused")
        if reopened:
            continue
        assert running != (frame.name == "room_started"), frame
        running = frame.name not in TERMINAL


def _check_rounds(frames: Sequence[StoredFrame], room: RoomInfo) -> None:
    """Rounds begin and end once each, in order."""
    begun = [event["round"] for event in _named(frames, "round_start")]
    ended = [event["round"] for event in _named(frames, "round_end")]
    assert begun == list(range(1, room.current_round + 1))
    assert ended in (begun, begun[:-1])
    parallel = room.execution_mode == "parallel"
    assert [event["round"] for event in _named(frames, "parallel_start")] == (begun if parallel else [])
    assert [event["round"] for event in _named(frames, "parallel_end")] == (ended if parallel else [])


def _check_turns(frames: Sequence[StoredFrame], *, running: bool) -> None:
    """A message begins once, ends once unless it failed, and its chunks are its content."""
    starts = Counter(frame.message_id for frame in frames if frame.name == "message_start")
    ends = Counter(frame.message_id for frame in frames if frame.name in ("message_end", "agent_error"))
    assert set(starts.values()) <= {1}
    assert set(ends.values()) <= {1}
    if not running:
        assert set(starts) <= set(ends)
    for frame in frames:
        if frame.name == "message_end":
            assert frame.message_id in starts
            assert _said(frames, frame.message_id) == data(frame)["content"]


def _check_chains(frames: Sequence[StoredFrame]) -> None:
    """What is continued was said before by the same agent in the same round, and completed once at most."""
    starts = {event["id"]: event for event in _named(frames, "message_start")}
    stored = {event["id"]: event for event in _named(frames, "message")}
    completed: Counter[str] = Counter()
    for frame in frames:
        if frame.name == "message_start" and (before := data(frame).get("continues")):
            event = data(frame)
            assert before in stored
            for name in ("sender_name", "round_number"):
                assert starts[before][name] == event[name]
        elif frame.name == "message_end" and "interrupted" not in data(frame):
            completed[starts[frame.message_id].get("continues", "")] += 1
    del completed[""]
    assert set(completed.values()) <= {1}


def _head(starts: Mapping[str, dict[str, Any]], message_id: str) -> str:
    """Return the id of the message that the chain of this one begins with."""
    while before := starts[message_id].get("continues", ""):
        message_id = before
    return message_id


def _said(frames: Sequence[StoredFrame], message_id: str) -> str:
    chunks = [frame for frame in frames if frame.name == "message_chunk" and frame.message_id == message_id]
    return "".join(data(frame)["content"] for frame in chunks)


def _has_called(frames: Sequence[StoredFrame], message_id: str) -> bool:
    told = (data(frame) for frame in frames if frame.message_id == message_id)
    return any("tool_status" in one for one in told)


def _check_messages(frames: Sequence[StoredFrame], messages: Sequence[Message]) -> None:
    """The stored messages are those of the log; what was cut without words or calls is none; cuts are
    marked.
    """
    # That it was said again since is no part of what was said then.
    stored = {
        message.id: message_fields(replace(message, superseded=False))
        for message in messages
        if message.status != "streaming"
    }
    assert stored == {event["id"]: event for event in _named(frames, "message")}
    assert len(stored) == len(_named(frames, "message"))
    cut = {event["id"]: event for event in _named(frames, "message_end") if "interrupted" in event}
    for message_id, event in cut.items():
        assert (message_id in stored) == (bool(event["content"]) or _has_called(frames, message_id))
        if event["content"]:
            assert stored[message_id]["interrupted"] == event["interrupted"]
    places = {frame.message_id: frame.seq for frame in reversed(frames) if frame.message_id}
    assert [places[message.id] for message in messages] == sorted(places[message.id] for message in messages)


def _check_completed(frames: Sequence[StoredFrame], room: RoomInfo) -> None:
    """Each agent was heard to its end, stopped, skipped or failed, once in each round; all is closed."""
    assert frames[-1].name == "room_completed"
    assert len(_named(frames, "round_end")) == room.max_rounds
    starts = {event["id"]: event for event in _named(frames, "message_start")}
    superseded = {event["supersedes"] for event in starts.values() if "supersedes" in event}
    for id_ in list(superseded):  # with it the attempts that it continues
        while id_ := starts[id_].get("continues", "") if id_ in starts else "":
            superseded.add(id_)
    final = ("", "stop", "skip", "length")
    done = [event["id"] for event in _named(frames, "message_end") if event.get("interrupted", "") in final]
    done += [frame.message_id for frame in frames if frame.name == "agent_error"]
    heads = {_head(starts, id_) for id_ in done if id_ in starts and id_ not in superseded}
    turns = Counter((starts[id_]["round_number"], starts[id_]["sender_name"]) for id_ in heads)
    expected = {(r, a.name) for r in range(1, room.max_rounds + 1) for a in room.agents}
    assert set(turns) <= expected
    assert set(turns.values()) <= {1}
    skipped = [event for event in _named(frames, "agent_status") if event.get("skipped")]
    assert len(expected - set(turns)) <= len(skipped)
