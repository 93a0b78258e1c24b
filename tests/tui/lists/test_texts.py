"""What a list says: words of agents without the signs of Markdown, and harmless; failures in red."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from agent_tui.model.events import AgentInfo, ConversationInfo
from tests.tui.lists.rooms_listed import room
from tui.language import speak
from tui.lists.chats_texts import CHATS
from tui.lists.rooms_texts import ROOMS, pause_text, preview, state
from tui.lists.search import snippet_of
from tui.lists.texts import columns_of, last_words
from tui.screens.words import say


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("## Plan\n`x` it", "Plan x it"),
        ("ls | wc -l", "ls | wc -l"),
        ("2 * 3 || 4", "2 * 3 || 4"),
        ("\x1b[31mred", "␛[31mred"),
    ],
)
def test_last_words_have_no_signs_of_markdown(text: str, shown: str) -> None:
    assert last_words(text) == shown


def test_a_match_of_a_search_is_seen_within_its_words_without_markdown() -> None:
    words = snippet_of("the **\x02cart\x03** leaves `it`")
    assert words == ["the ", ("cart", "bold underline"), " leaves it"]


def test_a_room_that_a_person_paused_says_so_unless_it_says_who_was_cut() -> None:
    assert [pause_text(room(1, interrupted=reason)) for reason in ("pause", "")] == [
        "paused by you",
        "paused",
    ]


@pytest.mark.parametrize(
    ("language", "text"),
    [("en", "Mika cut at the pause"), ("ru", "Mika: прервано паузой"), ("zh-CN", "Mika：暂停时中断")],
)
def test_who_was_cut_off_is_said_as_the_language_says_it(language: str, text: str) -> None:
    agent = AgentInfo("a1", "Mika", status="cut")
    speak(language)
    try:
        assert pause_text(room(1, interrupted="pause", agents=(agent,))) == text
    finally:
        speak("en")


@pytest.mark.parametrize("language", ["en", "ru", "zh-CN"])
def test_how_the_deletion_of_a_room_is_undone_is_whole_at_80_columns(language: str) -> None:
    speak(language)
    try:
        shape = columns_of(80, ROOMS.extra_cells, has_use=True, has_cost=False)
        assert cell_len(say("list.deleted.undo", press="u")) <= shape.state
    finally:
        speak("en")


@pytest.mark.parametrize(("reason", "ink"), [("error", "failed"), ("pause", "plain")])
def test_a_room_that_a_failure_paused_is_red(reason: str, ink: str) -> None:
    assert [piece.ink for piece in state(room(1, interrupted=reason), 40)] == [ink]


def test_a_voice_session_is_marked_in_the_list_of_chats_and_found_by_that() -> None:
    spoken = ConversationInfo("c", "Standup", "demo", provider_id="demo", kind="voice")
    assert CHATS.extra_of(spoken, 16) == "voice"
    assert "voice" in CHATS.words_of(spoken)
    assert CHATS.extra_of(replace(spoken, kind="chat"), 16) == "demo model"


def test_a_preview_says_who_spoke_with_the_colon_of_the_language() -> None:
    spoken = room(1, last_speaker="小明", last_words="好")
    speak("zh-CN")
    try:
        assert dict(preview(spoken))["words"] == "小明：好"
    finally:
        speak("en")
