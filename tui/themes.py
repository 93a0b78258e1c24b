"""Turns theme files into Textual themes: those that ship (``themes/*.toml``) and the user's own.

A file says which colours a theme has. What it leaves out comes from the theme that it ``extends``, else from
``dark``, ``light`` or ``terminal``, depending on its kind. This is read before the first frame, so it is
plain code, and only the current theme is read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from textual.theme import Theme

from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.paths import file_exists
from tui.theme_styles import COLOR_KEYS, SECTIONS, read_styles, variables
from widgets.color import LEAST_CONTRAST, OWN, OWN_COLORS
from widgets.palettes import DEFAULT, MIN_CONTRAST, NAMES, Backdrop

AUTO: Final = "auto"
TERMINAL: Final = "terminal"
FOLDER: Final = "themes"  # beside the config file
SHIPPED: Final = (  # in the order of the picker
    "dark",
    "light",
    "ember",
    "fjord",
    "paper",
    "contrast-dark",
    "contrast-light",
    "catppuccin-latte",
    "catppuccin-frappe",
    "catppuccin-macchiato",
    "catppuccin-mocha",
    "dracula",
    "everforest",
    "gruvbox-dark",
    "gruvbox-light",
    "kanagawa",
    "nord",
    "one-dark",
    "rose-pine",
    "solarized-dark",
    "solarized-light",
    "tokyo-night",
    "tokyo-night-storm",
    "tokyo-night-day",
    TERMINAL,
)
UNKNOWN: Final = Backdrop()
BLACK: Final = Backdrop.of(0.0)
WHITE: Final = Backdrop.of(1.0)
OWN_COLOR: Final = "ansi_"  # before the name of one of the terminal's colours
MAX_FILES: Final = 200
MAX_FILE_BYTES: Final = 65_536
MAX_EXTENDS: Final = 8
MAX_CONTRAST: Final = 21
MAX_LINE_CHARACTERS: Final = 1000  # of one complaint
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_KINDS: Final = ("dark", "ansi")
_KNOWN: Final = ("extends", "contrast", "on_light", *_KINDS, *COLOR_KEYS, *SECTIONS)


@dataclass(frozen=True, slots=True)
class ListedTheme:
    """A theme that can be chosen; ``file`` is where it is defined."""

    name: str
    file: Traversable
    is_own: bool = False  # made by the user


def available(folder: Path | None = None) -> dict[str, ListedTheme]:
    """Return the themes that ship and then those in the user's ``folder``, by name. Reads no theme.

    A user's theme replaces a shipped one of the same name.
    """
    own = [ListedTheme(file.stem, file, is_own=True) for file in _files(folder) if _is_name(file.stem)]
    return {theme.name: theme for theme in (*map(_shipped, SHIPPED), *own)}


def _shipped(name: str) -> ListedTheme:
    return ListedTheme(name, resources.files("themes") / f"{name}.toml")


def resolve(name: str, backdrop: Backdrop, *, has_colors: bool = True) -> str:
    """Return the theme that ``name`` means: none or "auto" is dark or light like the terminal. With sixteen
    colors or none (NO_COLOR) it is ``terminal``, since sixteen colors cannot show any other.
    """
    if not has_colors:
        return TERMINAL
    if name in ("", AUTO):
        return "light" if backdrop.is_light else "dark"
    return name


def load(name: str, folder: Path | None = None, *, backdrop: Backdrop = UNKNOWN) -> Theme:
    """Load one theme. ``backdrop`` is the background of the terminal's own colours, if the theme uses them.

    Raises ``ConfigError`` that names the file and the wrong key, or lists the known themes.
    """
    listed = available(folder)
    if name not in listed:
        raise ConfigError(
            f"theme {inert_line(name)!r} is not known", f"use one of {', '.join([AUTO, *listed])}"
        )
    return _theme(listed[name], listed, backdrop)


def first(
    name: str, folder: Path | None, backdrop: Backdrop, *, has_colors: bool = True
) -> tuple[Theme, str]:
    """Return the first theme and "", or the automatic one and what is wrong with ``name``."""
    try:
        return load(resolve(name, backdrop, has_colors=has_colors), folder, backdrop=backdrop), ""
    except ConfigError as error:
        return load(resolve(AUTO, backdrop, has_colors=has_colors), backdrop=backdrop), str(error)


def problems(folder: Path | None) -> list[str]:
    """Return one line for each thing that is wrong with the user's themes."""
    complaints: list[str] = []
    files, listed = _files(folder), available(folder)
    for file in files:
        shown = inert_line(str(file))
        if not _is_name(file.stem):
            complaints.append(
                f"{shown}: a theme's name is letters, digits, - and _, 40 at most, and not {AUTO}"
            )
            continue
        own = listed[file.stem]
        try:
            for backdrop in (BLACK, WHITE):
                _theme(own, listed, backdrop)
            complaints += [f"{shown}: {key}: unknown setting, ignored" for key in _unknown_keys(_read(own))]
        except ConfigError as error:
            complaints.append(inert_line(str(error), MAX_LINE_CHARACTERS))
    if len(files) == MAX_FILES:
        complaints.append(f"{inert_line(str(folder))}: only the first {MAX_FILES} themes are read")
    return complaints


def _is_name(name: str) -> bool:
    return name != AUTO and _NAME.fullmatch(name) is not None


