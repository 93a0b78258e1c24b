"""Running a room: to start, pause, resume and leave it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import aclosing, suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, NotOffered
from tui.room import texts
from tui.room.open_room import OpenRoom
from tui.screens.dialog import QuitAnswer, QuitScreen, ask_first
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.rooms import RoomsClient

ASK_AGAIN_SECONDS: Final = 2.0  # a second key press within this is the same wish


async def start_room(client: RoomsClient, room_id: str) -> None:
    """Start a room that never ran. ``run`` is a stream; closing it never stops the room (cli.md)."""
    async with aclosing(client.run_frames(room_id)) as frames:
        async for frame in frames:
            if not isinstance(frame, ev.LinkChanged):
                return


class RoomRun:
    """Asks the server to run or pause the room. ``asked`` is what has not been answered yet."""

    def __init__(self, room: OpenRoom, *, changed: Callable[[], None], start: bool) -> None:
        """``changed`` is called when something else is asked; ``start`` runs the room once it is loaded."""
        self.asked = texts.PendingRequests()
        self._room = room
        self._changed = changed
        self._start = start
        self._asked_at = 0.0
        self._is_shown_running = False  # the server shows a room only while it is running

    def note(self, event: ev.Event) -> None:
        """Follow what became of requests."""
        match event:
            case ev.RunStarted():
                self.asked = texts.PendingRequests()
            case ev.RunPaused() | ev.RunCompleted() | ev.RunFailed() | ev.RoomLoaded():
                self.asked = texts.PendingRequests(by_us=self.asked.by_us)
                if isinstance(event, ev.RoomLoaded):
                    self._start_as_wished()
            case ev.LinkChanged():
                self._note_link(event)
            case _:
                pass

    def _note_link(self, link: ev.LinkChanged) -> None:
        state = self._room.state
        match link.status:
            case "ended" | "live":
                self._is_shown_running |= link.status == "ended"
                self._start_as_wished()
            case "waiting" if state.loaded:
                self._start = False
            case "refused" if self._is_shown_running and state.room.status != "running":
                self.asked = texts.PendingRequests()
                state.apply(ev.LinkChanged("ended", link.detail))  # nothing began: it may be tried again

    def _start_as_wished(self) -> None:
        if self._start:
            self._start = False
            self.pause_or_resume()

    def pause_or_resume(self) -> None:
        """Pause a running room; resume any other, a completed one after a question with one more round."""
        state = self._room.state
        if self.asked.intent and time.monotonic() - self._asked_at < ASK_AGAIN_SECONDS:
            return  # asked already: the answer is on its way
        link, is_running = state.link.status, state.room.status == "running"
        if self._is_shown_running and not is_running:
            if link in ("ended", "lost"):  # else it was asked for, and nothing came yet
                self.begin_here()
            return
        if not state.loaded:
            self._room.host.tell(say("help.why.not_loaded"))
            return
        if link == "connecting" and not (is_running or self._room.link.is_embedded):
            # Whether the server has a log of the room is not known yet: without one, the stream of its run is
            # the only one, and would be closed.
            self._start = True
            return
        if state.room.archived and not is_running:
            self._room.host.tell(say("room.is_archived"))
            return
        match state.room.status:
            case "running":
                self._begin("pausing")
            case "paused" | "error":
                self._begin("resuming")
            case "completed" if self._room.host.allows(self._room.why_no_round):
                ask_first(self._room.host.screen.app, say("room.add_round"), partial(self._begin, "resuming"))
            case "completed":
                pass  # it was said why not
            case _:
                self._begin("starting")

    def begin_here(self) -> None:
        self.asked = texts.PendingRequests("starting")
        self._room.state.apply(ev.LinkChanged("connecting"))
        self._changed()
        self._room.host.show_soon()
        self._room.following.begin_run(partial(self._room.link.run, self._room.id))

    def _begin(self, intent: texts.Intent) -> None:
        self.asked = texts.PendingRequests(intent, by_us=intent == "pausing")
        self._asked_at = time.monotonic()
        self._changed()
        self._room.host.run("ask", self._ask(intent))

    async def _ask(self, intent: texts.Intent) -> None:
        room, status = self._room, self._room.state.room.status
        try:
            client = await room.client()
            if intent == "pausing":
                await client.pause(room.id)
                return
            if intent == "resuming" and status == "completed":
                await room.add_a_round(client)
            if intent == "resuming" and status in ("paused", "completed"):
                with suppress(NotOffered):  # by a server that only runs rooms: that starts or resumes
                    await client.resume(room.id)
                    return
            await start_room(client, room.id)
        except AgentTuiError as error:
            self.asked = texts.PendingRequests()
            room.host.fail(error)
            self._changed()

    # --- leaving ---------------------------------------------------------------------------------------

    @property
    def may_leave(self) -> bool:
        """Whether it can be left without a question: no agent is speaking."""
        state = self._room.state
        return state.room.status != "running" or state.link.status in ("lost", "refused")

    def ask_to_leave(self) -> None:
        """Ask what to do with the agents that are speaking, then leave."""
        self._room.host.screen.app.clear_notifications()  # one of them may say what another ctrl+c does
        self._room.host.open(QuitScreen(), self._on_chosen)

    def _on_chosen(self, choice: QuitAnswer | None) -> None:
        if choice in ("pause", "keep"):
            self._room.host.run("leave", self._leave(choice), exclusive=True)

    async def _leave(self, choice: QuitAnswer) -> None:
        room = self._room
        try:
            client = await room.client()
            if choice == "keep":
                await client.change(room.id, keep_running=True)
            else:
                await client.pause(room.id)
        except NotOffered:
            pass  # a server without pause: leaving is all that can be done, and it was asked for
        except AgentTuiError as error:
            room.host.fail(error)
            return
        room.host.leave_program()
