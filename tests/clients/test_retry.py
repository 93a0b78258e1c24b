from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.clients.retry import Backoff, retry_after_seconds

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


def test_delays_double_up_to_the_cap() -> None:
    backoff = Backoff(base=0.5, cap=30, random=lambda: 1.0)
    assert [backoff.next_delay() for _ in range(9)] == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert backoff.attempt == 9


def test_the_jitter_takes_off_up_to_half() -> None:
    backoff = Backoff(base=2, cap=30, random=iter([0.0, 0.5, 1.0]).__next__)
    assert [backoff.next_delay() for _ in range(3)] == [1.0, 3.0, 8.0]


def test_progress_begins_again_at_the_base() -> None:
    backoff = Backoff(base=0.5, cap=30, random=lambda: 1.0)
    for _ in range(5):
        backoff.next_delay()
    backoff.reset()
    assert backoff.attempt == 0
    assert backoff.next_delay() == 0.5


@given(st.floats(0, 1), st.integers(1, 3000))
def test_no_delay_ever_leaves_its_bounds(number: float, tries: int) -> None:
    backoff = Backoff(base=0.5, cap=30, random=lambda: number)
    backoff.attempt = tries
    assert 0.25 <= backoff.next_delay() <= 30


@pytest.mark.parametrize(
    ("retry_ms", "first", "second"),
    [(3000, 3.0, 6.0), (0, 0.1, 0.2), (45_000, 45.0, 45.0), (10**9, 60.0, 60.0)],
)
def test_the_retry_field_of_a_stream_is_the_base_within_bounds(
    retry_ms: int, first: float, second: float
) -> None:
    backoff = Backoff(cap=30, random=lambda: 1.0)
    backoff.server_wishes(retry_ms)
    assert [backoff.next_delay(), backoff.next_delay()] == [first, second]


@pytest.mark.parametrize(("wish", "delay"), [(7.0, 7.0), (0.0, 0.1), (3600.0, 60.0)])
def test_retry_after_is_kept_to_exactly_within_bounds(wish: float, delay: float) -> None:
    backoff = Backoff(random=lambda: 0.0)
    assert backoff.next_delay(retry_after=wish) == delay
    assert backoff.attempt == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0),
        (" 7 ", 7.0),
        ("0", 0.1),
        ("99999999999999999999999", 60.0),
        ("Sun, 01 Mar 2026 12:00:20 GMT", 20.0),
        ("Sunday, 01-Mar-26 12:00:20 GMT", 20.0),
        ("Sun Mar  1 12:00:20 2026", 20.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.1),
        ("Mon, 01 Mar 2027 12:00:00 GMT", 60.0),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("٣", None),
        ("Sun, 99 Mar 2026 12:00:20 GMT", None),
    ],
)
def test_retry_after_is_seconds_or_a_date(value: str, seconds: float | None) -> None:
    assert retry_after_seconds(value, NOW) == seconds


@given(st.text(max_size=40))
def test_no_retry_after_header_breaks_anything(value: str) -> None:
    seconds = retry_after_seconds(value, NOW)
    assert seconds is None or 0.1 <= seconds <= 60
