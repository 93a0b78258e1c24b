"""Fields in a column: their values, their problems, and a question before changes are lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Region
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static

from tui.forms.fields import Field, FormPart, wrong
from tui.screens.dialog import ask_first
from tui.screens.words import say
from widgets.composer import Composer

MAX_COMPLAINT_CHARACTERS: Final = 400


class Form(VerticalScroll, can_focus=False):
    """The fields of a dialog. ``enter`` in a field runs the screen's ``action_save``.

    ``problem`` is the line for problems that belong to no single field; the dialog puts it where it fits.
    """

    BINDINGS: ClassVar[list[BindingType]] = [  # where a field does not use them; Textual's scroll it away
        Binding("up", "app.focus_previous", show=False),
        Binding("down", "app.focus_next", show=False),
    ]

    def __init__(self, *parts: Widget) -> None:
        super().__init__(*parts, id="form")
        self.problem = Static("", classes="error", id="problem", markup=False)

    def field(self, name: str) -> Field:
        return self.query_one(f"#field-{name}", Field)

    def values(self) -> dict[str, str]:
        """Return the value of each field, by its name."""
        return {field.about: field.value for field in self.query(Field)}

    @property
    def is_changed(self) -> bool:
        """Whether closing the form would lose something."""
        return any(part.is_changed for part in self.query(FormPart))

    def changes(self) -> dict[str, Any] | None:
        """Return what was changed, by the names on the wire; ``None`` if something is wrong: it is shown."""
        changed: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for part in self.query(FormPart):
            if part.is_changed:
                try:
                    changed |= part.changes()
                except ValueError as error:
                    problems[part.about] = str(error)
        self.complain(problems)
        return None if problems else changed

    @on(Input.Submitted)
    @on(Composer.Submitted)
    async def save(self, event: Message) -> None:
        event.stop()
        await self.screen.run_action("save")

    def on_resize(self) -> None:
        """Keep what has the focus in sight."""
        focused = self.screen.focused
        if isinstance(focused, OptionList) and focused.highlighted is not None:
            self.call_after_refresh(self._scroll_to_row, focused, focused.highlighted)
        elif focused is not None and self in focused.ancestors:
            self.call_after_refresh(self.scroll_to_widget, focused, animate=False)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Keep the row under the cursor of a list in sight, also one that was just added."""
        if self.screen.focused is event.option_list:
            self.call_after_refresh(self._scroll_to_row, event.option_list, event.option_index)

    def _scroll_to_row(self, listed: OptionList, row: int) -> None:
        x, y, width, _ = listed.content_region
        shown = Region(x, y + row - listed.scroll_offset.y, width, 1)
        self.scroll_to_region(shown.translate(self.scroll_offset - self.content_region.offset), animate=False)

    # --- what is wrong -----------------------------------------------------------------------------------

    def complain(self, problems: Mapping[str, str]) -> None:
        """Show the problems of fields ("" for the whole form) instead of earlier ones; go to the first."""
        for field in self.query(Field):
            field.complain(wrong(problems.get(field.about, ""), MAX_COMPLAINT_CHARACTERS))
        self.problem.update(wrong(problems.get("", ""), MAX_COMPLAINT_CHARACTERS))
        first = next((field for field in self.query(Field) if problems.get(field.about)), None)
        if first is not None:
            first.inner.focus()
            self.call_after_refresh(first.scroll_visible, animate=False)  # with the line below it

    # --- going back --------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Close the dialog without a result; ask first if something was changed."""
        dialog = self.screen
        if self.is_changed:
            ask_first(self.app, say("form.give_up"), dialog.dismiss, dialog)
        else:
            dialog.dismiss()
