"""Questions that wait to be asked: to be read, changed, put in another order, or dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Final

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.inert import inert_line
from tui.chat_drafts import Waiting, moved
from tui.screens.chat_composer import ChatComposer
from tui.screens.form_fields import own
from tui.screens.words import say
from widgets.composer import Composer

SHOWN_CHARACTERS: Final = 200


class ChatQueueScreen(ModalScreen[None]):
    """Changes the queue of ``composer``; answers that end meanwhile take questions out of it."""

    CSS_PATH = "room_dialogs.tcss"
    DEFAULT_CSS = """
    ChatQueueScreen { align: center middle; background: $background 60%; }
    """
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Change the question", id="chat_queue.edit"),
        Binding("ctrl+up,K", "move(-1)", "Ask it earlier", id="chat_queue.up"),
        Binding("ctrl+down,J", "move(1)", "Ask it later", id="chat_queue.down"),
        Binding("d,delete", "drop", "Do not ask it", id="chat_queue.drop"),
        Binding("escape", "back", "Back", id="chat_queue.back", priority=True),
    ]

    def __init__(self, composer: ChatComposer, *, ascii_only: bool = False) -> None:
        super().__init__()
        self._ascii_only = ascii_only
        self._waiting = composer
        self._edited = ""  # key of the question that is being changed
        self._shown: tuple[Waiting, ...] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide"):
            yield Static(say("chat.queue.title"), classes="title", markup=False)
            yield OptionList(markup=False, compact=True)
            yield Composer(id="queue-line")
            hint = own(say("chat.queue.hint"), ascii_only=self._ascii_only)
            yield Static(hint, classes="hint", markup=False)

    def on_mount(self) -> None:
        """Show what waits, and go on showing it."""
        self._look()
        self.set_interval(0.5, self._look)

    def _look(self, at: int | None = None) -> None:
        queue = self._waiting.queue
        if queue == self._shown and at is None:
            return
        self._shown = queue
        listed = self.query_one(OptionList)
        at = (listed.highlighted or 0) if at is None else at
        listed.clear_options()
        for waits in queue:
            files = "  ".join(f"@{inert_line(file.name, 40)}" for file in waits.attachments)
            listed.add_option(Option(Content(f"{inert_line(waits.text, SHOWN_CHARACTERS)}  {files}".strip())))
        if not queue:
            listed.add_option(Option(Content(say("chat.queue.none")), disabled=True))
        listed.highlighted = min(at, len(queue) - 1) if queue else None
        if self._edited and all(waits.key != self._edited for waits in queue):
            self._end_editing()

    @property
    def _at(self) -> int:
        at = self.query_one(OptionList).highlighted
        return at if at is not None and at < len(self._waiting.queue) else -1

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Change the question that was chosen."""
        event.stop()
        self.action_edit()

    def action_edit(self) -> None:
        """Change the question."""
        if self._at >= 0 and not self._edited:
            waits = self._waiting.queue[self._at]
            self._edited = waits.key
            line = self.query_one(Composer)
            line.put(waits.text)
            line.add_class("-open")
            line.focus()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Keep what was written."""
        event.stop()
        queue = tuple(
            replace(waits, text=event.text.strip()) if waits.key == self._edited else waits
            for waits in self._waiting.queue
        )
        self._waiting.set_queue(queue, is_held=self._waiting.is_held)
        self._end_editing()
        self._look()

    def action_move(self, step: int) -> None:
        """Let the question be asked earlier or later."""
        at = self._at
        if at >= 0 and not self._edited:
            self._waiting.set_queue(moved(self._waiting.queue, at, step), is_held=self._waiting.is_held)
            self._look(max(0, min(at + step, len(self._waiting.queue) - 1)))

    def action_drop(self) -> None:
        """Do not ask the question."""
        at = self._at
        if at >= 0 and not self._edited:
            queue = self._waiting.queue
            self._waiting.set_queue((*queue[:at], *queue[at + 1 :]), is_held=self._waiting.is_held)
            self._look()

    def _end_editing(self) -> None:
        self._edited = ""
        self.query_one(Composer).remove_class("-open")
        self.query_one(OptionList).focus()

    def action_back(self) -> None:
        """Leave the line, at last the dialog."""
        if self._edited:
            self._end_editing()
        else:
            self.dismiss()
