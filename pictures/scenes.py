"""What is done on the screen before a picture of it is taken."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from textual import events
from textual.pilot import Pilot
from textual.widgets import OptionList

from agent_tui.state.conversation import ConversationState
from tests.fakes.models.model_server import FakeModelServer, lists
from tui.chat.screen import ChatScreen
from tui.forms.fields import Line
from tui.forms.new_room import NewRoomScreen
from tui.forms.setup import SetupScreen
from tui.home.screen import HomeScreen
from tui.lists.chats import ConversationsScreen
from tui.lists.row_list import RowList
from tui.live.approvals import Approvals
from tui.room.screen import RoomScreen
from tui.screens.choose import ChooseScreen

Scene = Callable[[Pilot[int]], Awaitable[None]]
MOST_SECONDS = 60  # for what a room of a picture does
LOOK_SECONDS = 0.05
HEADER_SECONDS = 0.7  # the headers look at the speed twice a second


def room(tokens: int, *keys: str) -> Scene:
    """Start the room, wait until so much was said and several speak, press the keys."""

    async def play(pilot: Pilot[int]) -> None:
        await speaking(pilot, tokens)
        await press(pilot, keys)
        if keys == ("p",):
            await until_room(pilot, lambda state: state.room.status == "paused")
        await pilot.pause(HEADER_SECONDS)

    return play


async def words(pilot: Pilot[int]) -> None:
    """Cut everybody with words of a person's, let a whisper wait, and write the next."""
    await speaking(pilot, 120)
    await press(pilot, ["i", "ctrl+n"])
    await write(pilot, "What did the last restart cost us?", "enter")
    await until_room(
        pilot, lambda state: any(turn.interrupted == "interject" for turn in state.turns.values())
    )
    said = tokens_of(pilot)
    await until_room(pilot, lambda state: tokens_in(state) > said + 20 and len(state.members.speaking) > 1)
    await write(pilot, "@Ada was that with a warm cache?", "enter")
    await until_room(pilot, lambda state: bool(state.queue))
    await write(pilot, "One number each, please")
    await pilot.pause(HEADER_SECONDS)


async def home(pilot: Pilot[int]) -> None:
    """Wait until what is running and the models that were found are shown, write a task."""
    while not isinstance(pilot.app.screen, HomeScreen):
        await pilot.pause(LOOK_SECONDS)
    while not list(pilot.app.screen.query("#found").exclude(".-hidden")):
        await pilot.pause(LOOK_SECONDS)
    await write(pilot, "What should we call our new service?")
    await pilot.pause(HEADER_SECONDS)


async def listed(pilot: Pilot[int]) -> None:
    """Wait until all rooms are listed."""
    while not isinstance(pilot.app.screen.focused, RowList):
        await pilot.pause(LOOK_SECONDS)
    await press(pilot, ["down", "down"])
    await pilot.pause(HEADER_SECONDS)


async def new(pilot: Pilot[int]) -> None:
    """Fill in the form of a new room."""
    await listed(pilot)
    await press(pilot, ["n"])
    form = pilot.app.screen
    assert isinstance(form, NewRoomScreen)
    await write(pilot, "What should our status page say during an outage?")
    await press(pilot, ["ctrl+o"])  # more than a task
    while not form.query_one("#agents", OptionList).option_count:
        await pilot.pause(LOOK_SECONDS)
    form.query_one("#agents").focus()
    await press(pilot, ["down", "space", "down", "down", "down", "space"])
    form.query_one("#max_tokens").focus()
    await write(pilot, "50,000")
    await pilot.pause(HEADER_SECONDS)


async def setup(pilot: Pilot[int]) -> None:
    """Test a provider that offers a few models."""
    await listed(pilot)
    async with FakeModelServer() as server:
        server.listing = lists("llama3.3:70b", "qwen3:8b", "mistral-small:24b", "gemma3:12b")
        await press(pilot, ["f4"])
        form = pilot.app.screen
        assert isinstance(form, SetupScreen)
        while not list(form.query("#address")):
            await pilot.pause(LOOK_SECONDS)
        form.query_one("#kind").focus()
        await press(pilot, ["right"])  # Ollama
        form.query_one("#address", Line).value = server.url
        form.query_one("#address").focus()
        await press(pilot, ["enter"])
        while not isinstance(pilot.app.screen, ChooseScreen):
            await pilot.pause(LOOK_SECONDS)
        await press(pilot, ["down"])
        await pilot.pause(HEADER_SECONDS)


