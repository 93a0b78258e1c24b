"""Calculations as people and models write them: ``2 (3 + 4)^2``, ``15% of 80``, ``√2``, ``5!``. A parser, no
eval.

Whole numbers, fractions and decimals are exact; what has no exact value (a sine, most roots) is a float.
Nothing here takes long: a text has at most 1,000 characters, a number at most ``MAX_BITS`` bits.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from fractions import Fraction

Number = Fraction | float

MAX_CHARACTERS = 1_000
MAX_DEPTH = 60
MAX_BITS = 14_000  # some 4,200 digits; Python itself does not write more than 4,300
MAX_PLACES = 60  # of a decimal; more are written as a fraction
_TOKEN = re.compile(
    r"\s*(?:(\d[\d_]*\.?[\d_]*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([^\W\d_]\w*)|(\*\*|//|.))"
)
_SIGNS = {
    **dict.fromkeys("×·⋅＊", "*"),
    **dict.fromkeys("÷:／", "/"),
    **dict.fromkeys("−–－", "-"),
    **dict.fromkeys("^＾", "**"),
    **dict(zip("（），＋％", "(),+%", strict=True)),
}
_OPEN, _ROOT = "(", "√"
_CONSTANTS: dict[str, Number] = {"pi": math.pi, "π": math.pi, "e": math.e, "tau": math.tau}


class WrongSum(ValueError):
    """The text is not a calculation, has no value, or would take too long; the message says which, in one
    line.
    """


def evaluate(text: str) -> Number:
    """Return the value: a ``Fraction`` if it is exact, else a float. Raises ``WrongSum``."""
    if len(text) > MAX_CHARACTERS:
        raise WrongSum(f"has more than {MAX_CHARACTERS:,} characters")
    try:
        return _Parser(text).value()
    except ZeroDivisionError:
        raise WrongSum("divides by zero") from None
    except OverflowError:
        raise WrongSum("the result is too large") from None


def number_text(value: Number) -> str:
    """Return a value as a person writes it: an integer, a finite decimal, or a fraction."""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    if value.denominator == 1:
        return str(value.numerator)
    places = next((n for n in range(MAX_PLACES + 1) if 10**n % value.denominator == 0), None)
    if places is None:
        return f"{value.numerator}/{value.denominator}"
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"


def about(value: Fraction) -> str:
    """Return a fraction as a decimal with 15 digits."""
    try:
        return f"{value.numerator / value.denominator:.15g}"
    except OverflowError:
        return number_text(Fraction(round(value)))


class _Parser:
    """Reads the tokens of one text, one level of operators after the other."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._place = 0
        self._depth = 0

    def value(self) -> Number:
        if not self._tokens:
            raise WrongSum("is empty")
        value = self._sum()
        if self._next():
            raise WrongSum(f"{self._next()!r} does not belong there")
        return value

    def _next(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _take(self, *wanted: str) -> str:
        token = self._next()
        if token and token in wanted:
            self._place += 1
            return token
        return ""

    def _deeper(self, read: Callable[[], Number]) -> Number:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise WrongSum(f"is nested deeper than {MAX_DEPTH} levels")
        value = read()
        self._depth -= 1
        return value

    def _sum(self) -> Number:
        return self._deeper(self._terms)

    def _terms(self) -> Number:
        value = self._product()
        while sign := self._take("+", "-"):
            value = _bounded(_OPERATORS[sign](value, self._product()))
        return value

    def _product(self) -> Number:
        value = self._signed()
        while True:
            if sign := self._take("*", "/", "//", "%", "mod", "of"):
                value = _bounded(_OPERATORS[sign](value, self._signed()))
            elif self._next() == "(" or self._next()[:1].isalpha():
                value = _bounded(value * self._power())  # 2 (3 + 4), 2 pi
            else:
                return value

    def _signed(self) -> Number:
        is_negative = False
        while sign := self._take("+", "-"):
            is_negative ^= sign == "-"
        value = self._power()
        return -value if is_negative else value

    def _power(self) -> Number:
        value = self._postfix()
        return _power(value, self._deeper(self._signed)) if self._take("**") else value

    def _postfix(self) -> Number:
        value = self._operand()
        while True:
            if self._take("!"):
                value = _factorial(value)
            elif self._next() == "%" and self._is_percent():
                self._place += 1
                value = _bounded(value / 100)
            else:
                return value

    def _is_percent(self) -> bool:
        """Distinguish ``15% of 80`` and ``15% + 1`` from ``15 % 4``: nothing with a value follows."""
        after = self._tokens[self._place + 1] if self._place + 1 < len(self._tokens) else ""
        return after in ("", "+", "-", "*", "/", "//", "**", ")", ",", "of", "%", "mod")

    def _operand(self) -> Number:
        token = self._next()
        self._place += 1
        if not token:
            raise WrongSum("ends where a number should stand")
        if token[0].isdigit() or token[0] == ".":
            return _number(token)
        if token == _OPEN:
            value = self._sum()
            self._close()
            return value
        if token == _ROOT:
            return _root(self._postfix())
        name = token.lower()
        if name in _FUNCTIONS:
            return self._call(name)
        if name in _CONSTANTS:
            return _CONSTANTS[name]
        if token[0].isalpha():
            raise WrongSum(f"{token!r} is not known; there are {', '.join([*_FUNCTIONS, *_CONSTANTS])}")
        raise WrongSum(f"{token!r} stands where a number should stand")

    def _call(self, name: str) -> Number:
        if not self._take("("):
            raise WrongSum(f"{name} needs its values in brackets")
        values = [self._sum()]
        while self._take(",", ";"):
            values.append(self._sum())
        self._close()
        function, least, most = _FUNCTIONS[name]
        if not least <= len(values) <= most:
            raise WrongSum(f"{name} does not take {len(values)} values")
        try:
            return _bounded(function(*values))
        except (ValueError, TypeError) as error:
            raise error if isinstance(error, WrongSum) else WrongSum(f"{name} has no value there") from None

    def _close(self) -> None:
        if not self._take(")"):
            raise WrongSum("a bracket is not closed")


def _tokens(text: str) -> list[str]:
    tokens = (match[1] or match[2] or match[3] for match in _TOKEN.finditer(text.strip()))
    return [_SIGNS.get(token, token) for token in tokens]


def _number(token: str) -> Fraction:
    digits, _, exponent = token.replace("_", "").lower().partition("e")
    if exponent and abs(int(exponent)) > 1_000:
        raise WrongSum(f"{token[:40]} is too large or too small")
    try:
        return Fraction(f"{digits}e{exponent}" if exponent else digits.rstrip("."))
    except ValueError:
        raise WrongSum(f"{token[:40]!r} is not a number") from None


def _bounded(value: Number | int) -> Number:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise OverflowError
        return value
    if _bits(value) > MAX_BITS:
        raise OverflowError
    return Fraction(value)


def _bits(value: Fraction | int) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())


