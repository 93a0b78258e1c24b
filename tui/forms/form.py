"""What all forms have in common: fields, what is wrong with them, and nothing written is lost by one key."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Mapping
from typing import Final, TypeVar

from textual.widgets import Input, Static

from tui.forms.fields import Field, wrong
from tui.screens.dialog import Dialog
from tui.screens.question import QuestionScreen
from tui.screens.words import say
from widgets.composer import Composer

MAX_COMPLAINT_CHARACTERS: Final = 400

R = TypeVar("R")


class Form(Dialog[R]):
    """Fields by name, each with a place for what is wrong with it, and one more place below all of them."""

    def __init__(self, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._ascii_only = ascii_only
        self._shown: dict[str, str] = {}  # by field, before anything was touched

    def field(self, name: str) -> Field:
        """Return a field of this form."""
        return self.query_one(f"#field-{name}", Field)

    def values(self) -> dict[str, str]:
        """Return what stands in each field now."""
        return {field.about: field.value for field in self.query(Field)}

    @property
    def touched(self) -> list[Field]:
        """The fields in which something else stands than in the beginning, blanks around it apart."""
        before = self._shown
        return [field for field in self.query(Field) if field.value.strip() != before[field.about].strip()]

    # --- going on ----------------------------------------------------------------------------------------

    @abstractmethod
    def action_save(self) -> None:
        """Do what the form is for, if nothing is wrong with it."""

    def entered(self, line: Input) -> None:
        """Do what ``enter`` does in a line of text."""
        self.action_save()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Go on."""
        event.stop()
        self.entered(event.input)

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Go on."""
        event.stop()
        self.action_save()

    # --- what is wrong -----------------------------------------------------------------------------------

    def complain(self, problems: Mapping[str, str]) -> None:
        """Say what is wrong with which field, "" being all of them together, and go to the first; what was
        said before is gone.
        """
        for field in self.query(Field):
            field.complain(self._wrong(problems.get(field.about, "")))
        for line in self.query("#problem").results(Static):
            line.update(self._wrong(problems.get("", "")))
        wrong = next((field for field in self.query(Field) if problems.get(field.about)), None)
        if wrong is not None:
            wrong.inner.focus()
            self.call_after_refresh(wrong.scroll_visible, animate=False)  # with the line below it

    def _wrong(self, problem: str) -> str:
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

    @property
    def is_changed(self) -> bool:
        """Whether something would be lost."""
        return self.values() != self._shown

    def action_back(self) -> None:
        """Close with nothing; ask first where something was written."""
        if not self.is_changed:
            self.dismiss()
            return

        def answered(is_yes: bool | None) -> None:
            if is_yes:
                self.dismiss()

        self.app.push_screen(QuestionScreen(say("form.give_up"), ascii_only=self._ascii_only), answered)
