"""What the demo model says: in its role, about the task, to the others, and never twice."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import pytest

from agent_tui.backend.models.demo.scripts import script_for
from agent_tui.backend.models.demo.talk import role_of, token_characters, turn_text
from agent_tui.backend.models.model import ChatMessage, ModelRequest
from tests.backend.models.talk import AGENTS, ANYTHING, LANGUAGES, SCRIPTS, TASKS, Said, ask, play, sentences

HAN = re.compile("[\u4e00-\u9fff]")
CYRILLIC = re.compile("[\u0400-\u04ff]")
ROLES = tuple(SCRIPTS["en"].voices)
EVERY_ROLE = tuple((f"Agent {n}", role) for n, role in enumerate(ROLES))
EVERY_TASK = [(language, task[language]) for task in (TASKS, ANYTHING) for language in LANGUAGES]


def said_in(text: str, language: str) -> frozenset[str]:
    """Return the phrases of the script that ``text`` holds."""
    return SCRIPTS[language].said_in(text, quoted=True)


@pytest.mark.parametrize(("language", "task"), EVERY_TASK)
def test_it_speaks_the_language_of_the_task(language: str, task: str) -> None:
    for turn in play(task, AGENTS[language]):
        prose = re.sub(r"```.*?```", "", turn.text, flags=re.DOTALL)
        assert bool(HAN.search(prose)) is (language == "zh")
        assert bool(CYRILLIC.search(prose)) is (language == "ru")


@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize(("language", "task"), EVERY_TASK)
def test_a_turn_takes_twenty_to_thirty_seconds(language: str, task: str, parallel: bool) -> None:
    for turn in play(task, AGENTS[language], parallel=parallel):
        tokens = len(turn.text) / token_characters(language)
        assert 20 <= tokens / 20 <= 34  # seconds at the default rate


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_opening_quotes_the_task_and_says_that_it_is_a_demo(language: str) -> None:
    said = play(TASKS[language], AGENTS[language])
    for turn in said:
        first = turn.text.split("\n\n")[0]
        assert (TASKS[language] in first) is (turn.round == 1)
        assert bool(re.search(r"\bdemo\b|demo-", first)) is (turn.round == 1)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("parallel", [False, True])
def test_agents_answer_each_other_by_name_and_in_their_words(language: str, parallel: bool) -> None:
    said = play(TASKS[language], AGENTS[language], parallel=parallel)
    names = {name for name, _ in AGENTS[language]}
    for number, turn in enumerate(said):
        heard = [other for other in said[:number] if other.name != turn.name]
        if parallel:
            heard = [other for other in heard if other.round < turn.round]
        named = {name for name in names - {turn.name} if name in turn.text}
        assert named if heard else not named
        if heard:
            quoted = [
                q
                for other in heard
                for q in sentences(other.text)
                if q.rstrip(".。") in turn.text.lower().replace("‘", "“").replace("„", "«")
            ]
            assert quoted


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("parallel", [False, True])
@pytest.mark.parametrize("agents", [1, 3, len(ROLES)])
def test_nobody_says_the_same_sentence_twice_in_five_rounds(
    language: str, parallel: bool, agents: int
) -> None:
    chosen = AGENTS[language] if agents == 3 else EVERY_ROLE[:agents]
    spoken: dict[str, Counter[str]] = defaultdict(Counter)
    for turn in play(TASKS[language], chosen, rounds=5, parallel=parallel, seed=agents):
        spoken[turn.name].update(sentences(turn.text))
    repeated = {name: [s for s, times in said.items() if times > 1] for name, said in spoken.items()}
    assert repeated == {name: [] for name, _ in chosen}


@pytest.mark.parametrize("language", LANGUAGES)
def test_parallel_agents_hardly_ever_say_the_same_though_they_cannot_hear_each_other(language: str) -> None:
    for round_ in (1, 2, 3):
        turns = [t for t in play(TASKS[language], AGENTS[language], parallel=True) if t.round == round_]
        heads = {turn.text.split("\n\n")[0] for turn in turns}
        last = {turn.text.split("\n\n")[-1] for turn in turns}
        assert len(heads) == len(last) == 3
        times = Counter(s for turn in turns for s in set(sentences(turn.text)))
        shared = [s for s, count in times.items() if count > 1]
        assert len(shared) <= len(times) // 8


def test_agents_without_a_role_differ_by_their_names() -> None:
    said = play(TASKS["en"], [("Ada", ""), ("Mika", ""), ("Noor", "")], rounds=1, parallel=True)
    assert len({turn.text for turn in said}) == 3


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_rounds_differ_opening_quarrel_and_decision(language: str) -> None:
    script = SCRIPTS[language]
    name, prompt = AGENTS[language][0]
    voice = script.voices[role_of(name, prompt)]
    said = [t for t in play(TASKS[language], AGENTS[language]) if t.name == name]
    heads = [said_in(turn.text.split("\n\n")[0], language) for turn in said]
    for head, moment in zip(heads, ("opening", "middle", "last"), strict=True):
        assert head & set(voice[moment])
    decided = [bool(said_in(t.text, language) & set(script.pools["decision_topic"])) for t in said]
    assert decided == [False, False, True]


def test_the_decision_is_for_one_of_the_two_answers_the_task_names_and_shared() -> None:
    last = [turn.text for turn in play(TASKS["en"], AGENTS["en"]) if turn.round == 3]
    chosen = set()
    for text in last:
        block = next(b for b in text.split("\n\n") if "**Redis**" in b and "**PostgreSQL**" in b)
        chosen.add(min(("Redis", "PostgreSQL"), key=block.index))
    assert len(chosen) == 1


def test_a_room_of_one_round_opens_and_decides() -> None:
    said = said_in(turn_text(ask(TASKS["en"], rounds=1), 0), "en")
    assert said & set(SCRIPTS["en"].voices["critic"]["opening"])
    assert said & set(SCRIPTS["en"].pools["decision_topic"])


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("seed", range(3))
def test_markdown_is_whole_fences_tables_and_lists(language: str, seed: int) -> None:
    forms: set[str] = set()
    for turn in play(TASKS[language], AGENTS[language], rounds=4, seed=seed):
        assert turn.text.count("```") % 2 == 0
        assert turn.text == turn.text.strip()
        for block in re.split(r"\n\n(?=[^\n])", re.sub(r"```.*?```", "[code]", turn.text, flags=re.DOTALL)):
            lines = block.splitlines()
            if "[code]" in block:
                forms.add("code")
            elif lines[0].startswith("|"):
                forms.add("table")
                assert len({line.count("|") for line in lines}) == 1
                assert re.fullmatch(r"[| -]+", lines[1])
            elif lines[0].startswith("- "):
                forms.add("list")
                assert all(line.startswith("- ") for line in lines)
            elif lines[0].startswith("1. "):
                forms.add("numbered list")
                assert [line.split(". ")[0] for line in lines] == [str(n + 1) for n in range(len(lines))]
            else:
                assert len(lines) == 1
    assert forms == {"code", "table", "list", "numbered list"}


@pytest.mark.parametrize(
    ("name", "prompt", "role"),
    [
        ("Critic", "", "critic"),
        ("Mika", "You are a sceptic who finds holes.", "critic"),
        ("Ada", "You are an engineer. Mind the critic.", "engineer"),
        ("工程师", "", "engineer"),
        ("老王", "你是讨论中的撰稿人。", "writer"),
        ("Нур", "Вы редактор в обсуждении.", "writer"),
        ("Kim", "You do research.", "researcher"),
        ("Аналитик", "", "researcher"),
        ("小李", "负责项目规划", "planner"),
        ("Sam", "You are QA.", "tester"),
        ("Тестировщик", "Вы инженер.", "tester"),
        ("Jo", "You are friendly.", "generic"),
        ("Jo", "An authority on critical thinking", "generic"),
        ("", "", "generic"),
    ],
)
def test_the_role_is_read_from_the_name_or_the_prompt(name: str, prompt: str, role: str) -> None:
    assert role_of(name, prompt) == role


def test_roles_speak_with_voices_of_their_own() -> None:
    for role in ROLES:
        text = turn_text(ask(TASKS["en"], "X", role), 0)
        assert said_in(text, "en") & set(SCRIPTS["en"].voices[role]["opening"])


def test_the_words_of_another_model_are_answered_too() -> None:
    said = [Said(1, "Zoe", "I measured it **yesterday**: the cache was cold. So what?")]
    text = turn_text(ask(TASKS["en"], said=said), 0)
    assert "Zoe" in text
    assert "I measured it yesterday: the cache was cold" in text


def test_a_person_who_joins_in_is_answered() -> None:
    request = ask(
        TASKS["en"], said=[Said(1, "Mika", "Well."), Said(1, "用户", "Mind the budget. Please.")], round_=2
    )
    assert "Mind the budget" in turn_text(request, 0)
    plain = ModelRequest(
        (*ask(TASKS["en"]).messages, ChatMessage("user", "Be bold!")), "demo", "M", TASKS["en"], 2, 3
    )
    assert "Be bold!" in turn_text(plain, 0)


@pytest.mark.parametrize("max_tokens", [1, 7, 40, 150, 300])
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_turn_is_shorter_when_fewer_tokens_are_allowed(language: str, max_tokens: int) -> None:
    said = play(TASKS[language], AGENTS[language], rounds=1)
    text = turn_text(ask(TASKS[language], said=said, round_=2, max_tokens=max_tokens), 0)
    limit = max_tokens * token_characters(language)
    assert limit // 4 < len(text) <= limit
    assert text.count("```") % 2 == 0


def test_who_has_said_everything_says_so_and_is_brief() -> None:
    said = play(TASKS["en"], [("Mika", "You are a critic.")], rounds=40)
    assert all(turn.text for turn in said)
    assert said[38].text.startswith("In round 39 I have nothing to add")
    assert len(said[38].text) < 200
    spoken = Counter(s for turn in said for s in sentences(turn.text))
    assert max(spoken.values()) == 1


HOSTILE = (
    "",
    "   \n\t ",
    "?",
    "🙂🙂🙂 🙃",
    "x" * 100_000,
    "word " * 20_000,
    "\x1b]0;title\x07 \x00 red \x9b31m \u202e evil \ud800",
    "# Title\n\n```python\nprint('x')\n```\n| a | b |\n* **bold** [link](http://x) <b>html</b>",
    "```",
    "{task} {word} %s {0} {",
    "[Ada]: hello, are you there?",
    "a or b or c",
    "或者",
    "или или",
)


@pytest.mark.parametrize("task", HOSTILE)
def test_no_task_breaks_it(task: str) -> None:
    said = play(task, AGENTS["en"], rounds=2)
    assert len(said) == 6
    for turn in said:
        assert 800 <= len(turn.text) <= 2400
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", turn.text)
        assert turn.text.count("```") % 2 == 0
        assert max(map(len, turn.text.splitlines())) < 700  # the quoted task is one short line
        turn.text.encode()


def test_hostile_names_and_words_of_others_are_made_harmless() -> None:
    spoof = f"{SCRIPTS['en'].themes[0].question} \x1b[2J\x9b`|**x**"
    request = ask(TASKS["en"], said=[Said(1, "Ev\x1b[31m`il`\u202e", spoof)], round_=2)
    text = turn_text(request, 0)
    assert "Ev" in text
    assert not re.search("[\x1b\x9b\u202e]", text)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_phrase_is_found_again_where_it_was_said(language: str) -> None:
    script = SCRIPTS[language]
    for theme in script.themes:
        for phrase in (theme.point, theme.doubt, theme.question, theme.answer, theme.step, theme.agreed):
            assert script.said_in(f"- {phrase}", quoted=False) == {phrase}
            (before, after), inner = script.texts["marks"], script.texts["inner_marks"]
            quoted = f"{before}{phrase.translate(str.maketrans(before + after, inner))}{after}"
            assert script.said_in(quoted, quoted=True) == {phrase}
            assert not script.said_in(quoted, quoted=False)


@pytest.mark.parametrize("language", LANGUAGES)
def test_phrases_ask_for_nothing_that_nobody_fills_in(language: str) -> None:
    known = "task a b pick other name quote bare answer theme step question round"
    slots = {slot for phrase in SCRIPTS[language].fixed for slot in re.findall(r"\{(\w+)\}", phrase)}
    assert slots <= set(known.split())


def test_the_scripts_have_the_same_shape_in_all_languages() -> None:
    for task in (TASKS, ANYTHING):
        scripts = [script_for(language, task[language]) for language in LANGUAGES]
        for shape in (
            [(script.texts.keys(), script.pools.keys(), script.voices.keys()) for script in scripts],
            [[voice.keys() for voice in script.voices.values()] for script in scripts],
            [[(theme.roles, bool(theme.counter), bool(theme.show)) for theme in s.themes] for s in scripts],
        ):
            assert shape[0] == shape[1] == shape[2]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_debate_written_for_the_task_is_about_it_and_has_two_sides(language: str) -> None:
    said = play(TASKS[language], AGENTS[language], parallel=True)
    topic = [theme for theme in SCRIPTS[language].themes if theme.is_topic]
    raised = {theme.name for theme in topic for turn in said if theme.point in turn.text}
    assert len(raised) >= 10
    quarrel = "".join(turn.text for turn in said if turn.round == 2)
    assert any(theme.counter and theme.counter in quarrel for theme in topic)
    other = "".join(turn.text for turn in play(ANYTHING[language], AGENTS[language]))
    assert not any(theme.point in other for theme in topic)
