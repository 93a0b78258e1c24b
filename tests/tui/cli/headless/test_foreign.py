"""``rooms run`` and its neighbours against servers of the original system, on real sockets."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.servers.chat_server import LogChatServer, OriginalChatServer
from tests.fakes.servers.http_server import Reply, Request, answers_json, streams
from tests.fakes.servers.room_frames import TASK, frame, person
from tests.fakes.servers.rooms_server import (
    AGENTS,
    WORDS,
    Event,
    LogRoom,
    LogRoomsServer,
    OriginalRoomsServer,
    in_thread,
    run_events,
    stored,
)
from tests.tui.programs import Home, finish, one_line, own_environ

TEXT = "".join(WORDS)
FIRST_CHUNKS = 6  # room_started, message, round_start, message_start and two chunks


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, own_environ(tmp_path))  # no command here starts a backend


@pytest.fixture
def original() -> Iterator[OriginalRoomsServer]:
    with in_thread(OriginalRoomsServer()) as server:
        yield server


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_an_original_server_is_run_to_its_end(home: Home, original: OriginalRoomsServer) -> None:
    done = home.run("rooms", "run", "any-id", "--url", original.url, "--output", "stream-json")
    assert done.returncode == 0, done.stderr
    found = lines(done.stdout)
    assert {line["id"] for line in found} == {None}
    sent = [
        {"event": name, "data": {k: v for k, v in data.items() if k != "accumulated"}}
        for name, data in original.events
    ]
    assert [{"event": line["event"], "data": line["data"]} for line in found[:-1]] == sent
    assert found[-1]["data"] == {"reason": "completed", "text": f"{TEXT}\n\n{TEXT}", "detail": None}
    assert original.posts == 1


def test_its_text_has_the_names_before_the_words(home: Home, original: OriginalRoomsServer) -> None:
    done = home.main("rooms", "run", "r1", "--url", original.url)
    assert (done.returncode, done.stdout) == (0, f"{AGENTS[0]}:\n{TEXT}\n\n{AGENTS[1]}:\n{TEXT}\n")


def test_its_json_has_the_messages_it_streamed(home: Home, original: OriginalRoomsServer) -> None:
    done = home.main("rooms", "run", "r1", "--url", original.url, "--output", "json")
    value = json.loads(done.stdout)
    assert (done.returncode, value["reason"], value["room"]) == (0, "completed", {"id": "r1"})
    assert [message["sender_name"] for message in value["messages"]] == ["用户", *AGENTS]


@pytest.mark.parametrize("then", ["drop", "reset", "end"])
def test_a_stream_that_breaks_off_is_lost_and_never_asked_for_again(home: Home, then: str) -> None:
    with in_thread(OriginalRoomsServer(stop_after=FIRST_CHUNKS, then=then)) as server:
        done = home.main("rooms", "run", "r1", "--url", server.url, "--output", "stream-json")
        assert server.posts == 1
    assert done.returncode == 4
    end = lines(done.stdout)[-1]
    assert (end["event"], end["data"]["reason"], end["data"]["text"]) == ("end", "lost", "Short answer: ")
    assert "broke off" in done.stderr.splitlines()[-1]


def test_a_server_that_offers_no_pause_is_left(home: Home) -> None:
    with in_thread(OriginalRoomsServer(stop_after=FIRST_CHUNKS, then="stay")) as server:
        run = home.start("rooms", "run", "r1", "--url", server.url, "--output", "stream-json")
        assert run.stdout is not None
        read = [run.stdout.readline() for _ in range(FIRST_CHUNKS)]
        run.send_signal(signal.SIGINT)
        out, err = finish(run)
    assert run.returncode == 3
    (end,) = lines(out)
    assert (end["event"], end["data"]["reason"], end["data"]["text"]) == (
        "end",
        "interrupted",
        "Short answer: ",
    )
    assert "no pause" in err
    assert len(read) == FIRST_CHUNKS


def run_with(home: Home, events: list[Event], *options: str) -> Any:
    with in_thread(OriginalRoomsServer(events)) as server:
        return home.main("rooms", "run", "r1", "--url", server.url, *options)


def test_a_run_says_which_files_of_an_agent_were_saved_and_where(home: Home) -> None:
    events, step = run_events(), {"id": "s1", "index": 1, "content": ""}
    at = FIRST_CHUNKS - 2
    told = [
        (
            "message_chunk",
            {"id": events[at][1]["id"], "content": "", "step": {**step, "type": kind, "name": name}},
        )
        for kind, name in (("file_saved", "/w/received/Mika/a.txt"), ("file_refused", "b was not saved: no"))
    ]
    done = run_with(home, [*events[:at], *told, *events[at:]])
    assert f"{AGENTS[0]}: saved /w/received/Mika/a.txt" in done.stderr.splitlines()
    assert f"{AGENTS[0]}: b was not saved: no" in done.stderr.splitlines()


def test_a_server_that_shows_nothing_is_followed_in_lines(home: Home, original: OriginalRoomsServer) -> None:
    room = home.main("rooms", "any", "--plain", "--url", original.url, stdin="/resume\n")
    assert (room.returncode, room.stderr) == (0, "")
    assert room.stdout.startswith("untitled room\n")
    assert room.stdout.endswith(f"\n{AGENTS[0]}:\n{TEXT}\n\n{AGENTS[1]}:\n{TEXT}\n")
    with in_thread(OriginalChatServer()) as server:
        chat = home.main("chat", "c1", "--plain", "--url", server.url, stdin="Hi\nAnd?\n/quit\n")
    assert (chat.returncode, chat.stderr) == (0, "")
    assert chat.stdout.count("It has one target: 目标\n") == 2


def test_a_paused_run_is_code_3_and_a_failed_one_code_4(home: Home) -> None:
    start = run_events()[:FIRST_CHUNKS]
    paused = run_with(home, [*start, ("room_paused", {"room_id": "r1"})])
    assert (paused.returncode, paused.stdout) == (3, f"{AGENTS[0]}:\nShort answer: \n")
    failed = run_with(home, [*start, ("error", {"content": "the \x1b[31mquota\nis gone"})])
    assert (failed.returncode, failed.stdout) == (4, f"{AGENTS[0]}:\nShort answer: \n")
    assert failed.stderr.splitlines()[-1] == "agent-tui: the ␛[31mquota is gone"


def test_a_failed_turn_is_one_line_and_the_run_completes(home: Home) -> None:
    events = run_events()
    second = next(n for n, (_, data) in enumerate(events) if data.get("sender_name") == AGENTS[1])
    failure: Event = ("agent_error", {"agent": AGENTS[0], "error": "LLM stream failed:\nno luck"})
    done = run_with(home, [*events[:FIRST_CHUNKS], failure, *events[second:]])
    assert done.returncode == 0
    assert f"{AGENTS[0]}: LLM stream failed: no luck" in done.stderr.splitlines()
    assert done.stdout.startswith(f"{AGENTS[0]}:\nShort answer: \n\n{AGENTS[1]}:\n")


def test_hostile_words_are_inert_as_text_and_escaped_as_json(home: Home) -> None:
    hostile = "\x1b]52;c;aGk=\x07 \x9b31m \u202e \ud800 \x7f [red]x[/red]"
    events = run_events(agents=[hostile], words=[hostile, "\r\nnext"])
    ids = ["9" * 5_000, "٣", *[""] * len(events)]
    frames = [
        f"id: {id_}\nevent: {name}\ndata: {json.dumps(data)}\n\n".encode()
        for id_, (name, data) in zip(ids, events, strict=False)
    ]
    with in_thread(LogRoomsServer(LogRoom("r1"))) as server:
        server.on("POST", "/api/rooms/r1/run", streams(*frames))
        text = home.main("rooms", "run", "r1", "--url", server.url)
        streamed = home.main("rooms", "run", "r1", "--url", server.url, "--output", "stream-json")
    assert (text.returncode, streamed.returncode) == (0, 0)
    assert not set(text.stdout + text.stderr) & set("\x1b\x07\x9b\u202e\ud800\x7f\r")
    assert "[red]x[/red]" in text.stdout
    assert all(line.isprintable() for line in streamed.stdout.splitlines())
    end = lines(streamed.stdout)[-1]["data"]
    assert end["text"] == (hostile + "\r\nnext").replace("\ud800", "\ufffd")


def test_data_that_is_no_json_object_is_kept_raw(home: Home) -> None:
    done = run_with(home, [("message_chunk", ["odd"]), *run_events()], "--output", "stream-json")  # type: ignore[list-item]  # what a broken server sends
    assert done.returncode == 0
    assert lines(done.stdout)[0] == {"id": None, "event": "message_chunk", "data": {"raw": ["odd"]}}


def test_a_completed_room_with_a_record_gives_the_stored_words(home: Home) -> None:
    room = LogRoom("r1", messages=[stored("m1", "said long ago", "Ada", 1)], status="completed")
    with in_thread(LogRoomsServer(room)) as server:
        server.publish("r1", "room_completed", {"room_id": "r1", "total_rounds": 1})
        done = home.main("rooms", "run", "room r1", "--url", server.url)
    assert (done.returncode, done.stdout) == (0, "Ada:\nsaid long ago\n")


@pytest.mark.parametrize("form", ["json", "stream-json", "text"])
def test_the_whole_text_of_a_resumed_room_begins_with_what_was_said_before(home: Home, form: str) -> None:
    half = stored("m1", "It loses", "Ada", 1) | {"interrupted": "pause"}
    told = [person({"id": "m9", "content": TASK}), stored("m0", "First.", "Mika", 1), half]
    rest = {"id": "m2", "content": " data."}
    resumed: list[Event] = [
        ("room_started", {"room_id": "r1", "resumed": True}),
        ("message_start", {"id": "m2", "role": "assistant", "sender_name": "Ada", "continues": "m1"}),
        ("message_chunk", rest),
        ("message_end", rest),
        ("room_completed", {"room_id": "r1"}),
    ]
    with in_thread(LogRoomsServer(LogRoom("r1", messages=told, status="paused"))) as server:
        server.on("POST", "/api/rooms/r1/run", streams(*(frame(*event) for event in resumed)))
        done = home.main("rooms", "run", "r1", "--url", server.url, "--output", form)
    if form == "text":  # what is new
        assert done.stdout == "Ada:\n data.\n"
    else:
        end = json.loads(done.stdout.splitlines()[-1])
        assert end.get("data", end)["text"] == "First.\n\nIt loses data."
    assert done.returncode == 0


def test_a_run_that_breaks_off_before_its_first_frame_is_read_from_the_log(home: Home) -> None:
    with in_thread(LogRoomsServer(LogRoom("r1"))) as server:
        server.publish("r1", "room_paused")  # of an earlier run

        async def breaks_off(request: Request, reply: Reply) -> None:
            await reply.head(200, {"Content-Type": "text/event-stream"})
            await reply.send(b"id: 2\nevent: room_sta")
            server.rooms["r1"].status = "running"
            for name, data in run_events():
                server.publish("r1", name, data)
            await reply.reset()

        server.on("POST", "/api/rooms/r1/run", breaks_off)
        done = home.main("rooms", "run", "r1", "--url", server.url)
        assert len(server.asked("POST", "/api/rooms/r1/run")) == 1
    assert (done.returncode, done.stdout) == (0, f"{AGENTS[0]}:\n{TEXT}\n\n{AGENTS[1]}:\n{TEXT}\n")


def test_a_run_that_is_lost_before_its_first_words_gives_the_stored_ones(home: Home) -> None:
    room = LogRoom("r1", messages=[stored("m1", "said meanwhile", "Ada", 1)])
    with in_thread(LogRoomsServer(room)) as server:
        server.on("POST", "/api/rooms/r1/run", streams(b"event: room_sta"))
        done = home.main("rooms", "run", "r1", "--url", server.url, "--output", "json")
    value = json.loads(done.stdout)
    assert (done.returncode, value["reason"], value["text"]) == (4, "lost", "said meanwhile")


@pytest.mark.parametrize(
    ("status", "code", "reason"),
    [
        *((401, 6, "refused"), (403, 6, "refused"), (409, 6, "refused")),
        *((404, 4, "error"), (422, 4, "error"), (500, 4, "error")),
    ],
)
def test_what_a_server_refuses_has_its_code_and_its_end(
    home: Home, status: int, code: int, reason: str
) -> None:
    with in_thread(LogRoomsServer(LogRoom("r1"))) as server:
        server.on("POST", "/api/rooms/r1/run", answers_json({"title": "No\x1b[31m"}, status))
        arguments = (
            "rooms",
            "run",
            "r1",
            "--url",
            server.url,
            "--output",
            "stream-json",
        )
        done = home.main(*arguments, AGENT_TUI_TOKEN="geheim")
        assert len(server.asked("POST", "/api/rooms/r1/run")) == 1
    assert done.returncode == code
    (end,) = lines(done.stdout)
    assert (end["event"], end["data"]["reason"]) == ("end", reason)
    assert one_line(done.stderr).isprintable()
    assert "geheim" not in done.stderr + done.stdout


def test_a_chat_whose_first_question_is_refused_does_not_stay_empty_on_the_server(home: Home) -> None:
    with in_thread(LogChatServer()) as server:
        server.on("POST", "/api/conversations/c1/messages", answers_json({"title": "No"}, 422))
        done = home.main("ask", "Why?", "--url", server.url)
        assert (done.returncode, len(server.asked("DELETE", "/api/conversations/c1"))) == (4, 1)
        home.main("ask", "Why?", "--url", server.url, "--conversation", "c1")
        assert len(server.asked("DELETE", "/api/conversations/c1")) == 1


def test_commands_that_a_server_does_not_offer_are_code_6(home: Home, original: OriginalRoomsServer) -> None:
    for arguments in (["list"], ["new", "--task", "T"], ["pause", "r1"], ["resume", "r1"]):
        done = home.main("rooms", *arguments, "--url", original.url)
        assert (done.returncode, done.stdout) == (6, ""), done.stderr
        assert "not offer" in one_line(done.stderr)


def test_a_list_that_is_bare_is_read_and_handed_on_as_it_is(home: Home) -> None:
    rooms = [{"id": "r1", "name": "one", "owner": {"kept": True}}, {"no": "room"}]
    with in_thread(LogRoomsServer()) as server:
        server.on("GET", "/api/rooms", answers_json(rooms))
        text = home.main("rooms", "list", "--url", server.url)
        as_json = home.main("rooms", "list", "--url", server.url, "--output", "json")
    assert (text.returncode, text.stdout.count("\n")) == (0, 2)
    assert json.loads(as_json.stdout) == rooms


def test_paths_token_and_timeout_come_from_the_config_file(home: Home) -> None:
    with in_thread(OriginalRoomsServer()) as server:
        home.config.write_text(
            f'[backends.old]\nkind = "rooms"\nurl = "{server.url}"\ntoken_env = "OLD_TOKEN"\n'
            'paths = { run = "/v9/{id}/go" }\n',
            encoding="utf-8",
        )
        server.on("POST", "/v9/r1/go", answers_json({}, 409))
        done = home.main("rooms", "run", "r1", "--backend", "old", OLD_TOKEN="geheim")
        (asked,) = server.asked("POST", "/v9/r1/go")
    assert done.returncode == 6
    assert asked.headers["authorization"] == "Bearer geheim"


def test_a_room_is_deleted_where_only_its_deletion_is_offered(home: Home) -> None:
    with in_thread(OriginalRoomsServer()) as server:
        server.on("DELETE", "/api/rooms/r1", answers_json({}))
        done = home.main("rooms", "delete", "r1", "--yes", "--url", server.url)
        assert (done.returncode, done.stdout, done.stderr) == (0, "deleted r1\n", "")


def test_a_turn_that_ran_out_of_tokens_is_a_line_on_stderr_and_its_rest_is_part_of_it(home: Home) -> None:
    first, rest = AGENTS[0], f"m-1-{AGENTS[1]}"
    events: list[Event] = []
    for name, data in run_events():  # the second agent's turn is made the rest of the first one's
        if name == "message_end" and data["id"] == f"m-1-{first}":
            data = {**data, "interrupted": "length"}
        elif name == "message_start" and data["id"] == rest:
            data = {**data, "continues": f"m-1-{first}"}
        events.append((name, data))
    with in_thread(OriginalRoomsServer(events)) as server:
        done = home.main("rooms", "run", "r1", "--url", server.url, "--output", "stream-json")
    assert done.returncode == 0
    assert f"{first}: cut off, its model ran out of tokens" in done.stderr
    assert lines(done.stdout)[-1]["data"]["text"] == TEXT + TEXT
