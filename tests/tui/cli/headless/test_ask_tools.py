"""``ask`` against our own backend and a model server: tools, conversations, stops, what is on record."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

from tests.fakes import mcp_server
from tests.fakes.models.model_server import Answer, AskedCall, FakeModelServer, fails, says
from tests.tui.programs import PROGRAM, SECONDS, Home, finish, home_at, one_line

pytestmark = pytest.mark.slow

PROVIDER = '[providers.mine]\nkind = "openai"\nbase_url = "{url}"\nmodel = "some-model"\n'
STREAM = ("--output", "stream-json")
COMMAND = "echo made > made.txt"
BEGINS = says("It begins", finish=None, usage=None, done=False, ending="stall")


@dataclass(frozen=True, slots=True)
class Place:
    """A user, their backend, and the model that answers, which lives in a loop of its own."""

    home: Home
    model: FakeModelServer
    loop: asyncio.AbstractEventLoop

    @contextmanager
    def configured(self, settings: str, provider: str = "mine") -> Iterator[None]:
        """Have the config file say this as well; the backend reads it again for every question.

        ``provider`` is the name of the one provider, of which a backend remembers what its model can.
        """
        usual = self.home.config.read_text(encoding="utf-8")
        named = usual.replace("[providers.mine]", f"[providers.{provider}]")
        self.home.config.write_text(named + settings, encoding="utf-8")
        try:
            yield
        finally:
            self.home.config.write_text(usual, encoding="utf-8")

    def ask(self, *arguments: str, code: int = 0) -> CompletedProcess[str]:
        with chdir(self.home.folder):
            ran = self.home.main("ask", *arguments)
        assert ran.returncode == code, ran
        return ran

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until the model server is as ``condition`` says."""
        asyncio.run_coroutine_threadsafe(self.model.until(condition), self.loop).result(SECONDS)

    def newest(self) -> dict[str, Any]:
        """Return the conversation that was active last."""
        found: dict[str, Any] = self.home.api("GET", "/api/conversations")["conversations"][0]
        return found

    def told(self) -> list[dict[str, Any]]:
        """Return the messages that the model was told last."""
        messages: list[dict[str, Any]] = self.model.requests[-1].body["messages"]
        return messages

    def result(self) -> dict[str, Any]:
        """Return the newest result that the model was told."""
        found: dict[str, Any] = json.loads(self.told()[-1]["content"])
        return found


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """One backend for the whole module: each test has a conversation of its own."""
    model, loop = FakeModelServer(), asyncio.new_event_loop()
    loop.run_until_complete(model.__aenter__())
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        with home_at(tmp_path_factory.mktemp("ask")) as home:
            home.config.write_text(PROVIDER.format(url=model.url), encoding="utf-8")
            yield Place(home, model, loop)
    finally:
        asyncio.run_coroutine_threadsafe(model.__aexit__(None, None, None), loop).result(SECONDS)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def calls(name: str, arguments: dict[str, Any]) -> Answer:
    """Return an answer that calls one tool, its arguments in pieces."""
    written = json.dumps(arguments)
    pieces = tuple(written[place : place + 5] for place in range(0, len(written), 5))
    return says(calls=[AskedCall("call-1", name, pieces)], finish="tool_calls")


def lines(written: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.splitlines()]


def test_a_tool_that_only_looks_runs_in_the_folder_of_the_command(place: Place) -> None:
    (place.home.folder / "notes.txt").write_text("tea at four\n", encoding="utf-8")
    place.model.will(calls("read_file", {"path": "notes.txt"}), says("Tea at four."))
    ran = place.ask("When is tea?")
    assert ran.stdout == "Tea at four.\n"
    conversation, tool = ran.stderr.splitlines()
    assert conversation.startswith("conversation ")
    assert tool == "read_file notes.txt"
    assert "tea at four" in place.told()[-1]["content"]


