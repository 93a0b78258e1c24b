"""What people do with a chat: ask, retry or continue an answer, store what was said by voice.

Everything is stored before it is acknowledged.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from uuid import uuid4

from agent_tui.backend.engine.chats.begin import ChatStart, begin, begin_summary, recorded_message
from agent_tui.backend.engine.chats.fields import (
    QuestionFields,
    RecordedSpeech,
    checked_keep,
    checked_question,
    checked_recorded,
    id_of,
)
from agent_tui.backend.engine.chats.record import answer_begun, message_spoken
from agent_tui.backend.engine.context.compacting import can_summarise
from agent_tui.backend.engine.context.history import Brief, chat_brief, compacting_brief
from agent_tui.backend.engine.kinds import ANSWER_RUNNING, answering
from agent_tui.backend.engine.resources import Resources
from agent_tui.backend.engine.runner import Runner
from agent_tui.backend.engine.runs import Runs, shielded
from agent_tui.backend.engine.unwatched import OpenPrograms
from agent_tui.backend.store import reads
from agent_tui.backend.store.messages import user_message
from agent_tui.backend.store.rows import CHATS, VOICE, ConversationRow
from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.chains import join_chains
from agent_tui.model.errors import NotFound, Refused

__all__ = ["ANSWER_RUNNING", "AnswerStart", "ChatActs", "QuestionFields", "RecordedSpeech"]

CANNOT_SUMMARISE = "conversation.cannot_summarise"  # code of a refusal


@dataclass(frozen=True, slots=True)
class AnswerStart:
    """The answer that began; its events are those ``after`` this seq."""

    message_id: str
    after: int


class ChatActs:
    """The part of the engine that only chats have. Raises ``NotFound`` and ``StoreError`` as it does."""

    def __init__(self, resources: Resources, runs: Runs, presence: OpenPrograms) -> None:
        self._resources = resources
        self._store = resources.store
        self.runs = runs
        self._presence = presence

    @shielded
    async def ask(self, chat_id: str, question: QuestionFields) -> AnswerStart:
        """Store a question and begin its answer; a known ``client_key`` only returns that answer.

        Raises ``Refused``: 422 for invalid values, 409 while an answer is being given, in an archived chat or
        one whose budget is used up; ``NotFound`` for unknown messages.
        """
        question = checked_question(question)
        async with self.runs.lock(chat_id):
            row = await self.runs.settle(chat_id, CHATS)
            if row.kind == VOICE and question.tools is None:  # a guest may not keep what costs money running
                self._presence.press()
            earlier = await self._store.read(reads.earlier_question, chat_id, question.client_key)
            if earlier is not None:
                return AnswerStart(*earlier)
            if row.status == "running":
                raise answering()
            self.runs.check_start(row)
            links = await self._store.read(reads.links, chat_id)
            if question.continues:
                question = replace(question, continues=await self._to_continue(chat_id, question.continues))
            answer_id = question.answer_id or uuid4().hex
            start = begin(row, links, question, uuid4().hex, answer_id, self._resources.now())
            return await self._begin(start, question)

    @shielded
    async def compact(self, chat_id: str, keep: str = "") -> AnswerStart:
        """Begin a turn that summarises what was said so far; models get the summary instead from then on.
        ``keep`` says what the summary should keep.

        Raises ``Refused``: 422 for a ``keep`` that is too long, 409 if there is nothing to summarise, or the
        model cannot do it, and as ``ask`` does.
        """
        keep = checked_keep(keep)
        async with self.runs.lock(chat_id):
            row = await self.runs.settle(chat_id, CHATS)
            if row.status == "running":
                raise answering()
            self.runs.check_start(row)
            if not can_summarise(self._resources.models.terms(row.agent.provider_id, row.agent.model)):
                raise _cannot_summarise(row)
            brief = compacting_brief(
                row, await self._store.read(reads.messages_for_model, row, row.head), keep
            )
            if brief.past is None or not brief.past.is_enough:
                raise Refused("There is nothing new to summarise", "Ask something first.", status=409)
            links = await self._store.read(reads.links, chat_id)
            return await self._answer(begin_summary(row, links, uuid4().hex, self._resources.now()), brief)

    @shielded
    async def record(self, chat_id: str, recorded: RecordedSpeech) -> str:
        """Store what was said in a voice session; return the id of its message.

        Raises ``Refused``: 422 for invalid values, 409 for a whole message while an answer of ours is being
        given; ``NotFound`` for an unknown message.
        """
        recorded = checked_recorded(recorded)
        async with self.runs.lock(chat_id):
            row = await self.runs.settle(chat_id, CHATS)
            links = await self._store.read(reads.links, chat_id)
            message_id = recorded.message_id or id_of(chat_id, recorded.client_key)
            if recorded.role == "user":
                self._presence.press()
            if recorded.message_id:
                if message_id not in links:
                    raise NotFound(f"There is no message {message_id[:100]} in this conversation", status=404)
                written = message_spoken(message_id, recorded.spoken)
            elif message_id in links:
                return message_id
            elif row.status == "running":
                raise answering()
            else:
                written = recorded_message(row, recorded, message_id, self._resources.now())
            await self._resources.write(chat_id, written)
            return message_id

    @shielded
    async def stop_answer(self, message_id: str) -> bool:
        """Ask this answer to stop; return whether it was being given."""
        if chat_id := self.runs.conversation_saying(message_id, CHATS):
            await self.runs.interrupt(chat_id, "stop", CHATS, message_id)
        return bool(chat_id)

    async def wait_for_answer(self, chat_id: str) -> None:
        """Wait for the end of the current answer, if there is one."""
        if (run := self.runs.of(chat_id)) is not None and run.row.kind in CHATS:
            await run.wait_until_ended()

    async def first_event(self, chat_id: str, message_id: str) -> int | None:
        """Return the seq of this answer's beginning, ``None`` if the chat has no such answer."""
        return await self._store.read(reads.first_event, chat_id, message_id)

    @contextmanager
    def attend(self, chat_id: str) -> Iterator[None]:
        """Count a reader of the chat who can answer what tools ask, while the context is open. MCP servers
        start then, before the first question needs them.
        """
        self._resources.tools.begin()
        with self._resources.asks.attend(chat_id):
            yield

    # --- one at a time for each chat -------------------------------------------------------------------

    async def _to_continue(self, chat_id: str, message_id: str) -> str:
        """Return the message that an answer follows: this one, or the last before it with any words. Raises
        ``Refused`` (409) if there is nothing to continue, ``NotFound``.
        """
        chain, is_open = await self._store.read(reads.continuable, chat_id, message_id)
        if not is_open:
            raise Refused("The answer is complete", "There is nothing left to continue.", status=409)
        if not chain:
            raise Refused("Nothing was said yet", "Ask the question again.", status=409)
        return chain[-1][0].message_id

    async def _begin(self, start: ChatStart, question: QuestionFields) -> AnswerStart:
        row, continued = start.row, None
        history = await self._store.read(reads.messages_for_model, row, start.follows)
        if start.question is not None:
            history.append(user_message(row.id, start.question, kind=row.kind))
        elif question.continues:
            history = join_chains(history)
            continued = history.pop()
        return await self._answer(start, chat_brief(row, history, question, continued))

    async def _answer(self, start: ChatStart, brief: Brief) -> AnswerStart:
        row = start.row

        async def answer(run: Runner) -> int:
            attempt = run.attempt(start.turn, brief)
            return await run.answer(attempt, answer_begun(row, start.question, attempt.turn))

        first = await self.runs.start(row, answer)
        return AnswerStart(start.turn.message_id, first - 1)


def _cannot_summarise(row: ConversationRow) -> Refused:
    is_demo = row.agent.provider_id == DEMO_PROVIDER
    title = "The demo model cannot summarise" if is_demo else "This agent cannot summarise"
    detail = "Choose another model. What was said stays as it is."
    return Refused(title, detail, status=409, code=CANNOT_SUMMARISE)
