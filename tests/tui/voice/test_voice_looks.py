"""The voice screen in every state, as it was looked at."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from rich.style import Style
from syrupy.assertion import SnapshotAssertion

from agent_tui.audio.sound import Level, SoundStatus
from agent_tui.model import voice as vo
from agent_tui.model.errors import ConnectFailed
from agent_tui.model.events import Step, StepSet, ToolStatusChanged
from tests.fakes.voice.voice_client import FakeVoiceSource
from tests.state.voice_talk import JOINED, turn
from tests.thorough import of_many
from tests.tui.looks import NOON, colours, same, signs, stand_still
from tests.tui.themes.test_contrast import COLOURED, STRICT, unreadable
from tests.tui.voice.one_voice import opened
from tui import themes
from tui.screens.theme_picker import wear
from tui.voice.request import VoiceRequest
from tui.voice.session import NotSetUp
from widgets.palettes import MIN_CONTRAST

SIZES = ((100, 30), (80, 24), (60, 20))
CONNECTED = JOINED[1:3]
CALL = StepSet(
    "t", Step("c", type="tool_call", name="pause_room", arguments='{"room": "Redis or PostgreSQL?"}')
)
TALK: Sequence[vo.VoiceEvent] = (
    *JOINED[1:],
    *turn(1, "What rooms are running?", "Two. Redis or PostgreSQL, in round two, and the other", cut_at=40),
    *turn(2, "Pause the first one, please.", "Done. It is paused at Ada's turn.")[:7],
    CALL,
    ToolStatusChanged("t", "c", "done", 0.014),
    *turn(2, "Pause the first one, please.", "Done. It is paused at Ada's turn.")[7:],
    *turn(3, "那个关于缓存的房间呢?", "Она остановлена: 轮到 Ada 了。"),
    vo.ItemStored(vo.SpokenItem("x", "user", "Thanks.", created_at=NOON, times=vo.TurnTimes(0.4, 0.5))),
    vo.ItemStored(
        vo.SpokenItem(
            "y", "assistant", "Any time.", created_at=NOON, times=vo.TurnTimes(None, None, 0.02, 0.01, 0.61)
        )
    ),
    vo.LinkMeasured("good", 0.008),
    vo.UserStateChanged("speaking"),
    vo.WordsHeard("now", "And what is the other one", identity="me"),
)
STATES: dict[str, Sequence[vo.VoiceEvent]] = {
    "connecting": JOINED[1:2],
    "waiting for the agent": CONNECTED,
    "no agent": (
        *CONNECTED,
        vo.LinkMoved("connected", "The agent did not join the room.", "agent_absent"),
    ),
    "initializing": JOINED[1:5],
    "listening": JOINED[1:],
    "talk": TALK,
    "thinking": (*TALK, vo.UserStateChanged("listening"), vo.AgentStateChanged("thinking")),
    "speaking": (*TALK, vo.UserStateChanged("listening"), vo.AgentStateChanged("speaking")),
    "muted": (*JOINED[1:], vo.MicChanged(is_muted=True)),
    "talking": (*JOINED[1:], vo.MicChanged(is_muted=False, is_talking=True)),
    "away": (*JOINED[1:], vo.UserStateChanged("away")),
    "reconnecting": (*TALK, vo.LinkMoved("reconnecting", attempt=3)),
    "agent left": (*TALK, vo.AgentLeft("agent-demo")),
    "not linked": (
        *JOINED[1:],
        vo.AgentJoined("agent-demo", "demo", has_session=True, takes_requests=True),
        vo.PeopleChanged(
            (
                vo.Person("me", "Ada", is_me=True),
                vo.Person("bob", "老王 Боб", is_heard=True, is_speaking=True),
            )
        ),
    ),
    "ended": (*TALK, vo.LinkMoved("ended", "The room was deleted. Start the session again.", "room_deleted")),
    "failed": (*JOINED[1:2], vo.LinkMoved("failed", "The server refused the token.", "token_refused")),
}


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    stand_still(monkeypatch, tmp_path)
    time.tzset()


@pytest.mark.parametrize("name", STATES)
async def test_the_screen_looks_like_this(name: str, snapshot: SnapshotAssertion) -> None:
    async with opened(*STATES[name]) as seen:
        seen.source.sound.input_level = Level(-22.0, -9.0)
        await seen.until("dB" if name in ("listening", "talk") else "you")
        await same(seen, snapshot, SIZES)


@pytest.mark.parametrize("name", ["preparing", "not set up", "no server"])
async def test_before_there_is_a_session_it_looks_like_this(name: str, snapshot: SnapshotAssertion) -> None:
    source = FakeVoiceSource()
    source.tells = ("starting the LiveKit server…",)
    refused = {
        "not set up": NotSetUp("There is no livekit-server on this machine", "Run: agent-tui voice setup"),
        "no server": ConnectFailed("the backend cannot be reached", "connection refused"),
    }
    source.refuse = refused.get(name)
    if name == "preparing":
        source.hold()
    async with opened(source=source) as seen:
        await same(seen, snapshot, SIZES)


@pytest.mark.parametrize("name", ["no microphone", "no sound", "text only", "no signal", "clipping"])
async def test_the_sound_looks_like_this(name: str, snapshot: SnapshotAssertion) -> None:
    source = FakeVoiceSource()
    lost = "the microphone was unplugged"
    statuses = {
        "no microphone": SoundStatus("", lost, "Headset"),
        "no sound": SoundStatus("", "PortAudio is not installed", "", "PortAudio is not installed"),
        "no signal": SoundStatus("Headset", output_name="Headset", has_signal=False, underruns=1200),
        "clipping": SoundStatus("Headset", output_name="Headset", uses_headphones=True),
    }
    source.sound.status = statuses.get(name, source.sound.status)
    source.sound.input_level = Level(-1.0, 0.0, is_clipping=True)
    source.sound.output_level = Level(-38.0, -30.0)
    request = VoiceRequest(text_only=name == "text only", headphones=name == "clipping")
    async with opened(*JOINED[1:], source=source, request=request) as seen:
        await same(seen, snapshot, SIZES)


async def test_in_ascii_everything_is_ascii_but_words(snapshot: SnapshotAssertion) -> None:
    async with opened(*TALK, is_ascii=True) as seen:
        seen.source.sound.input_level = Level(-22.0, -9.0)
        text = await seen.until("-22 dB")
        assert signs(text) == {"。"}
        await same(seen, snapshot, SIZES)


async def test_without_colours_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with opened(*TALK, vo.LinkMoved("ended", "The room was deleted.", "room_deleted")) as seen:
        text = await seen.text()
        assert "ended" in text
        assert all(colour.startswith("#") or colour in ("default",) for colour in colours(seen.app))
        grey = {colour for colour in colours(seen.app) if colour.startswith("#")}
        assert all(len({colour[1:3], colour[3:5], colour[5:7]}) == 1 for colour in grey)


@pytest.mark.parametrize("name", of_many(COLOURED, ("dark", "light", "contrast-dark")))
async def test_everything_can_be_read_in_every_theme(name: str) -> None:
    texts: set[tuple[str, Style]] = set()
    absent = vo.LinkMoved("connected", "The agent did not join the room.", "agent_absent")
    for events in (TALK, (*TALK, vo.AgentLeft("agent-demo"), absent), STATES["failed"], STATES["not linked"]):
        async with opened(*events) as seen:
            seen.source.sound.input_level = Level(-22.0, -9.0, is_clipping=events is TALK)
            wear(seen.app, themes.load(name))
            await seen.settle()
            texts |= {
                (segment.text.strip(), segment.style or Style.null())
                for strip in seen.app.screen._compositor.render_strips(seen.app.size)
                for segment in strip
                if segment.text.strip(" ─▌·▏▎▍▋▊▉█")
            }
    assert unreadable(texts, STRICT.get(name, MIN_CONTRAST)) == []
