"""The room that a screen shows: its state, its server, and the panes that are fed with what happens."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from textual.widgets import Static

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError
from agent_tui.state.agents import Agent
from agent_tui.state.conversation import ConversationState
from tui.link import RoomLink
from tui.live.host import Host
from tui.live.key_hints import key_of
from tui.live.opened import OpenConversation
from tui.live.steps.rows import step_key
from tui.live.texts import Spot
from tui.room import texts
from tui.room.composer import RoomComposer
from tui.room.panes import RoomPanes
from tui.screens.words import say
from widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

MOST_LOOKS: Final = 15  # until a message that was found is in sight
LOOK_SECONDS: Final = 1 / 30  # between two of them


class OpenRoom(OpenConversation["RoomsClient"]):
    """Takes every event into the state and onto the panes; answers ``approvals.Questions``."""

    link: RoomLink

    def __init__(
        self, link: RoomLink, room_id: str, host: Host, *, on_event: Callable[[ev.Event], None]
    ) -> None:
        state = ConversationState(ev.RoomInfo(room_id))
        self.panes = RoomPanes(state, host.clock)
        super().__init__(state, link, host, on_event)
        self.go_to = ""  # id of the message to show once the room is loaded
        self.composer = RoomComposer(room_id)
        self.place = Static(say("room.loading"), id="loading", markup=False)
        self._has_view = False  # the timeline or the panes were chosen, as the room says
        self._fitting = asyncio.Lock()  # events come from the room, and from answers to what was asked

    @property
    def focused_agent(self) -> Agent | None:
        return self.state.agents.get(self.panes.current)

    @property
    def begins_in_timeline(self) -> bool:
        """Whether the room opens with the timeline, not with the panes."""
        room = self.state.room
        return room.view == "timeline" or (room.view == "auto" and room.execution_mode == "sequential")

    # --- what comes in ---------------------------------------------------------------------------------

    async def take(self, event: ev.Event) -> None:
        self.state.apply(event)
        panes = self.panes
        if isinstance(event, ev.TextAdded | ev.StepAdded) and panes.fits:
            panes.take(only_words=True)  # the hot path: no header, no line, no title
            return
        self.following.note(event)
        if isinstance(event, ev.QueueChanged | ev.RunPaused | ev.RunCompleted):
            # What a turn cost that was cut or failed is known to the server alone.
            self.host.run("changed", self.read_again(), exclusive=True)
        if not panes.fits:
            async with self._fitting:
                await panes.fit()
        is_begun = bool(self.state.turns) or self.state.room.status == "running"
        if not self._has_view and is_begun and self.state.loaded and self.state.agents:
            self._has_view = True  # before that, panes say what their agents are about
            await panes.begin_in(timeline=self.begins_in_timeline)
        if self.state.loaded and not self.state.agents:
            # A server that shows only runs names no room: its agents are known once they speak.
            is_shown = bool(self.state.room.name)
            self.place.update(texts.no_agents(key_of(self.host.screen, "room.settings")) if is_shown else "")
        self.place.set_class(bool(self.state.agents), "-hidden")
        panes.set_class(not self.state.agents, "-hidden")
        panes.take()
        if self.go_to and panes.fits:
            self._go_there(self.go_to)
        self.tell_unpriced()
        self.look_if_deleted(event)
        self._on_event(event)

    async def read_again(self) -> None:
        """Take settings, agents, queue and usage as the server has them: other programs may change them."""
        with suppress(AgentTuiError):  # it is read again with the next change
            await self.take(ev.RoomChanged(await (await self.client()).show(self.id)))
            self.host.show_soon()

    def tell_deleted(self) -> None:
        self.composer.tell(say("room.deleted", press=key_of(self.host.screen, "live.new_room")))

    @property
    def why_no_round(self) -> str:
        """Why a completed room cannot have another round, as a line; "" if it can."""
        return texts.why_no_round(self.state, key_of(self.host.screen, "room.settings"))

    async def add_a_round(self, client: RoomsClient) -> None:
        """Give a completed room one more round."""
        info = await client.change(self.id, max_rounds=self.state.room.max_rounds + 1)
        await self.take(ev.RoomChanged(info))

    def _go_there(self, message_id: str, looks: int = MOST_LOOKS) -> None:
        """Show a message, and check again: its pane may not be laid out yet."""
        turn = self.state.turn_of(message_id)
        if turn is None:
            return
        self.go_to = ""
        if not self.panes.go_to_turn(turn) and looks:
            self.panes.set_timer(LOOK_SECONDS, partial(self._go_there, message_id, looks - 1))

    # --- tools that ask --------------------------------------------------------------------------------

    def place_of(self, spot: Spot) -> tuple[Transcript, str] | None:
        """Return the agent's transcript, and the key of the row there; None if it is not visible."""
        turn = self.state.turns.get(spot[0])
        transcript = self.panes.transcript_of(turn.agent_id) if turn is not None else None
        if transcript is None or not transcript.is_on_screen:
            return None
        return transcript, step_key(*spot)

    def go_to_ask(self, spot: Spot) -> None:
        """Show the pane of the agent that asks."""
        turn = self.state.turns.get(spot[0])
        if turn is not None and self.panes.transcript_of(turn.agent_id) is not self.panes.active:
            self.panes.go_to(turn.agent_id)

    def focus_words(self) -> None:
        self.panes.focus_current()
