"""The two programs that are compared: the room screen of this project, and Textual's Markdown streams.

Both show the same words at the same times. Ours is the whole way of a token but for the socket: an event
from the link, the room's state, the panes, the frame clock. The other has one ``Markdown`` with its own
stream for each pane, in a scroll anchored at the end, and nothing else on the screen.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
import traceback
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import ClassVar, Final

os.environ.setdefault("TEXTUAL_FPS", "240")  # read by Textual at import; tui.app sets the same

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.widgets import Markdown, Static

import tui.app
from agent_tui.config.file import Config
from agent_tui.model import events as ev
from benchmarks.corpus import texts, tokens, words
from benchmarks.load import EARLIER_WORDS, Load, LoadMeter
from tui.app import AgentTuiApp, crash_of
from tui.link import ChatLink, RoomLink
from tui.places import Places
from tui.request import ScreenRequest, Server

BATCH_WORDS: Final = 64  # taken before the event loop has its turn, about as many as a socket read brings
TURN_WORDS: Final = 10_000  # of a turn in a long conversation
ROUND_WORDS: Final = 300  # of a turn in a room
WARM_VISITS: Final = 20  # until everything is loaded
VISIT_SECONDS: Final = 0.05  # that an opened room stays: a frame or two
EARLIER_SEED: Final = 1000
NOWHERE: Final = Server("http://127.0.0.1:9")  # never asked
COLORS: Final = ("#e06c75", "#98c379", "#61afef", "#c678dd", "#e5c07b", "#56b6c2")
ECHO_KEY: Final = "x"


class Echo(Static):
    """Counts the presses of a key, where the one who presses it can see it."""

    DEFAULT_CSS = "Echo { dock: bottom; height: 1; width: 12; }"

    def __init__(self) -> None:
        super().__init__("<<0>>", markup=False)
        self._presses = 0

    def press(self) -> None:
        """Count and show."""
        self._presses += 1
        self.update(f"<<{self._presses}>>", layout=False)


PRESS: Final[BindingType] = Binding(ECHO_KEY, "press", "Press", show=False, priority=True)


async def paced(load: Load, panes: range, start: float) -> AsyncGenerator[tuple[int, str], None]:
    """Yield (pane, word) when it is due; words of one pane come evenly, those of all panes in turn."""
    speakers = {pane: tokens(pane) for pane in panes}
    for number in range(int(load.rate * load.seconds)):
        for pane in panes:
            due = start + (number + pane / load.panes) / load.rate
            if due > time.monotonic() or number % BATCH_WORDS == 0:
                await asyncio.sleep(max(0.0, due - time.monotonic()))
            yield pane, next(speakers[pane])
        if time.monotonic() > start + 1.5 * load.seconds:  # hopelessly behind
            return


async def unpaced(load: Load) -> AsyncGenerator[tuple[int, str], None]:
    """Yield (pane, word) as fast as they are taken, and last of all in each pane ``last_`` and its number."""
    speakers = [tokens(pane) for pane in range(load.panes)]
    for number in range(load.words // load.panes):
        for pane in range(load.panes):
            yield pane, next(speakers[pane])
        if number * load.panes % BATCH_WORDS == 0:
            await asyncio.sleep(0)
    for pane in range(load.panes):
        yield pane, f"\n```\n\nlast_{pane:02}"  # opens or ends a fence: no highlighting cuts it in two


def mark(pane: int) -> str:
    """Return the end of the earlier words of a pane."""
    return f"\n\nmark-{pane:02}"


# --- ours ---


class Script(RoomLink):
    """A link over which the room and the words of a load come."""

    def __init__(self, load: Load, meter: LoadMeter, app: App[int]) -> None:
        super().__init__(NOWHERE)
        self._load = load
        self._meter = meter
        self._app = app
        self.opened = asyncio.Event()

    async def follow(self, room_id: str) -> AsyncGenerator[ev.Event, None]:
        return self._told(room_id)

    async def _told(self, room_id: str) -> AsyncGenerator[ev.Event, None]:
        """Yield the room, full of earlier words, then what the load says."""
        load, meter = self._load, self._meter
        await self._app.screen.mount(Echo())
        yield ev.LinkChanged("live")
        if load.feed == "open":
            stored = self._stored(texts(load.words))
            await meter.settle()
            meter.begin()
            yield ev.RoomLoaded(self._room(room_id, "completed"), stored)
            await meter.end(load.words)
        else:
            earlier = ["".join(words(EARLIER_SEED + pane, EARLIER_WORDS)) for pane in range(load.panes)]
            is_idle = load.feed == "idle"
            room = self._room(room_id, "completed" if is_idle else "running")
            yield ev.RoomLoaded(room, self._stored(earlier))
            if load.feed == "visits":
                self.opened.set()
                await asyncio.Event().wait()  # until it is closed
            await meter.settle()
            async with aclosing(self._said()) as events:
                async for event in events:
                    yield event
        self._app.exit(0)

    async def _said(self) -> AsyncGenerator[ev.Event, None]:
        load, meter = self._load, self._meter
        start = meter.begin()
        if load.feed == "idle":
            await asyncio.sleep(load.seconds)
            await meter.end(0)
        elif load.feed == "long":
            turns = load.words // TURN_WORDS
            for turn in range(turns):
                async for event in self._turn(turn, start):
                    yield event
                if (turn + 1) % (turns // 4) == 0:
                    meter.quarter()
            await meter.end(load.words)
        elif load.feed == "rounds":
            count = 0
            async with aclosing(self._rounds(start)) as rounds:
                async for event in rounds:
                    if isinstance(event, ev.TextAdded):
                        count += 1
                        meter.report.characters += len(event.text)
                    yield event
            await meter.end(count)
        else:
            count = 0
            for pane in range(load.panes):
                yield self._started(pane, 2, f"turn-{pane}")
            feed = paced(load, range(load.panes), start) if load.feed == "paced" else unpaced(load)
            async with aclosing(feed) as said:
                async for pane, word in said:
                    yield ev.TextAdded(f"turn-{pane}", word, agent_id=f"agent-{pane}")
                    count += 1
            await meter.end(count)

    async def _turn(self, number: int, start: float) -> AsyncIterator[ev.Event]:
        turn_id, said = f"turn-{number}", []
        yield self._started(0, number + 2, turn_id)
        for index, word in enumerate(islice(tokens(number), TURN_WORDS)):
            said.append(word)
            yield ev.TextAdded(turn_id, word, agent_id="agent-0")
            if index % BATCH_WORDS == 0:
                due = start + (number * TURN_WORDS + index) / self._load.rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))
        yield ev.TurnEnded(turn_id, "".join(said), TURN_WORDS, agent_id="agent-0")

    async def _rounds(self, start: float) -> AsyncGenerator[ev.Event, None]:
        load, panes = self._load, range(self._load.panes)
        for number in range(int(load.rate * load.seconds / ROUND_WORDS)):
            turns = [f"turn-{number}-{pane}" for pane in panes]
            said: list[list[str]] = [[] for _ in panes]
            for pane in panes:
                yield self._started(pane, number + 2, turns[pane])
            speakers = [islice(tokens(number * load.panes + pane), ROUND_WORDS) for pane in panes]
            for index, words_now in enumerate(zip(*speakers, strict=True)):
                due = start + (number * ROUND_WORDS + index) / load.rate
                await asyncio.sleep(max(0.0, due - time.monotonic()))
                for pane, word in enumerate(words_now):
                    said[pane].append(word)
                    yield ev.TextAdded(turns[pane], word, agent_id=f"agent-{pane}")
            for pane in panes:
                yield ev.TurnEnded(turns[pane], "".join(said[pane]), ROUND_WORDS, agent_id=f"agent-{pane}")

    def _started(self, pane: int, round_number: int, turn_id: str) -> ev.TurnStarted:
        name, color = f"Agent {pane}", COLORS[pane % len(COLORS)]
        return ev.TurnStarted(turn_id, "", "assistant", name, color, round_number, f"agent-{pane}")

    def _room(self, room_id: str, status: str) -> ev.RoomInfo:
        agents = tuple(
            ev.AgentInfo(f"agent-{pane}", f"Agent {pane}", COLORS[pane % len(COLORS)], "model-1", pane)
            for pane in range(self._load.panes)
        )
        return ev.RoomInfo(room_id, "", "What was it?", status, "parallel", 1, 9, agents)

    def _stored(self, said: list[str]) -> tuple[ev.Message, ...]:
        """Return texts as stored messages of all agents in turn; the last of each ends with its mark."""
        panes = self._load.panes
        for pane in range(panes):
            said[pane - panes] += mark(pane)
        return tuple(
            ev.Message(
                f"stored-{number}",
                "",
                "assistant",
                "",
                text,
                f"Agent {number % panes}",
                COLORS[number % panes % len(COLORS)],
                number // panes + 1,
                len(text) // 4,
                "",
                f"agent-{number % panes}",
            )
            for number, text in enumerate(said)
        )


class Known(Places):
    """Knows at once what is opened: no server is asked."""

    async def open_first(self) -> None:
        if self._request.chat is None:
            self.open_room("room-1")
        else:
            self.open_chat("chat-1")


class Ours(AgentTuiApp):
    """The program, with a script for a server."""

    CSS_PATH = str(Path(tui.app.__file__).with_name("app.tcss"))  # or it would be looked for beside this file
    BINDINGS: ClassVar[list[BindingType]] = [PRESS]

    def __init__(self, load: Load, meter: LoadMeter) -> None:
        request = ScreenRequest(NOWHERE, "room-1", Config(Path("config.toml")))
        self._script = Script(load, meter, self)
        super().__init__(request, self._script)
        self.places = Known(self, request, self._script, None)
        self._load = load
        self._meter = meter

    def on_ready(self) -> None:
        """Begin to open and close the room, if that is the load."""
        if self._load.feed == "visits":
            self.run_worker(self._visit())

    async def _visit(self) -> None:
        for number in range(WARM_VISITS + self._load.words):
            await self._script.opened.wait()
            self._script.opened.clear()
            await asyncio.sleep(VISIT_SECONDS)
            self.action_leave_room()
            await asyncio.sleep(VISIT_SECONDS)
            if number == WARM_VISITS - 1:
                await self._meter.settle()
                self._meter.begin()
            if number < WARM_VISITS + self._load.words - 1:
                self.places.open_room("room-1")
        await self._meter.end(self._load.words)
        self.exit(0)

    def action_press(self) -> None:
        """Answer the key."""
        self.screen.query_one(Echo).press()


# --- a chat ---


class ChatScript(ChatLink):
    """A link over which a chat and the words of a load come."""

    def __init__(self, load: Load, meter: LoadMeter, app: App[int]) -> None:
        super().__init__(NOWHERE)
        self._load = load
        self._meter = meter
        self._app = app

    async def follow(self, conversation_id: str) -> AsyncGenerator[ev.Event, None]:
        return self._told(conversation_id)

    async def _told(self, conversation_id: str) -> AsyncGenerator[ev.Event, None]:
        """Yield the chat with an earlier answer, then the one that the load says."""
        load, meter = self._load, self._meter
        await self._app.screen.mount(Echo())
        text = "".join(words(EARLIER_SEED, EARLIER_WORDS)) + mark(0)
        steps = (ev.Step("step-0", content=text),)
        earlier = ev.Message(
            "stored", "", "assistant", "", text, "model-1", "", 0, len(text) // 4, "", steps=steps
        )
        yield ev.LinkChanged("live")
        yield ev.ConversationLoaded(ev.ConversationInfo(conversation_id, "A chat", "running"), (earlier,))
        await meter.settle()
        start = meter.begin()
        yield ev.TurnStarted("answer", "", "assistant", "model-1", "", 0, parent_id="stored")
        yield ev.StepSet("answer", ev.Step("step-0"))
        count = 0
        async with aclosing(paced(load, range(1), start)) as said:
            async for _, word in said:
                yield ev.StepAdded("answer", "step-0", content=word)
                count += 1
        await meter.end(count)
        self._app.exit(0)


class OursInAChat(AgentTuiApp):
    """The program with a chat, with a script for a server."""

    CSS_PATH = Ours.CSS_PATH
    BINDINGS: ClassVar[list[BindingType]] = [PRESS]

    def __init__(self, load: Load, meter: LoadMeter) -> None:
        request = ScreenRequest(NOWHERE, None, Config(Path("config.toml")), chat="chat-1")
        super().__init__(request)
        self.places = Known(self, request, None, ChatScript(load, meter, self))

    def action_press(self) -> None:
        """Answer the key."""
        self.screen.query_one(Echo).press()


# --- stock ---


class Stock(App[int]):
    """Textual's own Markdown, streamed as its documentation says."""

    CSS = "#panes { layout: grid; }"
    BINDINGS: ClassVar[list[BindingType]] = [PRESS]

    def __init__(self, load: Load, meter: LoadMeter) -> None:
        super().__init__()
        self._load = load
        self._meter = meter
        self._count = 0

    def compose(self) -> ComposeResult:
        with Container(id="panes"):
            for _ in range(self._load.panes):
                with VerticalScroll():
                    yield Markdown()
        yield Echo()

    def on_ready(self) -> None:
        """Begin."""
        self.query_one("#panes").styles.grid_size_columns = round(self._load.panes**0.5)
        self.run_worker(self._speak())

    async def _speak(self) -> None:
        documents = list(self.query(Markdown))
        for pane, document in enumerate(documents):
            await document.update("".join(words(EARLIER_SEED + pane, EARLIER_WORDS)) + mark(pane) + "\n\n")
        for scroll in self.query(VerticalScroll):
            scroll.anchor()
        await self._meter.settle()
        before = sum(len(document.source) for document in documents)
        start = self._meter.begin()
        await asyncio.gather(*(self._stream(pane, start) for pane in range(self._load.panes)))
        await self._meter.end(self._count)
        said = int(self._load.rate * self._load.seconds)
        given = sum(len("".join(words(pane, said))) for pane in range(self._load.panes))
        shown = sum(len(document.source) for document in documents) - before
        self._meter.report.shown = shown / given
        self.exit(0)

    async def _stream(self, pane: int, start: float) -> None:
        stream = Markdown.get_stream(list(self.query(Markdown))[pane])
        async with aclosing(paced(self._load, range(pane, pane + 1), start)) as said:
            async for _, word in said:
                await stream.write(word)
                self._count += 1

    def action_press(self) -> None:
        """Answer the key."""
        self.query_one(Echo).press()


def main(argument: str, path: Path) -> None:
    """Run the program of a load and write its report."""
    load = Load(**json.loads(argument))
    meter = LoadMeter(load)
    try:
        programs = {"ours": Ours, "chat": OursInAChat, "stock": Stock}
        app = programs[load.program](load, meter)
        app.run()
        if isinstance(app, AgentTuiApp) and (crash := crash_of(app)) is not None:
            raise crash
    except Exception:  # the parent shows it: this process has no terminal that a person sees
        meter.report.failure = traceback.format_exc()
        raise
    finally:
        path.write_text(json.dumps(asdict(meter.report)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
