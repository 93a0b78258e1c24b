"""What a room screen asks of the room as a whole: to run, to pause, to be left."""

from __future__ import annotations

import time
from contextlib import aclosing
from typing import ClassVar, Literal

from textual import work
from textual.binding import Binding, BindingType

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, NotOffered, StreamLost
from agent_tui.state.conversation import ConversationState
from tui.link import RoomLink
from tui.screens import room_texts as texts
from tui.screens.quit import Choice, QuitScreen
from tui.screens.room_asking import RoomAsking
from tui.screens.starting import resume_room, start_room
from tui.screens.words import say
from widgets.terminal.frame_clock import FrameClock

ASK_AGAIN_SECONDS = 2.0  # a second key press within this is the same wish


class RoomRunning(RoomAsking):
    """The part of a room screen that runs it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("p,space", "pause_or_resume", "Pause or resume the room", id="room.pause"),
        Binding(
            "ctrl+s", "pause_or_resume", "Pause or resume the room", id="room.pause.anywhere", priority=True
        ),
        Binding("c", "go_on", "Continue what was cut off", id="room.continue"),
    ]

    def __init__(self, link: RoomLink, room_id: str, clock: FrameClock, *, ascii_only: bool) -> None:
        super().__init__(clock, ascii_only=ascii_only)
        self.state = ConversationState(ev.RoomInfo(room_id))
        self._link = link
        self._asked = texts.Asked()
        self._asked_at = 0.0

    # --- running ---------------------------------------------------------------------------------------

    @work(group="run", exclusive=True)
    async def _run_here(self) -> None:
        """Show a run of a server that shows a room only while it runs it. Never repeated by itself."""
        try:
            async with aclosing(await self._link.run(self.state.room.id)) as events:
                async for event in events:
                    await self._apply(event)
            await self._apply(ev.LinkChanged("ended"))
        except StreamLost as error:
            await self._apply(ev.LinkChanged("lost", str(error)))
        except AgentTuiError as error:
            await self._apply(ev.LinkChanged("refused", str(error)))

    def action_pause_or_resume(self) -> None:
        """Pause a running room; let any other go on."""
        if self._asked.intent and time.monotonic() - self._asked_at < ASK_AGAIN_SECONDS:
            return  # asked already: the answer is on its way
        if self.state.link.status in ("ended", "lost") and self.state.room.status != "running":
            self._begin_run_here()
            return
        match self.state.room.status:
            case "running":
                self._ask("pausing")
            case "paused" | "error":
                self._ask("resuming")
            case "completed":
                self.notify(say("room.completed.hint"), markup=False)
            case _:
                self._ask("starting")

    def action_go_on(self) -> None:
        """Continue after a drop that could not be mended by itself."""
        if self.state.link.status == "lost":
            self._begin_run_here()

    def _begin_run_here(self) -> None:
        self._asked = texts.Asked("starting")
        self.state.apply(ev.LinkChanged("connecting"))
        self._show()
        self._run_here()

    @work(group="ask")
    async def _ask(self, intent: Literal["pausing", "resuming", "starting"]) -> None:
        self._asked = texts.Asked(intent, by_us=intent == "pausing")
        self._asked_at = time.monotonic()
        self._show()
        try:
            client = await self._link.client()
            match intent:
                case "pausing":
                    await client.pause(self.state.room.id)
                case "resuming" if self.state.room.status == "paused":
                    await resume_room(client, self.state.room.id)
                case _:
                    await start_room(client, self.state.room.id)
        except AgentTuiError as error:
            self._asked = texts.Asked()
            self.notify(str(error), severity="error", markup=False)
        self._show()

    # --- leaving ---------------------------------------------------------------------------------------

    @property
    def may_leave(self) -> bool:
        """Whether nobody has to be asked: no agent speaks."""
        return self.state.room.status != "running" or self.state.link.status in ("lost", "refused")

    def ask_to_leave(self) -> None:
        """Ask what is to become of the agents that speak, then leave."""
        self.app.push_screen(QuitScreen(), self._chosen)

    def _chosen(self, choice: Choice | None) -> None:
        if choice in ("pause", "keep"):
            self._leave(choice)

    @work(group="leave", exclusive=True)
    async def _leave(self, choice: Choice) -> None:
        try:
            client = await self._link.client()
            if choice == "keep":
                await client.change(self.state.room.id, keep_running=True)
            else:
                await client.pause(self.state.room.id)
        except NotOffered:
            pass  # a server without pause: leaving is all that can be done, and it was asked for
        except AgentTuiError as error:
            self.notify(str(error), severity="error", markup=False)
            return
        self.app.exit(0)
