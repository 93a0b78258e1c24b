"""What a person does on the voice screen: keys, typing, devices, approvals; and what comes of it."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from types import FrameType

import pytest

from agent_tui.audio.sound import Level, SoundStatus
from agent_tui.model import events as ev
from agent_tui.model import voice as vo
from agent_tui.model.errors import ConnectFailed, NotFound, Refused
from agent_tui.model.events import Message, Step, StepSet
from tests.fakes.voice.voice_client import FakeVoiceSource
from tests.state.chat_events import loaded, started
from tests.state.voice_talk import JOINED, turn
from tests.tui.voice.one_voice import Voice, opened
from tui.cli import exits
from tui.keys.actions import offers
from tui.keys.keymap import resolve
from tui.language import speak
from tui.live.ask_bar import GUARD_SECONDS
from tui.voice.asks import call_id
from tui.voice.request import VoiceRequest
from tui.voice.session import NotSetUp

THERE = JOINED[1:]
ABSENT = vo.LinkMoved("connected", "The agent did not join the room.", "agent_absent")


# --- keys ------------------------------------------------------------------------------------------------


async def test_m_mutes_and_opens_the_microphone() -> None:
    async with opened(*THERE) as seen:
        text = await seen.press("m")
        assert "muted" in text
        assert "m unmute" in text
        text = await seen.press("m")
        assert "muted" not in text
        assert seen.asked == ["mute True", "mute False"]


async def test_a_tap_on_space_talks_until_the_next_one() -> None:
    async with opened(*THERE) as seen:
        for _ in range(3):  # it repeats while it is held
            await seen.pilot.press("space")
            seen.app.time += 0.05
        assert seen.asked == ["start_talking"]
        seen.app.time += 1.5
        assert "space talk" in await seen.press("space")
        assert "space stop talking" in await seen.press("space")
        assert "space talk" in await seen.press("space")
        assert seen.asked == ["start_talking", "stop_talking"] * 2


async def test_space_that_is_held_talks_until_the_terminal_says_it_was_released() -> None:
    async with opened(*THERE) as seen:
        await seen.pilot.press("space")
        seen.app.time += 2.0
        await seen.press("space_released")
        assert seen.asked == ["start_talking", "stop_talking"]
        await seen.pilot.press("space")
        seen.app.time += 0.1
        await seen.press("space_released")  # a tap: it goes on until the next one
        assert seen.asked == ["start_talking", "stop_talking", "start_talking"]


async def test_talking_that_is_refused_says_why_and_space_begins_anew() -> None:
    async with opened(*THERE) as seen:
        seen.source.client.refuse = Refused("the agent takes no turns")
        await seen.press("space")
        assert seen.toasts == ["the agent takes no turns"]
        seen.source.client.refuse = None
        await seen.press("space")
        assert seen.asked == ["start_talking", "start_talking"]


async def test_the_room_in_the_title_is_the_one_that_a_given_token_is_for() -> None:
    source = FakeVoiceSource()
    source.room = "attic"
    async with opened(*THERE, source=source) as seen:
        assert "voice room attic" in seen.now
        assert "voice room attic" in await seen.send(vo.LinkMoved("ended"))


async def test_an_agent_of_ones_own_is_in_no_room_and_the_title_names_its_file() -> None:
    async with opened(*THERE, request=VoiceRequest(script=Path("agents/clerk.py"))) as seen:
        assert "voice with clerk.py" in seen.now
        assert "room" not in seen.now.splitlines()[0]


async def test_nobody_is_asked_to_talk_before_the_agent_hears() -> None:
    async with opened(*JOINED[:5]) as seen:
        assert "the agent is starting" in seen.now
        assert "Say something" not in seen.now
        assert "Say something" in await seen.send(*JOINED[5:])


async def test_an_answer_that_is_still_being_thought_of_can_be_interrupted() -> None:
    async with opened(*THERE, vo.AgentStateChanged("thinking")) as seen:
        assert "i interrupt" in seen.now
        await seen.press("tab", *"/stop", "enter")
        assert seen.asked == ["interrupt"]


async def test_i_interrupts() -> None:
    async with opened(*THERE, vo.AgentStateChanged("speaking")) as seen:
        assert "i interrupt" in seen.now
        await seen.press("i")
        assert seen.asked == ["interrupt"]


async def test_t_is_text_only_and_back() -> None:
    async with opened(*THERE) as seen:
        text = await seen.press("t")
        assert "text only" in text
        assert "t talk again" in text
        assert seen.source.sound.asked[-2:] == ["hold", "drop"]
        text = await seen.press("t")
        assert "t text only" in text
        assert seen.source.sound.asked[-1] == "resume"
        seen.source.sound.asked.clear()
        await seen.later(1.0)
        assert "drop" not in seen.source.sound.asked  # everything is heard again
        assert seen.asked == ["mute True", "mute False"]


@pytest.mark.parametrize("key", ["t", "space"])
async def test_who_began_with_text_talks_once_the_devices_are_opened(key: str) -> None:
    async with opened(*THERE, request=VoiceRequest(text_only=True)) as seen:
        first = seen.source.client
        await seen.press("escape", key)
        await seen.until(lambda: seen.source.client is not first)
        assert [request.text_only for request in seen.source.opened] == [True, False]
        text = await seen.send(*THERE, vo.MicChanged(is_muted=False))
        assert "t text only" in text
        assert "m mute" in text
        await seen.press("space")
        assert seen.asked == ["start_talking"]


async def test_h_switches_the_echo_canceller() -> None:
    async with opened(*THERE) as seen:
        assert "headphones: on" in await seen.press("h")
        assert "headphones: off" in await seen.press("h")
        assert seen.source.sound.asked == ["open", "headphones False", "headphones True", "headphones False"]


async def test_d_changes_over_to_another_device_and_keeps_that() -> None:
    async with opened(*THERE) as seen:
        text = await seen.press("d")
        assert "speaker · HDMI" in text
        await seen.press(*"hdmi", "enter")
        assert seen.source.sound.asked[-1] == "choose output HDMI"
        assert seen.source.remembered == [("output", "HDMI")]
        assert seen.toasts == ["speaker: HDMI"]


async def test_f_sends_a_file_to_an_agent_that_takes_them() -> None:
    async with opened(*THERE, vo.AgentJoined("agent-demo", "demo", takes_files=True)) as seen:
        await seen.press("f", *"/tmp/notes.txt", "enter")
        await seen.until(lambda: seen.asked == ["send_file notes.txt"])
    async with opened(*THERE) as seen:
        await seen.press("f", *"/tmp/notes.txt", "enter")
        await seen.until("this agent does not accept files")
        assert seen.asked == []


async def test_a_asks_the_agent_to_listen() -> None:
    people = vo.PeopleChanged((vo.Person("me", is_me=True), vo.Person("bob", "Bob", is_heard=True)))
    agent = vo.AgentJoined("agent-demo", "demo", has_session=True, takes_requests=True)
    async with opened(*THERE, agent, people) as seen:
        assert "The agent listens to Bob, not to you." in seen.now
        await seen.press("a")
        assert seen.asked == ["ask_to_listen"]


async def test_who_has_two_terminals_is_told_that_the_agent_listens_to_the_other_one() -> None:
    both = vo.PeopleChanged((vo.Person("me", "Ada", is_me=True), vo.Person("too", "Ada", is_heard=True)))
    async with opened(*THERE, both) as seen:
        assert "The agent listens to another terminal of Ada, not to this one." in seen.now


async def test_of_an_agent_that_cannot_be_asked_to_listen_no_key_is_named() -> None:
    people = vo.PeopleChanged((vo.Person("me", is_me=True), vo.Person("bob", "Bob", is_heard=True)))
    async with opened(*THERE, vo.AgentJoined("agent-demo", "demo"), people) as seen:
        assert "The agent listens to Bob, not to you." in seen.now
        assert "ask it to listen" not in seen.now


async def test_an_agent_whose_person_has_left_says_that_it_hears_nobody() -> None:
    me, bob = vo.Person("me", is_me=True), vo.Person("bob", "Bob", is_heard=True)
    agent = vo.AgentJoined("agent-demo", "demo", has_session=True)
    async with opened(*THERE, agent, vo.PeopleChanged((me, bob)), vo.PeopleChanged((me,))) as seen:
        assert "The agent listened to Bob, who has left. It hears nobody." in seen.now
        back = vo.PeopleChanged((me, bob))
        assert "listens to Bob, not to you" in await seen.send(back)


@pytest.mark.parametrize(
    ("others", "who"), [((), "you"), ((vo.Person("bob", "Bob", is_heard=True),), "someone")]
)
async def test_words_that_are_nobodys_are_yours_only_if_you_are_alone(
    others: tuple[vo.Person, ...], who: str
) -> None:
    people = vo.PeopleChanged((vo.Person("me", "Ada", is_me=True), *others))
    history = vo.HistoryLoaded((vo.SpokenItem("u1", "user", "Hello"),))
    item = vo.ItemStored(vo.SpokenItem("u2", "user", "Again"))
    async with opened(*THERE, people, history, item) as seen:
        rows = seen.now.splitlines()
        assert all(f" {who} " in next(row for row in rows if word in row) for word in ("Hello", "Again"))


async def test_your_words_stay_yours_when_a_session_begins_again() -> None:
    words = vo.WordsHeard("s1", "Hello", is_final=True, identity="owner-ada-1")
    async with opened(
        *THERE, vo.PeopleChanged((vo.Person("owner-ada-1", "Ada", is_me=True),)), words
    ) as seen:
        missed = vo.HistoryLoaded(
            (vo.SpokenItem("i0", "assistant", "Good day."), vo.SpokenItem("i1", "user", "Hello"))
        )
        await seen.send(vo.PeopleChanged((vo.Person("owner-ada-2", "Ada", is_me=True),)), missed)
        assert " you " in next(row for row in seen.now.splitlines() if "Hello" in row)


async def test_who_has_left_keeps_their_name_beside_what_they_said() -> None:
    me, bob = vo.Person("me", "Ada", is_me=True), vo.Person("owner-7f", "Bob")
    words = vo.WordsHeard("s1", "Hello", is_final=True, identity="owner-7f")
    async with opened(*THERE, vo.PeopleChanged((me, bob)), words) as seen:
        text = await seen.send(vo.PeopleChanged((me,)), vo.ItemStored(vo.SpokenItem("i1", "user", "Hello")))
        assert "owner-7f" not in text
        assert "Bob" in next(row for row in text.splitlines() if "Hello" in row)


async def test_what_cannot_be_done_before_there_is_a_session_says_so() -> None:
    source = FakeVoiceSource()
    source.hold()
    async with opened(source=source) as seen:
        await seen.press("m")
        assert seen.toasts == ["the agent is not ready yet"]


async def test_escape_and_ctrl_l_leave() -> None:
    async with opened(*THERE) as seen:
        await seen.press("escape")
        assert seen.app.left == 1
        await seen.press("tab", "ctrl+l")
        assert seen.app.left == 2


async def test_leaving_leaves_the_session_and_lets_go_of_the_devices() -> None:
    async with opened(*THERE) as seen:
        await seen.app.voice.leave()
        assert seen.source.client.is_left
        assert seen.source.sound.asked[-1] == "close"


# --- the line --------------------------------------------------------------------------------------------


async def test_in_the_line_letters_are_letters_and_are_sent() -> None:
    async with opened(*THERE) as seen:
        text = await seen.press("tab", *"mid", "space", *"talk")
        assert "› mid talk" in text
        text = await seen.press("enter")
        assert seen.asked == ["say mid talk"]
        assert text.count("mid talk") == 1  # in the transcript
        item = vo.ItemStored(vo.SpokenItem("i", "user", "mid talk"))
        assert (await seen.send(item)).count("mid talk") == 1
        await seen.press("escape", "m")
        assert seen.asked[-1] == "mute True"


async def test_a_command_is_listed_completed_and_done_and_not_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, *turn(1, "What is running?", "Two rooms."), source=source) as seen:
        assert "mute or unmute the microphone" in await seen.press("tab", *"/mu")
        assert "› /mute" in await seen.press("tab")
        await seen.press("enter")
        await seen.until(lambda: seen.asked == ["mute True"])
        assert "the agent is not speaking" in await seen.press(*"/stop", "enter")
        await seen.press(*"/copy", "enter")
        await seen.until(lambda: seen.app.copied == ["Two rooms."])
        await seen.press(*"/export x.pdf", "enter")
        await seen.until("use .md, .html or .json (voice: also .srt)")
        await seen.press("ctrl+u")
        assert "unknown command /model" in await seen.press(*"/model", "enter")
        await seen.press(*["backspace"] * 6, *"/export out.md", "enter")
        await seen.until("saved to out.md")
        assert "# Make" in (tmp_path / "out.md").read_text()
        assert seen.asked == ["mute True"]


async def test_what_was_spoken_is_exported_as_subtitles_and_a_chat_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, *turn(1, "What is running?", "Two rooms."), source=source) as seen:
        calls = seen.app.talk_log.calls
        message = Message("m1", "c", "user", "Hello", "Hello", "", "", 0, 0, "2026-03-01T12:00:00+00:00")
        calls.stored = [message]
        await seen.press("tab", *"/export talk.srt", "enter")
        await seen.until("srt is for voice sessions")
        calls.info = replace(calls.info, kind="voice")
        await seen.press("enter")
        await seen.until("saved to talk.srt")
    assert (tmp_path / "talk.srt").read_text().startswith("1\n00:00:00,000 -->")


async def test_what_is_typed_before_the_agent_is_ready_stays_in_the_line() -> None:
    async with opened(*JOINED[:5]) as seen:
        text = await seen.press("tab", *"hello", "enter")
        assert "› hello" in text
        assert seen.toasts == ["the agent is not ready yet"]


async def test_a_line_that_was_not_sent_is_marked_and_stays_in_the_line() -> None:
    async with opened(*THERE) as seen:
        seen.source.client.refuse = ConnectFailed("the connection broke")
        text = await seen.press("tab", *"hello", "enter")
        assert "not sent" in text
        assert "› hello" in text
        assert seen.toasts == ["the connection broke"]


# --- sessions --------------------------------------------------------------------------------------------


async def test_who_types_only_is_not_offered_to_type_only_when_the_agent_is_absent() -> None:
    async with opened(*THERE[:2], ABSENT) as seen:
        assert "l local agent · t text only" in seen.now
        text = await seen.press("t")
        assert "r retry · l local agent" in text
        assert "t text only" not in text


async def test_an_absent_agent_can_be_waited_for_again_or_replaced() -> None:
    async with opened(*THERE[:2], ABSENT) as seen:
        assert "r retry · l local agent · t text only" in seen.now
        await seen.press("r")
        assert seen.asked == ["retry"]
        assert "esc, then r retry · l local agent" in await seen.press("tab")  # in the line they are letters
        assert "then r retry" not in await seen.press("escape")
        await seen.press("l")
        await seen.until(lambda: len(seen.source.opened) == 2)
        assert seen.source.opened[1].local_agent


async def test_our_agent_is_not_offered_where_it_is_the_one_that_is_asked() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE[:2], ABSENT, source=source) as seen:
        assert "r retry · t text only" in seen.now
        await seen.press("l")
        assert len(seen.source.opened) == 1
        assert seen.toasts == ["it is the agent of this room already"]


async def test_a_session_that_ended_can_be_begun_again() -> None:
    ended = vo.LinkMoved("ended", "The room was deleted.", "room_deleted")
    async with opened(*THERE, *turn(1, "Hello", "Good day."), ended) as seen:
        assert "The room was deleted." in seen.now
        await seen.press("r")
        text = await seen.send(*THERE)
        assert "listening" in text
        assert "Good day." in text  # what was said stays
        assert len(seen.source.opened) == 2


async def test_what_is_missing_can_be_got_from_the_screen() -> None:
    source = FakeVoiceSource()
    source.refuse = NotSetUp("no agent", "set up")
    async with opened(source=source) as seen:
        assert "s get what is missing · r retry" in await seen.text()
        await seen.press("s")
        assert seen.toasts == ["that needs a terminal of its own"]
        source.refuse = ConnectFailed("gone")
        assert "s get what is missing" not in await seen.press("r")


async def test_the_server_that_a_local_session_lacks_can_be_got_from_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("LIVEKIT_SERVER", raising=False)
    monkeypatch.setenv("PATH", "")
    async with opened(*THERE) as seen:
        await seen.press("s")
        assert seen.toasts == ["that needs a terminal of its own"]


async def test_how_it_ended_is_the_exit_code() -> None:
    for refuse, code in ((NotSetUp("no server", "set up"), 2), (ConnectFailed("gone"), exits.UNREACHABLE)):
        source = FakeVoiceSource()
        source.refuse = refuse
        async with opened(source=source) as seen:
            assert str(refuse.title) in await seen.text()
            assert seen.app.voice.run.exit_code == code
    failed = vo.LinkMoved("failed", "The server refused the token.", "token_refused")
    async with opened(*THERE, failed) as seen:
        assert seen.app.voice.run.exit_code == exits.REFUSED
    async with opened(*THERE) as seen:
        assert seen.app.voice.run.exit_code == exits.DONE


async def test_a_microphone_that_is_lost_and_comes_back_is_told() -> None:
    async with opened(*THERE) as seen:
        seen.source.sound.status = SoundStatus("", "The microphone is gone", "Headset")
        assert "You can type" in await seen.until("The microphone is gone")
        seen.source.sound.status = SoundStatus("Headset", output_name="Headset")
        await seen.until(lambda: "You can type" not in seen.now)


async def test_a_microphone_that_delivers_silence_is_told_of_beside_it_once_there_are_words() -> None:
    source = FakeVoiceSource()
    source.sound.status = SoundStatus("Headset", output_name="Headset", has_signal=False)
    async with opened(*THERE, source=source) as seen:
        assert "The microphone delivers only silence." in seen.now
        text = await seen.send(*turn(1, "Hello", "Good day."))
        assert "only silence" not in text
        assert "no signal" in text


async def test_another_speaker_is_named_although_nothing_else_happens() -> None:
    async with opened(*THERE) as seen:
        seen.source.sound.status = SoundStatus("Desk", output_name="Headset")
        await seen.until("Headset")


async def test_levels_move_while_nothing_else_does() -> None:
    async with opened(*THERE) as seen:
        for level in (-40.0, -12.0):
            seen.source.sound.input_level = Level(level, level)
            await seen.until(f"−{-level:.0f} dB")


# --- the transcript --------------------------------------------------------------------------------------


async def test_words_are_dim_until_they_are_certain() -> None:
    async with opened(*THERE, vo.WordsHeard("s", "maybe this", identity="me")) as seen:
        assert "maybe this" in seen.now
        faded = _style_at(seen, "maybe this")
        await seen.send(vo.WordsHeard("s", "maybe this", is_final=True, identity="me"))
        assert _style_at(seen, "maybe this") != faded


def _style_at(seen: Voice, words: str) -> object:
    for strip in seen.app.screen._compositor.render_strips(seen.app.size):
        for segment in strip:
            if words in segment.text:
                return segment.style
    raise AssertionError(f"{words} is nowhere")


async def test_a_line_is_one_row_with_time_name_words_and_where_somebody_cut_in() -> None:
    cut = turn(1, "Which rooms?", "Two rooms. The first", cut_at=10)
    async with opened(*THERE, *cut) as seen:
        rows = [row[1:].split() for row in seen.now.splitlines() if ":16  " in row]
        assert [row[1:] for row in rows] == [
            ["you", "Which", "rooms?"],
            ["demo", "Two", "rooms.┄", "(you", "cut", "in)"],
        ]
        await seen.press("y")
        assert seen.app.copied == ["Two rooms."]
        other = vo.Person("bob", "Bob")
        await seen.send(vo.PeopleChanged((vo.Person("me", is_me=True), other)))
        text = await seen.send(*turn(2, "And now?", "Three rooms and more", cut_at=11))
        assert "Three rooms┄   (cut off)" in text


async def test_every_turn_says_what_it_took_and_whether_that_was_slow() -> None:
    slow = vo.TurnTimes(None, None, 0.6, 0.4, 1.5)
    items = (
        vo.ItemStored(vo.SpokenItem("u", "user", "One?", times=vo.TurnTimes(0.4, 0.5))),
        vo.ItemStored(vo.SpokenItem("a", "assistant", "One.", times=slow)),
        vo.ItemStored(vo.SpokenItem("v", "user", "Two?", times=vo.TurnTimes(0.3, 0.5))),
        vo.ItemStored(vo.SpokenItem("b", "assistant", "Two.", times=vo.TurnTimes(model=0.1, whole=0.7))),
    )
    async with opened(*THERE, *items) as seen:
        text = seen.now
        assert "hearing 0.40 · end of turn 0.50 · model 0.60 · voice 0.40 · slow answer 1.50 s" in text
        assert "hearing 0.30 · end of turn 0.50 · model 0.10 · answer 0.70 s" in text
        rows = [row.strip("▎ ") for row in (await seen.resize(60, 20)).splitlines()]
        assert "hearing 0.40 · end of turn 0.50 · model 0.60" in rows
        assert "voice 0.40 · slow answer 1.50 s" in rows


async def test_what_is_said_can_be_found_and_copied() -> None:
    async with opened(*THERE, *turn(1, "Where is the cat", "On the mat.")) as seen:
        text = await seen.press("slash", *"mat")
        assert "↓ next · ↑ previous · enter keep · esc close" in text
        text = await seen.press("enter")
        assert "1 of 1" in text
        assert "n next · N previous · esc close" in text
        await seen.press("escape", "y")
        assert seen.app.copied == ["On the mat."]


async def test_steps_fold_and_unfold() -> None:
    call = StepSet("t", Step("c", type="tool_call", name="list_rooms", arguments="{}", status="done"))
    result = StepSet("t", Step("r", type="tool_result", content="two rooms of mine", id_ref="c"))
    async with opened(*THERE, *turn(1, "Rooms?", "Two."), call, result) as seen:
        assert "list_rooms" in seen.now
        assert "two rooms of mine" not in seen.now
        assert "two rooms of mine" in await seen.press("F")
        assert "two rooms of mine" not in await seen.press("F")


async def test_the_help_says_that_there_is_nothing_to_fold_and_nothing_to_answer() -> None:
    async with opened(*THERE, *turn(1, "Rooms?", "Two.")) as seen:
        reasons = {offer.ids[0]: offer.reason for offer in offers(seen.app.screen, resolve({}))}
        assert reasons["voice.fold"] == reasons["voice.fold_all"] == "no tool or thought in view"
        assert reasons["voice.answer"] == "nothing needs approval"


async def test_what_failed_is_said_in_the_language_of_the_screens() -> None:
    speak("ru")
    try:
        async with opened(*THERE) as seen:
            shown = await seen.send(vo.SessionFailed("The model failed: the answer broke off."))
            assert "Сбой модели: ответ оборвался" in shown
    finally:
        speak("en")


async def test_hostile_words_are_inert_everywhere() -> None:
    evil = "\x1b]52;c;aGk=\x07\x1b[2J‮gnp"
    person = vo.Person("bob", evil, is_heard=True)
    async with opened(
        *THERE,
        vo.AgentJoined("agent-demo", evil),
        vo.PeopleChanged((vo.Person("me", is_me=True), person)),
        *turn(1, evil, evil),
        vo.HandedOver("a", evil),
        vo.SessionFailed(evil),
        StepSet("t", Step("c", type="tool_call", name=evil, arguments=evil, status="running")),
        vo.LinkMoved("reconnecting", evil, evil),
        vo.LinkMoved("failed", evil, evil),
    ) as seen:
        seen.source.sound.status = SoundStatus(evil, output_name=evil)
        text = await seen.text()
        assert "␛" in text
        assert not {"\x1b", "\x07", "‮"} & set(text)


async def test_five_thousand_lines_cost_no_more_than_a_few() -> None:
    async with opened(*THERE) as seen:
        few = await _calls(seen, 10_000)
        for number in range(2_500):
            seen.source.client.send(*turn(number, f"Question {number}?", f"Answer {number}."))
        await seen.until(lambda: "Answer 2499." in seen.now)
        many = min([await _calls(seen, 20_000), await _calls(seen, 30_000)])
        assert 1_000 < many < 1.5 * few


async def _calls(seen: Voice, first: int) -> int:
    """Return how many functions are called for twenty turns."""
    talk = [event for number in range(20) for event in turn(first + number, f"q {number}", f"a {number}")]
    count = 0

    def look(_: FrameType, event: str, __: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(look)
    try:
        await seen.send(*talk)
    finally:
        sys.setprofile(None)
    return count


# --- approvals -------------------------------------------------------------------------------------------

ASK = ev.ToolAsk("resume_room Redis", pattern="resume_room(Redis)")


def asking() -> list[ev.Event]:
    """Return what the log tells of a call that asks."""
    return [
        loaded(),
        ev.LinkChanged("live"),
        started("m1"),
        ev.StepSet("m1", Step("c1", type="tool_call", name="resume_room", arguments='{"room": "Redis"}')),
        ev.ToolStatusChanged("m1", "c1", "asks", ask=ASK),
    ]


async def test_a_tool_that_asks_is_a_card_with_the_keys_of_a_chat() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, *turn(1, "Resume it", "I will."), source=source) as seen:
        log = seen.app.talk_log
        log.send(*asking())
        text = await seen.until("needs approval", "resume_room")
        agents_own = StepSet("t", Step(call_id("m1", "c1"), type="tool_call", name="resume_room"))
        text = await seen.send(agents_own)
        assert text.count("▾ resume_room") == 1
        seen.app.time += 2.0
        await seen.later(GUARD_SECONDS + 1.0)
        await seen.press("y")
        await seen.until(lambda: log.calls.asked == ["answer m1 c1 once"])
        log.send(ev.ToolStatusChanged("m1", "c1", "running"))
        await seen.until(lambda: "needs approval" not in seen.now)
        await seen.press("m")
        assert seen.asked == ["mute True"]
        log.end()


@pytest.mark.parametrize(("typed", "answer"), [("yes", "once"), ("no", "deny")])
async def test_a_typed_yes_or_no_answers_what_asks_and_is_not_sent_to_the_agent(
    typed: str, answer: str
) -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, *turn(1, "Resume it", "I will."), source=source) as seen:
        log = seen.app.talk_log
        log.send(*asking())
        await seen.until("needs approval", "resume_room")
        await seen.press("tab", *typed, "enter")
        await seen.until(lambda: log.calls.asked == [f"answer m1 c1 {answer}"])
        log.send(ev.ToolStatusChanged("m1", "c1", "running"))
        await seen.until(lambda: "needs approval" not in seen.now)
        assert f"› {typed}" not in seen.now
        await seen.press(*typed, "enter")
        assert seen.asked == [f"say {typed}"]  # nothing asks any more
        log.end()


async def test_a_yes_that_was_begun_before_something_asked_answers_nothing() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, source=source) as seen:
        await seen.press("tab", *"ye")
        log = seen.app.talk_log
        log.send(*asking())
        await seen.until("needs approval")
        assert "y once" in await seen.press("s", "enter")
        assert not log.calls.asked
        assert not seen.asked
        log.end()


async def test_tab_leads_from_the_line_to_what_asks_and_back() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, source=source) as seen:
        await seen.press("tab", *"wait")
        log = seen.app.talk_log
        log.send(*asking())
        assert (await seen.until("needs approval")).count("tab answer") == 2  # in the bar and the last row
        assert "y once" in await seen.press("tab")
        assert "tab answer" in await seen.press("tab")
        assert "› wait" in await seen.press("tab")
        log.end()


async def test_a_log_that_was_deleted_with_its_session_is_no_failure() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, source=source) as seen:
        seen.app.talk_log.send(loaded(), ev.LinkChanged("live"))
        seen.app.talk_log.end(NotFound("There is no conversation c"))
        await seen.until(lambda: seen.app.talk_log.is_drained)
        assert seen.toasts == []


async def test_a_session_whose_log_was_deleted_elsewhere_says_so_and_begins_another() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, source=source) as seen:
        first = source.client
        seen.app.talk_log.send(loaded(), ev.LinkChanged("live"), started("m1"))
        seen.app.talk_log.end(NotFound("There is no conversation c"))
        await seen.until(lambda: source.client is not first)
        assert seen.toasts == ["this conversation was deleted in another terminal: a new one begins"]


async def test_the_voice_of_the_agent_is_recorded_for_who_only_types_and_otherwise_dropped(
    tmp_path: Path,
) -> None:
    for record, is_dropped in ((tmp_path / "talk.wav", False), (None, True)):
        async with opened(*THERE, request=VoiceRequest(record=record, text_only=True)) as seen:
            assert ("hold" in seen.source.sound.asked) is is_dropped
            assert ("drop" in seen.source.sound.asked) is is_dropped


async def test_a_session_that_begins_again_does_not_overwrite_the_recording_of_the_one_before(
    tmp_path: Path,
) -> None:
    (tmp_path / "talk-2.wav").touch()
    request = VoiceRequest(record=tmp_path / "talk.wav", text_only=True)
    async with opened(*THERE, request=request) as seen:
        await seen.press("escape", "t")
        await seen.until(lambda: len(seen.source.opened) == 2)
        assert [opened.record for opened in seen.source.opened] == [
            tmp_path / "talk.wav",
            tmp_path / "talk-3.wav",
        ]


async def test_a_session_whose_backend_was_started_again_begins_again() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, source=source) as seen:
        log = seen.app.talk_log
        log.send(loaded(), ev.LinkChanged("live"))
        await seen.until(lambda: log.is_drained)
        await seen.send(vo.AgentJoined("agent-demo", "Nova"), vo.WordsSpoken("s", "Two rooms"))
        first, log.url = source.client, "http://127.0.0.1:2"
        first.leaving = asyncio.Event()
        log.send(ev.LinkChanged("live"))
        await seen.until(lambda: source.client is not first)
        assert first.is_left
        text = await seen.until("(the rest was lost)")
        assert "Nova" in next(row for row in text.splitlines() if "the rest was lost" in row)
        await seen.send(*THERE)
        first.leaving.set()
        assert "muted" in await seen.press("m")
        assert source.client.asked == ["mute True"]
        log.end()


async def test_what_is_noted_of_answers_is_told_once_in_a_session() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, source=source) as seen:
        log = seen.app.talk_log
        log.send(loaded(), ev.LinkChanged("live"), started("m1"), ev.TurnNoted("m1", "no_tools"))
        await seen.until("this model cannot use tools")
        log.send(started("m2"), ev.TurnNoted("m2", "no_tools"), ev.TurnNoted("m2", "trimmed", 3))
        await seen.until(lambda: len(seen.toasts) == 2)
        assert seen.toasts[0] == "this model cannot use tools"
        log.end()


async def test_the_folder_of_the_tools_is_chosen_in_the_settings_of_a_chat() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, source=source, size=(100, 60)) as seen:
        log = seen.app.talk_log
        log.send(loaded(), ev.LinkChanged("live"))
        await seen.until(lambda: log.is_drained)
        await seen.press("ctrl+o")
        await seen.until("Chat settings")
        seen.app.screen.query_one("#workspace").focus()
        await seen.press(*"/srv", "ctrl+s")
        await seen.until(lambda: log.calls.asked[-1] == "change {'workspace': '/srv'}")
        await seen.until("mute")
        await seen.press("tab", *"/settings", "enter")
        await seen.until("Chat settings", "/srv")
        log.end()


async def test_the_settings_say_that_a_voice_session_has_the_tools_for_rooms_too() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, source=source, size=(100, 60)) as seen:
        log = seen.app.talk_log
        log.send(loaded(kind="voice"), ev.LinkChanged("live"))
        await seen.until(lambda: log.is_drained)
        await seen.press("ctrl+o")
        await seen.until("☑ default (all)", "☑ pause_room")
        log.end()


async def test_an_agent_without_a_conversation_of_ours_has_settings_of_its_own() -> None:
    async with opened(*THERE) as seen:
        await seen.press("ctrl+o")
        assert seen.toasts == ["this agent has its own settings"]


async def test_a_guest_is_asked_nothing() -> None:
    source = FakeVoiceSource()
    async with opened(*THERE, source=source) as seen:
        assert await seen.press("exclamation_mark")
        assert seen.toasts == ["nothing needs approval"]


async def test_a_session_can_begin_muted() -> None:
    async with opened(*THERE, request=VoiceRequest(muted=True)) as seen:
        assert seen.asked == ["mute True"]
        assert "m unmute" in seen.now


async def test_text_only_from_the_start_is_neither_heard_nor_hears() -> None:
    async with opened(*THERE, request=VoiceRequest(text_only=True)) as seen:
        assert seen.asked == ["mute True"]
        assert "drop" in seen.source.sound.asked
        assert "text only" in seen.now
        assert "space" not in seen.now


async def test_who_only_types_begins_in_the_line() -> None:
    async with opened(*THERE, request=VoiceRequest(text_only=True)) as seen:
        assert "› hello" in await seen.press(*"hello")


async def test_a_tool_that_asks_rings_once() -> None:
    source = FakeVoiceSource()
    source.conversation_id = "c"
    async with opened(*THERE, source=source) as seen:
        log = seen.app.talk_log
        log.send(*asking())
        await seen.until("needs approval")
        assert seen.app.rung == 1
        log.send(ev.ToolStatusChanged("m1", "c1", "asks", ask=ASK))
        await seen.later(1.0)
        assert seen.app.rung == 1
        log.end()