def test_a_tool_that_asks_is_denied_and_stderr_says_how_it_would_run(place: Place) -> None:
    place.model.will(calls("run_command", {"command": COMMAND}), says("I may not."))
    ran = place.ask("Make it.")
    assert ran.stdout == "I may not.\n"
    (told,) = ran.stderr.splitlines()[1:]
    assert told.startswith("not allowed: ")
    assert f"--allow 'run_command({COMMAND})' lets it run" in told
    assert place.result()["success"] is False
    assert "denied by the user: this was asked without a screen" in place.result()["error"]
    assert not (place.home.folder / "made.txt").exists()


def test_what_allow_names_runs_and_nothing_else(place: Place) -> None:
    allow = ("--allow", "run_command(echo made *)", "--allow", "write_file(kept/*)")
    place.model.will(calls("run_command", {"command": "echo made it"}), says("Done."))
    assert place.ask("Say it.", *allow).stderr.splitlines()[1:] == ["run_command echo made it"]
    assert place.result()["output"] == "made it\n"
    place.model.will(calls("run_command", {"command": "echo made it; id"}), says("No."))
    assert "not allowed" in place.ask("Say more.", *allow).stderr
    place.model.will(calls("write_file", {"path": "else.txt", "content": "x"}), says("No."))
    assert "not allowed" in place.ask("Write it.", *allow).stderr
    assert not (place.home.folder / "else.txt").exists()
    place.model.will(calls("write_file", {"path": "kept/a.txt", "content": "x"}), says("Yes."))
    (place.home.folder / "kept").mkdir()
    assert "not allowed" not in place.ask("Write it.", *allow).stderr
    assert (place.home.folder / "kept" / "a.txt").read_text(encoding="utf-8") == "x"


def test_what_allow_names_does_not_reach_another_file_through_a_link(place: Place) -> None:
    (place.home.folder / "docs").mkdir()
    (place.home.folder / "aim.txt").write_text("as it was\n", encoding="utf-8")
    (place.home.folder / "docs" / "notes.txt").symlink_to("../aim.txt")
    place.model.will(calls("write_file", {"path": "docs/notes.txt", "content": "x"}), says("No."))
    told = place.ask("Write it.", "--allow", "write_file(docs/*)").stderr.splitlines()[-1]
    assert told.startswith("not allowed: write_file docs/notes.txt, a link to aim.txt; ")
    assert "--allow 'write_file(aim.txt)' lets it run" in told
    assert (place.home.folder / "aim.txt").read_text(encoding="utf-8") == "as it was\n"


def test_nothing_hides_in_what_stderr_says_of_a_call(place: Place) -> None:
    hidden = f"echo harmless{' ' * 3000}; touch HIDDEN"
    place.model.will(calls("run_command", {"command": hidden}), says("No."))
    told = place.ask("Say it.").stderr.splitlines()[-1]
    assert told == "not allowed: echo harmless␣×3000; touch HIDDEN"  # such a pattern cannot be shown whole
    assert not (place.home.folder / "HIDDEN").exists()


def test_what_the_config_file_allows_does_not_ask(place: Place) -> None:
    with place.configured('[tools]\nallow = ["run_command(echo *)"]\n'):
        place.model.will(calls("run_command", {"command": "echo it"}), says("Done."))
        assert place.ask("Say it.").stderr.splitlines()[1:] == ["run_command echo it"]


MCP = f'''[mcp.fake]
command = "{sys.executable}"
args = ["{Path(mcp_server.__file__).resolve()}"]
'''


def test_a_glob_allows_the_tools_of_one_mcp_server(place: Place) -> None:
    with place.configured(MCP):
        call = calls("fake__add", {"a": 1, "b": 2})
        place.model.will(call, says("Three."))
        ran = place.ask("Add.", "--allow", "fake__*")
        assert "not allowed" not in ran.stderr
        assert place.told()[-1]["content"] == "3"
        place.model.will(call, says("No."))
        assert "not allowed" in place.ask("Add.", "--allow", "fak__*").stderr
        place.ask("Add.", "--allow", "*", code=2)
        rule = '[tools]\nallow = ["fake__*"]\n'
        place.home.config.write_text(place.home.config.read_text() + rule, encoding="utf-8")
        place.model.will(call, says("Three."))
        assert "not allowed" not in place.ask("Add.").stderr


