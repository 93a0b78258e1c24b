"""What the first screen offers: models that were found, and the rows of its palette."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.clients.records import ProviderInfo
from tests.tui.home.one_home import DEMO, KEY, LOCAL, home
from tui.home.screen import HomeScreen
from tui.keys.palette import fit
from tui.language import KEY as OF_KEYS
from tui.language import speak, translated
from tui.screens.choose import ChooseScreen
from tui.screens.words import say


async def test_one_thing_that_was_found_is_offered_by_one_key(tmp_path: Path) -> None:
    async with home(tmp_path, found=[LOCAL]) as seen:
        await seen.until("Found on this machine: LM Studio (3 models) – o uses it")
        text = " ".join((await seen.key("o")).split())
        assert say("setup.foreign")[:24] in text  # the server of this test is not our own


async def test_of_several_one_is_chosen(tmp_path: Path) -> None:
    async with home(tmp_path, found=[LOCAL, KEY]) as seen:
        await seen.until("LM Studio (3 models) · Groq (key in GROQ_API_KEY) – o chooses one")
        await seen.key("o")
        await seen.until("Found on this machine", "Groq (key in GROQ_API_KEY)")
        assert not isinstance(await seen.press("down", "enter"), ChooseScreen)
        await seen.at(HomeScreen)


async def test_who_has_a_provider_is_told_which_and_offered_none(tmp_path: Path) -> None:
    async with home(tmp_path, found=[LOCAL]) as seen:
        await seen.until("Found on this machine")
        seen.rooms.known_providers = [ProviderInfo("work", "Work", "openai", "big"), DEMO]
        await seen.press("question_mark", "escape")  # what stood above it may have changed that
        await seen.until("Work · big", lambda: "Found on" not in seen.now)


async def test_who_has_a_provider_can_still_set_up_what_is_here(tmp_path: Path) -> None:
    async with home(tmp_path, found=[LOCAL, KEY]) as seen:
        seen.rooms.known_providers = [ProviderInfo("work", "Work", "openai", "big"), DEMO]
        await seen.press("question_mark", "escape")
        await seen.until("Work · big", lambda: "Found on" not in seen.now)
        await seen.key("o")
        await seen.until("Found on this machine", "LM Studio (3 models)", "Groq (key in GROQ_API_KEY)")


async def test_the_palette_lists_an_action_once_whatever_its_keys_and_what_cannot_be_done_last(
    tmp_path: Path,
) -> None:
    async with home(tmp_path, found=[]) as seen:
        commands = seen.app.places.palette.entries(seen.app.screen)
        titles = [command.title for command in commands]
        assert len(titles) == len(set(titles))
        assert next(one.help for one in commands if one.title == "Talk in a voice room") == "v, f6"
        assert "nothing is listed" in commands[-1].help


ROOM, CHAT, HELP, THEME = (
    "Start a room with a task",
    "Ask one agent in a chat",
    "Show the keys",
    "Choose a theme",
)


@pytest.mark.parametrize(
    ("language", "meant"),
    [
        (
            "en",
            {
                ROOM: ["new room", "start room", "create room"],
                CHAT: ["new chat", "create chat"],
                HELP: ["help"],
                THEME: ["theme"],
            },
        ),
        (
            "zh-CN",
            {
                ROOM: ["新房间", "新建房间", "创建房间"],
                CHAT: ["新对话", "新建对话", "创建对话"],
                HELP: ["帮助"],
                THEME: ["主题"],
            },
        ),
        ("ru", {ROOM: ["новая комната"], CHAT: ["новый чат", "создать чат"], THEME: ["тема"]}),
    ],
)
async def test_the_palette_finds_first_what_is_meant_by_the_words_of_this_screen(
    tmp_path: Path, language: str, meant: dict[str, list[str]]
) -> None:
    speak(language)
    try:
        async with home(tmp_path, found=[]) as seen:
            rows = seen.app.places.palette.entries(seen.app.screen)
            for does, words in meant.items():
                for typed in words:
                    first = max(rows, key=lambda row: fit(typed.split(), row)[0])
                    assert first.title == translated(OF_KEYS, does), typed
    finally:
        speak("en")
