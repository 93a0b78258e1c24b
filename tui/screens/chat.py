"""A chat, live: one transcript with every step of every answer, and a line to ask in."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Resize
from textual.reactive import Reactive
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Static

from agent_tui import events as ev
from agent_tui.errors import AgentTuiError
from agent_tui.state.conversation import ConversationState
from tui.chat_files import Files
from tui.link import ChatLink
from tui.screens import chat_texts as texts
from tui.screens import signs
from tui.screens.chat_ask import AskBar
from tui.screens.chat_command_acts import ChatCommands
from tui.screens.chat_composer import ChatComposer
from tui.screens.chat_feed import ChatFeed
from tui.screens.chat_pane import ChatTranscript, OnePane
from tui.screens.find_bar import FIND_BINDINGS, FindBar
from tui.screens.form_fields import own
from tui.screens.words import say
from widgets.frame_clock import FrameClock
from widgets.status_line import Part, StatusLine
from widgets.transcript import Transcript

LOOK_SECONDS = 0.5  # how often a countdown is looked at


class ChatScreen(ChatCommands):
    """One chat. Everything shown comes from ``ConversationState``; the loop in ``_follow`` is the only way
    in, and for servers that show an answer only while they give it the one in ``ChatActs``.
    """

    CSS_PATH = "chat.tcss"
    AUTO_FOCUS = "#chat-line"
    # See ``RoomScreen``: whoever looks different with the focus repaints itself.
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    BINDINGS: ClassVar[list[BindingType]] = [
        *FIND_BINDINGS,
        # Textual's own binding of tab would come first.
        Binding("tab", "step_on(1)", "Complete, or the next part", id="chat.next", priority=True),
        Binding("shift+tab", "step_on(-1)", "The part before", id="chat.previous", priority=True),
        Binding("space,enter", "fold", "Fold or unfold a step", id="chat.fold"),
        Binding("F", "fold_all", "Fold or unfold all steps", id="chat.fold_all"),
        Binding("t", "fold_all('thinking')", "Fold or unfold all thoughts", id="chat.fold_thoughts"),
        Binding("escape", "back", "Stop the answer; back", id="chat.back"),
    ]

    def __init__(
        self, link: ChatLink, conversation_id: str, clock: FrameClock, *, ascii_only: bool = False
    ) -> None:
        super().__init__()
        self.state = ConversationState(ev.ConversationInfo(conversation_id))
        self.failure: AgentTuiError | None = None  # why the chat cannot be followed, for the exit code
        self.key_now: Callable[[str], str] = str  # what a default key is now; "" where it is none
        self._link = link
        self._clock = clock
        self._ascii_only = ascii_only
        self._transcript = ChatTranscript(clock=clock, ascii_only=ascii_only, id="chat", classes="-hidden")
        self._feed = ChatFeed(self._transcript, self.state)
        # Held, not looked for: the clock may tell them something while the screen is being taken down.
        self._top = StatusLine(id="top", ascii_only=ascii_only)
        self._place = Static(own(say("chat.loading"), ascii_only=ascii_only), id="loading", markup=False)
        self._bottom = StatusLine(id="bottom", ascii_only=ascii_only, is_dim=True)
        self._find_bar = FindBar(OnePane(self._transcript), ascii_only=ascii_only)
        self._bar_of_asks = AskBar(ascii_only=ascii_only)
        self._composer = ChatComposer(conversation_id, ascii_only=ascii_only)
        self._chrome = _Chrome(self._show)
        self._retry_at = 0.0
        self._looking: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._place
        yield self._transcript
        yield self._bar_of_asks
        yield self._composer
        yield self._find_bar
        yield self._bottom

    def on_mount(self) -> None:
        """Show what is known, then follow the chat."""
        self._looking = self.set_interval(LOOK_SECONDS, self._show_soon, pause=True)
        self._show()
        self._follow()

    @property
    def may_leave(self) -> bool:
        """Whether nobody has to be asked: no answer is under way."""
        return not self.is_busy or self.state.link.status == "refused"

    @property
    def is_speaking(self) -> bool:
        """Whether words are coming."""
        return self.state.open_turn is not None

    # --- the only loop ---------------------------------------------------------------------------------

    @work(group="follow", exclusive=True)
    async def _follow(self) -> None:
        try:
            async with aclosing(self._link.follow(self.state.conversation.id)) as events:
                async for event in events:
                    await self._apply(event)
        except AgentTuiError as error:
            self.failure = error
            await self._apply(ev.LinkChanged("refused", str(error)))

    async def _apply(self, event: ev.Event) -> None:
        self.state.apply(event)
        self._feed.take()
        if isinstance(event, ev.StepAdded):
            return  # the hot path: no line, only the words
        self._note(event)
        self._note_answer(event)
        self._show_ask()
        self._show_soon()

    def _note(self, event: ev.Event) -> None:
        """Keep what only this screen knows: moments, places."""
        match event:
            case ev.LinkChanged(status="waiting", delay=delay):
                self._retry_at = time.monotonic() + delay
            case ev.ConversationLoaded(conversation) | ev.ConversationChanged(conversation):
                folder = Path(conversation.workspace) if conversation.workspace else Path.cwd()
                if folder != self._composer.files.folder:
                    self._composer.files = Files(folder)
                self._go_there()
            case _:
                pass

    def _go_there(self) -> None:
        """Go to the message that was asked for, once there is something to see."""
        number = self._feed.number(self._go_to) if self._go_to else 0
        if number and not self._transcript.has_class("-hidden"):
            self._go_to = ""
            self.call_after_refresh(self._transcript.go_to_message, number)

    # --- what the lines say ------------------------------------------------------------------------------

    def _show_soon(self) -> None:
        """Have the lines told with the next frame, however many events come until then."""
        self._clock.mark(self._chrome)

    def _show(self) -> None:
        if not self.is_mounted:
            return
        state, shown = self.state, self._shown
        left = round(max(0.0, self._retry_at - time.monotonic()))
        about = [Part(texts.provider(state), 3), Part(texts.model(state), 1)] if state.loaded else []
        self._top.show(
            [texts.title(state)],
            [part for part in about if part.text],
            [texts.status(state, shown, left)],
        )
        hints = [(hint, self._key_of(hint)) for hint in texts.hints(state, shown)]
        facts = [
            Part(texts.oddities(state), 1),
            Part(texts.workspace(state), 9),
            Part(texts.used(state), 4),
            Part(f"{signs.SPEAKING} {say('link.connected')}" if state.link.status == "live" else "", 8),
        ]
        self._bottom.show(
            [Part(hint.text, hint.rank, key) for hint, key in hints if key],
            right=[part for part in facts if part.text],
        )
        self._composer.show(self.key_now("u"), is_busy=self.is_busy)
        self._show_place()
        if self._looking is not None:
            if state.link.status == "waiting":
                self._looking.resume()
            else:
                self._looking.pause()

    def _key_of(self, hint: texts.Hint) -> str:
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
            is_asking=self.focused is self._bar_of_asks,
            is_finding=self._find_bar.is_finding,
            is_following=transcript.follow,
            has_selection=transcript.has_selection,
            is_editing=composer.is_editing,
            is_sending=self._is_sending or self._is_awaiting,
            is_stopping=self._is_stopping,
            has_text=bool(composer.line.text),
            queued=len(composer.queue),
            is_held=composer.is_held,
            on_question=turn is not None and turn.role == "user",
            has_versions=turn is not None and len(turn.versions) > 1,
        )

    def on_descendant_focus(self) -> None:
        """Say which keys make sense there."""
        self._show_soon()

    def on_resize(self, event: Resize) -> None:
        """Leave the words what they need."""
        self._composer.fit(event.size.height)

    # --- keys ------------------------------------------------------------------------------------------

    def action_step_on(self, step: int) -> None:
        """Complete what is written, or go to the next part: the line, the question of a tool, the words."""
        parts: list[Widget] = [self._composer.line, self._transcript]
        if self._ask_spot is not None:
            parts.insert(1, self._bar_of_asks)
        here = self.focused if self.focused in parts else self._transcript
        if here is self._composer.line and step > 0 and self._composer.line.complete():
            return
        there = parts[(parts.index(here) + step) % len(parts)]
        if there is self._bar_of_asks:
            self._look_at_ask()
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
        elif self._transcript.has_selection:
            self._transcript.clear_selection()
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
        if not self._transcript.toggle():
            self._composer.open()

    def action_fold_all(self, kind: str = "") -> None:
        """Fold all steps, or those of one kind; unfold them if all are folded."""
        self._feed.fold_all(kind)

    def action_find(self) -> None:
        """Ask what to find in the chat."""
        self._find_bar.ask_what_to_find()

    def action_find_step(self, step: int) -> None:
        """Go to the next match, or to the one before."""
        if not self._find_bar.step(step):
            self.notify(say("find.nothing_asked"), markup=False)

    def action_go_to(self) -> None:
        """Ask for the number of a message."""
        self._find_bar.ask_for_a_number()

    def on_transcript_found_changed(self, event: Transcript.FoundChanged) -> None:
        """Say how many there are."""
        self._find_bar.take_found(event)

    def on_transcript_fold_toggled(self, event: Transcript.FoldToggled) -> None:
        """Keep it so."""
        self._feed.note_fold(event.key, is_folded=event.is_folded)

    def on_transcript_selection_changed(self) -> None:
        """Say what can be done with what is selected."""
        self._show_soon()

    def on_followed_transcript_follow_changed(self) -> None:
        """Say how to get back to the end."""
        self._show_soon()

    def on_find_bar_changed(self) -> None:
        """Say which keys make sense now."""
        self._show_soon()


class _Chrome:
    """Lets the frame clock call ``show``."""

    is_shown = True

    def __init__(self, show: Callable[[], None]) -> None:
        self._show = show

    def draw(self) -> bool:
        self._show()
        return False