def test_ask_says_which_mcp_server_it_waits_for_and_what_is_missing_then(
    place: Place, tmp_path: Path
) -> None:
    late = tmp_path / "now"
    silent = MCP.replace("mcp.fake", "mcp.dead").replace('.py"]', '.py", "dies"]')
    slow = (
        MCP.replace("mcp.fake", "mcp.slow").replace('.py"]', '.py", "late"]')
        + f'env = {{GO_ON = "{late}"}}\n'
    )
    asked = len(place.model.requests)
    with place.configured(silent + slow):
        with chdir(place.home.folder):
            run = place.home.start("ask", "What is there?")
        assert run.stderr is not None
        while "waiting for MCP server" not in (line := run.stderr.readline()):
            assert line
        assert line.rstrip().endswith("slow")  # and perhaps the other one, which has not ended yet
        assert len(place.model.requests) == asked
        late.write_bytes(b"")
        _, err = finish(run)
        assert "MCP server dead: it ended with exit code 4: no such database: run its command by hand" in err
        assert "its tools are missing\n" in err
        assert "MCP server slow:" not in err
        offered = [tool["function"]["name"] for tool in place.model.requests[-1].body["tools"]]
        assert "slow__add" in offered


def test_a_model_that_is_loaded_and_takes_no_tools_is_named_as_that(place: Place) -> None:
    with place.configured("", provider="bare"):
        refuses = fails(400, "some-model does not support tools")
        place.model.will(fails(503, "Loading model"), refuses, says("Here."))
        ran = place.ask("Go.")
        assert ran.stdout == "Here.\n"
        assert ran.stderr.splitlines()[1:] == ["loading the model…", "this model cannot use tools"]
        messages = place.home.api("GET", f"/api/conversations/{place.newest()['id']}/messages")["messages"]
        assert [message.get("notes") for message in messages] == [None, [{"note": "no_tools"}]]
        place.model.will(says("One."), says("Two."))
        agent = ("--agent", "Ada", "--rounds", "2", "--tool", "calculator")
        ran = place.home.main("rooms", "run", "--task", "Go bare.", *agent)
        assert ran.stderr.count("Ada: this model cannot use tools\n") == 1
        rooms = place.home.api("GET", "/api/rooms")["rooms"]
        (room,) = [room for room in rooms if room["task"] == "Go bare."]
        messages = place.home.api("GET", f"/api/rooms/{room['id']}/messages")["messages"]
        assert [message.get("notes") for message in messages] == [None, *[[{"note": "no_tools"}]] * 2]


@pytest.mark.parametrize("command", ["ask", "rooms"])
def test_what_an_mcp_server_asks_a_person_is_declined_without_a_screen(place: Place, command: str) -> None:
    with place.configured(f'{MCP}read_only = ["question"]\n'):
        schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
        question = {"message": "Who are you?", "requestedSchema": schema}
        place.model.will(calls("fake__question", question), says("Then not."))
        if command == "ask":
            ran = place.ask("Go.")
            told = (
                "The MCP server fake asks you for 2 values: declined, nobody can be asked without a screen\n"
            )
        else:
            agent = ("--agent", "Ada", "--rounds", "1", "--tool", "fake__question")
            ran = place.home.main("rooms", "run", "--task", "Go.", *agent)
            told = "MCP server fake: it asked you for 2 values: declined, nobody was there to answer\n"
        assert told in ran.stderr
        assert "Then not." in ran.stdout
        assert ran.returncode == 0
        assert json.loads(place.model.requests[-1].body["messages"][-1]["content"]) == [{"action": "decline"}]


def test_a_question_that_needs_no_mcp_server_waits_for_none(place: Place) -> None:
    slow = MCP.replace("mcp.fake", "mcp.slow").replace('.py"]', '.py", "silent"]')
    with place.configured(slow):
        ran = place.ask("What is there?", "--tools", "calculator")
        assert "slow" not in ran.stderr
        listed = place.home.api("GET", "/api/tools?wait=0")["servers"]
        assert [(one["name"], one["status"]) for one in listed] == [("slow", "starting")]


