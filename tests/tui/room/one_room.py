"""The room screen alone, driven by events and keys, read as a person reads it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import ClassVar, cast

from textual.binding import Binding, BindingType

from agent_tui.model import events as ev
from tests.fakes.room_link import FakeLink
from tests.tui.watched import Fed
from tests.widgets.apps import MayBeAscii
from tui import themes
from tui.link import RoomLink
from tui.room.screen import RoomScreen
from widgets.terminal.frame_clock import FrameClock
from widgets.terminal.keys_in_order import KeysInOrder

NAMES = ("Mika", "Ada", "老王", "Noor", "Лена", "Ben", "Chloé", "Dmitri")

AGENTS = (
    ev.AgentInfo("a", "Mika", "#e0a030", "some-model"),
    ev.AgentInfo("b", "Ada", "#5b9df5", "demo", 1, provider_id="demo"),
    ev.AgentInfo("c", "老王", "nonsense", "demo", 2, provider_id="demo"),
)
LIVE = ev.LinkChanged("live")
DARK = themes.load("dark")


class OneRoom(MayBeAscii[int], KeysInOrder[int]):
    """An app with nothing but the screen under test."""

    def __init__(self, link: FakeLink, *, start: bool = False, is_ascii: bool = False) -> None:
        super().__init__()
        self.register_theme(DARK)
        self.theme = "dark"
        self.left = False
        self.rung = 0
        self.clock = FrameClock.for_app(self)
        self.is_ascii = is_ascii
        self.room = RoomScreen(cast("RoomLink", link), "r", self.clock, start=start)

    def on_mount(self) -> None:
        self.push_screen(self.room)

    def bell(self) -> None:
        self.rung += 1

    BINDINGS: ClassVar[list[BindingType]] = [Binding("q", "leave")]

    def action_leave(self) -> None:
        self.left = self.room.may_leave
        if not self.left:
            self.room.ask_to_leave()


Screen = Fed[OneRoom, FakeLink]


@asynccontextmanager
async def opened(
    size: tuple[int, int] = (120, 30), *, start: bool = False, is_ascii: bool = False
) -> AsyncGenerator[Screen, None]:
    link = FakeLink()
    app = OneRoom(link, start=start, is_ascii=is_ascii)
    async with app.run_test(size=size, notifications=True) as pilot:
        yield Screen(app, link, pilot)
        link.end()


def loaded(**fields: object) -> ev.RoomLoaded:
    info = {"task": "Should we?", "max_rounds": 3, "agents": AGENTS, "execution_mode": "parallel", **fields}
    return ev.RoomLoaded(ev.RoomInfo("r", **info), ())  # type: ignore[arg-type]  # test fields


def start(turn_id: str, agent: ev.AgentInfo, round_number: int = 1) -> ev.TurnStarted:
    return ev.TurnStarted(turn_id, "r", "assistant", agent.name, agent.color, round_number, agent.id)


def crowd(count: int) -> tuple[ev.AgentInfo, ...]:
    """Return that many agents."""
    names = [f"{NAMES[n % 8]}{n // 8 or ''}" for n in range(count)]
    return tuple(ev.AgentInfo(f"id{n}", name, "", "m", n) for n, name in enumerate(names))


def speaking(agents: tuple[ev.AgentInfo, ...]) -> list[ev.Event]:
    """Return what a running room sends in which every agent says who it is."""
    return [
        loaded(status="running", current_round=1, agents=agents),
        LIVE,
        *(start(agent.id, agent) for agent in agents),
        *(ev.TextAdded(agent.id, f"First line.\n\nI am {agent.name}.") for agent in agents),
    ]
