"""A live chat: one transcript with every step of every answer, and a line to ask in."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widget import Widget

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError
from agent_tui.paths import current_folder
from tui.chat import texts
from tui.chat.asking import Asking
from tui.chat.commands import ChatCommands
from tui.chat.composer import ChatComposer
from tui.chat.drafting import edit_elsewhere, search_past
from tui.chat.files import Files
from tui.chat.first import NewChat
from tui.chat.models import pick_model
from tui.chat.open_chat import OpenChat
from tui.chat.place import ReaderPlace
from tui.chat.queue import ChatQueueScreen
from tui.link import ChatLink
from tui.live.approvals import Approvals
from tui.live.board import facts_of, status_part
from tui.live.find import FindBar, OneTranscript
from tui.live.screen import ELSEWHERE_BINDINGS, GO_TO_BINDING, LiveScreen
from tui.live.texts import context
from widgets.composer import Composer
from widgets.status_line import Part
from widgets.terminal.frame_clock import FrameClock


class ChatScreen(LiveScreen):
    """One chat. Events come from the loop of ``Following``; from servers that show an answer only while it is
    given, from the one in ``Asking``.
    """

    CSS_PATH = "../live/screen.tcss"
    AUTO_FOCUS = "#chat-line"
    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual's own binding of tab would come first.
        Binding("tab", "step_on(1)", "Complete, or next part", id="chat.next", priority=True),
        Binding("shift+tab", "step_on(-1)", "Previous part", id="chat.previous", priority=True),
        Binding("i", "compose", "Write a question", id="chat.say"),
        Binding("escape", "back", "Stop the answer, or go back", id="chat.back"),
        Binding("e", "edit", "Edit & resend the question", id="chat.edit"),
        Binding("r", "again", "Retry the answer", id="chat.again"),
        Binding("f7", "again", "Retry the answer", id="chat.again.anywhere", priority=True),
        Binding("c", "go_on", "Continue the answer that was cut off", id="chat.continue"),
        Binding(
            "f8", "go_on", "Continue the answer that was cut off", id="chat.continue.anywhere", priority=True
        ),
        Binding("left_square_bracket", "version(-1)", "Previous version", id="chat.version.previous"),
        Binding("right_square_bracket", "version(1)", "Next version", id="chat.version.next"),
        Binding("ctrl+l", "open('models')", "Choose the model", id="chat.models", priority=True),
        Binding("ctrl+o", "open('settings')", "Chat settings: title, model, tools", id="chat.settings"),
        Binding("ctrl+r", "open('history')", "Search earlier questions", id="chat.history", priority=True),
        Binding("ctrl+e", "open('editor')", "Open in your editor", id="chat.editor", priority=True),
        Binding("u", "open('queue')", "Queued questions", id="chat.queue"),
        Binding("exclamation_mark", "answer_tool", "Go to what needs approval", id="chat.answer"),
        Binding("space,enter", "fold", "Fold or unfold a step", id="chat.fold"),
        Binding("F", "fold_all", "Fold or unfold all steps", id="chat.fold_all"),
        Binding("t", "fold_all('thinking')", "Fold or unfold all thoughts", id="chat.fold_thoughts"),
        Binding("o", "open_step", "Show all of a step", id="chat.open_step"),
        Binding("D", "open('changes')", "Files that tools changed", id="chat.changes"),
        Binding("w", "open('export')", "Save the chat to a file", id="chat.export"),
        GO_TO_BINDING,
        *ELSEWHERE_BINDINGS,
    ]

    composer: ChatComposer

    def __init__(
        self, link: ChatLink, chat: str | NewChat, clock: FrameClock, *, open_chat: Callable[..., None]
    ) -> None:
        """``chat`` is the id of a stored chat, or a new one; ``open_chat`` is ``Places.open_chat``."""
        super().__init__(clock)
        self.first_question = ""  # of a new chat: asked when it is loaded
        self._chat = OpenChat(link, chat, self._host, on_event=self._take_event)
        self.state = self._chat.state
        self._begin = self._chat.begin
        self.composer = self._chat.composer
        self._transcript = self._chat.transcript
        self._asking = Asking(self._chat)
        self._reader = ReaderPlace(self._chat, self._asking)
        self.why_not = self._reader.why_not
        self._commands = ChatCommands(self._chat, self._asking, open_chat)
        self.begin_another = self._commands.begin_another
        self._approvals = Approvals(self._chat, self._host)
        self._find_bar = FindBar(OneTranscript(self._transcript))
        self._words = self._chat.place, self._transcript

    # --- what is known of it ---------------------------------------------------------------------------

    @property
    def failure(self) -> AgentTuiError | None:
        return self._chat.following.failure

    @property
    def may_leave(self) -> bool:
        """Whether it can be left without a question: no answer is being given."""
        return not self._asking.is_busy or self.state.link.status == "refused"

    @property
    def is_speaking(self) -> bool:
        """Whether words are coming."""
        return self.state.open_turn is not None

    def show_message(self, message_id: str) -> None:
        """Go to a message when the chat is loaded; "" stays at its end."""
        self._reader.go_to = message_id

    # --- what comes in ---------------------------------------------------------------------------------

    def _take_event(self, event: ev.Event) -> None:
        """Update the parts after an event that is more than words."""
        if isinstance(event, ev.TurnNoted) and (note := texts.told_beside(event)):
            self._host.tell(note)
        if isinstance(event, ev.ConversationLoaded | ev.ConversationChanged):
            workspace = event.conversation.workspace
            folder = Path(workspace or current_folder() or "")
            if folder != self.composer.files.folder:
                self.composer.files = Files(folder)
            self._reader.go_there()
        self._asking.note(event)
        if self.first_question and isinstance(event, ev.ConversationLoaded):
            question, self.first_question = self.first_question, ""
            self._asking.submit(question)
        self._approvals.ask()
        self._show_soon()

    def on_screen_resume(self) -> None:
        """Show a new chat's current default model: it may have been connected meanwhile."""
        self._chat.look_for_default()

    def _show_lines(self) -> bool:
        state, shown = self.state, self._shown
        about = [Part(texts.provider(state), 3), Part(texts.model(state), 2)] if state.is_known else []
        status = texts.status(state, shown, self._chat.following.seconds_left)
        self._lines.top.show([texts.title(state)], about, [status_part(self._lines.timed(status))])
        full, warns = context(reversed(state.turns.values()))
        own = Part(texts.workspace(state), 9), Part(full, 3, warns=warns)
        hints = texts.hints(state, shown)
        self._lines.show_below(hints, facts_of(state, texts.usage_text(state), *own), texts.TYPED)
        self.composer.queue_key = "" if self._approvals.bar.is_written_past else self.key_now("u")
        self.composer.is_busy = self._asking.is_busy
        self.composer.show()
        if self._chat.show_place():
            self._reader.go_there()
        turn = state.open_turn
        waits = turn is not None and turn.waits is not None
        return self._lines.is_pending or waits or state.link.status == "waiting"

    @property
    def has_step(self) -> bool:
        return bool(self._transcript.folds.step_at_reader())

    @property
    def _shown(self) -> texts.ChatShown:
        transcript, composer, asking = self._transcript, self.composer, self._asking
        return texts.ChatShown(
            is_writing=composer.has_line_focus,
            has_models=not self._chat.link.is_agent,
            is_choosing=composer.line.is_choosing,
            has_ask=self.is_asked,
            is_asking=self._approvals.has_bar_focus,
            looking=self._find_bar.looking,
            is_following=transcript.follow,
            has_selection=transcript.reader.has_selection,
            has_step=self.has_step,
            is_editing=composer.is_editing,
            is_sending=asking.is_sending,
            is_stopping=asking.is_stopping,
            has_text=bool(composer.line.text),
            queued=len(composer.queue),
            is_held=any(waits.is_held for waits in composer.queue),
            acts=self._reader.acts,
            can=self._reader.unanswered,
        )

    # --- the line and what is asked ----------------------------------------------------------------------

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Run the command, or ask the question, that was written."""
        event.stop()
        if not self._commands.does(event.text):
            self._asking.submit(event.text)

    def action_edit(self) -> None:
        if self._reader.may("edit") and (question := self._reader.question) is not None:
            self._asking.edit(question)

    def action_again(self) -> None:
        if self._reader.may("again") and (question := self._reader.question) is not None:
            self._asking.again(question)

    def action_go_on(self) -> None:
        if self._reader.may("continue"):
            self._asking.go_on()

    def action_open(self, what: str) -> None:
        """Open the queue, the changed files (changes), the model picker (models), the settings, the export,
        the person's own editor, or earlier questions (history).
        """
        if what == "export":
            self._commands.does("/export")
        elif what == "changes":
            self._commands.show_changes()
        elif what == "editor":
            self._host.run("editor", edit_elsewhere(self.composer), exclusive=True)
        elif what == "history":
            search_past(self.composer, self._host)
        elif what == "queue" and self._reader.may("queue"):
            self._host.open(ChatQueueScreen(self.composer))
        elif what == "models" and self._reader.may("settings"):
            pick_model(self._chat)
        elif what == "settings" and self._reader.may("settings"):
            self._commands.open_settings()

    # --- the transcript ----------------------------------------------------------------------------------

    def action_version(self, step: int) -> None:
        self._reader.show_version(step)

    def action_open_step(self) -> None:
        self._reader.open_step()

    def action_fold(self) -> None:
        if not self._transcript.folds.toggle():
            self.composer.open()

    def action_fold_all(self, kind: str = "") -> None:
        self._chat.feed.fold_all(kind)

    # --- moving ------------------------------------------------------------------------------------------

    def action_step_on(self, step: int) -> None:
        """Complete the text, or go to the next part: the line, a tool's question, the words."""
        parts: list[Widget] = [self.composer.line, self._transcript]
        if self.is_asked:
            parts.insert(1, self._approvals.bar)
        current = self.focused if self.focused in parts else self._transcript
        if current is self.composer.line and step > 0 and self.composer.line.choices.is_open:
            self.composer.line.action_take_choice()
            return
        target = parts[(parts.index(current) + step) % len(parts)]
        if target is self._approvals.bar:
            self._approvals.look()
        elif target is self.composer.line:
            self.composer.open()
        else:
            self._chat.focus_words()

    async def action_back(self) -> None:
        """Leave the newest of: editing, selection, find bar, the current answer, the line, the chat."""
        if self.composer.is_editing:
            self._asking.end_editing()
        elif self._transcript.reader.has_selection:
            self._transcript.reader.clear_selection()
        elif self._find_bar.asks:
            self._find_bar.close()
        elif self.state.open_turn is not None:
            self._asking.stop()
        elif self.composer.has_line_focus:
            self._chat.focus_words()
        else:
            await self.run_action("app.leave_chat")
