"""The engine: makes, lists, changes, runs and deletes conversations. It stores everything before it
acknowledges it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from agent_tui.backend.engine import budget
from agent_tui.backend.engine.answer.asks import AskDecision, Asks
from agent_tui.backend.engine.answer.file_changes import FileChanges
from agent_tui.backend.engine.answer.tools import ToolSource
from agent_tui.backend.engine.changes import Changes
from agent_tui.backend.engine.chats.acts import ChatActs
from agent_tui.backend.engine.fields import needs_idle
from agent_tui.backend.engine.kinds import ROOMS, EngineKind, Info
from agent_tui.backend.engine.resources import ModelSource, Resources
from agent_tui.backend.engine.rooms.acts import RoomActs
from agent_tui.backend.engine.runs import Runs, shielded
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.unwatched import OpenPrograms
from agent_tui.backend.hub import Hub
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import (
    KINDS,
    ROOM,
    ConversationCreated,
    ConversationRow,
    ConversationSet,
    FoundMessage,
)
from agent_tui.backend.store.store import Store
from agent_tui.model.errors import NotFound
from agent_tui.model.events import ConversationInfo, Message, RoomInfo
from agent_tui.model.settings import Values

MAX_PAGE_MESSAGES = 1_000
MAX_HITS = 500


@dataclass(frozen=True, slots=True)
class RoomNews:
    """Changed rooms, and ids of deleted ones, up to ``cursor``; ``is_all``: there are no other rooms."""

    rooms: list[RoomInfo]
    removed: tuple[str, ...]
    cursor: str
    is_all: bool


@dataclass(frozen=True, slots=True)
class MessagesPage:
    """Messages in order; ``next`` is the page's last id if others follow, ``as_of`` the seq that it
    corresponds to.
    """

    messages: list[Message]
    next: str | None
    as_of: int


class Engine:
    """All conversations of one store, in one event loop; ``rooms`` and ``chats`` have what only one kind has,
    ``files`` what is about files that tools changed, ``asks`` the calls that wait for a person, and rules.

    A change to a conversation is always completed, even if its caller is gone, and there is only one at a
    time for each conversation. Raises ``NotFound`` for one that does not exist or is of another kind,
    ``StoreError`` when the database fails.
    """

    def __init__(
        self,
        store: Store,
        hub: Hub,
        models: ModelSource,
        tools: ToolSource,
        *,
        unwatched_seconds: float | None,
        timing: Timing | None = None,
        presence: OpenPrograms | None = None,
    ) -> None:
        """``unwatched_seconds`` and ``presence``: see ``Runs``."""
        timing, presence = timing or Timing(), presence or OpenPrograms()
        self.asks = Asks(store, timing, lambda: tools.allow, presence)
        self._store = store
        self._hub = hub
        self._resources = resources = Resources(store, models, timing, tools, self.asks)
        self.runs = Runs(resources, hub, unwatched_seconds, presence)
        self._changes = Changes()
        store.subscribe(self._changes.publish)
        self.rooms = RoomActs(resources, self.runs, self._changes, hub.tell, partial(self.show, ROOMS))
        self.chats = ChatActs(resources, self.runs, presence)
        self.files = FileChanges(resources, self.runs)

    # --- the whole engine ------------------------------------------------------------------------------

    async def start(self, *, resume: bool) -> None:
        """Close what a dead process left open; ``resume``: resume the rooms that were running then.

        Without it they stay paused, also after later starts, until they are run.
        """
        await self.asks.load()  # first: resumed rooms may use the rules
        await self.runs.recover_all()
        for row in await self._store.read(reads.conversations, ROOM):
            if row.damaged or row.desired != "running":
                continue
            if resume and not (row.archived or budget.used_up(row)):
                await self.runs.alone(row.id, self.rooms.resume(row.id))
            else:
                await self._store.append(row.id, (), [ConversationSet({"desired": "paused"})])

    async def stop_all(self, reason: str = "handover") -> None:
        """Stop all runs and wait until that is stored. A later start may resume the rooms."""
        self._changes.close()
        await self.runs.stop_all(reason)
        await self.asks.close()

    # --- conversations ---------------------------------------------------------------------------------

    @shielded
    async def create(self, kind: EngineKind[Info], new: Values) -> Info:
        """Make a conversation with these settings, and what else ``kind.new`` takes; raises ``Refused`` (422)
        for invalid values. The same ``client_key`` again is the same conversation.
        """
        row = kind.new(new, self._resources.models, self._resources.now())
        async with self.runs.lock(row.id):
            try:
                return await self.show(kind, row.id)  # made before, with the same client_key
            except NotFound:
                await self._store.append(row.id, (), [ConversationCreated(row)])
            self._note(kind, row.id)
            return await self.show(kind, row.id)

    async def list_all(self, kind: EngineKind[Info], *, archived: bool = False) -> list[Info]:
        """Return all of the kind, rooms in the order of their making, chats with the newest activity first;
        with ``archived`` also archived ones.
        """
        rows = await self._rows_with_info(kind, None)
        if kind.newest_first:
            rows = sorted(rows, key=lambda pair: pair[0].updated_at)[::-1]
        return [info for row, info in rows if archived or not row.archived]

    async def show(self, kind: EngineKind[Info], id_: str) -> Info:
        """Return a conversation."""
        running_ids = self.runs.ids
        row, turn_states = await self._store.read(reads.conversation_with_states, id_, kind.names)
        info = self._info(kind, row, turn_states, running_ids)
        if isinstance(info, RoomInfo | ConversationInfo):  # it is always one
            return replace(info, unpriced=await budget.unpriced_models(row, self._resources.models))
        return info

    def default_provider(self) -> str:
        """Return the provider of conversations that name none; raises ``ModelError`` while it is unknown."""
        return self._resources.models.default_provider()

    @shielded
    async def change(self, kind: EngineKind[Info], id_: str, change: Values) -> Info:
        """Change settings, also while it is running: changes of agents count from the next turn or question
        on, the mode of a room from the next round.

        Raises ``Refused``: 422 for invalid values, 409 for what cannot be changed while an agent is speaking;
        ``NotFound`` for an unknown ``head``, the message whose branch is to be shown.
        """
        async with self.runs.lock(id_):
            run = self.runs.of(id_)
            async with run.hold() if run is not None else nullcontext():
                row = await self._store.read(reads.conversation, id_, kind.names)
                if run is not None and row.status == "running" and needs_idle(kind.settings, change):
                    raise kind.busy()
                if (head := change.get("head")) is not None:
                    change = {**change, "head": await self._leaf(id_, head)}
                written = kind.changed(row, change, self._resources.models, self._resources.now())
                if written:
                    await self._resources.write(id_, written)
                if written and run is not None:
                    run.changed(await self._store.read(reads.conversation, id_))
            self.runs.look(id_)
            self._note(kind, id_)
            return await self.show(kind, id_)

    @shielded
    async def delete(self, kind: EngineKind[Info], id_: str) -> Info:
        """Stop the run, end the readers, delete the conversation; return its last state."""
        async with self.runs.lock(id_):
            row = await self.runs.delete(id_, kind.names)
            self.asks.forget(id_)
            if kind.names == ROOM:
                self._changes.remove(id_)
            return kind.info(row, {}, running=False, asks=False)

    @shielded
    async def pause(self, kind: EngineKind[Info], id_: str, reason: str = "") -> Info:
        """Ask a running room to pause, an answer to stop; returns when that is stored, the rest follows by
        itself.
        """
        await self.runs.interrupt(id_, reason or kind.interrupt, kind.names)
        return await self.show(kind, id_)

    async def messages(
        self, kind: EngineKind[Info], id_: str, after: str | None, limit: int | None
    ) -> MessagesPage:
        """Return at most ``limit`` messages (and never more than 1,000) that follow the message ``after``; of
        a chat those of the shown branch.

        Growing ones are included, as far as they have come. Raises ``NotFound`` for an unknown ``after``.
        """
        limit = max(1, min(limit or MAX_PAGE_MESSAGES, MAX_PAGE_MESSAGES))
        page = await self._store.read(reads.page, id_, kind.names, after, limit)
        return MessagesPage(page.messages, page.messages[-1].id if page.more else None, page.as_of)

    async def search(self, words: str, limit: int = 50, kinds: Collection[str] = KINDS) -> list[FoundMessage]:
        """Return the newest messages of all conversations of these kinds that contain all of ``words``."""
        return await self._store.read(reads.search, words, max(1, min(limit, MAX_HITS)), kinds)

    # --- what changes in the list of rooms -------------------------------------------------------------

    @property
    def cursor(self) -> str:
        """The cursor for ``changes`` that means "from now on"."""
        return self._changes.cursor

    async def changes(self, cursor: str, seconds: float) -> RoomNews:
        """Return the rooms that changed since ``cursor``, waiting for it at most this long.

        For a cursor of another process, returns everything at once, archived rooms included.
        """
        news = await self._changes.wait(cursor, seconds)
        rooms = await self._rows_with_info(ROOMS, None if news.is_all else news.changed)
        return RoomNews([info for _, info in rooms], news.removed, news.cursor, news.is_all)

    # --- tools -----------------------------------------------------------------------------------------

    @shielded
    async def answer(
        self, kind: EngineKind[Info], id_: str, message_id: str, step_id: str, answer: AskDecision
    ) -> None:
        """Take a person's decision about a call that asks.

        Raises ``Refused``: 422 for an invalid one, 409 if it no longer asks; ``NotFound``.
        """
        await self.asks.answer((id_, message_id, step_id), answer, kind.names)

    @shielded
    async def drop_rule(self, rule_id: str) -> None:
        """Remove a rule; raises ``NotFound``."""
        await self.asks.drop_rule(rule_id)

    async def _leaf(self, id_: str, head: str) -> str:
        links = await self._store.read(reads.links, id_)
        if head not in links:
            raise NotFound(f"There is no message {head[:100]}", status=404)
        return reads.leaf(links, head)

    def _note(self, kind: EngineKind[Info], id_: str) -> None:
        if kind.names == ROOM:
            self._changes.note(id_)
            self._hub.tell(id_)

    # --- as callers see them ---------------------------------------------------------------------------

    async def _rows_with_info(
        self, kind: EngineKind[Info], ids: Collection[str] | None
    ) -> list[tuple[ConversationRow, Info]]:
        running_ids = self.runs.ids
        rows, turn_states = await self._store.read(reads.conversations_with_states, kind.names, ids)
        return [(row, self._info(kind, row, turn_states, running_ids)) for row in rows]

    def _info(
        self,
        kind: EngineKind[Info],
        row: ConversationRow,
        turn_states: Mapping[str, str],
        running_ids: Collection[str],
    ) -> Info:
        """``running_ids``: what was running before ``row`` was read; its run may have ended since."""
        running = row.status == "running" and (row.id in running_ids or self.runs.of(row.id) is not None)
        return kind.info(row, turn_states, running=running, asks=running and self.asks.waits_in(row.id))
