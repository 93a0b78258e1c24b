"""One row of every benchmark: figure · target · ours, and what else is worth knowing."""

from __future__ import annotations


def row(figure: str, target: str, ours: str, note: str = "") -> None:
    """Print one row."""
    print(f"  {figure:<46} {target:>14}  {ours:>14}  {note}".rstrip(), flush=True)


def times(ratio: float) -> str:
    """Return a ratio as people say it: "1.6 ×", or "1/9.2" when it is below one."""
    return f"{ratio:.1f} ×" if ratio >= 1 else f"1/{1 / ratio:.3g}"
