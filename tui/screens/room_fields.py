"""The fields that a room has, whether it is there or to be made."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from textual import work
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Static

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui.link import RoomLink
from tui.screens.form_fields import Choice, Field, Line
from tui.screens.tool_list import ToolList
from tui.screens.words import say
from widgets.composer import Composer

OPTIONS: Final = {
    "execution_mode": ("sequential", "parallel"),
    "on_error": ("continue", "pause"),
    "on_resume": ("continue", "again"),
}
EMPTY: Final = {
    "max_tokens": "settings.no_limit",
    "max_cost": "settings.no_limit",
    "answer_tokens": "settings.answer_tokens.none",
    "workspace": "chat_form.workspace.none",
}  # what it means to write nothing


def room_field(name: str, value: str, *, ascii_only: bool) -> Field:
    """Return the field ``name`` of a room. A task has to be put in when the field is there."""
    inner: Line | Choice | Composer
    if name == "task":
        inner = Composer(id=name, may_be_empty=True)
    elif name in OPTIONS:
        texts = [(option, say(f"settings.{name}.{option}")) for option in OPTIONS[name]]
        inner = Choice(texts, value, id=name, ascii_only=ascii_only)
    else:
        inner = Line(value, placeholder=say(EMPTY[name]) if name in EMPTY else "", id=name)
    return Field(name, say(f"settings.{name}"), inner)


class RoomTools(Widget):
    """The tools of a server, those with a mark for the room's agents; or why there are none."""

    DEFAULT_CSS = "RoomTools { height: auto; width: 1fr; }"

    def __init__(self, marked: Collection[str], link: RoomLink, *, ascii_only: bool) -> None:
        super().__init__()
        self._link = link
        self._label = Static(say("settings.tools"), classes="label", id="of-tools", markup=False)
        self._listed = ToolList(marked, ascii_only=ascii_only)

    def compose(self) -> ComposeResult:
        yield self._label
        yield self._listed

    @property
    def marked(self) -> set[str]:
        """The names of those that may be used."""
        return self._listed.marked

    def on_mount(self) -> None:
        """Show what is marked, until it is known what there is."""
        self._listed.show()
        self._look()

    @work(exclusive=True)
    async def _look(self) -> None:
        try:
            self._listed.offer(*await (await self._link.client()).backend.tools())
        except AgentTuiError as error:
            self._listed.disabled = True
            self._label.update(f"{say('settings.tools')}: {inert_line(error.title, 100)}")
