"""The program on a terminal, from its first frame to its end.

Only what the first frame needs is loaded before it (architecture.md §3). The screens, and everything about
rooms and chats, come with ``tui.places``.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal

# Read by Textual at import: Textual must not delay painting by more than our 30 Hz clock already does
# (guides: 4 ms instead of 16 ms from key to screen, at the same CPU).
os.environ.setdefault("TEXTUAL_FPS", "240")

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Center
from textual.filter import LineFilter
from textual.widgets import Static
from textual.worker import WorkerFailed

from agent_tui.config.file import Config, ScreenConfig
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui import clipboard, themes
from tui.cli import output
from tui.cli.exits import DONE, PAUSED, exit_code
from tui.keys.layout import read_as_latin
from tui.live.signs import wants_ascii
from tui.request import ScreenRequest, Server
from tui.screens.localised import localised
from tui.screens.words import say
from tui.terminal import ended_by
from widgets.palettes import Backdrop
from widgets.signs import ASCII_SIGNS
from widgets.terminal.frame_clock import FrameClock
from widgets.terminal.garbage import LOOK_SECONDS, Garbage, let_widgets_go
from widgets.terminal.keys_in_order import KeysInOrder
from widgets.terminal.private import end_without_traceback, error_of, forget_notifications

if TYPE_CHECKING:
    from tui.home.place import Where
    from tui.link import ChatLink, RoomLink
    from tui.lists.screen import ListScreen
    from tui.places import Places
    from widgets.status_line import StatusLine
    from widgets.transcript.transcript import Transcript

SIXTEEN: Final = "standard"  # Rich's word for a terminal of sixteen colours
REDUCED: Final = "reduced"
MAX_ERROR_CHARACTERS: Final = 500
MAX_HOST_CHARACTERS: Final = 60
PRESSED: Final = (events.Key, events.Paste, events.MouseDown, events.MouseScrollUp, events.MouseScrollDown)


class AgentTuiApp(KeysInOrder[int]):
    """The list of rooms and a room above it, or a chat. Returns the exit code of cli.md.

    ``places`` opens and closes screens. Actions and messages arrive here because Textual sends them to the
    app.
    """

    TITLE = "agent-tui"
    SUSPENDED_SCREEN_CLASS = "-screen-suspended"
    CSS = """
    Screen { background: $background; color: $foreground; }
    #starting { padding: 1 2; }
    #starting.-home { max-width: 116; }  /* beside the padding; home.tcss has the same measures */
    Screen.-high #starting.-home { padding-top: 6; }
    """
    VERTICAL_BREAKPOINTS = [(0, "-low"), (40, "-high")]  # noqa: RUF012 - as Textual wants it
    CSS_PATH = "app.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "leave", "Quit", id="app.quit", priority=True),
        Binding("q", "leave", "Quit", id="app.quit.quick"),
        Binding("ctrl+c", "interrupt", "Copy or clear; twice: quit", id="app.interrupt", priority=True),
        Binding("question_mark", "help", "Show the keys", id="app.help"),
        Binding("f1", "help", "Show the keys", id="app.help.anywhere", priority=True),
        Binding("ctrl+p", "command_palette", "Command palette", id="app.palette", priority=True),
        Binding("ctrl+t", "themes", "Choose a theme", id="app.theme"),
        Binding("f3", "lists", "Switch between rooms and chats", id="app.lists"),
        Binding("f6", "voice", "Talk in a voice room", id="app.voice"),
        Binding("f4", "setup", "Connect a model", id="app.setup", priority=True),
        Binding("ctrl+z", "suspend_process", "Suspend to the shell", id="app.suspend", priority=True),
    ]

    def __init__(
        self, request: ScreenRequest, link: RoomLink | None = None, chat_link: ChatLink | None = None
    ) -> None:
        has_color = not os.environ.get("NO_COLOR")  # Textual takes it out of the environment
        super().__init__(ansi_color=None if has_color else True)
        let_widgets_go()
        end_without_traceback(self)
        self._request = request
        self._links = (link, chat_link)
        config = request.config
        is_calm = wants_calm(config.screen, os.environ)
        if is_calm:
            self.animation_level = "none"
        self._is_ascii = config_wants_ascii(config)
        self.read_key = partial(read_as_latin, app=self)
        self.clock = FrameClock.for_app(self, frame_seconds=1 / config.screen.frame_rate, is_calm=is_calm)
        self.garbage = Garbage(lambda: self.places.is_quiet)
        self.holds_keys = True  # until a screen is there to take them
        self.parting = ""  # printed when the screen is gone
        self._has_places = False  # they are loaded while the first frame is shown
        self.early_input = request.background  # read by our driver
        self.backdrop = request.background.backdrop() if request.background else Backdrop()
        self.themes_folder = config.path.parent / themes.FOLDER
        # Without a terminal, the number of colours does not matter.
        self.has_colors = has_color and (not request.background or self.console.color_system != SIXTEEN)
        theme, self._theme_problem = themes.first(
            config.theme, self.themes_folder, self.backdrop, has_colors=self.has_colors
        )
        self.register_theme(theme)
        self.theme = theme.name

    def compose(self) -> ComposeResult:
        line = Static(first_line(self._request), id="starting", markup=False)
        yield Center(line.set_class(self._request.home, "-home"))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return Textual's, and the one for a terminal that has only ASCII."""
        filters = super().get_line_filters()
        return [*filters, ASCII_SIGNS] if self._is_ascii else filters

    def notify(self, message: str, **options: Any) -> None:
        """Show a notification. What an earlier key was answered goes, warnings stay; none is shown twice."""
        forget_notifications(self, message)
        super().notify(message, **options)

    def on_mount(self) -> None:
        """Open what was asked for as soon as the first frame is drawn."""
        self.set_class(self._is_ascii, "-ascii")
        self.app_suspend_signal.subscribe(self, lambda _: self.clock.stop())
        self.app_resume_signal.subscribe(self, lambda _: self.clock.start())
        self.watch(self, "app_focus", self.clock.hurry, init=False)
        if self._theme_problem:
            self.notify(inert_line(self._theme_problem), severity="warning", markup=False)
        self.call_after_refresh(self._open)

    async def on_unmount(self) -> None:
        self.garbage.stop()
        if self._has_places:
            self.parting = await self.places.settle()
            await self.places.presence.stop()
            if self.places.chat_link.is_agent:  # what it is still answering ends, too
                await self.places.chat_link.close()

    async def on_event(self, event: events.Event) -> None:
        """Note that a person is present."""
        if self._has_places and isinstance(event, PRESSED):
            self.places.presence.press()
        await super().on_event(event)

    # --- opening ---------------------------------------------------------------------------------------

    @cached_property
    def places(self) -> Places:
        """Every screen, and how to get from one to another."""
        from tui.places import Places  # lazy: as much again as everything that the first frame needs

        return Places(self, self._request, *self._links)

    @work(group="open", exclusive=True)
    async def _open(self) -> None:
        await asyncio.to_thread(importlib.import_module, "tui.places")
        self._has_places = True
        if not self._request.setup and not self.places.chat_link.is_agent:
            self.places.presence.start()
        self.garbage.start()
        self.set_interval(LOOK_SECONDS, self.garbage.look)
        try:
            await self.places.open_first()
            self.screen.call_after_refresh(self.answer_held_keys)
        except AgentTuiError as error:
            # One line on stderr, and the error's exit code.
            line = f"agent-tui: {localised(inert_line(str(error), MAX_ERROR_CHARACTERS))}"
            self.exit(exit_code(error), message=line)

    # --- what the screens ask for ----------------------------------------------------------------------

    def on_list_screen_opened(self, event: ListScreen.Opened) -> None:
        """Open a room or chat that was chosen in the list."""
        self.places.open_listed(event.item, event.message_id, start=event.start)

    def on_list_screen_searches(self, event: ListScreen.Searches) -> None:
        """Search in all rooms and chats."""
        self.places.search(event.words)

    def action_leave(self) -> None:
        self.places.leave()

    def action_leave_room(self) -> None:
        self.places.leave_room()

    def action_elsewhere(self, where: Where) -> None:
        self.places.home.go(where)

    def action_leave_chat(self) -> None:
        self.places.leave_chat()

    def action_voice(self) -> None:
        self.places.talk()

    async def action_leave_voice(self) -> None:
        await self.places.leave_voice()

    def action_leave_list(self) -> None:
        self.places.home.leave_list()

    def action_lists(self, kind: Literal["rooms", "chats", ""] = "") -> None:
        """Go to one of the lists. Without ``kind``: to the chats, or from the chats to the rooms."""
        self.places.switch_lists(kind)

    def action_help(self) -> None:
        self.places.show_help()

    def on_status_line_key_clicked(self, event: StatusLine.KeyClicked) -> None:
        """Do what a key does when its hint was clicked."""
        from tui.keys.names import pressed  # lazy: nothing of the first frame can be clicked

        event.stop()
        if (key := pressed(event.key)) is not None:
            self.post_message(key)

    def action_interrupt(self) -> None:
        self.places.interrupt.press()

    def action_command_palette(self) -> None:
        self.places.palette.show()

    def action_themes(self) -> None:
        self.places.theme.choose()

    def action_setup(self) -> None:
        self.places.set_up()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave ctrl+p to the completion popup while that is open."""
        is_choosing = action == "command_palette" and getattr(self.focused, "is_choosing", False)
        return not is_choosing and super().check_action(action, parameters)

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        """Keep cursors from blinking, on Textual's own screens, too: nothing moves without a reason."""
        if hasattr(event.widget, "cursor_blink"):
            event.widget.cursor_blink = False

    def on_transcript_copy_requested(self, event: Transcript.CopyRequested) -> None:
        """Copy what a reader asked for, and show the result."""
        event.stop()
        self.copy(event.text, event.what)

    @work(group="copy", exclusive=True)
    async def copy(self, text: str, what: str) -> None:
        """Copy a text, and show the result."""
        copied = await clipboard.copy(self, text)
        severity: Literal["warning", "information"] = "warning" if copied.problem else "information"
        self.notify(clipboard.notice(copied, what), severity=severity, markup=False)


