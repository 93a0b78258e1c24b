"""Numbers as a person reads them: with units, and with no more digits than tell something."""

from __future__ import annotations

from typing import Final

_SIZES: Final = ("B", "kB", "MB", "GB", "TB")


def duration(seconds: float) -> str:
    """Return "3 ms", "1.2 s", "12 s", "2 min 5 s" or "1 h 3 min"."""
    if not 0 <= seconds < float("inf"):
        return "0 ms"
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours:,} h {rest} min" if rest else f"{hours:,} h"


def elapsed(seconds: int) -> str:
    """Return how long something takes by now: "4 s", "2 min 5 s"; in whole seconds, so that it is calm."""
    return duration(seconds) if seconds >= 10 else f"{max(0, seconds)} s"


def size(count: int) -> str:
    """Return so many bytes as "840 B", "1.2 kB", "34 kB" or "5.6 MB"."""
    value, unit = float(max(0, count)), 0
    while value >= 999.5 and unit < len(_SIZES) - 1:
        value, unit = value / 1000, unit + 1
    digits = 1 if unit and value < 9.95 else 0
    return f"{value:,.{digits}f} {_SIZES[unit]}"


def tokens(count: int) -> str:
    """Return so many tokens as "840", "1.2k", "128k" or "1.05M"."""
    if count < 1_000:
        return str(max(0, count))
    value, unit = (count / 1_000, "k") if count < 999_500 else (count / 1_000_000, "M")
    digits = 0 if unit == "k" and value >= 10 else 2 if unit == "M" else 1
    text = f"{value:,.{digits}f}"
    return (text.rstrip("0").rstrip(".") if digits else text) + unit


def counted(count: int, one: str, many: str) -> str:
    """Return "1 row" or "1,234 rows"."""
    return f"{count:,} {one if count == 1 else many}"