def asked(*questions: str, unfolds: Sequence[str] = ()) -> Scene:
    """Ask in a chat, one question after another, and unfold steps of the answers with a click."""

    async def play(pilot: Pilot[int]) -> None:
        for number, question in enumerate(questions, 1):
            await until_chat(pilot, lambda state: state.loaded and state.open_turn is None)
            await write(pilot, question, "enter")
            await until_chat(pilot, has_turns(2 * number))
        await until_chat(pilot, lambda state: state.open_turn is None)
        await pilot.pause(HEADER_SECONDS)
        for step in unfolds:
            await click_on(pilot, step)
        await pilot.pause(HEADER_SECONDS)

    return play


async def asks(pilot: Pilot[int]) -> None:
    """Have a tool ask whether it may change a file."""
    await until_chat(pilot, lambda state: state.loaded)
    await write(pilot, "write Tea: 38 tins left. to notes.txt", "enter")
    await until_chat(pilot, lambda state: bool(state.asking))
    await pilot.pause(HEADER_SECONDS)
    if not pilot.app.screen.query_one(Approvals).has_bar_focus:  # it was written a moment ago
        await press(pilot, ["tab"])
    await pilot.pause(HEADER_SECONDS)


async def searched(pilot: Pilot[int]) -> None:
    """Look for a word in all chats."""
    await until_chat(pilot, lambda state: state.loaded)
    while not isinstance(pilot.app.screen, ConversationsScreen):
        await press(pilot, ["escape"])
    await press(pilot, ["s", *"clean"])
    while not pilot.app.screen.query_one(OptionList).option_count:
        await pilot.pause(LOOK_SECONDS)
    await press(pilot, ["down"])
    await pilot.pause(HEADER_SECONDS)


# --- the parts ---------------------------------------------------------------------------------------------


async def speaking(pilot: Pilot[int], tokens: int) -> None:
    """Start the room and wait until so much was said and several speak."""
    await until_room(pilot, lambda state: state.loaded)
    await pilot.press("p")
    await until_room(pilot, lambda state: tokens_in(state) > tokens and len(state.members.speaking) > 1)


async def until_room(pilot: Pilot[int], holds: Callable[[ConversationState], bool]) -> None:
    """Wait until the state of the room under the dialogs is as wanted; ``TimeoutError`` after a minute."""
    async with asyncio.timeout(MOST_SECONDS):
        while not any(
            isinstance(screen, RoomScreen) and holds(screen.state) for screen in pilot.app.screen_stack
        ):
            await pilot.pause(LOOK_SECONDS)


def has_turns(most: int) -> Callable[[ConversationState], bool]:
    """Return a question to a chat: whether so much was asked and answered, or is just being."""
    return lambda state: len(state.turns) == most


async def until_chat(pilot: Pilot[int], holds: Callable[[ConversationState], bool]) -> None:
    """Wait until the state of the chat is as wanted."""
    while not any(
        isinstance(screen, ChatScreen) and holds(screen.state) for screen in pilot.app.screen_stack
    ):
        await pilot.pause(LOOK_SECONDS)


async def click_on(pilot: Pilot[int], words: str) -> None:
    """Click on the last row that has these words."""
    strips = pilot.app.screen._compositor.render_strips(pilot.app.size)
    row = max(number for number, strip in enumerate(strips) if words in strip.text)
    await pilot.click(offset=(strips[row].text.index(words), row))
    await pilot.pause(0.1)


def tokens_of(pilot: Pilot[int]) -> int:
    """Return how much was said in the room."""
    return next(tokens_in(s.state) for s in pilot.app.screen_stack if isinstance(s, RoomScreen))


def tokens_in(state: ConversationState) -> int:
    """Return the tokens of all turns."""
    return sum(agent.tokens for agent in state.agents.values())


async def write(pilot: Pilot[int], text: str, *keys: str) -> None:
    """Put a text where the focus is, at once, then press keys."""
    pilot.app.post_message(events.Paste(text))
    await pilot.pause(0.1)
    await press(pilot, keys)


async def press(pilot: Pilot[int], keys: Sequence[str]) -> None:
    """Press keys as a person does: each is seen before the next."""
    for key in keys:
        await pilot.press(key)
        await pilot.pause(0.1)
