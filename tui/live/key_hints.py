"""What a text says of keys: those that are in force, whatever they were before ``[keys]``, in bold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from string import Formatter
from typing import Any, Final

from rich.cells import cell_len
from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.dom import DOMNode
from textual.geometry import Size
from textual.screen import Screen
from textual.widgets import Static

from tui.keys.names import names_of, pressed
from tui.screens.words import say, text_if_any
from widgets.signs import is_ascii
from widgets.status_line import Part
from widgets.terminal.private import keymap_of

PARTED: Final = " · "  # between two things that a hint names
_ARROWS: Final = re.compile(r"(?<=[↑←]) (?=[↓→] )")  # between two of them
BOLD: Final = "bold $foreground"  # as keys are in status lines; what they do may be dim
_WRITTEN: Final = re.compile(r"(?<![\w{.])(enter|tab)(?![\w}.])")  # keys that texts name by themselves
_PLACE: Final = re.compile(r"\{([a-z_.]+)\}")  # of a key, by the id of what it does


def keys_of(screen: Screen[Any], binding_id: str) -> tuple[str, ...]:
    """Return the keys, by Textual's names, of an action of ``screen``, its widgets or the program."""
    # Textual tells what a key does on which widget, but not which keys do something.
    declared = (
        [key for key, binding in _bindings(node) if binding.id == binding_id] for node in _nodes(screen)
    )
    keys = next(filter(None, declared), [])
    written = keymap_of(screen.app).get(binding_id) if keys else None
    if written is not None:
        keys = [key for key in written.split(",") if " " not in key]  # an id without a key has a name
    return tuple(keys)


def _nodes(screen: Screen[Any]) -> Iterator[DOMNode]:
    yield screen
    yield screen.app
    yield from screen.query("*")


def _bindings(node: DOMNode) -> Iterable[tuple[str, Binding]]:
    return node._bindings


def key_of(screen: Screen[Any], binding_id: str) -> str:
    """Return the first key of an action for a person, ``""`` where it has none."""
    return next(iter(names_of(keys_of(screen, binding_id), ascii_only=is_ascii(screen))), "")


def hints_of(screen: Screen[Any], hints: Iterable[tuple[str, str, int]]) -> list[Part]:
    """Return (binding id or key, name of a text, rank) as parts of a status line, if they have a key now."""
    keys = ((key_of(screen, name) if "." in name else name, text, rank) for name, text, rank in hints)
    return [Part(say(text), rank, key) for key, text, rank in keys if key]


def say_keys(key: str, keys: Mapping[str, str], **fields: object) -> Content:
    """Return the text of ``key`` as ``say`` does; ``keys`` fill its places, too, and are bold."""
    return _with_bold_keys(text_if_any(key), keys, fields)


def with_keys(screen: Screen[Any], text: str) -> Content:
    """Return ``text`` with bold keys for ids in braces ("{question.yes} yes"); no part is without a key."""
    shown = []
    for part in text.split(PARTED):
        keys = {place: key_of(screen, place) for place in _PLACE.findall(part)}
        if not keys or any(keys.values()):
            words = " ".join(word for word in part.split() if keys.get(word.strip("{}"), word))
            filled = _with_bold_keys(
                _WRITTEN.sub(r"{\1}", words), {**keys, "enter": "enter", "tab": "tab"}, {}
            )
            while gap := _ARROWS.search(filled.plain):
                filled = filled[: gap.start()] + filled[gap.end() :]
            shown.append(filled)
    return Content(PARTED).join(shown)


def _with_bold_keys(text: str, keys: Mapping[str, str], fields: Mapping[str, object]) -> Content:
    """Return ``text`` with its places filled, each by what has its name; ``keys`` are bold."""
    pieces: list[str | tuple[str, str]] = []
    for before, place, form, _ in Formatter().parse(text):
        pieces.append(before)
        if place is not None and place in keys:
            pieces.append((format(keys[place], form or ""), BOLD))
        elif place is not None:
            pieces.append(format(fields[place], form or ""))
    return Content.assemble(*pieces)


class Hints(Static):
    """The foot of a dialog: its keys, each on one line with what it does. ``Dialog`` fills it in."""

    def __init__(self, text: str, *, classes: str = "hint") -> None:
        """``text`` as for ``with_keys``."""
        super().__init__("", classes=classes, markup=False)
        self._text = text
        self._shown = Content("")

    def tell(self, text: str = "") -> None:
        """Show another text, or the same with the present keys."""
        self._text = text or self._text
        self._shown = with_keys(self.screen, self._text)
        self.update(self._shown)

    @property
    def written(self) -> list[tuple[str, str]]:
        """Return the keys that no id stands for, with what they do."""
        parts = (part.partition(" ") for part in self._text.split(PARTED))
        return [(key, does) for key, _, does in parts if _WRITTEN.fullmatch(key)]

    def get_content_width(self, container: Size, viewport: Size) -> int:
        return self._shown.cell_length

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(self._lines(width))

    def render(self) -> Content:
        return Content("\n").join(self._lines(self.content_size.width))

    def on_click(self, event: events.Click) -> None:
        """Press the key whose words were clicked."""
        lines = self._lines(self.content_size.width)
        at = 0
        for part in lines[event.y].plain.split(PARTED) if event.y < len(lines) else ():
            end = at + cell_len(part)
            name = part.partition(" ")[0]
            if at <= event.x < end and name in self._keys and (key := pressed(name)) is not None:
                event.stop()
                self.app.post_message(key)
            at = end + cell_len(PARTED)

    @property
    def _keys(self) -> set[str]:
        """The keys, as shown, that a part may begin with."""
        named = {key_of(self.screen, place) for place in _PLACE.findall(self._text)}
        return {*named, "enter", "tab"}

    def _lines(self, width: int) -> list[Content]:
        lines: list[Content] = []
        for part in self._shown.split(PARTED):
            longer = lines[-1] + PARTED + part if lines else part
            if lines and longer.cell_length <= width:
                lines[-1] = longer
            else:
                lines.append(part)
        return [piece.rstrip() for line in lines for piece in line.wrap(max(1, width))]
