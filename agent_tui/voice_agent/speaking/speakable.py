"""Makes a model's text speakable: no markdown, no addresses, numbers and names as they are said.

Pure. Words are inserted for English only: other languages keep their numbers, which their voices read.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = (
    "zero", "ten", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
)  # fmt: skip
_SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (1000, "thousand"))
_TOO_LONG_DIGITS = 15  # longer numbers are read digit by digit

_FENCE = re.compile(r"^[ \t]*(```|~~~)[^\n]*\n?.*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\([^)\n]*\)")
_LINK = re.compile(r"\[([^\]\n]+)\]\([^)\n]*\)")
_AUTOLINK = re.compile(r"<?\b(?:https?|wss?|ftp)://([^\s/<>\"')\]]+)([^\s<>\"')\]]*)>?")
_EMAIL = re.compile(r"\b([\w.+-]+)@([\w-]+(?:\.[\w-]+)+)\b")
_HTML = re.compile(r"</?[A-Za-z][^<>\n]{0,200}>")
_HEADING = re.compile(r"^[ \t]*#{1,6}[ \t]+(.*?)[ \t]*#*[ \t]*$", re.MULTILINE)
_FORMULA = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\\[()\[\]]|\$(?=[^$\n]*\\[a-z]+[^$\n]*\$)|(?<=[}\w])\$(?!\w)", ""),  # the signs around it
        (r"\\d?frac\{([^{}\n]*)\}\{([^{}\n]*)\}", r"\1 over \2"),
        (r"\\(?:times|cdot)\b\s?", "times "),
        (r"(?<=[\d)])[ \t]?[*×][ \t]?(?=[\d(])", " times "),
        (r"(?<=[\w)])\^\{?2\b\}?", " squared"),
        (r"(?<=[\w)])\^\{?3\b\}?", " cubed"),
    )
)
_RULE = re.compile(r"^[ \t]*(?:[-*_][ \t]*){3,}$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+(.*?)[ \t]*$", re.MULTILINE)
_TASK = re.compile(r"^\[([ xX])\][ \t]+")
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_TABLE_LINE = re.compile(r"^[ \t]*\|?[ \t]*:?-{2,}[-:| \t]*$", re.MULTILINE)
_TABLE_ROW = re.compile(r"^[ \t]*\|(.+)\|[ \t]*$", re.MULTILINE)
_CODE = re.compile(r"`+([^`\n]+?)`+")
_STRONG = re.compile(r"(\*\*\*|\*\*|\*|~~|__)(?=\S)(.+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<!\w)_(?=\S)([^_\n]+)(?<=\S)_(?!\w)")
_EMOJI = re.compile(
    "[\U0001f000-\U0001faff\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u2500-\u27bf\u2b00-\u2bff\ufe0f\u200d\u20e3]"
)
_SPACES = re.compile(r"[ \t]+")

_VERSION = re.compile(r"\b[vV]?(\d+(?:\.\d+){2,})(?:-?([a-z]+)\.?(\d+))?\b|\b[vV](\d+(?:\.\d+)?)\b")
_TIME = re.compile(
    r"\b([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?\b(?:\s*([ap])\.?m\.?(?![a-z]))?", re.IGNORECASE
)
_MONEY = re.compile(r"([$€£])\s?(\d+(?:,\d{3})*)(?:\.(\d{1,2}))?(?!\d)(?:\s*(thousand|million|billion)\b)?")
_PERCENT = re.compile(r"(?<![\w.])(-?\d+(?:,\d{3})*(?:\.\d+)?)\s?%")
_RATIO = re.compile(r"(?<![\w/.])(\d{1,6})\s?/\s?(\d{1,6})(?![\w/])")
_RANGE = re.compile(r"(?<![\w.–-])(\d+(?:\.\d+)?)\s?[–-]\s?(\d+(?:\.\d+)?)(?![\w–-]|\.\d)")
_ORDINAL = re.compile(r"\b(\d{1,6})(st|nd|rd|th)\b")
_UNIT = re.compile(
    r"(?<![\w.])(\d+(?:,\d{3})*(?:\.\d+)?)\s?(ms|kB|KB|MB|GB|TB|KiB|MiB|GiB|kHz|Hz|kg|km|cm|mm|dB|°C|s|h|min)\b"
)
_NUMBER = re.compile(r"(?<![\w.])(-?)(\d+(?:,\d{3})*)(\.\d+)?(?![\w])")
_YEAR = re.compile(r"(?<![\w.,:/$€£-])(1[1-9]\d\d|20\d\d)(?![\w%:/]|[.,]\d)")
_NAME = re.compile(r"\b[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+\b|(?<=\s)_+[a-z]\w*\b")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_PATH = re.compile(r"(?<![\w/])(?:~|\.{1,2})?/?(?:[\w.-]+/)+[\w.-]*")
_DOTTED = re.compile(r"\b([A-Za-z_]\w*)\.([A-Za-z]\w{0,5})\b(?![.\w])")
_CALL = re.compile(r"(?<=\w)\(\)")

_UNITS = {
    "ms": "millisecond",
    "s": "second",
    "min": "minute",
    "h": "hour",
    "kB": "kilobyte",
    "KB": "kilobyte",
    "MB": "megabyte",
    "GB": "gigabyte",
    "TB": "terabyte",
    "KiB": "kibibyte",
    "MiB": "mebibyte",
    "GiB": "gibibyte",
    "kHz": "kilohertz",
    "Hz": "hertz",
    "kg": "kilogram",
    "km": "kilometre",
    "cm": "centimetre",
    "mm": "millimetre",
    "dB": "decibel",
    "°C": "degree Celsius",
}
_NO_PLURAL = frozenset({"kHz", "Hz"})
_ABBREVIATIONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"\be\.\s?g\.(?:,)?", "for example,"),
        (r"\bi\.\s?e\.(?:,)?", "that is,"),
        (r"\betc\.(?=\s+[A-Z]|\s*$)", "and so on."),
        (r"\betc\.?", "and so on"),
        (r"\bvs\.?(?=\s)", "versus"),
        (r"\bapprox\.(?=\s)", "approximately"),
        (r"\bMr\.(?=\s)", "Mister"),
        (r"\bMrs\.(?=\s)", "Missus"),
        (r"\bDr\.(?=\s)", "Doctor"),
        (r"\bProf\.(?=\s)", "Professor"),
        (r"\bNo\.\s?(?=\d)", "number "),
        (r"(?<!\w)#(?=\d)", "number "),
        (r"\s&\s", " and "),
        (r"\s\+\s", " plus "),
        (r"(?<=\w)\s?(?:==|=)\s?(?=\w)", " equals "),
        (r"(?<=\s)(?:->|=>|→)(?=\s)", "to"),
        (r"(?<=\s)<=(?=\s)", "at most"),
        (r"(?<=\s)>=(?=\s)", "at least"),
        (r"(?<=\s)<(?=\s)", "less than"),
        (r"(?<=\s)>(?=\s)", "more than"),
        (r"(?<!\w)~(?=\d)", "about "),
        (r"(?<!\w)@(?=\w)", "at "),
    )
)


def speakable(text: str, language: str = "en") -> str:
    """Return ``text`` as it is to be said, one paragraph; empty if nothing of it can be.

    ``language`` is the two letters of the voice's language.
    """
    english = language == "en"
    plain = _without_code(text, english=english)
    if english:  # before a multiplication sign is taken for Markdown
        for pattern, words in _FORMULA:
            plain = pattern.sub(words, plain)
    plain = _without_markdown(plain, english=english)
    if english:
        plain = _in_english(plain)
    plain = re.sub(r"[*`|<>\\^{}\[\]]+", " ", plain)
    plain = re.sub(r"\s*\n\s*", " ", plain)
    plain = re.sub(r"\s+([,.;:!?])", r"\1", _SPACES.sub(" ", plain))
    plain = re.sub(r"([.!?]),", r"\1", re.sub(r",\s*([.!?,])", r"\1", plain))
    return plain.strip() if re.search(r"\w", plain) else ""


def _without_code(text: str, *, english: bool) -> str:
    """Leave out code blocks, which are noise to a listener. English says that there is one."""
    return _FENCE.sub(lambda found: "\nThe code is on the screen.\n" if english else "\n", text)


def _without_markdown(text: str, *, english: bool) -> str:
    text = _IMAGE.sub(r"\1", text)
    text = _LINK.sub(r"\1", text)
    text = _AUTOLINK.sub(lambda found: _address(found, english=english), text)
    text = _EMAIL.sub(lambda found: f"{found[1]} at {_dots(found[2])}" if english else found[0], text)
    text = _HTML.sub(" ", text)
    text = _RULE.sub("", text)
    text = _TABLE_LINE.sub("", text)
    text = _TABLE_ROW.sub(lambda found: ", ".join(cell.strip() for cell in found[1].split("|")) + ".", text)
    text = _QUOTE.sub("", text)
    text = _HEADING.sub(lambda found: _ended(found[1]), text)
    text = _BULLET.sub(lambda found: _ended(_TASK.sub("", found[1])), text)
    for _ in range(3):  # bold around italic around struck through
        text = _STRONG.sub(r"\2", text)
    text = _EMPHASIS.sub(r"\1", text)
    text = _CODE.sub(lambda found: _code(found[1]) if english else found[1], text)
    return _EMOJI.sub(" ", text)


def _address(found: re.Match[str], *, english: bool) -> str:
    """Return an address as its site: the rest is useless to a listener."""
    site = found[1].rsplit("@", 1)[-1].removeprefix("www.")
    host, _, port = site.partition(":")
    tail = re.search(r"[.,;:!?]+$", found[0])
    spoken = _dots(host) if english and not host.replace(".", "").isdigit() else host
    port = port.rstrip(".,;!?")
    return spoken + (f" port {port}" if english and port else "") + (tail[0] if tail else "")


def _dots(name: str) -> str:
    return name.rstrip(".,;:!?").replace(".", " dot ")


def _ended(line: str) -> str:
    """Return a list item or heading as a sentence of its own."""
    return line if not line or line[-1] in ".!?:;,…" else f"{line}."


def _code(code: str) -> str:
    """Return inline code as its words, without programming signs."""
    words = _NAME.sub(lambda found: found[0].replace("_", " "), code)
    words = _CAMEL.sub(" ", words)
    words = re.sub(r"(?<=\w)\.(?=[A-Za-z])", " dot ", words)
    words = re.sub(r"(?:(?<=\s)|^)--?(?=\w)", "", words)
    return re.sub(r"[(){}\[\];\"'$\\=<>|&]+", " ", words).strip()


def _in_english(text: str) -> str:
    for pattern, words in _ABBREVIATIONS:
        text = pattern.sub(words, text)
    text = _PATH.sub(_path, text)
    text = _NAME.sub(lambda found: found[0].replace("_", " ").strip(), text)
    text = _CALL.sub("", text)
    for pattern, say in _READINGS:
        text = pattern.sub(say, text)
    return _DOTTED.sub(_dotted, text)


def _path(found: re.Match[str]) -> str:
    """Return a path as its last part; "and/or" and fractions are not paths."""
    path = found[0]
    is_plain = path.count("/") == 1 and path[-1] != "/" and not path.startswith(("/", "~", "."))
    if is_plain and "." not in path:
        return path if path[0].isdigit() else path.replace("/", " " if path.endswith("/or") else " or ")
    tail = path[len(path.rstrip(".")) :]
    return path.rstrip("./").rsplit("/", 1)[-1].lstrip(".") + tail


def _dotted(found: re.Match[str]) -> str:
    """Return "config.toml" as it is said; a full stop at the end of a sentence is followed by a space."""
    return f"{found[1]} dot {found[2]}"


def _version(found: re.Match[str]) -> str:
    numbers = found[1] or found[4]
    said = " point ".join(integer(int(part)) for part in numbers.split("."))
    if found[2]:
        said += f" {found[2]} {integer(int(found[3]))}"
    return f"version {said}" if found[0][0] in "vV" else said


def _time(found: re.Match[str]) -> str:
    hours, minutes = int(found[1]), int(found[2])
    half = f" {found[3].upper()} M" if found[3] else ""
    if not minutes:
        return integer(hours) + (half or " o'clock")
    return f"{integer(hours)} {'oh ' if minutes < 10 else ''}{integer(minutes)}{half}"


def _money(found: re.Match[str]) -> str:
    name = {"$": "dollar", "€": "euro", "£": "pound"}[found[1]]
    whole = int(found[2].replace(",", ""))
    if found[4]:
        return f"{decimal(found[2], found[3] or '')} {found[4]} {name}s"
    said = f"{integer(whole)} {name}{'' if whole == 1 else 's'}"
    cents = int((found[3] or "").ljust(2, "0")[:2] or 0)
    coin = {"$": "cent", "€": "cent", "£": "penny"}[found[1]]
    many = {"cent": "cents", "penny": "pence"}[coin]
    if not cents:
        return said
    change = f"{integer(cents)} {coin if cents == 1 else many}"
    return change if not whole else f"{said} and {change}"


def _year(found: re.Match[str]) -> str:
    year = int(found[1])
    high, low = divmod(year, 100)
    if year // 10 == 200:
        return integer(year)
    if not low:
        return f"{integer(high)} hundred"
    return f"{integer(high)} {'oh ' if low < 10 else ''}{integer(low)}"


def _number(found: re.Match[str]) -> str:
    return ("minus " if found[1] else "") + decimal(found[2], (found[3] or "")[1:])


def _amount(text: str) -> str:
    whole, _, fraction = text.lstrip("-").partition(".")
    return ("minus " if text.startswith("-") else "") + decimal(whole, fraction)


def _unit(found: re.Match[str]) -> str:
    unit = _UNITS[found[2]]
    many = unit if found[1] == "1" or found[2] in _NO_PLURAL else f"{unit}s"
    return f"{_amount(found[1])} {'degrees Celsius' if found[2] == '°C' and found[1] != '1' else many}"


def decimal(whole: str, fraction: str) -> str:
    """Return digits before and after the point as words."""
    digits = whole.replace(",", "")
    one_by_one = len(digits) > _TOO_LONG_DIGITS
    spoken = " ".join(_ONES[int(one)] for one in digits) if one_by_one else integer(int(digits))
    return f"{spoken} point {' '.join(_ONES[int(one)] for one in fraction)}" if fraction else spoken


def integer(number: int) -> str:
    """Return a number from 0 to below 10^15 in English words."""
    for scale, name in _SCALES:
        if number >= scale:
            high, low = divmod(number, scale)
            return f"{integer(high)} {name}{f' {integer(low)}' if low else ''}"
    if number >= 100:
        high, low = divmod(number, 100)
        return f"{_ONES[high]} hundred{f' {integer(low)}' if low else ''}"
    if number < len(_ONES):
        return _ONES[number]
    tens, ones = divmod(number, 10)
    return _TENS[tens] + (f" {_ONES[ones]}" if ones else "")


def ordinal(number: int) -> str:
    """Return "third" for 3; below 10^15."""
    words = integer(number).split()
    last = words[-1]
    irregular = {
        "one": "first", "two": "second", "three": "third", "five": "fifth",
        "eight": "eighth", "nine": "ninth", "twelve": "twelfth",
    }  # fmt: skip
    words[-1] = irregular.get(last) or (f"{last[:-1]}ieth" if last.endswith("y") else f"{last}th")
    return " ".join(words)


_READINGS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (_VERSION, _version),
    (_TIME, _time),
    (_MONEY, _money),
    (_PERCENT, lambda found: f"{_amount(found[1])} percent"),
    (_RATIO, lambda found: f"{integer(int(found[1]))} of {integer(int(found[2]))}"),
    (_UNIT, _unit),
    (_RANGE, lambda found: f"{_amount(found[1])} to {_amount(found[2])}"),
    (_ORDINAL, lambda found: ordinal(int(found[1]))),
    (_YEAR, _year),
    (_NUMBER, _number),
)
