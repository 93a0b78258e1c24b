"""The room screen, driven by events and keys, read as a person reads it."""

from __future__ import annotations

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from textual._compositor import Compositor

from agent_tui.model import events as ev
from agent_tui.model.errors import ConnectFailed, NotOffered, StreamLost, Unauthorized
from tests.fakes.room_link import FakeLink
from tests.thorough import of_many
from tests.tui.room.one_room import AGENTS, LIVE, crowd, loaded, opened, speaking, start
from tui.link import RoomLink
from tui.room.screen import RoomScreen
from tui.screens.dialog import QuitScreen


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


async def test_no_frame_shows_a_pane_without_its_agents_name_and_colour(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heads: list[list[tuple[str, str]]] = []  # of each frame: the texts of the header row with their colours

    def paint(compositor: Compositor, *args: object, **kwargs: object) -> None:
        row = list(compositor.render_strips(compositor.size)[1])
        heads.append([(part.text, str(part.style and part.style.color)) for part in row])

    async with opened() as screen:
        await screen.settle()
        monkeypatch.setattr(Compositor, "render_update", paint)
        await screen.send(loaded(status="paused", current_round=1), LIVE)
    named = [part for part in heads[-1] if part[0].endswith(("Mika", "Ada", "老王"))]
    assert len(named) == 3
    with_panes = [head for head in heads if any("│" in text for text, _ in head)]
    assert with_panes
    assert all(part in head for head in with_panes for part in named)


async def test_a_long_task_leaves_the_round_its_place_where_the_mode_finds_none() -> None:
    room = loaded(task="Should we? " * 20, status="paused", current_round=2)
    for columns, said in ((80, "…  round 2 of 3 · parallel  ‖ paused"), (66, "…  round 2 of 3  ‖ paused")):
        async with opened((columns, 20)) as screen:
            top, *_ = (await screen.send(room, LIVE)).splitlines()
            assert " ".join(top.split()).endswith(" ".join(said.split()))


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


async def test_a_pane_says_what_its_agent_is_about_until_it_speaks() -> None:
    agents = (replace(AGENTS[0], system_prompt="You doubt\nwhat [others] say."), *AGENTS[1:])
    async with opened() as screen:
        text = await screen.send(loaded(status="running", current_round=1, agents=agents), LIVE)
        assert "You doubt what [others] say." in text
        text = await screen.send(start("1", AGENTS[0]), ev.TextAdded("1", "Do they?"))
        assert "Do they?" in text
        assert "You doubt" not in text


async def test_each_pause_key_pauses_and_resumes() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        for key in ("p", "space", "ctrl+s"):
            screen.link.calls.asked.clear()
            await screen.press(key)
            await screen.send(ev.RunPaused("r", 1, "pause"))
            await screen.press(key)
            assert [call for call, _ in screen.link.calls.asked if call != "show"] == ["pause", "resume"], key
            assert "● live" in await screen.send(ev.RunStarted("r", "Should we?", resumed=True))


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
        assert "not started – p to start" in await screen.send(loaded(), LIVE)


async def test_a_drop_is_counted_down_and_mended() -> None:
    async with opened() as screen:
        text = await screen.send(loaded(status="running"), LIVE, ev.LinkChanged("waiting", "", 50.0, 3))
        assert re.search(r"reconnecting in (50|4\d) s \(3rd try\)", text)
        assert "● live" in await screen.send(LIVE)


async def test_a_pane_counts_down_while_its_provider_limits_the_rate() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        started = ev.TurnStarted("1", "r", "assistant", "Mika", "", 1, "a")
        until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        waits = ev.TurnNoted("1", "rate_limit", 0, "a", "Mika", until, 9.0)
        assert "rate limited, 9 s" in await screen.send(started, waits)
        assert "rate limited" not in await screen.send(ev.TurnEnded("1", "Well", 1, "a"))


async def test_a_server_that_shows_only_runs_is_run_by_p_and_continued_by_c() -> None:
    async with opened() as screen:
        text = await screen.send(
            ev.RoomLoaded(ev.RoomInfo("r"), ()),
            ev.LinkChanged("ended", "this server shows a room only while it is running"),
        )
        assert "only while it is running" in text
        assert "No agents" not in text  # nothing is known of them
        await screen.press("p")
        screen.link.send_posted(
            LIVE,
            ev.RunStarted("r", "Should we?"),
            ev.TurnStarted("1", "r", "assistant", "Zed", "", 1),
            ev.TextAdded("1", "Half", "Half"),
            StreamLost("the stream ended before its last event"),
        )
        text = await screen.text()
        assert "Half" in text
        assert "interrupted – c to continue" in text
        assert screen.link.runs == 1  # nothing is ever repeated by itself
        await screen.press("c")
        assert screen.link.runs == 2


async def test_a_room_is_started_only_when_it_is_known_whether_its_server_has_a_log() -> None:
    async with opened() as screen:
        screen.link.is_embedded = False
        await screen.send(loaded())
        await screen.press("p")
        assert screen.link.calls.asked == []
        await screen.send(ev.LinkChanged("ended"))
        assert (screen.link.runs, screen.link.calls.asked) == (1, [])  # the stream that is read


async def test_a_room_of_another_server_with_a_log_is_started_as_soon_as_it_is_connected() -> None:
    async with opened() as screen:
        screen.link.is_embedded = False
        await screen.send(loaded())
        await screen.press("p")
        await screen.send(LIVE)
        assert (screen.link.runs, screen.link.calls.asked) == (0, [("run", "r")])


async def test_a_start_is_not_kept_for_a_connection_that_does_not_come() -> None:
    async with opened() as screen:
        screen.link.is_embedded = False
        await screen.send(loaded())
        await screen.press("p")
        await screen.send(ev.LinkChanged("waiting", "gone", 5.0, 1), LIVE)
        assert screen.link.calls.asked == []


async def test_a_run_that_was_refused_says_why_and_p_reads_the_next_one() -> None:
    async with opened() as screen:
        await screen.send(loaded(), ev.LinkChanged("ended"))
        await screen.press("p", "p")
        assert screen.link.runs == 1
        screen.link.send_posted(LIVE, ConnectFailed("the server failed (503)"))
        text = await screen.text()
        assert "the server failed (503)" in text
        assert "p start" in text
        await screen.press("p")
        assert (screen.link.runs, screen.link.calls.asked) == (2, [])


async def test_a_server_without_pause_says_so_and_goes_on() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        screen.link.calls.refuse = NotOffered("this server does not offer pausing")
        assert "does not offer pausing" in await screen.press("p")


async def test_a_server_that_only_runs_rooms_lets_a_paused_one_go_on() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="paused", current_round=1), LIVE)
        screen.link.calls.resume_refused = NotOffered("this server does not offer resuming")
        text = await screen.press("p")
        assert [call for call, _ in screen.link.calls.asked] == ["resume", "run"]
        assert "not offer" not in text


