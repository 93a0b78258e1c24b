"""What waits for the next turn: to be read, changed, or taken back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.inert import inert_line
from agent_tui.state.room import RoomState
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.form_fields import own
from tui.screens.room_texts import labels_of
from tui.screens.words import say
from widgets.composer import Composer

SHOWN_CHARACTERS = 200


@dataclass(frozen=True, slots=True)
class Change:
    """What is to become of one message: other words, or another one it is for (``""``: all); neither: it is
    taken back.
    """

    message_id: str
    content: str | None = None
    to: str | None = None


class QueueScreen(ModalScreen[None]):
    """Lists what waits; ``change`` does a change and returns what went wrong."""

    CSS_PATH = "room_dialogs.tcss"
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit", "Change the message", id="queue.edit"),
        Binding("t", "address", "To everybody, or to one agent", id="queue.to"),
        Binding("d,delete", "drop", "Take the message back", id="queue.drop"),
        Binding("escape", "back", "Back", id="queue.back", priority=True),
    ]

    def __init__(
        self, state: RoomState, change: Callable[[Change], Awaitable[str]], *, ascii_only: bool = False
    ) -> None:
        super().__init__()
        self._ascii_only = ascii_only
        self._state = state
        self._change = change
        self._edited = ""  # id of the message that is being changed
        self._shown: tuple[object, ...] | None = None

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide"):
            yield Static(say("queue.title"), classes="title", markup=False)
            yield OptionList(markup=False, compact=True)
            yield Composer(id="queue-line")
            yield Static("", classes="error", markup=False)
            hint = own(say("queue.hint"), ascii_only=self._ascii_only)
            yield Static(hint, classes="hint", markup=False)

    def on_mount(self) -> None:
        """Show what waits, and go on showing it: turns take it away meanwhile."""
        self._look()
        self.set_interval(0.5, self._look)

    def _look(self) -> None:
        queue = self._state.queue
        if tuple(queue) == self._shown:
            return
        self._shown = tuple(queue)
        listed = self.query_one(OptionList)
        at = listed.highlighted or 0
        listed.clear_options()
        for waits in queue:
            agent = self._state.agents.get(waits.to)
            words = inert_line(waits.content, SHOWN_CHARACTERS)
            if agent is not None:
                words = say("queue.whisper", name=inert_line(agent.name, 40), words=words)
            listed.add_option(Option(Content(words), id=waits.id))
        if not queue:
            listed.add_option(Option(Content(say("help.why.nothing_waits")), disabled=True))
        listed.highlighted = min(at, len(queue) - 1) if queue else None
        if self._edited and all(waits.id != self._edited for waits in queue):
            self._end_editing(say("queue.said"))

    @property
    def _chosen(self) -> str:
        at = self.query_one(OptionList).highlighted
        return self._state.queue[at].id if at is not None and at < len(self._state.queue) else ""

    # --- changing --------------------------------------------------------------------------------------

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Change the message that was chosen."""
        event.stop()
        self.action_edit()

    def action_edit(self) -> None:
        """Change the message."""
        chosen = self._chosen
        if chosen:
            self._edited = chosen
            line = self.query_one(Composer)
            line.put(next(waits.content for waits in self._state.queue if waits.id == chosen))
            line.add_class("-open")
            line.focus()

    def action_address(self) -> None:
        """Choose whom the message is for."""
        chosen = self._chosen
        if not chosen or self._edited:
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

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Keep what was written."""
        event.stop()
        self._do(Change(self._edited, event.text.strip()))

    def action_drop(self) -> None:
        """Take the message back."""
        if self._chosen and not self._edited:
            self._do(Change(self._chosen))

    @work(group="change", exclusive=True)
    async def _do(self, change: Change) -> None:
        problem = await self._change(change)
        self._look()
        if problem:
            self.query_one(".error", Static).update(inert_line(problem, 300))
        else:
            self._end_editing("")

    def _end_editing(self, note: str) -> None:
        self._edited = ""
        self.query_one(Composer).remove_class("-open")
        self.query_one(".error", Static).update(note)
        self.query_one(OptionList).focus()

    def action_back(self) -> None:
        """Leave the line, at last the dialog."""
        if self._edited:
            self._end_editing("")
        else:
            self.dismiss()
