"""A voice session without a screen: what is said and typed, what is written, and how it ends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import cast

import pytest

from agent_tui.audio.clocked import ClockedSound
from agent_tui.clients.chat import ChatClient
from agent_tui.model import voice as vo
from agent_tui.model.errors import ConfigError, ConnectFailed, NotFound
from agent_tui.model.events import Event, Step, StepSet, ToolAsk, ToolStatusChanged
from agent_tui.model.tool_forms import ToolForm
from agent_tui.state.voice import VoiceState
from tests.fakes.chat_link import FakeChatClient
from tests.fakes.voice.voice_client import FakeSound, FakeVoiceClient
from tests.settling import settle
from tests.state.voice_talk import JOINED, turn
from tui.cli.arguments import take_connection
from tui.cli.headless.formats import Ending, FormatName
from tui.cli.headless.interrupts import Interrupts
from tui.cli.headless.telling import NOT_ALLOWED
from tui.cli.tree import run
from tui.language import speak
from tui.request import Server
from tui.voice.headless.formats import voice_format
from tui.voice.headless.talk import HeadlessTalk, follow_log
from tui.voice.opening import VoiceOpening
from tui.voice.request import VoiceRequest
from tui.voice.session import VoiceSession

LONG_SECONDS = 10.0


class FakeSpeech:
    """A file that is said as soon as it may."""

    def __init__(self) -> None:
        self.is_begun = False

    def begin(self) -> None:
        self.is_begun = True

    @property
    def is_over(self) -> bool:
        return self.is_begun


class Headless:
    """One session: the test sends what happens, and reads what was written."""

    def __init__(self, form: FormatName, lines: Sequence[str] | None = None) -> None:
        self.client = FakeVoiceClient()
        self.speech = FakeSpeech()
        self.state = VoiceState()
        self.form = voice_format(form)
        self.sound = FakeSound()
        speech = None if lines else cast("ClockedSound", self.speech)
        session = VoiceSession(self.client, self.sound, speech=speech)
        self._interrupts = Interrupts()
        typed = _typed(lines) if lines is not None else None
        clock = asyncio.get_running_loop().time
        talk = HeadlessTalk(session, self.form, self.state, typed, now=clock)
        self.task = asyncio.create_task(talk.run(self._interrupts))

    def interrupt(self) -> None:
        on_first = self._interrupts.on_first
        assert on_first is not None
        on_first()

    async def send(self, *events: vo.VoiceEvent) -> None:
        """Let these happen, and some seconds go by."""
        self.client.send(*events)
        await settle(LONG_SECONDS)

    async def ending(self) -> Ending:
        """Return how it ended, once it did; the format has written its end then."""
        await settle(LONG_SECONDS)
        assert self.task.done(), "it goes on"
        ending = self.task.result()
        self.form.end(ending, self.state, "demo", "c1")
        return ending


def _typed(lines: Sequence[str]) -> Callable[[], AsyncGenerator[str, None]]:
    async def typed() -> AsyncGenerator[str, None]:
        for line in lines:
            yield line

    return typed


def events_of(text: str) -> list[tuple[str, dict[str, object]]]:
    """Return the events of the stream-json format: name and data."""
    parsed = [json.loads(line) for line in text.splitlines()]
    assert all(set(line) == {"id", "event", "data"} for line in parsed)
    return [(line["event"], line["data"]) for line in parsed]


# --- a file ----------------------------------------------------------------------------------------------


async def test_a_file_is_said_once_the_agent_listens_and_the_answer_is_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = Headless("text")
    await session.send(*JOINED[1:5])
    assert not session.speech.is_begun
    await session.send(JOINED[5])
    assert session.speech.is_begun
    await session.send(*turn(1, "What rooms are running?", "Two.\nRedis, and another one.")[:-1])
    assert not session.task.done()  # it still speaks
    await session.send(vo.AgentStateChanged("listening"))
    assert await session.ending() == Ending("completed")
    assert capsys.readouterr().out == "you: What rooms are running?\nagent: Two. Redis, and another one.\n"
    assert session.client.is_left
    assert session.sound.asked[-1] == "close"


async def test_an_agent_that_listens_to_someone_else_is_asked_to_listen_before_the_file_is_said() -> None:
    session = Headless("text")
    me, bob = vo.Person("me", "Ada", is_me=True), vo.Person("bob", "Bob", is_heard=True)
    await session.send(*JOINED[1:3], vo.PeopleChanged((bob, me)), *JOINED[4:])
    assert session.speech.is_begun
    assert session.client.asked == ["ask_to_listen"]
    await session.send(*turn(1, "Hello", "Good day."))
    assert (await session.ending()).code == 0


async def test_a_greeting_is_not_taken_for_the_answer() -> None:
    session = Headless("text")
    await session.send(*JOINED[1:], *turn(0, "", "Hello.")[7:])
    assert session.speech.is_begun
    await session.send(vo.UserStateChanged("speaking"), vo.WordsHeard("s", "Pause it", is_final=True))
    assert not session.task.done()
    await session.send(*turn(1, "Pause it", "Done."))
    assert (await session.ending()).code == 0


async def test_the_stream_has_words_steps_times_and_an_end(capsys: pytest.CaptureFixture[str]) -> None:
    session = Headless("stream-json")
    await session.send(*JOINED[1:])
    talk = turn(1, "Pause the first one please", "Done. It is paused.", cut_at=5)
    call = Step("c", type="tool_call", name="pause_room", arguments="{}", status="running")
    result = Step("r", type="tool_result", content="paused", id_ref="c")
    steps = (StepSet("t", call), ToolStatusChanged("t", "c", "done"), StepSet("t", result))
    await session.send(*talk[:7], *steps, *talk[7:])
    assert (await session.ending()).code == 0
    events = events_of(capsys.readouterr().out)
    names = [name for name, _ in events]
    assert names[-1] == "end"
    assert {"user_transcript", "agent_transcript", "process_step", "metrics", "agent_state"} <= set(names)
    finals = [data for name, data in events if name.endswith("_transcript") and data["final"]]
    assert [data["text"] for data in finals] == ["Pause the first one please", "Done."]
    assert finals[1]["interrupted"] is True
    (metrics,) = [data for name, data in events if name == "metrics"]
    assert isinstance(metrics["e2e_seconds"], float)
    kinds = [data["step"]["type"] for name, data in events if name == "process_step"]  # type: ignore[index]
    assert kinds == ["tool_call", "tool_result"]
    assert events[-1][1] == {"reason": "completed", "text": "Done.", "detail": None}


async def test_times_are_those_that_the_agent_tells(capsys: pytest.CaptureFixture[str]) -> None:
    session = Headless("stream-json")
    await session.send(*JOINED[1:])
    asked = vo.SpokenItem("u", "user", "Hi", times=vo.TurnTimes(hearing=0.4, end_of_turn=0.5))
    answer = vo.SpokenItem("a", "assistant", "Hello.", times=vo.TurnTimes(None, None, 0.02, 0.01, 0.61))
    await session.send(vo.ItemStored(asked), vo.ItemStored(answer))
    await session.ending()
    (metrics,) = [data for name, data in events_of(capsys.readouterr().out) if name == "metrics"]
    assert metrics == {
        "turn": 1,
        "line": "l2",
        "e2e_seconds": 0.61,
        "hearing_seconds": 0.4,
        "end_of_turn_seconds": 0.5,
        "model_seconds": 0.02,
        "voice_seconds": 0.01,
    }


async def test_a_long_answer_is_told_again_only_as_it_grows(capsys: pytest.CaptureFixture[str]) -> None:
    session = Headless("stream-json")
    await session.send(*JOINED[1:])
    await session.send(*turn(1, "Tell me", "word " * 2_000))
    await session.ending()
    assert len(capsys.readouterr().out) < 200_000


async def test_who_speaks_is_named_in_the_language_of_the_screens(
    capsys: pytest.CaptureFixture[str],
) -> None:
    speak("zh-CN")
    try:
        session = Headless("text", ["你好"])
        await session.send(*JOINED[1:])
        await session.send(*turn(1, "你好", "您好。")[5:])
        await session.ending()
    finally:
        speak("en")
    assert capsys.readouterr().out == "您：你好\n智能体：您好。\n"


async def test_words_of_an_agent_that_keeps_no_items_are_final_once_they_are_said(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = Headless("text")
    await session.send(*JOINED[1:4], vo.AgentJoined("a", has_session=False), JOINED[5])
    await session.send(vo.WordsHeard("s", "Hello", is_final=True), vo.WordsSpoken("t", "Hi.", is_final=True))
    assert (await session.ending()).code == 0
    assert capsys.readouterr().out == "you: Hello\nagent: Hi.\n"


async def test_the_answer_to_a_file_is_timed_too_where_the_agent_does_not_say_when_a_person_speaks(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = Headless("stream-json")
    await session.send(*JOINED[1:4], vo.AgentJoined("a", has_session=False), JOINED[5])
    await session.send(vo.WordsHeard("s", "Hello", is_final=True), vo.AgentStateChanged("speaking"))
    await session.send(vo.WordsSpoken("t", "Hi.", is_final=True), vo.AgentStateChanged("listening"))
    assert (await session.ending()).code == 0
    (times,) = [data for name, data in events_of(capsys.readouterr().out) if name == "metrics"]
    assert isinstance(times["e2e_seconds"], float)


async def test_what_was_said_in_earlier_sessions_is_not_told_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = Headless("stream-json")
    session.state.joined_at = 5_000.0
    times = vo.TurnTimes(whole=0.5)
    earlier = vo.SpokenItem("e", "assistant", "An old answer.", created_at=4_000.0, times=times)
    greeting = vo.SpokenItem("g", "assistant", "Hello.", created_at=5_001.0)
    await session.send(*JOINED[1:], vo.HistoryLoaded((earlier, greeting)))
    await session.send(*turn(1, "Hi", "Good day."))
    assert (await session.ending()).code == 0
    events = events_of(capsys.readouterr().out)
    texts = [data["text"] for name, data in events if name.endswith("_transcript") and data["final"]]
    assert texts == ["Hello.", "Hi", "Good day."]
    assert [data["turn"] for name, data in events if name == "metrics"] == [1]
    assert events[-1][1]["text"] == "Hello.\n\nGood day."


async def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    session = Headless("json")
    await session.send(*JOINED[1:])
    await session.send(*turn(1, "Hello", "Good day."))
    await session.ending()
    record = json.loads(capsys.readouterr().out)
    assert (record["reason"], record["text"], record["room"], record["conversation"]) == (
        "completed",
        "Good day.",
        "demo",
        "c1",
    )
    assert [(message["role"], message["content"]) for message in record["messages"]] == [
        ("user", "Hello"),
        ("assistant", "Good day."),
    ]


# --- lines -----------------------------------------------------------------------------------------------


async def test_each_line_is_a_turn_that_waits_for_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    session = Headless("text", ["First", "Second"])
    await session.send(*JOINED[1:])
    assert session.client.asked == ["say First"]
    await session.send(*turn(1, "First", "One.")[5:])
    assert session.client.asked == ["say First", "say Second"]
    await session.send(*turn(2, "Second", "Two.")[5:])
    assert (await session.ending()).code == 0
    assert capsys.readouterr().out == "you: First\nagent: One.\nyou: Second\nagent: Two.\n"


async def test_words_to_which_the_agent_says_nothing_are_not_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = Headless("text", ["Stop.", "Second"])
    await session.send(*JOINED[1:])
    stop = turn(1, "Stop.", "")[5:7]
    await session.send(*stop)
    assert session.client.asked == ["say Stop."]  # it thinks
    await session.send(vo.AgentStateChanged("listening"))
    assert session.client.asked == ["say Stop.", "say Second"]
    await session.send(*turn(2, "Second", "Two.")[5:])
    assert (await session.ending()).code == 0
    assert capsys.readouterr().out == "you: Stop.\nyou: Second\nagent: Two.\n"


# --- ends ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "reason", "code"),
    [
        (vo.LinkMoved("connected", "The agent did not join the room.", "agent_absent"), "timeout", 4),
        (vo.LinkMoved("connected", "The agent left the room.", "agent_left"), "timeout", 4),
        (vo.LinkMoved("failed", "No LiveKit server answers there.", "refused"), "lost", 5),
        (vo.LinkMoved("failed", "The server refused the token.", "token_refused"), "refused", 6),
        (vo.LinkMoved("failed", "cannot connect to http://host", "unreachable"), "lost", 5),
        (vo.LinkMoved("failed", "the server failed (503)", "endpoint_failed"), "error", 4),
        (vo.LinkMoved("ended", "The room was deleted.", "room_deleted"), "error", 4),
        (vo.LinkMoved("failed", "The connection was lost.", "lost"), "lost", 4),
    ],
)
async def test_how_a_session_ends_is_its_exit_code(link: vo.LinkMoved, reason: str, code: int) -> None:
    session = Headless("text")
    await session.send(*JOINED[1:3], link)
    ending = await session.ending()
    assert (ending.reason, ending.code, ending.detail) == (reason, code, link.detail)


async def test_a_file_of_which_nothing_is_understood_ends_with_an_error() -> None:
    session = Headless("text")
    await session.send(*JOINED[1:])
    await settle(LONG_SECONDS)
    await settle(LONG_SECONDS)
    ending = await session.ending()
    assert (ending.code, ending.detail) == (4, "the agent understood nothing of the file")


async def test_an_interrupt_leaves_and_closes_everything(capsys: pytest.CaptureFixture[str]) -> None:
    session = Headless("text")
    await session.send(*JOINED[1:], *turn(1, "Hello", "Good day to you")[:-2])
    session.interrupt()
    assert (await session.ending()).code == 3
    assert capsys.readouterr().out == "you: Hello\nagent: Good day to you\n"
    assert session.client.is_left
    assert session.sound.asked[-1] == "close"


async def test_a_short_answer_that_is_never_final_is_written_at_the_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = Headless("text")
    await session.send(*JOINED[1:], vo.WordsHeard("s", "Ready?", is_final=True), vo.WordsSpoken("t", "Yes."))
    session.interrupt()
    await session.ending()
    assert capsys.readouterr().out.startswith("you: Ready?\nagent: Yes.")


async def test_a_line_that_cannot_be_sent_ends_with_that() -> None:
    session = Headless("text", ["First"])
    session.client.refuse = ConnectFailed("nobody answers")
    await session.send(*JOINED[1:])
    assert (await session.ending()).code == 5


class AskingClient(FakeChatClient):
    """A call and a form ask, one after the other."""

    async def follow(self, conversation_id: str) -> AsyncGenerator[Event, None]:
        for step_id, form in (("s1", None), ("s2", ToolForm("files", "Your name?"))):
            yield ToolStatusChanged("m1", step_id, "asks", ask=ToolAsk("files asks", form=form))
        raise NotFound("There is no conversation c1")  # it was empty when the session ended


async def test_a_call_that_asks_is_denied_and_a_form_declined(capsys: pytest.CaptureFixture[str]) -> None:
    client = AskingClient()
    session = VoiceSession(FakeVoiceClient(), FakeSound(), conversation_id="c1")
    await follow_log(cast("ChatClient", client), session)
    assert client.asked == [f"answer m1 s1 deny {NOT_ALLOWED}", "answer m1 s2 decline"]
    notices = capsys.readouterr().err
    assert "denied: files asks" in notices
    assert "The MCP server files asks you for a confirmation: declined, nobody can be asked" in notices
    assert "no conversation" not in notices


async def test_a_file_that_cannot_be_read_is_told_before_anything_is_started(tmp_path: Path) -> None:
    lines: list[str] = []
    opening = VoiceOpening(Server("http://127.0.0.1:9"))
    with pytest.raises(ConfigError, match=r"none.wav cannot be read"):
        await opening.open(VoiceRequest(wav=tmp_path / "none.wav"), lines.append)
    assert lines == []


# --- the command line ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--output", "json"], "--output needs --wav FILE, or --text for lines from stdin"),
        (["--transcript", "t.txt"], "--transcript needs --wav FILE, or --text with --output"),
        (["--room", " "], "--room needs a name"),
        (["--room", "a\u202eb"], "--room needs a name"),
        (["--agent", "no/such.py"], "there is no such file"),
        (["--token", "x", "--token-file", "y", "--wav", "z"], "name two tokens"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_started(
    words: list[str], complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(tmp_path / "config.toml"))
    connection, rest = take_connection(["voice", *words])
    with pytest.raises(ConfigError, match=complaint):
        run(connection, rest)
    assert not (tmp_path / "data").exists()
