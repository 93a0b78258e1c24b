"""Where a row of text may not end. The command line's help needs it, too: this imports nothing of ours."""

from __future__ import annotations

from typing import Final

# Punctuation that must not begin a row, and brackets that must not end one (CJK line breaking).
NO_START: Final = frozenset(
    "!%),.:;?]}\u00a2\u00b0\u2019\u201d\u2026\u3001\u3002\u3005\u3009\u300b\u300d\u300f\u3011\u3015\u3017"
    "\u30fb\u30fc\uff01\uff05\uff09\uff0c\uff0e\uff1a\uff1b\uff1f\uff3d\uff5d\uff5e"
)
NO_END: Final = frozenset("([{\u2018\u201c\u3008\u300a\u300c\u300e\u3010\u3014\u3016\uff08\uff3b\uff5b")
