"""Sums in sentences of three languages: found and written as the calculator takes them, not worked out."""

from __future__ import annotations

import re
import unicodedata

MAX_SUMS = 3
MAX_SUM_CHARACTERS = 200

_ASKED = re.compile(
    r"\bwhat(?:[\u0027’]s|\s+is|\s+are)\b|\bhow\s+much\b|\b(?:calculate|compute|evaluate|solve|work\s+out|add\s+up)\b"
    r"|сколько|посчита|подсчита|вычисл|рассчита|чему\s+рав|多少|等于|计算|算一?[下算]|算出",
    re.IGNORECASE,
)
_BEFORE, _AFTER = r"([\d)%!])\s*", r"\s*(?=[\d(√.-])"
# In this order: words between two numbers, words behind one, words in front of one.
_SIGNS = (
    (
        _BEFORE + r"(?:multiplied\s+by|times|[x×х·]|умнож\w+\s+на|помнож\w+\s+на|乘以|乘上|乘)" + _AFTER,
        r"\1 * ",
    ),
    (_BEFORE + r"(?:divided\s+by|over|÷|(?:раз|по)?дел\w+\s+на|除以)" + _AFTER, r"\1 / "),
    (_BEFORE + r"(?:plus|плюс|прибавить|加上|加)" + _AFTER, r"\1 + "),
    (_BEFORE + r"(?:minus|минус|отнять|вычесть|−|–|减去|减)" + _AFTER, r"\1 - "),
    (_BEFORE + r"(?:to\s+the\s+power\s+of|в\s+степени|\^)" + _AFTER, r"\1 ** "),
    (_BEFORE + r"的\s*(\d+)\s*次方", r"\1 ** \2"),
    (r"(\d)\s*(?:%|percent|процент\w*|per\s+cent)\s*(?:of|от)\s+(?=[\d(])", r"\1% of "),
    (r"(\d)\s*的\s*(\d+(?:\.\d+)?%)", r"\1 * \2"),
    (_BEFORE + r"(?:squared|в\s+квадрате|的平方(?!根))", r"\1 ** 2"),
    (_BEFORE + r"(?:cubed|в\s+кубе|的立方(?!根))", r"\1 ** 3"),
    (r"(\d+(?:\.\d+)?)\s*的平方根", r"√\1"),
    (
        r"(?:the\s+)?square\s+root\s+of\s*(?=[\d(])|(?:квадратный\s+)?корень\s+из\s*(?=[\d(])|根号\s*(?=[\d(])",
        "√",
    ),
)
_SIGN_PATTERNS = tuple((re.compile(pattern, re.IGNORECASE), by) for pattern, by in _SIGNS)
_FUNCTIONS = "sqrt|abs|round|min|max|sum|mean|log|exp|sin|cos|tan"
_NUMBER = r"(?>\d++(?:\.\d++)?|\.\d++)"
# Possessive: a long run that comes to nothing must not be taken apart in every way there is.
_RUN = re.compile(
    rf"(?<![A-Za-zА-Яа-яё_\d.])(?:(?:{_NUMBER}|(?:{_FUNCTIONS})\s*+(?=\()|pi\b|π|of\b|[-+*/%(),!√])\s*+)++"
    r"(?:(?<=\s)|(?![A-Za-zА-Яа-яё_]))",
    re.IGNORECASE,
)
_IS_SUM = re.compile(
    rf"[\d)%!πi]\s*(?:\*\*|//|[-+*/])\s*[-(\d.√a-zπ]|\d% of |√|\d!$|(?:{_FUNCTIONS})\(", re.IGNORECASE
)
# Not sums: days, what is open all day, versions.
_IS_DATE = re.compile(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}|24/7|.*\d\.\d+\.\d.*")


def sums_in(text: str) -> list[tuple[int, str]]:
    """Return the sums that ``text`` asks for, and where they are: (17, "17 * 23 + 4").

    Numbers alone are none, nor is anything in a text that asks for something else.
    """
    plain = _plain_numbers(unicodedata.normalize("NFKC", text))
    for pattern, by in _SIGN_PATTERNS:
        plain = pattern.sub(by, plain)
    found = [(run.start(), _trimmed(run[0])) for run in _RUN.finditer(plain)]
    sums = [(at, run) for at, run in found if _is_sum(run)]
    is_asked = _ASKED.search(plain) is not None or not re.sub(
        r"[\s?=.!,。]+|\b(?:and|и)\b|和|还有", "", _RUN.sub("", plain)
    )
    return sums[:MAX_SUMS] if is_asked else []


def _plain_numbers(text: str) -> str:
    """Return ``text`` with 1,000 and 1 000 as 1000, and 2,5 as 2.5."""
    text = re.sub(
        r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?!\d)", lambda number: "".join(number[0].split()), text
    )
    text = re.sub(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])", lambda number: number[0].replace(",", ""), text)
    is_listed = re.search(rf"(?:{_FUNCTIONS})\s*\(", text, re.IGNORECASE)
    return text if is_listed else re.sub(r"(?<=\d),(?=\d)", ".", text)


def _trimmed(run: str) -> str:
    """Return a run of signs without what cannot begin or end a sum."""
    run = " ".join(run.split()).strip(" ,")
    run = re.sub(r"^(?:of\b|[*/%!+)\s])+|(?:\bof|[-+*/(,√\s])+$", "", run, flags=re.IGNORECASE)
    if re.search(r"\d\s*[-+*/]", run):  # a sum called out, not a factorial
        run = run.rstrip("! ")
    while run.count("(") > run.count(")") and run.startswith("("):
        run = run[1:].lstrip()
    while run.count(")") > run.count("(") and run.endswith(")"):
        run = run[:-1].rstrip()
    return run


def _is_sum(run: str) -> bool:
    if len(run) > MAX_SUM_CHARACTERS or run.count("(") != run.count(")"):
        return False
    return _IS_SUM.search(run) is not None and not _IS_DATE.fullmatch(run.replace(" ", ""))
