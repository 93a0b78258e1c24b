"""What a model writes is said as a person would say it, from the first clause on."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.voice_agent.speaking.clauses import Clauses
from agent_tui.voice_agent.speaking.speakable import decimal, integer, ordinal, speakable


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Update to v1.13.5 now.", "Update to version one point thirteen point five now."),
        ("1.8.9rc2", "one point eight point nine rc two"),
        ("3/10", "three of ten"),
        ("Use `pause_room` to pause.", "Use pause room to pause."),
        ("pause_room() and resume_room", "pause room and resume room"),
        ("# Title\n\n- one\n- two **bold**\n1. first\n2. second", "Title. one. two bold. first. second."),
        ("- [x] done\n- [ ] open", "done. open."),
        ("See https://docs.livekit.io/agents/x?y=1.", "See docs dot livekit dot io."),
        ("[the guide](https://example.com/a_b) says", "the guide says"),
        ("at http://localhost:8080/x", "at localhost port eight thousand eighty"),
        ("mail me@example.org", "mail me at example dot org"),
        (
            "It costs $3.50 or €1,200.",
            "It costs three dollars and fifty cents or one thousand two hundred euros.",
        ),
        ("at 18:02, 50% of it", "at eighteen oh two, fifty percent of it"),
        ("at 7:00 pm", "at seven P M"),
        ("0.61 s", "zero point six one seconds"),
        ("1 GB and 2 ms", "one gigabyte and two milliseconds"),
        ("in 2026, 1999 and 2005", "in twenty twenty six, nineteen ninety nine and two thousand five"),
        ("1,234,567 tokens", "one million two hundred thirty four thousand five hundred sixty seven tokens"),
        ("e.g. this, etc.", "for example, this, and so on."),
        ("```python\nx = 1\n```\nDone.", "The code is on the screen. Done."),
        ("in agent_tui/wire/chat.py and ~/.config/a/config.toml", "in chat dot py and config dot toml"),
        ("and/or", "and or"),
        ("| a | b |\n|---|---|\n| 1 | 2 |", "a, b. one, two."),
        ("the 3rd of 21st", "the third of twenty first"),
        ("5–10 rooms, 2-3 days", "five to ten rooms, two to three days"),
        ("😀 Hi!", "Hi!"),
        ("It is -3.", "It is minus three."),
        ("***very*** ~~old~~ _text_", "very old text"),
        ("a < b, ~5", "a less than b, about five"),
    ],
)
def test_writing_becomes_speech(written: str, said: str) -> None:
    assert speakable(written) == said


@pytest.mark.parametrize("empty", ["", "...", "---", "```", "**", " \n ", "😀"])
def test_what_cannot_be_said_is_nothing(empty: str) -> None:
    assert speakable(empty) in ("", "The code is on the screen.")


def test_other_languages_keep_their_numbers() -> None:
    assert speakable("- **3** Räume, v1.2.3", "de") == "3 Räume, v1.2.3."
    assert speakable("第 3 个房间。", "zh") == "第 3 个房间。"


@given(st.text())
def test_whatever_comes_can_be_said(text: str) -> None:
    said = speakable(text)
    assert not set("*`|<>{}[]") & set(said)
    assert "\n" not in said


def test_numbers_as_words() -> None:
    assert [integer(n) for n in (0, 7, 19, 40, 101, 1000, 2_000_019)] == [
        "zero", "seven", "nineteen", "forty", "one hundred one", "one thousand", "two million nineteen",
    ]  # fmt: skip
    assert [ordinal(n) for n in (1, 2, 3, 9, 12, 20, 21, 100)] == [
        "first", "second", "third", "ninth", "twelfth", "twentieth", "twenty first", "one hundredth",
    ]  # fmt: skip
    assert decimal("1" * 16, "") == " ".join(["one"] * 16)


def test_sums_and_formulas_are_said_as_such() -> None:
    assert speakable("3 * 4 = 12, and 3*4*5 is more.") == (
        "three times four equals twelve, and three times four times five is more."
    )
    assert (
        speakable(r"\(2 \times 3^2\) is $\frac{36}{2}$.") == "two times three squared is thirty six over two."
    )
    assert speakable("*3* and **4 * 5**") == "three and four times five"


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
