"""The program on a terminal: finds the room that was asked for and shows it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator
from functools import partial
from itertools import chain, repeat
from typing import Any, ClassVar, Final, Literal, TypeVar

# Read by Textual at import: its own painting must not wait for more than our 30 Hz clock already does
# (guides: 4 ms instead of 16 ms from key to screen, at the same CPU).
os.environ.setdefault("TEXTUAL_FPS", "240")

from textual import events, on, work
from textual.app import ComposeResult, SystemCommand
from textual.binding import BindingType
from textual.screen import Screen
from textual.widgets import Input, Static, TextArea
from textual.worker import WorkerFailed

from agent_tui.config import Config
from agent_tui.errors import AgentTuiError, ConfigError, TransportError
from agent_tui.events import RoomInfo
from agent_tui.inert import inert_line
from tui import clipboard, themes
from tui.actions import Offer, offers, sections
from tui.chat_app import ChatApp
from tui.exits import DONE, PAUSED, UNREACHABLE, exit_code
from tui.first_chat import first_chat
from tui.first_room import first_room
from tui.garbage import LOOK_SECONDS, Garbage
from tui.key_names import shown_all
from tui.keymap import APP_BINDINGS, resolve
from tui.link import ChatLink, RoomLink
from tui.motion import wants_calm
from tui.request import ScreenRequest
from tui.screens.chat import ChatScreen
from tui.screens.conversations import ConversationsScreen
from tui.screens.help import HelpScreen
from tui.screens.quit import QuitScreen
from tui.screens.room import RoomScreen
from tui.screens.rooms import RoomsScreen
from tui.screens.setup import SetupScreen
from tui.screens.signs import wants_ascii
from tui.screens.theme_picker import ThemeScreen, wear
from tui.screens.words import count, say
from widgets.composer import Composer
from widgets.frame_clock import FrameClock
from widgets.signs import twin
from widgets.transcript import Transcript

T = TypeVar("T")
NOT_IN_PALETTE: Final = frozenset({"app.palette"})  # it is what is open already
MAX_ERROR_CHARACTERS = 500
RETRY_SECONDS = (1, 2, 4, 8)  # between tries to reach a server before there is a room to show


class AgentTuiApp(ChatApp):
    """The list of rooms and a room above it, or a chat. Returns the exit code of cli.md."""

    TITLE = "agent-tui"
    CSS = "Screen { background: $background; color: $foreground; } #starting { padding: 1 2; }"
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = APP_BINDINGS

    def __init__(
        self,
        request: ScreenRequest,
        link: RoomLink | None = None,
        chat_link: ChatLink | None = None,
    ) -> None:
        has_color = not os.environ.get("NO_COLOR")  # Textual takes it out of the environment
        super().__init__(ansi_color=None if has_color else True)
        self._request = request
        config = request.config
        is_calm = wants_calm(config.screen, os.environ)
        if is_calm:
            self.animation_level = "none"
        self._ascii_only = config_wants_ascii(config)
        self.clock = FrameClock.for_app(self, frame_seconds=1 / config.screen.frame_rate, is_calm=is_calm)
        self._garbage = Garbage(lambda: self.is_quiet and not (self._room and self._room.state.speaking))
        self.keymap = resolve(config.keys)
        self.set_keymap(self.keymap.for_textual())
        self._link = link or RoomLink(request.source)
        self._chat_link = chat_link or ChatLink(request.source)
        self._is_unreachable = False
        self._themes_folder = config.path.parent / themes.FOLDER
        self.early_input = request.background  # read by our driver
        self._is_light = request.background.is_light() if request.background else None
        self._theme_name = config.theme  # as it stands in the config file
        theme, self._theme_problem = themes.first(
            config.theme, self._themes_folder, self._is_light, has_color=has_color
        )
        self.register_theme(theme)
        self.theme = theme.name

    def compose(self) -> ComposeResult:
        yield Static(say("link.starting"), id="starting", markup=False)

    def notify(self, message: str, **options: Any) -> None:
        """Tell something in passing, in signs that the terminal has."""
        super().notify(twin(message) if self._ascii_only else message, **options)

    def on_mount(self) -> None:
        """Mind the signals, then look for the room while the first frame stands."""
        self.set_class(self._ascii_only, "-ascii")
        self.app_suspend_signal.subscribe(self, lambda _: self.clock.stop())
        self.app_resume_signal.subscribe(self, lambda _: self.clock.start())
        self.watch(self, "app_focus", self.clock.hurry, init=False)
        if not self.is_headless:
            # Without these the terminal would be left in its full-screen mode.
            loop = asyncio.get_running_loop()
            for name in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(name, self.exit, PAUSED)
        self._garbage.start()
        self.set_interval(LOOK_SECONDS, self._garbage.look)
        self._say_what_cannot_hold()
        if self._request.setup:
            self.query_one("#starting", Static).update("")
            self.action_setup()
        else:
            self._open()

    def on_unmount(self) -> None:
        self._garbage.stop()

    def _say_what_cannot_hold(self) -> None:
        """Tell once about wishes of the config file that could not be met; ``config check`` has them all."""
        if self._theme_problem:
            self.notify(inert_line(self._theme_problem), severity="warning", markup=False)
        problems = len(self.keymap.problems)
        if problems:
            key = "keys.problems.one" if problems == 1 else "keys.problems"
            self.notify(say(key, count=count(problems)), severity="warning", markup=False)

    # --- opening ---------------------------------------------------------------------------------------

    @work(group="open", exclusive=True)
    async def _open(self) -> None:
        chat = self._request.chat
        try:
            if chat is not None:
                is_new = self._request.is_new
                self.open_chat(await self._found(lambda: first_chat(self._chat_link, chat, is_new=is_new)))
                return
            found = await self._found(lambda: first_room(self._link, self._request.room, os.environ))
        except AgentTuiError as error:
            self._fail(error)
            return
        if isinstance(found, list):
            self._show_list(found)
        else:
            self._show_room(found.room_id, start=found.start)

    async def _found(self, find: Callable[[], Awaitable[T]]) -> T:
        """Find what to open, waiting for a server that cannot be reached; says so meanwhile."""
        for delay in chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1])):
            try:
                found = await find()
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

    def _show_list(self, rooms: Iterable[RoomInfo] = ()) -> None:
        screen = RoomsScreen(self._link, rooms, ascii_only=self._ascii_only)
        screen.key_of = self.key_names
        self.push_screen(screen)

    @on(RoomsScreen.Opened)
    def open_listed(self, event: RoomsScreen.Opened) -> None:
        """Open a room that was chosen in the list."""
        event.stop()
        if not isinstance(self.screen, RoomScreen):
            self._show_room(event.room_id, start=event.start)

    def _show_room(self, room_id: str, *, start: bool) -> None:
        screen = RoomScreen(self._link, room_id, self.clock, start=start, ascii_only=self._ascii_only)
        screen.key_now = self.keymap.now
        self.push_screen(screen)

    def _fail(self, error: AgentTuiError) -> None:
        """End with one line on stderr and the error's exit code."""
        self.exit(exit_code(error), message=f"agent-tui: {inert_line(str(error), MAX_ERROR_CHARACTERS)}")

    # --- keys ------------------------------------------------------------------------------------------

    @property
    def _room(self) -> RoomScreen | None:
        rooms = [screen for screen in self.screen_stack if isinstance(screen, RoomScreen)]
        return rooms[-1] if rooms else None

    @property
    def _list(self) -> RoomsScreen | None:
        return next((screen for screen in self.screen_stack if isinstance(screen, RoomsScreen)), None)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Keep cursors from blinking, those of Textual's own screens too: nothing moves without a reason."""
        if isinstance(event.widget, Input | TextArea):
            event.widget.cursor_blink = False

    async def on_key(self, event: events.Key) -> None:
        """Give a line that has just got the focus what was typed behind the key that opened it.

        Keys come in bursts over a slow line: those that are under way when the focus moves come up here
        unanswered, and would be taken for keys of the screen ("/pause" would pause).
        """
        line = self.focused
        if isinstance(line, Input | TextArea) and event.is_printable and event.character:
            event.prevent_default()
            if isinstance(line, Input):
                line.insert_text_at_cursor(event.character)
            else:
                line.insert(event.character)
        elif isinstance(line, Composer) and await self._check_bindings(event.key, priority=True):
            event.prevent_default()  # enter, in the same burst: its own keys come before those of the screen

    def action_leave(self) -> None:
        """Quit; ask first while agents speak. Asked already, the same key means to stay."""
        room = self._room
        if self.ask_to_leave_chat():
            return
        if room is None or room.may_leave:
            self._leave(self._leaving_code(room))
        elif isinstance(self.screen, QuitScreen):
            self.screen.action_choose("stay")
        else:
            room.ask_to_leave()

    @work(group="leave", exclusive=True)
    async def _leave(self, code: int) -> None:
        """Exit, with everything deleted that was to be deleted."""
        await self.settle()
        self.exit(code)

    def _leaving_code(self, room: RoomScreen | None) -> int:
        shown = room or self.chat
        if shown is None:
            return UNREACHABLE if self._is_unreachable else DONE
        if shown.failure is not None:
            return exit_code(shown.failure)
        return UNREACHABLE if shown.state.link.status == "waiting" else DONE

    def action_help_quit(self) -> None:
        """Say how to leave to who pressed ctrl+c. Textual's own knows only its own key for it."""
        quits = self.key_names("app.quit.quick", "app.quit")
        pauses = self.key_names("room.pause") or self.key_names("room.pause.anywhere")
        self.notify(say("quit.how", quit=quits, pause=pauses), markup=False)

    def key_names(self, *binding_ids: str) -> str:
        """Return the first key of each action for a person, "q or ctrl+q"; who has none is left out."""
        keys = [self.keymap.keys[binding_id][:1] for binding_id in binding_ids]
        return say("keys.or").join(shown_all(key, ascii_only=self._ascii_only) for key in keys if key)

    def action_leave_room(self) -> None:
        """Go back to the list of rooms, which goes on where it was."""
        if isinstance(self.screen, RoomScreen):
            self.pop_screen()
            if self._list is None:
                self._show_list()

    def action_lists(self) -> None:
        """Go to the list of chats, or from chats to the list of rooms."""
        if isinstance(self.screen, ChatScreen | ConversationsScreen):
            self.leave_for(self._show_list)
        elif isinstance(self.screen, RoomScreen | RoomsScreen):
            self.leave_for(self.show_chats)

    def action_help(self) -> None:
        """Show the keys of this screen."""
        self.push_screen(HelpScreen(sections(self.screen, self.keymap, ascii_only=self._ascii_only)))

    def get_system_commands(self, screen: Screen[object]) -> Iterator[SystemCommand]:
        """Yield the palette: everything that the screen can do, with its keys, and the themes."""
        for offer in offers(screen, self.keymap):
            if NOT_IN_PALETTE.isdisjoint(offer.ids):
                keys = shown_all(offer.keys, ascii_only=self._ascii_only) or say("help.no_key")
                line = f"{keys} – {offer.reason}" if offer.reason else keys
                yield SystemCommand(offer.description, line, partial(self._do, offer))
        for name in (themes.AUTO, *themes.names(self._themes_folder)):
            yield SystemCommand(say("theme.use", name=name), say("theme.once"), partial(self._wear, name))

    async def _do(self, offer: Offer) -> None:
        """Do what was chosen in the palette, or say why it cannot be done now."""
        if offer.reason:
            self.notify(f"{offer.description}: {offer.reason}", markup=False)
        else:
            await self.run_action(offer.action, offer.node)

    def action_themes(self) -> None:
        """Let a theme be chosen."""
        path = self._request.config.path
        screen = ThemeScreen(path, self._theme_name, self._is_light, ascii_only=self._ascii_only)
        self.push_screen(screen, self._theme_kept)

    def action_setup(self) -> None:
        """Set up a provider of models for the backend of this machine."""
        if not self._request.embedded:
            self.notify(say("setup.foreign"), severity="warning", markup=False)
            return
        screen = SetupScreen(self._request.config.path, self._link.client, ascii_only=self._ascii_only)
        self.push_screen(screen, self._set_up)

    def _set_up(self, name: str | None) -> None:
        if self._request.setup:
            self.exit(DONE, message=say("setup.done", name=name) if name else None)

    def _theme_kept(self, name: str | None) -> None:
        self._theme_name = name or self._theme_name

    def _wear(self, name: str) -> None:
        """Wear a theme until the end; of one that cannot be read, say what is wrong."""
        known = themes.resolve(name, self._is_light)
        try:
            wear(self, themes.load(known, self._themes_folder, is_light=self._is_light))
        except ConfigError as error:
            self.notify(inert_line(str(error)), severity="warning", markup=False)

    # --- copying ---------------------------------------------------------------------------------------

    @on(Transcript.CopyRequested)
    def copy_requested(self, event: Transcript.CopyRequested) -> None:
        """Copy what a reader asked for, and say what became of it."""
        event.stop()
        self._copy(event.text, event.what)

    @work(group="copy", exclusive=True)
    async def _copy(self, text: str, what: str) -> None:
        copied = await clipboard.copy(self, text)
        severity: Literal["warning", "information"] = "warning" if copied.problem else "information"
        self.notify(clipboard.notice(copied, what), severity=severity, markup=False)

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


def config_wants_ascii(config: Config) -> bool:
    """Whether signs are ASCII: the environment decides, then the config file, then what the terminal can."""
    named = config.screen.ascii
    return wants_ascii() if named is None or os.environ.get("AGENT_TUI_ASCII") else named


def run_rooms(request: ScreenRequest) -> int:
    """Show the rooms until the user leaves; return the exit code of cli.md.

    Raises whatever ended the screen by surprise: the command line's last line of defence logs that.
    """
    if not os.isatty(2):  # Textual draws on stderr; ``2>file`` must not take the screen with it
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]
    app = AgentTuiApp(request)
    result = app.run(mouse=request.config.screen.mouse)
    if app.crash is not None:
        raise app.crash
    return DONE if result is None else result
