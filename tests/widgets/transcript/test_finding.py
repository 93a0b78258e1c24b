from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.segment import Segment
from textual import on
from textual.app import App, ComposeResult
from textual.strip import Strip

from tests.widgets.apps import Hand
from tests.widgets.drawing import screen_of
from tests.widgets.markdown.test_splitter import TEXTS, cut
from widgets.markdown.blocks import Block
from widgets.markdown.letters import CELL_END, reading
from widgets.transcript import finding as finding_module
from widgets.transcript.finding import FIND_BUDGET, FindCount, Finder, Needle
from widgets.transcript.message import TranscriptMessage
from widgets.transcript.transcript import Transcript
from widgets.transcript.view import View


class Reader(App[None]):
    """One pane, and what it said about what was found."""

    ENABLE_COMMAND_PALETTE = False

    def __init__(self, pane: Transcript) -> None:
        super().__init__()
        self.pane = pane
        self.told: list[FindCount] = []

    def compose(self) -> ComposeResult:
        yield self.pane

    @on(Transcript.FoundChanged)
    def keep(self, event: Transcript.FoundChanged) -> None:
        self.told.append(event.found)


def a_pane(*texts: str, is_closed: bool = True) -> tuple[Transcript, Hand]:
    hand = Hand()
    pane = Transcript(clock=hand.clock())
    for number, text in enumerate(texts):
        pane.turn_opened(str(number))
        pane.text_added(str(number), text)
        if is_closed:
            pane.turn_closed(str(number))
    return pane, hand


def a_view(*texts: str, size: tuple[int, int] = (40, 10)) -> View:
    view = View()
    view.resize(*size)
    for number, text in enumerate(texts):
        message = TranscriptMessage(str(number), "")
        message.add(text)
        message.close("", is_failure=False)
        view.messages.append(message)
    view.frame()
    return view


def total(needle: str, *texts: str) -> int:
    finder = Finder(a_view(*texts), needle)
    while finder.work():
        pass
    return finder.total


def marks(pane: Transcript, name: str) -> list[str]:
    """Return of each row with a mark of that name what it covers."""
    style = pane.get_component_rich_style(f"transcript--{name}")
    key = (style.bgcolor, bool(style.reverse), bool(style.underline))
    rows = [
        "".join(
            text
            for text, own, _ in strip
            if own and (own.bgcolor, bool(own.reverse), bool(own.underline)) == key
        )
        for strip in pane.render_lines(pane.outer_size.region)
    ]
    return [row for row in rows if row]


@pytest.mark.parametrize(
    ("needle", "text", "count"),
    [
        ("word", "word Word sword", 3),
        ("Word", "word Word sword", 1),
        ("bold words", "some **bold** `words`", 1),
        ("one two", "one\ntwo", 1),
        ("one two", "> one\n> two", 1),
        ("one  two", "one two", 1),
        ("strasse", "die Straße und die STRASSE", 2),
        ("слово", "Слово и СЛОВО", 2),
        ("分歧", "两位的**分**歧其实", 1),
        ("a & b", "a &amp; b", 1),
        ("café", "caf&eacute;", 1),
        ("snake_case", "a `snake_case` name", 1),
        ("->", "a -> b", 1),
        ("x = 1", "```py\nx = 1\n```", 1),
        ("py", "```py\nx = 1\n```", 0),
        ("two", "| one | two |\n|--|--|\n| two | x |", 2),
        ("one two", "| one | two |\n|--|--|\n| two | x |", 0),
        ("aa", "aaaa", 2),
        ("nothing", "some words", 0),
        ("**", "some **bold** words", 0),
    ],
)
def test_what_is_shown_is_found(needle: str, text: str, count: int) -> None:
    assert total(needle, text) == count
    assert total(needle, text, "between", text) == 2 * count


def test_titles_and_notes_are_found() -> None:
    view = View()
    view.resize(40, 10)
    view.messages.append(TranscriptMessage("a", "Mika · round 2"))
    view.messages[0].add("words")
    view.messages[0].close("cut at the pause", is_failure=False)
    view.frame()
    for needle in ("mika", "pause", "words"):
        finder = Finder(view, needle)
        assert not finder.work()
        assert finder.total == 1


