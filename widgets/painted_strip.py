"""Strips that go by themselves when nobody holds them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from textual.strip import Strip


class PaintedStrip(Strip):
    """A row as it is handed to Textual.

    Asked for all of itself, a ``Strip`` keeps itself in its own cache: every row that was ever painted, with
    a dozen objects, waits until Python looks for cycles. This one does not.
    """

    __slots__ = ()

    def divide(self, cuts: Iterable[int]) -> Sequence[Strip]:
        ends = [cut for cut in cuts if cut <= self.cell_length]
        return [self] if ends == [self.cell_length] else super().divide(ends)

    def crop(self, start: int, end: int | None = None) -> Strip:
        cropped = super().crop(start, end)
        if type(cropped) is Strip:  # divided next; of the same layout, and only its own cache has it
            cropped.__class__ = PaintedStrip
        return cropped
