"""One row of every benchmark: figure · target · ours · stock Textual in the same run, and a note.

The rows are Markdown, to be copied.
"""

from __future__ import annotations


def heads() -> None:
    """Print the head of the table."""
    row("figure", "target", "ours", "note", "stock Textual")
    print("|---|---|---|---|---|", flush=True)


def row(figure: str, target: str, ours: str, note: str = "", stock: str = "") -> None:
    """Print one row."""
    print(f"| {figure:<50} | {target:<8} | {ours:<12} | {stock:<13} | {note} |", flush=True)


def times(ratio: float) -> str:
    """Return a ratio as people say it: "1.6 ×", or "1/9.2" when it is below one."""
    return f"{ratio:.1f} ×" if ratio >= 1 else f"1/{1 / ratio:.3g}"


def ms(seconds: float) -> str:
    """Return a short time in whole milliseconds."""
    return f"{seconds * 1000:,.0f} ms"
