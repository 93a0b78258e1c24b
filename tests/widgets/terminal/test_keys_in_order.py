"""Keys that come in one burst do what they would have done one by one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding
from textual.pilot import Pilot
from textual.screen import ModalScreen, Screen
from textual.widgets import Input

from tests.settling import settle
from widgets.composer import Composer
from widgets.terminal import keys_in_order
from widgets.terminal.keys_in_order import KeysInOrder


class Line(ModalScreen[str]):
    """Closes with what was typed."""

    BINDINGS = [("escape", "dismiss('')", "Back")]  # noqa: RUF012 - as Textual wants it

    def compose(self) -> ComposeResult:
        yield Input(select_on_focus=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)


class Slow(Input):
    """A line that ponders over ``f4``."""

    async def key_f4(self) -> None:
        self.app.pondered.set()  # type: ignore[attr-defined]
        await self.app.enough.wait()  # type: ignore[attr-defined]


class Form(KeysInOrder[None]):
    """Two lines; ``f2`` asks for a third, ``ctrl+s`` or ``ctrl+c`` keeps what both hold."""

    BINDINGS = [  # noqa: RUF012
        ("f2", "ask", "Ask"),
        ("f3", "go", "Go"),
        ("ctrl+s,ctrl+c", "save", "Keep"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[list[str]] = []
        self.asked: list[str | None] = []
        self.pondered, self.enough, self.saved = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def compose(self) -> ComposeResult:
        yield Slow(select_on_focus=False)
        yield Input(select_on_focus=False)

    @property
    def values(self) -> list[str]:
        return [line.value for line in self.screen_stack[0].query(Input)]

    def action_save(self) -> None:
        self.kept.append(self.values)
        self.saved.set()

    def action_ask(self) -> None:
        self.push_screen(Line(), self.asked.append)

    async def action_go(self) -> None:
        await self.focused.remove() if self.focused else None


@asynccontextmanager
async def form() -> AsyncIterator[tuple[Form, Pilot[None]]]:
    app = Form()
    async with app.run_test() as pilot:
        yield app, pilot


async def burst(pilot: Pilot[None], *keys: str) -> None:
    """Type keys without waiting for anything; what begins with ">" is pasted."""
    for key in keys:
        is_letter = len(key) == 1
        pilot.app.post_message(
            events.Paste(key[1:]) if key[0] == ">" else events.Key(key, key if is_letter else None)
        )
    settled = [None]
    while pilot.app.is_answering or settled:  # type: ignore[attr-defined]
        settled.clear()
        await pilot.pause()


@pytest.mark.parametrize(
    ("keys", "values"),
    [
        (("a", "b", "backspace", "c"), ["ac", ""]),
        (("a", "b", "left", "c", "end", "d"), ["acbd", ""]),
        (("a", "tab", "b", "shift+tab", "c", "tab", "tab", "d"), ["acd", "b"]),
        (("a", ">bc", "backspace", "tab", ">d", "e"), ["ab", "de"]),
    ],
    ids=["what is deleted", "where it stands", "which line", "what is pasted"],
)
async def test_a_key_waits_for_the_one_before_it(keys: tuple[str, ...], values: list[str]) -> None:
    async with form() as (app, pilot):
        await burst(pilot, *keys)
        assert app.values == values


class Again(Screen[None]):
    """Has ``f6`` answered as another key."""

    def key_f6(self, event: events.Key) -> None:
        app = self.app
        assert isinstance(app, Form)
        app.answer_next(events.Key("f2", None))


async def test_a_key_that_a_screen_has_answered_next_reaches_the_program() -> None:
    class Other(Form):
        def get_default_screen(self) -> Screen[None]:
            return Again()

    app = Other()
    async with app.run_test() as pilot:
        await burst(pilot, "f6")
        assert isinstance(app.screen, Line)


async def test_a_key_with_priority_overtakes_no_letter() -> None:
    async with form() as (app, pilot):
        app._bindings.bind("ctrl+s", "save", priority=True)
        await burst(pilot, "a", "b", "ctrl+s", "c", "tab", "d", "ctrl+s")
        assert app.kept == [["ab", ""], ["abc", "d"]]


async def test_what_is_typed_behind_a_key_that_opens_a_line_stands_in_that_line() -> None:
    async with form() as (app, pilot):
        await burst(pilot, "a", "f2", "b", "c", "backspace", "d", "enter", "e", "f2", "f", "escape", "g")
        assert app.asked == ["bd", ""]
        assert app.values == ["aeg", ""]


async def test_keys_go_on_after_a_line_that_was_taken_away_with_what_was_typed_into_it() -> None:
    async with form() as (app, pilot):
        await burst(pilot, "a", "f3", "b", "tab", "c", "backspace", "d")
        assert len(app.values) == 1
        assert "d" in app.values[0]
        await burst(pilot, "e")
        assert app.values[0].endswith("e")


async def test_a_key_that_takes_long_to_answer_does_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(keys_in_order, "PATIENCE_SECONDS", 0.01)
    async with form() as (app, pilot):
        app._bindings.bind("ctrl+s", "save", priority=True)
        await burst(pilot, "a")
        app.post_message(events.Key("f4", None))
        await app.pondered.wait()
        app.post_message(events.Key("ctrl+s", None))
        await app.saved.wait()
        assert app.kept == [["a", ""]]
        app.enough.set()
        await burst(pilot, "b", "backspace", "c")
        assert app.values == ["ac", ""]


async def test_keys_that_are_held_wait_but_for_those_that_leave() -> None:
    async with form() as (app, pilot):
        app.holds_keys = True
        await burst(pilot, "a", "b", "ctrl+c")
        assert app.kept == [["", ""]]
        await app.answer_held_keys()
        await burst(pilot, "c")
        assert app.values == ["abc", ""]


async def test_keys_are_timed_by_the_clock_of_their_events() -> None:
    async with form() as (app, pilot):
        await settle(3.0)
        key = events.Key("a", "a")
        await settle(2.0)
        app.post_message(key)
        await pilot.pause()
        assert app.presses.began_at == pytest.approx(key.time)
        assert app.presses.now() - key.time >= 2.0


def began(*pressed: tuple[str, float]) -> list[float]:
    """Return when each key was pressed down, told keys and the moments in which they came."""
    now = 0.0
    presses = keys_in_order.KeyPresses(lambda: now)
    found = []
    for key, at in pressed:
        now = at + 0.01
        presses.note(key, 0.01)
        found.append(round(presses.began_at, 3))
    return found


def test_a_key_that_is_held_was_pressed_down_once() -> None:
    held = [("y", 1.0), *(("y", 1.7 + n / 30) for n in range(30))]
    assert set(began(*held)) == {1.0}
    assert began(("y", 1.0), ("y", 2.5)) == [1.0, 2.5]
    assert began(("y", 1.0), ("y", 1.6), ("y", 2.2)) == [1.0, 1.0, 2.2]  # tapped: the first looks like a hold
    assert began(("y", 1.0), ("n", 1.1), ("y", 1.2)) == [1.0, 1.1, 1.2]
    assert began(("y", 1.0), ("", 1.1), ("y", 1.2)) == [1.0, 1.1, 1.2]  # something was pasted between


class Writing(KeysInOrder[None]):
    """Lines to write in, where ``x`` is a key in spite of that: the person wants it so."""

    BINDINGS = [Binding("f5", "mark", "Mark", id="mark", priority=True)]  # noqa: RUF012

    def __init__(self) -> None:
        super().__init__()
        self.changes = 0
        self.marked: list[str] = []

    def compose(self) -> ComposeResult:
        yield Composer()

    @property
    def text(self) -> str:
        return self.query_one(Composer).text

    def on_mount(self) -> None:
        self.set_keymap({"mark": "x"})

    def on_text_area_changed(self) -> None:
        self.changes += 1

    def action_mark(self) -> None:
        self.marked.append(self.text)


@pytest.mark.parametrize(
    ("keys", "text", "marked"),
    [
        ((*"abc", "left", "left", *"12", "backspace", "end", *"de"), "a1bcde", []),
        ((*"abcx", *"de"), "abcde", ["abc"]),
        ((*"ab", ">cd", *"ef", "ctrl+w", *"gh"), "gh", []),
        ((*"abc", "shift+left", "shift+left", *"de"), "ade", []),
    ],
    ids=["other keys", "a letter that is a key", "a paste", "a selection"],
)
async def test_letters_that_wait_are_typed_in_their_order(
    keys: tuple[str, ...], text: str, marked: list[str]
) -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await burst(pilot, *keys)
        assert (app.text, app.marked) == (text, marked)


async def test_letters_that_wait_are_typed_at_once() -> None:
    app = Writing()
    async with app.run_test() as pilot:
        await burst(pilot, *"words" * 200)
        assert app.text == "words" * 200
        assert app.changes == 2  # the first letter, and the others
