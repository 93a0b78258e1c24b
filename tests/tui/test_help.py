"""The help overlay and the palette, made from the bindings."""

from __future__ import annotations

from textual.binding import Binding

from tui.screens.help import rows


def test_one_row_for_each_action_with_all_its_keys() -> None:
    bindings = [
        Binding("p", "pause", "Pause"),
        Binding("ctrl+s", "pause", "Pause"),
        Binding("question_mark", "help", "Help"),
        Binding("x", "secret"),
    ]
    assert rows(bindings) == [("p, ctrl+s", "Pause"), ("?", "Help")]
