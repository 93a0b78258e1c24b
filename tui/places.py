"""The screens of the program: rooms, chats, their lists, the dialogs above them, and how to get from one to
another.

Loaded while the first frame is shown, since it imports every screen.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from textual.command import CommandPalette
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Input, Static, TextArea

from agent_tui.config.voice import DEFAULT_ROOM
from agent_tui.model.errors import TransportError
from agent_tui.model.events import ConversationInfo, RoomInfo
from agent_tui.model.inert import inert_line
from tui.chat.first import NEW, NewChat, fields_here, first_chat
from tui.chat.screen import ChatScreen
from tui.cli.exits import DONE, UNREACHABLE, exit_code
from tui.forms.model_fields import ModelFields
from tui.forms.setup import SetupScreen
from tui.found import FoundModels
from tui.home.place import HomePlace
from tui.home.screen import HomeScreen
from tui.keys.actions import sections
from tui.keys.keymap import resolve
from tui.keys.names import shown_all
from tui.keys.palette import Palette
from tui.link import ChatLink, RoomLink
from tui.lists.acts import Deletions
from tui.lists.chats import ConversationsScreen
from tui.lists.rooms import RoomsScreen
from tui.lists.screen import ListScreen
from tui.lists.search import SearchScreen
from tui.presence import Presence
from tui.request import ScreenRequest
from tui.room.first import first_room
from tui.room.screen import RoomScreen
from tui.screens.dialog import QuestionScreen, QuitScreen, ask_first
from tui.screens.help import HelpScreen
from tui.screens.localised import localised
from tui.screens.theme_picker import ThemeChoice
from tui.screens.words import say, say_count
from tui.voice.opening import VoiceOpening
from tui.voice.request import VoiceRequest
from tui.voice.screen import VoiceScreen
from widgets.composer import Composer
from widgets.signs import is_ascii
from widgets.transcript.transcript import Transcript
from widgets.units import duration

if TYPE_CHECKING:
    from agent_tui.clients.records import Hit, PausesSoon
    from tui.app import AgentTuiApp

MAX_NAME_CHARACTERS: Final = 60
AGAIN_SECONDS: Final = 2.0  # a second ctrl+c within this quits
RETRY_SECONDS: Final = (1, 2, 4, 8)  # between tries to reach a server before there is a room to show
LEAVE_SECONDS: Final = 3.0  # how long quitting waits for servers to delete what was deleted

S = TypeVar("S", bound=Screen[Any])
T = TypeVar("T")


class Places:
    """Opens the screens of one program, switches between them, and quits."""

    def __init__(
        self, app: AgentTuiApp, request: ScreenRequest, link: RoomLink | None, chat_link: ChatLink | None
    ) -> None:
        self.link = link or RoomLink(request.source)
        self.chat_link = chat_link or ChatLink(request.source)
        self._deletions = Deletions(self.link), Deletions(self.chat_link)
        # The lists have connections of their own, which stay open when screens close.
        self.presence = Presence(link or RoomLink(request.source), self._tell_pausing)
        self.home = HomePlace(app, self, request)
        self.keymap = resolve(request.config.keys)
        self.interrupt = Interrupt(app)
        self.theme = ThemeChoice(app, request.config)
        self.palette = Palette(app, self.keymap)
        self._app = app
        self._request = request
        self._is_unreachable = False  # the server, before there is a room to show
        app.set_keymap(self.keymap.for_textual())
        problems = len(self.keymap.problems)  # ``config check`` lists them all
        if problems:
            app.notify(say_count("keys.problems", problems), severity="warning", markup=False)

    # --- where one is ----------------------------------------------------------------------------------

    @property
    def room(self) -> RoomScreen | None:
        return self._open_one(RoomScreen)

    @property
    def chat(self) -> ChatScreen | None:
        return self._open_one(ChatScreen)

    def _open_one(self, kind: type[S]) -> S | None:
        return next((screen for screen in self._app.screen_stack if isinstance(screen, kind)), None)

    @property
    def is_quiet(self) -> bool:
        """Whether nothing is running."""
        room, chat = self.room, self.chat
        return not (room and room.state.members.speaking) and not (chat and chat.is_speaking)

    # --- the first one ---------------------------------------------------------------------------------

    async def open_first(self) -> None:
        """Open the screen that was asked for. Raises what ``first_room`` and ``first_chat`` raise."""
        request = self._request
        if request.setup:
            self.set_up()
        elif request.voice is not None:
            self.open_voice(request.voice)
        elif request.home:
            await self.home.show()
        elif request.chat is not None:
            wanted, is_new = request.chat, request.is_new
            self.open_chat(
                await self._until_reached(lambda: first_chat(self.chat_link, wanted, is_new=is_new))
            )
        else:
            found = await self._until_reached(lambda: first_room(self.link, request.room))
            if isinstance(found, list):
                self.show_rooms(found)
            else:
                self.open_room(found.room_id, start=found.start)

    async def _until_reached(self, find: Callable[[], Awaitable[T]]) -> T:
        """Return what ``find`` finds. While the server cannot be reached, says so and tries again."""
        app = self._app
        delays = chain(RETRY_SECONDS, repeat(RETRY_SECONDS[-1]))
        while True:
            try:
                found = await find()
                self._is_unreachable = False
                return found
            except TransportError as error:
                if not error.retryable or self._request.embedded:
                    raise
                self._is_unreachable = True
                await app.answer_held_keys()  # one of the keys may quit
                title, delay = localised(inert_line(str(error))), next(delays)
                line = say("link.unreachable", title=title, seconds=delay, quit=self.how_to_quit)
                app.query_one("#starting", Static).update(line)
            await asyncio.sleep(delay)

    # --- rooms -----------------------------------------------------------------------------------------

    def show_rooms(self, rooms: Iterable[RoomInfo] = ()) -> None:
        """Show the list of rooms; ``rooms`` are those known already."""
        self._app.push_screen(RoomsScreen(self.link, rooms, self._deletions[0]))

    def open_room(
        self, room_id: str, message_id: str = "", *, start: bool = False, known: RoomInfo | None = None
    ) -> None:
        """Show a room, at its end or at a message; what is ``known`` until it is loaded. One stays open."""
        if self.room is None:
            screen = RoomScreen(self.link, room_id, self._app.clock, start=start)
            screen.key_now = partial(self.keymap.now, "room")
            screen.show_message(message_id)
            if known is not None:
                screen.state.take_listed(known)
            self._app.push_screen(screen)

    def leave_room(self) -> None:
        """Go back to the list of rooms, at the row it was left at."""
        if isinstance(self._app.screen, RoomScreen):
            self._app.pop_screen()
            self._app.garbage.screen_gone()
            if self.home.screen is None and self._open_one(RoomsScreen) is None:
                self.show_rooms()

    # --- chats -----------------------------------------------------------------------------------------

    def open_chat(
        self,
        conversation_id: str,
        message_id: str = "",
        fields: Mapping[str, Any] | None = None,
        question: str = "",
        known: ConversationInfo | None = None,
    ) -> None:
        """Show a chat, at its end or at one of its messages, instead of an open one. ``fields`` are the first
        settings of a ``NEW`` chat; ``question`` is asked as soon as the chat is there; ``known`` is shown
        until it is loaded.
        """
        app, link = self._app, self.chat_link
        new = None if conversation_id != NEW else NewChat(link, {**fields_here(link), **(fields or {})})
        screen = ChatScreen(
            link, conversation_id if new is None else new, app.clock, open_chat=self.open_chat
        )
        screen.key_now = partial(self.keymap.now, "chat")
        screen.show_message(message_id)
        screen.first_question = question
        if known is not None:
            screen.state.take_listed(known)
        if isinstance(app.screen, ChatScreen):
            app.switch_screen(screen)
            app.garbage.screen_gone()
        else:
            app.push_screen(screen)

    def open_listed(
        self, item: RoomInfo | ConversationInfo, message_id: str = "", *, start: bool = False
    ) -> None:
        """Open what was chosen in a list or on the home screen, unless another screen was opened since."""
        if not isinstance(self._app.screen, ListScreen | HomeScreen):
            return
        if isinstance(item, RoomInfo):
            self.open_room(item.id, message_id, start=start, known=item)
        else:
            self.open_chat(item.id, message_id, known=item)

    def show_chats(self) -> None:
        self._app.push_screen(ConversationsScreen(self.chat_link, self._deletions[1]))

    def leave_chat(self) -> None:
        """Go back to the list of chats, at the row it was left at, or to the room that is below."""
        left = self._app.screen
        if isinstance(left, ChatScreen) and not self.home.is_alone():
            self._app.pop_screen()
            self._app.garbage.screen_gone()
            listed = self._open_one(ConversationsScreen)
            if listed is not None:
                if left.state.conversation.id != NEW:  # else it is not stored
                    listed.go_to(left.state.conversation)
            elif self.home.screen is None and self.room is None:
                self.show_chats()

    # --- voice -----------------------------------------------------------------------------------------

    def open_voice(self, request: VoiceRequest) -> None:
        """Join a voice room; an open one is left first."""
        app = self._app
        screen = VoiceScreen(VoiceOpening(self._request.source), self.chat_link, request, app.clock)
        screen.key_now = partial(self.keymap.now, "voice")
        if isinstance(app.screen, VoiceScreen):
            self._run("voice", self.leave_voice(screen))
        else:
            app.push_screen(screen)

    def talk(self) -> None:
        """Join the voice room of the config file, unless one is open."""
        if self._open_one(VoiceScreen) is None:
            room = self._request.config.voice.room or DEFAULT_ROOM
            self.open_voice(VoiceRequest(room=room))

    async def leave_voice(self, another: VoiceScreen | None = None) -> None:
        """Leave the voice room: for another one, for the screen below, or to quit."""
        app, screen = self._app, self._app.screen
        if not isinstance(screen, VoiceScreen):
            return
        await screen.leave()
        if another is None and self._request.voice is not None:
            app.exit(screen.run.exit_code)
        elif app.screen is screen:
            app.pop_screen() if another is None else app.switch_screen(another)
            app.garbage.screen_gone()

    # --- searching -------------------------------------------------------------------------------------

    def search(self, words: str) -> None:
        """Show a search in all rooms and chats, and open the result that is chosen."""

        def found(hit: Hit | None) -> None:
            if hit is not None:
                self._run("lists", self._open_hit(hit))

        self._app.push_screen(SearchScreen(self.chat_link, words), found)

    async def _open_hit(self, hit: Hit) -> None:
        wanted = RoomsScreen if hit.kind == "room" else ConversationsScreen
        if not isinstance(self._app.screen, wanted):
            await self.leave_for(self.show_rooms if hit.kind == "room" else self.show_chats)
        screen = self._app.screen
        if isinstance(screen, ListScreen):
            screen.open_found(hit)

    # --- from one to the other, and out ----------------------------------------------------------------

    def switch_lists(self, kind: Literal["rooms", "chats", ""] = "") -> None:
        """Go to one of the lists. Without ``kind``: to the chats, or from the chats to the rooms."""
        here = self._app.screen
        if self.home.is_alone():
            return
        if kind == "rooms" or (not kind and isinstance(here, ChatScreen | ConversationsScreen | HomeScreen)):
            self._run("lists", self.leave_for(self.show_rooms))
        elif kind == "chats" or isinstance(here, RoomScreen | RoomsScreen):
            self._run("lists", self.leave_for(self.show_chats))

    async def leave_for(self, show: Callable[[], None] | None) -> None:
        """Close every screen except the first, and show something else."""
        await self._hang_up()
        with self._app.batch_update():  # what is below is not what was asked for
            while len(self._app.screen_stack) > 1 and not isinstance(self._app.screen, HomeScreen):
                await self._app.pop_screen()
            self._app.garbage.screen_gone()
            if show is not None:
                show()

    def is_deleted(self, item_id: str) -> bool:
        """Whether a room or chat was deleted in a list. (The server is told later.)"""
        return any(item_id in deletions for deletions in self._deletions)

    async def _hang_up(self) -> None:
        for screen in self._app.screen_stack:
            if isinstance(screen, VoiceScreen):
                await screen.leave()

    async def settle(self) -> str:
        """At the end, delete on the server what was deleted in lists; return what went wrong, in one line."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LEAVE_SECONDS):
                problems = [await deletions.settle() for deletions in self._deletions]
                return " · ".join(filter(None, problems))
        return say("list.not_deleted.time")

    def leave(self, *, is_sure: bool = False) -> None:
        """Quit. Asks first while agents are speaking. If the question is open already, the same key answers
        "stay"; with ``is_sure`` it pauses the room.
        """
        room, chat = self.room, self.chat
        voice = self._open_one(VoiceScreen)
        if voice is not None and self._request.voice is not None:
            self._run("leave", self._leave(voice.run.exit_code))
        elif chat is not None and not chat.may_leave:
            self._ask_to_leave_chat(is_sure=is_sure)
        elif room is None or room.may_leave:
            self._run("leave", self._leave(self._leaving_code()))
        elif isinstance(self._app.screen, QuitScreen):
            self._app.screen.action_choose("pause" if is_sure else "stay")
        else:
            room.ask_to_leave()

    async def _leave(self, code: int) -> None:
        await self._hang_up()
        self._app.exit(code)

    def _leaving_code(self) -> int:
        shown = self.chat or self.room  # a room may be below a chat
        if shown is None:
            home = self.home.screen
            is_unreachable = home.is_unreachable if home is not None else self._is_unreachable
            return UNREACHABLE if is_unreachable else DONE
        if shown.failure is not None:
            return exit_code(shown.failure)
        return UNREACHABLE if shown.state.link.status == "waiting" else DONE

    def _ask_to_leave_chat(self, *, is_sure: bool) -> None:
        if isinstance(self._app.screen, QuestionScreen):
            self._app.screen.action_answer(is_sure)
            return
        key = "chat.quit" if self._request.embedded else "chat.quit.served"
        if self.chat_link.is_agent:
            key = "chat.quit.agent"
        ask_first(self._app, say(key), partial(self._app.exit, DONE))

    def _run(self, group: str, work: Coroutine[Any, Any, None]) -> None:
        self._app.run_worker(work, group=group, exclusive=True)

    # --- who is there ----------------------------------------------------------------------------------

    def _tell_pausing(self, pausing: PausesSoon | None) -> None:
        """Warn, on whatever screen, that something pauses soon unless a key is pressed, until one is."""
        if pausing is None:
            self._app.clear_notifications()
            return
        name = inert_line(pausing.name, MAX_NAME_CHARACTERS) or say("room.untitled")
        line = say("idle.warning", name=name, time=duration(pausing.seconds))
        self._app.notify(line, severity="warning", timeout=pausing.seconds, markup=False)

    # --- keys ------------------------------------------------------------------------------------------

    def key_names(self, *binding_ids: str) -> str:
        """Return the first key of each action that has one, for a person: "q or ctrl+q"."""
        keys = [self.keymap.keys[binding_id][:1] for binding_id in binding_ids]
        return say("keys.or").join(shown_all(key, ascii_only=is_ascii(self._app)) for key in keys if key)

    @property
    def how_to_quit(self) -> str:
        """The sentence about quitting: "q or ctrl+q quits"."""
        return say("quit.how", quit=self.key_names("app.quit.quick", "app.quit"))

    def say_what_quits(self, seconds: float) -> None:
        """After ctrl+c, say what another press does, and how to pause or stop, which may be meant."""
        how = say("quit.again")
        if self.room is not None and self.chat is None and not self.room.may_leave:
            pauses = self.key_names("room.pause") or self.key_names("room.pause.anywhere")
            how = say("quit.again.room", quit=how, pause=pauses)
        elif self.chat is not None and self.chat.is_speaking:
            how = say("quit.again.chat", quit=how, stop=self.key_names("chat.back"))
        self._app.notify(how, timeout=seconds, markup=False)

    def show_help(self) -> None:
        """Show the keys of this screen; hides them if they are shown."""
        if isinstance(self._app.screen, HelpScreen):
            self._app.screen.dismiss()
            return
        self._app.push_screen(HelpScreen(sections(self._app.screen, self.keymap)))

    # --- providers -------------------------------------------------------------------------------------

    def set_up(self, found: FoundModels | None = None) -> None:
        """Set up a provider for the backend of this machine, perhaps a ``found`` one; update a form below."""
        if not self._request.embedded:
            self._app.notify(say("setup.foreign"), severity="warning", markup=False)
            return
        if self._open_one(SetupScreen) is not None:
            return
        if isinstance(self._app.screen, HelpScreen | CommandPalette):
            self._app.pop_screen()

        def done(name: str | None) -> None:
            if self._request.setup:
                self._app.exit(DONE, message=say("setup.done", name=name) if name else None)
            elif name:
                for fields in self._app.screen.query(ModelFields):
                    fields.look_for_providers()

        self._app.push_screen(SetupScreen(self._request.config.path, self.link.client, found=found), done)


