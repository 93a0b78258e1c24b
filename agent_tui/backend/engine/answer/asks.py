"""Decides whether a tool may run: by rules, and by people who can be asked.

A rule that a person keeps is only for the call that they saw, in the folder in which it would work. Wider
rules are in the config file.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, TypeVar
from uuid import uuid4

from agent_tui.backend.engine.answer.tools import CallAllowed, CallDenied, PendingReply
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.unwatched import OpenPrograms, UnwatchedTimers, count_within
from agent_tui.backend.engine.words import storable
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import RuleChange, RuleDropped, RulePut, StoredRule
from agent_tui.backend.store.steps import calls
from agent_tui.backend.store.store import Store
from agent_tui.backend.tools.rules import allows, exact_rule
from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.config.tool_rules import covers_tool
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import Step, ToolAsk
from agent_tui.model.inert import visible_line
from agent_tui.model.tool_forms import FormAction, FormAnswer, ToolForm, problems

DECISIONS = ("once", "conversation", "always", "deny")
FORM_DECISIONS: Mapping[str, FormAction] = {"answer": "accept", "decline": "decline", "cancel": "cancel"}
NOBODY = "not run: nobody was there to allow it"
NOBODY_TO_FILL_IN = "nobody was there to answer"
MAX_REASON_CHARACTERS = 1_000

T = TypeVar("T")

# (conversation, message, step) of a call that asks.
Key = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class AskDecision:
    """A person's decision about a call that asks: one of ``DECISIONS``, or of ``FORM_DECISIONS`` if it asks
    for values. ``pattern`` confirms what is kept: if it is given, it has to be that of the ask; ``reason`` is
    why it may not run; ``values`` are what was filled in, by the names of fields.
    """

    decision: str
    pattern: str = ""
    reason: str = ""
    values: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class _OpenCall:
    """A call that asks. ``is_taken``: a decision about it is being stored, so another one is refused."""

    call: Step
    arguments: Mapping[str, Any]
    place: ToolPlace
    ask: ToolAsk
    reply: PendingReply
    is_taken: bool = False


@dataclass(frozen=True, slots=True)
class _OpenForm:
    """A call that runs and asks for values."""

    form: ToolForm
    reply: asyncio.Future[FormAnswer]


class Asks:
    """All calls that ask, and all rules. ``patterns`` returns those of the config file. While a program of
    ``presence`` is open, a person can answer, on whatever screen.
    """

    def __init__(
        self,
        store: Store,
        timing: Timing,
        patterns: Callable[[], Sequence[str]],
        presence: OpenPrograms | None = None,
    ) -> None:
        self._store = store
        self._presence = presence or OpenPrograms()
        self._presence.on_change.append(self._look_at_all)
        self._timing = timing
        self._patterns = patterns
        self._rules: list[StoredRule] = []
        self._changing = asyncio.Lock()  # held while the rules change, in the store and here
        self._open: dict[Key, _OpenCall | _OpenForm] = {}
        self._readers: Counter[str] = Counter()
        self._alone = UnwatchedTimers([(timing.unattended, self._deny_all)], timing.sleep)

    async def load(self) -> None:
        """Read the rules; nothing else changes them."""
        self._rules = await self._store.read(reads.rules)

    async def close(self) -> None:
        """Stop waiting for people to come back."""
        await self._alone.close()

    def attend(self, room_id: str) -> AbstractContextManager[None]:
        """Count a reader who can answer asks of the conversation, while the context is open."""
        return count_within(self._readers, room_id, self._look)

    def gate(self, room_id: str, message_id: str, *, is_alone: bool = False) -> RoomGate:
        """Return the gate of an answer; with ``is_alone`` only rules let its calls run."""
        return RoomGate(self, room_id, message_id, is_alone)

    def allows(self, room_id: str, tool: str, arguments: Mapping[str, Any], place: ToolPlace) -> bool:
        """Return whether a rule lets the call run without asking."""
        if any(allows(pattern, tool, arguments, place) for pattern in self._patterns()):
            return True
        rules = [rule for rule in self._rules_in(room_id) if rule.tool == tool]
        if not rules:
            return False
        exact = exact_rule(tool, arguments, place)
        return any((rule.pattern, rule.folder) == exact for rule in rules)

    def could_allow(self, room_id: str, tool: str, *, is_alone: bool = False) -> bool:
        """Return whether a person can be asked, or a rule covers the tool."""
        if self._is_somebody_there(room_id) and not is_alone:
            return True
        is_named = any(covers_tool(pattern, tool) for pattern in self._patterns())
        return is_named or any(rule.tool == tool for rule in self._rules_in(room_id))

    def ask(
        self, key: Key, call: Step, arguments: Mapping[str, Any], place: ToolPlace, ask: ToolAsk
    ) -> PendingReply:
        """Wait for a person's decision about the call; if nobody is there, it is denied."""
        if not self._is_somebody_there(key[0]):
            return _resolved(CallDenied(NOBODY))
        reply: PendingReply = asyncio.get_running_loop().create_future()
        self._wait(key, _OpenCall(call, arguments, place, ask, reply))
        return reply

    def fill_in(self, key: Key, form: ToolForm) -> asyncio.Future[FormAnswer]:
        """Wait for a person to fill in a form; if nobody is there, it is declined."""
        if not self._is_somebody_there(key[0]):
            return _resolved(FormAnswer("decline", why=NOBODY_TO_FILL_IN))
        reply: asyncio.Future[FormAnswer] = asyncio.get_running_loop().create_future()
        self._wait(key, _OpenForm(form, reply))
        return reply

    def _wait(self, key: Key, pending: _OpenCall | _OpenForm) -> None:
        self._open[key] = pending
        pending.reply.add_done_callback(lambda _: self._open.pop(key, None))
        self._look(key[0])

    async def answer(self, key: Key, answer: AskDecision, kinds: Collection[str]) -> None:
        """Take a person's decision about a call in a conversation of one of these kinds. Raises ``Refused``:
        422 for an invalid decision or values that do not fit the form, 409 if the call was answered before;
        ``NotFound``.
        """
        await self._store.read(reads.conversation, key[0], kinds)
        if key not in self._open and key[2] not in await self._store.read(calls, *key[:2]):
            raise NotFound(f"There is no call {key[2][:100]} in this conversation", status=404)
        await self.take(key, answer)

    async def take(self, key: Key, answer: AskDecision) -> None:
        """Take a person's decision about a call of any conversation. Raises ``Refused`` as ``answer``."""
        if answer.decision not in (*DECISIONS, *FORM_DECISIONS):
            known = ", ".join((*DECISIONS, *FORM_DECISIONS))
            raise Refused("The decision is unknown", f"It is one of: {known}.", status=422)
        pending = self._open.get(key)
        if pending is None or pending.reply.done():
            is_form = answer.decision in FORM_DECISIONS
            what = "The form is no longer open" if is_form else "The call no longer needs approval"
            raise Refused(what, "It was already answered.", status=409)
        fitting = FORM_DECISIONS if isinstance(pending, _OpenForm) else DECISIONS
        if answer.decision not in fitting:
            detail = f"It is one of: {', '.join(fitting)}."
            raise Refused("The decision does not fit what is asked", detail, status=422)
        if isinstance(pending, _OpenForm):
            self._take_form(pending, answer)
        else:
            await self._decide(key[0], pending, answer)

    def _take_form(self, pending: _OpenForm, answer: AskDecision) -> None:
        action = FORM_DECISIONS[answer.decision]
        if action != "accept":
            pending.reply.set_result(FormAnswer(action))
            return
        if wrong := problems(pending.form, answer.values):
            lines = "; ".join(f"{visible_line(name, 60)}: {why}" for name, why in list(wrong.items())[:10])
            raise Refused("The values do not fit the form", lines, status=422)
        pending.reply.set_result(FormAnswer("accept", dict(answer.values)))

    async def _decide(self, room_id: str, pending: _OpenCall, answer: AskDecision) -> None:
        if pending.is_taken:
            raise Refused("The call no longer needs approval", "It was already answered.", status=409)
        if answer.decision in ("conversation", "always"):
            if not pending.ask.pattern or answer.pattern.strip() not in ("", pending.ask.pattern):
                detail = "A rule is kept for the very call that was shown, by the pattern of the ask."
                raise Refused("The pattern is not that of this call", detail, status=422)
            pending.is_taken = True
            try:
                await self._keep(pending, room_id if answer.decision == "conversation" else "")
            finally:
                pending.is_taken = False
        if not pending.reply.done():  # the call was not stopped meanwhile
            why = storable(answer.reason[:MAX_REASON_CHARACTERS]).strip()
            denied = CallDenied(f"denied by the user: {why}" if why else "denied by the user")
            pending.reply.set_result(denied if answer.decision == "deny" else CallAllowed())
        self._allow_by_rules()

    def rules(self) -> list[StoredRule]:
        """Return all rules except the config file's, including those of one conversation."""
        return list(self._rules)

    async def drop_rule(self, rule_id: str) -> None:
        """Remove a rule; from now on it lets nothing run. Raises ``NotFound``."""
        async with self._changing:
            dropped = self._rule(rule_id)
            self._rules = [rule for rule in self._rules if rule is not dropped]
            await self._change("", RuleDropped(rule_id))

    def forget(self, room_id: str) -> None:
        """Forget a deleted conversation."""
        self._rules = [rule for rule in self._rules if rule.conversation_id != room_id]

    def _rules_in(self, room_id: str) -> list[StoredRule]:
        return [rule for rule in self._rules if rule.conversation_id in ("", room_id)]

    def _rule(self, rule_id: str) -> StoredRule:
        for rule in self._rules:
            if rule.id == rule_id:
                return rule
        raise NotFound(f"There is no rule {rule_id[:100]}", status=404)

    async def _keep(self, pending: _OpenCall, room_id: str) -> None:
        now, ask = self._timing.now().isoformat(), pending.ask
        rule = StoredRule(uuid4().hex, pending.call.name, ask.pattern, now, room_id, ask.folder)
        async with self._changing:
            await self._change(room_id, RulePut(rule))

    async def _change(self, room_id: str, change: RuleChange) -> None:
        """Store a change of the rules, then keep exactly what is stored: the store may have had that rule
        already, under another id.
        """
        try:
            await self._store.append(room_id, (), [change])
        finally:
            self._rules = await self._store.read(reads.rules)

    def _allow_by_rules(self) -> None:
        for (room_id, _, _), pending in list(self._open.items()):
            if isinstance(pending, _OpenForm) or pending.reply.done():
                continue
            if self.allows(room_id, pending.call.name, pending.arguments, pending.place):
                pending.reply.set_result(CallAllowed())

    def _is_somebody_there(self, room_id: str) -> bool:
        return bool(self._readers[room_id] or self._presence.programs)

    def _look(self, room_id: str) -> None:
        alone = not self._is_somebody_there(room_id) and self.waits_in(room_id)
        self._alone.look(room_id, alone=alone)

    def _look_at_all(self) -> None:
        for room_id in {key[0] for key in self._open}:
            self._look(room_id)

    def waits_in(self, room_id: str) -> bool:
        """Return whether a call in the conversation needs approval."""
        return any(key[0] == room_id for key in self._open)

    def _deny_all(self, room_id: str) -> None:
        for key, pending in list(self._open.items()):
            if key[0] != room_id or pending.reply.done():
                continue
            if isinstance(pending, _OpenForm):
                pending.reply.set_result(FormAnswer("decline", why=NOBODY_TO_FILL_IN))
            else:
                pending.reply.set_result(CallDenied(NOBODY))


