"""What the home screen offers below the newest conversations: examples, and models found here."""

from __future__ import annotations

from typing import Final

from textual import events
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from tui.found import FoundModels, told
from tui.screens.words import say
from widgets.painter import cropped

EXAMPLES: Final = 3
MARGIN_CELLS: Final = 4  # both margins of the line with what was found
KEY_CELLS: Final = 5  # "  1  "


class Example(Static):
    """One example task, with its key. It can be clicked, too."""

    def __init__(self, number: int) -> None:
        super().__init__("", markup=False, classes="example")
        self._number = number

    def show(self, key: str) -> None:
        """Show the example with its key."""
        shown = cropped(say(f"home.example.{self._number}"), max(8, self.app.size.width - KEY_CELLS - 4))
        self.update(Content.assemble((f"{key:>2}", "bold"), f"  {shown}"))

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        await self.run_action(f"screen.try({self._number})")


class Examples(Vertical):
    """The example tasks."""

    def __init__(self) -> None:
        super().__init__(id="examples")
        self.all = [Example(number) for number in range(1, EXAMPLES + 1)]

    def compose(self) -> ComposeResult:
        yield Static(say("home.try"), classes="heading", markup=False)
        yield from self.all


class FoundLine(Static):
    """One line with the models that were found here; takes no row if there are none."""

    def __init__(self) -> None:
        super().__init__("", id="found", classes="-hidden", markup=False)

    def offer(self, found: list[FoundModels], key: str) -> None:
        self.set_class(not found, "-hidden")
        if found:
            self.update(told(found, key, self.app.size.width - MARGIN_CELLS))

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        await self.run_action("screen.accept")
