"""The room that a first start opens."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from agent_tui.config.agent_templates import language_of
from agent_tui.config.file import DEMO_PROVIDER
from tui.language import speak, wanted_language
from tui.room.first import demo_room


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    speak("en")


@pytest.mark.parametrize("written", ["zh-CN", "ru"])
def test_it_follows_the_setting_rather_than_the_locale(written: str) -> None:
    speak(wanted_language(written, {"LANG": "en_GB.UTF-8"}))
    assert language_of(demo_room()["task"]) == written[:2]


@pytest.mark.parametrize(
    ("environ", "letter"),
    [
        ({}, "S"),
        ({"LANG": "C"}, "S"),
        ({"LANG": "en_GB.UTF-8"}, "S"),
        ({"LANG": "zh_CN.UTF-8"}, "用"),
        ({"LANG": "ru_RU.UTF-8"}, "Г"),
        ({"LANG": "en_GB.UTF-8", "LC_ALL": "ru_RU.UTF-8"}, "Г"),
        ({"LANG": "zh_TW.UTF-8", "LC_ALL": ""}, "用"),
    ],
)
def test_it_speaks_the_language_of_the_user(environ: dict[str, str], letter: str) -> None:
    speak(wanted_language("", environ))
    assert demo_room()["task"].startswith(letter)


@pytest.mark.parametrize("language", ["en", "zh", "ru"])
def test_three_agents_of_different_name_colour_and_role_speak_three_rounds_at_once(language: str) -> None:
    speak(wanted_language("", {"LANG": f"{language}_XX.UTF-8"}))
    room = demo_room()
    fields = room["agents"]
    assert (room["execution_mode"], room["max_rounds"], len(fields)) == ("parallel", 3, 3)
    for key in ("name", "color", "system_prompt"):
        assert len({agent[key] for agent in fields}) == 3
    assert {agent["provider_id"] for agent in fields} == {DEMO_PROVIDER}
    assert all(re.fullmatch("#[0-9a-f]{6}", agent["color"]) for agent in fields)
