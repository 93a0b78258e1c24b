"""Theme files to Textual themes (themes/*.toml: colours by Textual's names, nothing else)."""

from __future__ import annotations

import tomllib
from importlib import resources

from textual.theme import Theme

from agent_tui.errors import ConfigError

DEFAULT = "dark"
_COLOURS = (
    "primary",
    "secondary",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "success",
    "warning",
    "error",
)


def names() -> list[str]:
    """Return the names of the themes that ship."""
    files = resources.files("themes").iterdir()
    return sorted(file.name.removesuffix(".toml") for file in files if file.name.endswith(".toml"))


def load(name: str) -> Theme:
    """Return one theme; raises ``ConfigError`` naming the known ones when there is none of that name."""
    if name not in names():
        raise ConfigError(f"theme {name!r} is not known", f"known: {', '.join(names())}")
    table = tomllib.loads((resources.files("themes") / f"{name}.toml").read_text(encoding="utf-8"))
    colours = {key: table[key] for key in _COLOURS}
    return Theme(name=name, dark=table["dark"], variables=table.get("variables", {}), **colours)
