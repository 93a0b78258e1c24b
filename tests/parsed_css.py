"""Textual parses the style sheets of all widgets for each app anew, and again for each new screen: that was a
sixth of the time of the tests that show an app. Here each sheet is parsed once for each theme.
"""

from __future__ import annotations

from typing import Any

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_parse = Stylesheet._parse_rules
_known: dict[object, list[RuleSet]] = {}


def _parse_once(sheet: Stylesheet, *arguments: Any, **named: Any) -> list[RuleSet]:
    key = (arguments, tuple(named.items()), tuple(sheet._variables.items()))
    rules = _known.get(key)
    if rules is None:
        rules = _known[key] = _parse(sheet, *arguments, **named)
    return rules


def parse_once() -> None:
    """Have all apps of this process share what was parsed."""
    Stylesheet._parse_rules = _parse_once  # type: ignore[assignment, method-assign]
