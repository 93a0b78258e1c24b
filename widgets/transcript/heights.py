"""How many rows a list of things takes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable


class Heights:
    """A Fenwick tree: every change and every query costs O(log n), and each value takes sixteen bytes."""

    __slots__ = ("_tree", "_values", "total")

    def __init__(self, rows: Iterable[int] = ()) -> None:
        self._values = array("q")
        # Entry i holds the sum of as many values, up to the i-th, as the lowest bit of i + 1 says.
        self._tree = array("q")
        self.total = 0
        for value in rows:
            self.append(value)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, index: int) -> int:
        return self._values[index]

    def append(self, rows: int) -> None:
        self._values.append(rows)
        number = len(self._values)
        subtotal, step, lowest = rows, 1, number & -number
        while step < lowest:
            subtotal += self._tree[number - step - 1]
            step <<= 1
        self._tree.append(subtotal)
        self.total += rows

    def set(self, index: int, rows: int) -> None:
        change = rows - self._values[index]
        if not change:
            return
        self._values[index] = rows
        self.total += change
        number, count = index + 1, len(self._values)
        while number <= count:
            self._tree[number - 1] += change
            number += number & -number

    def before(self, index: int) -> int:
        """Return the rows before ``index``."""
        rows = 0
        while index > 0:
            rows += self._tree[index - 1]
            index &= index - 1
        return rows
