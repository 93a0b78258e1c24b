"""The demo model in a chat: it calls tools, says what came of it, and never pretends to know."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.models.demo.pacer import DemoModel
from agent_tui.backend.models.demo.scripts import read
from agent_tui.backend.models.model import (
    CallPiece,
    ChatMessage,
    CutPiece,
    ModelRequest,
    Piece,
    TextPiece,
    ThinkingPiece,
    ToolSpec,
    UsagePiece,
)
from agent_tui.backend.tools.files import ListFiles, ReadFile
from agent_tui.backend.tools.shell import RunCommand
from agent_tui.backend.tools.simple import Calculator, CurrentTime
from agent_tui.backend.tools.tool import Tool, ToolPlace
from agent_tui.backend.tools.writing import WriteFile
from tests.backend.models.calls import after, calls_of, text
from tests.backend.models.test_demo import Watch
from tests.backend.tools.calls import run_text

MOMENT = datetime(2026, 3, 7, 22, 30, tzinfo=UTC)
TOOLS: tuple[Tool, ...] = (
    Calculator(),
    CurrentTime(lambda: MOMENT),
    ListFiles(),
    ReadFile(),
    WriteFile(),
    RunCommand(),
)
SPECS = tuple(tool.spec for tool in TOOLS)


def asked(question: str, tools: Sequence[ToolSpec] = SPECS, *, max_tokens: int = 2000) -> ModelRequest:
    """Return the first request of a chat that begins with ``question``."""
    told = (ChatMessage("user", question),)
    return ModelRequest(told, "demo", "", question, 1, 1, max_tokens=max_tokens, tools=tuple(tools))


async def all_of(request: ModelRequest) -> list[Piece]:
    return [piece async for piece in DemoModel(0).stream(request)]


async def answer(question: str, folder: Path | None = None, tools: Sequence[ToolSpec] = SPECS) -> str:
    """Return what it says in the end, its calls carried out by the real tools."""
    request = asked(question, tools)
    said = await all_of(request)
    results = []
    for call in calls_of(said):
        tool = next(tool for tool in TOOLS if tool.spec.name == call.name)
        results.append((await run_text(tool, call.arguments, ToolPlace(folder))).content)
    assert results, text(said)
    last = await all_of(replace(after(request, text(said), calls_of(said), *results), round=2))
    assert not calls_of(last)
    return text(last)


# --- calls -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "name", "arguments"),
    [
        ("what is 17 * 23 + 4", "calculator", {"expression": "17 * 23 + 4"}),
        ("17乘以23是多少", "calculator", {"expression": "17 * 23"}),
        ("сколько будет 17*23", "calculator", {"expression": "17*23"}),
        ("what time is it in Tokyo", "current_time", {"zone": "Asia/Tokyo"}),
        ("现在东京几点", "current_time", {"zone": "Asia/Tokyo"}),
        ("который час в Москве", "current_time", {"zone": "Europe/Moscow"}),
    ],
)
async def test_it_thinks_aloud_and_calls(question: str, name: str, arguments: dict[str, str]) -> None:
    said = await all_of(asked(question))
    (call,) = calls_of(said)
    assert (call.name, json.loads(call.arguments)) == (name, arguments)
    assert call.id
    assert isinstance(said[0], ThinkingPiece)
    assert text(said)
    assert isinstance(said[-1], UsagePiece)
    pieces = [piece for piece in said if isinstance(piece, CallPiece)]
    assert len(pieces) > 4  # its arguments come like words


async def test_two_things_are_asked_for_at_once() -> None:
    said = await all_of(asked("What is 2 + 2, and what time is it in Berlin?"))
    calls = calls_of(said)
    assert [call.name for call in calls] == ["calculator", "current_time"]
    assert calls[0].id != calls[1].id


async def test_the_same_question_gives_the_same_pieces_whatever_the_rate() -> None:
    request = asked("what is 2 + 2")
    watch = Watch()
    slow = [piece async for piece in DemoModel(20, sleep=watch.sleep, clock=watch.clock).stream(request)]
    assert slow == await all_of(request)
    assert watch.now - 50.0 == pytest.approx((len(slow) - 2) / 20)


async def test_out_of_tokens_it_stops_and_says_so() -> None:
    said = await all_of(asked("what is 2 + 2", max_tokens=5))
    assert said[-2] == CutPiece("length")
    assert said[-1] == UsagePiece(3, 5)
    assert len(said) == 7


# --- what came of them -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("what is 17 * 23 + 4", "`17 * 23 + 4` = **395**"),
        ("what is 1/3", "`1/3` = **1/3**, about 0.333333333333333"),
        ("what is sin(1)", "`sin(1)` ≈ **0.8414709848078965**"),
        ("17乘以23是多少", "`17 * 23` = **391**"),
        ("сколько будет 17*23", "`17*23` = **391**"),
        ("what time is it in Tokyo", "In Tokyo it is **07:30** on Sunday, 8 March 2026 (UTC+09:00)."),
        ("现在东京几点", "东京现在是2026年3月8日星期日 **07:30**\uff08UTC+09:00\uff09。"),
        ("который час в Москве", "Москва: сейчас **01:30**, воскресенье, 8 марта 2026 г. (UTC+03:00)."),
        ("what time is it in UTC", "In UTC it is **22:30** on Saturday, 7 March 2026 (UTC)."),
        ("what time is it in Hawaii", "In Honolulu it is **12:30** on Saturday, 7 March 2026 (UTC-10:00)."),
        ("what is 1/0", "That did not work. `calculator` says: 1/0: divides by zero"),
        ("read README.md", "That did not work. `read_file` says: this conversation has no workspace"),
    ],
)
async def test_it_says_what_came_of_a_call(question: str, said: str) -> None:
    assert (await answer(question)).startswith(said)


async def test_it_says_what_came_of_several_calls_in_their_order() -> None:
    said = await answer("What is 2 + 2, and what time is it in Berlin and in Shanghai?")
    assert said.split("\n\n") == [
        "`2 + 2` = **4**",
        "In Berlin it is **23:30** on Saturday, 7 March 2026 (UTC+01:00).",
        "In Shanghai it is **06:30** on Sunday, 8 March 2026 (UTC+08:00).",
    ]


async def test_files_are_listed_read_written_and_commands_run(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Title\n```sh\nls\n```\n" + "line\n" * 40)
    assert "notes.md" in await answer("list files", tmp_path)
    read = await answer("read notes.md", tmp_path)
    assert "````\n     1  # Title" in read  # a fence that the file's own does not end
    assert "24 more lines" in read
    assert "hello.txt" in await answer("write hello.txt: hi", tmp_path)
    assert (tmp_path / "hello.txt").read_text() == "hi\n"
    assert "exit code 0" in await answer("run `cat hello.txt`", tmp_path)
    assert "exit code 3. Nothing" in await answer("run `exit 3`", tmp_path)


async def test_a_call_that_was_not_allowed_is_told_as_that() -> None:
    request = asked("run ls")
    calls = calls_of(await all_of(request))
    denied = '{"success": false, "error": "denied by the user: not today"}'
    said = text(await all_of(after(request, "", calls, denied)))
    assert said == "That did not work. `run_command` says: denied by the user: not today"


async def test_later_questions_do_not_hear_of_earlier_results() -> None:
    request = asked("what is 2 + 2")
    calls = calls_of(await all_of(request))
    before = after(request, "", calls, '{"result": "4"}').messages
    told = (*before, ChatMessage("assistant", "4"), ChatMessage("user", "5*5"))
    later = await all_of(replace(request, messages=told, task="5*5"))
    assert [json.loads(call.arguments) for call in calls_of(later)] == [{"expression": "5*5"}]
    assert calls_of(later)[0].id != calls[0].id


async def test_a_bare_sum_is_answered_in_the_language_of_the_chat() -> None:
    told = (ChatMessage("user", "привет"), ChatMessage("assistant", "…"), ChatMessage("user", "5*5"))
    said = await all_of(replace(asked("5*5"), messages=told))
    assert text(said) == read("ru/chat.toml")["tools"]["calculator"]["ask"]


async def test_a_chat_that_begins_with_a_bare_sum_gets_figures_alone() -> None:
    said = await all_of(asked("17*23"))
    assert not any(isinstance(piece, (TextPiece, ThinkingPiece)) for piece in said)
    assert [json.loads(call.arguments) for call in calls_of(said)] == [{"expression": "17*23"}]


# --- what it cannot do -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("What is the capital of France?", "en"),
        ("法国的首都是哪里?", "zh"),
        ("Какая столица у Франции?", "ru"),
    ],
)
async def test_what_it_cannot_know_it_says_and_names_sentences_that_work(
    question: str, language: str
) -> None:
    said = await all_of(asked(question))
    assert not calls_of(said)
    assert {"en": "demo", "zh": "演示", "ru": "демо"}[language] in text(said)
    assert question in text(said)
    tools = read(f"{language}/chat.toml")["tools"]
    for spec in SPECS:
        assert tools[spec.name]["example"] in text(said)
    assert tools["fetch_url"]["example"] not in text(said)  # not offered here
    assert len(text(said)) < 1000


async def test_of_a_task_it_says_that_it_cannot_think_and_how_to_connect_a_model() -> None:
    said = text(await all_of(asked("Rewrite the onboarding mail")))
    assert "I am the demo model" in said
    assert "“Rewrite the onboarding mail”" in said
    assert "**f4**" in said
    assert "`agent-tui models setup`" in said


@pytest.mark.parametrize("question", ["Hello!", "help", "what tools do you have", ""])
async def test_who_says_hello_or_asks_is_told_what_there_is(question: str) -> None:
    said = text(await all_of(asked(question)))
    assert "what is 17 * 23 + 4" in said
    assert "run ls -l" in said


async def test_tools_that_it_has_no_use_for_are_named() -> None:
    other = ToolSpec("weather__forecast", "The weather.", {"type": "object"})
    assert "`weather__forecast`" in text(await all_of(asked("help", (*SPECS, other))))


async def test_a_tool_that_is_not_offered_is_not_called() -> None:
    said = await all_of(asked("run ls", SPECS[:2]))
    assert not calls_of(said)
    assert "`run_command`, but it is not switched on" in text(said)
    both = await all_of(asked("what is 2 + 2 and what time is it", SPECS[1:2]))
    assert [call.name for call in calls_of(both)] == ["current_time"]
    assert "`calculator`, but it is not switched on" in text(both)


async def test_without_any_tools_a_chat_is_still_a_chat() -> None:
    said = text(await all_of(asked("what is 2 + 2", ())))
    assert "not switched on" in said
    assert "No tools are switched on" in said


async def test_asked_to_think_it_thinks_where_there_is_nothing_to_call() -> None:
    request = asked("What is love?")
    assert not any(isinstance(piece, ThinkingPiece) for piece in await all_of(request))
    assert isinstance((await all_of(replace(request, thinking=True)))[0], ThinkingPiece)


async def test_it_does_not_make_up_the_zone_of_a_place() -> None:
    said = await all_of(asked("what time is it in Atlantis"))
    assert not calls_of(said)
    assert "“Atlantis”" in text(said)


@given(st.text(), st.text())
async def test_nothing_that_is_asked_or_comes_back_breaks_it(question: str, result: str) -> None:
    assert text(await all_of(asked(question)))
    for first in ("run ls", "what is 2 + 2", "what time is it", "list files", "write a.txt: b"):
        request = asked(first)
        calls = calls_of(await all_of(request))
        assert text(await all_of(after(request, "", calls, result)))


@pytest.mark.parametrize(
    "result", ['{"result": 4}', '{"time": "noon"}', "[1]", "null", '{"success": false}', ""]
)
async def test_results_in_an_odd_form_are_shown_as_they_are(result: str) -> None:
    for first in ("run ls", "what is 2 + 2", "what time is it"):
        request = asked(first)
        said = text(await all_of(after(request, "", calls_of(await all_of(request)), result)))
        assert said
        assert "= **" not in said


async def test_an_agent_of_a_room_talks_its_task_through_tools_or_not() -> None:
    request = replace(asked("Which queue for the importer?"), speaker="Ada", max_rounds=3)
    said = text(await all_of(request))
    assert said == text(await all_of(replace(request, tools=())))
    sum_ = replace(asked("what is 2 + 2"), speaker="Ada", max_rounds=3)
    calls = calls_of(await all_of(sum_))
    assert [call.name for call in calls] == ["calculator"]
    assert "= **4**" in text(await all_of(after(sum_, "", calls, '{"result": "4"}')))