def test_none_offers_the_model_no_tools_and_names_offer_those(place: Place) -> None:
    place.ask("Hi", "--tools", "none")
    assert "tools" not in place.model.requests[-1].body
    place.ask("Hi", "--tools", "calculator")
    offered = place.model.requests[-1].body["tools"]
    assert [tool["function"]["name"] for tool in offered] == ["calculator"]


def test_tools_that_are_not_there_are_named_before_anything_is_asked(place: Place) -> None:
    before = len(place.model.requests)
    ran = place.ask("Hi", "--tools", "calculator,calculater,read", code=2)
    assert (ran.stdout, ran.stderr.count("\n"), len(place.model.requests)) == ("", 1, before)
    assert "there is no tool calculater, read" in ran.stderr
    for pattern in ("nope", "nope_file"):
        ran = place.ask("Hi", "--allow", "write_file", "--allow", pattern, code=2)
        assert one_line(ran.stderr).startswith(f"there is no tool {pattern}:")
    assert len(place.model.requests) == before


def test_tools_work_in_the_folder_that_workspace_names(place: Place) -> None:
    own = place.home.folder / "own"
    own.mkdir()
    (own / "notes.txt").write_text("tea at five\n", encoding="utf-8")
    look = calls("read_file", {"path": "notes.txt"})
    place.model.will(look, says("At five."))
    made = json.loads(place.ask("When?", "--workspace", "own", "--output", "json").stdout)["conversation"]
    assert (made["workspace"], "tea at five" in place.told()[-1]["content"]) == (str(own), True)
    (own / "in").mkdir()
    (own / "in" / "notes.txt").write_text("tea at six\n", encoding="utf-8")
    place.model.will(look, says("At six."))
    place.ask("Still?", "--workspace", str(own / "in"), "--conversation", made["id"])
    assert "tea at six" in place.told()[-1]["content"]


def test_a_conversation_goes_on_with_what_was_said_and_takes_another_model(place: Place) -> None:
    first = place.ask("One?", "--output", "json")
    made = json.loads(first.stdout)["conversation"]
    place.ask("Two?", "--conversation", made["id"][:8], "--model", "other-model")
    assert place.model.requests[-1].body["model"] == "other-model"
    words = [message["content"] for message in place.told() if message["role"] != "system"]
    assert words == ["One?", "Hello there.", "Two?"]
    value = json.loads(place.ask("Three?", "--conversation", "One?", "--output", "json").stdout)
    assert value["conversation"]["model"] == "other-model"
    assert value["conversation"] == place.home.api("GET", f"/api/conversations/{made['id']}")
    assert [message["role"] for message in value["messages"]] == ["user", "assistant"] * 3
    assert (value["reason"], value["text"]) == ("completed", "Hello there.")


def test_where_both_streams_go_to_one_place_a_notice_has_a_line_of_its_own(place: Place) -> None:
    call = AskedCall("call_1", "calculator", ('{"expression": "6*7"}',))
    place.model.will(says("Let me see.", calls=(call,), finish="tool_calls"), says("It is 42."))
    run = [*PROGRAM, "ask", "What is it?"]
    both = subprocess.run(
        run,
        env=place.home.environ,
        cwd=place.home.folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=True,
    ).stdout
    assert "Let me see.\ncalculator 6*7\n\nIt is 42.\n" in both


def test_stream_json_is_the_plain_form_in_which_every_step_comes_whole(place: Place) -> None:
    place.model.will(calls("calculator", {"expression": "17*23"}), says("It is ", "391.", thinking=("Hm",)))
    found = lines(place.ask("What is it?", *STREAM).stdout)
    ids = [int(line["id"]) for line in found[:-1]]
    assert ids == sorted(ids)
    assert [line["event"] for line in found] == ["process_step"] * (len(found) - 2) + ["done", "end"]
    assert found[-1]["data"] == {"reason": "completed", "text": "It is 391.", "detail": None}
    steps = {step["id"]: step for line in found[:-2] if (step := line["data"]["step"])}
    assert [(step["type"], step["index"]) for step in steps.values()] == [
        *(("tool_call", 0), ("tool_result", 1), ("thinking", 2), ("text", 3))
    ]
    assert {step["type"]: sorted(step) for step in steps.values()} == {
        "tool_call": ["arguments", "id", "id_ref", "index", "name", "type"],
        "tool_result": ["content", "id", "id_ref", "index", "name", "success", "type"],
        "thinking": ["content", "id", "index", "type"],
        "text": ["content", "id", "index", "type"],
    }
    assert json.loads(steps["step-0"]["arguments"]) == {"expression": "17*23"}
    assert len([line for line in found[:-2] if line["data"]["step"]["id"] == "step-0"]) == 1  # once, complete
    assert steps["step-3"]["content"] == "It is 391."


