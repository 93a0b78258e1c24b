"""What stands in for Textual's own, where that does more than is needed."""

from __future__ import annotations

from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Input

from widgets.terminal.private import binding_of


class Bound(App[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a,ctrl+a", "first", "First"),
        Binding("home", "second", "Second", priority=True),
        Binding("b", "hidden", "Hidden"),
        Binding("c", "greyed", "Greyed"),
    ]

    def compose(self) -> ComposeResult:
        yield Input()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return {"hidden": False, "greyed": None}.get(action, True)


async def test_the_binding_of_a_key_is_the_active_one() -> None:
    async with Bound().run_test() as pilot:
        screen = pilot.app.screen
        keys = {*screen.active_bindings, "a", "b", "c", "x"}
        for focused, active in ((screen.query_one(Input), {"home", "left"}), (None, {"a", "c", "home"})):
            screen.set_focus(focused)
            assert active <= screen.active_bindings.keys()
            for key in keys:
                assert binding_of(screen, key) == screen.active_bindings.get(key)
