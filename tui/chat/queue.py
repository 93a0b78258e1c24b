"""The queue of questions: read, edit, move or discard them."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from tui.chat.composer import ChatComposer
from tui.chat.drafts import Waiting, edited, moved
from tui.live.waiting import Item, WaitingList
from tui.screens.dialog import Dialog, framed
from tui.screens.words import say


class ChatQueueScreen(Dialog[None]):
    """Changes the queue of ``composer``; answers that end meanwhile remove questions from it."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit question", id="chat_queue.edit"),
        Binding("ctrl+up,K", "move(-1)", "Move up", id="chat_queue.up"),
        Binding("ctrl+down,J", "move(1)", "Move down", id="chat_queue.down"),
        Binding("d,delete", "drop", "Discard question", id="chat_queue.drop"),
        Binding("escape", "back", "Back", id="chat_queue.back", priority=True),
    ]

    def __init__(self, composer: ChatComposer) -> None:
        super().__init__()
        self._composer = composer
        self._waiting = WaitingList(self._items, self._keep, say("chat.queue.hint"))

    def compose(self) -> ComposeResult:
        yield framed(say("chat.queue.title"), self._waiting, hint=self._waiting.hint)

    def _items(self) -> list[Item]:
        return [Item(waits.key, waits.text, _queued_line(waits)) for waits in self._composer.queue]

    def _keep(self, item_id: str, text: str) -> None:
        queue = [edited(waits, text) if waits.key == item_id else waits for waits in self._composer.queue]
        self._composer.set_queue(tuple(queue))
        self._waiting.end_editing()
        self._waiting.look()

    def action_edit(self) -> None:
        self._waiting.edit()

    def action_drop(self) -> None:
        if chosen := self._waiting.chosen:
            queue = self._composer.queue
            self._composer.set_queue(tuple(waits for waits in queue if waits.key != chosen))
            self._waiting.look()

    def action_back(self) -> None:
        self._waiting.leave()

    def action_move(self, step: int) -> None:
        queue = self._composer.queue
        at = next((at for at, waits in enumerate(queue) if waits.key == self._waiting.chosen), -1)
        if at >= 0:
            self._composer.set_queue(moved(queue, at, step))
            self._waiting.look()


def _queued_line(waits: Waiting) -> str:
    words = "  ".join([waits.text, *(f"@{file.name}" for file in waits.attachments)]).strip()
    return say("chat.queued.held", words=words) if waits.is_held else words
