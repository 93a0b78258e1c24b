"""Calls with one answer to one server, and what such a server lacks (asked with ``OPTIONS``)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from agent_tui.clients.http import Net
from agent_tui.clients.paths import Paths
from agent_tui.model.errors import AgentTuiError, NotFound, NotOffered, Refused

MAX_PARALLEL = 4
ASK_SECONDS = 5.0
ANYBODY = "any"  # used in a path to ask about a call without an id


class Calls:
    """Calls by the names of ``paths``. A 404 for a missing room is distinguished from one for a missing call.

    ``offers`` has each call that a server may lack → its method, its path, and its name for people; ``known``
    raises if there is no such room or conversation. Every method raises what ``Net.call`` raises;
    ``NotFound`` means the room or conversation, ``NotOffered`` that this server does not have the call,
    whatever status it answers. No call is repeated automatically.
    """

    def __init__(
        self,
        net: Net,
        paths: Paths,
        offers: Mapping[str, tuple[str, str, str]],
        known: Callable[[str], Awaitable[object]],
    ) -> None:
        self.net = net
        self.paths = paths
        self._offers = offers
        self._known = known
        self._missing: Mapping[str, str] | None = None
        self._asking = asyncio.Lock()

    async def plain(
        self,
        method: str,
        name: str,
        what: str,
        *,
        params: Mapping[str, str] | None = None,
        json: object = None,
        patience: float = 0.0,
    ) -> Any:
        """Make a call without an id: a 404 means that the call, named ``what``, is missing."""
        path = self.paths.of(name)
        try:
            return await self.net.call(method, path, params=params, json=json, patience=patience)
        except (NotFound, NotOffered) as error:
            raise not_offered(what, error) from error

    async def about(self, method: str, name: str, ids: Sequence[str], what: str, json: object = None) -> Any:
        """Make a call with ids, first that of the room or conversation."""
        path = self.paths.of(name, *ids)
        try:
            return await self.net.call(method, path, json=json)
        except NotOffered as error:
            raise not_offered(what, error) from error
        except NotFound as error:
            raise await self._explain_not_found(method, path, ids, what, error) from error

    async def _explain_not_found(
        self, method: str, path: str, ids: Sequence[str], what: str, error: NotFound
    ) -> Refused:
        """Return what a 404 is about: the call, the room or conversation, or something in it."""
        methods = await self._methods(path)
        if method in (methods or ()) or (methods is None and len(ids) > 1):
            return error
        try:
            await self._known(ids[0])
        except AgentTuiError:
            return error
        return not_offered(what, error)

    async def explain_refusal(
        self, method: str, path: str, what: str, error: NotFound | NotOffered
    ) -> Refused:
        """Return what a refusal is about: the thing, or the call named ``what``."""
        if isinstance(error, NotOffered):
            return not_offered(what, error)
        methods = await self._methods(path)
        return error if methods is None or method in methods else not_offered(what, error)

    async def _methods(self, path: str) -> frozenset[str] | None:
        try:
            return await self.net.methods(path)
        except AgentTuiError:
            return None

    async def missing(self, first_id: str) -> Mapping[str, str]:
        """Return what this server does not offer: name of the call → why, one line.

        Asked once. A call without an answer counts as offered, and if nothing answered at all, it is asked
        again another time. Never raises.
        """
        async with self._asking:
            if self._missing is None:
                slots = asyncio.Semaphore(MAX_PARALLEL)
                answers = await asyncio.gather(*(self._lacks(name, first_id, slots) for name in self._offers))
                if all(lacks is None for lacks in answers):
                    return {}
                lacking = (name for name, lacks in zip(self._offers, answers, strict=True) if lacks)
                self._missing = {
                    name: f"this server does not offer {self._offers[name][2]}" for name in lacking
                }
            return self._missing

    async def _lacks(self, name: str, first_id: str, slots: asyncio.Semaphore) -> bool | None:
        """Return whether the server lacks a call, ``None`` if it could not be asked."""
        method, path, _ = self._offers[name]
        ids: Sequence[str] = (first_id, *[ANYBODY] * self.paths.places(path))[: self.paths.places(path)]
        async with slots:
            try:
                async with asyncio.timeout(ASK_SECONDS):
                    methods = await self.net.methods(self.paths.of(path, *ids))
            except (AgentTuiError, TimeoutError):
                return None
        return methods is not None and method not in methods


def not_offered(what: str, error: NotFound | NotOffered) -> NotOffered:
    """Return the error for a call that a server does not have; ``what`` is its name."""
    detail = f"it answered {error.status}" if error.status else error.title
    return NotOffered(f"this server does not offer {what}", detail, status=error.status)