@dataclass(frozen=True, slots=True)
class RoomGate:
    """The gate of one answer (``tools.Gate``)."""

    asks: Asks
    room_id: str
    message_id: str
    is_alone: bool = False  # nobody is asked, even if a person is there

    def allows(self, tool: str, arguments: Mapping[str, Any], place: ToolPlace) -> bool:
        """Return whether a rule lets the call run without asking."""
        return self.asks.allows(self.room_id, tool, arguments, place)

    def could_allow(self, tool: str) -> bool:
        """Return whether any call of the tool might be allowed."""
        return self.asks.could_allow(self.room_id, tool, is_alone=self.is_alone)

    def ask(self, call: Step, arguments: Mapping[str, Any], place: ToolPlace, ask: ToolAsk) -> PendingReply:
        """Return a future for the decision."""
        if self.is_alone:
            return _resolved(CallDenied(NOBODY))
        return self.asks.ask((self.room_id, self.message_id, call.id), call, arguments, place, ask)

    def fill_in(self, call: Step, form: ToolForm) -> asyncio.Future[FormAnswer]:
        """Return a future for the filled-in form."""
        if self.is_alone:
            return _resolved(FormAnswer("decline", why=NOBODY_TO_FILL_IN))
        return self.asks.fill_in((self.room_id, self.message_id, call.id), form)


def _resolved(value: T) -> asyncio.Future[T]:
    reply: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    reply.set_result(value)
    return reply