@given(TEXTS, st.sampled_from(["bold", "a", "x", "- ", "b c", "1", "|"]))
def test_the_quick_look_never_misses_what_is_shown(text: str, word: str) -> None:
    message = TranscriptMessage("a", "")
    message.add(text)
    message.close("", is_failure=False)
    message.settle(10**9)
    needle = Needle(word)
    for block in message.blocks:
        source = message.text.of(block)
        if block.kind != "rule" and list(needle.spans(reading(block, source))):
            assert needle.may_be_in(source)
            assert needle.may_be_in(text)


@settings(max_examples=40)
@given(TEXTS, st.lists(st.integers(0, 400), max_size=8), st.sampled_from(["word", "a", "1", "code", "b"]))
def test_a_text_that_grew_has_the_same_matches_as_the_whole_text(
    text: str, places: list[int], word: str
) -> None:
    view = a_view("before")
    message = TranscriptMessage("b", "")
    view.messages.append(message)
    finder = Finder(view, word)
    for chunk in cut(text, places):
        message.add(chunk)
        view.frame()
        view.position()
        finder.grew(message)
        finder.work()
    message.close("", is_failure=False)
    finder.grew(message)
    view.frame()
    finder.work()
    assert finder.total == total(word, "before", text)


@given(TEXTS, st.integers(4, 80), st.sampled_from(["word", "a", "1", "code", "b c"]))
def test_every_match_is_marked_at_every_width(text: str, width: int, word: str) -> None:
    view = a_view(text, size=(width, 200))
    finder = Finder(view, word)
    finder.work()
    finder.step(1)
    marked: dict[bool, str] = {True: "", False: ""}
    for place in view.visible:
        row = view.layout(place.message, place.part).rows[place.row]
        for start, end, is_current in finder.cells(place):
            strip = Strip([Segment(piece) for piece, _ in row]).crop(start, end)
            marked[is_current] += strip.text
    letters = word.replace(" ", "")
    both = (marked[True] + marked[False]).replace(" ", "").casefold()
    assert len([char for char in both if char in letters]) >= finder.total * len(letters)
    if finder.total:
        assert marked[True]


async def test_matches_are_marked_and_the_current_one_stronger_over_wrapped_rows_too() -> None:
    pane, hand = a_pane("some words that wrap, some words that do not")
    async with Reader(pane).run_test(size=(14, 8)) as pilot:
        pane.reader.find("words that")
        hand.turn_until_clean()
        await pilot.pause()
        assert screen_of(pane)[1:5] == [" some words", " that wrap,", " some words", " that do not"]
        assert marks(pane, "found") == ["words", "that", "words", "that"]
        pane.reader.find_step(1)
        hand.turn_until_clean()
        await pilot.pause()
        assert marks(pane, "found-current")[:2] == ["words", "that"]
        assert marks(pane, "found") == ["words", "that"]
        pane.reader.find("")
        hand.turn_until_clean()
        await pilot.pause()
        assert marks(pane, "found") == []


async def test_cells_of_a_narrow_table_are_marked() -> None:
    pane, hand = a_pane("| name | what it is |\n|--|--|\n| one | a thing that wraps |\n| two | thing |")
    async with Reader(pane).run_test(size=(22, 14)) as pilot:
        pane.reader.find("that wraps")
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.reader.found == FindCount(0, 1, True)
        assert "".join(marks(pane, "found")).replace(" ", "") == "thatwraps"


async def test_stepping_goes_round_brings_the_match_into_sight_and_stops_following() -> None:
    pane, hand = a_pane(*[f"message {number}\n\n- more\n- and more" for number in range(1, 31)])
    app = Reader(pane)
    async with app.run_test(size=(30, 12)) as pilot:
        hand.turn_until_clean()
        pane.reader.find("message 1")
        hand.turn_until_clean()
        assert pane.reader.found == FindCount(0, 11, True)
        pane.reader.find_step(1)  # none is in sight or below: round to the first
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.reader.found == FindCount(1, 11, True)
        assert screen_of(pane)[1].endswith("message 1")
        assert not pane.follow
        pane.reader.find_step(1)
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.reader.found.current == 2
        assert screen_of(pane)[4].endswith("message 10")
        assert pane.reader.current_message == 10
        pane.reader.find_step(-1)
        pane.reader.find_step(-1)
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.reader.found.current == 11
        assert any(row.endswith("message 19") for row in screen_of(pane))
        assert app.told[-1] == FindCount(11, 11, True)


