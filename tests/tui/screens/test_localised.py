"""What is said in English below the screens reaches a person in the language spoken."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent_tui.audio.check import SoundSurroundings, no_device
from agent_tui.config.presets import PRESETS
from agent_tui.model.errors import TOO_MANY_ROUNDS, ConnectFailed, Refused
from agent_tui.model.events import LinkChanged, ToolAsk, TurnNoted
from agent_tui.model.voice import LinkMoved, SoundChanged
from agent_tui.state.turn import Turn
from agent_tui.state.voice import VoiceState
from agent_tui.wire.voice_reasons import AGENT_ABSENT
from tests.settling import settle
from tests.tui.programs import Home, home_at
from tests.tui.room.one_room import loaded, opened
from tests.widgets.test_meter import OneMeter
from tui.chat.texts import told_beside
from tui.cli.commands.asking import note_line
from tui.cli.doctor.checks import lines
from tui.cli.doctor.servers import found_check
from tui.found import FoundModels
from tui.language import LANGUAGES, speak
from tui.live.steps.texts import asking_body
from tui.live.texts import about_tool, ending
from tui.screens.localised import localised
from tui.screens.words import list_of
from tui.voice import texts as voice_texts
from tui.voice.texts import VoiceShown
from widgets.transcript.step_body import failure, result_body
from widgets.units import duration, size, tokens

FOREIGN = "upstream: quota of tenant 7 exceeded, see the portal"


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    speak("en")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with home_at(tmp_path) as at:
        yield at


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "cannot connect to http://h:1: Connection refused"),
        ("zh-CN", "无法连接到 http://h:1：连接被拒绝"),
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
    "files: it ended with exit code 4: no such database: "
    "run its command by hand, or correct mcp.files.command and .args": (
        "files: завершился с кодом 4: no such database: "
        "запустите его команду вручную или исправьте mcp.files.command и .args"
    ),
}


@pytest.mark.parametrize(("text", "said"), RUSSIAN.items())
def test_why_a_model_or_server_failed_is_said_sentence_by_sentence(text: str, said: str) -> None:
    speak("ru")
    assert localised(text) == said


def test_why_an_mcp_server_is_missing_is_said_in_the_language_without_a_screen() -> None:
    speak("ru")
    noted = TurnNoted("a1", "server_missing", about="files: it was killed")
    assert "files: его завершили принудительно" in note_line(noted)


@pytest.mark.parametrize(
    ("note", "about", "said"),
    [
        ("agent_left", "the connection broke off", "соединение прервано: соединение оборвалось"),
        ("not_cancelled", "the connection broke off", "соединение оборвалось"),
        ("file_refused", "a.txt was not saved: There is no such file.", "Такого файла нет"),
        (
            "unreadable",
            "frame with 9 bytes exceeds limit of 5 bytes",
            "кадр в 9 байт больше предела в 5 байт",
        ),
    ],
)
def test_what_an_agent_on_another_server_failed_at_is_said_in_the_language(
    note: str, about: str, said: str
) -> None:
    speak("ru")
    noted = TurnNoted("", note, about=about)
    assert said in note_line(noted)
    assert said.partition(": ")[2] in told_beside(noted)


NOTHING = ("There is nothing new to summarise", "Ask something first.")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "There is nothing new to summarise. Ask something first."),
        ("ru", "Не из чего составить новую сводку. Сначала задайте вопрос."),
        ("zh-CN", "没有可生成摘要的新内容。请先提问。"),
    ],
)
def test_a_detail_that_is_a_sentence_follows_as_one(language: str, text: str) -> None:
    speak(language)
    assert localised(Refused(*NOTHING)) == text
    assert str(Refused(*NOTHING)) == ": ".join(NOTHING)  # as scripts know it


def test_a_detail_that_is_chinese_already_follows_as_a_sentence() -> None:
    assert localised(Refused("未安装语音智能体", "请运行它。")) == "未安装语音智能体。请运行它。"


@pytest.mark.parametrize(
    ("language", "text"),
    [("ru", "Не больше 200\u00a0000 знаков."), ("zh-CN", "最多 200,000 个字符。")],
)
def test_thousands_in_a_sentence_are_parted_as_in_the_language(language: str, text: str) -> None:
    speak(language)
    assert localised("At most 200,000 characters.") == text


SAID = {
    "http://h gave no answer of an OpenAI-compatible server: Does the address lead to its API? "
    "Instead it said: no. Why?": (
        "http://h 的答复不像来自“兼容 OpenAI 的服务器”：“地址”指向它的 API 吗？它的答复是：no. Why?",
        (
            "http://h отвечает не как сервер, совместимый с OpenAI: Ведёт ли адрес к его API? "
            "Вот его ответ: no. Why?"
        ),
    ),
    "no such model or path at http://h: status 404: model 'x' not found. It has no x, but y": (
        "http://h 没有此模型或路径：状态码 404：model 'x' not found。那里没有 x，有 y",
        "нет такой модели или пути по адресу http://h: код 404: model 'x' not found. Там нет x, а есть y",
    ),
    "the room paused because turns failed": (
        "有发言失败，房间已暂停",
        "некоторые реплики не удались, комната на паузе",
    ),
    "the answer was cut off: the model ran out of tokens": (
        "已达到模型的 token 上限，回答被截断",
        "ответ обрезан: достигнут лимит токенов модели",
    ),
    "/nope: cannot be read: No such file or directory": (
        "/nope：无法读取：没有此文件或文件夹",
        "/nope: не читается: нет такого файла или папки",
    ),
    "/c.toml: providers.d.base_url: is missing": (
        "/c.toml：providers.d.base_url：缺失",
        "/c.toml: providers.d.base_url: отсутствует",
    ),
    "API Error: the model's server failed: status 500: boom": (
        "API 错误：模型服务器出错：状态码 500：boom",
        "ошибка API: сбой сервера модели: код 500: boom",
    ),
    "no list of models at http://h: status 404. Is base_url right?": (
        "http://h 没有模型列表：状态码 404。“base_url”对吗？",
        "нет списка моделей по адресу http://h: код 404. Верен ли base_url?",
    ),
    "no list of models at http://h: status 404. Is the address right (it often ends in /v1)?": (
        "http://h 没有模型列表：状态码 404。“地址”对吗（它通常以 /v1 结尾）？",
        "нет списка моделей по адресу http://h: код 404. Верен ли адрес (часто он кончается на /v1)?",
    ),
    "workspace must be a folder that exists, by its absolute path": (
        "workspace 必须是已存在的文件夹，以绝对路径给出",
        "workspace: нужна существующая папка, заданная полным путём",
    ),
    "keys.room.nix: no such action; did you mean rooms.new?": (
        "keys.room.nix：没有此操作；是不是想用 rooms.new？",
        "keys.room.nix: нет такого действия; возможно, rooms.new?",
    ),
    "screen.colour: unknown setting, ignored": (
        "screen.colour：未知设置，已忽略",
        "screen.colour: неизвестная настройка, не учитывается",
    ),
    "../x: is outside the workspace; give a path relative to it": (
        "../x：在工作文件夹之外；请给出相对于它的路径",
        "../x: вне рабочей папки; укажите путь относительно неё",
    ),
}


@pytest.mark.parametrize(("text", "said"), SAID.items())
def test_an_error_is_joined_and_filled_as_the_language_writes_it(text: str, said: tuple[str, str]) -> None:
    for language, wanted in zip(("zh-CN", "ru", "en"), (*said, text), strict=True):
        speak(language)
        assert localised(text) == wanted


def test_a_call_that_was_denied_or_failed_says_so_in_the_language() -> None:
    denied = json.dumps({"success": False, "error": "denied by the user: 先别写"})
    foreign = json.dumps({"success": False, "error": FOREIGN})
    assert failure(denied) == "denied by the user: 先别写"
    speak("zh-CN")
    assert failure(denied) == "已拒绝：先别写"
    assert "已拒绝：先别写" in result_body(denied)
    assert FOREIGN in result_body(foreign)
    assert "denied by the user" in result_body(json.dumps({"success": True, "error": "denied by the user"}))
    speak("ru")
    assert failure(denied) == "запрещено: 先别写"


def test_names_in_a_sentence_and_sizes_in_tokens_are_written_as_in_the_language() -> None:
    said = []
    for language in ("en", "zh-CN", "ru"):
        speak(language)
        said.append((list_of(["Ada", "Ben"]), tokens(1_100), tokens(6_000), tokens(1_050_000)))
    assert said == [
        ("Ada, Ben", "1.1k", "6k", "1.05M"),
        ("Ada、Ben", "1.1k", "6k", "1.05M"),
        ("Ada, Ben", "1,1\xa0тыс.", "6\xa0тыс.", "1,05\xa0млн"),
    ]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("rooms", "new", "--rounds", "x"), ("--rounds: must be a whole number", "--rounds：必须是整数")),
        (("rooms", "show"), ("ROOM is missing", "缺少 ROOM")),
        (("rooms", "list", "more"), ("unexpected argument 'more'", "多余的参数“more”")),
    ],
)
def test_wrong_usage_is_told_in_our_own_words(
    home: Home, arguments: tuple[str, ...], said: tuple[str, str]
) -> None:
    for lang, wanted in zip(("C", "zh_CN.UTF-8"), said, strict=True):
        done = home.main(*arguments, LANG=lang)
        assert (done.returncode, wanted in done.stderr) == (2, True), done.stderr


def test_what_is_wrong_in_the_config_file_is_listed_in_the_language(home: Home) -> None:
    home.config.write_text('[screen]\ncolour = 1\n[keys]\n"room.zoom" = "p"\n"app.quit" = "strg+x"\n')
    said = home.main("config", "check", LANG="ru_RU.UTF-8").stdout
    assert "screen.colour: неизвестная настройка" in said
    assert "keys.room.zoom: забирает p у room.pause" in said
    assert "keys.app.quit: нет клавиши 'strg+x'" in said
    assert "screen.colour: unknown setting, ignored" in home.main("config", "check").stdout


def test_a_turn_that_failed_says_why_in_the_language() -> None:
    turn = Turn("m-1", "a-1")
    turn.status, turn.error = "failed", "LLM stream failed: the answer broke off"
    assert ending(turn) == "✗ LLM stream failed: the answer broke off"
    speak("zh-CN")
    assert ending(turn) == "✗ 模型调用失败：回答中断"


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
    problem = no_device("input", "", SoundSurroundings("linux", pulse_sockets=["/p"]))
    state = VoiceState("listening", sound=SoundChanged(problem, problem))
    card = voice_texts.card(state, VoiceShown())
    assert card is not None
    assert card.text.splitlines()[0] == said


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("zh-CN", "智能体没有加入房间。请检查"),
        ("ru", "Агент не вошёл в комнату. Проверьте, запущен ли агент"),
    ],
)
def test_why_a_voice_session_has_no_agent_is_said_in_the_language(language: str, said: str) -> None:
    speak(language)
    absent = LinkMoved("connected", AGENT_ABSENT.detail, AGENT_ABSENT.word)
    card = voice_texts.card(VoiceState("waiting_agent", link=absent), VoiceShown())
    assert card is not None
    assert card.text.startswith(said)


def test_where_a_command_would_run_and_how_long_is_asked_in_the_language() -> None:
    ask = ToolAsk("make test", "in /home/me\n60 s at most")
    assert "in /home/me\n60 s at most" in asking_body(ask)
    speak("ru")
    assert "в папке /home/me\nне дольше 60 с" in asking_body(ask)
    written = ToolAsk("write_file a", "+in /home/me\n+60 s at most", "diff")
    assert "+60 s at most" in asking_body(written)


def test_what_our_tools_say_of_a_call_that_asks_is_said_in_the_language() -> None:
    idle = ToolAsk("write_file a", "it would change nothing")
    foreign = ToolAsk("fetch_url http://xn--x/", "http://xn--x/\n\nThe host xn--x stands for дом")
    assert "it would change nothing" in asking_body(idle)
    speak("zh-CN")
    assert "不会有任何变化" in asking_body(idle)
    assert "http://xn--x/\n\n主机 xn--x 即 дом" in asking_body(foreign)


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


def test_what_both_devices_lack_is_said_once(home: Home) -> None:
    said = home.main("voice", "devices").stderr.splitlines()
    assert len(said) == len(set(said))


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


@pytest.mark.parametrize(
    ("language", "wanted"),
    [
        ("en", "the config file has: local, cloud, demo"),
        ("zh-CN", "配置文件中有：local、cloud、demo"),
        ("ru", "в файле настроек есть: local, cloud, demo"),
    ],
)
def test_names_in_an_error_have_the_mark_of_the_language_between_them(language: str, wanted: str) -> None:
    speak(language)
    assert localised("the config file has: local, cloud, demo") == wanted
    foreign = localised("the config file has: nothing of that, sorry")
    assert foreign.endswith("nothing of that, sorry")  # words of others stay as they came


def test_the_end_after_too_many_rounds_of_tools_is_said_in_words_of_ours() -> None:
    turn = Turn("m-1", "a-1", status="failed", error=TOO_MANY_ROUNDS)
    assert ending(turn) == "✗ stopped after 20 rounds of tools"
    speak("zh-CN")
    assert ending(turn) == "✗ 已在 20 轮工具调用后停止"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("this server does not offer pausing", "此服务器不提供暂停"),
        ("this server does not offer making rooms: it answered 404", "此服务器不提供创建房间：它答复 404"),
    ],
)
def test_what_a_server_does_not_offer_is_named_in_the_language(text: str, said: str) -> None:
    speak("zh-CN")
    assert localised(text) == said
