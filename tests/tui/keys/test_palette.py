"""The palette: every action with its keys, from any focus."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.command import CommandInput, CommandList

from agent_tui.model import events as ev
from agent_tui.model.events import RoomInfo
from tests.tui.whole_app import AGENTS, Seen, opened_app
from tui.keys.actions import offers
from tui.keys.keymap import catalogue
from tui.keys.palette import NOT_IN_PALETTE, PaletteRow, UseCounts, fit
from tui.keys.words import ALSO
from tui.language import KEY, speak, translated
from tui.screens.dialog import QuitScreen

# Why an action is not in the palette of a room.
LEFT_OUT = {
    "app.palette": "the palette is open already",
    "help.": "acts on the help, which is closed by then",
    "quit.": "answers a question that is not asked",
    "home.": "acts on the first screen, and a room is open",
    "list.": "acts on a list, and a room is open",
    "rooms.": "acts on the list, and a room is open",
    "chats.": "acts on the list of chats, and a room is open",
    "search.": "searches in chats, and that dialog is not open",
    "new.": "fills in the form of a new room, and that is not open",
    "rename.": "asks for a name, and that dialog is not open",
    "setup.": "sets up a provider, and that dialog is not open",
    "chat.": "acts on a chat, and a room is open",
    "ask.": "answers a tool of a chat, and a room is open",
    "voice.": "acts on a voice room, and a room is open",
    "asked.": "answers a tool of a chat, and that dialog is not open",
    "pager.": "acts on a long text, and none is open",
    "changes.": "acts on changed files, and that screen is not open",
    "reason.": "gives a reason, and that dialog is not open",
    "keep.": "keeps a rule, and that dialog is not open",
    "chat_queue.": "acts on questions that wait, and that dialog is not open",
    "question.": "answers a question that is not asked",
    "queue.": "acts on what waits, and that dialog is not open",
    "settings.": "changes the room, and that dialog is not open",
    "agent_form.": "changes an agent, and that dialog is not open",
    "choose.": "chooses from a list, and that dialog is not open",
    "form.": "fills in a field, and no form is open",
    "tool_form.": "answers an MCP server, and that dialog is not open",
}


def entries(seen: Seen) -> dict[str, str]:
    return {command.title: command.help for command in seen.app.places.palette.entries(seen.app.screen)}


async def test_every_action_is_there_or_there_is_a_reason_why_not(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        titles = entries(seen)
        missing = [entry.id for entry in catalogue() if entry.description not in titles]
        assert [name for name in missing if not name.startswith(tuple(LEFT_OUT))] == []
        assert set(LEFT_OUT) >= NOT_IN_PALETTE


async def test_an_entry_says_its_keys_or_that_it_has_none(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys={"room.pause": "f5", "app.suspend": ""}) as seen:
        said = entries(seen)
        assert said["Pause or resume the room, or add a round"] == "f5, ctrl+s"
        assert said["Show the keys"] == "?, f1"
        assert said["Suspend to the shell"] == "no key"
        assert said["Continue what was cut off"] == "c – nothing was cut off here"


async def test_in_ascii_the_help_and_the_palette_are_ascii(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_TUI_ASCII", "1")
    async with opened_app(tmp_path, size=(100, 60)) as seen:
        text = await seen.press("question_mark")
        assert "Continue what was cut off - nothing was cut off" in text
        assert text.isascii()
        text = await seen.press("escape", "ctrl+p")
        assert "Search for commands" in text
        text = await seen.press(*"cut off")
        assert "c - nothing was cut off here" in text
        assert text.isascii()


async def test_what_has_no_key_can_be_done_by_the_palette(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys={"room.pause": ""}) as seen:
        assert "Search for commands" in await seen.press("ctrl+p")
        assert "Pause or resume the room" in await seen.press(*"pause or res")
        await seen.press("enter")
        assert seen.link.calls.asked == [("pause", "r0")]


async def test_a_command_copies_what_the_agent_said_last(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        assert "nothing to copy here" in await seen.press("i", *"/copy", "enter")
        said = ev.Message("1", "r0", "assistant", "", "One\n\nTwo", "Mika", "", 1, 1, "t", "a")
        info = RoomInfo("r0", task="Should we?", agents=AGENTS, status="running")
        await seen.send(ev.RoomLoaded(info, (said,)))
        assert "copied 3 lines" in await seen.press(*"/copy", "enter")


async def test_its_key_moves_in_the_list_of_commands_while_that_is_open(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        assert "▸ /help" in await seen.press("i", "slash")
        assert "▸ /quit" in await seen.press("ctrl+p")
        assert "▸ /help" in await seen.press("ctrl+n")
        assert "Search for commands" in await seen.press("escape", "ctrl+p")


async def test_ctrl_c_clears_what_is_looked_for_then_closes_it(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+p", *"zoom")
        assert "Search for commands" in await seen.press("ctrl+c")
        assert "Search for commands" not in await seen.press("ctrl+c")
        assert "again to quit" in await seen.press("ctrl+c")


async def test_ctrl_c_quits_only_when_no_other_key_came_in_between(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        for other in ("t", "question_mark"):
            await seen.press("ctrl+c", other, "ctrl+c")
            assert "again to quit" in await seen.press("escape")
            assert not isinstance(seen.app.screen, QuitScreen)
        await seen.press("ctrl+c")
        assert not isinstance(seen.app.screen, QuitScreen)
        text = await seen.press("ctrl+c")
        assert isinstance(seen.app.screen, QuitScreen)
        assert "again to quit" not in text  # it is said no longer above the question


async def test_what_cannot_be_done_now_says_why_when_it_is_chosen(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+p", *"continue what")
        text = await seen.press("enter")
        assert "Continue what was cut off: nothing was cut off" in " ".join(text.split())
        assert seen.link.runs == 0


OTHER_WORDS = (
    ("exit", "Quit"),
    ("stop", "Stop the agent"),
    ("settings", "Room settings"),
    ("maximize", "Zoom the pane in or out"),
    ("colours", "Choose a theme"),
    ("clipb", "Copy the message"),
    ("shortcuts", "Show the keys"),
    ("export", "Save the room to a file"),
    ("rename", "Room settings"),
    ("setup", "Connect a model"),
    ("speech", "Talk in a voice room"),
    ("version", "Show the keys"),
    ("delete", "Switch between rooms and chats"),
)


async def test_an_action_is_found_by_other_words_for_it(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        rows = seen.app.places.palette.entries(seen.app.screen)
        for typed, title in OTHER_WORDS:
            found = [row.title for row in rows if fit([typed], row)[0]]
            assert any(each.startswith(title) for each in found), typed
        assert "no matches" in await seen.press("ctrl+p", *"qqq")


def test_every_other_word_is_for_an_action_that_there_is() -> None:
    assert {key.removeprefix("also.") for key in ALSO} <= {entry.id for entry in catalogue()}


async def test_what_is_chosen_most_is_first_and_what_cannot_be_done_last(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        UseCounts().add("room.timeline")
        for _ in range(2):
            await seen.press("ctrl+p", *"zoom")
            await seen.press("enter")
        rows = seen.app.places.palette.entries(seen.app.screen)
        assert [row.title for row in rows[:2]] == [
            "Zoom the pane in or out",
            "Switch to the timeline and back",
        ]
        reasons = [" – " in row.help for row in rows]
        assert reasons == sorted(reasons)
        able = {row.title for row in rows if " – " not in row.help}
        assert not {"Allow once", "Deny", "Go to agent 10"} & able  # nothing asks, and there are fewer agents
        assert (await seen.press("ctrl+p")).index("Zoom the pane") < seen.now.index("Switch to the timeline")


async def test_what_only_moves_is_found_by_typing_alone(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 120)) as seen:
        text = await seen.press("ctrl+p")
        assert "Zoom the pane" in text
        assert "Half a page up" not in text
        assert "Next pane" not in text
        assert "Half a page up" in await seen.press(*"half")


async def test_in_a_small_terminal_its_line_takes_one_row_and_its_list_leaves_the_last_one(
    tmp_path: Path,
) -> None:
    async with opened_app(tmp_path, size=(80, 24)) as seen:
        before = seen.now.splitlines()[-1]
        await seen.press("ctrl+p")
        line, rows = seen.app.screen.query_one(CommandInput).region, seen.app.screen.query_one(CommandList)
        assert (line.height, rows.region.width) == (1, 80)
        assert rows.region.y - line.bottom <= 1
        assert rows.region.bottom < 24
        assert seen.now.splitlines()[-1] == before


async def test_its_rows_fit_again_when_the_terminal_gets_narrower_or_wider(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(100, 40)) as seen:
        wide = await seen.press("ctrl+p", *"stop the")
        assert "s – the agent is not speaking" in wide
        rows = (await seen.resize(60, 40)).splitlines()
        assert any("Stop the agent" in row and "s – the agent is not speaking" in row for row in rows)
        assert await seen.resize(100, 40) == wide


@pytest.mark.parametrize("language", ["ru", "zh-CN"])
async def test_english_words_find_in_every_language(tmp_path: Path, language: str) -> None:
    speak(language)
    try:
        async with opened_app(tmp_path) as seen:
            assert translated(KEY, "Pause or resume the room, or add a round") in await seen.press(
                "ctrl+p", *"pause"
            )
    finally:
        speak("en")


def test_an_english_word_counts_less_than_one_of_the_language() -> None:
    own = PaletteRow("Остановить", "p", print, ("pause",))
    english = PaletteRow("Комната", "p", print, english=("pause", "the", "room"))
    assert fit(["pause"], own)[0] > fit(["pau"], english)[0] > 0


def test_what_cannot_be_done_fits_less_than_anything_that_can() -> None:
    able = PaletteRow("Pause or resume the room", "p", print, ("stop",))
    greyed = PaletteRow("Stop the agent", "s", print, used=99, is_impossible=True)
    assert fit(["stop"], able)[0] > fit(["stop"], greyed)[0] > 0
    assert fit(["pau", "room"], able)[0] > fit(["pau", "zebra"], able)[0] == 0


def test_what_was_chosen_is_counted_for_its_owner_alone(tmp_path: Path) -> None:
    used = UseCounts(tmp_path)
    for name in ("a.b", "a.c", "a.b"):
        used.add(name)
    assert used.counts() == {"a.b": 2, "a.c": 1}
    path = tmp_path / "palette.json"
    assert path.stat().st_mode & 0o777 == 0o600
    for broken in ("", "[1]", '{"a": "x", "b": -1, "c": true}', "{", "[" * 100_000):
        path.write_text(broken)
        assert used.counts() == {}


async def click(seen: Seen, words: str) -> str:
    """Click where these words stand."""
    y, row = next((y, row) for y, row in enumerate((await seen.text()).splitlines()) if words in row)
    await seen.pilot.click(offset=(cell_len(row[: row.index(words)]), y))
    return await seen.text()


async def test_what_a_hint_names_is_done_when_it_is_clicked(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await click(seen, "p pause")
        await seen.until(lambda: seen.link.calls.asked == [("pause", "r0")])
        text = await click(seen, "? help")
        assert "Pause or resume the room" in text
        assert "Pause or resume the room" not in await click(seen, "close")
        assert await click(seen, "tokens") == seen.now  # no key stands there


async def test_a_click_on_a_panes_header_shows_it_alone_and_back(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        both = await seen.text()
        assert "Mika" in both.splitlines()[1]
        alone = await click(seen, "Ada")
        assert "z back" in alone
        assert "Mika" not in alone.splitlines()[1]
        assert "z back" not in await click(seen, "Ada")


async def test_actions_of_a_pane_act_on_the_one_that_has_the_focus(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("tab")
        focused = seen.app.screen.focused
        ours = [
            offer for offer in offers(seen.app.screen, seen.app.places.keymap) if "pane.follow" in offer.ids
        ]
        assert focused is not None
        assert [offer.node for offer in ours] == [focused]


async def test_without_a_focus_they_act_on_a_pane_in_sight(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        seen.app.screen.set_focus(None)
        ours = [
            offer for offer in offers(seen.app.screen, seen.app.places.keymap) if "pane.follow" in offer.ids
        ]
        assert ours[0].node in list(seen.app.screen.query("AgentPane"))


async def test_the_list_of_rooms_offers_what_it_can_do_and_nothing_of_a_room(tmp_path: Path) -> None:
    async with opened_app(tmp_path, rooms=2) as seen:
        said = entries(seen)
        assert "Quit" in said
        assert "Pause or resume the room" not in said


async def test_nothing_of_textuals_own_that_does_nothing_here(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        assert {"Keys", "Maximize", "Screenshot", "Theme"}.isdisjoint(entries(seen))


async def test_page_keys_do_nothing_while_a_terminal_is_too_small_for_the_rows(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+p", "down", "down")
        await seen.resize(10, 3)
        await seen.press("pageup", "pagedown")
        assert "▔" in await seen.resize(120, 30)


async def test_the_palette_closes_no_screen_that_was_opened_above_it(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+p")
        palette = seen.app.screen
        await seen.app.push_screen(QuitScreen())
        palette.dismiss()  # of a key that was pressed before
        assert "Agents are still running." in await seen.text()
        await seen.press("escape")
        assert seen.app.screen is palette
        await seen.press("escape")
        assert seen.app.screen is not palette


async def test_the_palette_is_not_opened_above_itself_from_a_screen_between(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("ctrl+p", "f1")
        above = seen.app.screen
        await seen.press("ctrl+p")  # a second palette would have the name of the first
        assert seen.app.screen is above
