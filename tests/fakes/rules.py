"""What of a client belongs to its backend: ``known_rules`` are listed, ``decided`` is what was decided."""

from __future__ import annotations

from typing import Self

from agent_tui.clients.records import ToolRule


class FakeRules:
    """A part of the clients that stand for a server's."""

    known_rules: tuple[ToolRule, ...] = ()
    decided: tuple[str, ...] = ()

    @property
    def backend(self) -> Self:
        return self

    async def rules(self) -> list[ToolRule]:
        return list(self.known_rules)

    async def confirm_rule(self, rule_id: str) -> None:
        self._decide(f"confirm {rule_id}", rule_id)

    async def drop_rule(self, rule_id: str) -> None:
        self._decide(f"drop {rule_id}", rule_id)

    def _decide(self, what: str, rule_id: str) -> None:
        self.decided = (*self.decided, what)
        self.known_rules = tuple(rule for rule in self.known_rules if rule.id != rule_id)
