"""Painting that is held back, and what is on the terminal afterwards."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Static

from tests.widgets.apps import CountingDriver, painted
from widgets.terminal.hold import Hold

SIZE = (30, 6)
Act = Callable[[Pilot[Any], CountingDriver, Hold], Awaitable[None]]


async def with_hold(widget: Static, act: Act) -> None:
    async def acts(pilot: Pilot[Any], driver: CountingDriver) -> None:
        await act(pilot, driver, Hold(pilot.app))

    await painted(widget, SIZE, acts)


async def test_nothing_is_painted_while_held_and_then_the_last_of_all_once() -> None:
    widget = Static("first", markup=False)

    async def act(pilot: Pilot[Any], driver: CountingDriver, hold: Hold) -> None:
        hold.begin()
        hold.begin()
        before = len(driver.written)
        for number in range(50):
            widget.update(f"word {number}", layout=False)
            await pilot.pause()
        assert len(driver.written) == before
        hold.release()
        await pilot.pause()
        assert driver.screen(SIZE)[0] == "word 49"
        assert "word 48" not in driver.written
        assert not hold.is_held
        hold.release()  # again, as when the terminal is left
        widget.update("free", layout=False)
        await pilot.pause()
        assert driver.screen(SIZE)[0] == "free"

    await with_hold(widget, act)


async def test_a_layout_while_held_is_painted_afterwards() -> None:
    widget = Static("word", markup=False)

    async def act(pilot: Pilot[Any], driver: CountingDriver, hold: Hold) -> None:
        hold.begin()
        widget.styles.padding = (2, 0, 0, 4)
        pilot.app.refresh_css()  # lays out at once, and Textual drops what it would have painted
        await pilot.pause()
        hold.release()
        await pilot.pause()
        assert driver.screen(SIZE)[:3] == ["", "", "    word"]

    await with_hold(widget, act)


async def test_a_dialog_that_opens_while_held_is_painted_afterwards() -> None:
    class Dialog(ModalScreen[None]):
        def compose(self) -> Any:
            yield Static("really?", markup=False)

    async def act(pilot: Pilot[Any], driver: CountingDriver, hold: Hold) -> None:
        hold.begin()
        await pilot.app.push_screen(Dialog())
        await pilot.pause()
        assert "really?" not in driver.written
        hold.release()
        await pilot.pause()
        assert "really?" in driver.screen(SIZE)[0]

    await with_hold(Static("word", markup=False), act)


async def test_an_app_that_has_ended_is_not_held() -> None:
    holds: list[Hold] = []

    async def act(pilot: Pilot[Any], driver: CountingDriver, hold: Hold) -> None:
        holds.append(hold)

    await with_hold(Static("word", markup=False), act)
    holds[0].begin()  # what it still writes to a slow terminal asks for it
    assert not holds[0].is_held


async def test_what_was_held_when_the_last_screen_went_is_let_go() -> None:
    holds: list[Hold] = []

    async def act(pilot: Pilot[Any], driver: CountingDriver, hold: Hold) -> None:
        hold.begin()
        holds.append(hold)

    await with_hold(Static("word", markup=False), act)
    holds[0].release()
    assert not holds[0].is_held
