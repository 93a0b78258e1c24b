"""What waits for the next turn of a room: to be read, changed, or taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from agent_tui.model.inert import inert_line
from agent_tui.state.conversation import ConversationState
from tui.live.waiting import Item, WaitingList
from tui.room.texts import labels_of
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.dialog import Dialog, framed
from tui.screens.words import say


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of one message: other words, or another one it is for (``""``: all); neither: it is
    taken back.
    """

    message_id: str
    content: str | None = None
    to: str | None = None


class QueueScreen(Dialog[None]):
    """Lists what waits; ``change`` does a change and returns what went wrong."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Edit message", id="queue.edit"),
        Binding("t", "address", "Choose the recipient", id="queue.to"),
        Binding("d,delete", "drop", "Discard message", id="queue.drop"),
        Binding("escape", "back", "Back", id="queue.back", priority=True),
    ]

    def __init__(
        self,
        state: ConversationState,
        change: Callable[[Change], Awaitable[str]],
        *,
        ascii_only: bool = False,
    ) -> None:
        super().__init__()
        self._ascii_only = ascii_only
        self._state = state
        self._change = change
        self._waiting = WaitingList(self._items, self._keep, "queue", ascii_only=ascii_only)

    def compose(self) -> ComposeResult:
        hint = say("queue.hint")
        yield framed(say("queue.title"), self._waiting, hint=hint, ascii_only=self._ascii_only)

    def _items(self) -> list[Item]:
        return [
            Item(waits.id, waits.content, self._shown(waits.to, waits.content)) for waits in self._state.queue
        ]

    def _shown(self, to: str, words: str) -> str:
        agent = self._state.agents.get(to)
        if agent is None:
            return words
        return say("queue.whisper", name=inert_line(agent.name, 40), words=words)

    def _keep(self, item_id: str, text: str) -> None:
        self._do(Change(item_id, text))

    def action_edit(self) -> None:
        self._waiting.edit()

    def action_drop(self) -> None:
        if chosen := self._waiting.chosen:
            self._do(Change(chosen))

    def action_back(self) -> None:
        """Leave the line, at last the dialog."""
        if not self._waiting.leave():
            self.dismiss()

    def action_address(self) -> None:
        chosen = self._waiting.chosen
        if not chosen:
            return
        people = [Candidate("", say("queue.everybody"))]
        people += [
            Candidate(agent_id, label, self._state.agents[agent_id].color)
            for label, agent_id in labels_of(self._state).items()
        ]

        async def known() -> list[Candidate]:
            return people

        def address(to: str | None) -> None:
            if to is not None and to != self._to_of(chosen):
                self._do(Change(chosen, to=to))

        asking = ChooseScreen(say("queue.to"), known, self._to_of(chosen), ascii_only=self._ascii_only)
        self.app.push_screen(asking, address)

    def _to_of(self, message_id: str) -> str:
        return next((waits.to for waits in self._state.queue if waits.id == message_id), "")

    @work(group="change", exclusive=True)
    async def _do(self, change: Change) -> None:
        problem = await self._change(change)
        self._waiting.look()
        if problem:
            self._waiting.complain(problem)
        else:
            self._waiting.end_editing()
