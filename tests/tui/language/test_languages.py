"""The program in Chinese and Russian: nothing is missing, numbers are right, and everything has room."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from babel.messages.catalog import Message
from babel.messages.mofile import read_mo
from rich.cells import cell_len

from agent_tui.config.agent_templates import LANGUAGES as TEMPLATE_LANGUAGES
from agent_tui.config.agent_templates import templates
from agent_tui.config.file import SCREEN_LANGUAGES
from agent_tui.model.events import LinkChanged, QueuedMessage, RoomInfo, RoomLoaded
from agent_tui.state.conversation import ConversationState
from tests.tui.chat.one_chat import opened as chat_opened
from tests.tui.chat.one_chat import said as told
from tests.tui.language.messages import FOLDERS, Text, path_of, patterns, read, texts
from tests.tui.language.raised import raised
from tests.tui.lists.rooms_listed import listed, room
from tests.tui.programs import Home, home_at
from tests.tui.room.one_room import LIVE, loaded, opened
from tui.cli.doctor.checks import Check, lines
from tui.cli.headless.formats import speaker_line
from tui.cli.pages import COLUMNS, help_page
from tui.forms.agent_choice import NAME_CELLS
from tui.language import AUTO, CLI, KEY, LANGUAGES, speak, translated, wanted_language, written_language
from tui.live.texts import told_server
from tui.room.texts import title
from tui.screens.localised import PATTERNS, localised
from tui.screens.words import ENGLISH, count, ordinal_try, say, say_count
from widgets.row_ends import NO_END
from widgets.signs import DONE

OTHERS = [language for language, folder in LANGUAGES.items() if folder]
PLACEHOLDER = re.compile(r"{[\w.:<]*}")
SAME = {  # names, numbers, signs: what is the same in every language
    "changes.lines",
    "find.label",
    "setting.guide",
    "setup.kind.anthropic",
    "setup.kind.google",
    "setup.kind.ollama",
    "voice.notice.failed",
    "voice.devices.chosen",
    "voice.round_trip",
    "agent.speaking",
    "agent.tokens",
    "list.tokens",
    "theme.title",
    "home.title",
    *(f"unit.{unit}" for unit in ("dB", "B", "kB", "MB", "GB", "TB")),
}
OTHER_FIELDS = {"link.try"}  # English has "2nd", others the number


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    speak("en")


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with home_at(tmp_path) as at:
        yield at


def strings(message: Message) -> tuple[str, ...]:
    return (message.string,) if isinstance(message.string, str) else tuple(message.string or ())


def english(message: Message) -> Text:
    one, many = (message.id, "") if isinstance(message.id, str) else message.id
    return Text(str(message.context), str(one), str(many))


@cache
def messages(folder: str) -> list[Message]:
    return [message for message in read(folder) if message.id]


# --- catalogues --------------------------------------------------------------------------------------------


def test_the_catalogues_have_the_texts_of_the_code_and_no_others() -> None:
    said = set(texts())
    for folder in FOLDERS:
        assert {english(message) for message in messages(folder)} == said, (
            "make messages brings it up to date"
        )


def test_the_patterns_that_are_shipped_are_those_of_the_code() -> None:
    assert PATTERNS.read_text(encoding="utf-8") == patterns(), "make messages writes them"


def test_every_text_raised_below_the_screens_is_told_in_every_language() -> None:
    for language in OTHERS:
        speak(language)
        assert not [text for text in raised() if "{" not in text and localised(text) == text]


@pytest.mark.parametrize("folder", FOLDERS)
def test_what_is_shipped_is_what_the_catalogue_says(folder: str) -> None:
    """The header is left out: it names the version of Babel that wrote the file."""
    with path_of(folder, "mo").open("rb") as file:
        shipped = {english(message): strings(message) for message in read_mo(file) if message.id}
    assert shipped == {english(one): strings(one) for one in messages(folder)}, "make messages compiles it"


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_text_is_translated(folder: str) -> None:
    lacking = [english(one) for one in messages(folder) if not all(strings(one))]
    assert not lacking


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_translation_has_the_placeholders_of_the_english_text(folder: str) -> None:
    for message in messages(folder):
        text = english(message)
        if text.context not in OTHER_FIELDS:
            wanted = set(PLACEHOLDER.findall(text.many or text.one))
            for said in strings(message):
                assert set(PLACEHOLDER.findall(said)) == wanted, text


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_translation_differs_from_english_unless_it_is_a_name_or_a_number(folder: str) -> None:
    same = {
        english(message).one
        for message in messages(folder)
        if message.context not in SAME and english(message).one in strings(message)
    }
    assert same <= {
        *(", ", ". ", ": ", " ({text})", "k", "M", "{name} ({model})"),
        "sqlite:///path/file.db",
        "[voice.agent] hearing: {hearing}",
        "[voice.agent] voice: {voice}",
    }


# --- numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "said"),
    [
        ("en", ["1 token", "2 tokens", "5 tokens", "21 tokens", "12,345 tokens"]),
        ("zh-CN", ["1 token", "2 token", "5 token", "21 token", "12,345 token"]),
        ("ru", ["1 токен", "2 токена", "5 токенов", "21 токен", "12\u00a0345 токенов"]),
    ],
)
def test_what_is_said_of_a_number_has_the_form_that_the_language_wants(
    language: str, said: list[str]
) -> None:
    speak(language)
    assert [say_count("used.tokens", number) for number in (1, 2, 5, 21, 12_345)] == said


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_about_a_number_can_be_said_of_every_number(language: str) -> None:
    speak(language)
    for key in ENGLISH:
        if f"{key}.one" in ENGLISH:
            for number in (0, 1, 2, 5, 21, 1_000):
                assert count(number) in say_count(key, number, tokens=1, name="N", models=count(number))


def test_a_singular_belongs_to_a_text_about_a_number() -> None:
    """A text whose key only ends like one would be in no catalogue."""
    assert [key for key in ENGLISH if key.endswith(".one") and key.removesuffix(".one") not in ENGLISH] == []


@pytest.mark.parametrize(("language", "said"), [("en", "3rd try"), ("zh-CN", "第 3 次"), ("ru", "попытка 3")])
def test_a_try_is_counted_as_the_language_counts(language: str, said: str) -> None:
    speak(language)
    assert ordinal_try(3) == said


# --- which language ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "environ", "language"),
    [
        ("", {}, "en"),
        ("", {"LANG": "C"}, "en"),
        ("", {"LANG": "POSIX"}, "en"),
        ("", {"LANG": "de_DE.UTF-8"}, "en"),
        ("", {"LANG": "ru_RU.UTF-8"}, "ru"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "zh-CN"),
        ("auto", {"LANG": "ru_RU.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, "en"),
        ("auto", {"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ("en", {"LANG": "ru_RU.UTF-8"}, "en"),
        ("zh-CN", {"LANG": "C"}, "zh-CN"),
        ("Klingon", {"LANG": "ru_RU.UTF-8"}, "ru"),
    ],
)
def test_the_config_file_chooses_the_language_else_the_locale(
    written: str, environ: dict[str, str], language: str
) -> None:
    assert wanted_language(written, environ) == language


def test_a_pipe_in_place_of_the_config_file_names_no_language_and_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert written_language({"AGENT_TUI_CONFIG": str(tmp_path / "pipe")}) == ""


def test_the_config_file_knows_the_languages_that_there_are() -> None:
    assert (AUTO, *LANGUAGES) == SCREEN_LANGUAGES


def test_a_command_speaks_the_language_of_the_locale_and_of_the_config_file(home: Home) -> None:
    page = ("rooms", "list", "--help")
    assert "Lists the rooms." in home.main(*page).stdout
    assert "список комнат" in home.main(*page, LANG="ru_RU.UTF-8").stdout
    home.config.write_text('[screen]\nlanguage = "zh-CN"\n', encoding="utf-8")
    assert "列出房间" in home.main(*page, LANG="ru_RU.UTF-8").stdout
    home.config.write_text('[screen]\nlanguage = "Klingon"\n', encoding="utf-8")
    assert "Lists the rooms." in home.main(*page).stdout
    assert "screen.language: must be " in home.main("config", "check").stdout


def test_what_scripts_read_is_english_in_every_language(home: Home) -> None:
    room_id = home.new_room("A task")
    ours, theirs = (
        home.main("rooms", "show", room_id, "--output", "json", LANG=lang).stdout
        for lang in ("C", "ru_RU.UTF-8")
    )
    assert ours == theirs


# --- room on the screen ------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("page", ["", "rooms", "rooms run", "ask", "voice", "serve", "config keys", "doctor"])
def test_a_help_page_fits_into_eighty_columns(language: str, page: str) -> None:
    speak(language)
    for line in help_page(page).splitlines():
        assert cell_len(line) <= COLUMNS, line
        assert line.isascii() or line[-1] not in NO_END, line


@pytest.mark.parametrize("language", LANGUAGES)
async def test_eighty_columns_have_what_goes_on_in_a_room_how_to_go_on_and_what_was_used(
    language: str,
) -> None:
    speak(language)
    task = "How should we name the new backup service, and who decides?"
    queued = QueuedMessage("m1", "等一下")
    async with opened(size=(80, 24)) as screen:
        paused = await screen.send(loaded(status="paused", current_round=1, interrupted="pause"), LIVE)
        lost = await screen.send(loaded(status="running"), LIVE, LinkChanged("waiting", "", 50.0, 21))
        running = {"status": "running", "current_round": 2, "task": task, "queue": (queued,)}
        waits = await screen.send(loaded(**running, tokens=1_284, cost=2.5), LIVE)
        timeline = (await screen.press("t")).splitlines()
    rows = paused.splitlines()
    assert say("room.round", round=1, most=3) in rows[0]
    assert f"p {say('hint.resume')}" in rows[-1]
    assert f"? {say('hint.help')}" in rows[-1]
    assert ("paused" in paused) is (language == "en")
    assert ordinal_try(21) in lost.splitlines()[0]
    assert "等一下（1）" in waits.replace(" ", "") or language != "zh-CN"
    assert say("room.round", round=2, most=3) in timeline[0]
    assert say_count("used.tokens", 1_284).replace("\xa0", " ") in timeline[-1]


def test_between_chinese_words_are_chinese_signs_and_no_spaces() -> None:
    speak("zh-CN")
    assert speaker_line("工程师") == "工程师："
    assert lines(Check("terminal", "terminal", "ok", "xterm")) == ["正常 终端：xterm"]
    assert told_server("slow", "it ended") == "MCP 服务器 slow：它已结束"
    assert say("hint.resume.who", name="工程师") == "继续：由工程师接着说"
    assert localised("工程师 is speaking") == "工程师正在发言"


@pytest.mark.parametrize(("language", "between"), [("en", " – "), ("zh-CN", " · "), ("ru", " — ")])
def test_between_the_name_and_the_task_of_a_room_is_the_sign_of_the_language(
    language: str, between: str
) -> None:
    speak(language)
    state = ConversationState(RoomInfo(""))
    state.apply(RoomLoaded(RoomInfo("r", name="Tea", task="Which tea?"), ()))
    assert title(state) == f"Tea{between}Which tea?"


def test_no_translation_has_the_dash_of_english_and_chinese_has_its_own_brackets_and_you() -> None:
    said = {folder: [text for one in messages(folder) for text in strings(one)] for folder in FOLDERS}
    assert [text for texts_of in said.values() for text in texts_of if " – " in text] == []
    assert [text for text in said["zh_CN"] if re.search(r"你|[一-鿿] ?\(|\)[一-鿿：]", text)] == []


@pytest.mark.parametrize("language", LANGUAGES)
async def test_the_list_of_rooms_has_its_hints(language: str, tmp_path: Path) -> None:
    speak(language)
    async with listed(tmp_path, room(1), room(2, status="completed"), size=(80, 24)) as seen:
        rows = (await seen.text()).splitlines()
    assert rows[0].strip().startswith(say("rooms.title"))
    assert f"enter {say('list.hint.open')}" in rows[-1]
    assert f"? {say('hint.help')}" in rows[-1]
    assert all(cell_len(row) <= 80 for row in rows)


@pytest.mark.parametrize(
    ("language", "usage"),
    [
        ("en", "Usage: /title TITLE"),
        ("zh-CN", "用法：/title 标题"),
        ("ru", "Использование: /title НАЗВАНИЕ"),
    ],
)
async def test_a_chat_has_its_hints_and_a_command_names_the_words_it_needs(language: str, usage: str) -> None:
    speak(language)
    async with chat_opened(*told(1, "Why?", "Because."), size=(80, 24)) as chat:
        text = await chat.text()
        assert say("chat.placeholder") in text
        assert say("chat.ready") in text.splitlines()[0]
        assert usage in await chat.press("slash", *"title", "enter")


@pytest.mark.parametrize("language", OTHERS)
def test_no_description_of_a_key_is_longer_than_help_has_room_for(language: str) -> None:
    folder = LANGUAGES[language]
    for message in messages(folder):
        if message.context == KEY:
            assert cell_len(strings(message)[0]) <= 50, message.id
        if (
            message.context
            and message.context.startswith("hint.")
            and not PLACEHOLDER.search(strings(message)[0])
        ):
            assert cell_len(strings(message)[0]) <= 20, message.id
        assert message.context != CLI or strings(message)[0].endswith("\n") == english(message).one.endswith(
            "\n"
        )


def test_in_russian_a_key_does_not_read_as_a_word_of_the_sentence() -> None:
    for message in messages("ru"):
        for text in strings(message):
            for before, after in re.findall(r"(\S*) ?{press}(..?)?", text):
                assert before.casefold() == "нажмите" or after == " —", text


@pytest.mark.parametrize("language", TEMPLATE_LANGUAGES)
def test_the_names_of_all_shipped_agents_fit_into_their_column(language: str) -> None:
    for template in templates(Path("/nonexistent")):
        name = template.in_language(language)[0]
        assert cell_len(f"{DONE} {name} ") <= NAME_CELLS, name


def test_in_chinese_what_rooms_and_chats_share_is_not_said_of_chats_alone() -> None:
    speak("zh-CN")
    shared = [
        say("ask.conversation"),
        say("ask.conversation.file"),
        say("plain.asks.words"),
        localised("There is no call c1 in this conversation"),
    ]
    shared += [translated(KEY, text) for text in ("In this conversation", "Allow in this conversation")]
    assert [text for text in shared if "对话" in text] == []
    assert "房间" in say("rules.in.all")
