"""A room whose agents use tools: rows between the words, and a question before a tool runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.model import events as ev
from agent_tui.model.errors import NotOffered, Refused
from agent_tui.model.tool_forms import FormField, ToolForm
from tests.settling import settle
from tests.tui.room.one_room import AGENTS, LIVE, Screen, loaded, opened, start
from tests.tui.watched import FRAMES_SECONDS
from tui.forms.fields import Line
from tui.forms.tool_list import ToolList
from tui.live.ask_bar import HOLD_SECONDS

MIKA, ADA, LAO = AGENTS
CALL = ev.Step("step-1", 1, "tool_call", name="read_file", arguments='{"path":"notes.txt"}', id_ref="c1")
RESULT = ev.Step("step-2", 2, "tool_result", "the first line\nthe second", "read_file", id_ref="step-1")
ASK = ev.ToolAsk("make -n test", "in the workspace", pattern="run_command(make -n test)", folder="/code/x")


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))  # where drafts are kept


def used(turn_id: str = "t1") -> list[ev.Event]:
    """Return a turn that speaks, reads a file, and speaks again."""
    return [
        ev.TextAdded(turn_id, "I will look.", step_id="step-0"),
        ev.StepSet(turn_id, CALL),
        ev.ToolStatusChanged(turn_id, "step-1", "running"),
        ev.StepSet(turn_id, RESULT),
        ev.ToolStatusChanged(turn_id, "step-1", "done", 0.4),
        ev.TextAdded(turn_id, "\n\nIt has two lines.", step_id="step-3"),
    ]


def asking(turn_id: str = "t1") -> list[ev.Event]:
    return [
        ev.TextAdded(turn_id, "I will build it.", step_id="step-0"),
        ev.StepSet(turn_id, replace(CALL, name="run_command", arguments='{"command":"make -n test"}')),
        ev.ToolStatusChanged(turn_id, "step-1", "asks", ask=ASK),
    ]


def begun(*agents: ev.AgentInfo) -> list[ev.Event]:
    shown = agents or (MIKA,)
    room = loaded(status="running", current_round=1, agents=shown, execution_mode="parallel")
    return [room, LIVE, *(start(f"t{n}", agent) for n, agent in enumerate(shown, 1))]


def ended(turn_id: str = "t1") -> list[ev.Event]:
    text = "I will look.\n\nIt has two lines."
    steps = (
        ev.Step("step-0", 0, "text", "I will look."),
        replace(CALL, status="done", seconds=0.4),
        RESULT,
        ev.Step("step-3", 3, "text", "It has two lines."),
    )
    message = ev.Message(turn_id, "r", "assistant", text, text, "Mika", "", 1, 8, "t", steps=steps)
    return [ev.TurnEnded(turn_id, text, 8), ev.MessageStored(message)]


def rows_with(text: str, *wanted: str) -> list[int]:
    """Return in which row each of these stands first."""
    rows = text.splitlines()
    return [next(at for at, row in enumerate(rows) if word in row) for word in wanted]


async def test_a_change_of_an_earlier_turn_that_was_undone_says_so_in_pane_and_timeline() -> None:
    async with opened() as screen:
        await screen.send(*begun(), *used(), *ended())
        await screen.press("t", "t")  # the timeline is fed from now on
        for number in (2, 3, 4):
            turn_id = f"t{number}"
            later = ev.TextAdded(turn_id, "Later."), ev.TurnEnded(turn_id, "", 1, "a")
            await screen.send(start(turn_id, MIKA), *later)
        undone = ev.ToolStatusChanged("t1", "step-1", "undone")
        assert "┄ undone by you" in await screen.send(undone)
        assert "┄ undone by you" in await screen.press("t")


async def test_a_long_result_says_how_much_is_left_out_and_names_no_key_that_a_room_does_not_have() -> None:
    long = replace(RESULT, content="line\n" * 300)
    async with opened() as screen:
        await screen.send(*begun(), ev.StepSet("t1", CALL), ev.StepSet("t1", long))
        await screen.send(ev.ToolStatusChanged("t1", "step-1", "done"))
        text = await screen.press("f", "end")
        assert "… 100 more lines" in text
        assert "opens all" not in text


async def test_a_tool_is_one_row_between_the_words() -> None:
    async with opened() as screen:
        text = await screen.send(*begun(), *used())
        places = rows_with(text, "I will look.", "read_file", "It has two lines.")
        assert places == sorted(places)
        assert "the first line" not in text
        assert "notes.txt" in text
        assert await screen.send(*ended()) is not None
        text = await screen.text()
        assert text.count("I will look.") == text.count("It has two lines.") == 1
        assert text.count("read_file") == 1


async def test_a_turn_that_is_loaded_looks_as_it_did_live() -> None:
    async with opened() as screen:
        live = await screen.send(*begun(), *used(), *ended(), ev.RunPaused("r", 1, "pause"))
    async with opened() as screen:
        stored = ended()[1]
        assert isinstance(stored, ev.MessageStored)
        room = loaded(status="paused", interrupted="pause", current_round=1, agents=(MIKA,)).room
        shown = await screen.send(ev.RoomLoaded(room, (replace(stored.message, agent_id="a"),)), LIVE)
    assert live.splitlines()[2:-2] == shown.splitlines()[2:-2]


async def test_what_the_reader_unfolds_stays_so_when_the_room_is_loaded_again() -> None:
    async with opened() as screen:
        await screen.send(*begun(), *used())
        assert "the second" in await screen.press("f")
        assert "the second" in await screen.send(*ended())
        stored = ended()[1]
        assert isinstance(stored, ev.MessageStored)
        room = loaded(status="running", current_round=1, agents=(MIKA,)).room
        text = await screen.send(ev.RoomLoaded(room, (replace(stored.message, agent_id="a"),)))
        assert "the second" in text
        assert "the second" not in await screen.press("F")


async def test_in_the_timeline_rows_of_agents_that_speak_at_once_are_told_apart() -> None:
    async with opened() as screen:
        await screen.send(*begun(MIKA, ADA))
        await screen.press("t")
        mine, others = used("t1"), used("t2")
        text = await screen.send(*(event for pair in zip(mine, others, strict=True) for event in pair))
        assert (text.count("read_file"), text.count("It has two lines.")) == (2, 2)
        rows = text.splitlines()
        for at in (at for at, row in enumerate(rows) if "It has two lines." in row):
            assert any(name in rows[at - 1] for name in ("Mika", "Ada"))


async def test_a_turn_that_is_said_again_stays_with_its_rows_and_the_new_one_has_its_own() -> None:
    async with opened() as screen:
        again = replace(start("t2", MIKA), attempt=2, supersedes="t1")
        text = await screen.send(*begun(), *used(), *ended(), again, *used("t2"))
        assert (text.count("read_file"), text.count("It has two lines.")) == (2, 2)
        assert (await screen.press("t")).count("read_file") == 2


async def test_words_that_were_shown_before_the_first_tool_are_not_said_twice() -> None:
    async with opened() as screen:
        assert "I will look." in await screen.send(*begun(), used()[0])
        text = await screen.send(*used()[1:])
        assert text.count("I will look.") == 1
        assert rows_with(text, "I will look.", "read_file") == sorted(
            rows_with(text, "I will look.", "read_file")
        )


async def test_thoughts_are_rows_that_fold_once_they_are_over() -> None:
    async with opened() as screen:
        thought = ev.Step("step-0", 0, "thinking")
        text = await screen.send(*begun(), ev.StepSet("t1", thought), ev.StepAdded("t1", "step-0", "Hm. So."))
        assert "Hm. So." in text
        text = await screen.send(ev.TextAdded("t1", "It is so.", step_id="step-1"))
        assert rows_with(text, "▸", "It is so.") == sorted(rows_with(text, "▸", "It is so."))


@pytest.mark.parametrize("size", [(80, 24), (50, 14)])
async def test_rows_fit_into_small_panes_and_hostile_names_do_no_harm(size: tuple[int, int]) -> None:
    async with opened(size) as screen:
        hostile = replace(
            CALL, name="\x1b[2Jread\n" * 30, arguments='{"path":"\\u001b[31m' + "x" * 500 + '"}'
        )
        text = await screen.send(*begun(), *used()[:1], ev.StepSet("t1", hostile))
        assert "\x1b" not in text
        assert all(len(row) <= size[0] for row in text.splitlines())


async def test_a_turn_that_is_cut_inside_a_tool_says_so() -> None:
    async with opened() as screen:
        text = await screen.send(*begun(), *used()[:3], ev.TurnEnded("t1", "I will look.", 3, "", "pause"))
        assert "cut" in next(row for row in text.splitlines() if "read_file" in row)


# --- settings ---------------------------------------------------------------------------------------------


async def test_tools_and_their_folder_are_chosen_in_the_settings() -> None:
    async with opened((120, 45)) as screen:
        await screen.send(
            loaded(status="paused", enabled_tools=("run_command", "gone"), agents=(MIKA,)), LIVE
        )
        text = await screen.press("e")
        assert "Reads a file." in text
        tools = screen.app.screen.query_one(ToolList)
        assert tools.names == ["read_file", "run_command", "gone"]
        screen.app.screen.query_one("#tools").focus()
        await screen.press("space")
        screen.app.screen.query_one("#workspace", Line).value = "relative"
        assert "enter a full path" in await screen.press("ctrl+s")
        screen.app.screen.query_one("#workspace", Line).value = "/"
        await screen.press("ctrl+s")
        tools_now = "'enabled_tools': ('read_file', 'run_command', 'gone')"
        assert (f"change {{'workspace': '/', {tools_now}}}", "r") in screen.link.calls.asked


async def test_a_server_without_tools_says_so_in_the_settings() -> None:
    async with opened((120, 45)) as screen:
        await screen.send(loaded(status="paused", agents=(MIKA,)), LIVE)
        screen.link.calls.tools_refused = NotOffered("this server offers no list of tools")
        assert "this server offers no list of tools" in await screen.press("e")
        assert screen.app.screen.query_one("#tools").disabled


# --- asks -------------------------------------------------------------------------------------------------


class Time:
    """The screen's own time, in seconds."""

    def __init__(self, screen: Screen) -> None:
        self.now = 100.0
        screen.app.room.now = screen.app.presses.now = lambda: self.now


