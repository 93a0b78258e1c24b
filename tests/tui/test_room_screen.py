"""The room screen, driven by events and keys, read as a person reads it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import ClassVar, cast

import pytest
from textual.app import App
from textual.binding import Binding, BindingType
from textual.pilot import Pilot

from agent_tui import events as ev
from agent_tui.errors import NotOffered, StreamLost, Unauthorized
from tests.fakes.room_link import FakeLink
from tui import themes
from tui.link import RoomLink
from tui.screens.quit import QuitScreen
from tui.screens.room import RoomScreen
from widgets.frame_clock import FrameClock

AGENTS = (
    ev.AgentInfo("a", "Mika", "#e0a030", "some-model"),
    ev.AgentInfo("b", "Ada", "#5b9df5", "demo", 1, provider_id="demo"),
    ev.AgentInfo("c", "老王", "nonsense", "demo", 2, provider_id="demo"),
)
LIVE = ev.LinkChanged("live")


class OneRoom(App[int]):
    """An app with nothing but the screen under test."""

    def __init__(self, link: FakeLink, *, start: bool = False) -> None:
        super().__init__()
        self.register_theme(themes.load("dark"))
        self.theme = "dark"
        self.left = False
        self.clock = FrameClock.for_app(self)
        self.room = RoomScreen(cast("RoomLink", link), "r", self.clock, start=start, ascii_only=False)

    def on_mount(self) -> None:
        self.push_screen(self.room)

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "leave")]

    def action_leave(self) -> None:
        self.left = self.room.may_leave
        if not self.left:
            self.room.ask_to_leave()


class Screen:
    """What a test sees and does."""

    def __init__(self, link: FakeLink, app: OneRoom, pilot: Pilot[int]) -> None:
        self.link, self.app, self.pilot = link, app, pilot

    async def send(self, *events: ev.Event) -> str:
        self.link.send(*events)
        return await self.text()

    async def press(self, *keys: str) -> str:
        await self.pilot.press(*keys)
        return await self.text()

    async def text(self) -> str:
        """All rows of the screen, once everything that was sent is drawn and nothing changes any more."""
        seen: list[str] = []
        while len(seen) < 3 or len(set(seen[-3:])) > 1 or not self.link.is_drained:
            await self.pilot.pause()
            self.app.clock.tick()  # what it would do a frame later
            strips = self.app.screen._compositor.render_strips(self.app.size)
            seen.append("\n".join(strip.text for strip in strips))
        return seen[-1]


@asynccontextmanager
async def opened(size: tuple[int, int] = (120, 30), *, start: bool = False) -> AsyncGenerator[Screen, None]:
    link = FakeLink()
    app = OneRoom(link, start=start)
    async with app.run_test(size=size, notifications=True) as pilot:
        yield Screen(link, app, pilot)
        link.end()


def loaded(**fields: object) -> ev.RoomLoaded:
    info = {"task": "Should we?", "max_rounds": 3, "agents": AGENTS, "execution_mode": "parallel", **fields}
    return ev.RoomLoaded(ev.RoomInfo("r", **info), ())  # type: ignore[arg-type]  # test fields


def start(turn_id: str, agent: ev.AgentInfo, round_number: int = 1) -> ev.TurnStarted:
    return ev.TurnStarted(turn_id, "r", "assistant", agent.name, agent.color, round_number, agent.id)


async def test_every_agent_speaks_in_its_own_pane_with_its_model_named() -> None:
    async with opened() as screen:
        text = await screen.send(
            loaded(status="running", current_round=1),
            LIVE,
            *(start(str(n), agent) for n, agent in enumerate(AGENTS)),
            ev.TextAdded("0", "I doubt it."),
            ev.TextAdded("1", "It **works**."),
            ev.TextAdded("2", "先把会话分开。"),
        )
        assert "Should we?" in text
        assert "round 1 of 3 · parallel" in text
        assert "● live" in text
        row = next(line for line in text.splitlines() if "I doubt it." in line).split("│")
        assert [words.strip(" ▌") for words in row] == ["I doubt it.", "It works.", "先把会话分开。"]
        header = text.splitlines()[1]
        assert "Mika · some-model" in header
        assert "Ada · demo model" in header
        assert "老王 · demo model" in header


async def test_the_word_paused_comes_only_with_the_event() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE, start("1", AGENTS[0]))
        text = await screen.press("p")
        assert screen.link.calls.asked == [("pause", "r")]
        assert "pausing…" in text
        assert "paused" not in text
        text = await screen.send(
            ev.TextAdded("1", "Half a"),
            ev.TurnEnded("1", "Half a", 1, "a", "pause"),
            ev.RunPaused("r", 1, "pause"),
        )
        assert "‖ paused by you" in text
        assert "┄ cut at the pause" in text
        assert "resume – 3 agents go on" in text


@pytest.mark.parametrize("key", ["p", "space", "ctrl+s"])
async def test_each_pause_key_pauses_and_resumes(key: str) -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.press(key)
        await screen.send(ev.RunPaused("r", 1, "pause"))
        await screen.press(key)
        assert [call for call, _ in screen.link.calls.asked] == ["pause", "resume"]
        text = await screen.send(ev.RunStarted("r", "Should we?", resumed=True))
        assert "● live" in text


async def test_a_key_pressed_twice_asks_once() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.press("p", "p", "space")
        assert len(screen.link.calls.asked) == 1


async def test_a_new_room_is_started_at_once_when_that_was_asked_for() -> None:
    async with opened(start=True) as screen:
        await screen.send(loaded(), LIVE)
        assert screen.link.calls.asked == [("run", "r")]


async def test_a_room_that_never_ran_says_how_to_start_it() -> None:
    async with opened() as screen:
        assert "not started – p starts it" in await screen.send(loaded(), LIVE)


async def test_a_drop_is_counted_down_and_mended() -> None:
    async with opened() as screen:
        text = await screen.send(loaded(status="running"), LIVE, ev.LinkChanged("waiting", "", 2.0, 3))
        assert "reconnecting in 2 s (3rd try)" in text
        assert "● live" in await screen.send(LIVE)


async def test_a_server_that_shows_only_runs_is_run_by_p_and_continued_by_r() -> None:
    async with opened() as screen:
        text = await screen.send(
            ev.RoomLoaded(ev.RoomInfo("r"), ()),
            ev.LinkChanged("ended", "this server shows a room only while it runs it"),
        )
        assert "only while it runs it" in text
        await screen.press("p")
        screen.link.send_run(
            LIVE,
            ev.RunStarted("r", "Should we?"),
            ev.TurnStarted("1", "r", "assistant", "Zed", "", 1),
            ev.TextAdded("1", "Half", "Half"),
            StreamLost("the stream ended before its last event"),
        )
        text = await screen.text()
        assert "Half" in text
        assert "interrupted – r to continue" in text
        assert screen.link.runs == 1  # nothing is ever repeated by itself
        await screen.press("r")
        assert screen.link.runs == 2


async def test_a_server_without_pause_says_so_and_goes_on() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        screen.link.calls.refuse = NotOffered("no such call")
        assert "offers no pause" in await screen.press("p")


async def test_a_refused_token_is_shown_and_remembered_for_the_exit_code() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running"), LIVE)
        screen.link.end(Unauthorized("the token was refused"))
        assert "the token was refused" in await screen.text()
        assert isinstance(screen.app.room.failure, Unauthorized)


async def test_leaving_a_room_that_speaks_asks_and_does_what_was_chosen() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.press("q")
        assert isinstance(screen.app.screen, QuitScreen)
        await screen.press("escape")
        assert not isinstance(screen.app.screen, QuitScreen)
        await screen.press("q", "k")
        assert screen.link.calls.asked == [("change {'keep_running': True}", "r")]
        assert screen.app.return_value == 0


async def test_leaving_a_quiet_room_asks_nothing() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="paused", current_round=1), LIVE)
        await screen.press("q")
        assert screen.app.left


async def test_hostile_words_are_inert_in_every_place_that_shows_them() -> None:
    nasty = "\x1b]52;c;aGk=\x07\x9b31m\u202eevil[bold]\ud800"
    async with opened() as screen:
        agent = ev.AgentInfo("a", nasty, nasty, nasty)
        text = await screen.send(
            ev.RoomLoaded(ev.RoomInfo("r", name=nasty, task=nasty, status="running", agents=(agent,)), ()),
            LIVE,
            ev.TurnStarted("1", "r", "assistant", nasty, nasty, 1, "a"),
            ev.TextAdded("1", nasty),
            ev.TurnFailed(nasty, "a", nasty),
        )
        assert not set(text) & set("\x1b\x07\x9b\u202e\ud800")
        assert "evil[bold]" in text


@pytest.mark.parametrize("size", [(80, 24), (20, 5), (5, 2), (1, 1)])
async def test_small_terminals_get_a_smaller_view(size: tuple[int, int]) -> None:
    async with opened(size) as screen:
        text = await screen.send(
            loaded(status="running", current_round=1), LIVE, start("1", AGENTS[0]), ev.TextAdded("1", "Words")
        )
        assert all(len(line) <= size[0] for line in text.splitlines())
        if size[0] >= 20:
            assert "Words" in text


async def test_on_a_tiny_terminal_tab_turns_to_the_next_agent() -> None:
    async with opened((20, 5)) as screen:
        await screen.send(
            loaded(status="running", current_round=1),
            LIVE,
            start("1", AGENTS[0]),
            ev.TextAdded("1", "Mine"),
            start("2", AGENTS[1]),
            ev.TextAdded("2", "Yours"),
        )
        text = await screen.press("tab")
        assert "Yours" in text
        assert "Mine" not in text


async def test_a_room_that_is_loaded_again_shows_each_word_once() -> None:
    async with opened() as screen:
        said = ev.Message("1", "r", "assistant", "Once", "Once", "Mika", "", 1, 1, "t", "a")
        again = ev.RoomLoaded(ev.RoomInfo("r", agents=AGENTS, status="paused", interrupted="crash"), (said,))
        await screen.send(again, LIVE)
        text = await screen.send(again, LIVE)
        assert text.count("Once") == 1
        assert "the backend died, nothing was lost" in text
