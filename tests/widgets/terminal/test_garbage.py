"""Full looks for cycles are counted, as Python itself reports them."""

from __future__ import annotations

import gc
from collections import deque
from collections.abc import Iterator

import pytest

from widgets.terminal.garbage import BUSY_THRESHOLD, WORTH_THRESHOLD, Garbage, uncollected

pytestmark = pytest.mark.slow

THRESHOLDS = (700, 10, 10)  # Python's own


@pytest.fixture(autouse=True)
def modules_stay_frozen() -> None:
    """Here Python freezes and unfreezes as in the program."""


@pytest.fixture
def full() -> Iterator[list[int]]:
    """How many objects each full look found while the policy holds."""
    found: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        if phase == "stop" and info["generation"] == 2:
            found.append(info["collected"])

    before = gc.get_threshold()
    gc.set_threshold(*THRESHOLDS)
    gc.freeze()  # what other tests have left is not looked at
    gc.callbacks.append(note)
    yield found
    gc.callbacks.remove(note)
    gc.set_threshold(*before)


class Quiet:
    """Says whether it is quiet, as a test wants it."""

    is_quiet = True

    def __call__(self) -> bool:
        return self.is_quiet


@pytest.fixture
def quiet() -> Quiet:
    return Quiet()


@pytest.fixture
def garbage(quiet: Quiet, full: list[int]) -> Iterator[Garbage]:
    garbage = Garbage(quiet)
    garbage.start()
    yield garbage
    garbage.stop()


def middle_looks(count: int) -> list[list[object]]:
    """Make as many objects that stay as so many looks at the middle generation come with."""
    young, middle, _ = gc.get_threshold()
    return [[] for _ in range(count * (young + 1) * (middle + 1))]


def still(garbage: Garbage) -> None:
    """Let a while pass in which nothing is made."""
    garbage.look()
    garbage.look()


def test_words_that_stream_in_cause_no_full_look(garbage: Garbage, quiet: Quiet, full: list[int]) -> None:
    quiet.is_quiet = False
    kept = middle_looks(BUSY_THRESHOLD // 2)
    still(garbage)
    assert kept
    assert full == []


def test_a_closed_screen_is_looked_for_once_as_soon_as_it_is_quiet(
    garbage: Garbage, quiet: Quiet, full: list[int]
) -> None:
    quiet.is_quiet = False
    garbage.screen_gone()
    garbage.look()
    assert full == []
    quiet.is_quiet = True
    kept: list[list[object]] = [[] for _ in range(10_000)]  # a reader scrolls
    garbage.look()
    garbage.look()
    assert kept
    assert len(full) == 1


def test_the_first_quiet_moment_has_one_and_the_next_has_none(garbage: Garbage, full: list[int]) -> None:
    kept = middle_looks(WORTH_THRESHOLD + 1)
    garbage.look()
    assert full == []  # something was made since the look before: perhaps a reader scrolls
    garbage.look()
    assert len(full) == 1
    for _ in range(100):
        garbage.look()
    assert kept
    assert len(full) == 1


def test_what_was_frozen_is_found_once_nobody_can_reach_it(garbage: Garbage, full: list[int]) -> None:
    ring: list[object] = []
    ring.append(ring)
    kept = middle_looks(WORTH_THRESHOLD + 1)
    still(garbage)
    del ring
    kept += middle_looks(WORTH_THRESHOLD + 1)
    still(garbage)
    assert kept
    assert len(full) == 2
    assert full[1] >= 1


def test_what_nobody_can_reach_is_bounded_also_while_it_is_never_quiet(
    garbage: Garbage, quiet: Quiet, full: list[int]
) -> None:
    quiet.is_quiet = False
    held = deque[list[list[object]]](maxlen=3)  # for so long that only full looks find them
    for _ in range(3 * BUSY_THRESHOLD):
        held.append(middle_looks(1))
        for ring in held[-1]:
            ring.append(ring)
    assert len(full) >= 2
    assert 0 < max(full) <= 1.2 * (BUSY_THRESHOLD + 1) * len(held[0])


def test_afterwards_python_does_as_before(full: list[int]) -> None:
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    garbage = Garbage(lambda: True)
    garbage.start()
    assert gc.get_threshold()[2] == BUSY_THRESHOLD
    assert gc.get_freeze_count() > frozen
    garbage.stop()
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0


def test_nothing_is_looked_for_while_many_messages_come(full: list[int]) -> None:
    with uncollected():
        before = gc.get_stats()
        kept = middle_looks(WORTH_THRESHOLD)
        after = gc.get_stats()
    assert kept
    assert [stat["collections"] for stat in after] == [stat["collections"] for stat in before]
    assert gc.isenabled()
