"""The program on a terminal: finds the room that was asked for and shows it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from functools import partial
from itertools import chain, repeat
from typing import ClassVar

# Read by Textual at import: its own painting must not wait for more than our 30 Hz clock already does
# (guides: 4 ms instead of 16 ms from key to screen, at the same CPU).
os.environ.setdefault("TEXTUAL_FPS", "240")

from textual import work
from textual.app import App, ComposeResult, SystemCommand
from textual.binding import Binding, BindingType
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Static
from textual.worker import WorkerFailed

from agent_tui.errors import AgentTuiError, TransportError
from agent_tui.events import RoomInfo
from agent_tui.inert import inert_line
from tui import themes
from tui.exits import DONE, PAUSED, UNREACHABLE, exit_code
from tui.first_room import Found, first_room
from tui.link import RoomLink
from tui.request import ScreenRequest
from tui.screens.help import HelpScreen, rows
from tui.screens.room import RoomScreen
from tui.screens.rooms import RoomsScreen
from tui.screens.signs import wants_ascii
from tui.screens.words import say
from widgets.frame_clock import FrameClock

NOT_OURS = ("screen.copy_text",)  # Textual's own: panes cannot be selected yet
MAX_ERROR_CHARACTERS = 500
RETRY_SECONDS = (1, 2, 4, 8)  # between tries to reach a server before there is a room to show


class AgentTuiApp(App[int]):
    """One room, or the list of rooms first. Returns the exit code of cli.md."""

    TITLE = "agent-tui"
    CSS = "Screen { background: $background; color: $foreground; } #starting { padding: 1 2; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "Quit", id="app.quit", priority=True),
        Binding("q", "leave", "Quit", id="app.quit.quick"),
        Binding("question_mark", "help", "Help", id="app.help"),
        Binding("ctrl+z", "suspend_process", "Suspend to the shell", id="app.suspend", priority=True),
    ]

    def __init__(self, request: ScreenRequest) -> None:
        super().__init__()
        self._request = request
        self._ascii_only = wants_ascii()
        self.clock = FrameClock.for_app(self)
        self._link = RoomLink(request.source)
        self._listed = False
        self._is_unreachable = False
        for name in themes.names():
            self.register_theme(themes.load(name))
        self.theme = request.config.theme or themes.DEFAULT

    def compose(self) -> ComposeResult:
        yield Static(say("link.starting"), id="starting", markup=False)

    def on_mount(self) -> None:
        """Mind the signals, then look for the room while the first frame stands."""
        self.app_suspend_signal.subscribe(self, lambda _: self.clock.stop())
        self.app_resume_signal.subscribe(self, lambda _: self.clock.start())
        if not self.is_headless:
            # Without these the terminal would be left in its full-screen mode.
            loop = asyncio.get_running_loop()
            for name in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(name, self.exit, PAUSED)
        self._open()

    # --- opening ---------------------------------------------------------------------------------------

    @work(group="open", exclusive=True)
    async def _open(self) -> None:
        try:
            found = await self._first_room()
        except AgentTuiError as error:
            self._fail(error)
            return
        if isinstance(found, list):
            self._listed = True
            self.push_screen(RoomsScreen(found, ascii_only=self._ascii_only), self._open_listed)
        else:
            self._show_room(found.room_id, start=found.start)

    async def _first_room(self) -> Found | list[RoomInfo]:
        """Find the room, waiting for a server that cannot be reached; says so meanwhile."""
        for delay in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
            try:
                found = await first_room(self._link, self._request.room, os.environ)
            except TransportError as error:
                if not error.retryable or self._request.embedded:
                    raise
                self._is_unreachable = True
                line = say("link.unreachable", title=inert_line(str(error)), seconds=delay)
                self.query_one("#starting", Static).update(line)
            else:
                self._is_unreachable = False
                return found
            await asyncio.sleep(delay)
        raise AssertionError("the tries never end")

    def _open_listed(self, room_id: str | None) -> None:
        if room_id is not None:
            self._show_room(room_id, start=False)

    def _show_room(self, room_id: str, *, start: bool) -> None:
        screen = RoomScreen(self._link, room_id, self.clock, start=start, ascii_only=self._ascii_only)
        self.push_screen(screen)

    def _fail(self, error: AgentTuiError) -> None:
        """End with one line on stderr and the error's exit code."""
        self.exit(exit_code(error), message=f"agent-tui: {inert_line(str(error), MAX_ERROR_CHARACTERS)}")

    # --- keys ------------------------------------------------------------------------------------------

    @property
    def _room(self) -> RoomScreen | None:
        rooms = [screen for screen in self.screen_stack if isinstance(screen, RoomScreen)]
        return rooms[-1] if rooms else None

    def action_leave(self) -> None:
        """Quit; ask first while agents speak."""
        room = self._room
        if room is None or self.screen is not room or room.may_leave:
            self.exit(self._leaving_code(room))
        else:
            room.ask_to_leave()

    def _leaving_code(self, room: RoomScreen | None) -> int:
        if room is None:
            return UNREACHABLE if self._is_unreachable else DONE
        if room.failure is not None:
            return exit_code(room.failure)
        return UNREACHABLE if room.state.link.status == "waiting" else DONE

    def action_help_quit(self) -> None:
        """Say how to leave to who pressed ctrl+c. Textual's own knows only its own key for it."""
        self.notify(say("quit.how"), markup=False)

    def action_leave_room(self) -> None:
        """Go back to the list of rooms, when the room was opened from it."""
        if self._listed and isinstance(self.screen, RoomScreen):
            self.pop_screen()
            self._open()

    def action_help(self) -> None:
        """Show the keys of this screen."""
        self.push_screen(HelpScreen(rows(binding for _, binding in self._offered(self.screen))))

    def get_system_commands(self, screen: Screen[object]) -> list[SystemCommand]:
        """Return the palette: every key of the screen, and the themes."""
        commands = [
            SystemCommand(title, keys, partial(self.run_action, binding.action, node))
            for node, binding in self._offered(screen)
            for keys, title in rows([binding])
            if binding.action != "command_palette"
        ]
        commands += [
            SystemCommand(say("theme.use", name=name), "", partial(setattr, self, "theme", name))
            for name in themes.names()
        ]
        return list({command.title: command for command in commands}.values())

    def _offered(self, screen: Screen[object]) -> list[tuple[DOMNode, Binding]]:
        """Return the bindings of ours on ``screen`` with what they act on, most specific first."""
        return [
            (node, binding)
            for node, binding, *_ in screen.active_bindings.values()
            if binding.action not in NOT_OURS and not binding.system
        ]

    # --- ends that nobody wanted -----------------------------------------------------------------------

    def _fatal_error(self) -> None:
        """End without a traceback on the terminal: it would hold the words of a conversation.

        Overrides Textual, which has no public way to choose how an unhandled error is shown.
        """
        self._close_messages_no_wait()

    @property
    def crash(self) -> Exception | None:
        """The unhandled error that ended the screen, if one did."""
        error = self._exception
        return error.error if isinstance(error, WorkerFailed) else error  # type: ignore[return-value]


def run_rooms(request: ScreenRequest) -> int:
    """Show the rooms until the user leaves; return the exit code of cli.md.

    Raises ``ConfigError`` for an unknown theme, and whatever ended the screen by surprise: the command
    line's last line of defence logs that.
    """
    if not os.isatty(2):  # Textual draws on stderr; ``2>file`` must not take the screen with it
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]
    app = AgentTuiApp(request)
    result = app.run()
    if app.crash is not None:
        raise app.crash
    return DONE if result is None else result
