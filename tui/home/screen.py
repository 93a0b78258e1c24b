"""The home screen: what is running, a line to begin with, and examples to try.

It stays below what is opened from it, and is shown again when that is left.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual import events, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Center, Vertical
from textual.content import Content
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import ConversationInfo, LinkChanged, RoomInfo
from agent_tui.model.inert import inert_line
from tui.chat.first import NEW
from tui.forms.new_room_fields import quick_room
from tui.found import Finder, FoundModels, found_line
from tui.home.ask import HomeAsk
from tui.home.recent import Conversation, Recent
from tui.keys.first_letter import FirstLetter, is_text
from tui.lists.feed import ConversationsFeed, ListFeed, RoomsFeed
from tui.lists.row_list import RowList
from tui.lists.screen import AGE_SECONDS, ListScreen, server_state
from tui.live.key_hints import hints_of, key_of
from tui.live.texts import model_name
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.localised import localised
from tui.screens.words import say
from widgets.status_line import Part, StatusLine

if TYPE_CHECKING:
    from tui.places import Places

MOST_ROWS: Final = 12  # of those listed; the lists have all
AROUND_ROWS: Final = 15  # for everything else
EXAMPLES: Final = 3
MARGIN_CELLS: Final = 4  # both margins of the line with what was found
HINTS: Final = (  # as for ``hints_of``
    ("home.open", "list.hint.open", 1),
    ("home.room", "home.hint.new_room", 0),
    ("home.chat", "home.hint.new_chat", 1),
    ("home.lists", "home.hint.lists", 3),
    ("home.voice", "home.voice", 6),
    ("app.setup", "home.hint.models", 4),
    ("app.palette", "hint.palette", 5),
    ("app.help", "hint.help", 0),
    ("app.quit.quick", "hint.quit", 2),
)


COMMANDS: Final = {  # of the line: the actions for which rooms and chats have a command
    "new": "screen.write('room')",
    "rooms": "app.lists('rooms')",
    "chats": "app.lists('chats')",
    "model": "app.setup",
    "theme": "app.themes",
    "help": "app.help",
    "quit": "app.leave",
}


class ClickedLine(Static):
    """A line that does something when it is clicked."""

    def __init__(self, action: str, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__("", id=id, classes=classes, markup=False)
        self._action = action

    async def on_click(self, event: events.Click) -> None:
        event.stop()
        await self.run_action(self._action)


class HomeScreen(Screen[None]):
    """The first screen that a person sees."""

    CSS_PATH = ["../lists/list.tcss", "home.tcss"]  # noqa: RUF012 - as Textual wants it
    AUTO_FOCUS = ""  # a letter alone is a key; a letter that begins a text goes into the line
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)  # see ``LiveScreen``
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open the selected room or chat", id="home.open"),
        Binding("n", "write('room')", "Start a room with a task", id="home.room"),
        Binding("c", "write('chat')", "Ask one agent in a chat", id="home.chat"),
        Binding("l", "app.lists", "All rooms and chats", id="home.lists"),
        Binding("v", "app.voice", "Talk in a voice room", id="home.voice"),
        Binding("o", "accept", "Use the models found on this machine", id="home.found"),
        Binding("1", "try(1)", "Try the first example", id="home.example_1"),
        Binding("2", "try(2)", "Try the second example", id="home.example_2"),
        Binding("3", "try(3)", "Try the third example", id="home.example_3"),
        # Textual's own binding of tab would come first.
        Binding("tab", "turn", "Write, or switch between room and chat", id="home.turn", priority=True),
        Binding("shift+tab", "leave_line", "Back to the list", id="home.rows", priority=True),
        Binding("escape", "leave_line", "Leave the line", id="home.leave_line"),
        Binding("up,k", "move(-1)", "Row above", id="home.up", show=False),
        Binding("down,j", "move(1)", "Row below", id="home.down", show=False),
    ]

    def __init__(self, places: Places, find: Finder) -> None:
        """``find`` looks for models that are here already."""
        super().__init__()
        self._places = places
        self._find = find
        self._feeds: tuple[tuple[ListFeed[Any, Any], type[Conversation]], ...] = (
            (RoomsFeed(places.link), RoomInfo),
            (ConversationsFeed(places.chat_link), ConversationInfo),
        )
        self._found: list[FoundModels] = []
        self._model = ""  # the default model, "" until it is known
        self._is_demo = False
        self._state = LinkChanged("live")
        self._is_starting = False
        self._has_moved = False  # a person chose a row
        # Held, not looked up: an answer may come while the screen is being taken down.
        self._recent = Recent(places.is_deleted)
        self._list: RowList[Any] = RowList(self._recent, {}, id="recent")
        self._heading = Static(say("home.continue"), classes="heading", markup=False)
        self._ask = HomeAsk()
        self._letter = FirstLetter(self, self._ask.write)
        self._examples = [ClickedLine(f"screen.try({n})", classes="example") for n in range(1, EXAMPLES + 1)]
        self._found_line = ClickedLine("screen.accept", id="found")
        self._top = StatusLine(id="top")
        self._bottom = StatusLine(id="bottom", is_dim=True)

    def compose(self) -> ComposeResult:
        yield self._top
        with Center():
            trying = Static(say("home.try"), classes="heading", markup=False)
            recent = self._heading, self._list
            yield Vertical(self._ask, *recent, trying, *self._examples, self._found_line, id="body")
        yield self._bottom

    def on_mount(self) -> None:
        self.set_interval(AGE_SECONDS, self._list.look)
        self._show()

    def on_screen_resume(self) -> None:
        """Follow rooms and chats, and look which models there are."""
        self._recent.arrange()  # some may be deleted by now
        self._show()
        for feed, kind in self._feeds:
            self._follow(feed, kind)
        self._look_for_models()

    def on_screen_suspend(self) -> None:
        """Stop following: the screen is not visible."""
        self._letter.let_go()
        self.workers.cancel_group(self, "follow")

    def on_resize(self) -> None:
        self._show()

    # --- what comes in ---------------------------------------------------------------------------------

    @work(group="follow")
    async def _follow(self, feed: ListFeed[Any, Any], kind: type[Conversation]) -> None:
        seen: AsyncGenerator[Any, None] = feed.follow(lambda: False)
        async with aclosing(seen):
            async for event in seen:
                if not isinstance(event, LinkChanged):
                    self._recent.take(event, kind)
                elif kind is RoomInfo:  # both come from one server
                    self._state = event
                self._show()

    @work(group="models", exclusive=True)
    async def _look_for_models(self) -> None:
        """Find out the default model; if that is only the demo, look for models on this machine."""
        try:
            providers = await (await self._places.link.client()).backend.providers()
        except AgentTuiError:
            return  # unknown; the next look may tell
        self._is_demo = all(provider.kind == DEMO_PROVIDER for provider in providers)
        first = providers[0] if providers else None
        named = (first.name or first.id, model_name(first.model, first.id)) if first is not None else ()
        self._model = " · ".join(inert_line(name, 40) for name in named if name)
        self._show()
        self._found = await self._find() if self._is_demo else []
        self._show()

    # --- what is shown ---------------------------------------------------------------------------------

    def _show(self) -> None:
        if not self.is_attached:
            return
        count = min(len(self._recent), MOST_ROWS, max(2, self.size.height - AROUND_ROWS))
        self._heading.set_class(not count, "-hidden")
        self._list.set_class(not count, "-hidden")
        self._list.styles.height = count
        if count and not self._has_moved:  # the first row may be one that waits for a person
            first = self._recent[0]
            if self._list.cursor != first:
                self._list.go_to(first.id)
        self._list.look()
        for number, example in enumerate(self._examples, 1):
            key = key_of(self, f"home.example_{number}")
            example.update(Content.assemble((f"{key:>2}", "bold"), f"  {say(f'home.example.{number}')}"))
        self._found_line.set_class(not self._found, "-hidden")
        self._found_line.update(
            found_line(self._found, key_of(self, "home.found"), self.app.size.width - MARGIN_CELLS)
        )
        self._top.show([say("home.title")], (), self._standing())
        self._show_hints()

    def _standing(self) -> list[Part | str]:
        """Return the state of the connection, or the default model."""
        if problem := server_state(self._state):
            return [problem]
        if self._is_demo:
            return [say("home.demo"), *hints_of(self, [("app.setup", "home.demo.hint", 1)])]
        return [self._model] if self._model else []

    def _show_hints(self) -> None:
        if self._ask.line.has_focus:
            becomes = self._ask.becomes
            hints = [
                ("composer.send", f"home.hint.start.{becomes}", 0),
                ("home.turn", f"home.hint.turn.{becomes}", 1),
                ("home.leave_line", "hint.back", 0),
            ]
        else:
            hints = [hint for hint in HINTS if self.has_rows or hint[0] != "home.open"]
        self._bottom.show(hints_of(self, hints))

    # --- writing ---------------------------------------------------------------------------------------

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a letter may begin a text, which keeps it in its own script."""
        is_other = character is not None and character.isalpha() and not character.isascii()
        return is_other and self.focused is None

    async def on_key(self, event: events.Key) -> None:
        """Write a text's first letters into the line; in the list a letter that is a key acts at once."""
        if self.focused is None:
            is_used = await self._letter.takes(event)
        else:
            is_used = self._list.has_focus and is_text(self, event)
            if is_used:
                self._ask.write(event.character or "")
        if is_used:
            event.prevent_default().stop()

    def on_paste(self, event: events.Paste) -> None:
        if not self._ask.line.has_focus:
            event.stop()
            self._letter.let_go()
            self._ask.write(event.text)

    def on_descendant_focus(self) -> None:
        self._show_hints()

    def on_descendant_blur(self) -> None:
        self.call_after_refresh(self._show_hints)

    def action_write(self, becomes: str) -> None:
        self._ask.become("chat" if becomes == "chat" else "room")
        self._ask.write()

    def action_turn(self) -> None:
        """Go to the line; if it has the focus, switch between room and chat."""
        if self._ask.line.has_focus:
            self._ask.turn()
            self._show_hints()
        else:
            self._ask.write()

    def action_leave_line(self) -> None:
        self.set_focus(self._list if self.has_rows else None)

    async def on_home_ask_asked(self, event: HomeAsk.Asked) -> None:
        """Begin what was written, or do what a command says."""
        event.stop()
        # Lazy: not for the first frame.
        from tui.live.commands import meant, typed_command

        command = typed_command(event.text)
        if command is not None and (action := COMMANDS.get(meant(command[0]))):
            self._ask.sent(event.text)
            await self.run_action(action)
        elif command is not None:
            known = " ".join(f"/{name}" for name in COMMANDS)
            self.app.notify(say("home.command.unknown", name=command[0], known=known), markup=False)
        elif event.becomes == "room":
            self._start(event.text)
        else:
            self._ask.sent(event.text)
            self.action_leave_line()
            self._places.open_chat(NEW, question=event.text)

    # --- beginning ---------------------------------------------------------------------------------------

    @work(group="start")
    async def _start(self, task: str) -> None:
        """Make a room for a task and start it; a task that failed stays in the line."""
        if self._is_starting:
            return
        self._is_starting = True
        self._ask.tell(say("home.starting"))
        try:
            fields = await asyncio.to_thread(quick_room, task)
            room = await (await self._places.link.client()).create(**fields)
        except AgentTuiError as error:
            self.app.notify(localised(inert_line(str(error))), severity="error", markup=False)
        else:
            self._ask.sent(task)
            self.action_leave_line()
            self.post_message(ListScreen.Opened(room, start=True))
        finally:
            self._is_starting = False
            self._ask.become(self._ask.becomes)

    def action_try(self, number: int) -> None:
        self._start(say(f"home.example.{number}"))

    # --- going on ----------------------------------------------------------------------------------------

    def action_move(self, rows: int) -> None:
        if self.has_rows:
            self._has_moved = True
            if self._list.has_focus:
                self._list.move(rows)
            self.set_focus(self._list)

    def action_open(self) -> None:
        if (item := self._list.cursor) is not None:
            self.post_message(ListScreen.Opened(item))

    def on_row_list_chosen(self) -> None:
        self.action_open()

    # --- models ------------------------------------------------------------------------------------------

    @work(group="accept", exclusive=True)
    async def action_accept(self) -> None:
        """Set up what was found; if nothing was offered, look again. If there are several, let the person
        choose.
        """
        found = self._found or await self._find()
        if len(found) == 1:
            self._places.set_up(found[0])
        elif not found:
            self.app.notify(say("home.found.none"), markup=False)
        else:
            self._let_choose(found)

    def _let_choose(self, found: list[FoundModels]) -> None:
        def chosen(value: str | None) -> None:
            if value is not None:
                self._places.set_up(found[int(value)])

        offered = [Candidate(str(number), models.text) for number, models in enumerate(found)]
        self.app.push_screen(ChooseScreen(say("home.found.title"), offered, ""), chosen)

    @property
    def has_rows(self) -> bool:
        return len(self._recent) > 0

    @property
    def is_unreachable(self) -> bool:
        """Whether the server cannot be reached now."""
        return self._state.status == "waiting"
