"""The engine of chats: makes, changes, answers, searches, deletes them. What it acknowledges is on record."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from uuid import uuid4

from agent_tui.backend.engine import budget
from agent_tui.backend.engine.answer import Ending
from agent_tui.backend.engine.answer_tools import ToolSource
from agent_tui.backend.engine.chat_asks import Asks, Word
from agent_tui.backend.engine.chat_begin import VOICE, Begun, begin, recorded_message
from agent_tui.backend.engine.chat_fields import (
    Asked,
    Question,
    Recorded,
    changed_row,
    changes_to,
    chat_row,
    checked_question,
    checked_recorded,
    conversation_info,
    id_of,
    with_prompt,
)
from agent_tui.backend.engine.chat_record import (
    answer_begun,
    answer_ended,
    conversation_changed,
    left_open,
    message_spoken,
)
from agent_tui.backend.engine.chat_run import ChatRun, Given, left_out, opened_model
from agent_tui.backend.engine.fields import waits
from agent_tui.backend.engine.runs import Runs
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.turn import ModelSource
from agent_tui.backend.engine.unwatched import Presence
from agent_tui.backend.hub import Hub
from agent_tui.backend.store import reads
from agent_tui.backend.store.messages import user_message
from agent_tui.backend.store.rows import (
    CHATS,
    ConversationCreated,
    ConversationRow,
    ConversationSet,
    Hit,
    ToolRule,
)
from agent_tui.backend.store.store import Store
from agent_tui.model.chains import joined
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import ConversationInfo, Step
from agent_tui.model.settings import Values
from agent_tui.wire.rooms_encode import token_count

__all__ = ["Asked", "Chats", "Question", "Recorded"]

ANSWER_RUNNING = "conversation.answering"  # code of the refusal to do two things at once
MAX_HITS = 500


class Chats(Runs[ChatRun]):
    """All chats of one store, in one event loop.

    Whatever changes a chat is done to its end even when its caller goes away, and one at a time for each
    chat. Raises ``NotFound`` for one that does not exist, ``StoreError`` when the database fails.
    """

    kinds = CHATS

    def __init__(
        self,
        store: Store,
        hub: Hub,
        models: ModelSource,
        toolbox: ToolSource,
        *,
        unwatched_seconds: float | None,
        timing: Timing | None = None,
        presence: Presence | None = None,
    ) -> None:
        """``unwatched_seconds`` and ``presence``: see ``Runs``."""
        super().__init__(store, hub, models, timing or Timing(), unwatched_seconds, presence)
        self._toolbox = toolbox
        self._asks = Asks(store, self._timing, lambda: toolbox.allow, presence)

    @property
    def asks(self) -> Asks:
        """All calls that ask and all rules, for those of rooms too."""
        return self._asks

    # --- the whole engine ------------------------------------------------------------------------------

    async def start(self) -> None:
        """Close the answers that a dead process left open. Nothing is asked or run again."""
        await self._start_over(await self._newest_first())
        await self._asks.load()

    async def stop_all(self, reason: str = "handover") -> None:
        """Cut all answers and wait until that is on record."""
        await super().stop_all(reason)
        await self._asks.close()

    # --- chats -----------------------------------------------------------------------------------------

    async def conversations(self, *, archived: bool = False) -> list[ConversationInfo]:
        """Return all chats, newest activity first, with ``archived`` those too that were put away."""
        rows = await self._newest_first()
        return [self._info(row) for row in rows if archived or not row.archived]

    async def _newest_first(self) -> list[ConversationRow]:
        rows = await self._store.read(reads.conversations, CHATS)
        return sorted(rows, key=lambda row: row.updated_at)[::-1]

    async def conversation(self, room_id: str) -> ConversationInfo:
        """Return one chat."""
        return self._info(await self._row(room_id))

    async def create(self, new: Values) -> ConversationInfo:
        """Make a chat with what ``chat_fields.chat_row`` takes; raises ``Refused`` (422) for what is out of
        bounds.
        """
        row = chat_row(new, self._models, self._timing.now().isoformat())
        return await self._whole(self._create(row))

    async def change(self, room_id: str, change: Values) -> ConversationInfo:
        """Change settings of a chat; what they say of the model counts from the next question on.

        Raises ``Refused``: 422 for what is out of bounds, 409 for what cannot be changed while an answer is
        under way; ``NotFound`` for an unknown ``head``, the message whose branch is to be shown.
        """
        return await self._whole(self._change(room_id, change))

    async def delete(self, room_id: str) -> ConversationInfo:
        """Stop the answer, end the readers, delete the chat; return it as it was last."""
        return await self._whole(self._delete(room_id))

    async def search(self, words: str, limit: int = 50, kinds: Collection[str] = CHATS) -> list[Hit]:
        """Return the newest messages of all conversations of these kinds that hold all of ``words``."""
        return await self._store.read(reads.search, words, max(1, min(limit, MAX_HITS)), kinds)

    # --- answers ---------------------------------------------------------------------------------------

    async def ask(self, room_id: str, question: Question) -> Asked:
        """Put a question on record and begin its answer; with a known ``client_key`` only find that.

        Raises ``Refused``: 422 for what is out of bounds, 409 while an answer is under way, in an archived
        chat or one whose budget is used up; ``NotFound`` for unknown messages.
        """
        return await self._whole(self._ask(room_id, checked_question(question)))

    async def record(self, room_id: str, recorded: Recorded) -> str:
        """Put on record what was said in a voice session; return the id of its message.

        Raises ``Refused``: 422 for what is out of bounds, 409 for a whole message while an answer of ours is
        under way; ``NotFound`` for an unknown message.
        """
        return await self._whole(self._record(room_id, checked_recorded(recorded)))

    async def stop(self, room_id: str) -> ConversationInfo:
        """Ask the answer under way, if there is one, to stop; the rest follows by itself."""
        return await self._whole(self._stop(room_id))

    async def stop_answer(self, message_id: str) -> bool:
        """Ask this answer to stop; return whether it was under way."""
        running = (room_id for room_id, run in self._runs.items() if run.message_id == message_id)
        room_id = next(running, None)
        if room_id is not None:
            await self._whole(self._stop(room_id, message_id))
        return room_id is not None

    async def answered(self, room_id: str) -> None:
        """Wait for the end of the answer under way, if there is one."""
        run = self._runs.get(room_id)
        if run is not None:
            await run.ended()

    async def first_event(self, room_id: str, message_id: str) -> int | None:
        """Return the seq with which this answer began, None where the chat has no such answer."""
        return await self._store.read(reads.first_event, room_id, message_id)

    async def answer(self, room_id: str, message_id: str, step_id: str, word: Word) -> None:
        """Give a person's word on a call that asks.

        Raises ``Refused``: 422 for bad words, 409 when it does not ask any more; ``NotFound``.
        """
        await self._whole(self._asks.answer((room_id, message_id, step_id), word, CHATS))

    def attend(self, room_id: str) -> AbstractContextManager[None]:
        """Somebody reads the chat who can answer what tools ask, as long as the context is open. MCP servers
        start then, before the first question needs them.
        """
        self._toolbox.begin()
        return self._asks.attend(room_id)

    def rules(self) -> list[ToolRule]:
        """Return which calls are allowed, but for the config file's."""
        return self._asks.rules()

    async def confirm_rule(self, rule_id: str) -> None:
        """Let a suspended rule hold again; raises ``NotFound``."""
        await self._whole(self._asks.confirm_rule(rule_id))

    async def drop_rule(self, rule_id: str) -> None:
        """Take such a rule back; raises ``NotFound``."""
        await self._whole(self._asks.drop_rule(rule_id))

    # --- one at a time for each chat -------------------------------------------------------------------

    async def _create(self, row: ConversationRow) -> ConversationInfo:
        async with self._lock(row.id):
            try:
                return await self.conversation(row.id)  # made before, with the same client_key
            except NotFound:
                await self._store.append(row.id, (), [ConversationCreated(row)])
            return await self.conversation(row.id)

    async def _change(self, room_id: str, change: Values) -> ConversationInfo:
        async with self._lock(room_id):
            run = self._runs.get(room_id)
            async with run.turnstile if run is not None else nullcontext():
                before = await self._store.read(reads.conversation, room_id, CHATS)
                running = before.status == "running" and run is not None
                if running and waits(ConversationInfo, change):
                    raise _busy()
                row = changed_row(before, change, self._models)
                if (head := change.get("head")) is not None:
                    links = await self._store.read(reads.links, room_id)
                    if head not in links:
                        raise NotFound(f"There is no message {head[:100]}", status=404)
                    row = replace(row, head=reads.leaf(links, head))
                if row != before:
                    row = replace(row, updated_at=self._timing.now().isoformat())
                    event = conversation_changed(row, running=running)
                    await self._store.append(room_id, [event], changes_to(row))
                    if run is not None:
                        run.changed(row)
            return await self.conversation(room_id)

    async def _delete(self, room_id: str) -> ConversationInfo:
        async with self._lock(room_id):
            row = await self._deleted(room_id)
            self._asks.forget(room_id)
            return conversation_info(row, running=False)

    async def _ask(self, room_id: str, question: Question) -> Asked:
        async with self._lock(room_id):
            row = await self._settled(room_id)
            if row.kind == VOICE and question.tools is None:  # a guest may not keep running what costs money
                self._presence.press()
            known = await self._store.read(reads.asked, room_id, question.client_key)
            if known is not None:
                return Asked(*known)
            self._check_ask(row)
            links = await self._store.read(reads.links, room_id)
            if question.continues:
                question = replace(question, continues=await self._to_continue(room_id, question.continues))
            answer_id = question.answer_id or uuid4().hex
            begun = begin(row, links, question, uuid4().hex, answer_id, self._timing.now().isoformat())
            return await self._begin(begun, question)

    async def _record(self, room_id: str, recorded: Recorded) -> str:
        async with self._lock(room_id):
            row = await self._settled(room_id)
            links = await self._store.read(reads.links, room_id)
            message_id = recorded.message_id or id_of(room_id, recorded.client_key)
            if recorded.role == "user":
                self._presence.press()
            if recorded.message_id:
                if message_id not in links:
                    raise NotFound(f"There is no message {message_id[:100]} in this conversation", status=404)
                written = message_spoken(message_id, recorded.spoken)
            elif message_id in links:
                return message_id
            elif row.status == "running":
                raise _busy()
            else:
                now = self._timing.now().isoformat()
                written = recorded_message(row, recorded, message_id, now)
            await self._store.append(room_id, written.events, written.changes)
            return message_id

    async def _to_continue(self, room_id: str, message_id: str) -> str:
        """Return the message that an answer goes on behind: this one, or the last before it that said
        anything. Raises ``Refused`` (409) where there is nothing to continue, ``NotFound``.
        """
        chain, is_open = await self._store.read(reads.continuable, room_id, message_id)
        if not is_open:
            raise Refused("The answer is whole", "There is nothing left to continue.", status=409)
        if not chain:
            raise Refused("Nothing was said yet", "Ask the question again.", status=409)
        return chain[-1][0].message_id

    async def _begin(self, begun: Begun, question: Question) -> Asked:
        row, opened = begun.row, opened_model(self._models, begun.row)
        history = await self._store.read(reads.told, row, begun.follows)
        before: tuple[Step, ...] = ()
        if begun.said is not None:
            history.append(user_message(row.id, begun.said, kind=row.kind))
        elif question.continues:
            history = joined(history)
            before = history.pop().steps
        told = row if question.system_prompt is None else with_prompt(row, question.system_prompt)
        turn = replace(begun.turn, trimmed=left_out(self._models, told, history, opened, before))
        written = answer_begun(row, begun.said, turn)
        first = await self._store.append(row.id, written.events, written.changes)
        given = Given(
            row=told,
            turn=turn,
            history=history,
            thinking=row.thinking if question.thinking is None else question.thinking,
            tools=row.tools if question.tools is None else question.tools,
            opened=opened,
            before=before,
        )
        gate = self._asks.gate(row.id, turn.message_id, is_alone=question.is_alone)
        self._go(row.id, ChatRun(self._store, self._models, self._toolbox, gate, self._timing, given))
        return Asked(turn.message_id, first - 1)

    def _check_ask(self, row: ConversationRow) -> None:
        if row.status == "running":
            raise _busy()
        if row.archived:
            raise Refused("The conversation is archived", "Take it out of the archive first.", status=409)
        budget.check(row, "conversation")
        if self._stopping:
            raise Refused("The backend is stopping", "Ask again when it is back.", status=503)

    async def _stop(self, room_id: str, message_id: str = "") -> ConversationInfo:
        async with self._lock(room_id):
            run = self._runs.get(room_id)
            if run is not None and not run.reason and message_id in ("", run.message_id):
                # On record first: a process that dies right after this was stopped, and did not crash.
                stopped = ConversationSet({"interrupted": "stop"}, while_running=True)
                await self._store.append(room_id, (), [stopped])
                run.cut("stop")
            return await self.conversation(room_id)

    # --- what happens by itself ------------------------------------------------------------------------

    async def _recover(self, row: ConversationRow) -> None:
        found = await self._store.read(reads.open_turn, row.id)
        if found is None:
            await self._store.append(row.id, (), [ConversationSet({"status": "idle", "interrupted": ""})])
            return
        turn, known = found
        steps, written = left_open(turn, known, self._timing.now().isoformat())
        reason = row.interrupted or "crash"
        said = (step.content + step.arguments for step in steps.in_order if step.type != "tool_result")
        tokens = token_count("".join(said))
        ending = Ending(steps.in_order, "", reason, tokens, None, None, None, None)
        written.add(answer_ended(row, turn, ending))
        await self._store.append(row.id, written.events, written.changes)

    def _cut_unwatched(self, room_id: str) -> None:
        if room_id in self._runs:
            self._runs[room_id].cut("unwatched")

    def _info(self, row: ConversationRow) -> ConversationInfo:
        running = row.status == "running" and row.id in self._runs
        return conversation_info(row, running=running, asks=running and self._asks.waits_in(row.id))


def _busy() -> Refused:
    detail = "Wait for its end, or stop it first."
    return Refused("An answer is under way in this conversation", detail, status=409, code=ANSWER_RUNNING)
