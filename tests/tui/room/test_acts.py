"""Acts on one agent, the budget, and changing the room while it runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from agent_tui.model import events as ev
from agent_tui.model.errors import Refused
from agent_tui.model.settings import settings_of
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from tests.tui.room.one_room import AGENTS, LIVE, Screen, loaded, opened, start
from tui.forms.agent_form import AgentFormScreen
from tui.forms.fields import Choice, Line
from tui.forms.settings import SettingsScreen
from tui.forms.values import read_value
from tui.room.settings import estimate
from tui.room.texts import labels_of, person_title, usage_text
from widgets.composer import Composer

NASTY = "\x1b]52;c;aGk=\x07\x1b[31m\u202eevil\x00[bold]x[/] <b>"


def said(turn_id: str, agent: ev.AgentInfo, text: str, round_number: int = 1) -> Sequence[ev.Event]:
    return (
        start(turn_id, agent, round_number),
        ev.TextAdded(turn_id, text),
        ev.TurnEnded(turn_id, text, 5, agent.id),
    )


def asked(screen: Screen) -> list[str]:
    return [call for call, _ in screen.link.calls.asked]


async def test_what_needs_the_room_says_that_it_is_still_being_loaded() -> None:
    async with opened() as screen:
        assert "still loading" in await screen.press("e")


async def test_the_agent_that_speaks_is_stopped_and_says_by_whom() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE, start("1", AGENTS[1]))
        await screen.press("tab", "s")
        assert asked(screen) == ["stop b"]
        text = await screen.send(ev.TurnEnded("1", "Half", 1, "b", "stop"))
        assert "stopped by you" in text


async def test_an_agent_that_does_not_speak_cannot_be_stopped() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.press("s")
        assert asked(screen) == []
        assert [told.message for told in screen.app._notifications] == ["the agent is not speaking"]


async def test_a_turn_to_come_is_skipped_as_the_answer_says() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        waiting = (ev.AgentInfo("a", "Mika", skip_next=True), *AGENTS[1:])
        screen.link.calls.room = ev.RoomInfo("r", task="Should we?", agents=waiting, status="running")
        text = await screen.press("x")
        assert asked(screen) == ["skip a"]
        assert "will be skipped" in text
        assert "┄ skipped" in await screen.send(ev.AgentStatusChanged("a", "Mika", "skipped"))


async def test_a_turn_said_again_leaves_the_old_one_marked() -> None:
    async with opened() as screen:
        room = loaded(status="running", current_round=1, execution_mode="sequential")
        await screen.send(room, LIVE, *said("1", AGENTS[0], "First try"))
        await screen.press("r")
        assert asked(screen) == ["retry a"]
        again = ev.TurnStarted("2", "r", "assistant", "Mika", "", 1, "a", supersedes="1")
        text = await screen.send(again, ev.TextAdded("2", "Second try"))
        assert text.index("First try") < text.index("retried below") < text.index("Second try")
        text = await screen.press("t")
        assert "retried below" in text


async def test_a_turn_is_not_said_again_once_another_agent_spoke() -> None:
    async with opened() as screen:
        room = loaded(status="running", current_round=1, execution_mode="sequential", view="panes")
        await screen.send(room, LIVE, *said("1", AGENTS[0], "One"), *said("2", AGENTS[1], "Two"))
        await screen.press("r")
        assert asked(screen) == []
        assert [told.message for told in screen.app._notifications] == [
            "others have spoken since – write to the agent instead"
        ]


async def test_nothing_is_asked_of_an_agent_that_left() -> None:
    async with opened() as screen:
        cut = start("1", AGENTS[2]), ev.TextAdded("1", "So"), ev.TurnEnded("1", "So", 1, "c", "stop")
        await screen.send(loaded(status="running", current_round=1), LIVE, *cut)
        text = await screen.press("tab", "tab")
        assert "x skip · c continue" in text
        text = await screen.send(ev.RoomChanged(ev.RoomInfo("r", agents=AGENTS[:2])))
        assert "x skip" not in text
        assert "c continue" not in text
        for key in ("s", "x", "r", "c"):
            screen.app.clear_notifications()
            await screen.press(key)
            assert asked(screen) == [], key
            told = [one.message for one in screen.app._notifications]
            assert told == ["the agent has left the room"], key


async def test_a_refused_act_says_why() -> None:
    async with opened() as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        screen.link.calls.refuse = Refused("the room is archived")
        await screen.press("x")
        assert [told.message for told in screen.app._notifications] == ["the room is archived"]


async def test_what_a_server_lacks_is_not_asked_of_it() -> None:
    async with opened() as screen:
        screen.link.is_embedded = False
        screen.link.calls.lacks = {"skip": "this server does not offer skipping one agent"}
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.press("x")
        assert asked(screen) == []


async def test_a_whisper_and_what_was_left_out_are_marked() -> None:
    async with opened((160, 30)) as screen:
        whisper = ev.Message("w", "r", "user", "psst", "psst", "", "", 0, 1, "t", to="a")
        trimmed = ev.TurnStarted("1", "r", "assistant", "Mika", "", 1, "a", trimmed=12)
        text = await screen.send(loaded(status="running", current_round=1), LIVE, trimmed)
        assert "round 1 · 12 earlier messages left out" in text
        await screen.send(ev.MessageStored(whisper))
        assert "You, to Mika only" in await screen.press("t")


async def test_a_model_that_is_loaded_and_one_without_tools_are_named_as_that() -> None:
    async with opened((160, 30)) as screen:
        begun = ev.TurnStarted("1", "r", "assistant", "Mika", "", 1, "a")
        loading = ev.TurnNoted("1", "loading", 0, "a", "Mika")
        text = await screen.send(loaded(status="running", current_round=1), LIVE, begun, loading)
        assert "loading the model…" in text
        more = ev.TurnNoted("1", "no_tools", 0, "a"), ev.TurnNoted("1", "trimmed", 12, "a")
        text = await screen.send(*more, ev.TextAdded("1", "Here.", agent_id="a"))
        assert "round 1 · this model cannot use tools · 12 earlier" in text  # and the next row says the rest
        assert "loading the model" not in text


async def test_what_stays_true_of_a_turn_is_shown_of_a_stored_one_too() -> None:
    async with opened((240, 30)) as screen:
        notes = ev.Note("no_tools"), ev.Note("server_missing", "slow: gone"), ev.Note("loading")
        stored = ev.Message("1", "r", "assistant", "Here.", "Here.", "Mika", "", 1, 1, "t", "a", notes=notes)
        info = loaded(status="paused", current_round=1).room
        text = await screen.send(ev.RoomLoaded(info, (stored,)), LIVE)
        assert "round 1 · this model cannot use tools · MCP server slow: gone" in text
        assert "loading" not in text


async def test_an_mcp_server_that_is_waited_for_or_missing_is_named_in_the_pane() -> None:
    async with opened((160, 30)) as screen:
        begun = ev.TurnStarted("1", "r", "assistant", "Mika", "", 1, "a")
        waits = ev.TurnNoted("1", "servers_wait", 0, "a", "Mika", about="slow")
        text = await screen.send(loaded(status="running", current_round=1), LIVE, begun, waits)
        assert "waiting for MCP server slow" in text
        missing = ev.TurnNoted("1", "server_missing", 0, "a", "Mika", about="slow: gone")
        text = await screen.send(ev.TurnNoted("1", "servers_wait", 0, "a", "Mika"), missing)
        assert "waiting for MCP server" not in text
        assert "round 1 · MCP server slow: gone" in text


async def test_a_spent_budget_says_how_to_raise_it() -> None:
    async with opened((140, 30)) as screen:
        text = await screen.send(
            loaded(status="paused", interrupted="budget", max_tokens=50_000, tokens=50_100), LIVE
        )
        assert "paused – the budget is used up · e to raise it" in text
        assert "50,100 of 50,000 tokens" in text
        await screen.press("e")
        assert screen.app.screen.focused is screen.app.screen.query_one("#max_tokens")


def test_what_was_used_is_said_with_its_cost() -> None:
    state = ConversationState(ev.RoomInfo("r"))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", tokens=1284, cost=0.0123, agents=AGENTS), ()))
    assert usage_text(state, 0) == ("1,284 tokens", "", "$0.0123")
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", tokens=1284, cost=2.5, max_cost=4, agents=AGENTS), ()))
    assert usage_text(state, 0) == ("1,284 tokens", "", "$2.50 of $4.00")
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=AGENTS[1:]), ()))
    assert usage_text(state, 12) == ("12 tokens", "", "no cost")


async def test_the_settings_are_changed_by_one_call_with_what_is_different() -> None:
    async with opened((120, 40)) as screen:
        await screen.send(loaded(status="running", current_round=1, name="One"), LIVE)
        text = await screen.press("e")
        assert isinstance(screen.app.screen, SettingsScreen)
        assert "parallel" in text
        screen.app.screen.query_one("#max_rounds", Line).value = "5"
        assert "the provider's limit" in text
        screen.app.screen.query_one("#answer_tokens", Line).value = "4,000"
        screen.app.screen.query_one("#max_tokens", Line).value = "50,000"
        screen.app.screen.query_one("#on_error", Choice).action_turn(1)
        screen.app.screen.query_one("#on_resume", Choice).action_turn(1)
        screen.link.calls.room = ev.RoomInfo("r", max_rounds=5, max_tokens=50_000, agents=AGENTS, task="T")
        text = await screen.press("enter")
        assert asked(screen) == [
            (
                "change {'max_rounds': 5, 'max_tokens': 50000, 'answer_tokens': 4000, 'on_error': 'pause', "
                "'on_resume': 'again'}"
            )
        ]
        assert "round 1 of 5" in text
        assert "of 50,000 tokens" in text


async def test_a_budget_that_no_price_is_known_for_is_told_of_once() -> None:
    async with opened((120, 40)) as screen:
        await screen.send(loaded(max_cost=2.0, unpriced=("big-model",)), LIVE)
        told = "the budget of $2.00 does not limit big-model: no price is known"
        assert [one.message for one in screen.app._notifications] == [told]
        await screen.send(
            ev.RoomChanged(ev.RoomInfo("r", max_cost=2.0, unpriced=("big-model",), agents=AGENTS))
        )
        assert [one.message for one in screen.app._notifications] == [told]
        await screen.send(ev.RoomChanged(ev.RoomInfo("r", max_cost=0.0, agents=AGENTS)))
        assert [one.message for one in screen.app._notifications] == [told]


async def test_what_is_wrong_stands_next_to_its_field_and_nothing_is_sent() -> None:
    async with opened((120, 40)) as screen:
        await screen.send(loaded(status="running", current_round=2), LIVE)
        await screen.press("e")
        screen.app.screen.query_one("#max_rounds", Line).value = "0"
        screen.app.screen.query_one("#max_cost", Line).value = "much"
        rows = (await screen.press("enter")).splitlines()
        rounds = next(at for at, row in enumerate(rows) if "  rounds  " in row)
        assert "1 to 1,000" in rows[rounds + 1]
        assert any("enter an amount, such as 2.50" in row for row in rows)
        assert asked(screen) == []


async def test_agents_are_changed_added_moved_and_removed_in_one_list_to_which_a_command_leads() -> None:
    async with opened((120, 40)) as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.press("i", *"/model", "enter")
        assert screen.app.screen.query_one("#agents").has_focus
        await screen.press("ctrl+down", "down", "d", "up", "enter")
        assert isinstance(screen.app.screen, AgentFormScreen)
        screen.app.screen.query_one("#prompt", Composer).put("You doubt.")
        await screen.press("enter", "a")
        screen.app.screen.query_one("#name", Line).value = "Zed"
        await screen.press("enter")
        await screen.press("ctrl+s")
        assert asked(screen)[-1] == (
            "change {'agents': [{'id': 'b', 'system_prompt': 'You doubt.'}, {'id': 'a'}, {'name': 'Zed'}]}"
        )


async def test_the_field_with_the_focus_is_in_sight_after_the_terminal_changed_its_size() -> None:
    async with opened((120, 60)) as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.press("e")
        form = screen.app.screen.query_one("#form")
        for field, size in (("#max_cost", (60, 14)), ("#agents", (120, 60)), ("#agents", (60, 14))):
            focused = screen.app.screen.query_one(field)
            focused.focus()
            await screen.pilot.resize_terminal(*size)
            await screen.settle()
            assert form.region.contains_region(focused.region.split_horizontal(1)[0]), (field, size)


async def test_an_agent_that_was_added_is_in_sight_in_a_small_terminal() -> None:
    async with opened((80, 24)) as screen:
        await screen.send(loaded(status="running", current_round=1), LIVE)
        await screen.press("e")
        screen.app.screen.query_one("#agents").focus()
        for name in ("Zed", "Yan"):
            await screen.press("a")
            screen.app.screen.query_one("#name", Line).value = name
            assert name in await screen.press("enter")


async def test_hostile_names_are_harmless_in_the_dialogs() -> None:
    agents = (ev.AgentInfo("a", NASTY, NASTY, NASTY, system_prompt=NASTY, provider_id=NASTY),)
    async with opened((120, 40)) as screen:
        await screen.send(loaded(status="running", agents=agents, name=NASTY, task=NASTY), LIVE)
        text = await screen.press("e")
        screen.app.screen.query_one("#agents").focus()
        text += await screen.press("enter")
        assert "[bold]x[/]" in text
        assert {"\x1b", "\x07", "\x00", "\u202e"}.isdisjoint(text)
        await screen.press("escape", "ctrl+s")
        assert asked(screen)[-1:] != ["change {}"]
        assert not any(call.startswith("change") for call in asked(screen))


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("max_rounds", "12", 12),
        ("max_tokens", "", 0),
        ("max_tokens", "1 000", 1000),
        ("max_cost", "$2,5", 2.5),
        ("max_cost", "1,000", 1000),
        ("max_cost", "$1,234.50", 1234.5),
        ("max_cost", "0,125", 0.125),
    ],
)
def test_numbers_are_read_as_people_write_them(name: str, text: str, value: float) -> None:
    assert read_value(settings_of(ev.RoomInfo)[name], text) == value


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "x", "٣", "9" * 13, "nan"])
def test_what_is_no_number_of_rounds_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        read_value(settings_of(ev.RoomInfo)["max_rounds"], text)
    if text not in ("", "0", "1.5"):
        with pytest.raises(ValueError, match=r"\w"):
            read_value(settings_of(ev.RoomInfo)["max_cost"], "nan" if text == "nan" else "-1")


def test_the_rounds_that_are_left_are_estimated_by_those_before() -> None:
    state = ConversationState(ev.RoomInfo("r"))
    said = tuple(
        ev.Message(str(number), "r", "assistant", "Yes", "Yes", "a", "Ada", number, tokens, "")
        for number, tokens in ((1, 1500), (2, 2500), (3, 20))
    )
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", status="running", current_round=1, max_rounds=5), said[:1]))
    assert estimate(state) == ""
    room = ev.RoomInfo("r", status="paused", current_round=3, max_rounds=5, tokens=4020)
    state.apply(ev.RoomLoaded(room, said))
    assert estimate(state) == "about 4,000 more tokens for 2 rounds, judging by those so far"
    state.apply(ev.RoomLoaded(replace(room, max_rounds=3), said))
    assert estimate(state) == ""
    state.apply(ev.RoomLoaded(replace(room, status="completed", max_rounds=4), said))
    assert estimate(state) == "about 1,340 more tokens for 1 round, judging by those so far"


def test_agents_of_one_name_are_called_apart() -> None:
    state = ConversationState(ev.RoomInfo("r"))
    twins = tuple(ev.AgentInfo(name, "Ada", turn_order=at) for at, name in enumerate("abc"))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=twins), ()))
    assert labels_of(state) == {"Ada": "a", "Ada (2)": "b", "Ada (3)": "c"}


def test_a_whisper_to_an_agent_that_is_known_by_its_id_alone_names_nobody() -> None:
    whisper = Turn("w", role="user", sender_name="", to="0486e3ea", to_name="0486e3ea")
    assert person_title(whisper) == "You, to an agent that left"
