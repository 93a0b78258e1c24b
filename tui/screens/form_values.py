"""What was typed into a form, as the wire wants it."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tui.screens.words import count, say

MAX_ROUNDS: Final = 1000
MAX_DIGITS: Final = 12
MAX_AMOUNT: Final = 1e9


def read_value(name: str, text: str, least_rounds: int) -> str | int | float:
    """Return the value of the field ``name``; fewer rounds than ``least_rounds`` cannot be wanted.

    Raises ``ValueError`` with a sentence for a person.
    """
    match name:
        case "max_rounds":
            return _rounds(text, max(1, least_rounds))
        case "max_tokens" | "answer_tokens" if text:
            number = _whole_number(text)
            if number is None:
                raise ValueError(say("settings.whole_number"))
            return number
        case "max_tokens" | "answer_tokens":
            return 0
        case "max_cost":
            return _amount(text) if text else 0.0
        case "workspace" if text:
            return folder_of(text)
        case "task" if not text:
            raise ValueError(say("settings.no_task"))
    return text


def _rounds(text: str, least: int) -> int:
    number = _whole_number(text)
    if number is None or not least <= number <= MAX_ROUNDS:
        key = "settings.rounds" if least == 1 else "settings.rounds_range"
        raise ValueError(say(key, least=least, most=count(MAX_ROUNDS)))
    return number


def _whole_number(text: str) -> int | None:
    digits = text.replace(",", "").replace(" ", "").replace("_", "")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS
    return int(digits) if is_number else None


def _amount(text: str) -> float:
    try:
        amount = float(text.lstrip("$").replace(",", "."))
    except ValueError:
        amount = -1.0
    if not 0 <= amount < MAX_AMOUNT:  # nan is neither
        raise ValueError(say("settings.amount"))
    return amount


def folder_of(text: str) -> str:
    """Return a folder by its whole path, "~" written out. Raises ``ValueError`` as ``read_value`` does."""
    try:
        folder = Path(text).expanduser()
    except RuntimeError:  # nobody is called so
        folder = Path(text)
    if not folder.is_absolute():
        raise ValueError(say("chat_form.workspace.wrong", root=Path.cwd().anchor))
    return str(folder)