def _power(base: Number, exponent: Number) -> Number:
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            if base in (1, -1):
                return base ** (exponent.numerator % 2)
            if (_bits(base) - 1) * abs(exponent.numerator) > MAX_BITS:  # 0 has no bits
                raise OverflowError
            return _bounded(base**exponent.numerator)
        if exponent == Fraction(1, 2):
            return _root(base)
    value = float(base) ** float(exponent)
    if isinstance(value, complex):
        raise WrongSum("a negative number has no such root")
    return _bounded(value)


def _root(value: Number) -> Number:
    if value < 0:
        raise WrongSum("a negative number has no such root")
    if isinstance(value, Fraction):
        above, below = math.isqrt(value.numerator), math.isqrt(value.denominator)
        if above * above == value.numerator and below * below == value.denominator:
            return Fraction(above, below)
    return math.sqrt(value)


def _whole(value: Number) -> int:
    if value % 1:
        raise WrongSum(f"{number_text(value)[:40]} is not a whole number")
    return int(value)


def _factorial(value: Number) -> Number:
    number = _whole(value)
    if number < 0:
        raise WrongSum("a negative number has no factorial")
    if number > 1_600:
        raise OverflowError
    return _bounded(math.factorial(number))


def _rounded(value: Number, places: Number = Fraction(0)) -> Number:
    """Round half away from zero, as people do."""
    digits = _whole(places)
    if abs(digits) > 100:
        raise WrongSum("round takes at most 100 places")
    exact = value if isinstance(value, Fraction) else Fraction(repr(value))
    unit = Fraction(10) ** digits
    size = math.floor(abs(exact) * unit + Fraction(1, 2)) / unit
    return -size if exact < 0 else size


def _logarithm(value: Number, base: Number | None = None) -> Number:
    if value <= 0 or (base is not None and (base <= 0 or base == 1)):
        raise WrongSum("there is a logarithm only of numbers above 0")
    if base in (2, 10):
        return _log(value, math.log2 if base == 2 else math.log10)
    return _log(value) if base is None else _log(value) / _log(base)


def _log(value: Number, function: Callable[[float], float] = math.log) -> float:
    if isinstance(value, Fraction):  # numerator and denominator may be larger than any float
        return function(value.numerator) - function(value.denominator)
    return function(value)


def _floats(function: Callable[..., float]) -> Callable[..., Number]:
    return lambda *values: function(*map(float, values))


def _of_wholes(function: Callable[..., int]) -> Callable[..., int]:
    return lambda *values: function(*map(_whole, values))


# Exact between two fractions, else floats; the result of ``//`` may be an int.
_OPERATORS: dict[str, Callable[[Number, Number], Number | int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "of": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "mod": operator.mod,
}
_ANY = 200
_FUNCTIONS: dict[str, tuple[Callable[..., Number | int], int, int]] = {  # with the fewest and most values
    "sqrt": (_root, 1, 1),
    "cbrt": (_floats(math.cbrt), 1, 1),
    "abs": (abs, 1, 1),
    "round": (_rounded, 1, 2),
    "floor": (math.floor, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "min": (min, 1, _ANY),
    "max": (max, 1, _ANY),
    "sum": (lambda *values: sum(values), 1, _ANY),
    "mean": (lambda *values: sum(values) / Fraction(len(values)), 1, _ANY),
    "exp": (_floats(math.exp), 1, 1),
    "ln": (_logarithm, 1, 1),
    "log": (_logarithm, 1, 2),
    "log2": (lambda value: _logarithm(value, Fraction(2)), 1, 1),
    "log10": (lambda value: _logarithm(value, Fraction(10)), 1, 1),
    **{name: (_floats(getattr(math, name)), 1, 1) for name in ("sin", "cos", "tan", "asin", "acos", "atan")},
    **{name: (_floats(getattr(math, name)), 1, 1) for name in ("degrees", "radians")},
    "gcd": (_of_wholes(math.gcd), 1, _ANY),
    "lcm": (_of_wholes(math.lcm), 1, _ANY),
    "factorial": (_factorial, 1, 1),
    "pow": (_power, 2, 2),
}
