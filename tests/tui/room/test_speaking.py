"""Writing to a room: what is sent and how, what stays when it could not be, what waits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from textual.events import Key, Paste

from agent_tui.model import events as ev
from agent_tui.model.errors import ConnectFailed, Refused, TimedOut
from tests.tui.room.one_room import AGENTS, LIVE, Screen, loaded, opened, start
from tests.tui.whole_app import opened_app
from tui.room.queue import QueueScreen
from tui.screens.dialog import QuestionScreen
from widgets.composer import Composer

NASTY = "\x1b]52;c;aGk=\x07\x1b[31m\u202eevil\x00[bold]x[/] <b>"


@pytest.fixture(autouse=True)
def data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path))
    return tmp_path


def running(**fields: object) -> ev.RoomLoaded:
    return loaded(status="running", current_round=1, **fields)


def line(screen: Screen) -> Composer:
    return screen.app.room.query_one("#composer Composer", Composer)


def said(screen: Screen) -> list[str]:
    """Return what was said, as when, to whom and what."""
    return [call[4:] for call, _ in screen.link.calls.asked if call.startswith("say ")]


async def test_what_is_written_is_sent_by_enter_and_waits_in_sight() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        text = await screen.press("i", *"stop at p q", "enter")
        assert said(screen) == ["next stop at p q"]
        assert [len(key) for key in screen.link.calls.keys] == [32]
        assert "queued for the next turn: stop at p q (1)" in text
        assert line(screen).text == ""
        assert ("pause", "r") not in screen.link.calls.asked
        heard = ev.Message("said1", "r", "user", "stop at p q", "stop at p q", "", "", 1, 1, "t")
        assert "queued for" not in await screen.send(ev.MessageStored(heard))


async def test_a_room_opens_with_the_focus_on_its_panes() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        assert not line(screen).has_focus
        await screen.press("shift+tab")
        assert line(screen).has_focus
        await screen.press("tab")
        assert not line(screen).has_focus


async def test_keys_typed_in_one_burst_reach_the_line_that_the_first_of_them_opens(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        for key in ("enter", *"pqs xre12?", "enter"):
            name = {" ": "space", "?": "question_mark"}.get(key, key)
            seen.app.post_message(Key(name, "\r" if key == "enter" else key))
        await seen.settle()
        assert seen.link.calls.asked == [("say next pqs xre12?", "r0")]


async def test_enter_does_not_overtake_the_letters_typed_before_it_in_one_burst(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("i")
        for key in (*"one", "ctrl+j", *"two", "enter", *"three", "enter", "enter"):
            character = {"enter": "\r", "ctrl+j": "\n"}.get(key, key)
            seen.app.post_message(Key(key, character))
        await seen.settle()
        assert seen.link.calls.asked == [("say next one\ntwo", "r0"), ("say next three", "r0")]


async def test_a_name_with_nothing_behind_it_is_not_sent_and_says_so() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        text = await screen.press("i", *"@Mika ", "enter")
        assert "write a message after the name" in text
        assert said(screen) == []


async def test_a_second_line_a_second_moment_and_a_second_message() -> None:
    async with opened((120, 40)) as screen:
        await screen.send(running(), LIVE)
        text = await screen.press("enter", *"one", "ctrl+j", *"two", "alt+enter", *"three", "ctrl+n")
        assert "now ▾" in text
        assert line(screen).size.height == 3
        text = await screen.press("enter", *"more")
        assert "next turn ▾" in text  # "now" cuts everybody: it was meant for the message that was sent
        await screen.press("enter")
        assert said(screen) == ["now one\ntwo\nthree", "next more"]
        assert len({*screen.link.calls.keys}) == 2


async def test_a_click_on_the_moment_chooses_the_other_one() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        await screen.press("i")
        await screen.pilot.click(".composer--when")
        assert "now ▾" in await screen.text()
        assert line(screen).has_focus
        await screen.pilot.click(".composer--when")
        assert "next turn ▾" in await screen.text()


async def test_now_stays_set_while_the_message_it_is_meant_for_is_not_sent() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        screen.link.calls.refuse = ConnectFailed("the server is away")
        assert "now ▾" in await screen.press("i", "ctrl+n", *"stop", "enter")
        screen.link.calls.refuse = None
        assert "next turn ▾" in await screen.press("enter")
        assert said(screen) == ["now stop", "now stop"]


async def test_in_a_paused_room_there_is_nobody_to_cut_off_now() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        assert "ctrl+n next turn" in await screen.press("i", "ctrl+n")
        text = await screen.send(ev.RunPaused("r", 1, "pause"))
        assert "ctrl+n" not in text
        assert "next turn ▾" not in text
        await screen.press("ctrl+n", *"hm", "enter")
        assert said(screen) == ["next hm"]


async def test_what_could_not_be_sent_stays_and_goes_again_as_the_same_message() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        screen.link.calls.refuse = ConnectFailed("the server is away")
        text = await screen.press("i", *"hello", "enter")
        assert "not sent: the server is away" in text
        assert line(screen).text == "hello"
        screen.link.calls.refuse = None
        await screen.press("enter")
        first, second = screen.link.calls.keys
        assert first == second
        assert line(screen).text == ""


async def test_an_at_completes_a_name_and_whispers() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        assert "▸ Mika" in await screen.press("i", "@", "m")
        text = await screen.press("tab", *"psst")
        assert "whispers to Mika" in text
        await screen.press("enter")
        assert said(screen) == ["next to a psst"]


async def test_a_whisper_is_one_in_whatever_case_and_before_a_comma() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        assert "whispers to Mika" in await screen.press("i", *"@mika, psst")
        await screen.press("enter")
        assert said(screen) == ["next to a psst"]


async def test_a_name_with_a_line_break_behind_it_that_nobody_has_is_noted_while_it_is_written() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        text = await screen.press("i", *"@Adda", "ctrl+j", "p")
        assert "nobody is called Adda: everyone will read this" in text


async def test_an_agent_that_left_cannot_be_whispered_to_and_what_waits_for_it_says_so() -> None:
    waits = ev.QueuedMessage("q1", "psst", to="b")
    async with opened((160, 30)) as screen:
        spoke = start("1", AGENTS[1]), ev.TextAdded("1", "Hm"), ev.TurnEnded("1", "Hm", 1, "b")
        await screen.send(running(queue=(waits,)), LIVE, *spoke)
        here = AGENTS[0], AGENTS[2]
        await screen.press("e")
        screen.app.screen.query_one("#agents").focus()
        screen.link.calls.changed = ev.RoomInfo("r", agents=here, status="running", queue=(waits,))
        text = await screen.press("down", "d", "ctrl+s")
        assert "queued for the next turn: to an agent that left (nobody will read it): psst (1)" in text
        assert "Ada" not in (await screen.press("i", "@")).partition("whisper: only")[2]
        assert "to an agent that left (nobody will read it): psst" in await screen.press("escape", "u")


async def test_a_command_is_done_and_not_said() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        await screen.press("i", *"/pau", "enter")
        assert [call for call, _ in screen.link.calls.asked] == ["pause"]
        assert said(screen) == []
        assert line(screen).text == ""
        assert "unknown command /nonsense" in await screen.press(*"/nonsense", "enter")


async def test_two_agents_of_one_name_can_both_be_whispered_to() -> None:
    twins = (ev.AgentInfo("a", "Ada"), ev.AgentInfo("b", "Ada", turn_order=1))
    async with opened() as screen:
        await screen.send(running(agents=twins), LIVE)
        await screen.press("i", *"@Ada (2) psst", "enter")
        assert said(screen) == ["next to b psst"]


async def test_what_was_sent_comes_back_with_the_arrows_and_once_only(data: Path) -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        await screen.press("i", *"one", "enter", *"two", "enter", *"one", "enter", *"new", "up")
        assert line(screen).text == "one"
        await screen.press("up")
        assert line(screen).text == "two"
        await screen.press("up", "down", "down")
        assert line(screen).text == "new"
    assert (data / "history.json").stat().st_mode & 0o777 == 0o600


async def test_a_draft_is_there_again_and_nobody_else_can_read_it(data: Path) -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        await screen.press("i", *"half a th")
    (file,) = (data / "drafts").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    async with opened() as screen:
        text = await screen.send(running(), LIVE)
        assert "half a th" in text
        await screen.press("i", "enter")
    assert list((data / "drafts").iterdir()) == []


async def test_escape_leaves_the_draft_and_goes_back_to_the_panes() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        text = await screen.press("i", *"kept", "escape")
        assert "kept" in text
        assert not line(screen).has_focus
        await screen.press("p")
        assert screen.link.calls.asked == [("pause", "r")]


async def test_in_the_line_the_room_can_still_be_paused() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        await screen.press("i", "p", "space", "ctrl+s")
        assert line(screen).text == "p "
        assert screen.link.calls.asked == [("pause", "r")]


async def test_what_a_terminal_would_obey_is_cut_out_of_a_paste() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        await screen.press("i")
        line(screen).insert(NASTY + "先把会话分开")
        text = await screen.text()
        assert "\x1b" not in text
        assert "\x00" not in line(screen).text
        assert "\u202e" not in line(screen).text
        assert "先把会话分开" in text


async def test_a_paste_that_is_too_long_is_refused_and_nothing_torn_is_sent(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("i", *"Look: ")
        seen.app.post_message(Paste("word " * 200_000))
        assert "save it to a file" in await seen.text()
        await seen.press("enter")
        assert ("say next Look:", "r0") in seen.link.calls.asked


async def test_a_completed_room_asks_for_a_round_first() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="completed", current_round=3), LIVE)
        await screen.press("i", *"one more", "enter")
        assert isinstance(screen.app.screen, QuestionScreen)
        await screen.press("escape")
        assert said(screen) == []
        for _ in range(2):  # at once: it is asked only once
            line(screen).action_send()
        await screen.settle()
        assert len(screen.app.screen_stack) == 3
        await screen.press("enter")
        assert [call for call, _ in screen.link.calls.asked] == [
            "change {'max_rounds': 4}",
            "say next one more",
            "resume",
        ]


async def test_words_after_the_last_turn_are_said_to_have_no_answer() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE, start("1", AGENTS[0]), ev.TurnEnded("1", "All", 1, "a"))
        late = ev.Message("late", "r", "user", "Wait", "Wait", "", "", 0, 1, "t")
        await screen.send(ev.MessageStored(late), ev.RunCompleted("r", 3))
        assert "done – the last message has no answer" in await screen.text()


async def test_what_waits_can_be_changed_and_taken_back() -> None:
    waits = (ev.QueuedMessage("q1", "first " + NASTY), ev.QueuedMessage("q2", "second", to="b"))
    async with opened() as screen:
        screen.link.calls.waiting = list(waits)
        text = await screen.send(running(queue=waits), LIVE)
        assert "queued for the next turn: to Ada: second (2)" in text
        text = await screen.press("u")
        assert isinstance(screen.app.screen, QueueScreen)
        assert "to Ada: second" in text
        assert "\x1b" not in text
        assert "enter edit · d discard · esc back" in text
        text = await screen.press("down", "enter")
        assert "enter save · esc back" in text  # what they do now
        assert "discard" not in text
        text = await screen.press(*"!", "enter")
        assert "to Ada: second!" in text
        assert "enter edit · d discard · esc back" in text
        text = await screen.press("d")
        assert "second" not in text
        text = await screen.press("d")
        assert "nothing is queued" in text
        assert "discard" not in text
        await screen.press("escape")
        assert [call for call, _ in screen.link.calls.asked] == [
            "change_queued q2 {'content': 'second!'}",
            "drop_queued q2",
            "drop_queued q1",
        ]


async def test_the_queue_is_read_again_when_another_program_changed_it() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        screen.link.calls.waiting = [ev.QueuedMessage("q1", "from elsewhere")]
        screen.link.calls.room = running().room
        text = await screen.send(ev.QueueChanged("r"))
        assert "queued for the next turn: from elsewhere" in text
        screen.link.calls.waiting = []
        text = await screen.send(ev.RunCompleted("r", 3))
        assert "from elsewhere" not in text


async def test_what_turns_cost_that_never_said_it_is_asked_for_when_the_room_stops() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE, start("1", AGENTS[0]), ev.TextAdded("1", "What I say."))
        await screen.send(ev.TurnEnded("1", "What I say.", 40, interrupted="pause"))
        screen.link.calls.room = replace(running().room, tokens=40, cost=0.5)
        assert "$0.50" in await screen.send(ev.RunPaused("r", 1, "pause"))
        screen.link.calls.room = replace(running().room, tokens=80, cost=0.75)
        assert "$0.75" in await screen.send(ev.RunCompleted("r", 3))


async def test_a_name_rounds_and_agents_that_another_program_changed_are_shown_at_once() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE, start("1", AGENTS[0]), ev.TextAdded("1", "What I say."))
        agents = (*AGENTS[:2], ev.AgentInfo("d", "Noor", "", "demo", 2, provider_id="demo"))
        screen.link.calls.room = replace(running().room, name="Sessions", max_rounds=7, agents=agents)
        text = await screen.send(ev.QueueChanged("r"))
        assert "Sessions" in text
        assert "round 1 of 7" in text
        assert "Noor" in text
        assert "What I say." in text


async def test_what_waits_no_more_leaves_the_list_and_says_so() -> None:
    waits = [ev.QueuedMessage(f"q{number}", word) for number, word in enumerate(("first", "second", "third"))]
    async with opened() as screen:
        calls = screen.link.calls
        await screen.send(running(queue=tuple(waits)), LIVE)
        await screen.press("u")
        for number, status in enumerate((404, 409), 1):
            screen.app.clear_notifications()
            calls.waiting = waits[number:]
            calls.queued_refused = Refused("There is no such message", status=status)
            text = await screen.press("d")
            assert waits[number - 1].content not in text
            assert waits[number].content in text
            assert "already sent or discarded" in text
            assert "no such message" not in text


async def test_on_a_low_screen_the_line_is_there_only_while_it_is_written_in() -> None:
    async with opened((80, 9)) as screen:
        text = await screen.send(running(), LIVE, start("1", AGENTS[0]))
        assert "Say something" not in text
        assert "Say something" in await screen.press("i")
        assert "Say something" not in await screen.press("escape")


async def test_a_server_that_takes_no_words_says_so_in_the_line() -> None:
    async with opened() as screen:
        screen.link.is_embedded = False
        screen.link.calls.lacks = {"say": "this server does not offer messages from people"}
        text = await screen.send(running(), LIVE)
        assert "does not offer messages from people" in text
        await screen.press("i", "x", "enter")
        assert said(screen) == []


async def test_an_ascii_terminal_gets_ascii_before_the_room_came_and_after() -> None:
    async with opened(is_ascii=True) as screen:
        text = await screen.text()
        assert "Waiting for the room" in text
        assert text.isascii()
        text = await screen.send(running(agents=AGENTS[:2]), LIVE)
        assert "Say something to the room" in text
        assert text.isascii()


async def test_a_room_without_agents_says_so_and_how_to_add_some() -> None:
    async with opened() as screen:
        assert "Waiting for the room" in await screen.text()
        text = await screen.send(loaded(name="Talk", agents=()), LIVE)
        assert "Waiting for the room" not in text
        assert "No agents are in this room. e adds some." in text
        assert "No agents" not in await screen.send(ev.RoomChanged(ev.RoomInfo("r", agents=AGENTS)))


async def test_on_a_small_screen_the_line_has_four_rows_while_it_is_written_in() -> None:
    async with opened((80, 24)) as screen:
        await screen.send(running(), LIVE)
        text = await screen.press("i", *"one", "ctrl+j", *"two", "ctrl+j", *"three")
        assert [row[:8].split()[-1] for row in text.splitlines()[-4:-1]] == ["one", "two", "three"]
        await screen.press("ctrl+j", *"four", "ctrl+j", *"five")
        assert line(screen).size.height == 4
        await screen.press("escape")
        assert line(screen).size.height == 1
        await screen.press("i")
        assert line(screen).size.height == 4
        await screen.press("enter")
        assert line(screen).size.height == 1


async def test_what_is_for_a_name_that_nobody_has_goes_to_everyone_only_at_the_second_enter() -> None:
    async with opened() as screen:
        await screen.send(running(), LIVE)
        await screen.press("i")
        note = "nobody is called Adda – enter sends it to everyone"
        for number, written in enumerate(("@Adda psst", "@Adda\npsst", "@Adda\npsst")):
            line(screen).put(written)  # each as doubtful as the one before
            assert f"not sent: {note}" in await screen.press("enter")
            assert len(said(screen)) == number
            assert note not in await screen.press("enter")
            assert said(screen)[number:] == [f"next {written}"]


async def test_without_an_answer_a_message_is_not_said_to_be_unsent() -> None:
    async with opened((120, 30)) as screen:
        await screen.send(running(), LIVE)
        screen.link.calls.refuse = TimedOut("no answer within 30 s")
        assert "it may have been sent" in await screen.press("i", *"hello", "enter")
        screen.link.calls.refuse = None
        await screen.press("enter")
        assert len(set(screen.link.calls.keys)) == 1
        assert line(screen).text == ""
