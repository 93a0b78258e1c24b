"""An agent as it is to be: its provider, model and colour are chosen from what there is, or written."""

from __future__ import annotations

from dataclasses import replace

import pytest
from textual.widget import Widget
from textual.widgets import Static

from agent_tui.clients.records import ProviderInfo
from agent_tui.model import events as ev
from agent_tui.model.errors import ConnectFailed, NotOffered
from tests.tui.room.one_room import AGENTS, LIVE, Screen, loaded, opened
from tui.forms.agent_form import AgentFormScreen
from tui.forms.fields import Choice, Line
from tui.forms.form import Form
from tui.forms.settings import SettingsScreen
from tui.language import speak
from tui.room.screen import RoomScreen
from tui.screens.choose import MOST_SHOWN, ChooseScreen
from tui.screens.dialog import QuestionScreen
from widgets.composer import Composer

pytestmark = pytest.mark.slow

NASTY = "\x1b]52;c;aGk=\x07\x1b[31m\u202eevil\x00[bold]x[/] <b>"
LOCAL = ProviderInfo("local", "Local", "ollama", "small")


async def opened_form(screen: Screen, agent: ev.AgentInfo = AGENTS[0]) -> str:
    """Open the form of the only agent."""
    await screen.send(loaded(status="running", current_round=1, agents=(agent,)), LIVE)
    await screen.press("e")
    screen.app.screen.query_one("OptionList").focus()
    text = await screen.press("enter")
    assert isinstance(screen.app.screen, AgentFormScreen)
    return text


def changed(screen: Screen) -> list[str]:
    return [call for call, _ in screen.link.calls.asked if call.startswith("change")]


async def test_a_model_is_picked_from_what_its_provider_offers() -> None:
    async with opened((120, 40)) as screen:
        calls = screen.link.calls
        calls.known_providers = [ProviderInfo("demo", "Demo", "demo", "demo"), LOCAL]
        calls.known_models = {"local": ["large", "medium", "small"]}
        await opened_form(screen)
        screen.app.screen.query_one("#provider", Choice).focus()
        text = await screen.press("right", "right")
        assert "‹ Local ›" in text
        assert screen.app.screen.query_one("#model", Line).value == ""  # the other provider's is none of its
        text = await screen.press("tab", "down")
        assert isinstance(screen.app.screen, ChooseScreen)
        assert "Models of Local" in text
        assert "default (small)" in text
        text = await screen.press(*"med")
        assert "large" not in text
        await screen.press("enter", "enter", "ctrl+s")
        assert changed(screen) == [
            "change {'agents': [{'id': 'a', 'model': 'medium', 'provider_id': 'local'}]}",
        ]


async def test_any_other_model_can_be_written() -> None:
    async with opened((120, 40)) as screen:
        await opened_form(screen)
        screen.app.screen.query_one("#model", Line).focus()
        text = await screen.press("down", *"brand-new")
        assert 'use "brand-new"' in text
        await screen.press("enter")
        assert screen.app.screen.query_one("#model", Line).value == "brand-new"


async def test_a_provider_that_cannot_be_asked_says_why_and_lets_write() -> None:
    async with opened((120, 40)) as screen:
        await opened_form(screen)
        screen.link.calls.refuse = ConnectFailed("Local cannot be reached", "is ollama running?")
        screen.app.screen.query_one("#model", Line).focus()
        text = await screen.press("down")
        assert "Local cannot be reached: is ollama running?" in text
        screen.link.calls.refuse = None
        await screen.press(*"mine", "enter")
        assert screen.app.screen.query_one("#model", Line).value == "mine"


async def test_a_server_without_providers_greys_the_choice_and_says_why() -> None:
    async with opened((120, 40)) as screen:
        screen.link.calls.refuse = NotOffered("this server does not offer a list of providers")
        text = await opened_form(screen)
        assert "this server does not offer a list of providers" in text
        assert screen.app.screen.query_one("#provider", Choice).disabled


async def test_why_there_are_no_providers_and_tools_is_said_in_the_language() -> None:
    speak("zh-CN")
    try:
        async with opened((120, 40)) as screen:
            refusal = NotOffered("this server does not offer a list of providers")
            screen.link.calls.refuse = screen.link.calls.tools_refused = refusal
            assert "此服务器不提供" in await opened_form(screen)
            await screen.press("escape")
            label = screen.app.screen.query_one("#of-tools", Static).content
            assert str(label).partition("：")[2].startswith("此服务器不提供")
    finally:
        speak("en")


async def test_thousands_of_models_are_found_by_typing() -> None:
    async with opened((120, 40)) as screen:
        screen.link.calls.known_models = {"demo": [f"model-{n}" for n in range(5000)]}
        await opened_form(screen)
        screen.app.screen.query_one("#model", Line).focus()
        text = await screen.press("down")
        assert f"{5001 - MOST_SHOWN:,} more – type to narrow the list" in text
        await screen.press(*"4711", "enter")
        assert screen.app.screen.query_one("#model", Line).value == "model-4711"


async def test_a_colour_is_written_and_a_wrong_one_is_refused() -> None:
    async with opened((120, 40)) as screen:
        await opened_form(screen)
        assert screen.app.screen.query_one("#color", Line).placeholder == "chosen by name"
        screen.app.screen.query_one("#color", Line).value = "reddish"
        assert "enter a colour such as #5b9df5, or leave it empty" in await screen.press("enter")
        screen.app.screen.query_one("#color", Line).value = "#123456"
        await screen.press("enter", "ctrl+s")
        assert changed(screen) == ["change {'agents': [{'id': 'a', 'color': '#123456'}]}"]


