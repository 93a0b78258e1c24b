"""A client that answers the calls of its backend itself."""

from __future__ import annotations

from typing import Self


class OwnBackend:
    """A part of the clients that stand for a server's."""

    @property
    def backend(self) -> Self:
        return self