async def asked(screen: Screen, *events: ev.Event) -> Time:
    """Let a call ask; what it would do is then in sight for a moment."""
    time = Time(screen)
    await screen.send(*(events or (*begun(), *asking())))
    time.now += 1.0
    return time


async def answer(screen: Screen, key: str) -> str:
    """Press a key, and no other for as long as one could follow that makes a word of both."""
    await screen.pilot.press(key)
    await settle(HOLD_SECONDS + FRAMES_SECONDS)
    return await screen.text()


def answers(screen: Screen) -> list[str]:
    return [words for words, _ in screen.link.calls.asked if words.startswith("answer")]


@pytest.mark.parametrize(
    ("key", "sent"),
    [
        ("y", "answer t1 step-1 once"),
        ("c", "answer t1 step-1 conversation run_command(make -n test)"),
        ("a", "answer t1 step-1 always run_command(make -n test)"),
    ],
)
async def test_the_keys_on_the_card_answer(key: str, sent: str) -> None:
    async with opened() as screen:
        time = await asked(screen)
        text = await screen.text()
        assert "│ make -n test" in text
        assert text.splitlines()[0].rstrip().endswith("‖ needs approval")
        assert "Allow this?" in text
        assert "Mika · run_command needs approval" in text
        assert text.count("y once · c this conversation · a always…") == 1
        text = await answer(screen, key)
        if key == "a":
            assert "exactly this call, in /code/x only" in text
            assert answers(screen) == []
            time.now += 1.0
            await screen.press("enter")
        assert answers(screen) == [sent]
        text = await screen.send(ev.ToolStatusChanged("t1", "step-1", "running"))
        assert "needs approval" not in text
        await screen.press("k")
        assert screen.app.room.focused is screen.app.room._panes.active


