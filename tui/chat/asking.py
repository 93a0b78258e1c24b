"""Asking in a chat: sending questions, the queue, editing, and the end of an answer."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentBusy, AgentTuiError, Refused, StreamLost, TimedOut
from agent_tui.model.records import Question
from agent_tui.state.turn import Turn
from tui.chat import texts
from tui.chat.drafts import MAX_QUEUED, Waiting, new_key, next_in
from tui.chat.files import Unfit, with_named
from tui.chat.open_chat import OpenChat
from tui.live.key_hints import key_of
from tui.screens.localised import localised
from tui.screens.words import say

BEGINNING: Final = ""  # the parent of a first question


class Asking:
    """Sends questions, one at a time; what is asked meanwhile waits in the composer."""

    def __init__(self, chat: OpenChat) -> None:
        self.is_stopping = False
        self._chat = chat
        self._state = chat.state
        self._composer = chat.composer
        self._unsent: Question | None = None  # it could not be sent
        self._sending: Question | None = None  # being sent
        self._is_next_due = False  # an answer ended while a question was being sent
        self._is_awaiting = False  # it was taken, but there was no event of its answer yet
        self._has_log = True  # as far as known; else an answer is shown only while it is given
        self._editing = ""  # id of the question that is being edited

    @property
    def is_sending(self) -> bool:
        """Whether a question is being sent, or its answer has not begun yet."""
        return self._sending is not None or self._is_awaiting

    @property
    def is_busy(self) -> bool:
        """Whether a question is being sent or answered."""
        return self.is_sending or self._state.open_turn is not None

    @property
    def unfinished(self) -> str:
        """The id of the last answer, if it was cut off after its first words and can go on; else ""."""
        last = self._state.last_turn
        if last is None or last.is_local or last.status not in ("cut", "failed"):
            return ""
        return last.part_id if last.steps.all else ""

    # --- asking ----------------------------------------------------------------------------------------

    def submit(self, text: str) -> None:
        """Ask what was written; while an answer is being given it waits. What is on hold stays there."""
        composer = self._composer
        if not text.strip() and not composer.attachments:
            if composer.queue:
                composer.hold(False)
                self._chat.host.show_soon()
            self._send_next()
            return
        if self._state.conversation.archived:
            composer.tell(say("chat.is_archived"))
            return
        if composer.is_editing and self.is_busy:
            composer.tell(say("chat.not_now"))
            return
        try:
            attached = with_named(text, list(composer.attachments), composer.files)
        except Unfit as error:
            composer.tell(localised(error))
            return
        if self.is_busy or (next_in(composer.queue) is not None and not composer.is_editing):
            self._let_wait(text, tuple(attached))
            return
        edited = self._state.turns.get(self._editing) if composer.is_editing else None
        parent = None if edited is None else edited.parent_id or BEGINNING
        self._send(Question(text, tuple(attached), parent_id=parent))

    def _let_wait(self, text: str, attachments: tuple[ev.Attachment, ...]) -> None:
        """Put a question in the queue, unless it is being sent already."""
        composer = self._composer
        if self._sending is not None and self._unsent is not None and self._unsent.content == text:
            return  # enter was pressed twice
        if len(composer.queue) >= MAX_QUEUED:
            composer.tell(say("chat.queue.full", most=MAX_QUEUED))
            return
        composer.set_queue((*composer.queue, Waiting(text, attachments)))
        composer.sent(text)
        self._chat.host.show_soon()
        if not self.is_busy:
            self._send_next()

    def _send_next(self) -> None:
        """Ask the oldest waiting question that is not on hold; later if a question is being sent."""
        composer = self._composer
        self._is_next_due = self._sending is not None
        first = next_in(composer.queue)
        if first is None or self.is_busy or self._state.conversation.archived:
            return
        composer.set_queue(tuple(waits for waits in composer.queue if waits is not first))
        self._send(Question(first.text, first.attachments, client_key=first.key), is_queued=True)

    def _send(self, question: Question, *, is_queued: bool = False) -> None:
        """Send it; one from the queue goes back there if that fails, and is not in the line."""
        if not question.client_key:
            unsent = self._unsent
            is_known = unsent is not None and replace(unsent, client_key="") == question
            question = unsent if unsent is not None and is_known else replace(question, client_key=new_key())
        self._unsent = question
        self._sending = question  # before the worker begins: more may be submitted until then
        self._chat.transcript.follow = True
        self._chat.host.run("say", self._ask_now(question, is_queued))
        self._chat.host.show_soon()

    async def _ask_now(self, question: Question, is_queued: bool) -> None:
        try:
            await self._give(question, is_queued)
        except AgentBusy as error:
            self._busy(question, is_queued)
            if self._chat.link.is_agent:  # nothing will tell when it is free
                self._composer.hold()
                self._composer.tell(say("chat.agent.busy", reason=localised(error)))
        except AgentTuiError as error:
            is_deleted = not self._chat.link.is_agent and await self._chat.is_deleted(error)
            self._on_failed(question, is_queued, error)
            if is_deleted:
                self._chat.tell_deleted()
        finally:
            self._on_arrived(question)
        if self._is_next_due:  # it came before this question was known to be taken, or to have to wait
            self._send_next()
        self._chat.host.show_soon()

    def _on_arrived(self, question: Question) -> None:
        if self._sending is question:  # the next one may be being sent already
            self._sending = None

    async def _give(self, question: Question, is_queued: bool) -> None:
        chat = self._chat
        await chat.store()
        if self._has_log:  # not the link: after its last event an answer's own is live until it is closed
            self._is_awaiting = True
            await chat.link.begin(chat.id, question)
            self._on_taken(question, is_queued)
            return
        answer = await chat.link.ask(chat.id, question)
        is_taken = False
        try:
            async for event in answer:
                if not is_taken and not isinstance(event, ev.LinkChanged):
                    is_taken = True
                    self._on_arrived(question)
                    self._on_taken(question, is_queued)
                await chat.take(event)
        except (StreamLost, TimedOut):
            if not is_taken:
                raise
        finally:
            await answer.aclose()
            await chat.take(ev.LinkChanged("ended"))

    def _on_taken(self, question: Question, is_queued: bool) -> None:
        """The server took the question."""
        self._unsent = None
        if self._chat.link.is_agent:
            self._chat.following.failure = None
        if self._composer.is_editing:
            self._editing = ""
        if not is_queued and not question.is_anew:
            self._composer.sent(question.content)

    def _busy(self, question: Question, is_queued: bool) -> None:
        """Another client asked first: the question waits."""
        self._is_awaiting = False
        self._unsent = None
        if question.is_anew or question.parent_id is not None:
            self._composer.tell(say("chat.not_now"))
            return
        self._wait_first(question)
        if not is_queued:
            self._composer.sent(question.content)

    def _wait_first(self, question: Question) -> None:
        waits = Waiting(question.content, tuple(question.attachments), question.client_key)
        self._composer.set_queue((waits, *self._composer.queue))

    def _on_failed(self, question: Question, is_queued: bool, error: AgentTuiError) -> None:
        """The question could not be sent: it is kept, and will be sent as the same question."""
        self._is_awaiting = False
        if is_queued:
            self._wait_first(question)
        self._composer.hold()
        failed = "composer.failed"
        if self._chat.link.is_agent:  # nothing else reports it
            failed, self._chat.following.failure = "chat.agent.failed", error
        over = texts.over_budget(self._state, key_of(self._composer.screen, "chat.settings"))
        is_over = over and isinstance(error, Refused)
        self._composer.tell(over if is_over else say(failed, reason=localised(error)))

    def note(self, event: ev.Event) -> None:
        """Watch the end of answers: after a complete one the next question is asked."""
        match event:
            case ev.LinkChanged("ended"):
                self._has_log = False
            case ev.TurnStarted():
                self._is_awaiting = False
            case ev.ConversationLoaded() | ev.TurnDone() | ev.RunFailed():
                was_stopping = self.is_stopping
                self._is_awaiting = self.is_stopping = False
                if self._state.open_turn is None:  # an answer may have ended while there was no connection
                    self._answer_ended(was_stopping)
            case _:
                pass

    def _answer_ended(self, was_stopping: bool) -> None:
        """Ask the next question; hold what waits if the answer broke off, but not because it was stopped."""
        last = self._state.last_turn
        if self._composer.queue and not was_stopping and (last is None or last.status != "said"):
            self._composer.hold()
        self._send_next()

    # --- asking another way, and again -------------------------------------------------------------------

    def edit(self, question: Turn) -> None:
        """Edit the question; the old one stays as another version."""
        self._editing = question.id
        self._composer.edit(question.text, question.attachments)

    def end_editing(self) -> None:
        """Restore the draft instead of the question that was being edited."""
        self._editing = ""
        self._composer.end_editing()
        self._chat.host.show_soon()

    def again(self, question: Turn) -> None:
        """Retry the answer; the old one stays as a version. An agent has no versions: it is asked again."""
        if self._chat.link.is_agent:
            self._send(Question(question.text, question.attachments))
        else:
            self._send(Question("", again=question.id))

    def go_on(self) -> None:
        """Continue the last answer, which was interrupted: there, or from its beginning (``on_resume``)."""
        asked = next((turn for turn in reversed(self._state.turns.values()) if turn.role == "user"), None)
        if self._state.conversation.on_resume == "again" and asked is not None and not asked.is_local:
            self._send(Question("", again=asked.id))
        else:
            self._send(Question("", continues=self.unfinished))

    # --- stopping --------------------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop the current answer; the queue is sent only when the person says so."""
        if self._composer.queue:
            self._composer.hold()
        if not self.is_stopping:
            self.is_stopping = True
            self._chat.host.run("act", self._stop_now())
            self._chat.host.show_soon()

    async def _stop_now(self) -> None:
        if not await self._chat.changed_by(self._stop_answer()):
            self.is_stopping = False
            self._chat.host.show_soon()

    async def _stop_answer(self) -> ev.ConversationInfo:
        client = await self._chat.client()
        return await client.stop(self._chat.id)
