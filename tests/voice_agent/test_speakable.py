"""What a model writes is said as a person would say it, from the first clause on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.voice_agent.speaking.clauses import Clauses
from agent_tui.voice_agent.speaking.speakable import speakable


@pytest.mark.parametrize(
    ("written", "speech"),
    [
        ("Use `pause_room` to pause.", "Use pause room to pause."),
        ("pause_room() and resume_room", "pause room and resume room"),
        ("# Title\n\n- one\n- two **bold**\n1. first\n2. second", "Title. one. two bold. first. second."),
        ("- [x] done\n- [ ] open", "done. open."),
        ("See https://docs.livekit.io/agents/x?y=1.", "See docs.livekit.io."),
        ("[the guide](https://example.com/a_b) says", "the guide says"),
        ("at http://localhost:8080/x", "at localhost:8080"),
        ("It costs $3.50, 50% of v1.2.3.", "It costs $3.50, 50% of v1.2.3."),
        ("```python\nx = 1\n```\nDone.", "The code is on the screen. Done."),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b. 1, 2."),
        ("😀 Hi!", "Hi!"),
        ("***very*** ~~old~~ _text_", "very old text"),
        ("3 * 4 = 12, *3* and **4*5**", "3 × 4 = 12, 3 and 4 × 5"),
        ("a < b", "a < b"),
    ],
)
def test_writing_becomes_speech(written: str, speech: str) -> None:
    assert speakable(written) == speech


@pytest.mark.parametrize("empty", ["", "...", "---", "```", "**", " \n ", "😀"])
def test_what_cannot_be_said_is_nothing(empty: str) -> None:
    assert speakable(empty) in ("", "The code is on the screen.")


def test_other_languages_keep_their_numbers() -> None:
    assert speakable("- **3** Räume, v1.2.3", "de") == "3 Räume, v1.2.3."
    assert speakable("第 3 个房间。", "zh") == "第 3 个房间。"


@given(st.text())
def test_whatever_comes_can_be_said(text: str) -> None:
    speech = speakable(text)
    assert not set("*`|{}[]") & set(speech)
    assert "\n" not in speech


def pushed(pieces: list[str]) -> list[str]:
    clauses = Clauses()
    return [clause for piece in pieces for clause in clauses.push(piece)] + clauses.finish()


def test_the_first_clause_comes_early_and_the_others_are_sentences() -> None:
    text = "Well, there are two rooms right now, and one is paused. Next one, with a comma. Last"
    assert pushed(list(text)) == [
        "Well, there are two rooms right now, ",
        "and one is paused. ",
        "Next one, with a comma. ",
        "Last",
    ]


@pytest.mark.parametrize(
    "whole", ["Dr. Smith has v1.2.3 of it, ", "That is 3.5 of 10,000 e.g. this. ", "J. R. Tolkien wrote it. "]
)
def test_a_full_stop_within_a_sentence_ends_nothing(whole: str) -> None:
    assert pushed([whole, "More."])[0] == whole


def test_list_items_are_sentences_and_code_is_never_cut() -> None:
    text = "Here they are:\n\n- item one\n- item two\n\n```\na. b. c.\nd, e\n```\nDone."
    assert pushed([text]) == [
        "Here they are:\n\n",
        "- item one\n",
        "- item two\n\n",
        "```\na. b. c.\nd, e\n```\n",
        "Done.",
    ]


def test_a_text_without_full_stops_is_cut_where_it_can_be() -> None:
    first, *rest = pushed(["and more words " * 100])
    assert len(first) <= 100
    assert 100 < max(map(len, rest)) <= 240


def test_a_first_sentence_without_a_comma_is_not_waited_for_to_its_end() -> None:
    early = "The old man who lived at the end of the road had a small brown dog that barked at every car "
    assert pushed(list(f"{early}that came by.")) == [early, "that came by."]


@given(st.lists(st.text(alphabet="ab .,!?\n-`1:。,"), max_size=20))
def test_every_character_comes_out_once_and_in_order(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert "".join(pushed(pieces)).rstrip() == text.rstrip()
