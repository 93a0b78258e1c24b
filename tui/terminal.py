"""The terminal as it was: whatever happens on a screen, the user gets a usable shell back."""

from __future__ import annotations

import contextlib
import os
import sys
import termios
from collections.abc import Iterator

# Leave the alternate screen, show the cursor, end mouse, focus and paste reporting and the extended
# keyboard, reset colours: harmless where a screen has tidied up already.
_RESET = (
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1004l\x1b[?2004l\x1b[<u"
    b"\x1b[?1049l\x1b[?25h\x1b[0m"
)


def is_terminal() -> bool:
    """Say whether a screen can be shown: keys come from a terminal and output goes to one."""
    return sys.stdin is not None and sys.stdout is not None and os.isatty(0) and os.isatty(1)


@contextlib.contextmanager
def restored() -> Iterator[None]:
    """Put the terminal's modes back at the end, and its screen too when the end is an error."""
    modes = termios.tcgetattr(0)
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            os.write(1, _RESET)
        raise
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(0, termios.TCSADRAIN, modes)
