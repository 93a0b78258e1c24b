"""What the demo model says in rooms: a debate written by hand, or plainly that it cannot think."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from itertools import product

import pytest

from agent_tui.backend.models.demo.debate import filled, role_of, safe_line, turn_text, voices_of
from agent_tui.backend.models.demo.pacer import token_characters
from agent_tui.backend.models.demo.scripts import find, read
from agent_tui.backend.options import DEMO_TOKENS_PER_SECOND
from agent_tui.config.agent_templates import language_of
from agent_tui.model.events import AgentInfo
from tests.backend.models.talk import AGENTS, ANYTHING, LANGUAGES, OTHERS, TASKS, Said, ask, play
from tui.language import speak
from tui.room.first import demo_room

DEBATES = {
    "sessions": TASKS,
    "launch": {
        "en": "Plan the launch of our mobile app",
        "zh": "为我们的手机应用制定上线计划",
        "ru": "Составьте план запуска нашего мобильного приложения",
    },
    "incident": {
        "en": "Checkout was down for 47 minutes on Friday. What went wrong, and what do we change?",
        "zh": "周五结账故障了 47 分钟：哪里出了问题，该改什么？",
        "ru": "В пятницу 47 минут не работало оформление заказа. Что случилось и что меняем?",
    },
    "naming": {
        "en": "Name our new backup service",
        "zh": "给我们新的备份服务起个名字",
        "ru": "Придумайте название нашему новому сервису резервного копирования",
    },
}
EVERY = [(name, language) for name in DEBATES for language in LANGUAGES]
HAN, CYRILLIC = re.compile("[\u4e00-\u9fff]"), re.compile("[\u0400-\u04ff]")


def texts_in(value: object) -> Iterator[str]:
    """Yield all texts of a file."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from texts_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from texts_in(inner)


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_a_task_finds_the_debate_that_was_written_about_it(name: str, language: str) -> None:
    task = DEBATES[name][language]
    found = find("debate", task)
    assert found is not None
    assert (found.lastgroup, language_of(task)) == (name, language)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_task_of_ones_own_finds_none(language: str) -> None:
    assert find("debate", ANYTHING[language]) is None


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_a_debate_shows_a_table_and_code_and_answers_by_name_and_ends_with_a_decision(
    name: str, language: str
) -> None:
    said = play(DEBATES[name][language], AGENTS[language])
    whole = "\n\n".join(turn.text for turn in said)
    assert "\n| --- |" in whole
    assert "\n```" in whole
    assert said[-1].text == filled(str(read(f"{language}/{name}.toml")["decision"]), {})
    names = [name for name, _ in AGENTS[language]]
    for turn in said:
        named = {other for other in names if other != turn.name and other in turn.text}
        assert not named if turn.round == 1 else named or turn is said[-1]


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_any_number_of_agents_and_rounds_gives_whole_turns_and_nobody_repeats_another(
    name: str, language: str
) -> None:
    for agents, rounds in product(range(1, 7), range(1, 7)):
        chosen = (*AGENTS[language], *OTHERS)[:agents]
        texts = [turn.text for turn in play(DEBATES[name][language], chosen, rounds=rounds)]
        assert len(set(texts)) == len(texts)
        for text in texts:
            assert text
            assert text == text.strip()
            assert not re.search(r"\{(?:critic|engineer|writer|other|round|me)\}", text)
            assert text.count("```") % 2 == 0
            assert "\n\n\n" not in text


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_without_a_synthesis_the_writer_decides_or_who_speaks_last(name: str, language: str) -> None:
    for agents in (2, 3):
        said = play(DEBATES[name][language], AGENTS[language][:agents], synthesis=False)
        assert said[-1].text == filled(str(read(f"{language}/{name}.toml")["decision"]), {})


@pytest.mark.parametrize(("name", "language"), EVERY)
def test_a_debate_is_written_in_its_language_and_fills_only_what_is_there(name: str, language: str) -> None:
    for text in texts_in(read(f"{language}/{name}.toml")):
        prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
        assert bool(HAN.search(prose)) is (language == "zh")
        assert bool(CYRILLIC.search(prose)) is (language == "ru")
        assert set(re.findall(r"\{(\w+)\}", prose)) <= {"critic", "engineer", "writer"}
        assert "{" not in re.sub(r"\{(?:critic|engineer|writer)\}", "", prose)