async def test_a_completed_room_resumes_with_another_round_if_that_is_wanted() -> None:
    async with opened() as screen:
        assert "p another round" in await screen.send(loaded(status="completed", current_round=3), LIVE)
        assert "Add a round?" in await screen.press("p")
        await screen.press("escape")
        assert screen.link.calls.asked == []
        await screen.press("p", "enter")
        assert [call for call, _ in screen.link.calls.asked] == ["change {'max_rounds': 4}", "resume"]


async def test_a_completed_room_without_budget_gets_no_round_and_says_how_to_raise_it() -> None:
    async with opened() as screen:
        spent = loaded(status="completed", current_round=3, max_tokens=300, tokens=310)
        assert "e raise the budget" in await screen.send(spent, LIVE)
        assert "the budget is used up · e to raise it" in " ".join((await screen.press("p")).split())
        assert len(screen.app.screen_stack) == 2
        text = await screen.press("i", *"one more", "enter")
        assert "the budget is used up · e to raise it" in text
        assert len(screen.app.screen_stack) == 2
        assert screen.link.calls.asked == []


async def test_an_archived_room_says_so_and_is_not_continued() -> None:
    async with opened() as screen:
        for status in ("idle", "paused", "completed"):
            await screen.send(loaded(status=status, current_round=3, archived=True), LIVE)
            text = await screen.press("escape")
            assert text.splitlines()[0].endswith("✓ archived"), status
            assert "another round" not in text
            assert "this room is archived" in await screen.press("p"), status
        assert "this room is archived" in await screen.press("i", *"one more", "enter")
        assert len(screen.app.screen_stack) == 2
        assert screen.link.calls.asked == []


async def test_a_room_that_runs_says_so_and_is_paused_although_it_is_archived() -> None:
    async with opened() as screen:
        text = await screen.send(loaded(status="running", current_round=1, archived=True), LIVE)
        assert "● live" in text
        assert "p pause" in text
        await screen.press("p")
        assert ("pause", "r") in screen.link.calls.asked


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


async def test_small_terminals_get_a_smaller_view() -> None:
    async with opened((1, 1)) as screen:
        await screen.send(
            loaded(status="running", current_round=1), LIVE, start("1", AGENTS[0]), ev.TextAdded("1", "Words")
        )
        for columns, rows in ((1, 1), (5, 2), (20, 5), (80, 24)):
            text = await screen.resize(columns, rows)
            assert all(len(line) <= columns for line in text.splitlines())
            assert "Words" in text or columns < 20


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
        assert "the backend crashed, nothing was lost" in text


@pytest.mark.parametrize("count", [1, 3, 4, 16])
async def test_every_agent_is_in_sight_with_its_last_words(count: int) -> None:
    agents = crowd(count)
    async with opened((80, 24)) as screen:
        await screen.send(*speaking(agents))
        for size in ((80, 24), (120, 40), (200, 60)):
            text = await screen.resize(*size)
            assert all(agent.name in text for agent in agents), size
            shown = 1 if size[0] == 80 and count > 1 else count
            assert text.count("First line.") == shown, size
            ends = {agent.name[:3] for agent in agents if f"I am {agent.name}."[-5:] in text}
            assert len(ends) == len({agent.name[:3] for agent in agents}), size
            assert count > 1 or "│" not in text, size


