"""``ask`` against servers of the chat protocol, on real sockets: formats, what is asked, how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.servers.chat_server import Event, OriginalChatServer, call, done, result, text
from tests.fakes.servers.http_server import Reply, Request, answers_json
from tests.fakes.servers.rooms_server import in_thread
from tests.fakes.terminal import terminal
from tests.tui.programs import PROGRAM, SECONDS, Home, finish, one_line, own_environ
from tui.cli.arguments import Connection

ANSWER = "It has one target: 目标"
STREAM = ("--output", "stream-json")
QUESTION = Request("POST", "/api/conversations/7/messages", {}, b"")
HOSTILE = "\x1b]52;c;aGk=\x07\x9b31m\u202e"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path, own_environ(tmp_path))  # no command here starts a backend


@pytest.fixture
def original() -> Iterator[OriginalChatServer]:
    with in_thread(OriginalChatServer()) as server:
        yield server


def lines(written: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.splitlines()]


def asked_of(server: OriginalChatServer) -> dict[str, Any]:
    """Return the body of the one question that was asked."""
    (request,) = [request for request in server.requests if request.method == "POST"]
    body: dict[str, Any] = json.loads(request.body)
    return body


def said(home: Home, *events: Event) -> str:
    """Return what ``ask`` writes as text when it is answered with ``events``."""
    with in_thread(OriginalChatServer([*events, done()])) as server:
        ran = home.main("ask", "x", "--conversation", "7", "--url", server.url)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


# --- formats ---------------------------------------------------------------------------------------------


def test_text_is_the_answer_alone_and_tools_are_lines_on_stderr(
    home: Home, original: OriginalChatServer
) -> None:
    ran = home.main("ask", "What", "is it?", "--conversation", "7", "--url", original.url)
    assert (ran.returncode, ran.stdout) == (0, f"{ANSWER}\n")
    assert ran.stderr.splitlines() == ["read_file Makefile"]
    assert asked_of(original) == {"content": "What is it?"}


def test_stream_json_is_every_event_as_it_came_and_one_last_line(
    home: Home, original: OriginalChatServer
) -> None:
    ran = home.main("ask", "What?", "--conversation", "7", "--url", original.url, *STREAM)
    found = lines(ran.stdout)
    sent = [{"id": None, "event": name, "data": data} for name, data in original.events]
    assert found[:-1] == sent
    data = {"reason": "completed", "text": ANSWER, "detail": None}
    assert (ran.returncode, found[-1]) == (0, {"id": None, "event": "end", "data": data})


def test_json_is_one_object_with_what_was_streamed_where_nothing_is_kept(
    home: Home, original: OriginalChatServer
) -> None:
    ran = home.main("ask", "What?", "--conversation", "7", "--url", original.url, "--output", "json")
    assert ran.stdout.count("\n") == 1
    value = json.loads(ran.stdout)
    assert set(value) == {"reason", "text", "detail", "conversation", "messages"}
    assert (value["reason"], value["text"], value["conversation"]) == ("completed", ANSWER, {"id": "7"})
    assert [message["role"] for message in value["messages"]] == ["user", "assistant"]
    assert json.loads(value["messages"][0]["content"])["text"] == "What?"
    steps = json.loads(value["messages"][1]["content"])["steps"]
    assert [step["type"] for step in steps] == ["thinking", "tool_call", "tool_result", "text"]


def test_several_texts_of_an_answer_are_apart_by_a_blank_line(home: Home) -> None:
    events = (text("One."), call(), result(), text("Two", 3), text("Two.\n", 3))
    assert said(home, *events) == "One.\n\nTwo.\n"


def test_words_that_were_other_ones_are_said_again_from_the_start(home: Home) -> None:
    assert said(home, text("It is gre"), text("It is blue.")) == "It is gre\n\nIt is blue.\n"


def test_texts_that_grow_in_turns_are_all_there(home: Home) -> None:
    events = (text("a", 0), text("b", 1), text("a c", 0), text("", 2))
    assert said(home, *events) == "a\n\nb\n\n c\n"


def test_nothing_that_a_terminal_obeys_is_written(home: Home) -> None:
    events = [
        text(HOSTILE, 0, "thinking"),
        call(1, HOSTILE, json.dumps({"path": HOSTILE})),
        result(2, content=HOSTILE, success=False),
        text(f"words {HOSTILE}", 3),
        ("error", {"content": HOSTILE}),
    ]
    for form in ("text", "json", "stream-json"):
        with in_thread(OriginalChatServer(events)) as server:
            ran = home.main("ask", "x", "--conversation", "7", "--url", server.url, "--output", form)
        assert ran.returncode == 4
        assert not set(ran.stdout + ran.stderr) & set("\x1b\x07\x9b\u202e")
        assert "words" in ran.stdout


def test_a_tool_that_fails_has_a_line_that_says_why(home: Home) -> None:
    why = "no such file in the folder that the tools of this conversation may work in"
    refused = json.dumps({"success": False, "error": why})
    events = [call(), result(content=refused, success=None), text("Sorry.", 3), done()]
    with in_thread(OriginalChatServer(events)) as server:
        ran = home.main("ask", "x", "--conversation", "7", "--url", server.url)
    assert ran.stderr.splitlines() == ["read_file Makefile", f"read_file Makefile: {why}"]
    assert (ran.returncode, ran.stdout) == (0, "Sorry.\n")


# --- what is asked ---------------------------------------------------------------------------------------


def test_what_is_piped_in_is_the_question(home: Home, original: OriginalChatServer) -> None:
    ran = home.run("ask", "--conversation", "7", "--url", original.url, stdin="Why?\nNow.\n")
    assert ran.returncode == 0, ran.stderr
    assert asked_of(original) == {"content": "Why?\nNow.\n"}


@pytest.mark.parametrize("words", [["Explain", "this"], ["Explain", "-", "this"]])
def test_beside_words_it_is_attached(home: Home, original: OriginalChatServer, words: list[str]) -> None:
    home.main("ask", *words, "--conversation", "7", "--url", original.url, stdin="a\tb\n")
    attached = [{"name": "stdin", "type": "text/plain", "content": "a\tb\n"}]
    assert asked_of(original) == {"content": "Explain this", "attachments": attached}


def test_an_empty_pipe_attaches_nothing(home: Home, original: OriginalChatServer) -> None:
    home.main("ask", "Hi", "--conversation", "7", "--url", original.url, stdin="")
    assert asked_of(original) == {"content": "Hi"}


def test_files_are_attached_as_text_in_their_order(home: Home, original: OriginalChatServer) -> None:
    (home.folder / "a.txt").write_bytes(b"\xef\xbb\xbfone \xff")
    (home.folder / "b.txt").write_text("two", encoding="utf-16")
    files = ("-f", "a.txt", "--file", str(home.folder / "b.txt"))
    ran = home.main("ask", *files, "Compare", "--conversation", "7", "--url", original.url)
    assert ran.returncode == 0, ran.stderr
    attached = [(file["name"], file["content"]) for file in asked_of(original)["attachments"]]
    assert attached == [("a.txt", "one \ufffd"), (str(home.folder / "b.txt"), "two")]


def test_how_it_is_asked_goes_with_the_question(home: Home, original: OriginalChatServer) -> None:
    how = ("--thinking", "--tools", "calculator, read_file")
    home.main("ask", "x", *how, "--conversation", "7", "--url", original.url)
    told = {"thinking_enabled": True, "enabled_tools": ["calculator", "read_file"]}
    assert asked_of(original) == {"content": "x", **told}


def test_no_tools_at_all_is_said_too(home: Home, original: OriginalChatServer) -> None:
    home.main("ask", "x", "--tools", "none", "--conversation", "7", "--url", original.url)
    assert asked_of(original) == {"content": "x", "enabled_tools": []}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("ask", "nothing to ask"),
        ("ask -", "nothing to ask"),
        ("ask x --chat-id 3", "socket"),
        ("ask x --chat-id many", "--chat-id"),
        ("ask x -f no-such-file", "no-such-file: cannot be read"),
        ("ask x -f .", "cannot be read"),
        ("ask x -f binary", "binary is not text"),
        ("ask x -f huge", "huge is too much"),
        ("ask x -f most -f most", "too much for one question"),
        (f"ask x{' -f a' * 21}", "at most 20 files"),
        ("ask x --tools ,", "--tools"),
        ("ask x --allow run_command(", "no call can fit"),
        ("ask x --allow calculator(2*)", "no call can fit"),
        ("ask x --conversation=", "agent-tui ask --help"),
        ("ask x --output xml", "xml"),
        ("ask x --nonsense", "--nonsense"),
        ("ask x --backend rooms-only", "needs kind chat or tasks or socket"),
        ("ask x --backend a-socket -f a", "workspace = DIR"),
        ("ask x --backend a-socket --conversation 3", "--chat-id"),
        ("ask x --backend a-socket --model big", "--model is not for"),
        ("ask x --backend chats --chat-id 3", "kind socket"),
        ("conversations list --backend a-socket", "needs kind chat"),
        ("rooms list --backend chats", "needs kind rooms"),
    ],
)
def test_wrong_usage_is_one_line_and_starts_nothing(home: Home, command: str, why: str) -> None:
    backend = '[backends.{}]\nkind = "{}"\nurl = "http://127.0.0.1:1"\n'
    kinds = {"rooms-only": "rooms", "a-socket": "socket", "chats": "chat"}
    home.config.write_text("".join(backend.format(*pair) for pair in kinds.items()), encoding="utf-8")
    (home.folder / "binary").write_bytes(b"\x7fELF\0\0")
    (home.folder / "a").write_text("a", encoding="utf-8")
    for name, mebibytes in (("huge", 9), ("most", 5)):
        (home.folder / name).write_bytes(b"x" * mebibytes * 1024 * 1024)
    ran = home.main(*command.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    assert why in one_line(ran.stderr)
    assert not home.data.exists()


# --- which conversation ----------------------------------------------------------------------------------


def conversations(*named: tuple[str, str]) -> Any:
    return answers_json({"conversations": [{"id": id_, "title": title} for id_, title in named]})


def test_a_conversation_is_named_by_the_beginning_of_its_title(
    home: Home, original: OriginalChatServer
) -> None:
    original.on("GET", "/api/conversations", conversations(("7", "Make"), ("8", "Tea")))
    ran = home.main("ask", "x", "--conversation", "Te", "--url", original.url)
    assert ran.returncode == 0, ran.stderr
    assert original.asked("POST", "/api/conversations/8/messages")


def test_one_that_is_not_there_is_code_4_and_nothing_is_asked(
    home: Home, original: OriginalChatServer
) -> None:
    original.on("GET", "/api/conversations", conversations(("7", "Make")))
    ran = home.main("ask", "x", "--conversation", "zz", "--url", original.url, *STREAM)
    assert (ran.returncode, lines(ran.stdout)[-1]["data"]["reason"]) == (4, "error")
    assert original.posts == 0


def test_a_server_that_makes_none_says_what_to_give(home: Home, original: OriginalChatServer) -> None:
    ran = home.main("ask", "x", "--url", original.url)
    assert (ran.returncode, ran.stdout) == (6, "")
    assert "--conversation ID" in one_line(ran.stderr)


def test_another_server_is_asked_for_a_new_one(home: Home, original: OriginalChatServer) -> None:
    original.on("POST", "/api/conversations", answers_json({"id": "new"}, 201))
    how = ("--model", "m", "--provider", "p", "--tools", "none")
    ran = home.main("ask", "x", *how, "--url", original.url)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.splitlines()[0] == "conversation new"
    made = json.loads(original.asked("POST", "/api/conversations")[0].body)
    assert made == {"model": "m", "provider_id": "p", "enabled_tools": []}
    assert original.asked("POST", "/api/conversations/new/messages")


def test_a_server_that_takes_no_folder_is_named_for_it(home: Home, original: OriginalChatServer) -> None:
    original.on("POST", "/api/conversations", answers_json({"id": "new"}, 201))
    ran = home.main("ask", "x", "--workspace", str(home.folder), "--url", original.url)
    assert ran.returncode == 0, ran.stderr
    assert f"its tools do not work in {home.folder}" in ran.stderr.splitlines()[1]
    assert json.loads(original.asked("POST", "/api/conversations")[0].body) == {"workspace": str(home.folder)}


def test_a_backend_of_the_config_file_may_move_its_paths(home: Home, original: OriginalChatServer) -> None:
    original.on("POST", "/v2/7/say", original.responder(QUESTION))
    home.config.write_text(
        f'[backends.work]\nkind = "chat"\nurl = "{original.url}"\n[backends.work.paths]\n'
        'messages = "/v2/{id}/say"\n',
        encoding="utf-8",
    )
    ran = home.main("ask", "x", "--conversation", "7", "--backend", "work")
    assert (ran.returncode, ran.stdout) == (0, f"{ANSWER}\n")


# --- how it ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("then", ["drop", "reset", "end"])
def test_an_answer_that_breaks_off_is_lost_and_never_asked_for_again(home: Home, then: str) -> None:
    with in_thread(OriginalChatServer(stop_after=5, then=then)) as server:
        ran = home.main("ask", "x", "--conversation", "7", "--url", server.url, *STREAM)
        assert server.posts == 1
    end = lines(ran.stdout)[-1]
    assert (ran.returncode, end["event"], end["data"]["reason"]) == (4, "end", "lost")
    assert end["data"]["text"] == "It "


def test_a_server_without_a_stop_is_left_when_it_is_interrupted(home: Home) -> None:
    with in_thread(OriginalChatServer(stop_after=5, then="stay")) as server:
        run = home.start("ask", "x", "--conversation", "7", "--url", server.url, *STREAM)
        assert run.stdout is not None
        for _ in range(5):
            run.stdout.readline()
        run.send_signal(signal.SIGINT)
        out, err = finish(run)
        assert server.asked("POST", "/api/conversations/7/stop")
    end = json.loads(out.splitlines()[-1])["data"]
    assert (run.returncode, end["reason"], end["text"]) == (3, "interrupted", "It ")
    assert "offers no stop" in end["detail"]
    assert "stopping the answer; ctrl+c leaves at once" in err.splitlines()


def test_a_second_signal_leaves_at_once(home: Home) -> None:
    with in_thread(OriginalChatServer(stop_after=5, then="stay")) as server:
        server.on("POST", "/api/conversations/7/stop", never)
        run = home.start("ask", "x", "--conversation", "7", "--url", server.url, *STREAM)
        assert run.stdout is not None
        assert run.stderr is not None
        for _ in range(5):
            run.stdout.readline()
        run.send_signal(signal.SIGINT)
        while "ctrl+c leaves at once" not in run.stderr.readline():
            pass
        run.send_signal(signal.SIGINT)
        out, _ = finish(run)
    end = json.loads(out.splitlines()[-1])["data"]
    assert (run.returncode, end["reason"], end["text"]) == (3, "interrupted", "It ")


async def never(request: Request, reply: Reply) -> None:
    await reply.stay()


def test_a_reader_that_has_left_ends_it_quietly(home: Home) -> None:
    many = [text("word " * 20_000 * n) for n in range(1, 8)]
    with in_thread(OriginalChatServer([*many, done()])) as server:
        run = home.start("ask", "x", "--conversation", "7", "--url", server.url)
        assert run.stdout is not None
        assert run.stderr is not None
        run.stdout.read(10)
        run.stdout.close()
        with run.stderr:
            err = run.stderr.read()
        assert run.wait(60) == 3
    assert "agent-tui: " not in err


# --- on a terminal ---------------------------------------------------------------------------------------


@pytest.mark.slow
def test_where_a_terminal_shows_both_streams_tools_have_lines_of_their_own(
    home: Home,
) -> None:
    events = [text("I look."), call(), result(), text("It is green.", 3), done()]
    with in_thread(OriginalChatServer(events)) as server:
        command = [*PROGRAM, "ask", "What?", "--conversation", "7", "--url", server.url]
        with terminal(command, dict(home.environ), home.folder) as screen:
            assert screen.wait_for_end() == 0
            said = bytes(screen.raw).decode().replace("\r", "")
    assert said == "I look.\nread_file Makefile\n\nIt is green.\n"


@pytest.mark.slow
def test_a_pipe_that_stays_silent_is_waited_for_and_named(home: Home, original: OriginalChatServer) -> None:
    read, write = os.pipe()
    command = [*PROGRAM, "ask", "Why?", "--conversation", "7", "--url", original.url]
    with subprocess.Popen(
        command, env=home.environ, stdin=read, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        os.close(read)
        assert run.stderr is not None
        assert "waiting for what is piped in" in run.stderr.readline()
        os.write(write, b"late")
        os.close(write)
        run.communicate(timeout=SECONDS)
    assert asked_of(original)["attachments"][0]["content"] == "late"


@pytest.mark.parametrize(
    ("before", "does"),
    [
        ([], "r retries the question"),
        ([text("So far")], "c continues the answer, r retries it"),
        ([call(), result()], "c continues the answer, r retries it"),
    ],
    ids=["no word", "some words", "a tool alone"],
)
def test_a_failed_answer_says_what_to_do(home: Home, before: list[Event], does: str) -> None:
    failed: Event = ("error", {"content": "API Error: no"})
    with in_thread(OriginalChatServer([*before, failed])) as server:
        server.on("GET", "/api/conversations/7/messages", answers_json({"messages": []}))
        ran = home.main("ask", "x", "--conversation", "7", "--url", server.url)
    assert ran.returncode == 4
    *_, told, why = ran.stderr.splitlines()
    assert told == f"agent-tui chat 7 --url {server.url} opens it: {does}"
    assert why.endswith("API Error: no")


def test_where_no_messages_are_stored_a_failed_answer_is_not_opened(home: Home) -> None:
    failed: Event = ("error", {"content": "API Error: no"})
    with in_thread(OriginalChatServer([text("So far"), failed])) as server:
        ran = home.main("ask", "x", "--conversation", "7", "--url", server.url)
    assert (ran.returncode, ran.stdout) == (4, "So far\n")
    assert one_line(ran.stderr).endswith("API Error: no")


def test_a_hint_names_the_server_but_no_token() -> None:
    given = Connection(url="http://h:1", token="secret", token_file="a file")
    assert given.again == ("--url", "http://h:1", "--token-file", "a file")
    assert Connection(backend="them").again == ("--backend", "them")
