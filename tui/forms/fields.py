"""The parts of forms: a label, what is typed or chosen, and a problem below it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.color import Color
from textual.containers import Horizontal, VerticalGroup
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.strip import Strip
from textual.widget import Widget
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from agent_tui.model.colors import hex_color
from agent_tui.model.inert import inert, inert_line
from agent_tui.model.settings import Setting
from widgets.color import ground_of, readable
from widgets.composer import Composer
from widgets.painted import plain_on_cursor
from widgets.signs import DONE, FAILED, GUTTER_FOCUSED, TASK

MAX_LINE_CHARACTERS = 400


def wrong(problem: str, most: int) -> str:
    """Return a problem with the sign for it; "" for none."""
    text = inert_line(problem, most)
    return f"{FAILED} {text}" if text else ""


class Line(Input):
    """One line that takes no control characters, and at most ``most`` characters."""

    def __init__(
        self, value: str, *, placeholder: str = "", most: int = MAX_LINE_CHARACTERS, id: str
    ) -> None:
        self._most = most
        super().__init__(inert_line(value, most), placeholder=placeholder, compact=True, id=id)
        self.select_on_focus = False
        self.cursor_blink = False

    def on_paste(self, event: events.Paste) -> None:
        """Insert all pasted lines as one: Textual would take the first and drop the rest."""
        event.stop()
        event.prevent_default()
        lines, was_empty = (line.strip() for line in event.text.splitlines()), not self.value
        self.replace(" ".join(filter(None, lines)), *self.selection)
        if was_empty:  # Textual brings the cursor into sight only from the second change on
            self.scroll_to(self.max_scroll_x, force=True, animate=False)

    def replace(self, text: str, start: int, end: int) -> None:
        """Put ``text``, made safe, between two positions."""
        room = self._most - len(self.value) + abs(end - start)
        super().replace(inert(text).replace("\n", " ").replace("\t", " ")[: max(0, room)], start, end)


def shown_color(node: Widget | Screen[Any], color: str, name: str = "") -> str:
    """Return an agent's colour, or that of its ``name``, made readable on a panel; "" without either."""
    if not name and not hex_color(color):
        return ""
    ground = ground_of(Color.parse(node.app.theme_variables["panel"]), node.app.current_theme)
    own = readable(color, ground, inert_line(name))
    return own if own.startswith("#") else f"ansi_{own}"


def swatch(node: Widget | Screen[Any], color: str, name: str = "") -> Content:
    """Return a small patch of an agent's colour."""
    return Content.styled(GUTTER_FOCUSED * 2, shown_color(node, color, name) or "none")


class Picking(Line):
    """A line that can also be filled from a list, opened with the down key."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "pick", "Choose from a list", id="form.pick", show=False)
    ]

    def __init__(self, value: str, pick: Callable[[], object], *, placeholder: str, id: str) -> None:
        """``pick`` opens the list."""
        super().__init__(value, placeholder=placeholder, id=id)
        self._pick = pick

    def action_pick(self) -> None:
        self._pick()


class Choice(Static, can_focus=True):
    """One of a few options: the arrow keys or the space bar change it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,right", "turn(1)", "Next choice", id="form.next", show=False),
        Binding("left", "turn(-1)", "Previous choice", id="form.previous", show=False),
        Binding("enter", "screen.save", show=False),
    ]

    class Changed(Message):
        """Posted when a person chose another option."""

        def __init__(self, choice: Choice) -> None:
            super().__init__()
            self.choice = choice

    def __init__(self, options: Sequence[tuple[str, str]], value: str, *, id: str) -> None:
        """``options`` are (value, text for a person); an unknown ``value`` is added to them."""
        super().__init__("", markup=False, id=id)
        self.value = value
        self._options: list[tuple[str, str]] = []
        self.offer(options)

    def offer(self, options: Iterable[tuple[str, str]]) -> None:
        """Replace the options; the current one stays."""
        self._options = list(options)
        if self.value not in [value for value, _ in self._options]:
            self._options.append((self.value, self.value))
        self._tell()

    def action_turn(self, step: int) -> None:
        at = [value for value, _ in self._options].index(self.value)
        self.value = self._options[(at + step) % len(self._options)][0]
        self._tell()
        self.post_message(self.Changed(self))

    def on_click(self, event: events.Click) -> None:
        """Turn to where the clicked sign, ‹ or ›, points; each has the cell beside it, too."""
        near = self.render_line(event.y).crop(max(0, event.x - 1), event.x + 2).text
        if "‹" in near or "›" in near:
            self.action_turn(-1 if "‹" in near else 1)

    def choose(self, value: str) -> None:
        """Choose an option without posting ``Changed``."""
        self.value = value
        self._tell()

    @property
    def label(self) -> str:
        """The text of the chosen option."""
        return inert_line(next(text for value, text in self._options if value == self.value), 80)

    def _tell(self) -> None:
        self.update(f"‹ {self.label} ›" if len(self._options) > 1 else self.label)


