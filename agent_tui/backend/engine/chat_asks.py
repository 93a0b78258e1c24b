"""Who says whether a tool may run: rules, and people who are there to be asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.unwatched import Unwatched
from agent_tui.backend.engine.words import storable
from agent_tui.backend.store import chat_queries
from agent_tui.backend.store.chat_rows import RuleDropped, RulePut, ToolRule
from agent_tui.backend.store.store import Store
from agent_tui.backend.tools.rules import allows, speaks_of
from agent_tui.errors import NotFound, Refused
from agent_tui.events import Step, ToolAsk

DECISIONS = ("once", "conversation", "always", "deny")
NOBODY = "not run: nobody was there to allow it"
MAX_REASON_CHARACTERS = 1_000
MAX_PATTERN_CHARACTERS = 10_000

# (conversation, message, step) of a call that asks.
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class _Waiting:
    call: Step
    arguments: Mapping[str, Any]
    ask: ToolAsk
    word: asyncio.Future[str]


class Asks:
    """All calls that ask, and all rules. ``patterns`` returns those of the config file."""

    def __init__(self, store: Store, timing: Timing, patterns: Callable[[], Sequence[str]]) -> None:
        self._store = store
        self._timing = timing
        self._patterns = patterns
        self._rules: list[ToolRule] = []
        self._waiting: dict[Key, _Waiting] = {}
        self._readers: Counter[str] = Counter()
        self._alone = Unwatched(timing.unattended, timing.sleep, self._deny_all)

    async def load(self) -> None:
        """Read the rules; nobody else changes them."""
        self._rules = await self._store.read(chat_queries.rules)

    async def close(self) -> None:
        """Stop all waiting for people to come back."""
        await self._alone.close()

    @contextmanager
    def attend(self, room_id: str) -> Iterator[None]:
        """Somebody who can answer asks reads the conversation, as long as this is open."""
        self._readers[room_id] += 1
        self._look(room_id)
        try:
            yield
        finally:
            self._readers[room_id] -= 1
            if not self._readers[room_id]:
                del self._readers[room_id]
            self._look(room_id)

    def gate(self, room_id: str, message_id: str) -> RoomGate:
        """Return what an answer asks."""
        return RoomGate(self, room_id, message_id)

    def allows(self, room_id: str, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a rule lets the call run without asking."""
        mine = [rule.pattern for rule in self._rules if rule.room_id in ("", room_id)]
        return any(allows(pattern, tool, arguments) for pattern in (*self._patterns(), *mine))

    def could_allow(self, room_id: str, tool: str) -> bool:
        """Return whether somebody is there to be asked, or a rule speaks of the tool."""
        if self._readers[room_id]:
            return True
        mine = [rule.pattern for rule in self._rules if rule.room_id in ("", room_id)]
        return any(speaks_of(pattern, tool) for pattern in (*self._patterns(), *mine))

    def ask(self, key: Key, call: Step, arguments: Mapping[str, Any], ask: ToolAsk) -> asyncio.Future[str]:
        """Wait for a person's word on the call; without anybody there it is no."""
        word: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        if not self._readers[key[0]]:
            word.set_result(NOBODY)
            return word
        self._waiting[key] = _Waiting(call, arguments, ask, word)
        word.add_done_callback(lambda _: self._waiting.pop(key, None))
        return word

    def asks(self, key: Key) -> bool:
        """Return whether the call waits for somebody's word."""
        return key in self._waiting and not self._waiting[key].word.done()

    async def answer(self, key: Key, decision: str, pattern: str, reason: str) -> None:
        """Give a person's word on a call; raises ``Refused``: 422 for bad words, 409 when one was given."""
        if decision not in DECISIONS:
            raise Refused("The decision is unknown", f"It is one of: {', '.join(DECISIONS)}.", status=422)
        waiting = self._still_waiting(key)
        if decision in ("conversation", "always"):
            room_id = key[0] if decision == "conversation" else ""
            await self._allow(room_id, waiting, pattern.strip() or waiting.ask.pattern)
            waiting = self._still_waiting(key)
        if decision == "deny":
            why = storable(reason[:MAX_REASON_CHARACTERS]).strip()
            waiting.word.set_result(f"denied by the user: {why}" if why else "denied by the user")
        else:
            waiting.word.set_result("")
        self._let_go()

    def rules(self) -> list[ToolRule]:
        """Return the rules that hold everywhere, but for the config file's."""
        return [rule for rule in self._rules if not rule.room_id]

    async def drop_rule(self, rule_id: str) -> None:
        """Take a rule back; raises ``NotFound``."""
        if not any(rule.id == rule_id for rule in self._rules):
            raise NotFound(f"There is no rule {rule_id[:100]}", status=404)
        await self._store.append("", (), [RuleDropped(rule_id)])
        self._rules = [rule for rule in self._rules if rule.id != rule_id]

    def forget(self, room_id: str) -> None:
        """The conversation is gone."""
        self._rules = [rule for rule in self._rules if rule.room_id != room_id]

    async def _allow(self, room_id: str, waiting: _Waiting, pattern: str) -> None:
        name = waiting.call.name
        if len(pattern) > MAX_PATTERN_CHARACTERS or not allows(pattern, name, waiting.arguments):
            detail = "A pattern is a tool's name, or its name and in brackets what it may be called with."
            raise Refused("The pattern does not allow this call", detail, status=422)
        if any(rule.pattern == pattern and rule.room_id == room_id for rule in self._rules):
            return
        now = self._timing.now().isoformat()
        rule = ToolRule(uuid4().hex, name, storable(pattern), now, room_id)
        await self._store.append(room_id, (), [RulePut(rule)])
        self._rules.append(rule)

    def _still_waiting(self, key: Key) -> _Waiting:
        if not self.asks(key):
            raise Refused("The call does not ask any more", "It was answered before.", status=409)
        return self._waiting[key]

    def _let_go(self) -> None:
        """Other calls that wait may be allowed by now."""
        for (room_id, _, _), waiting in list(self._waiting.items()):
            if not waiting.word.done() and self.allows(room_id, waiting.call.name, waiting.arguments):
                waiting.word.set_result("")

    def _look(self, room_id: str) -> None:
        self._alone.look(room_id, alone=not self._readers[room_id] and self.waits_in(room_id))

    def waits_in(self, room_id: str) -> bool:
        """Return whether a call in the conversation waits for somebody's word."""
        return any(key[0] == room_id for key in self._waiting)

    def _deny_all(self, room_id: str) -> None:
        for key, waiting in list(self._waiting.items()):
            if key[0] == room_id and not waiting.word.done():
                waiting.word.set_result(NOBODY)


@dataclass(frozen=True, slots=True)
class RoomGate:
    """The gate of one answer (``answer_tools.Gate``)."""

    asks: Asks
    room_id: str
    message_id: str

    def allows(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a rule lets the call run without asking."""
        return self.asks.allows(self.room_id, tool, arguments)

    def could_allow(self, tool: str) -> bool:
        """Return whether any call of the tool might be let run."""
        return self.asks.could_allow(self.room_id, tool)

    def ask(self, call: Step, arguments: Mapping[str, Any], ask: ToolAsk) -> asyncio.Future[str]:
        """Return what will be somebody's word."""
        return self.asks.ask((self.room_id, self.message_id, call.id), call, arguments, ask)
