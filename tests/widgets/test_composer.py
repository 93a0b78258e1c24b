"""A few lines to write in: what they take, how high they get, what they remember and complete."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from unicodedata import name

import pytest
from textual._compositor import Compositor
from textual.app import App, ComposeResult
from textual.events import Key, Paste
from textual.pilot import Pilot

from widgets.choices import Completion, Suggestion
from widgets.composer import MAX_CHARACTERS, MOST_ROWS, Composer, whispered

NAMES = ("Mika", "Михаил", "老王")


def names(text: str) -> Completion:
    """Return the names that what begins with @ may become."""
    fits = [
        name for name in NAMES if text.startswith("@") and name.casefold().startswith(text[1:].casefold())
    ]
    return Completion(len(text), tuple(Suggestion(name, f"@{name}") for name in fits))


class OneComposer(App[None]):
    """An app with nothing but the lines under test."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

        self.ended = 0

    def compose(self) -> ComposeResult:
        line = Composer(completer=names)
        yield line.choices
        yield line

    def on_composer_ended(self) -> None:
        self.ended += 1

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        self.sent.append(event.text)


@asynccontextmanager
async def opened() -> AsyncGenerator[tuple[Composer, Pilot[None]], None]:
    app = OneComposer()
    async with app.run_test(size=(40, 12)) as pilot:
        line = app.query_one(Composer)
        line.focus()
        await pilot.pause()
        yield line, pilot


async def write(pilot: Pilot[None], text: str) -> None:
    """Send the keys as a terminal does: ``press`` does not know the characters of other scripts."""
    for character in text:
        key = character if character.isalpha() else f"{name(character).lower().replace(' ', '_')}"
        pilot.app.post_message(Key(key, character))
    await pilot.pause()


def sent(line: Composer) -> list[str]:
    assert isinstance(line.app, OneComposer)
    return line.app.sent


