"""What a server has of a protocol, asked with ``OPTIONS``: foreign ones lack some of the calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from agent_tui.clients.http import Net
from agent_tui.clients.paths import Paths
from agent_tui.model.errors import AgentTuiError, NotFound, NotOffered, Refused

AT_ONCE = 4
SECONDS = 5.0
ANYBODY = "any"  # a path is asked for without naming anybody


class Offers:
    """``table``: each call that a server may lack → its method, its path, and what it is called."""

    def __init__(self, net: Net, paths: Paths, table: Mapping[str, tuple[str, str, str]]) -> None:
        self._net = net
        self._paths = paths
        self._table = table
        self._missing: Mapping[str, str] | None = None
        self._looking = asyncio.Lock()

    async def missing(self, first_id: str) -> Mapping[str, str]:
        """Return what this server does not offer: name of the call → why, one line.

        Asked once; whatever does not answer counts as offered, and is asked again another time when
        nothing answered at all. Never raises.
        """
        async with self._looking:
            if self._missing is None:
                at_once = asyncio.Semaphore(AT_ONCE)
                asked = await asyncio.gather(*(self._lacks(name, first_id, at_once) for name in self._table))
                if all(lacks is None for lacks in asked):
                    return {}
                lacking = (name for name, lacks in zip(self._table, asked, strict=True) if lacks)
                self._missing = {
                    name: f"this server does not offer {self._table[name][2]}" for name in lacking
                }
            return self._missing

    async def _lacks(self, name: str, first_id: str, at_once: asyncio.Semaphore) -> bool | None:
        """Say whether the server lacks a call, ``None`` when it could not be asked."""
        method, path, _ = self._table[name]
        ids: Sequence[str] = (first_id, *[ANYBODY] * self._paths.places(path))[: self._paths.places(path)]
        async with at_once:
            try:
                async with asyncio.timeout(SECONDS):
                    methods = await self._net.methods(self._paths.of(path, *ids))
            except (AgentTuiError, TimeoutError):
                return None
        return methods is not None and method not in methods


async def explained(net: Net, method: str, path: str, what: str, error: NotFound | NotOffered) -> Refused:
    """Say what a 404 means: there is no such thing, or no such call, named ``what``. Others mean the call."""
    if isinstance(error, NotOffered):
        return not_offered(what, error)
    try:
        methods = await net.methods(path)
    except AgentTuiError:
        return error
    return error if methods is None or method in methods else not_offered(what, error)


def not_offered(what: str, error: NotFound | NotOffered) -> NotOffered:
    """Return the error for a call that a server does not have; ``what`` is what it is called."""
    detail = f"it answered {error.status}" if error.status else error.title
    return NotOffered(f"this server does not offer {what}", detail, status=error.status)