async def test_at_eighty_by_twenty_four_sixteen_agents_leave_the_large_pane_its_rows() -> None:
    async with opened() as screen:
        await screen.send(*speaking(crowd(16)))
        text = await screen.resize(80, 24)
        rows = text.splitlines()
        large = next(number for number, row in enumerate(rows) if row.count("▎") > 1) - 1
        assert large >= 12
        assert "Mika" in rows[1]
        assert sum(row.count("▎") for row in rows[large + 1 :]) == 15


async def test_tab_digits_and_clicks_turn_to_another_agent() -> None:
    async with opened((80, 24)) as screen:
        await screen.send(*speaking(crowd(16)))
        assert "Ada" in (await screen.press("tab")).splitlines()[1]
        assert "Mika" in (await screen.press("shift+tab")).splitlines()[1]
        assert "Лена" in (await screen.press("5")).splitlines()[1]
        assert "Ada1" in (await screen.press("0")).splitlines()[1]
        rows = (await screen.text()).splitlines()
        noor = next(number for number, row in enumerate(rows) if row.startswith("▎Noor "))
        await screen.pilot.click(offset=(5, noor))
        assert "Noor" in (await screen.text()).splitlines()[1]


async def test_zoom_shows_one_pane_and_tab_moves_it() -> None:
    async with opened((120, 30)) as screen:
        await screen.send(*speaking(AGENTS))
        text = await screen.press("z")
        assert "z back" in text
        assert "I am Mika." in text
        assert "I am Ada." not in text
        text = await screen.press("tab")
        assert "I am Ada." in text
        assert "I am Mika." not in text
        text = await screen.press("escape")
        assert "z back" not in text
        assert text.count("I am ") == 3


async def test_a_zoomed_pane_says_in_few_columns_too_how_to_leave_it() -> None:
    async with opened((66, 24)) as screen:
        assert "z zoom" not in await screen.send(*speaking(AGENTS))  # the other hints matter more
        assert "z back" in await screen.press("z")


async def test_a_resize_keeps_the_pane_that_has_the_focus() -> None:
    async with opened((200, 60)) as screen:
        await screen.send(*speaking(crowd(4)))
        await screen.press("tab", "tab")
        text = await screen.resize(80, 24)
        assert "老王" in text.splitlines()[1]
        text = await screen.resize(200, 60)
        assert text.count("First line.") == 4


async def test_an_agent_that_joins_leaves_the_others_where_their_reader_is() -> None:
    async with opened((120, 30)) as screen:
        await screen.send(*speaking(crowd(2)))
        await screen.send(ev.TextAdded("id0", "\n\nmore" * 60))
        text = await screen.press("home")
        assert "First line." in text
        third = ev.AgentInfo("late", "Zed")
        text = await screen.send(start("late", third), ev.TextAdded("late", "I am late."))
        assert "I am late." in text
        assert text.count("First line.") == 2


async def test_hints_name_what_is_possible_now() -> None:
    async with opened((160, 30)) as screen:
        await screen.send(*speaking(AGENTS), ev.TextAdded("a", "\n\nmore" * 60))
        assert "end newest" not in (await screen.text()).splitlines()[-1]
        last = (await screen.press("pageup")).splitlines()[-1]
        assert "end newest" in last
        last = (await screen.press("end")).splitlines()[-1]
        assert "tab next pane · z zoom · t timeline · / find" in last
        assert "end newest" not in last
        last = (await screen.press("t")).splitlines()[-1]
        assert "t back" in last
        assert "z zoom" not in last


async def test_many_events_at_once_tell_the_headers_once() -> None:
    async with opened() as screen:
        room = screen.app.room
        shows = 0
        show_lines = room._show_lines

        def counted() -> bool:
            nonlocal shows
            shows += 1
            return show_lines()

        room._show_lines = counted  # type: ignore[method-assign]  # counts and does
        await screen.send(*speaking(crowd(16)))
        assert 0 < shows < 16


@pytest.mark.parametrize("is_left_first", [False, True])
async def test_a_room_may_be_left_at_any_moment_while_its_panes_are_made(is_left_first: bool) -> None:
    async with opened() as screen:
        app = screen.app
        for moment in of_many(range(40), range(0, 40, 3)):  # turns of the event loop in between
            link = FakeLink()
            room = RoomScreen(cast("RoomLink", link), "r", app.clock, start=False)
            await app.push_screen(room)
            if is_left_first:
                leaving = app.pop_screen()
                await turns(moment)
                link.send(loaded(agents=crowd(3)), LIVE)
            else:
                link.send(loaded(agents=crowd(3)), LIVE)
                await turns(moment)
                leaving = app.pop_screen()
            await leaving
            link.end()
        await screen.settle()


async def turns(count: int) -> None:
    """Let the event loop turn that often."""
    for _ in range(count):
        await asyncio.sleep(0)
