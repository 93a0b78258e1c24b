"""What a person does in a room: stop, skip, retry and continue an agent, say a word, change what waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Literal
from uuid import uuid4

from textual import work
from textual.binding import Binding, BindingType

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError
from agent_tui.state.agents import Agent
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import FINISHED_BY, Turn
from tui.link import RoomLink
from tui.screens.question import QuestionScreen
from tui.screens.queue import Change, QueueScreen
from tui.screens.room_running import RoomRunning
from tui.screens.room_settings import SettingsScreen
from tui.screens.room_texts import labels_of
from tui.screens.words import say
from widgets.composer import Composer, whispered
from widgets.terminal.frame_clock import FrameClock

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

Act = Literal["stop", "skip", "retry", "continue"]
_CALL_OF: Final[Mapping[str, str]] = {"queue": "queue", "settings": "change", "say": "say"}


@dataclass(frozen=True, slots=True)
class Sending:
    """One message on its way: ``key`` makes it one, however often it is sent."""

    text: str  # as it was written
    content: str
    to: str
    when: str
    key: str


class RoomActs(RoomRunning):
    """The part of a room screen that acts on agents and speaks into the room."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("i,enter", "compose", "Write to the room", id="room.say"),
        Binding("s", "act('stop')", "Stop the agent", id="agent.stop"),
        Binding("x", "act('skip')", "Skip its turn, and undo it", id="agent.skip"),
        Binding("r", "act('retry')", "Retry this turn", id="agent.retry"),
        Binding("u", "queue", "Words that wait", id="room.queue"),
        Binding("e", "settings", "Change the room", id="room.settings"),
    ]

    def __init__(self, link: RoomLink, room_id: str, clock: FrameClock, *, ascii_only: bool) -> None:
        super().__init__(link, room_id, clock, ascii_only=ascii_only)
        self._sending: Sending | None = None  # not yet acknowledged
        self._is_sending = self._is_asking = False
        self._is_more = False  # something else is to be sent behind what is on its way
        self._missing: Mapping[str, str] = {}

    # --- what can be done ------------------------------------------------------------------------------

    @property
    def focused_agent(self) -> Agent | None:
        """The agent that keys act on."""
        return self.state.agents.get(self._panes.current)

    def why_not(self, act: str) -> str:
        """Return why ``act`` (stop, skip, retry, continue, say, queue, settings) cannot be done now, as a
        sentence; ``""`` if it can.
        """
        if act == "continue" and self.state.link.status == "lost":
            return ""
        missing = self._missing.get(_CALL_OF.get(act, act), "")
        if missing:
            return missing
        if not self.state.loaded:
            return say("help.why.not_loaded")
        reason = ""
        if act in ("stop", "skip", "retry", "continue"):
            reason = why_not(self.state, self.focused_agent, act)
        elif act == "queue" and not self.state.queue:
            reason = "nothing_waits"
        return say(f"help.why.{reason}") if reason else ""

    @work(group="missing", exclusive=True)
    async def _look_what_is_missing(self) -> None:
        """Ask a server that is not ours what it lacks; ours has everything."""
        if self._link.is_embedded:
            return
        try:
            client = await self._link.client()
            self._missing = await client.missing(self.state.room.id)
        except AgentTuiError:
            return  # then each call says so itself
        if "say" in self._missing:
            self._composer.line.placeholder = self._missing["say"]
        self._show()

    # --- one agent -------------------------------------------------------------------------------------

    def action_go_on(self) -> None:
        """Continue: the run after a drop that could not be mended, else the turn that was cut off."""
        if self.state.link.status == "lost":
            super().action_go_on()
        else:
            self.action_act("continue")

    def action_act(self, act: Act) -> None:
        """Stop, skip, retry or continue the agent in whose pane the reader is."""
        agent, reason = self.focused_agent, self.why_not(act)
        if agent is None or reason:
            self.notify(reason or say("help.why.not_now"), markup=False)
        else:
            self._act(act, agent.id)

    @work(group="act")
    async def _act(self, act: Act, agent_id: str) -> None:
        async def call(client: RoomsClient) -> ev.RoomInfo:
            calls = {
                "stop": client.stop_agent,
                "skip": client.skip_agent,
                "retry": client.retry_agent,
                "continue": client.continue_agent,
            }
            return await calls[act](self.state.room.id, agent_id)

        await self._changed_by(call)

    async def _changed_by(self, call: Callable[[RoomsClient], Awaitable[ev.RoomInfo]]) -> str:
        """Take what a call answers into the state; return what went wrong, which is also said."""
        try:
            room = await call(await self._link.client())
        except AgentTuiError as error:
            self.notify(str(error), severity="error", markup=False)
            return str(error)
        await self._apply(ev.RoomChanged(room))
        return ""

    # --- speaking into the room ------------------------------------------------------------------------

    def action_compose(self) -> None:
        """Write to the room."""
        self._composer.open()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Send what was written; a text that could not be sent goes again as the same message."""
        event.stop()
        reason = self.why_not("say")
        if self._is_sending or self._is_asking:  # enter was pressed twice
            self._is_more = (
                self._is_sending and self._sending is not None and event.text != self._sending.text
            )
            return
        if reason:
            self._composer.tell(reason)
            return
        labels = labels_of(self.state)
        name, content = whispered(event.text, list(labels))
        to, when = labels.get(name, ""), self._composer.when
        known = self._sending
        if known is None or (known.text, known.to, known.when) != (event.text, to, when):
            known = Sending(event.text, content, to, when, uuid4().hex)
        if not content:
            self._composer.tell(say("composer.nothing"))
            return
        self._sending = known
        if self.state.room.status == "completed":
            self._is_asking = True
            question = QuestionScreen(say("composer.round"), ascii_only=self._ascii_only)
            self.app.push_screen(question, self._add_a_round)
        else:
            self._begin_sending(known, add_a_round=False)

    def _add_a_round(self, is_wanted: bool | None) -> None:
        self._is_asking = False
        if is_wanted and self._sending is not None:
            self._begin_sending(self._sending, add_a_round=True)

    def _begin_sending(self, sending: Sending, *, add_a_round: bool) -> None:
        self._is_sending = True  # before the worker begins: more may be submitted until then
        self._send(sending, add_a_round=add_a_round)

    @work(group="say")
    async def _send(self, sending: Sending, *, add_a_round: bool) -> None:
        try:
            client = await self._link.client()
            if add_a_round:
                room = await client.change(self.state.room.id, max_rounds=self.state.room.max_rounds + 1)
                await self._apply(ev.RoomChanged(room))
            said = await client.say(
                self.state.room.id, sending.content, when=sending.when, to=sending.to, client_key=sending.key
            )
            self._sending = None
            self._composer.sent(sending.text)
            self._take_queue(said.queue)
            if add_a_round:
                await client.resume(self.state.room.id)
        except AgentTuiError as error:
            self._composer.tell(say("composer.failed", reason=str(error)))
        finally:
            self._is_sending = False
        self._show()
        if self._is_more and self._sending is None:
            self._composer.line.action_send()
        self._is_more = False

    def _take_queue(self, queue: Sequence[ev.QueuedMessage]) -> None:
        """Show what waits; what was said meanwhile does not wait any more."""
        self.state.take_queue(queue)
        self._show()

    # --- what waits, and what the room is ----------------------------------------------------------------

    def action_queue(self) -> None:
        """Show what waits for the next turn."""
        reason = self.why_not("queue")
        if reason:
            self.notify(reason, markup=False)
        else:
            self.app.push_screen(QueueScreen(self.state, self._change_queue, ascii_only=self._ascii_only))

    async def _change_queue(self, change: Change) -> str:
        """Change or drop what waits; return what went wrong."""
        try:
            client = await self._link.client()
            if change.content is None and change.to is None:
                queue = await client.drop_queued(self.state.room.id, change.message_id)
            else:
                queue = await client.change_queued(
                    self.state.room.id, change.message_id, content=change.content, to=change.to
                )
        except AgentTuiError as error:
            return str(error)
        self._take_queue(queue)
        return ""

    def action_settings(self) -> None:
        """Change the room."""
        reason = self.why_not("settings")
        if reason:
            self.notify(reason, markup=False)
        else:
            settings = SettingsScreen(self.state, self._link, self._take_room, ascii_only=self._ascii_only)
            self.app.push_screen(settings)

    async def _take_room(self, room: ev.RoomInfo) -> None:
        await self._apply(ev.RoomChanged(room))


def why_not(state: ConversationState, agent: Agent | None, act: str) -> str:
    """Return the last part of the key of the sentence that says why an agent cannot be stopped, skipped,
    asked again or continued; ``""`` if it can.
    """
    if agent is None:
        return "no_agent"
    if act == "stop":
        return "" if agent.open_turn is not None else "not_speaking"
    if act == "skip":
        return "" if state.room.status != "completed" else "room_done"
    if not agent.turns:
        return "nothing_to_retry" if act == "retry" else "nothing_to_continue"
    newest = agent.turns[-1]
    if act == "continue":
        return _why_not_on(state, newest)
    for turn in reversed(state.turns.values()):
        if turn is newest:
            break
        is_anothers = turn.role != "user" and turn.agent_id != agent.id
        if is_anothers and (
            state.room.execution_mode != "parallel" or turn.round_number > newest.round_number
        ):
            return "spoke_after"
    return ""


def _why_not_on(state: ConversationState, newest: Turn) -> str:
    """Return the same of the rest of an agent's newest turn."""
    if newest.status not in ("cut", "failed") or newest.superseded or newest.interrupted == "skip":
        return "nothing_to_continue"
    if not (newest.length or newest.steps):
        return "nothing_to_continue"
    if newest.status == "cut" and newest.interrupted not in FINISHED_BY:
        return "goes_on_itself"
    return "round_over" if newest.round_number < state.round - 1 else ""
