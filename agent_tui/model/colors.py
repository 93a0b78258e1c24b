"""Colours as people and servers write them."""

from __future__ import annotations

import re

_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}")


def hex_color(text: str) -> str:
    """Return ``#rgb`` or ``#rrggbb`` as ``#rrggbb`` in lower case, "" for any other text."""
    if not _HEX.fullmatch(text):
        return ""
    digits = text[1:].lower()
    return f"#{digits}" if len(digits) == 6 else "#" + "".join(digit * 2 for digit in digits)
