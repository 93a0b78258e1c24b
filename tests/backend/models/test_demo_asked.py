"""What the demo model takes out of a question, in three languages."""

from __future__ import annotations

import time
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.models.demo.asked import asks_for_tools, is_hello, wishes_in
from agent_tui.backend.models.demo.scripts import read
from agent_tui.backend.tools.arithmetic import evaluate, number_text


@pytest.mark.parametrize(
    ("question", "result"),
    [
        ("what is 17 * 23 + 4", "395"),
        ("What's 17*23?", "391"),
        ("17 times 23 is how much", "391"),
        ("what is 17 x 23", "391"),
        ("2+2!", "4"),
        ("5!", "120"),
        ("what is 15 percent of 80?", "12"),
        ("what is 1,234,567 + 1", "1234568"),
        ("how much is max(3, 4, 5)", "5"),
        ("what is 2 to the power of 10", "1024"),
        ("the square root of 144 is what? calculate", "12"),
        ("What is -5 + 3?", "-2"),
        ("what is (2+3", "5"),
        ("17乘以23是多少", "391"),
        ("１７＋４＝多少", "21"),
        ("80的15%是多少", "12"),
        ("2的10次方等于多少", "1024"),
        ("144的平方根是多少", "12"),
        ("сколько будет 17*23", "391"),
        ("сколько будет 3,5 умножить на 2", "7"),
        ("посчитай 1 000 000 разделить на 8", "125000"),
        ("корень из 144 это сколько", "12"),
    ],
)
def test_a_sum_in_words_is_one_that_the_calculator_takes(question: str, result: str) -> None:
    (wish,) = wishes_in(question)
    assert wish.tool == "calculator"
    assert number_text(evaluate(wish.arguments["expression"])) == result


@pytest.mark.parametrize(
    "question",
    [
        "what happened on 2024-11-21",
        "what is 24/7 support",
        "what is version 1.2.3-4",
        "what is a-1",
        "what is 5",
        "Chapters 3-5 are long",
        "сколько стоит",
        "今天我们讨论加法",
        "what is the time complexity of quicksort",
        "open the door",
        "run a marathon",
        "run the tests",
        "write a poem about autumn",
        "write a letter to Anna",
        "search for a restaurant",
        "read chapter 3",
        "show settings",
        "",
    ],
)
def test_what_only_looks_like_something_for_a_tool_is_left_alone(question: str) -> None:
    assert wishes_in(question) == ()


@pytest.mark.parametrize(
    ("question", "zones"),
    [
        ("what time is it in Tokyo", ["Asia/Tokyo"]),
        ("time in New York", ["America/New_York"]),
        ("what time is it in Beijing and Shanghai", ["Asia/Shanghai"]),
        ("What's the time in Berlin and London?", ["Europe/Berlin", "Europe/London"]),
        ("what time is it in Asia/Kathmandu", ["Asia/Kathmandu"]),
        ("what time is it?", [""]),
        ("现在东京几点", ["Asia/Tokyo"]),
        ("纽约现在几点", ["America/New_York"]),
        ("今天星期几", [""]),
        ("который час в Москве", ["Europe/Moscow"]),
        ("сколько времени в Риме", ["Europe/Rome"]),
        ("какое сейчас время", [""]),
    ],
)
def test_a_place_is_asked_for_by_its_zone(question: str, zones: list[str]) -> None:
    wishes = wishes_in(question)
    assert {wish.tool for wish in wishes} == {"current_time"}
    assert [wish.arguments.get("zone", "") for wish in wishes] == zones


@pytest.mark.parametrize(
    ("question", "place"),
    [
        ("what time is it in Atlantis?", "Atlantis"),
        ("который час в Урюпинске", "Урюпинске"),
        ("现在亚特兰蒂斯几点", "亚特兰蒂斯"),
    ],
)
def test_a_place_that_nobody_knows_is_named_and_no_zone_made_up(question: str, place: str) -> None:
    (wish,) = wishes_in(question)
    assert (wish.tool, wish.about, dict(wish.arguments)) == ("", place, {})


