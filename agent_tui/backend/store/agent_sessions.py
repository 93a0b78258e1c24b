"""The conversations that agents on other servers keep: one row for each agent of a room, or chat."""

from __future__ import annotations

from dataclasses import fields

from sqlalchemy import Connection, select

from agent_tui.backend.models.model import AgentSession, Member
from agent_tui.backend.store import schema
from agent_tui.backend.store.rows import AgentSessionPut
from agent_tui.backend.store.store import Store

_COLUMNS = [schema.agent_session.c[field.name] for field in fields(AgentSession)]


class StoredSessions:
    """``agent_model.Sessions`` in the database."""

    def __init__(self, store: Store) -> None:
        self._store = store

    async def get(self, member: Member) -> AgentSession | None:
        """Return what is stored about the agent's conversation; raises ``StoreError``."""
        return await self._store.read(_session, member)

    async def put(self, member: Member, session: AgentSession) -> None:
        """Store it; raises ``StoreError``."""
        await self._store.append(member.room_id, (), [AgentSessionPut(member.agent_id, session)])


def _session(connection: Connection, member: Member) -> AgentSession | None:
    table = schema.agent_session.c
    query = select(*_COLUMNS).where(
        table.conversation_id == member.room_id, table.agent_id == member.agent_id
    )
    row = connection.execute(query).one_or_none()
    return None if row is None else AgentSession(*row)
