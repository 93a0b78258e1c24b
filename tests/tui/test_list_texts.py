"""What a list says: words of agents without the signs of Markdown, and harmless; failures in red."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.model import events as ev
from tests.tui.rooms_listed import room
from tui.lists import chats_texts
from tui.lists.rooms_texts import ROUND_CELLS, pause_text, state
from tui.lists.search import snippet_of
from tui.lists.texts import NO_MARK, form_of, last_words

TABLE = "| when | what |\n| --- | :---: |\n| today | the cart leaves **the** session |"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (TABLE, "when · what; today · the cart leaves the session"),
        ("## Plan\n`x` it", "Plan x it"),
        ("ls | wc -l", "ls | wc -l"),
        ("2 * 3 || 4", "2 * 3 || 4"),
        ("\x1b[31mred", "␛[31mred"),
    ],
)
def test_last_words_have_no_signs_of_markdown(text: str, shown: str) -> None:
    assert last_words(text) == shown


def test_a_match_of_a_search_is_seen_within_its_words_without_markdown() -> None:
    words = snippet_of("| today | the **\x02cart\x03** leaves | it |")
    assert words == ["today · the ", ("cart", "bold underline"), " leaves · it"]


def test_a_room_that_a_person_paused_says_so_unless_it_says_who_was_cut() -> None:
    assert [pause_text(room(1, interrupted=reason)) for reason in ("pause", "")] == [
        "paused by you",
        "paused",
    ]


@pytest.mark.parametrize(("reason", "ink"), [("error", "failed"), ("pause", "plain")])
def test_a_room_that_a_failure_paused_is_red(reason: str, ink: str) -> None:
    assert [piece.ink for piece in state(room(1, interrupted=reason), NO_MARK, 40)] == [ink]


@pytest.mark.parametrize(
    ("name", "state", "columns"),
    [
        (10, 10, (42, 42)),  # short names and states: side by side
        (60, 10, (60, 24)),  # a long name takes what the states leave
        (99, 10, (74, 10)),
        (99, 99, (42, 42)),  # of two that are too long each has half
        (20, 99, (42, 42)),
    ],
)
def test_a_long_name_gets_what_the_states_leave(name: int, state: int, columns: tuple[int, int]) -> None:
    shape = form_of(124, ROUND_CELLS, has_cost=False, name=name, state=state)
    assert (shape.name, shape.state) == columns


def test_a_wide_row_of_a_chat_has_its_folder() -> None:
    chat = ev.ConversationInfo("c", title="Make", workspace=f"{Path.home()}/code", last_words="So.")

    def row_of(cells: int) -> str:
        shape = form_of(cells, chats_texts.MODEL_CELLS, has_cost=False)
        return "".join(piece.text for piece in chats_texts.row(chat, shape, "now"))

    assert '~/code                "So."' in row_of(180)
    assert "code" not in row_of(120)
    assert len(row_of(180)) == 177  # the cursor mark before it, a margin behind
