"""``ask`` against our own backend and a model server: tools, conversations, stops, what is on record."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

from tests.fakes.model_server import Answer, AskedCall, FakeModelServer, fails, says
from tests.tui.programs import Home, finish, own_environ

PROVIDER = '[providers.mine]\nkind = "openai"\nbase_url = "{url}"\nmodel = "some-model"\n'
STREAM = ("--output", "stream-json")
COMMAND = "echo made > made.txt"
BEGINS = says("It begins", finish=None, usage=None, done=False, ending="stall")


@dataclass(frozen=True, slots=True)
class Place:
    """A user, their backend, and the model that answers."""

    home: Home
    model: FakeModelServer

    async def run(self, *arguments: str, **changes: Any) -> CompletedProcess[str]:
        return await asyncio.to_thread(lambda: self.home.run(*arguments, **changes))

    async def ask(self, *arguments: str, code: int = 0) -> CompletedProcess[str]:
        ran = await self.run("ask", *arguments)
        assert ran.returncode == code, ran
        return ran

    def told(self) -> list[dict[str, Any]]:
        """Return the messages that the model was told last."""
        messages: list[dict[str, Any]] = self.model.requests[-1].body["messages"]
        return messages

    def result(self) -> dict[str, Any]:
        """Return the newest result that the model was told."""
        found: dict[str, Any] = json.loads(self.told()[-1]["content"])
        return found


@asynccontextmanager
async def a_place(folder: Path) -> AsyncIterator[Place]:
    home = Home(folder, own_environ(folder))
    async with FakeModelServer() as model:
        home.config.write_text(PROVIDER.format(url=model.url), encoding="utf-8")
        try:
            yield Place(home, model)
        finally:
            await asyncio.to_thread(home.stop)


def calls(name: str, arguments: dict[str, Any]) -> Answer:
    """Return an answer that calls one tool, its arguments in pieces."""
    written = json.dumps(arguments)
    pieces = tuple(written[place : place + 5] for place in range(0, len(written), 5))
    return says(calls=[AskedCall("call-1", name, pieces)], finish="tool_calls")


def lines(written: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in written.splitlines()]


async def test_a_tool_that_only_looks_runs_in_the_folder_of_the_command(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        (tmp_path / "notes.txt").write_text("tea at four\n", encoding="utf-8")
        place.model.will(calls("read_file", {"path": "notes.txt"}), says("Tea at four."))
        ran = await place.ask("When is tea?")
        assert ran.stdout == "Tea at four.\n"
        conversation, tool = ran.stderr.splitlines()
        assert conversation.startswith("conversation ")
        assert tool == "read_file notes.txt"
        assert "tea at four" in place.told()[-1]["content"]


async def test_a_tool_that_asks_is_denied_and_stderr_says_how_it_would_run(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        place.model.will(calls("run_command", {"command": COMMAND}), says("I may not."))
        ran = await place.ask("Make it.")
        assert ran.stdout == "I may not.\n"
        (told,) = ran.stderr.splitlines()[1:]
        assert told.startswith("not allowed: ")
        assert f"--allow 'run_command({COMMAND})' lets it run" in told
        assert place.result()["success"] is False
        assert "denied by the user: this was asked without a screen" in place.result()["error"]
        assert not (tmp_path / "made.txt").exists()


async def test_what_allow_names_runs_and_nothing_else(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        allow = ("--allow", "run_command(echo made *)", "--allow", "write_file(kept/*)")
        place.model.will(calls("run_command", {"command": "echo made it"}), says("Done."))
        assert (await place.ask("Say it.", *allow)).stderr.splitlines()[1:] == ["run_command echo made it"]
        assert place.result()["output"] == "made it\n"
        place.model.will(calls("run_command", {"command": "echo made it; id"}), says("No."))
        assert "not allowed" in (await place.ask("Say more.", *allow)).stderr
        place.model.will(calls("write_file", {"path": "else.txt", "content": "x"}), says("No."))
        assert "not allowed" in (await place.ask("Write it.", *allow)).stderr
        assert not (tmp_path / "else.txt").exists()
        place.model.will(calls("write_file", {"path": "kept/a.txt", "content": "x"}), says("Yes."))
        (tmp_path / "kept").mkdir()
        assert "not allowed" not in (await place.ask("Write it.", *allow)).stderr
        assert (tmp_path / "kept" / "a.txt").read_text(encoding="utf-8") == "x"


async def test_what_the_config_file_allows_does_not_ask(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        with place.home.config.open("a", encoding="utf-8") as file:
            file.write('[tools]\nallow = ["run_command(echo *)"]\n')
        place.model.will(calls("run_command", {"command": "echo it"}), says("Done."))
        assert (await place.ask("Say it.")).stderr.splitlines()[1:] == ["run_command echo it"]


async def test_none_offers_the_model_no_tools_and_names_offer_those(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        await place.ask("Hi", "--tools", "none")
        assert "tools" not in place.model.requests[-1].body
        await place.ask("Hi", "--tools", "calculator")
        offered = place.model.requests[-1].body["tools"]
        assert [tool["function"]["name"] for tool in offered] == ["calculator"]


async def test_a_conversation_goes_on_with_what_was_said_and_takes_another_model(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        first = await place.ask("One?", "--output", "json")
        made = json.loads(first.stdout)["conversation"]
        await place.ask("Two?", "--conversation", made["id"][:8], "--model", "other-model")
        assert place.model.requests[-1].body["model"] == "other-model"
        words = [message["content"] for message in place.told() if message["role"] != "system"]
        assert words == ["One?", "Hello there.", "Two?"]
        value = json.loads((await place.ask("Three?", "--conversation", "One?", "--output", "json")).stdout)
        assert value["conversation"]["model"] == "other-model"
        assert value["conversation"] == place.home.api("GET", f"/api/conversations/{made['id']}")
        assert [message["role"] for message in value["messages"]] == ["user", "assistant"] * 3
        assert (value["reason"], value["text"]) == ("completed", "Hello there.")


async def test_stream_json_holds_every_event_with_its_id(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        place.model.will(calls("calculator", {"expression": "17*23"}), says("It is ", "391."))
        found = lines((await place.ask("What is it?", *STREAM)).stdout)
        ids = [int(line["id"]) for line in found[:-1]]
        assert ids == list(range(ids[0], ids[0] + len(ids)))
        assert [line["event"] for line in found[-2:]] == ["done", "end"]
        assert found[-1]["data"] == {"reason": "completed", "text": "It is 391.", "detail": None}
        steps = [line["data"]["step"] for line in found if line["event"] == "process_step"]
        assert [(step["type"], step["id"]) for step in steps if step.get("content")] == [
            ("tool_result", "step-1")
        ]
        added = [line["data"] for line in found if line["event"] == "process_step_delta"]
        assert "".join(step.get("arguments", "") for step in added) == '{"expression": "17*23"}'


async def test_a_signal_stops_the_answer_and_its_words_are_kept(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        place.model.will(BEGINS)
        run = await asyncio.to_thread(place.home.start, "ask", "x", *STREAM)
        assert run.stdout is not None
        read = ""
        while '"It begins"' not in read:
            read = await asyncio.to_thread(run.stdout.readline)
        run.send_signal(signal.SIGINT)
        out, err = await asyncio.to_thread(finish, run)
        found = lines(out)
        assert (run.returncode, found[-1]["data"]) == (
            3,
            {"reason": "interrupted", "text": "It begins", "detail": None},
        )
        assert found[-2] == {**found[-2], "event": "error", "data": {"content": "Stopped"}}
        assert "stopping the answer; once more leaves at once" in err.splitlines()
        await place.model.until(lambda: place.model.open == 0)
        (shown,) = place.home.api("GET", "/api/conversations")["conversations"]
        answer = place.home.api("GET", f"/api/conversations/{shown['id']}/messages")["messages"][-1]
        assert (shown["status"], answer["interrupted"]) == ("idle", "stop")
        assert json.loads(answer["content"])["text"] == "It begins"


async def test_somebody_elses_stop_ends_it_too(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        place.model.will(BEGINS)
        asking = asyncio.create_task(place.run("ask", "x", *STREAM))
        await place.model.until(lambda: place.model.open == 1)
        (shown,) = (await asyncio.to_thread(place.home.api, "GET", "/api/conversations"))["conversations"]
        await asyncio.to_thread(place.home.api, "POST", f"/api/conversations/{shown['id']}/stop", {})
        ran = await asking
        end = lines(ran.stdout)[-1]["data"]
        assert (ran.returncode, end["reason"], end["detail"]) == (
            3,
            "interrupted",
            "somebody else stopped it",
        )


async def test_one_answer_at_a_time_the_second_question_is_busy(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        made = json.loads((await place.ask("One?", "--output", "json")).stdout)["conversation"]["id"]
        place.model.will(BEGINS)
        asking = asyncio.create_task(place.run("ask", "Two?", "--conversation", made))
        await place.model.until(lambda: place.model.open == 1)
        busy = await place.ask("Three?", "--conversation", made, *STREAM, code=6)
        assert lines(busy.stdout)[-1]["data"]["reason"] == "busy"
        await place.run("backend", "stop")
        assert (await asking).returncode == 4


async def test_a_model_that_fails_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        place.model.will(fails(401, "bad key"))
        ran = await place.ask("x", *STREAM, code=4)
        end = lines(ran.stdout)[-1]["data"]
        assert (end["reason"], end["text"]) == ("error", "")
        assert end["detail"].startswith("API Error: ")
        assert ran.stderr.splitlines()[-1] == f"agent-tui: {end['detail']}"


async def test_what_the_server_finds_wrong_is_wrong_usage(tmp_path: Path) -> None:
    async with a_place(tmp_path) as place:
        ran = await place.ask("x", "--model", "m" * 100_000, code=2)
        assert (ran.stdout, ran.stderr.count("\n")) == ("", 1)