async def test_a_text_that_is_there_from_the_start_has_its_rows_in_the_first_frame(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heights: list[int] = []

    class Filled(OneComposer):
        def on_mount(self) -> None:
            self.query_one(Composer).put("word " * 20)

    def paint(compositor: Compositor, *args: object, **kwargs: object) -> None:
        heights.append(app.query_one(Composer).size.height)

    app = Filled()
    monkeypatch.setattr(Compositor, "render_update", paint)
    async with app.run_test(size=(40, 12)) as pilot:
        await pilot.pause()
    assert set(heights) == {3}


async def test_it_grows_with_what_is_written_and_no_higher_than_it_may() -> None:
    async with opened() as (line, pilot):
        heights = []
        for _ in range(MOST_ROWS + 2):
            await pilot.press("ctrl+j")
            await pilot.pause()
            heights.append(line.size.height)
        assert heights == [2, 3, 4, 5, 6, 6, 6, 6]
        line.styles.max_height = 1
        await pilot.pause()
        assert line.size.height == 1
        line.styles.max_height = MOST_ROWS
        line.put("word " * 20)
        await pilot.pause()
        assert line.size.height == 3


async def test_nothing_that_a_terminal_obeys_gets_in_by_whatever_way() -> None:
    nasty = "a\x1b[31m\u202e\x00\ud800\tb\r\nc"
    async with opened() as (line, _):
        line.insert(nasty)
        typed = line.text
        line.put(nasty)
        assert typed == line.text
        assert typed.startswith("a␛[31m")
        assert typed.endswith("    b\nc")


async def test_the_marks_of_chinese_input_begin_a_whisper_or_a_command() -> None:
    async with opened() as (line, pilot):
        line.insert("＠工程师 你好")
        assert line.text == "@工程师 你好"
        line.put("")
        await write(pilot, "／a／＠")
        assert line.text == "/a／＠"


async def test_a_free_key_is_one_in_chinese_input_too() -> None:
    async with opened() as (line, pilot):
        line.free_keys = {"question_mark": "app.bell"}
        await write(pilot, "？a？")
        assert line.text == "a？"


async def test_nothing_is_inserted_of_what_does_not_fit_and_what_was_selected_stays() -> None:
    async with opened() as (line, pilot):
        line.insert("about this: ")
        line.select_all()
        line.replace("line\n" * 300_000, *line.selection)
        assert line.text == "about this: "
        line.insert("x" * (MAX_CHARACTERS - len(line.text)))
        assert len(line.text) == MAX_CHARACTERS
        await pilot.press("x", "backspace", "y")
        assert len(line.text) == MAX_CHARACTERS
        assert line.text.endswith("y")


async def test_no_word_is_lost_of_a_longer_text_that_an_editor_wrote_and_less_of_it_can_be_left() -> None:
    whole = "a line of it\n" * (MAX_CHARACTERS // 10) + "the end"
    async with opened() as (line, pilot):
        line.put(whole)
        await pilot.press("x", "backspace", "backspace", "enter")
        assert line.text == whole[:-2]
        assert sent(line) == [whole[:-2]]


async def test_blanks_are_not_sent() -> None:
    async with opened() as (line, pilot):
        await pilot.press("enter", "space", "ctrl+j", "enter")
        assert sent(line) == []


async def test_what_is_written_while_it_is_sent_stays() -> None:
    async with opened() as (line, pilot):
        await pilot.press(*"one", "enter", *" two")
        line.take_away("one")
        assert line.text == " two"


async def test_enter_takes_what_is_marked_of_what_is_only_begun() -> None:
    async with opened() as (line, pilot):
        await pilot.press("@", "m", "enter")
        assert (line.text, sent(line)) == ("@Mika ", [])
        line.put("@x")
        await pilot.press("enter")
        assert sent(line) == ["@x"]


async def test_the_end_is_asked_for_where_nothing_is_written_else_a_letter_is_deleted() -> None:
    async with opened() as (line, pilot):
        await pilot.press(*"ab", "left", "ctrl+d")
        assert line.text == "a"
        assert ended(line) == 0
        await pilot.press("backspace", "ctrl+d")
        assert ended(line) == 1


async def test_what_was_cleared_is_the_newest_of_what_was_sent() -> None:
    async with opened() as (line, pilot):
        await pilot.press(*"ab")
        assert line.clear_line()
        assert line.text == ""
        assert not line.clear_line()
        await pilot.press("up")
        assert line.text == "ab"


async def test_a_free_key_is_typed_only_behind_something_else() -> None:
    async with opened() as (line, pilot):
        line.free_keys = {"question_mark": "app.bell"}
        await pilot.press("question_mark", "a", "question_mark")
        assert line.text == "a?"


async def test_its_cursor_does_not_blink() -> None:
    async with opened() as (line, _):
        assert not line.cursor_blink


def ended(line: Composer) -> int:
    assert isinstance(line.app, OneComposer)
    return line.app.ended


@pytest.mark.parametrize(
    ("text", "name", "words"),
    [
        ("@Ada psst", "Ada", "psst"),
        ("@Ada Lovelace psst", "Ada Lovelace", "psst"),
        ("@Ada\npsst ", "Ada", "psst"),
        ("@Adam psst", "", "@Adam psst"),
        ("mail @Ada now", "", "mail @Ada now"),
        ("@Ada", "Ada", ""),
        ("@ada psst", "Ada", "psst"),
        ("@ADA LOVELACE, psst", "Ada Lovelace", "psst"),
        ("@Ada: psst: now", "Ada", "psst: now"),
        ("@Ada，你好：", "Ada", "你好："),
        ("@Ada :)", "Ada", ":)"),
        ("@ Ada psst", "Ada", "psst"),
        ("@", "", "@"),
    ],
)
def test_a_whisper_begins_with_a_name(text: str, name: str, words: str) -> None:
    assert whispered(text, ["Ada", "Ada Lovelace"]) == (name, words)


def test_of_two_names_that_differ_in_case_the_one_that_was_written_is_meant() -> None:
    for names in (["Ada", "ADA"], ["ADA", "Ada"]):
        assert [whispered(f"@{name} psst", names)[0] for name in names] == names


async def test_ends_of_pasted_lines_are_kept_as_terminals_send_them() -> None:
    async with opened() as (line, pilot):
        line.app.post_message(Paste("one\rtwo\r\nthree"))
        await pilot.pause()
        assert line.text == "one\ntwo\nthree"
