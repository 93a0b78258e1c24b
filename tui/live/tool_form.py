"""A form that an MCP server asks a person to fill in while a tool runs. Nothing is sent unasked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Static

from agent_tui.model.inert import visible, visible_line
from agent_tui.model.tool_forms import (
    MAX_TEXT_CHARACTERS,
    FormField,
    ToolForm,
    bounds,
    default_text,
    parse_typed,
    problems,
)
from tui.forms.fields import Choice, Field, Line, Picks
from tui.forms.form import Form
from tui.live.ask_bar import AskAnswer, Decision
from tui.live.texts import asked_amount
from tui.screens.dialog import Dialog, framed
from tui.screens.localised import localised
from tui.screens.words import say

MAX_SERVER_CHARACTERS: Final = 60
MAX_LABEL_CHARACTERS: Final = 120
MAX_ABOUT_CHARACTERS: Final = 400


class FilledIn(NamedTuple):
    """What a person decided; ``texts`` are those of the fields, to be shown again if the answer is lost."""

    word: AskAnswer
    texts: Mapping[str, str] = {}


class ToolFormScreen(Dialog[FilledIn | None]):
    """Closes with the answer, or with None: then the server keeps waiting."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "Send to the server", id="tool_form.send", priority=True),
        Binding(
            "ctrl+n", "decide('decline')", "Decline: nothing is sent", id="tool_form.decline", priority=True
        ),
        Binding(
            "ctrl+x", "decide('cancel')", "Cancel without deciding", id="tool_form.cancel", priority=True
        ),
        Binding("escape", "back", "Back, answer later", id="tool_form.back", priority=True),
    ]

    def __init__(self, form: ToolForm, texts: Mapping[str, str]) -> None:
        """``texts`` are what was filled in before, by field id."""
        super().__init__()
        self._asked = form
        self._texts = texts
        self._fields = {f"value-{number}": field for number, field in enumerate(form.fields)}
        self._server = visible_line(form.server, MAX_SERVER_CHARACTERS)
        self._form = Form(*self._parts())
        self._form.can_focus = not form.fields

    def compose(self) -> ComposeResult:
        yield framed(
            say("tool_form.title", server=self._server, amount=asked_amount(self._asked)),
            self._form,
            hint=say("tool_form.hint"),
            classes="form",
        )

    def on_mount(self) -> None:
        if self._fields:
            self._form.field("value-0").inner.focus()

    def _parts(self) -> Iterable[Field | Static]:
        yield Static(visible(self._asked.message), classes="note", markup=False)
        yield Static(say("tool_form.goes", server=self._server), classes="rule", markup=False)
        if self._asked.asks_for_secret:
            yield Static(say("tool_form.secret"), classes="rule", markup=False)
        for id_, field in self._fields.items():
            yield from self._rows(id_, field)

    def _rows(self, id_: str, field: FormField) -> Iterable[Field | Static]:
        yield Field(id_, visible_line(field.label, MAX_LABEL_CHARACTERS), self._inner(id_, field))
        needed = say("tool_form.needed") if field.required else ""
        about = (field.description, localised(bounds(field)), needed)
        text = " · ".join(visible_line(part, MAX_ABOUT_CHARACTERS) for part in about if part)
        yield Static(text, classes="about", markup=False)

    def _inner(self, id_: str, field: FormField) -> Line | Choice | Picks:
        text = self._texts.get(id_, default_text(field))
        options = [(option.value, visible_line(option.title)) for option in field.options]
        if field.type == "choices":
            return Picks(options, text, id=id_)
        if field.type in ("boolean", "choice"):
            if field.type == "boolean":
                options = [("true", say("tool_form.yes")), ("false", say("tool_form.no"))]
            offered = [("", say("tool_form.none")), *options]
            return Choice(offered, text, id=id_)
        return Line(text, most=MAX_TEXT_CHARACTERS, id=id_)

    # --- deciding --------------------------------------------------------------------------------------

    def action_save(self) -> None:
        """Go to the next field: only its own key sends the form."""
        self.focus_next()

    def action_send(self) -> None:
        values: dict[str, Any] = {}
        texts = self._form.values()
        for id_, field in self._fields.items():
            value = parse_typed(field, texts[id_])
            if value is not None:
                values[field.name] = value
        if wrong := problems(self._asked, values):
            complaints = {id_: localised(wrong.get(field.name, "")) for id_, field in self._fields.items()}
            self._form.complain(complaints)
        else:
            self.dismiss(FilledIn(AskAnswer("answer", values=values), texts))

    def action_decide(self, decision: Decision) -> None:
        self.dismiss(FilledIn(AskAnswer(decision)))

    def action_back(self) -> None:
        """Close without a decision; ask first if something was filled in."""
        self._form.leave()
