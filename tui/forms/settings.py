"""The settings of a room or a chat: only what was changed is sent, in one call."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget

from agent_tui.model.errors import AgentTuiError
from tui.forms.form import Form
from tui.screens.dialog import Dialog, framed
from tui.screens.localised import localised


class SettingsScreen(Dialog[None]):
    """Passes what was changed to ``change``, which may raise what is wrong with it."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="settings.save", priority=True),
        Binding("escape", "back", "Back without saving", id="settings.back", priority=True),
    ]

    def __init__(
        self,
        title: str,
        hint: str,
        parts: Iterable[Widget],
        change: Callable[..., Awaitable[None]],
        *,
        begins_at: str = "",
    ) -> None:
        """``begins_at`` is the id of the field that has the focus first."""
        super().__init__()
        self._begins_at = begins_at
        self._title = title
        self._hint = hint
        self._form = Form(*parts)
        self._change = change

    def compose(self) -> ComposeResult:
        yield framed(self._title, self._form, self._form.problem, hint=self._hint, classes="form")

    def on_mount(self) -> None:
        if self._begins_at:
            self.query_one(f"#{self._begins_at}").focus()

    def action_save(self) -> None:
        """Save what was changed, if all of it is valid."""
        changed = self._form.changes()
        if changed:
            self._save(changed)
        elif changed is not None:
            self.dismiss()

    @work(group="save", exclusive=True)
    async def _save(self, changed: dict[str, Any]) -> None:
        try:
            await self._change(**changed)
        except AgentTuiError as error:
            self._form.complain({"": localised(error)})
            return
        self.dismiss()

    def action_back(self) -> None:
        """Close without saving; ask first if something was changed."""
        self._form.leave()
