"""The calculator: exact, never surprised, never long at it."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.tools.arithmetic import MAX_CHARACTERS, WrongSum, evaluate, number_text
from agent_tui.backend.tools.simple import Calculator
from tests.backend.tools.calls import called, refused


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("-2^2", "-4"),
        ("2^3^2", "512"),
        ("2**-2", "0.25"),
        ("0.1 + 0.2", "0.3"),
        ("1/3", "1/3"),
        ("7 // 2", "3"),
        ("-7 // 2", "-4"),
        ("17 % 5", "2"),
        ("17 mod 5", "2"),
        ("15% of 80", "12"),
        ("50% + 1", "1.5"),
        ("5!", "120"),
        ("3!!", "720"),
        ("2(3+4)", "14"),
        ("√16 + 1", "5"),
        ("sqrt(16/9)", "4/3"),
        ("3×4÷2−1", "5"),
        ("1_000 * 1e3", "1000000"),
        (".5 + 1.", "1.5"),
        ("round(2.5)", "3"),
        ("round(-2.5)", "-3"),
        ("round(3.14159, 2)", "3.14"),
        ("round(1234, -2)", "1200"),
        ("min(3, 1, 2) + max(3; 1)", "4"),
        ("mean(1, 2, 4)", "7/3"),
        ("gcd(12, 18) + lcm(4, 6)", "18"),
        ("floor(-1.5) + ceil(1.2)", "0"),
        ("log10(1000) + log2(8) + log(81, 3)", "10"),
        ("(-1)^999999999999", "-1"),
        ("0^0", "1"),
        ("2^100", str(2**100)),
        ("--5", "5"),
        ("sin(pi/2)", "1"),
        ("１２＋３", "15"),
    ],
)
def test_sums_are_right(text: str, result: str) -> None:
    assert number_text(evaluate(text)) == result


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("1 +", "ends where"),
        ("(1", "not closed"),
        ("1)", "does not belong"),
        ("3 4", "does not belong"),
        ("1/0", "divides by zero"),
        ("0^-1", "divides by zero"),
        ("5 % 0", "divides by zero"),
        ("9**9**9", "too large"),
        ("9^9^9^9^9", "too large"),
        ("2^14001", "too large"),
        ("(-2)^99999999999999999999", "too large"),
        ("1601!", "too large"),
        ("99999999!!!", "too large"),
        ("1e1001", "too large"),
        ("exp(1000)", "too large"),
        ("10.5^1e10", "too large"),
        ("(1/3)^20000", "too large"),
        ("(-8)^(1/3)", "negative"),
        ("sqrt(-1)", "negative"),
        ("ln(0)", "above 0"),
        ("asin(2)", "no value"),
        ("1.5!", "not a whole number"),
        ("__import__('os')", "stands where"),
        ("os", "not known"),
        ("round(1, 1e9)", "at most"),
        ("max()", "stands where"),
        ("sin(1, 2)", "does not take"),
        ("(" * 100 + "1" + ")" * 100, "nested"),
        ("-" * 999 + "1" + "**1", "more than"),
        ("2^" * 400 + "1", "nested"),
        ("1+" * MAX_CHARACTERS, "more than"),
        ("lambda: 0", "not known"),
        ("1.2.3", "does not belong"),
        ("\x00", "stands where"),
    ],
)
def test_what_is_no_sum_or_too_much_is_refused(text: str, why: str) -> None:
    with pytest.raises(WrongSum) as refusal:
        evaluate(text)
    assert why in str(refusal.value)


NUMBERS = st.integers(0, 10**6).map(lambda n: (str(n), Fraction(n))) | st.decimals(
    0, 1000, allow_nan=False, places=3
).map(lambda d: (f"{d:f}", Fraction(d)))


def joined(parts: st.SearchStrategy[tuple[str, Fraction]]) -> st.SearchStrategy[tuple[str, Fraction]]:
    def join(left: tuple[str, Fraction], sign: str, right: tuple[str, Fraction]) -> tuple[str, Fraction]:
        a, b = left[1], right[1]
        value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else a * b}[sign]
        return f"({left[0]} {sign if b or sign != '/' else '*'} {right[0]})", value

    return st.builds(join, parts, st.sampled_from("+-*/"), parts)


@given(sum_=st.recursive(NUMBERS, joined, max_leaves=12))
def test_any_sum_of_the_four_kinds_is_exact(sum_: tuple[str, Fraction]) -> None:
    text, value = sum_
    assert evaluate(text) == value
    assert evaluate(number_text(value)) == value


@given(text=st.text("0123456789.+-*/%^()!, e_pisqrtlogmaxfc√", max_size=60) | st.text(max_size=40))
def test_any_text_has_a_value_or_a_reason(text: str) -> None:
    with suppress(WrongSum):
        value = evaluate(text)
        assert isinstance(value, Fraction) or math.isfinite(value)
        assert number_text(value)


async def test_the_tool_says_whether_a_result_is_exact() -> None:
    output = await called(Calculator(), expression="1/3")
    assert json.loads(output.content) == {
        "expression": "1/3",
        "result": "1/3",
        "exact": True,
        "about": "0.333333333333333",
    }
    output = await called(Calculator(), expression="√2")
    assert json.loads(output.content)["exact"] is False
    assert "divides by zero" in await refused(Calculator(), expression="1/0")
    assert "too long" in await refused(Calculator(), expression="1" * 2_000)