def first_line(request: ScreenRequest) -> str:
    """Return what the program is waiting for; for the home screen, its first words in their place."""
    if request.home:
        return f"\n\n  › {say('home.ask.room')}\n    {say('home.about.room')}"
    if isinstance(request.source, Server):
        return say("link.connecting.to", host=inert_line(request.source.host, MAX_HOST_CHARACTERS))
    if request.setup:
        return ""  # a form, which needs no backend yet
    return say("link.starting" if request.source.is_new else "link.connecting")


def wants_calm(screen: ScreenConfig, environ: Mapping[str, str]) -> bool:
    """Return whether motion is reduced: by ``AGENT_TUI_MOTION``, else by ``[screen] motion``, else by
    Textual's own ``TEXTUAL_ANIMATIONS=none``. ``FrameClock`` says what that changes.
    """
    if motion := environ.get("AGENT_TUI_MOTION", ""):
        return motion == REDUCED
    return screen.motion == REDUCED or environ.get("TEXTUAL_ANIMATIONS", "").lower() == "none"


def end_by_signal(app: AgentTuiApp) -> bool:
    """For a signal handler: leave the screen soon; return whether there is an event loop to do that."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return False
    loop.call_soon_threadsafe(app.exit, PAUSED)
    return True


def crash_of(app: AgentTuiApp) -> Exception | None:
    """Return the unhandled error that ended the screen, if one did."""
    error = error_of(app)
    return error.error if isinstance(error, WorkerFailed) else error  # type: ignore[return-value]


def config_wants_ascii(config: Config) -> bool:
    """Whether signs are ASCII. The environment decides, then the config file, then the terminal."""
    named = config.screen.ascii
    return wants_ascii() if named is None or os.environ.get("AGENT_TUI_ASCII") else named


def run_rooms(request: ScreenRequest) -> int:
    """Show the rooms until the user leaves; return the exit code of cli.md.

    Raises whatever ended the screen unexpectedly; ``tui.__main__`` logs it.
    """
    if not os.isatty(2):  # Textual draws on stderr; ``2>file`` must not take the screen with it
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]
    app = AgentTuiApp(request)
    with ended_by(partial(end_by_signal, app)):
        result = app.run(mouse=request.config.screen.mouse)
    if app.parting:
        output.notice(app.parting)
    if (crash := crash_of(app)) is not None:
        raise crash
    return DONE if result is None else result
