"""Text as a TOML string: the standard library only reads TOML."""

from __future__ import annotations

import re

# What TOML forbids or a terminal would obey, such as DEL, C1, bidi controls and surrogates.
_ESCAPED = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SURROGATE = re.compile("[\ud800-\udfff]")


def toml_string(text: str) -> str:
    """Return ``text`` as a TOML string that reads back the same (halves of surrogates as U+FFFD).

    Several lines stay several lines, so that a person can edit them.
    """
    escaped = _SURROGATE.sub("\ufffd", text).replace("\\", "\\\\").replace('"', '\\"')
    escaped = _ESCAPED.sub(_escape, escaped)
    return f'"""\n{escaped}"""' if "\n" in escaped else f'"{escaped}"'


def _escape(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
