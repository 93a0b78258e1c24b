"""Whether the tests take their time: ``HYPOTHESIS_PROFILE=thorough`` tries more examples and more kills, and
everything in every theme; every day two themes, one dark and one light, are enough.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def of_many(everything: Sequence[T], every_day: Sequence[T]) -> Sequence[T]:
    """Return what is to be tried."""
    return everything if THOROUGH else every_day
