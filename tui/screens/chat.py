"""A chat, live: one transcript with every step of every answer, and a line to ask in."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.widget import Widget
from textual.widgets import Static

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from tui.chat_files import Files
from tui.first_chat import NEW, NewChat
from tui.link import ChatLink
from tui.screens import chat_texts as texts
from tui.screens.chat_command_acts import ChatCommands
from tui.screens.chat_composer import ChatComposer
from tui.screens.chat_feed import ChatFeed
from tui.screens.find_bar import FindBar, OneTranscript
from tui.screens.form_fields import own
from tui.screens.live_texts import Hint, connected, oddities
from tui.screens.words import say
from widgets.status_line import Part
from widgets.terminal.frame_clock import FrameClock
from widgets.transcript.transcript import Transcript
from widgets.units import elapsed


class ChatScreen(ChatCommands):
    """One chat. What is shown comes in by the loop of ``LiveScreen``, from servers that show an answer only
    while they give it by the one in ``ChatActs``.
    """

    CSS_PATH = "chat.tcss"
    AUTO_FOCUS = "#chat-line"
    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual's own binding of tab would come first.
        Binding("tab", "step_on(1)", "Complete, or the next part", id="chat.next", priority=True),
        Binding("shift+tab", "step_on(-1)", "The part before", id="chat.previous", priority=True),
        Binding("space,enter", "fold", "Fold or unfold a step", id="chat.fold"),
        Binding("F", "fold_all", "Fold or unfold all steps", id="chat.fold_all"),
        Binding("t", "fold_all('thinking')", "Fold or unfold all thoughts", id="chat.fold_thoughts"),
        Binding("escape", "back", "Stop the answer; back", id="chat.back"),
    ]

    def __init__(
        self,
        link: ChatLink,
        chat: str | NewChat,
        clock: FrameClock,
        *,
        open_chat: Callable[..., None],
        ascii_only: bool = False,
    ) -> None:
        """``chat`` is the id of one that is stored, or a new one. ``open_chat`` shows another one: see
        ``Places.open_chat``.
        """
        super().__init__(clock, ascii_only=ascii_only)
        self._new = chat if isinstance(chat, NewChat) else None
        conversation_id = chat if isinstance(chat, str) else NEW
        self.state = ConversationState(ev.ConversationInfo(conversation_id))
        self._link = link
        self._open_chat = open_chat
        self._transcript = Transcript(clock=clock, ascii_only=ascii_only, id="chat", classes="-hidden")
        self._feed = ChatFeed(self._transcript, self.state)
        self._place = Static(own(say("chat.loading"), ascii_only=ascii_only), id="loading", markup=False)
        self._find_bar = FindBar(OneTranscript(self._transcript), ascii_only=ascii_only)
        self._composer = ChatComposer(conversation_id, ascii_only=ascii_only)
        self._pending = "", 0.0  # what is waited for, and since when

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._place
        yield self._transcript
        yield self._approvals
        yield self._composer
        yield self._find_bar
        yield self._bottom

    @property
    def may_leave(self) -> bool:
        """Whether nobody has to be asked: no answer is under way."""
        return not self.is_busy or self.state.link.status == "refused"

    @property
    def is_speaking(self) -> bool:
        """Whether words are coming."""
        return self.state.open_turn is not None

    # --- what comes in ---------------------------------------------------------------------------------

    async def _events(self) -> AsyncGenerator[ev.Event, None]:
        if self._new is not None:
            return self._new.events()
        return await self._link.follow(self.state.conversation.id)

    def on_screen_resume(self) -> None:
        """Show a new chat's default model as it is now: it may have been set up meanwhile."""
        if self._new is not None:
            self._look_for_default(self._new)

    @work(group="default", exclusive=True)
    async def _look_for_default(self, new: NewChat) -> None:
        await new.look_for_default()
        if new is self._new:
            await self._apply(ev.ConversationChanged(new.info))

    async def _apply(self, event: ev.Event) -> None:
        self.state.apply(event)
        self._feed.take()
        if isinstance(event, ev.StepAdded):
            return  # the hot path: no line, only the words
        self._note(event)
        self._note_answer(event)
        self._approvals.ask()
        self._show_soon()

    def _note(self, event: ev.Event) -> None:
        super()._note(event)
        if isinstance(event, ev.TurnNoted) and (told := texts.told_beside(event)):
            self.notify(told, markup=False)
        if isinstance(event, ev.ConversationLoaded | ev.ConversationChanged):
            workspace = event.conversation.workspace
            folder = Path(workspace) if workspace else Path.cwd()
            if folder != self._composer.files.folder:
                self._composer.files = Files(folder)
            self._go_there()

    def _go_there(self) -> None:
        """Go to the message that was asked for, once there is something to see."""
        turn = self.state.turn_of(self._go_to)
        number = self._feed.number(turn.id) if turn is not None else 0
        if number and not self._transcript.has_class("-hidden"):
            self._go_to = ""
            self.call_after_refresh(self._transcript.reader.go_to_message, number)

    # --- what the lines say ------------------------------------------------------------------------------

    def _show_lines(self) -> None:
        state, shown = self.state, self._shown
        about = [Part(texts.provider(state), 3), Part(texts.model(state), 1)] if state.loaded else []
        self._top.show(
            [texts.title(state)],
            [part for part in about if part.text],
            [self._timed(texts.status(state, shown, self._seconds_left))],
        )
        hints = [(hint, self._key_of(hint)) for hint in texts.hints(state, shown)]
        facts = [
            Part(oddities(state.unknown_count), 1),
            Part(texts.workspace(state), 9),
            Part(texts.used(state), 4),
            Part(connected(state.link), 8),
        ]
        self._bottom.show(
            [Part(hint.text, hint.rank, key) for hint, key in hints if key],
            right=[part for part in facts if part.text],
        )
        self._approvals.show_keys(self.key_now("tab"))
        self._composer.show(self.key_now("u"), is_busy=self.is_busy)
        self._show_place()
        self._approvals.ask_who_is_quiet()

    def _timed(self, status: texts.Status) -> str:
        """Return what goes on; of what is pending, since when."""
        pending, since = self._pending
        if status.pending != pending:
            since = self.now()
            self._pending = status.pending, since
        seconds = int(self.now() - since) if status.pending else 0
        return f"{status.text} {elapsed(seconds)}" if seconds else status.text

    @property
    def _is_counting(self) -> bool:
        turn = self.state.open_turn
        waits = turn is not None and turn.waits is not None
        return (
            bool(self._pending[0])
            or waits
            or self.state.link.status == "waiting"
            or self._approvals.is_focus_due
        )

    def _key_of(self, hint: Hint) -> str:
        """Return the key of a hint as it is now, "" for none; signs that are typed are no keys."""
        return hint.key if hint.key in texts.TYPED else self.key_now(hint.key)

    def _show_place(self) -> None:
        """Show the words, or in an empty chat what to do first."""
        is_empty = not self.state.turns
        place = self._place
        if is_empty and self.state.loaded:
            place.update(say("chat.first"))
        if place.has_class("-hidden") == is_empty:
            place.set_class(not is_empty, "-hidden")
            self._transcript.set_class(is_empty, "-hidden")
            self._go_there()

    @property
    def _shown(self) -> texts.Shown:
        transcript, composer = self._transcript, self._composer
        turn = self.reader_turn
        return texts.Shown(
            is_writing=composer.has_line_focus,
            is_asking=self._approvals.has_bar_focus,
            is_finding=self._find_bar.is_finding,
            is_following=transcript.follow,
            has_selection=transcript.reader.has_selection,
            is_editing=composer.is_editing,
            is_sending=self._sending is not None or self._is_awaiting,
            is_stopping=self._is_stopping,
            has_text=bool(composer.line.text),
            queued=len(composer.queue),
            is_held=composer.is_held,
            on_question=turn is not None and turn.role == "user",
            has_versions=turn is not None and len(turn.versions) > 1,
            can=self._unanswered,
        )

    @property
    def _unanswered(self) -> frozenset[str]:
        """What can be done about a last answer that is not whole: again, continue."""
        last = self.state.last_turn
        if last is None or last.role == "user" or last.status not in ("cut", "failed"):
            return frozenset()
        return frozenset(act for act in ("again", "continue") if not self.why_not(act))

    def on_resize(self, event: Resize) -> None:
        """Leave the words what they need."""
        self._composer.fit(event.size.height)

    # --- keys ------------------------------------------------------------------------------------------

    def action_step_on(self, step: int) -> None:
        """Complete what is written, or go to the next part: the line, the question of a tool, the words."""
        parts: list[Widget] = [self._composer.line, self._transcript]
        if self._approvals.spot is not None:
            parts.insert(1, self._approvals.bar)
        here = self.focused if self.focused in parts else self._transcript
        if here is self._composer.line and step > 0 and self._composer.line.complete():
            return
        there = parts[(parts.index(here) + step) % len(parts)]
        if there is self._approvals.bar:
            self._approvals.look()
        elif there is self._composer.line:
            self._composer.open()
        else:
            self.set_focus(there, scroll_visible=False)

    async def action_back(self) -> None:
        """Leave what was opened last: another wording, a selection, the find bar, the answer under way, the
        line, the chat.
        """
        if self._composer.is_editing:
            self._editing = ""
            self._composer.end_editing()
            self._show_soon()
        elif self._transcript.reader.has_selection:
            self._transcript.reader.clear_selection()
        elif self._find_bar.asks:
            self._find_bar.close()
        elif self.state.open_turn is not None:
            self.stop()
        elif self._composer.has_line_focus:
            self.set_focus(self._transcript, scroll_visible=False)
        else:
            await self.run_action("app.leave_chat")

    def action_fold(self) -> None:
        """Fold or unfold the step that the reader is at."""
        if not self._transcript.folds.toggle():
            self._composer.open()

    def action_fold_all(self, kind: str = "") -> None:
        """Fold all steps, or those of one kind; unfold them if all are folded."""
        self._feed.fold_all(kind)

    def on_transcript_fold_toggled(self, event: Transcript.FoldToggled) -> None:
        """Keep it so."""
        self._feed.note_fold(event.key, is_folded=event.is_folded)
