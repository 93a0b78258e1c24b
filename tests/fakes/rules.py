"""The rules of a client: ``known_rules`` are listed, what was decided of one stands in ``decided``."""

from __future__ import annotations

from agent_tui.clients.records import ToolRule


class FakeRules:
    """A part of the clients that stand for a server's."""

    known_rules: tuple[ToolRule, ...] = ()
    decided: tuple[str, ...] = ()

    async def rules(self) -> list[ToolRule]:
        return list(self.known_rules)

    async def confirm_rule(self, rule_id: str) -> None:
        self._decide(f"confirm {rule_id}", rule_id)

    async def drop_rule(self, rule_id: str) -> None:
        self._decide(f"drop {rule_id}", rule_id)

    def _decide(self, what: str, rule_id: str) -> None:
        self.decided = (*self.decided, what)
        self.known_rules = tuple(rule for rule in self.known_rules if rule.id != rule_id)