async def test_what_an_mcp_server_asks_is_filled_in_above_the_room() -> None:
    form = ToolForm("shop", "Which one?", (FormField("n", "integer", "Number", required=True),))
    ask = ev.ToolAsk("shop asks you for a value", form=form)
    async with opened() as screen:
        *before, _ = asking()
        time = await asked(screen, *begun(), *before, ev.ToolStatusChanged("t1", "step-1", "asks", ask=ask))
        text = await screen.text()
        assert "Mika · run_command needs your input" in text
        assert "‖ needs your input" in text.splitlines()[0]
        assert "approval" not in text
        assert "The MCP server shop asks you for 1 value" in text
        assert "Your answers are sent to shop." in await answer(screen, "y")
        time.now += 1.0
        assert "✗ a value is needed" in await screen.press("ctrl+s")
        await screen.press("7", "ctrl+s")
        assert answers(screen) == ['answer t1 step-1 answer {"n": 7}']


async def test_a_double_tap_in_a_room_keeps_no_rule() -> None:
    async with opened() as screen:
        await asked(screen)
        await screen.press("a", "a", "a", "enter")
        assert answers(screen) == []


async def test_a_key_that_was_down_when_the_question_came_answers_nothing() -> None:
    async with opened() as screen:
        time = Time(screen)
        await screen.send(*begun())
        await screen.press("y")
        time.now += 0.8  # held for longer than it takes to be asked
        await screen.send(*asking())
        for _ in range(60):  # two seconds of a key that the terminal repeats
            time.now += 0.033
            await screen.pilot.press("y")
        assert answers(screen) == []
        assert screen.app.screen is screen.app.room


