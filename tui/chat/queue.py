"""Questions that wait to be asked: to be read, changed, put in another order, or dropped."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from textual.binding import Binding, BindingType

from tui.chat.composer import ChatComposer
from tui.chat.drafts import Waiting, moved
from tui.live.waiting import Item, WaitingScreen


class ChatQueueScreen(WaitingScreen):
    """Changes the queue of ``composer``; answers that end meanwhile take questions out of it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit question", id="chat_queue.edit"),
        Binding("ctrl+up,K", "move(-1)", "Move up", id="chat_queue.up"),
        Binding("ctrl+down,J", "move(1)", "Move down", id="chat_queue.down"),
        Binding("d,delete", "drop", "Discard question", id="chat_queue.drop"),
        Binding("escape", "back", "Back", id="chat_queue.back", priority=True),
    ]
    WORDS = "chat.queue"

    def __init__(self, composer: ChatComposer, *, ascii_only: bool = False) -> None:
        super().__init__(ascii_only=ascii_only)
        self._composer = composer

    def _items(self) -> list[Item]:
        return [Item(waits.key, waits.text, _shown(waits)) for waits in self._composer.queue]

    def _set(self, queue: tuple[Waiting, ...]) -> None:
        self._composer.set_queue(queue, is_held=self._composer.is_held)

    def _keep(self, item_id: str, text: str) -> None:
        queue = self._composer.queue
        self._set(tuple(replace(waits, text=text) if waits.key == item_id else waits for waits in queue))
        self._end_editing()
        self._look()

    def _drop(self, item_id: str) -> None:
        self._set(tuple(waits for waits in self._composer.queue if waits.key != item_id))
        self._look()

    def action_move(self, step: int) -> None:
        """Let the question be asked earlier or later."""
        queue = self._composer.queue
        at = next((at for at, waits in enumerate(queue) if waits.key == self._chosen), -1)
        if at >= 0:
            self._set(moved(queue, at, step))
            self._look()


def _shown(waits: Waiting) -> str:
    return "  ".join([waits.text, *(f"@{file.name}" for file in waits.attachments)]).strip()
