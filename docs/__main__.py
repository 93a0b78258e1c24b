"""Writes into docs/*.md what is computed from the program: between ``<!-- made: NAME -->`` and its end."""

from __future__ import annotations

import sys

from docs.made import FOLDER, pages, written


def main() -> int:
    """Write the pages that are not as the program is; return 0."""
    for page in pages():
        text = page.read_text(encoding="utf-8")
        new = written(text)
        if new != text:
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"{page.relative_to(FOLDER.parent)}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