def test_a_long_text_is_told_again_and_again_but_costs_no_square_of_its_length(place: Place) -> None:
    place.model.will(says(*(f"word {number} " for number in range(4_000))))
    out = place.ask("Much?", *STREAM).stdout
    told = [line for line in lines(out) if line["event"] == "process_step"]
    whole = told[-1]["data"]["step"]["content"]
    assert whole.endswith("word 3999 ")
    assert all(whole.startswith(line["data"]["step"]["content"]) for line in told)
    assert len(out) < 70 * len(whole)


def test_a_signal_stops_the_answer_and_its_words_are_kept(place: Place) -> None:
    place.model.will(BEGINS)
    run = place.home.start("ask", "x", *STREAM)
    assert run.stdout is not None
    read = ""
    while '"It begins"' not in read:
        read = run.stdout.readline()
    run.send_signal(signal.SIGINT)
    out, err = finish(run)
    found = lines(out)
    assert (run.returncode, found[-1]["data"]) == (
        3,
        {"reason": "interrupted", "text": "It begins", "detail": None},
    )
    assert found[-2] == {**found[-2], "event": "error", "data": {"content": "Stopped"}}
    assert "stopping the answer; ctrl+c leaves at once" in err.splitlines()
    place.until(lambda: place.model.open == 0)
    shown = place.newest()
    answer = place.home.api("GET", f"/api/conversations/{shown['id']}/messages")["messages"][-1]
    assert (shown["status"], answer["interrupted"]) == ("idle", "stop")
    assert json.loads(answer["content"])["text"] == "It begins"


def test_somebody_elses_stop_ends_it_too(place: Place) -> None:
    place.model.will(BEGINS)
    run = place.home.start("ask", "x", *STREAM)
    place.until(lambda: place.model.open == 1)
    place.home.api("POST", f"/api/conversations/{place.newest()['id']}/stop", {})
    out, _ = finish(run)
    place.until(lambda: place.model.open == 0)
    end = lines(out)[-1]["data"]
    assert (run.returncode, end["reason"], end["detail"]) == (
        3,
        "interrupted",
        "somebody else stopped it",
    )


def test_one_answer_at_a_time_the_second_question_is_busy(place: Place) -> None:
    made = json.loads(place.ask("One?", "--output", "json").stdout)["conversation"]["id"]
    place.model.will(BEGINS)
    run = place.home.start("ask", "Two?", "--conversation", made)
    place.until(lambda: place.model.open == 1)
    busy = place.ask("Three?", "--conversation", made, *STREAM, code=6)
    assert lines(busy.stdout)[-1]["data"]["reason"] == "busy"
    place.home.api("POST", f"/api/conversations/{made}/stop", {})
    assert finish(run)[0] in ("It begins\n", "")
    place.until(lambda: place.model.open == 0)


def test_a_model_that_fails_is_an_error_with_what_it_said(place: Place) -> None:
    place.model.will(fails(401, "bad key"))
    ran = place.ask("x", *STREAM, code=4)
    end = lines(ran.stdout)[-1]["data"]
    assert (end["reason"], end["text"]) == ("error", "")
    assert end["detail"].startswith("API Error: ")
    assert ran.stderr.splitlines()[-1] == f"agent-tui: {end['detail']}"


def test_what_the_server_finds_wrong_is_wrong_usage(place: Place) -> None:
    ran = place.ask("x", "--model", "m" * 100_000, code=2)
    assert (ran.stdout, ran.stderr.count("\n")) == ("", 1)