class Interrupt:
    """Ctrl+c, as in other programs that have a line to write in."""

    def __init__(self, app: AgentTuiApp) -> None:
        self._app = app
        self._waiting: Timer | None = None  # while another press quits
        self._armed_by = 0  # the number of the key that made it wait

    def press(self) -> None:
        """Copy the selection; else clear the line with the focus; else ask for another press."""
        focused = self._app.focused
        is_secret = isinstance(focused, Input) and focused.password
        if isinstance(focused, Transcript) and focused.reader.has_selection:
            focused.action_copy("selection")
        elif isinstance(focused, Input | TextArea) and focused.selected_text and not is_secret:
            self._app.copy(focused.selected_text, "selection")
        elif isinstance(focused, Input | TextArea) and _clear_line(focused):
            self._forget()
        elif isinstance(self._app.screen, CommandPalette):  # it would cover the notification
            self._app.simulate_key("escape")
        else:
            pressed = self._app.answered
            is_again = self._waiting is not None and pressed == self._armed_by + 1  # no other key in between
            self._armed_by = pressed
            self._forget()
            self._waiting = self._app.set_timer(AGAIN_SECONDS, self._forget)
            if is_again:
                self._app.places.leave(is_sure=True)
            else:
                self._app.places.say_what_quits(AGAIN_SECONDS)

    def _forget(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None


def _clear_line(line: Input | TextArea) -> bool:
    """Clear a line; return whether there was anything in it."""
    if isinstance(line, Composer):
        return line.clear_line()
    text = line.value if isinstance(line, Input) else line.text
    line.clear()
    return bool(text)
