"""Numbers for people: with units, and with no more digits than are useful."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

_SIZES: Final = ("B", "kB", "MB", "GB", "TB")
ENGLISH: Final[Mapping[str, str]] = {unit: unit for unit in ("ms", "s", "min", "h", "dB", *_SIZES)} | {
    "k": "k",
    "M": "M",
}


class UnitWords:
    """The units, separators and few words of widgets in the current language; set by the program."""

    units: Mapping[str, str] = ENGLISH
    separators: Mapping[int, str] = {}
    word: Callable[[str], str] = staticmethod(str)
    told: Callable[[str], str] = staticmethod(str)  # a sentence from below the screens, as one of an error
    form: Callable[[str, str, int], str] = staticmethod(lambda one, many, count: one if count == 1 else many)


def decimal(value: float, digits: int = 0) -> str:
    """Return a number with the separators of the language."""
    return f"{value:,.{digits}f}".translate(UnitWords.separators)


def duration(seconds: float) -> str:
    """Return "3 ms", "1.2 s", "12 s", "2 min 5 s" or "1 h 3 min", in the current language's units."""
    unit = UnitWords.units
    if not 0 <= seconds < float("inf"):
        return f"0 {unit['ms']}"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} {unit['ms']}"
    if seconds < 9.95:
        return f"{decimal(seconds, 1)} {unit['s']}"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} {unit['s']}"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        text = f"{minutes} {unit['min']}"
        return f"{text} {rest} {unit['s']}" if rest else text
    hours, rest = divmod(minutes, 60)
    text = f"{decimal(hours)} {unit['h']}"
    return f"{text} {rest} {unit['min']}" if rest else text


def elapsed(seconds: int) -> str:
    """Return the time that something has taken so far, "4 s", "2 min 5 s": in whole seconds, so that it does
    not flicker.
    """
    return duration(seconds) if seconds >= 10 else f"{max(0, seconds)} {UnitWords.units['s']}"


def size(count: int) -> str:
    """Return a number of bytes as "840 B", "1.2 kB", "34 kB" or "5.6 MB"."""
    value, unit = float(max(0, count)), 0
    while value >= 999.5 and unit < len(_SIZES) - 1:
        value, unit = value / 1000, unit + 1
    digits = 1 if unit and value < 9.95 else 0
    return f"{decimal(value, digits)} {UnitWords.units[_SIZES[unit]]}"


def tokens(count: int) -> str:
    """Return a number of tokens as "840", "1.2k", "128k" or "1.05M"."""
    if count < 1_000:
        return str(max(0, count))
    value, unit = (count / 1_000, "k") if count < 999_500 else (count / 1_000_000, "M")
    digits = 0 if unit == "k" and value >= 10 else 2 if unit == "M" else 1
    text = f"{value:,.{digits}f}"
    text = text.rstrip("0").rstrip(".") if digits else text
    return text.translate(UnitWords.separators) + UnitWords.units[unit]


def counted(count: int, one: str, many: str) -> str:
    """Return "1 row" or "1,234 rows"."""
    return f"{decimal(count)} {UnitWords.form(one, many, count)}"
