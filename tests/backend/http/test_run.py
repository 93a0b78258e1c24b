"""Runs and their streams, to the letter of cli.md and protocols.md §1."""

from __future__ import annotations

import asyncio
import json
from contextlib import aclosing
from pathlib import Path

import pytest

from agent_tui.backend.models.endpoints import ProviderAddress
from agent_tui.backend.models.model import ModelRequest
from agent_tui.backend.models.remote import RemoteProvider
from agent_tui.clients.http import Net
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model.errors import ModelError
from agent_tui.wire.sse import Frame
from tests.backend.in_process import TOKEN, Backend, backend
from tests.backend.talk import A_TURN, HALF, TEXT, WORDS, names, run_to_end, said, until, until_said
from tests.backend.wire_client import parse_frame
from tests.fakes.full_disk import disk
from tests.fakes.models.model_server import FakeModelServer, says
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel


async def test_a_sequential_run_is_streamed_to_the_letter(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=2)
    frames = await run_to_end(talking, room_id)
    a_round = ["round_start", *A_TURN, *A_TURN, "round_end"]
    assert names(frames) == ["room_started", "message", *a_round, *a_round, "room_completed"]
    assert [frame.id for frame in frames] == list(range(1, len(frames) + 1))
    assert frames[0].fields == {"room_id": room_id, "task": "Redis or PostgreSQL?"}
    task = frames[1].fields
    assert (task["role"], task["sender_name"], task["sender_color"]) == ("user", "用户", "#10b981")
    assert (task["content"], task["round_number"]) == ('{"text":"Redis or PostgreSQL?"}', 0)
    assert frames[2].data == '{"round":1,"max_rounds":2}'
    start, *chunks, end, stored = frames[3 : [frame.name for frame in frames].index("message", 2) + 1]
    assert list(start.fields) == ["id", "room_id", "role", "sender_name", "sender_color", "round_number"]
    for n, chunk in enumerate(chunks, 1):
        assert list(chunk.fields) == ["id", "content", "accumulated"]
        assert chunk.fields["accumulated"] == said(chunks[:n])
    assert said(chunks) == TEXT
    assert end.fields == {"id": start.fields["id"], "content": TEXT, "token_count": len(TEXT) // 4}
    assert list(stored.fields) == ["id", "room_id", "role", "content", "sender_name", "sender_color",
                                   "round_number", "token_count", "created_at"]  # fmt: skip
    assert json.loads(stored.fields["content"]) == {
        "steps": [{"id": "step-0", "index": 0, "type": "text", "content": TEXT}]
    }
    assert "Über" in chunks[0].data  # UTF-8 on the wire, not ASCII escapes
    assert frames[-1].fields == {"room_id": room_id, "total_rounds": 2}


async def test_a_parallel_run_names_the_agents_and_their_progress(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=1, execution_mode="parallel")
    frames = await run_to_end(talking, room_id)
    agents = (await talking.client.call("GET", f"/api/rooms/{room_id}")).json["agents"]
    parallel_start = next(frame for frame in frames if frame.name == "parallel_start")
    assert parallel_start.fields == {
        "round": 1,
        "max_rounds": 1,
        "agents": [{"id": agent["id"], "name": agent["name"]} for agent in agents],
    }
    for agent in agents:
        own = [frame for frame in frames if frame.fields.get("agent_id") == agent["id"]]
        assert names(own) == ["agent_status"] * 2 + [
            "message_start",
            "message_chunk",
            "agent_status",
            "message_end",
        ]
        assert [f.fields["status"] for f in own if f.name == "agent_status"] == [
            "pending",
            "streaming",
            "completed",
        ]
        chunks = [frame.fields for frame in own if frame.name == "message_chunk"]
        assert all(list(c) == ["id", "content", "accumulated", "agent_id", "progress"] for c in chunks)
        assert [c["progress"] for c in chunks] == [len(c["accumulated"]) // 20 for c in chunks]
    assert names(frames)[-3:] == ["parallel_end", "round_end", "room_completed"]
    assert next(f for f in frames if f.name == "parallel_end").fields == {"round": 1, "agent_count": 2}


async def test_accumulated_is_left_out_where_asked_and_nothing_else_differs(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=1)
    lean = await run_to_end(talking, room_id, "?accumulated=0")
    full = await talking.client.frames("GET", f"/api/rooms/{room_id}/events", until="room_completed")
    assert "accumulated" not in "".join(frame.data for frame in lean)
    assert names(lean) == names(full)
    for with_it, without in zip(full, lean, strict=True):
        fields = with_it.fields
        fields.pop("accumulated", None)
        assert fields == without.fields


@pytest.mark.parametrize("query", ["", "?accumulated=0"])
@pytest.mark.parametrize("mode", ["sequential", "parallel"])
async def test_live_and_replayed_frames_are_the_same_bytes_wherever_the_replay_begins(
    talking: Backend, query: str, mode: str
) -> None:
    room_id = await talking.room(max_rounds=1, execution_mode=mode)
    live = await run_to_end(talking, room_id, query)
    for last in range(len(live)):
        replay = await talking.client.frames(
            "GET",
            f"/api/rooms/{room_id}/events{query}",
            until="room_completed",
            headers={"last-event-id": str(last)},
        )
        assert [frame.raw for frame in replay] == [frame.raw for frame in live[last:]]


async def test_a_completed_room_answers_run_with_its_last_word_and_stores_nothing(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=1)
    first = await run_to_end(talking, room_id)
    before = (await talking.client.call("GET", f"/api/rooms/{room_id}")).json
    assert (before["status"], before["last_event_id"]) == ("completed", first[-1].id)
    for headers in ({}, {"last-event-id": str(first[-1].id)}, {"last-event-id": "3"}):
        again = await talking.client.frames("POST", f"/api/rooms/{room_id}/run", headers=headers)
        assert [frame.raw for frame in again] == [first[-1].raw]
    assert (await talking.client.call("GET", f"/api/rooms/{room_id}")).json == before


async def test_a_room_without_agents_fails_in_its_stream(talking: Backend) -> None:
    room_id = await talking.room(agents=0)
    frames = await run_to_end(talking, room_id)
    assert (frames[-1].name, frames[-1].fields) == ("error", {"content": "No agents in room"})
    assert (await talking.client.call("GET", f"/api/rooms/{room_id}")).json["status"] == "error"


async def test_run_while_it_runs_attaches_from_the_start_of_this_run(held: Backend) -> None:
    room_id = await held.room(agents=1, max_rounds=1)
    run = f"/api/rooms/{room_id}/run"
    async with held.client.open("POST", run) as first:
        call = await held.model.called(1)
        call.release(2)
        frames = first.frames()
        seen = await until_said(frames, HALF)
        async with held.client.open("POST", run) as second:
            attached = second.frames()
            assert [f.raw for f in await until_said(attached, HALF)] == [f.raw for f in seen]
            before = {"last-event-id": str(seen[-2].id)}
            async with held.client.open("POST", run, headers=before) as third:
                call.finish()
                late = [frame async for frame in third.frames()]
            rest = [frame async for frame in attached]
        assert [frame.raw async for frame in frames] == [frame.raw for frame in rest]
    assert [frame.raw for frame in late] == [frame.raw for frame in [seen[-1], *rest]]
    assert len(held.model.calls) == 1


async def test_leaving_the_run_stream_does_not_stop_the_room(held: Backend) -> None:
    room_id = await held.room(agents=1, max_rounds=1)
    async with held.client.open("POST", f"/api/rooms/{room_id}/run") as stream:
        await anext(stream.frames())
    call = await held.model.called(1)
    call.finish()
    frames = await held.client.frames("GET", f"/api/rooms/{room_id}/events", until="room_completed")
    assert names(frames) == [
        "room_started",
        "message",
        "round_start",
        *A_TURN,
        "round_end",
        "room_completed",
    ]


# --- pause and resume --------------------------------------------------------------------------------


async def test_pause_ends_the_run_stream_and_resume_goes_on_with_the_very_turn(held: Backend) -> None:
    call = held.client.call
    room_id = await held.room(agents=2, max_rounds=1)
    path = f"/api/rooms/{room_id}"
    async with held.client.open("GET", f"{path}/events") as watching:
        events = watching.frames()
        async with held.client.open("POST", f"{path}/run") as running:
            (await held.model.called(1)).release(2)
            stream = running.frames()
            await until_said(stream, HALF)
            answer = await call("POST", f"{path}/pause")
            assert (answer.status, answer.json["id"]) == (202, room_id)
            cut = [frame async for frame in stream]
        assert names(cut) == ["message_end", "message", "room_paused"]
        assert cut[0].fields["content"] == HALF
        assert {frame.fields["interrupted"] for frame in cut} == {"pause"}
        for _ in range(2):
            again = await call("POST", f"{path}/pause")
            assert (again.status, again.json["status"], again.json["interrupted"]) == (202, "paused", "pause")
        first = await until(events, "room_paused")
        resumed = await call("POST", f"{path}/resume")
        assert (resumed.status, resumed.json["status"]) == (202, "running")
        assert (await call("POST", f"{path}/resume")).status == 202
        for number in (2, 3):
            (await held.model.called(number)).finish()
        second = await until(events, "room_completed")
    assert names(second) == [
        "room_started",
        *A_TURN,
        *A_TURN,
        "round_end",
        "room_completed",
    ]
    assert second[0].fields["resumed"] is True
    assert second[1].fields["sender_name"] == "Agent 1"
    assert second[1].fields["id"] != first[3].fields["id"]
    assert [f.id for f in [*first, *second]] == list(range(1, len(first) + len(second) + 1))
    assert len(held.model.calls) == 3


async def test_pause_and_resume_of_rooms_that_do_not_run_are_harmless(talking: Backend) -> None:
    call = talking.client.call
    path = f"/api/rooms/{await talking.room(max_rounds=1)}"
    idle = (await call("GET", path)).json
    paused = await call("POST", f"{path}/pause")
    assert (paused.status, paused.json) == (202, idle)
    assert (await call("POST", f"{path}/resume")).status == 409
    await talking.client.frames("POST", f"{path}/run")
    done = (await call("GET", path)).json
    assert (await call("POST", f"{path}/pause")).json == done
    assert (await call("POST", f"{path}/resume")).status == 409
    assert (await call("GET", path)).json == done


async def test_deleting_a_room_that_runs_ends_its_streams(held: Backend) -> None:
    room_id = await held.room(agents=1)
    async with held.client.open("GET", f"/api/rooms/{room_id}/events") as stream:
        frames = stream.frames()
        async with held.client.open("POST", f"/api/rooms/{room_id}/run") as running:
            await held.model.called(1)
            assert (await held.client.call("DELETE", f"/api/rooms/{room_id}")).status == 200
            assert [frame async for frame in running.frames()]
        assert [frame async for frame in frames]
    assert held.model.open_calls() == []


# --- events ------------------------------------------------------------------------------------------


async def test_events_begin_after_the_given_id_and_the_header_wins(talking: Backend) -> None:
    room_id = await talking.room(max_rounds=1)
    await run_to_end(talking, room_id)
    events = f"/api/rooms/{room_id}/events"
    for path, headers, first in (
        (events, {}, 1),
        (f"{events}?after=0", {}, 1),
        (f"{events}?after=4", {}, 5),
        (events, {"last-event-id": "6"}, 7),
        (f"{events}?after=4", {"last-event-id": "6"}, 7),
        (f"{events}?after=4", {"last-event-id": ""}, 5),
    ):
        frames = await talking.client.frames("GET", path, until="room_completed", headers=headers)
        assert frames[0].id == first


async def test_ids_and_limits_that_are_no_numbers_are_400(talking: Backend) -> None:
    room_id = await talking.room()
    for bad in ("x", "-1", "1.5", "1_0", "%20", "9" * 30, "%D9%A3", "+1", "0x1"):
        for path in (f"events?after={bad}", f"messages?limit={bad}"):
            answer = await talking.client.call("GET", f"/api/rooms/{room_id}/{path}")
            assert answer.status == 400, path
            assert answer.headers["content-type"] == "application/problem+json"
    for bad in ("0", "9" * 30):
        answer = await talking.client.call("GET", f"/api/rooms/{room_id}/messages?limit={bad}")
        bounds = "limit must be a whole number from 1 to 999,999,999,999,999,999"
        assert (answer.status, answer.json["title"]) == (400, bounds)
    for bad in ("x", "-1", "9" * 30, "m-12"):
        for method, path in (("GET", "events"), ("POST", "run")):
            answer = await talking.client.call(
                method, f"/api/rooms/{room_id}/{path}", headers={"last-event-id": bad}
            )
            assert answer.status == 400, bad
    assert (await talking.client.call("GET", f"/api/rooms/{room_id}")).json["status"] == "idle"


async def test_events_of_a_paused_room_stay_open_and_silent_but_for_comments(tmp_path: Path) -> None:
    async with backend(tmp_path, ScriptedModel(lambda request: WORDS), keep_alive_seconds=0.01) as running:
        room_id = await running.room()
        async with running.client.open("GET", f"/api/rooms/{room_id}/events") as stream:
            chunks = stream.chunks()
            assert [await anext(chunks) for _ in range(5)] == [b": keep-alive\n\n"] * 5


async def test_many_readers_of_a_live_room_all_get_the_same_bytes(held: Backend) -> None:
    room_id = await held.room(agents=1, max_rounds=1)

    async def read() -> list[bytes]:
        path = f"/api/rooms/{room_id}/events"
        return [frame.raw for frame in await held.client.frames("GET", path, until="room_completed")]

    async with asyncio.TaskGroup() as tasks:
        readers = [tasks.create_task(read()) for _ in range(20)]
        running = tasks.create_task(run_to_end(held, room_id))
        call = await held.model.called(1)
        for _ in WORDS:
            call.release()
            await asyncio.sleep(0)
        call.finish()
    assert {tuple(reader.result()) for reader in readers} == {tuple(frame.raw for frame in running.result())}


def test_the_client_of_these_tests_refuses_frames_that_are_not_to_the_letter() -> None:
    assert parse_frame(b": keep-alive") is None
    frame = parse_frame(b'id: 7\nevent: round_end\ndata: {"round":1}')
    assert frame is not None
    assert (frame.id, frame.name, frame.fields) == (7, "round_end", {"round": 1})
    for wrong in (b"event: x\ndata: {}", b"id:7\nevent: x\ndata: {}", b"id: 7\ndata: {}\nevent: x"):
        with pytest.raises(AssertionError):
            parse_frame(wrong)


async def test_a_run_that_a_full_disk_stops_says_so_as_its_last_frame(tmp_path: Path) -> None:
    """It cannot be stored, so it has no id; the room is in order once there is space."""
    model = ScriptedModel(lambda request: ["word ", "x" * 200_000])
    with disk() as space:
        async with (
            backend(tmp_path, model, retry_seconds=[0.01]) as talking,
            Net(f"http://127.0.0.1:{talking.client.port}", token=TOKEN) as net,
        ):
            room_id = await talking.room(max_rounds=1)
            client = RoomsClient(net)
            run = client.run_frames(room_id, give_up_seconds=5.0)
            heard: list[Frame] = []
            async with aclosing(run):
                async for item in run:
                    if not isinstance(item, Frame):
                        continue
                    heard.append(item)
                    if item.event == "message_start":
                        (await model.called(1)).release()
                    if item.event == "message_chunk":
                        space.fill()
                        model.calls[0].finish()
            last, before = heard[-1], heard[-2]
            assert (last.event, last.id) == ("error", before.id)  # as a line without an id means
            assert "the disk is full" in json.loads(last.data)["content"]
            assert (await client.show(room_id)).status == "paused"
            space.free()
            model.free = True
            while (await client.show(room_id)).last_event_id <= int(before.id):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0)
            frames = await run_to_end(talking, room_id)
            assert frames[-1].name == "room_completed"


# --- a provider that is dead ---------------------------------------------------------------------------


def is_dead(request: ModelRequest) -> Script:
    return [ModelError("cannot connect to the provider")]


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
async def test_a_round_in_which_every_turn_failed_pauses_and_is_tried_again_on_resume(
    tmp_path: Path, mode: str
) -> None:
    answers = [is_dead]
    model = ScriptedModel(lambda request: answers[-1](request), free=True)
    async with backend(tmp_path, model) as running:
        room_id = await running.room(max_rounds=5, execution_mode=mode)
        frames = await run_to_end(running, room_id)
        assert names(frames).count("agent_error") == 2
        assert names(frames).count("round_start") == 1
        assert (frames[-1].name, frames[-1].fields) == (
            "room_paused",
            {"room_id": room_id, "round": 1, "interrupted": "error"},
        )
        room = (await running.client.call("GET", f"/api/rooms/{room_id}")).json
        assert (room["status"], room["interrupted"], room["current_round"]) == ("paused", "error", 1)

        again = await run_to_end(running, room_id)  # still dead: one more round of tries, no more
        assert [name for name in names(again) if name != "agent_status"][:1] == ["room_started"]
        assert (names(again).count("agent_error"), again[-1].name) == (2, "room_paused")

        answers.append(lambda request: ["well"])
        mended = await run_to_end(running, room_id)
        assert mended[-1].name == "room_completed"
        spoken = [frame.fields["round_number"] for frame in mended if frame.name == "message_start"]
        assert sorted(spoken) == [round_ for round_ in range(1, 6) for _ in range(2)]


async def test_a_round_in_which_somebody_spoke_goes_on(tmp_path: Path) -> None:
    def one_fails(request: ModelRequest) -> Script:
        return is_dead(request) if request.speaker == "Agent 1" else ["well"]

    async with backend(tmp_path, ScriptedModel(one_fails, free=True)) as running:
        room_id = await running.room(max_rounds=2)
        frames = await run_to_end(running, room_id)
        assert (names(frames).count("agent_error"), frames[-1].name) == (2, "room_completed")


async def test_a_sequential_room_pauses_after_three_failures_in_a_row_of_one_provider(tmp_path: Path) -> None:
    def one_fails(request: ModelRequest) -> Script:
        return is_dead(request) if request.speaker == "Ada" else ["well"]

    model = ScriptedModel(one_fails, free=True)
    async with backend(tmp_path, model) as running:
        pair = [{"name": "Ada", "provider_id": "dead"}, {"name": "Bob", "provider_id": "well"}]
        made = await running.client.call(
            "POST", "/api/rooms", {"task": "Tea?", "max_rounds": 9, "agents": pair}
        )
        room_id = made.json["id"]
        frames = await run_to_end(running, room_id)
        assert frames[-1].fields["interrupted"] == "error"
        assert [frame.fields["round"] for frame in frames if frame.name == "round_start"] == [1, 2, 3]
        assert names(frames).count("agent_error") == 3
        # Resumed, it gives the provider three more tries, and the others are heard meanwhile.
        again = await run_to_end(running, room_id)
        assert (names(again).count("agent_error"), again[-1].fields["interrupted"]) == (3, "error")
        assert names(again).count("message_end") == 2


# --- what real models are told -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("task", "parts"),
    [
        ("Which tea?", ["You are Agent 1. ", "Agent 2", "[Name]:", "round {} of 2"]),
        ("喝什么茶?", ["你是Agent 1。", "Agent 2", "[名字]:", "第{}轮，共2轮"]),
        ("Какой чай?", ["Вы Agent 1. ", "Agent 2", "[Имя]:", "раунд {} из 2"]),
    ],
)
async def test_a_real_model_is_told_who_it_is_who_else_is_there_and_which_round_it_is(
    tmp_path: Path, task: str, parts: list[str]
) -> None:
    async with FakeModelServer() as server:
        server.default = says("[Agent 2]: Green.")
        provider = RemoteProvider(ProviderAddress("p", server.url, key="k"))
        try:
            models = FakeModels(provider.model("m"))
            async with backend(tmp_path, ScriptedModel(lambda request: []), models=models) as running:
                room_id = await running.room(task, max_rounds=2)
                frames = await run_to_end(running, room_id)
        finally:
            await provider.aclose()
    told = [request.body["messages"] for request in server.requests]
    assert [len(messages) for messages in told] == [2, 2, 4, 4]  # neighbours of one role go as one
    for round_, (system, *messages) in ((1, told[0]), (2, told[2])):
        assert system["role"] == "system"
        for part in parts:
            assert part.format(round_) in system["content"]
        assert not any(message["role"] == "system" for message in messages)
    # What was said is stored as it was said; models are told who spoke once.
    ends = [frame.fields["content"] for frame in frames if frame.name == "message_end"]
    assert ends == ["[Agent 2]: Green."] * 4
    assert told[2][-1] == {"role": "user", "content": "[Agent 2]: Green."}
