"""What a person does in a chat: asks, asks another way or again, stops, and lets questions wait."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import work
from textual.binding import Binding, BindingType

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentBusy, AgentTuiError, StreamLost, TimedOut
from agent_tui.state.turn import Turn
from tui.chat_drafts import MAX_QUEUED, Waiting, new_key
from tui.chat_files import Unfit, with_named
from tui.first_chat import NewChat
from tui.link import ChatLink
from tui.screens.asking import Asking
from tui.screens.chat_composer import ChatComposer
from tui.screens.chat_feed import ChatFeed, key_of
from tui.screens.chat_pager import PagerScreen
from tui.screens.chat_queue import ChatQueueScreen
from tui.screens.live_texts import Spot
from tui.screens.words import say
from widgets.composer import Composer
from widgets.terminal.frame_clock import FrameClock
from widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from agent_tui.clients.chat import Question

BEGINNING: Final = ""  # the parent of a first question
NO_LOG: Final = ("ended", "lost")  # links to servers that show an answer only while it is given


@dataclass(frozen=True, slots=True)
class Sending:
    """One question on its way; ``key`` makes it one, however often it is sent."""

    text: str
    attachments: tuple[ev.Attachment, ...] = ()
    parent_id: str | None = None  # None: it follows the newest message
    again: str = ""  # id of the question that is answered once more
    continues: str = ""  # id of the answer that is to be finished
    key: str = ""
    is_queued: bool = False  # it waited

    def is_like(self, other: Sending) -> bool:
        """Whether both say the same."""
        mine = self.text, self.attachments, self.parent_id, self.again, self.continues
        return mine == (other.text, other.attachments, other.parent_id, other.again, other.continues)

    @property
    def is_anew(self) -> bool:
        """Whether no new words are asked."""
        return bool(self.again or self.continues)


class ChatActs(Asking):
    """The part of a chat screen that asks and changes what is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i", "compose", "Write a question", id="chat.say"),
        Binding("e", "edit", "Ask the question another way", id="chat.edit"),
        Binding("r", "again", "Retry the answer", id="chat.again"),
        Binding("f7", "again", "Retry the answer", id="chat.again.anywhere", priority=True),
        Binding("c", "go_on", "Continue the answer that was cut off", id="chat.continue"),
        Binding(
            "f8", "go_on", "Continue the answer that was cut off", id="chat.continue.anywhere", priority=True
        ),
        Binding("left_square_bracket", "version(-1)", "The version before", id="chat.version.previous"),
        Binding("right_square_bracket", "version(1)", "The next version", id="chat.version.next"),
        Binding("o", "open_step", "See all of a step", id="chat.open_step"),
        Binding("u", "queue", "Questions that wait", id="chat.queue"),
    ]
    _composer: ChatComposer
    _feed: ChatFeed
    _link: ChatLink
    _transcript: Transcript

    def __init__(self, clock: FrameClock, *, ascii_only: bool) -> None:
        super().__init__(clock, ascii_only=ascii_only)
        self._new: NewChat | None = None  # until the chat is stored
        self._is_linked = asyncio.Event()  # whether following has got further than connecting
        self._unsent: Sending | None = None  # it could not be sent
        self._sending: Sending | None = None  # on its way now
        self._is_next_due = False  # an answer ended while a question was on its way
        self._is_awaiting = False  # it was taken, and nothing was heard of its answer yet
        self._is_stopping = False
        self._editing = ""  # id of the question that is asked another way
        self._go_to = ""  # id of the message to show once the chat is loaded again

    # --- tools that ask --------------------------------------------------------------------------------

    def place_of(self, spot: Spot) -> tuple[Transcript, str]:
        return self._transcript, key_of(*spot)

    def go_to_ask(self, spot: Spot) -> None:
        pass  # there is one transcript, and it is shown

    def focus_words(self) -> None:
        self.set_focus(self._transcript, scroll_visible=False)

    # --- what can be done ------------------------------------------------------------------------------

    def show_message(self, message_id: str) -> None:
        """Go to a message once the chat is loaded; "" stays at its end."""
        self._go_to = message_id

    @property
    def is_busy(self) -> bool:
        """Whether a question is on its way or being answered."""
        return self._sending is not None or self._is_awaiting or self.state.open_turn is not None

    @property
    def reader_turn(self) -> Turn | None:
        """The message that the reader is at."""
        turn_id, _ = self._feed.spot(self._transcript.reader.current_message)
        return self.state.turns.get(turn_id)

    @property
    def reader_question(self) -> Turn | None:
        """The question that the reader is at, or whose answer."""
        found = None
        here = self.reader_turn
        for turn in self.state.turns.values():
            if turn.role == "user":
                found = turn
            if turn is here:
                break
        return found

    @property
    def unfinished(self) -> str:
        """Id of the last answer, if it was cut off after it said something and can be continued; else ""."""
        last = self.state.last_turn
        if last is None or last.is_local or last.status not in ("cut", "failed"):
            return ""
        return last.part_id if last.steps.all else ""

    def why_not(self, act: str) -> str:
        """Return why an act (edit, again, continue, version, …) cannot be done now; ``""`` if it can."""
        if not self.state.loaded:
            return say("help.why.not_loaded")
        if act == "settings":
            return say("chat.agent.settings") if self._link.is_agent else ""
        if act == "queue":
            return "" if self._composer.queue else say("chat.queue.none")
        if act == "open_step":
            return "" if self._reader_whole() is not None else say("chat.no_step")
        if act == "version" and not self._versions()[0]:
            return say("chat.no_version")
        if act in ("edit", "again"):
            question = self.reader_question
            is_asked_anew = act == "again" and self._link.is_agent
            if question is None or (question.is_local and not is_asked_anew):
                return say("chat.no_question" if question is None else "chat.no_versions_here")
        if act == "continue" and not self.unfinished:
            return say("help.why.nothing_to_continue")
        if self.state.conversation.archived:
            return say("chat.is_archived")
        return say("chat.not_now") if self.is_busy else ""

    def _may(self, act: str) -> bool:
        reason = self.why_not(act)
        if reason:
            self.notify(reason, markup=False)
        return not reason

    # --- asking ----------------------------------------------------------------------------------------

    def action_compose(self) -> None:
        """Write a question."""
        self._composer.open()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Do the command that was written, or ask what was written; while an answer is under way it waits."""
        event.stop()
        text = event.text
        if self._do_command(text):
            return
        if not text.strip() and not self._composer.attachments:
            self._send_next(is_asked_for=True)
            return
        if self.state.conversation.archived:
            self._composer.tell(say("chat.is_archived"))
            return
        if self._composer.is_editing and self.is_busy:
            self._composer.tell(say("chat.not_now"))
            return
        try:
            attached = with_named(text, list(self._composer.attachments), self._composer.files)
        except Unfit as error:
            self._composer.tell(str(error))
            return
        if self.is_busy or (self._composer.queue and not self._composer.is_editing):
            self._let_wait(text, tuple(attached))
            return
        edited = self.state.turns.get(self._editing) if self._composer.is_editing else None
        parent = None if edited is None else edited.parent_id or BEGINNING
        self._send(Sending(text, tuple(attached), parent))

    def _do_command(self, text: str) -> bool:
        """Do what a command says; return whether the text is one."""
        return False

    def _let_wait(self, text: str, attachments: tuple[ev.Attachment, ...]) -> None:
        """Put a question in the queue; what is on its way already is not asked twice."""
        if self._sending is not None and self._unsent is not None and self._unsent.text == text:
            return  # enter was pressed twice
        if len(self._composer.queue) >= MAX_QUEUED:
            self._composer.tell(say("chat.queue.full", most=MAX_QUEUED))
            return
        self._composer.set_queue((*self._composer.queue, Waiting(text, attachments)))
        self._composer.sent(text)
        self._show_soon()
        if not self.is_busy and not self._composer.is_held:
            self._send_next()

    def _send_next(self, *, is_asked_for: bool = False) -> None:
        """Ask what waits longest, unless the person stopped that; later while a question is on its way."""
        composer = self._composer
        self._is_next_due = self._sending is not None
        if not composer.queue or self.is_busy or self.state.conversation.archived:
            return
        if composer.is_held and not is_asked_for:
            return
        first, *rest = composer.queue
        composer.set_queue(tuple(rest), is_held=False)
        self._send(Sending(first.text, first.attachments, key=first.key, is_queued=True))

    def _send(self, sending: Sending) -> None:
        if not sending.key:
            known = self._unsent
            key = known.key if known is not None and known.is_like(sending) else new_key()
            sending = replace(sending, key=key)
        self._unsent = sending
        self._sending = sending  # before the worker begins: more may be submitted until then
        self._transcript.follow = True
        self._ask_now(sending)
        self._show_soon()

    @work(group="say")
    async def _ask_now(self, sending: Sending) -> None:
        try:
            await self._give(sending)
        except AgentBusy as error:
            self._busy(sending)
            if self._link.is_agent:  # nobody tells when it is free
                self._composer.set_queue(self._composer.queue, is_held=True)
                self._composer.tell(say("chat.agent.busy", reason=str(error)))
        except AgentTuiError as error:
            self._failed(sending, error)
        finally:
            self._arrived(sending)
        if self._is_next_due:  # told before this question was known to be taken, or to have to wait
            self._send_next()
        self._show_soon()

    def _arrived(self, sending: Sending) -> None:
        if self._sending is sending:  # the next one may be on its way already
            self._sending = None

    async def _give(self, sending: Sending) -> None:
        question = await self._question(sending)
        if self._new is not None:
            await self._store(self._new)
        if self.state.link.status not in NO_LOG:
            self._is_awaiting = True
            await self._link.begin(self.state.conversation.id, question)
            self._taken(sending)
            return
        answer = await self._link.ask(self.state.conversation.id, question)
        is_taken = False
        try:
            async for event in answer:
                if not is_taken and not isinstance(event, ev.LinkChanged):
                    is_taken = True
                    self._arrived(sending)
                    self._taken(sending)
                await self._apply(event)
        except (StreamLost, TimedOut):
            if not is_taken:
                raise
        finally:
            await answer.aclose()
            await self._apply(ev.LinkChanged("ended"))

    async def _store(self, new: NewChat) -> None:
        """Have the chat stored, and follow it from now on."""
        stored = await new.store()
        self._new = None
        self._composer.belongs_to(stored.id)
        await self._apply(ev.ConversationChanged(stored))
        self._is_linked.clear()
        self._begin_to_follow()
        await self._is_linked.wait()

    async def _question(self, sending: Sending) -> Question:
        from agent_tui.clients.chat import Question  # lazy: httpx, which was loaded with the client

        return Question(
            sending.text,
            sending.attachments,
            parent_id=sending.parent_id,
            again=sending.again,
            continues=sending.continues,
            client_key=sending.key,
        )

    def _taken(self, sending: Sending) -> None:
        """The server has the question."""
        self._unsent = None
        if self._link.is_agent:
            self.failure = None
        self._editing = "" if self._composer.is_editing else self._editing
        if not sending.is_queued and not sending.is_anew:
            self._composer.sent(sending.text)

    def _busy(self, sending: Sending) -> None:
        """Somebody else asked: it waits."""
        self._is_awaiting = False
        self._unsent = None
        if sending.is_anew or sending.parent_id is not None:
            self._composer.tell(say("chat.not_now"))
            return
        waits = Waiting(sending.text, sending.attachments, sending.key)
        self._composer.set_queue((waits, *self._composer.queue))
        if not sending.is_queued:
            self._composer.sent(sending.text)

    def _failed(self, sending: Sending, error: AgentTuiError) -> None:
        """It could not be sent: it is kept, and goes again as the same question."""
        self._is_awaiting = False
        if sending.is_queued:
            waits = Waiting(sending.text, sending.attachments, sending.key)
            self._composer.set_queue((waits, *self._composer.queue))
        self._composer.set_queue(self._composer.queue, is_held=True)
        failed = "composer.failed"
        if self._link.is_agent:  # it is not heard of otherwise
            failed, self.failure = "chat.agent.failed", error
        self._composer.tell(say(failed, reason=str(error)))

    def _note_answer(self, event: ev.Event) -> None:
        """Follow what becomes of answers: after a whole one the next question is asked."""
        match event:
            case ev.TurnStarted():
                self._is_awaiting = False
            case ev.ConversationLoaded():
                self._is_awaiting = self._is_stopping = False
                if self.state.open_turn is None:  # an answer may have ended while nothing was heard
                    self._answer_ended()
            case ev.TurnDone() | ev.RunFailed():
                self._is_awaiting = self._is_stopping = False
                self._answer_ended()
            case ev.LinkChanged(status) if status != "connecting":
                self._is_linked.set()
            case _:
                pass

    def _answer_ended(self) -> None:
        """Ask what waits; when the answer is not whole, only once the person says so."""
        last = self.state.last_turn
        if self._composer.queue and (last is None or last.status != "said"):
            self._composer.set_queue(self._composer.queue, is_held=True)
        self._send_next()

    # --- asking another way, and again -------------------------------------------------------------------

    def action_edit(self) -> None:
        """Let the question be changed; the old one stays as another version."""
        question = self.reader_question
        if self._may("edit") and question is not None:
            self._editing = question.id
            self._composer.edit(question.text, question.attachments)

    def action_again(self) -> None:
        """Have the question answered once more; the old answer stays as another version. An agent has no
        versions: it is asked anew.
        """
        question = self.reader_question
        if not self._may("again") or question is None:
            return
        if self._link.is_agent:
            self._send(Sending(question.text, question.attachments))
        else:
            self._send(Sending("", again=question.id))

    def action_go_on(self) -> None:
        """Resume the last answer, which was cut off: there, or from its beginning (``on_resume``)."""
        if not self._may("continue"):
            return
        asked = next((turn for turn in reversed(self.state.turns.values()) if turn.role == "user"), None)
        if self.state.conversation.on_resume == "again" and asked is not None and not asked.is_local:
            self._send(Sending("", again=asked.id))
        else:
            self._send(Sending("", continues=self.unfinished))

    def _versions(self) -> tuple[tuple[str, ...], str]:
        """Return the versions of the message that the reader is at, and which of them is shown; of an answer
        that has none, those of its question.
        """
        for turn in (self.reader_turn, self.reader_question):
            if turn is not None and len(turn.versions) > 1 and turn.id in turn.versions:
                return turn.versions, turn.id
        return (), ""

    def action_version(self, step: int) -> None:
        """Show another version of the message, with what followed it."""
        if not self._may("version"):
            return
        versions, shown = self._versions()
        at = versions.index(shown) + step
        if 0 <= at < len(versions):
            self._go_to = versions[at]
            self._show_version(versions[at])
        else:
            self.notify(say("chat.last_version"), markup=False)

    @work(group="act")
    async def _show_version(self, message_id: str) -> None:
        await self._changed_by(self._set(head=message_id))

    async def _set(self, **fields: Any) -> ev.ConversationInfo:
        """Change the chat and return it; one that is not stored is stored with these fields. Raises what
        ``ChatClient.change`` does.
        """
        if self._new is not None:
            return self._new.change(fields)
        client = await self._link.client()
        return await client.change(self.state.conversation.id, **fields)

    async def _changed_by(self, answer: Awaitable[ev.ConversationInfo]) -> bool:
        """Take the answer to a call into the state; say what went wrong."""
        try:
            conversation = await answer
        except AgentTuiError as error:
            self.notify(str(error), severity="error", markup=False)
            return False
        await self._apply(ev.ConversationChanged(conversation))
        return True

    # --- stopping, steps, the queue ----------------------------------------------------------------------

    def stop(self) -> None:
        """End the answer under way; what waits is asked only when the person says so."""
        if self._composer.queue:
            self._composer.set_queue(self._composer.queue, is_held=True)
        if not self._is_stopping:
            self._is_stopping = True
            self._stop_now()
            self._show_soon()

    @work(group="act")
    async def _stop_now(self) -> None:
        if not await self._changed_by(self._stopped()):
            self._is_stopping = False
            self._show_soon()

    async def _stopped(self) -> ev.ConversationInfo:
        client = await self._link.client()
        return await client.stop(self.state.conversation.id)

    def _reader_whole(self) -> tuple[str, str] | None:
        """Return title and body of the step or file that the reader is at."""
        chosen = self._feed.spot(self._transcript.reader.current_message)
        return self._feed.whole(*chosen) or self._feed.whole(
            *self._feed.spot_of(self._transcript.folds.step_at_reader())
        )

    def action_open_step(self) -> None:
        """Show all of the step that the reader is at."""
        whole = self._reader_whole()
        if whole is None:
            self.notify(say("chat.no_step"), markup=False)
        else:
            self.app.push_screen(PagerScreen(*whole, self._clock, ascii_only=self._ascii_only))

    def action_queue(self) -> None:
        """Show what waits."""
        if self._may("queue"):
            self.app.push_screen(ChatQueueScreen(self._composer, ascii_only=self._ascii_only))