LIST_BINDINGS: list[BindingType] = [
    Binding(keys, action, show=False)
    for keys, action in (
        ("j", "cursor_down"),
        ("k", "cursor_up"),
        ("g", "first"),
        ("G", "last"),
        ("ctrl+d", "page_down"),
        ("ctrl+u", "page_up"),
    )
]
"""Moving in a list as in vim."""


class VimList(OptionList):
    """A list that also has vim's keys."""

    BINDINGS: ClassVar[list[BindingType]] = LIST_BINDINGS


class Marking(OptionList):
    """A list in which space or enter adds or removes a mark."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *LIST_BINDINGS,
        Binding("space", "select", "Mark or unmark", id="form.mark", show=False),
    ]

    def render_line(self, y: int) -> Strip:
        return plain_on_cursor(super().render_line(y), self)

    def show(self, rows: Iterable[Content | str], disabled: Iterable[Content] = ()) -> None:
        """Show these rows, and below them those that cannot be marked; the cursor stays where it was."""
        at, shown = self.highlighted or 0, [Option(row) for row in rows]
        self.set_options([*shown, *(Option(row, disabled=True) for row in disabled)])
        if shown:
            self.highlighted = min(at, len(shown) - 1)


class Picks(Marking):
    """Several of a few options; ``value`` is the JSON list of those that are marked."""

    class Changed(Message):
        """Posted when a mark was added or removed."""

    def __init__(self, options: Sequence[tuple[str, str]], value: str, *, id: str) -> None:
        """``options`` are (value, text for a person)."""
        super().__init__(markup=False, compact=True, id=id)
        self._picks = list(options)
        self._marked: set[str] = set(json.loads(value)) if value else set()
        self._show_marks()

    @property
    def value(self) -> str:
        return json.dumps([value for value, _ in self._picks if value in self._marked])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self._marked ^= {self._picks[event.option_index][0]}
        self._show_marks()
        self.post_message(self.Changed())

    def _show_marks(self) -> None:
        self.show(
            f"{DONE if value in self._marked else TASK} {inert_line(text, MAX_LINE_CHARACTERS)}"
            for value, text in self._picks
        )


class FormPart(VerticalGroup):
    """A part of a form that knows what a person changed in it."""

    about: str  # its name

    @property
    def is_changed(self) -> bool:
        """Whether closing the form would lose something."""
        raise NotImplementedError

    def changes(self) -> dict[str, Any]:
        """Return the changed settings by their names on the wire; raises ``ValueError`` with a sentence."""
        raise NotImplementedError


class Field(FormPart):
    """A label, the widget beside it, and below it a problem. Some fields belong to a ``setting``."""

    def __init__(
        self,
        name: str,
        label: str,
        inner: Line | Choice | Picks | Composer,
        setting: Setting | None = None,
        *,
        text: str = "",
        read: Callable[[str], Any] = str,
    ) -> None:
        """``text`` is shown in a ``Composer``; other widgets have a value of their own. ``read`` makes
        the setting's value of what was typed, or raises ``ValueError`` with a sentence.
        """
        super().__init__(id=f"field-{name}")
        self.setting = setting
        self.about = name
        self.before = ""  # its value before a person changed it
        self.label = label
        self._text = text
        self._read = read
        self.inner = inner
        self._complaint = Static("", classes="complaint", markup=False)

    def compose(self) -> ComposeResult:
        with Horizontal(classes="field"):
            yield Static(self.label, classes="label", markup=False)
            yield self.inner
        yield self._complaint

    def on_mount(self) -> None:
        """Remember the initial value."""
        if isinstance(self.inner, Composer):
            self.inner.put(self._text)
        self.before = self.value

    @property
    def is_changed(self) -> bool:
        """Whether the value is not the initial one, ignoring blanks around it."""
        return self.value.strip() != self.before.strip()

    def changes(self) -> dict[str, Any]:
        return {self.setting.name: self._read(self.value.strip())} if self.setting is not None else {}

    def begin(self, value: str) -> None:
        """Set the initial value."""
        if isinstance(self.inner, Line):
            self.inner.value = value
        elif isinstance(self.inner, Choice):
            self.inner.choose(value)
        self.before = self.value

    @property
    def value(self) -> str:
        return self.inner.text if isinstance(self.inner, Composer) else self.inner.value

    def complain(self, text: str) -> None:
        """Show a problem; "" for none."""
        self._complaint.update(inert_line(text, MAX_LINE_CHARACTERS))
        self._complaint.set_class(bool(text), "-open")

    @on(Input.Changed)
    @on(TextArea.Changed)
    @on(Choice.Changed)
    @on(Picks.Changed)
    def forget_complaint(self) -> None:
        """Remove the problem, since the value is being changed."""
        self.complain("")
