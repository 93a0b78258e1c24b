"""Whether the tests take their time: ``HYPOTHESIS_PROFILE=thorough`` tries more examples, kills more often, and
looks at everything in every theme; every day two themes, one dark and one light, are enough.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"


def of_many(everything: Sequence[str], every_day: Sequence[str]) -> Sequence[str]:
    """Return what is to be tried."""
    return everything if THOROUGH else every_day
