"""What waits for the next turn of a room: to be read, changed, or taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from agent_tui.model.errors import AgentTuiError
from tui.live.waiting import Item, WaitingList
from tui.room.open_room import OpenRoom
from tui.room.texts import queued_words
from tui.screens.dialog import Dialog, framed
from tui.screens.localised import localised
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.rooms import Queue, RoomsClient


class QueueScreen(Dialog[None]):
    """Lists what waits; every change is made on the server at once."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit message", id="queue.edit"),
        Binding("d,delete", "drop", "Discard message", id="queue.drop"),
        Binding("escape", "back", "Back", id="queue.back", priority=True),
    ]

    def __init__(self, room: OpenRoom) -> None:
        super().__init__()
        self._room = room
        self._state = room.state
        self._waiting = WaitingList(self._items, self._keep, say("queue.hint"))

    def compose(self) -> ComposeResult:
        yield framed(say("queue.title"), self._waiting, hint=self._waiting.hint)

    def _items(self) -> list[Item]:
        return [
            Item(waits.id, waits.content, queued_words(self._state, waits)) for waits in self._state.queue
        ]

    def _keep(self, item_id: str, text: str) -> None:
        self._do(item_id, lambda client: client.change_queued(self._room.id, item_id, content=text))

    def action_edit(self) -> None:
        self._waiting.edit()

    def action_drop(self) -> None:
        if chosen := self._waiting.chosen:
            self._do(chosen, lambda client: client.drop_queued(self._room.id, chosen))

    def action_back(self) -> None:
        self._waiting.leave()

    @work(group="change", exclusive=True)
    async def _do(self, item_id: str, change: Callable[[RoomsClient], Awaitable[Queue]]) -> None:
        try:
            self._state.take_queue(await change(await self._room.client()))
        except AgentTuiError as error:
            await self._room.read_again()
            self._waiting.look()
            waits = any(queued.id == item_id for queued in self._state.queue)
            self._waiting.complain(localised(error) if waits else say("queue.said"))
            return
        self._room.host.show_soon()  # what was said meanwhile does not wait any more
        self._waiting.look()
        self._waiting.end_editing()
