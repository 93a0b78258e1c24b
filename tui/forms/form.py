"""Fields in a column: their values, what is wrong with them, a question before what was written is lost."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from textual.containers import VerticalScroll
from textual.widget import Widget
from textual.widgets import Input, Static

from tui.forms.fields import Field, Part, wrong
from tui.screens.question import QuestionScreen
from tui.screens.words import say
from widgets.composer import Composer

MAX_COMPLAINT_CHARACTERS: Final = 400


class Form(VerticalScroll, can_focus=False):
    """The part of a dialog that is filled in. ``enter`` in a field is the screen's ``action_save``.

    ``problem`` is the line for what is wrong with no single field: the dialog shows it where it fits.
    """

    def __init__(self, *parts: Widget, ascii_only: bool = False) -> None:
        super().__init__(*parts, id="form")
        self._ascii_only = ascii_only
        self.problem = Static("", classes="error", id="problem", markup=False)

    def field(self, name: str) -> Field:
        return self.query_one(f"#field-{name}", Field)

    def values(self) -> dict[str, str]:
        """Return the value of each field, by its name."""
        return {field.about: field.value for field in self.query(Field)}

    @property
    def is_changed(self) -> bool:
        """Whether something would be lost if it were closed."""
        return any(part.is_changed for part in self.query(Part))

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do what the form is for."""
        event.stop()
        await self.screen.run_action("save")

    async def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Do what the form is for."""
        event.stop()
        await self.screen.run_action("save")

    # --- what is wrong -----------------------------------------------------------------------------------

    def complain(self, problems: Mapping[str, str]) -> None:
        """Say what is wrong with which field, "" being all of them together, and go to the first; earlier
        complaints are cleared.
        """
        for field in self.query(Field):
            field.complain(self.wrong(problems.get(field.about, "")))
        self.problem.update(self.wrong(problems.get("", "")))
        wrong = next((field for field in self.query(Field) if problems.get(field.about)), None)
        if wrong is not None:
            wrong.inner.focus()
            self.call_after_refresh(wrong.scroll_visible, animate=False)  # with the line below it

    def wrong(self, problem: str) -> str:
        """Return a complaint behind its sign, cut to what fits; "" for none."""
        return wrong(problem, MAX_COMPLAINT_CHARACTERS, ascii_only=self._ascii_only)

    def blame(self, problem: str, sent: Collection[str]) -> None:
        """Say what the server did not take next to the field that it names, else below all of them.

        ``sent`` are the settings that were sent, by the wire's names.
        """
        known = [
            (field.about, field.setting.name) for field in self.query(Field) if field.setting is not None
        ]
        here = {name: wire for name, wire in known if wire in sent}
        named = [name for name, wire in here.items() if wire in problem]
        if not named and len(sent) == 1:
            named = list(here)
        self.complain({named[0] if named else "": problem})

    # --- going back --------------------------------------------------------------------------------------

    def leave(self) -> None:
        """Close the dialog with nothing; ask first where something was written."""
        dialog = self.screen
        if not self.is_changed:
            dialog.dismiss()
            return

        def answered(is_yes: bool | None) -> None:
            if is_yes:
                dialog.dismiss()

        self.app.push_screen(QuestionScreen(say("form.give_up"), ascii_only=self._ascii_only), answered)
