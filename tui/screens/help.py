"""The help overlay, made from the bindings themselves so that it cannot be wrong."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from tui.screens.words import say

KEY_NAMES = {
    "question_mark": "?",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "pageup": "page up",
    "pagedown": "page down",
}


class HelpScreen(ModalScreen[None]):
    """Shows keys and what they do; ``rows`` are (keys, description)."""

    CSS_PATH = "dialog.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,question_mark,q,ctrl+q", "dismiss", "Close", id="help.close", priority=True)
    ]

    def __init__(self, rows: list[tuple[str, str]]) -> None:
        super().__init__()
        self._rows = rows

    def compose(self) -> ComposeResult:
        width = max((cell_len(keys) for keys, _ in self._rows), default=0)
        with VerticalScroll(classes="dialog"):
            yield Static(say("help.title"), classes="title", markup=False)
            for keys, description in self._rows:
                padding = " " * (width - cell_len(keys))
                yield Static(f"{keys}{padding}  {description}", markup=False)
            yield Static(say("help.close"), classes="hint", markup=False)


def rows(bindings: Iterable[Binding]) -> list[tuple[str, str]]:
    """Return (keys, description) of every binding with a description, one row for each action."""
    found: dict[tuple[str, str], list[str]] = {}
    for binding in bindings:
        description = say("help.palette") if binding.action == "command_palette" else binding.description
        if description:
            keys = found.setdefault((binding.action, description), [])
            name = KEY_NAMES.get(binding.key, binding.key)
            if name not in keys:
                keys.append(name)
    return [(", ".join(keys), description) for (_, description), keys in found.items()]