async def test_what_was_typed_before_the_question_could_be_read_answers_nothing() -> None:
    async with opened() as screen:
        Time(screen)
        await screen.send(*begun(), *asking())
        await screen.press("y")  # in the same moment
        assert answers(screen) == []


async def test_around_a_question_keys_of_the_room_do_what_they_do_and_the_pane_is_read() -> None:
    async with opened((80, 20)) as screen:
        words = ev.TextAdded(
            "t1", "\n\n".join(f"paragraph {n}" for n in range(40)) + "\n\n", step_id="step-0"
        )
        time = await asked(screen, *begun(), words, *asking()[1:])
        assert "paragraph 0" in await screen.press("home")
        assert "Allow this?" in await screen.press("end")
        await screen.press("p")
        assert ("pause", "r") in screen.link.calls.asked
        assert not screen.app.room.composer.line.text
        time.now += 2.0
        await answer(screen, "y")
        assert answers(screen) == ["answer t1 step-1 once"]


async def test_who_writes_to_the_room_is_not_asked_in_between_and_tab_leads_there() -> None:
    async with opened() as screen:
        time = Time(screen)
        await screen.send(*begun())
        await screen.press("i", "h")
        time.now += 5.0
        text = await screen.send(*asking())
        assert "tab answer" in next(row for row in text.splitlines() if "needs approval · make" in row)
        assert "tab answer" in text.splitlines()[-1]
        assert "once" not in text
        await screen.press("y")
        assert (answers(screen), screen.app.room.composer.line.text) == ([], "hy")
        text = await screen.press("tab")
        assert text.count("y once") == 1
        assert "tab read" in text.splitlines()[-1]
        time.now += 2.0
        await answer(screen, "y")
        assert answers(screen) == ["answer t1 step-1 once"]
        await screen.send(ev.ToolStatusChanged("t1", "step-1", "running"))
        assert screen.app.room.composer.has_line_focus


async def test_who_goes_away_from_a_question_in_a_room_is_told_the_way_back() -> None:
    async with opened() as screen:
        time = await asked(screen)
        text = await screen.press("tab")
        assert "! answer" in next(row for row in text.splitlines() if "needs approval · make" in row)
        assert "once" not in text
        await screen.press("y")  # copies
        assert answers(screen) == []
        await screen.press("!")
        time.now += 2.0
        await answer(screen, "y")
        assert answers(screen) == ["answer t1 step-1 once"]