def test_sums_and_times_come_together_in_their_order() -> None:
    wishes = wishes_in("What time is it in Berlin, what is 2 + 2, and what is 3 * 3?")
    assert [wish.about for wish in wishes] == ["Europe/Berlin", "2 + 2", "3 * 3"]


@pytest.mark.parametrize(
    ("question", "tool", "arguments"),
    [
        ("list files", "list_files", {}),
        ("List the files in src/", "list_files", {"path": "src"}),
        ("show me the files in the docs folder", "list_files", {"path": "docs"}),
        ("列出 src 目录的文件", "list_files", {"path": "src"}),
        ("какие файлы есть в папке src", "list_files", {"path": "src"}),
        ("please read ./a/b.py.", "read_file", {"path": "./a/b.py"}),
        ("Read `my file.txt`", "read_file", {"path": "my file.txt"}),
        ("what's in README?", "read_file", {"path": "README"}),
        ("读取 README.md", "read_file", {"path": "README.md"}),
        ("прочитай файл notes.txt", "read_file", {"path": "notes.txt"}),
        ('write "hello" to notes.txt', "write_file", {"path": "notes.txt", "content": "hello\n"}),
        ("write notes.txt: a b", "write_file", {"path": "notes.txt", "content": "a b\n"}),
        ("把“你好”写入 notes.txt", "write_file", {"path": "notes.txt", "content": "你好\n"}),
        ("запиши «привет» в notes.txt", "write_file", {"path": "notes.txt", "content": "привет\n"}),
        ("run `echo 2+2`", "run_command", {"command": "echo 2+2"}),
        ("run the command `ls -la`, then say why", "run_command", {"command": "ls -la"}),
        ("run ls -la", "run_command", {"command": "ls -la"}),
        ("execute the command echo hi", "run_command", {"command": "echo hi"}),
        ("运行 ls -la", "run_command", {"command": "ls -la"}),
        ("запусти ls", "run_command", {"command": "ls"}),
        ("fetch https://example.com/x.", "fetch_url", {"url": "https://example.com/x"}),
        ("search the files for a.b", "search_files", {"pattern": r"a\.b"}),
    ],
)
def test_files_commands_and_pages_are_understood(question: str, tool: str, arguments: dict[str, str]) -> None:
    (wish,) = wishes_in(question)
    assert (wish.tool, dict(wish.arguments)) == (tool, arguments)


@pytest.mark.parametrize("language", ["en", "zh", "ru"])
def test_every_sentence_that_it_names_does_what_it_says(language: str) -> None:
    for name, tool in read(f"{language}/chat.toml")["tools"].items():
        assert [wish.tool for wish in wishes_in(tool["example"])] == [name]


@pytest.mark.parametrize("question", ["help", "what tools do you have?", "你有什么工具?", "что ты умеешь?"])
def test_a_question_for_the_tools_is_understood(question: str) -> None:
    assert asks_for_tools(question)
    assert wishes_in(question) == ()


@pytest.mark.parametrize(
    ("question", "is_one"),
    [("Hello!", True), ("привет", True), ("你好。", True), ("hello world program", False)],
)
def test_a_greeting_is_one_alone(question: str, is_one: bool) -> None:
    assert is_hello(question) is is_one


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    assert len(wishes_in(text)) <= 4
    asks_for_tools(text)
    is_hello(text)


def test_no_text_keeps_it_busy() -> None:
    """Patterns that try every way of taking a text apart would need seconds or years for some of these."""
    units = (
        "1",
        "/",
        "* ",
        "1.",
        "((",
        "11 ",
        "a.",
        "write ",
        "! ",
        "hello!",
        "`",
        "1,000,",
        "- ",
        "写",
        "现在",
        " ",
    )
    for head, unit, tail in product(("", "write ", "run ", "把"), units, ("", "a", "`")):
        started = time.process_time()
        wishes_in(head + unit * 5000 + tail)
        assert time.process_time() - started < 0.5, (head, unit, tail)  # it takes a few hundredths at most