@pytest.mark.parametrize(("is_ascii", "sign"), [(False, "✗"), (True, "x")])
async def test_what_is_wrong_has_a_sign_beside_its_colour(is_ascii: bool, sign: str) -> None:
    async with opened((120, 40), is_ascii=is_ascii) as screen:
        await opened_form(screen)
        screen.app.screen.query_one("#name", Line).value = ""
        text = await screen.press("ctrl+s")
        assert f"{sign} an agent needs a name" in text
        await screen.press("escape", "y", "escape")
        await screen.press("e")
        screen.link.calls.refuse = ConnectFailed("the disk is full", "")
        screen.app.screen.query_one("#max_rounds", Line).value = "7"
        assert f"{sign} the disk is full" in await screen.press("ctrl+s")  # of no field


async def test_a_long_complaint_is_wrapped_below_its_field() -> None:
    words = (
        "agents.model: a model of this provider is not known to the server, which has large, medium and small"
    )
    async with opened((80, 24)) as screen:
        await opened_form(screen)
        screen.app.screen.query_one(Form).complain({"model": words})
        rows = [row.strip("│▌ ") for row in (await screen.text()).splitlines()]
        at = next(at for at, row in enumerate(rows) if "agents.model:" in row)
        told = " ".join(" ".join(rows[at : at + 3]).split())
        assert words in told


async def test_an_empty_prompt_is_kept_by_enter() -> None:
    async with opened((120, 40)) as screen:
        await opened_form(screen)
        screen.app.screen.query_one("#prompt", Composer).focus()
        await screen.press("enter")
        assert not isinstance(screen.app.screen, AgentFormScreen)


async def test_what_is_hostile_is_harmless_in_the_lists_and_stays_as_it_was_when_not_touched() -> None:
    async with opened((120, 40)) as screen:
        calls = screen.link.calls
        calls.known_providers = [ProviderInfo(NASTY, NASTY, "demo", NASTY)]
        calls.known_models = {NASTY: [NASTY]}
        text = await opened_form(screen, ev.AgentInfo("a", NASTY, NASTY, NASTY, 0, NASTY, NASTY))
        screen.app.screen.query_one("#model", Line).focus()
        text += await screen.press("down")
        assert "[bold]x[/]" in text
        assert {"\x1b", "\x07", "\x00", "\u202e"}.isdisjoint(text)
        await screen.press("escape")
        screen.app.screen.query_one("#name", Line).value = "Ada"
        await screen.press("enter", "ctrl+s")
        assert changed(screen) == ["change {'agents': [{'id': 'a', 'name': 'Ada'}]}"]


async def test_esc_asks_before_what_was_written_is_given_up_and_else_goes_at_once() -> None:
    async with opened((120, 40)) as screen:
        await opened_form(screen)
        await screen.press("escape")
        assert isinstance(screen.app.screen, SettingsScreen)
        await screen.press("enter", *"z", "escape")
        assert isinstance(screen.app.screen, QuestionScreen)
        await screen.press("escape")
        assert screen.app.screen.query_one("#name", Line).value == f"{AGENTS[0].name}z"
        await screen.press("enter")  # kept: the room is another one now
        assert isinstance(screen.app.screen, SettingsScreen)
        await screen.press("escape")
        assert "Discard changes?" in await screen.text()
        await screen.press("y")
        assert isinstance(screen.app.screen, RoomScreen)
        assert changed(screen) == []


@pytest.mark.parametrize("form", ["room", "agent"])
async def test_in_a_small_terminal_every_field_that_has_the_focus_is_in_sight(form: str) -> None:
    async with opened((50, 14)) as screen:
        await opened_form(screen)
        if form == "room":
            await screen.press("escape")
        shown = screen.app.screen
        seen: list[Widget] = []
        while (focused := shown.focused) is not None and focused not in seen:
            seen.append(focused)
            assert shown.query_one("#form").region.overlaps(focused.region), focused
            assert shown.query_one(".hint").region.bottom <= shown.region.bottom
            assert shown.query_one("#form").region.bottom <= shown.query_one(".hint").region.y
            await screen.press("tab")
        assert len(seen) == {"room": 15, "agent": 5}[form]


async def test_agents_that_were_changed_in_another_terminal_meanwhile_are_not_overwritten() -> None:
    async with opened((120, 40)) as screen:
        await opened_form(screen)
        screen.app.screen.query_one("#name", Line).value = "Mike"
        await screen.press("enter")
        there = (AGENTS[0], replace(AGENTS[1], turn_order=1))
        screen.link.calls.room = ev.RoomInfo("r", task="Should we?", agents=there)
        text = await screen.press("ctrl+s")
        assert "the agents were changed elsewhere" in text
        assert changed(screen) == []
        await screen.press("escape", "y")
        text = await screen.press("e")
        assert "2  ██ Ada" in text  # as they are now
        screen.app.screen.query_one("OptionList").focus()
        await screen.press("d", "ctrl+s")
        assert changed(screen) == ["change {'agents': [{'id': 'b'}]}"]
