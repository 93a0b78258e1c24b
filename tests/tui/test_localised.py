"""What is said in English below the screens reaches a person in the language spoken."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.audio.check import Surroundings, no_device
from agent_tui.config.presets import PRESETS
from agent_tui.model.errors import ConnectFailed
from agent_tui.model.events import LinkChanged, ToolAsk
from agent_tui.model.voice import SoundChanged
from agent_tui.state.turn import Turn
from agent_tui.state.voice import VoiceState
from tests.settling import settle
from tests.tui.messages import patterns
from tests.tui.one_room import loaded, opened
from tests.tui.programs import Home, home_at
from tests.tui.raised import raised
from tests.widgets.test_meter import OneMeter
from tui.cli.doctor.checks import lines
from tui.cli.doctor.servers import found_check
from tui.found import FoundModels
from tui.language import LANGUAGES, speak
from tui.live.steps.texts import asking_body
from tui.live.texts import about_tool, ending
from tui.screens.localised import PATTERNS, localised
from tui.voice import texts as voice_texts
from tui.voice.texts import Shown as VoiceShown
from widgets.units import duration, size

OTHERS = [language for language, folder in LANGUAGES.items() if folder]
FOREIGN = "upstream: quota of tenant 7 exceeded, see the portal"


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    speak("en")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with home_at(tmp_path) as at:
        yield at


def test_the_patterns_that_are_shipped_are_those_of_the_code() -> None:
    assert PATTERNS.read_text(encoding="utf-8") == patterns(), "make messages writes them"


@pytest.mark.parametrize("language", OTHERS)
def test_every_text_raised_below_the_screens_is_told_in_the_language(language: str) -> None:
    speak(language)
    assert not [text for text in raised() if "{" not in text and localised(text) == text]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "cannot connect to http://h:1: Connection refused"),
        ("zh-CN", "无法连接到 http://h:1: 连接被拒绝"),
        ("ru", "не удаётся соединиться с http://h:1: соединение отклонено"),
    ],
)
def test_an_error_has_its_values_in_the_sentence_of_the_language(language: str, text: str) -> None:
    speak(language)
    assert localised(ConnectFailed("cannot connect to http://h:1", "Connection refused")) == text


RUSSIAN = {
    "LLM stream failed: cannot connect to http://h:1/v1: Connection refused. "
    "Is the server running, and is base_url right?": (
        "сбой вызова модели: не удаётся соединиться с http://h:1/v1: соединение отклонено. "
        "Запущен ли сервер и верен ли base_url?"
    ),
    "API Error: https://h/v1 refused the key: status 401: Wrong. The key comes from OPENAI_API_KEY": (
        "ошибка API: https://h/v1: ключ отклонён: код 401: Wrong. Ключ взят из OPENAI_API_KEY"
    ),
    "no such model or path at http://h/v1: status 404. "
    "Is the model called a.b, and is base_url right (it often ends in /v1)?": (
        "нет такой модели или пути по адресу http://h/v1: код 404. "
        "Модель называется a.b? Верен ли base_url (часто он кончается на /v1)?"
    ),
    "files: it did not start within 30 s": "files: он не запустился за 30 с",
}


@pytest.mark.parametrize(("text", "said"), RUSSIAN.items())
def test_why_a_model_or_server_failed_is_said_sentence_by_sentence(text: str, said: str) -> None:
    speak("ru")
    assert localised(text) == said


def test_a_turn_that_failed_says_why_in_the_language() -> None:
    turn = Turn("m-1", "a-1")
    turn.status, turn.error = "failed", "LLM stream failed: the answer broke off"
    assert ending(turn) == "✗ LLM stream failed: the answer broke off"
    speak("zh-CN")
    assert ending(turn) == "✗ 模型调用失败: 回答中断"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_of_a_foreign_server_are_shown_as_they_came(language: str) -> None:
    speak(language)
    assert localised(FOREIGN) == FOREIGN
    assert FOREIGN in localised(f"the server refused that (402): {FOREIGN}")
    assert localised("x" * 5_000) == "x" * 5_000
    assert localised("{0.__class__} {} {path") == "{0.__class__} {} {path"


def test_a_command_that_a_sentence_names_can_be_typed_as_it_stands() -> None:
    speak("ru")
    assert "agent-tui rooms list" in localised('there is no room "x": agent-tui rooms list names them')


def test_what_somebody_typed_is_named_as_it_was_typed() -> None:
    speak("ru")
    assert localised("No such command 'rooms'") == "нет команды «rooms»"


def test_what_was_found_here_is_told_in_the_language_and_stays_english_for_scripts() -> None:
    server = FoundModels(PRESETS["ollama"], PRESETS["ollama"].base_url, models=3)
    key = FoundModels(PRESETS["openai"], "", "OPENAI_API_KEY")
    speak("ru")
    check = found_check([server, key], has_providers=False)
    assert "(3 модели)" in lines(check)[0]
    assert "key in" not in lines(check)[0]
    assert "(3 models), OpenAI (key in OPENAI_API_KEY): not used" in str(check.fields()["detail"])


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("zh-CN", "没有麦克风：请接入一个，或请设置 PULSE_SERVER=unix:/p。"),
        ("ru", "Не найден микрофон: подключите его или задайте PULSE_SERVER=unix:/p."),
    ],
)
def test_why_a_voice_room_has_no_microphone_is_said_in_the_language(language: str, said: str) -> None:
    speak(language)
    problem = no_device("input", "", Surroundings("linux", pulse_sockets=["/p"]))
    state = VoiceState("listening", sound=SoundChanged(problem, problem))
    card = voice_texts.card(state, VoiceShown())
    assert card is not None
    assert card.text.splitlines()[0] == said


def test_where_a_command_would_run_and_how_long_is_asked_in_the_language() -> None:
    ask = ToolAsk("make test", "in /home/me\n60 s at most")
    assert "in /home/me\n60 s at most" in asking_body(ask)
    speak("ru")
    assert "в папке /home/me\nне дольше 60 с" in asking_body(ask)
    written = ToolAsk("write_file a", "+in /home/me\n+60 s at most", "diff")
    assert "+60 s at most" in asking_body(written)


def test_what_a_tool_of_ours_does_is_said_in_the_language_and_of_others_as_it_came() -> None:
    speak("zh-CN")
    assert about_tool("read_file", "built-in", "Read a text file.") == "读取工作文件夹中的文本文件"
    assert about_tool("read_file", "mcp-server", "Read a text file.") == "Read a text file."


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "2 min 5 s, 1.2 kB"), ("zh-CN", "2 分 5 秒, 1.2 kB"), ("ru", "2 мин 5 с, 1,2 кБ")],
)
def test_units_are_those_of_the_language(language: str, said: str) -> None:
    speak(language)
    assert f"{duration(125)}, {size(1200)}" == said


async def test_a_level_of_sound_is_told_in_the_language() -> None:
    speak("ru")
    app, said = OneMeter(), []
    async with app.run_test(size=(60, 5)):
        for dbfs, is_clipping in [(-30.0, False), (-96.0, False), (0.0, True)]:
            app.meter.show(dbfs, dbfs, is_clipping=is_clipping)
            await settle(0.1)
            said.append(app.meter.text.split("  ")[-1])
    assert said == ["−30 дБ", "тихо", "перегрузка"]


def test_a_command_that_fails_says_why_in_the_language_and_its_exit_code_stays(home: Home) -> None:
    codes = set()
    for lang, said in [
        ("C", "nothing to run"),
        ("zh_CN.UTF-8", "没有可运行的内容"),
        ("ru_RU.UTF-8", "запускать нечего"),
    ]:
        done = home.main("rooms", "run", LANG=lang)
        assert said in done.stderr
        codes.add(done.returncode)
    assert codes == {2}


@pytest.mark.parametrize(
    ("language", "said"),
    [("en", "Connection refused"), ("zh-CN", "连接被拒绝"), ("ru", "соединение отклонено")],
)
async def test_a_screen_says_in_the_language_why_a_server_refused(language: str, said: str) -> None:
    speak(language)
    async with opened(size=(120, 30)) as screen:
        text = await screen.send(loaded(status="running"), LinkChanged("refused", "Connection refused"))
    assert said in text