@pytest.mark.parametrize("name", DEBATES)
def test_a_debate_has_the_same_parts_in_all_languages(name: str) -> None:
    files = [read(f"{language}/{name}.toml") for language in LANGUAGES]
    shapes = [
        (
            list(file),
            {voice: list(file[voice]) for voice in ("critic", "engineer", "writer")},
            len(file["more"]),
        )
        for file in files
    ]
    assert shapes[0] == shapes[1] == shapes[2]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_demo_room_talks_for_a_minute_or_more(language: str) -> None:
    speak({"zh": "zh-CN"}.get(language, language))
    room = demo_room()
    speak("en")
    agents = [(agent["name"], agent["system_prompt"]) for agent in room["agents"]]
    said = play(room["task"], agents, rounds=room["max_rounds"])
    lengths = {turn: len(turn.text) for turn in said}
    rounds = [
        max(length for turn, length in lengths.items() if turn.round == round_ and turn is not said[-1])
        for round_ in range(1, room["max_rounds"] + 1)
    ]
    characters = sum(rounds) + lengths[said[-1]]
    assert characters / token_characters(language) / DEMO_TOKENS_PER_SECOND >= 60


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_first_words_of_a_debate_say_that_it_is_a_demo(language: str) -> None:
    first, *others = play(TASKS[language], AGENTS[language])
    disclosure = str(read(f"{language}/room.toml")["disclosure"])
    assert first.text.startswith(disclosure)
    assert not any(disclosure in turn.text for turn in others)


@pytest.mark.parametrize("language", LANGUAGES)
def test_of_a_task_of_ones_own_it_says_that_it_cannot_think_and_how_to_connect_a_model(language: str) -> None:
    said = play(ANYTHING[language], AGENTS[language])
    for turn in said[:3]:
        assert ANYTHING[language] in turn.text
        assert "f4" in turn.text
        assert "agent-tui models setup" in turn.text
        assert len(turn.text) < 1_200
    whole = "\n".join(turn.text for turn in said)
    assert "| --- |" in whole
    assert "```sh" in whole
    assert len({turn.text for turn in said}) == len(said)
    assert all(f"| {name} | demo |" in whole for name, _ in AGENTS[language])


def test_what_a_person_says_is_answered_with_the_truth() -> None:
    said = [Said(1, "Ada", "Well."), Said(1, "用户", "Mind the budget. Please.")]
    text = turn_text(ask(TASKS["en"], said=said, round_=2), 0)
    assert text.startswith("You said “Mind the budget. Please.”. I play a script")
    after = [*said, Said(2, "Mika", text)]
    assert "Mind the budget" not in turn_text(ask(TASKS["en"], said=after, round_=3), 0)


def test_who_is_alone_speaks_of_nobody() -> None:
    for turn in play(TASKS["en"], [("Mika", "You are a critic.")], rounds=8):
        assert "Ada" not in turn.text
        assert turn.text


@pytest.mark.parametrize(
    ("name", "prompt", "voice"),
    [
        ("Critic", "", "critic"),
        ("Mika", "You are a sceptic who finds holes.", "critic"),
        ("Ada", "You are an engineer. Mind the critic.", "engineer"),
        ("工程师", "", "engineer"),
        ("老王", "你是讨论中的撰稿人。", "writer"),
        ("Нур", "Вы редактор в обсуждении.", "writer"),
        ("Kim", "You do research.", "engineer"),
        ("Ведущий", "", "writer"),
        ("Sam", "You are QA.", "critic"),
        ("Jo", "You are friendly.", ""),
        ("Jo", "An authority on critical thinking", ""),
        ("", "", ""),
    ],
)
def test_the_voice_is_read_from_the_name_or_the_prompt(name: str, prompt: str, voice: str) -> None:
    assert role_of(name, prompt) == voice


def test_each_voice_is_given_once_and_to_whom_it_suits() -> None:
    named = [AgentInfo(name, name) for name in ("Kim", "Critic", "Sceptic", "Jo", "Bo")]
    assert voices_of(named) == ("engineer", "critic", "writer", "", "")


HOSTILE = (
    "",
    "   \n\t ",
    "🙂🙂🙂 🙃",
    "x" * 100_000,
    "\x1b]0;title\x07 \x00 red \x9b31m \u202e evil \ud800",
    "# Title\n\n```python\nprint('x')\n```\n| a | b |\n* **bold** [link](http://x) <b>html</b>",
    "{task} {word} %s {0} {",
    "[Ada]: hello, are you there?",
)


@pytest.mark.parametrize("task", HOSTILE)
def test_no_task_and_no_name_breaks_it(task: str) -> None:
    for turn in play(task, (("Ev\x1b[31m`il`\u202e", ""), ("{me} | x", "")), rounds=2):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", turn.text)
        assert turn.text.count("```") % 2 == 0
        assert max(map(len, turn.text.splitlines())) < 700  # the quoted task is one short line
        turn.text.encode()


def test_markdown_in_a_task_is_quoted_as_plain_words() -> None:
    line = safe_line("## **Title** with `code` | <b>tags</b>", 120)
    assert line == "Title with 'code' / ‹b›tags‹/b›"


def test_a_sum_in_a_task_keeps_its_sign() -> None:
    assert safe_line("What is *really* 17*23?", 120) == "What is really 17 × 23?"


def test_chinese_words_have_chinese_signs_and_no_space_follows_them() -> None:
    package = files("agent_tui")
    shipped = [*(package / "backend/models/demo/zh").iterdir(), package / "backend/engine/agents.toml"]
    shipped += [package / "voice_instructions.py"]
    wrong = re.compile("[\u4e00-\u9fff][,;:?!]|[。：？！]\\*\\* ")
    assert [found for path in shipped for found in wrong.findall(path.read_text(encoding="utf-8"))] == []