async def test_a_step_that_comes_before_anything_is_found_is_made_when_something_is() -> None:
    pane, hand = a_pane("some words", *["and " * 200] * 500)
    async with Reader(pane).run_test(size=(30, 12)) as pilot:
        hand.turn_until_clean()
        pane.reader.find("words")
        pane.reader.find_step(1)
        assert pane.reader.found == FindCount(0, 0, False)
        hand.turn_until_clean()
        await pilot.pause()
        assert pane.reader.found == FindCount(1, 1, True)
        assert screen_of(pane)[1] == "▸some words"


async def test_a_repaired_text_is_searched_anew() -> None:
    pane, hand = a_pane("words", "words and words")
    async with Reader(pane).run_test(size=(30, 12)):
        pane.reader.find("words")
        hand.turn_until_clean()
        assert pane.reader.found.total == 3
        pane.text_replaced("1", "nothing")
        hand.turn_until_clean()
        assert pane.reader.found.total == 1
        pane.text_added("1", " but words")
        hand.turn_until_clean()
        assert pane.reader.found.total == 2
        pane.clear()
        pane.text_added("2", "new words")
        hand.turn_until_clean()
        assert pane.reader.found == FindCount(0, 1, True)


async def test_what_comes_while_searching_is_found_too() -> None:
    pane, hand = a_pane("words", is_closed=False)
    app = Reader(pane)
    async with app.run_test(size=(30, 12)) as pilot:
        pane.reader.find("words")
        hand.turn_until_clean()
        for _ in range(3):
            pane.text_added("0", " wor")
            hand.turn_until_clean()
            pane.text_added("0", "ds\n\n")
            hand.turn_until_clean()
        await pilot.pause()
        assert [found.total for found in app.told] == [0, 1, 2, 3, 4]


@pytest.fixture
def read_closely(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The characters of every block that is read closely."""
    sizes: list[int] = []

    def counting(block: Block, text: str, **more: Any) -> str:
        sizes.append(len(text))
        return reading(block, text, **more)

    monkeypatch.setattr(finding_module, "reading", counting)
    return sizes


def test_a_frame_reads_a_bounded_piece_of_thousands_of_messages(read_closely: list[int]) -> None:
    view = a_view(*["some **words** here\n\n- and there\n- more\n"] * 3_000)
    finder = Finder(view, "words")
    frames = 0
    while finder.work():
        frames += 1
        assert sum(read_closely) <= FIND_BUDGET + 100
        assert not finder.found.is_complete
        read_closely.clear()
    assert finder.found == FindCount(0, 3_000, True)
    assert frames > 5


def test_messages_without_the_word_are_not_even_split(read_closely: list[int]) -> None:
    view = a_view(*["some **words** here\n\n- and there\n"] * 1000)
    finder = Finder(view, "elsewhere")
    while finder.work():
        pass
    assert read_closely == []
    assert sum(not message.is_settled for message in view.messages) > 900


def test_a_message_longer_than_a_frame_looks_over_is_searched_to_its_end() -> None:
    view = a_view("first evil " + "x" * 12 * FIND_BUDGET + "\n\nlast evil")
    finder = Finder(view, "evil")
    frames = 0
    while finder.work():
        frames += 1
        assert frames < 200, "it begins anew in every frame"
    assert finder.found == FindCount(0, 2, True)


def test_growing_text_is_read_only_where_it_grew(read_closely: list[int]) -> None:
    view = a_view()
    message = TranscriptMessage("a", "")
    view.messages.append(message)
    finder = Finder(view, "words")
    for _ in range(200):
        message.add("some words here\n\n")
        view.frame()
        finder.grew(message)
        finder.work()
    assert finder.total == 200
    assert sum(read_closely) <= 3 * 200 * len("some words here")


def test_no_phrase_reaches_from_one_cell_into_the_next() -> None:
    message = TranscriptMessage("a", "")
    message.add("| a | b |\n|--|--|\n| c d |  |\n")
    message.close("", is_failure=False)
    message.settle(1000)
    shown = reading(message.blocks[0], message.text.of(message.blocks[0]))
    assert shown.split(CELL_END)[:3] == ["a", "b", "c d"]
