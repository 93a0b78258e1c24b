"""Sessions of agents on other servers, kept for a test."""

from __future__ import annotations

from agent_tui.backend.models.model import AgentSession, Member


class KeptSessions:
    """``agent_model.Sessions``; ``puts`` are all that were put, in order."""

    def __init__(self) -> None:
        self.puts: list[AgentSession] = []
        self._kept: dict[str, AgentSession] = {}

    async def get(self, member: Member) -> AgentSession | None:
        """Return what was put last."""
        return self._kept.get(member.agent_id)

    async def put(self, member: Member, session: AgentSession) -> None:
        """Keep it."""
        self.puts.append(session)
        self._kept[member.agent_id] = session
