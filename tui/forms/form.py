"""Fields in a column: their values, their problems, and a question before changes are lost."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from textual.containers import VerticalScroll
from textual.events import DescendantFocus
from textual.geometry import Region
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

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """Run the screen's ``action_save``."""
        event.stop()
        await self.screen.run_action("save")

    async def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Run the screen's ``action_save``."""
        event.stop()
        await self.screen.run_action("save")

    # --- lists in it ---------------------------------------------------------------------------------------

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Scroll to the row: a list in a form is as long as it is."""
        event.stop()
        self.call_after_refresh(self._show_row, event.option_list)

    def on_descendant_focus(self, event: DescendantFocus) -> None:
        """Scroll to the row of a list that gets the focus."""
        if isinstance(event.widget, OptionList):
            self.call_after_refresh(self._show_row, event.widget)

    async def _show_row(self, listed: OptionList) -> None:
        if listed.has_focus and listed.highlighted is not None:
            await self.stop_animation("scroll_y")  # to the whole list, since it got the focus
            top = listed.content_region.offset - self.content_region.offset + self.scroll_offset
            self.scroll_to_region(Region(top.x, top.y + listed.highlighted, 1, 1), animate=False)

    # --- what is wrong -----------------------------------------------------------------------------------

    def complain(self, problems: Mapping[str, str]) -> None:
        """Show the problems of fields ("" for the whole form) instead of earlier ones; go to the first."""
        for field in self.query(Field):
            field.complain(self.wrong(problems.get(field.about, "")))
        self.problem.update(self.wrong(problems.get("", "")))
        wrong = next((field for field in self.query(Field) if problems.get(field.about)), None)
        if wrong is not None:
            wrong.inner.focus()
            self.call_after_refresh(wrong.scroll_visible, animate=False)  # with the line below it

    def wrong(self, problem: str) -> str:
        """Return a problem with its sign, cut to what fits; "" for none."""
        return wrong(problem, MAX_COMPLAINT_CHARACTERS)

    def blame(self, problem: str, sent: Collection[str]) -> None:
        """Show what the server refused next to the field that it names, under the name that this has here;
        else below all fields.

        ``sent`` are the settings that were sent, by their names on the wire.
        """
        here = [
            (one, one.setting.name) for one in self.query(Field) if one.setting and one.setting.name in sent
        ]
        for field, wire in here:
            if wire in problem:
                self.complain({field.about: re.sub(rf"\b{wire}\b", field.label, problem)})
                return
        self.complain({here[0][0].about if len(here) == len(sent) == 1 else "": problem})

    # --- going back --------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Close the dialog without a result; ask first if something was changed."""
        dialog = self.screen
        if self.is_changed:
            ask_first(self.app, say("form.give_up"), dialog.dismiss, dialog)
        else:
            dialog.dismiss()
