"""The styles of a theme file: turns ``"bold #aabbcc on #112233"`` into variables of the stylesheets.

Each entry of a section becomes three variables: ``$code-keyword`` (its color), ``$code-keyword-background``
and ``$code-keyword-style``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from textual.color import Color

from agent_tui.model.colors import hex_color
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from widgets.color import Ground, readable
from widgets.palettes import DEFAULT, MIN_CONTRAST, NAMES

COLOR_KEYS: Final = (  # Textual's own words
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "panel",
    "success",
    "warning",
    "error",
)
SECTIONS: Final[dict[str, tuple[str, ...]]] = {
    "text": ("muted", "dim", "quote", "heading", "mark", "link", "url"),
    "code": (
        "inline",
        "plain",
        "keyword",
        "string",
        "comment",
        "number",
        "name",
        "builtin",
        "added",
        "removed",
        "background",
    ),
    "marks": ("focus", "selection", "found", "current", "cursor"),
}
TINTED: Final = ("code-added", "code-removed")  # lines of a diff on a shade of their colour
TINT: Final = 0.14
BAR_SHARE: Final = 0.5  # of the colour of quiet marks
MAX_VALUE_CHARACTERS: Final = 100
ALLOWED: Final = "#rgb or #rrggbb"
ALLOWED_NAMES: Final = f"{ALLOWED}, ansi_default, or one of ansi_black, ansi_red, … ansi_bright_white"
STYLES: Final = ("bold", "dim", "italic", "underline", "reverse", "strike")
_NAMES: Final = frozenset(f"ansi_{name}" for name in (DEFAULT, *NAMES))


@dataclass(frozen=True, slots=True)
class StyleEntry:
    """One style: a colour, a background ("" to keep the one behind it) and words such as "bold"."""

    color: str = ""
    background: str = ""
    style: str = ""


def read_styles(
    table: Mapping[str, Any], *, may_use_names: bool
) -> tuple[dict[str, str], dict[str, StyleEntry]]:
    """Return the colours of a complete theme table, and its styles, named like their variables.

    ``may_use_names`` allows the terminal's own colours. Raises ``ConfigError`` whose title is the wrong key.
    """
    colors = {}
    for key in COLOR_KEYS:
        entry = _entry(key, table.get(key), may_use_names=may_use_names)
        if not entry.color or entry.background or entry.style:
            raise ConfigError(key, f"must be one colour: {ALLOWED_NAMES if may_use_names else ALLOWED}")
        colors[key] = entry.color
    entries = {}
    for section, keys in SECTIONS.items():
        part = table.get(section)
        if not isinstance(part, Mapping):
            raise ConfigError(section, f"must be a table: [{section}]")
        for key in keys:
            value = part.get(key)
            entries[f"{section}-{key}"] = _entry(f"{section}.{key}", value, may_use_names=may_use_names)
    return colors, entries


def _entry(key: str, value: Any, *, may_use_names: bool) -> StyleEntry:
    """Return ``"bold #abc on #123"`` as an entry."""
    allowed = ALLOWED_NAMES if may_use_names else ALLOWED
    if not isinstance(value, str) or len(value) > MAX_VALUE_CHARACTERS:
        raise ConfigError(key, f"must be a text of {MAX_VALUE_CHARACTERS} characters at most: {allowed}")
    color = background = ""
    styles: list[str] = []
    words = value.split()
    for place, word in enumerate(words):
        if word in STYLES and word not in styles:
            styles.append(word)
        elif hex_color(word) or (may_use_names and word in _NAMES):
            if place and words[place - 1] == "on" and not background:
                background = word
            elif not color:
                color = word
            else:
                raise ConfigError(key, f"has one colour too many: {inert_line(value)!r}")
        elif word != "on" or place + 1 == len(words) or words[place + 1] in STYLES:
            shown = inert_line(word, 40)
            raise ConfigError(key, f"{shown!r} is not a colour: {allowed}; before it {', '.join(STYLES)}")
    return StyleEntry(color, background, " ".join(styles))


def _bar(background: str, quiet: str) -> str:
    """Return the colour of scroll bars, which say nothing and are quieter than the marks beside words."""
    return Color.parse(background).blend(Color.parse(quiet), BAR_SHARE).hex6


def variables(colors: dict[str, str], entries: dict[str, StyleEntry], least: float) -> dict[str, str]:
    """Return the stylesheets' variables, including Textual's own. ``least`` is words' smallest contrast."""
    found: dict[str, str] = {}
    is_own = colors["warning"].startswith("ansi_")
    for name, entry in entries.items():
        found[name] = entry.color or colors["foreground"]
        found[f"{name}-background"] = entry.background or "transparent"
        found[f"{name}-style"] = entry.style or "none"
    for name in TINTED:
        if not entries[name].background and not is_own:
            tint = Color.parse(found["code-background"]).blend(Color.parse(found[name]), TINT).hex6
            found[f"{name}-background"] = tint
            found[name] = readable(found[name], Ground(tint, least=least))
    cursor, background = entries["marks-cursor"], colors["background"]
    quiet = found["text-mark"]
    # What asks has the warning colour as its background, and what names a screen has a band of its own.
    found |= {
        "band-background": colors["panel"],
        "ask": colors["foreground"] if is_own else background,
        "ask-background": "transparent" if is_own else colors["warning"],
        "ask-style": "bold reverse" if is_own else "bold",
        "foreground-disabled": found["text-muted"],
        "text-disabled": found["text-muted"],
        "surface-active": colors["panel"],
        "ansi-background": background,
        "ansi-foreground": colors["foreground"],
        "block-hover-background": colors["panel"],
        "input-cursor-background": colors["foreground"],
        "input-cursor-foreground": background,
        "input-cursor-text-style": "none",
        "input-selection-background": entries["marks-selection"].background or background,
        "input-selection-foreground": found["marks-selection"],
        "border": quiet,
        "border-blurred": quiet,
        "scrollbar": quiet if is_own or least > MIN_CONTRAST else _bar(background, quiet),
        "scrollbar-hover": found["text-muted"],
        "scrollbar-active": colors["accent"],
        "scrollbar-background": background,
        "scrollbar-background-hover": background,
        "scrollbar-background-active": background,
        "scrollbar-corner-color": background,
    }
    for name in ("error", "warning", "success", "accent", "primary", "secondary"):
        found[f"text-{name}"] = colors[name]
    for name in ("block-cursor", "block-cursor-blurred"):
        found[f"{name}-foreground"] = cursor.color or colors["foreground"]
        found[f"{name}-background"] = cursor.background or background
        found[f"{name}-text-style"] = cursor.style or "none"
    return found