async def test_no_asks_why_and_the_reason_goes_along() -> None:
    async with opened() as screen:
        await asked(screen)
        assert "Why not?" in await answer(screen, "n")
        await screen.press("s", "l", "o", "w", "enter")
        assert answers(screen) == ["answer t1 step-1 deny slow"]


async def test_who_is_slower_than_another_terminal_is_told() -> None:
    async with opened() as screen:
        await asked(screen)
        screen.link.calls.refuse = Refused("The call no longer needs approval", status=409)
        assert "already answered" in await answer(screen, "y")


async def test_the_question_of_an_agent_in_the_strip_is_brought_into_sight_first() -> None:
    async with opened((80, 20)) as screen:
        await asked(screen, *begun(MIKA, ADA, LAO), *asking("t3"))
        assert "I will build it." in await screen.text()
        await answer(screen, "y")
        assert answers(screen) == ["answer t3 step-1 once"]


async def test_the_next_question_is_read_from_its_beginning_in_whose_pane_it_is() -> None:
    async with opened((120, 40)) as screen:
        time = await asked(screen, *begun(MIKA, ADA, LAO), *asking("t1"), *asking("t2"), *asking("t3"))
        text = await screen.resize(50, 24)
        assert "▾ run_command" in text
        text = await answer(screen, "y")
        time.now += 2.0
        assert "▎Ada" in text.splitlines()[1]
        assert "▾ run_command" in text
        await answer(screen, "y")
        time.now += 2.0
        await answer(screen, "n")
        await screen.press("enter")
        assert answers(screen) == ["answer t1 step-1 once", "answer t2 step-1 once", "answer t3 step-1 deny"]
        assert all(pane.follow for pane in screen.app.room._panes._panes.values())


async def test_only_the_card_that_is_asked_has_keys_on_it() -> None:
    async with opened((120, 40)) as screen:
        time = await asked(screen, *begun(MIKA, ADA), *asking("t1"), *asking("t2"))
        text = await screen.text()
        assert (text.count("Allow this?"), text.count("y once")) == (2, 1)
        row = next(row for row in text.splitlines() if "█  y once" in row)
        assert row.index("y once") < 60
        text = await answer(screen, "y")
        time.now += 2.0
        row = next(row for row in text.splitlines() if "█  y once" in row)
        assert row.index("y once") > 60


async def test_agents_say_what_their_tools_do() -> None:
    async with opened((50, 14)) as screen:
        text = await screen.send(*begun(MIKA, ADA, LAO), *asking("t1"), *asking("t2"))
        header, strip = text.splitlines()[1], next(row for row in text.splitlines() if row.startswith("▎Ada"))
        assert "‖ needs approval" in header
        assert strip.rstrip().endswith("‖ needs approval")
        text = await screen.send(ev.ToolStatusChanged("t1", "step-1", "running"))
        assert "needs approval" in text.splitlines()[1]  # it is Ada's turn to be asked about
        text = await screen.send(ev.ToolStatusChanged("t2", "step-1", "running"))
        assert "● running run_command" in text.splitlines()[1]


async def test_a_pause_takes_the_question_away() -> None:
    async with opened() as screen:
        await asked(screen)
        text = await screen.send(
            ev.ToolStatusChanged("t1", "step-1", "cut"),
            ev.TurnEnded("t1", "I will build it.", 3, "", "pause"),
            ev.RunPaused("r", 1, "pause"),
        )
        assert "run_command needs approval" not in text
        assert "nothing needs approval" in await screen.press("!")


async def test_what_the_reader_folds_all_at_once_stays_so_when_the_room_is_loaded_again() -> None:
    async with opened() as screen:
        await screen.send(*begun(), *used(), *ended())
        assert "the second" in await screen.press("F")
        stored = ended()[1]
        assert isinstance(stored, ev.MessageStored)
        again = loaded(status="running", current_round=1, agents=(MIKA,)).room
        load = ev.RoomLoaded(again, (replace(stored.message, agent_id="a"),))
        assert "the second" in await screen.send(load)
        assert "the second" in await screen.press("t")  # the timeline has the same steps
        assert "the second" not in await screen.press("F")
        assert "the second" not in await screen.send(load)
        assert "the second" not in await screen.press("t")