def _files(folder: Path | None) -> list[Path]:
    """Return the user's files, sorted by name; a folder that cannot be read has none."""
    if folder is None:
        return []
    try:
        # Only plain files: reading a pipe would wait for ever.
        return sorted(file for file in folder.glob("*.toml") if file_exists(file))[:MAX_FILES]
    except OSError:
        return []


def _merged(theme: ListedTheme, listed: Mapping[str, ListedTheme], backdrop: Backdrop) -> dict[str, Any]:
    """Return what ``theme`` and everything that it extends say for the background ``backdrop``."""
    merged: dict[str, Any] = {}
    seen: list[Traversable] = []
    following: ListedTheme | None = theme
    while following is not None:
        if following.file in seen or len(seen) == MAX_EXTENDS:
            raise _wrong(theme, "extends", "goes round in a circle, or is more than 8 themes deep")
        seen.append(following.file)
        table = _read(following)
        merged = _over(table if following.is_own else _readable(table, backdrop), merged)
        following = _extended(following, table, listed)
    return merged


def _over(table: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``table`` overridden by ``above``; sections of the same name are merged."""
    merged = dict(table)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            value = {**under, **value}
        merged[key] = value
    return merged


def _readable(table: dict[str, Any], backdrop: Backdrop) -> dict[str, Any]:
    """Return one of our tables, with the foreground for terminal colours that ``backdrop`` hides."""
    if not table.get("ansi"):
        return table
    hidden = {f"{OWN_COLOR}{name}" for name in NAMES if not backdrop.shows(name)}

    def shown(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shown(inner) for key, inner in value.items()}
        if not isinstance(value, str):
            return value
        return " ".join(OWN_COLOR + DEFAULT if word in hidden else word for word in value.split())

    return {key: shown(value) for key, value in table.items()}


def _extended(
    theme: ListedTheme, table: Mapping[str, Any], listed: Mapping[str, ListedTheme]
) -> ListedTheme | None:
    """Return the theme that completes ``table``."""
    name = table.get("extends")
    if name is None:
        if not theme.is_own and theme.name in ("dark", "light", TERMINAL):
            return None
        is_dark = table.get("dark", True)
        name = TERMINAL if table.get("ansi") else "dark" if is_dark else "light"
    elif not isinstance(name, str) or name not in listed:
        names = ", ".join(listed)
        raise _wrong(theme, "extends", f"there is no theme {inert_line(str(name), 40)!r}; known: {names}")
    # A user's theme with the name of one that ships may build on that one.
    if name == theme.name or "extends" not in table:
        return _shipped(name)
    return listed[name]


def _read(theme: ListedTheme) -> dict[str, Any]:
    """Return a file as tables; raises ``ConfigError``."""
    try:
        with theme.file.open("rb") as file:
            raw = file.read(MAX_FILE_BYTES + 1)
        if len(raw) > MAX_FILE_BYTES:
            raise ConfigError(f"{theme.file}: longer than {MAX_FILE_BYTES:,} bytes", "it is not a theme")
        return tomllib.loads(raw.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigError(f"{theme.file}: not valid TOML", inert_line(str(error))) from error
    except OSError as error:
        raise ConfigError(f"{theme.file}: cannot be read", error.strerror or str(error)) from error


def _theme(theme: ListedTheme, listed: Mapping[str, ListedTheme], backdrop: Backdrop) -> Theme:
    """Return the theme that a file describes, with everything it extends. Raises ``ConfigError``."""
    table = _merged(theme, listed, backdrop)
    for key in _KINDS:
        if not isinstance(table.get(key, False), bool):
            raise _wrong(theme, key, "must be true or false")
    has_own_colors = table.get("ansi", False)
    if has_own_colors and backdrop.is_light:
        on_light = table.get("on_light", {})
        if not isinstance(on_light, Mapping):
            raise _wrong(theme, "on_light", "must be a table: [on_light]")
        table = _over(table, on_light)
    least = table.get("contrast", MIN_CONTRAST)
    if isinstance(least, bool) or not isinstance(least, int | float) or not 1 <= least <= MAX_CONTRAST:
        raise _wrong(theme, "contrast", f"must be a number from 1 to {MAX_CONTRAST}")
    try:
        colors, entries = read_styles(table, may_use_names=has_own_colors)
    except ConfigError as error:
        raise _wrong(theme, error.title, error.detail) from error
    named: dict[str, Any] = {**colors, "surface": colors["background"]}
    return Theme(
        name=theme.name,
        dark=not backdrop.is_light if has_own_colors else table.get("dark", True),
        ansi=has_own_colors,
        **named,
        variables={
            **variables(colors, entries, least),
            LEAST_CONTRAST: str(least),
            OWN_COLORS: " ".join(name for name in OWN if has_own_colors and backdrop.shows(name)),
        },
    )


def _unknown_keys(table: Mapping[str, Any]) -> list[str]:
    """Return the unknown dotted keys of a file, safe to be shown."""
    unknown = [key for key in table if key not in _KNOWN]
    for section, keys in SECTIONS.items():
        entry = table.get(section)
        if isinstance(entry, Mapping):
            unknown += [f"{section}.{key}" for key in entry if key not in keys]
    return [inert_line(key, 80) for key in unknown]


def _wrong(theme: ListedTheme, key: str, detail: str) -> ConfigError:
    return ConfigError(f"{inert_line(str(theme.file))}: {key}", detail)
