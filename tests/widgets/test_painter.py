"""Rows to strips: inks to styles, the ground of code, the bar of an agent, links that open."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.color import Color as RichColor
from rich.console import Console
from rich.style import Style
from textual.color import Color
from textual.filter import Monochrome

from widgets.ink import CARET, COMPONENTS, DIM, FENCE, KEYWORD, LINK, LINK_SHIFT, MARK, PLAIN, TITLE, URL, Row
from widgets.layout import Layout, PaintedLine, Tone
from widgets.painter import MARGIN_FROM, TARGETS_PER_ROW, Look, Painter
from widgets.signs import GUTTER, SCROLL_MARK
from widgets.transcript.canvas import scroll_bar

BASE = Style.parse("#ffffff on #000000")
STYLES = {
    "fence": Style.parse("#eeeeee on #222222"),
    "keyword": Style.parse("bold #aa88ff on #000000"),  # the ground that components have from their widget
    "mark": Style.parse("#888888 on #000000"),
    "link": Style.parse("underline #ffffff on #000000"),
}
HOSTILE = [
    "javascript:alert(1)",
    "file:///etc/passwd",
    "https://user:secret@example.org/",
    "https://example.org/\x1b]52;c;eA==\x07",
    "https://example.org/a b",
    "https://例え.jp/",
    "https://example.org/" + "a" * 3000,
]


def a_painter(width: int = 20, *, is_monochrome: bool = False, has_divider: bool = False) -> Painter:
    filters = (Monochrome(),) if is_monochrome else ()
    look = Look(width=width, base=BASE, background=Color(0, 0, 0), has_divider=has_divider, filters=filters)
    return Painter(look, lambda name: STYLES.get(name, BASE))


def written(line: PaintedLine) -> str:
    """Return what the terminal gets for a line."""
    return line.strip.render(Console(color_system="truecolor", force_terminal=True, legacy_windows=False))


def linked(text: str, number: int = 1, ink: int = LINK) -> tuple[str, int]:
    return text, ink | number << LINK_SHIFT


def grounds(line: PaintedLine) -> str:
    """Return one sign for each cell: "c" where it stands on the ground of code."""
    code = STYLES["fence"].bgcolor
    return "".join(
        ("c" if segment.style and segment.style.bgcolor == code else ".") * segment.cell_length
        for segment in line.strip
    )


def test_every_ink_has_a_style_of_its_own_name() -> None:
    names = [name for _, name in COMPONENTS]
    assert len(set(names)) == len(names)
    asked: list[str] = []

    def component(name: str) -> Style:
        asked.append(name)
        return BASE

    painter = Painter(a_painter().look, component)
    for ink, _ in COMPONENTS:
        painter.style(ink)
    assert asked == names


def test_words_of_code_stand_on_the_ground_of_code() -> None:
    style = a_painter().style(FENCE | KEYWORD)
    assert style.color == STYLES["keyword"].color
    assert style.bold
    assert style.bgcolor == STYLES["fence"].bgcolor


def test_the_ground_of_code_reaches_from_its_bar_to_the_margin() -> None:
    bar = ("│ ", MARK | FENCE)
    painter = a_painter()
    item = ("  ", MARK)
    assert grounds(painter.line((item, bar, ("code", FENCE)))) == "..." + "c" * 16 + "."
    assert grounds(painter.line((item, bar))) == "..." + "c" * 16 + "."
    assert grounds(painter.line((item, bar, ("x" * 14, FENCE)))) == "..." + "c" * 16 + "."
    assert grounds(painter.line((("words", PLAIN),))) == "." * 20
    assert grounds(painter.with_caret((item, bar, ("code", FENCE)))) == "..." + "c" * 16 + "."
    assert painter.line((bar,)).extent == 19


@given(st.integers(1, 30), st.booleans(), st.text("ab中 ", max_size=40))
def test_a_line_is_as_wide_as_the_pane(width: int, has_divider: bool, text: str) -> None:
    painter = a_painter(width, has_divider=has_divider)
    row: Row = ((text[: painter.room // 2], FENCE),)
    for line in (
        painter.line(row),
        painter.with_caret(row),
        painter.of(Tone("#00ff00", "")).line(row),
        painter.with_scroll_mark(painter.line(row)),
    ):
        assert sum(segment.cell_length for segment in line.strip) == line.strip.cell_length == width
        assert line.extent <= width


# --- the bar of an agent ---


def test_a_message_of_one_among_many_has_a_bar_and_its_title_in_its_colour() -> None:
    own = a_painter().of(Tone("#00ff00", "Ada"))
    segments = list(own.line((("● Ada", DIM | TITLE),)).strip)
    assert segments[0].text.startswith(GUTTER)
    for segment in segments[:2]:
        assert segment.style
        assert segment.style.color == RichColor.parse("#00ff00")
    assert segments[1].style
    assert segments[1].style.bold
    assert own.line(()).strip.text.startswith(GUTTER)
    assert own.with_caret((("words", PLAIN),)).strip.text.startswith(f"{GUTTER}words")
    assert own.style(CARET).color == RichColor.parse("#00ff00")


def test_what_a_server_says_about_a_colour_is_made_readable() -> None:
    painter = a_painter()
    own = {
        color: painter.of(Tone(color, "Ada")).look.bar for color in ("#000", "\x1b[31m", "red", "", "#00000g")
    }
    assert own["#000"] != "#000000"
    assert len({own[color] for color in ("\x1b[31m", "red", "", "#00000g")}) == 1
    assert all(re.fullmatch("#[0-9a-f]{6}", bar) for bar in own.values())
    assert painter.of(Tone("", "")) is painter


def test_a_painter_keeps_so_many_agents_and_no_more() -> None:
    painter = a_painter()
    first = painter.of(Tone("#111111", ""))
    assert painter.of(Tone("#111111", "")) is first
    for number in range(1000):
        painter.of(Tone(f"#{number:06x}", ""))
    assert len(painter._owners) <= 64


def test_a_narrow_pane_has_no_room_for_a_bar() -> None:
    assert GUTTER not in a_painter(MARGIN_FROM - 1).of(Tone("#00ff00", "")).line((("a", PLAIN),)).strip.text


def test_rows_are_painted_once_for_each_painter_also_with_a_bar() -> None:
    rows: list[Row] = [(), (("Ada", DIM | TITLE),)]
    layout = Layout(rows, tone=Tone("#00ff00", "Ada"), apart=1)
    painter = a_painter()
    lines = [layout.line(index, painter) for index in range(2)]
    assert [layout.line(index, painter) for index in range(2)] == lines
    assert all(layout.line(index, painter) is line for index, line in enumerate(lines))
    assert not lines[0].strip.text.startswith(GUTTER)
    assert lines[1].strip.text.startswith(GUTTER)
    assert layout.line(1, a_painter(30)) is not lines[1]


# --- links ---


@pytest.mark.parametrize("is_monochrome", [False, True])
def test_a_safe_link_opens_and_is_closed_on_every_row(is_monochrome: bool) -> None:
    target = "https://example.org/guide"
    painter = a_painter(is_monochrome=is_monochrome)
    rows: list[Row] = [(("see ", PLAIN), linked("the")), (linked("guide"), linked(" (url)", ink=URL))]
    out = [written(painter.line(row, [target])) for row in rows]
    opened = [re.findall(r"\x1b\]8;id=([0-9a-f]{8});([^\x1b]*)\x1b\\", text) for text in out]
    assert {of_target for row in opened for _, of_target in row} == {target}
    assert len({identity for row in opened for identity, _ in row}) == 1  # the rows are one link
    for text in out:
        assert re.findall(r"\x1b\]8;[^\x1b]*\x1b\\", text)[-1] == "\x1b]8;;\x1b\\"
        assert text.count("\x1b]8;id=") == text.count("\x1b]8;;\x1b\\")


def test_the_bytes_of_a_link_are_the_same_on_every_run() -> None:
    row: Row = (linked("guide"),)
    first, second = (written(a_painter().line(row, ["https://example.org/"])) for _ in range(2))
    assert first == second
    assert "\x1b]8;id=ccea97c5;https://example.org/\x1b\\" in first


@pytest.mark.parametrize("target", HOSTILE)
def test_a_hostile_target_opens_nothing(target: str) -> None:
    out = written(a_painter().line((linked("words"),), [target]))
    assert "\x1b]" not in out
    assert "words" in out


@given(st.text(max_size=60), st.integers(0, 5))
def test_nothing_of_a_target_but_a_link_of_ours_reaches_the_terminal(target: str, number: int) -> None:
    out = written(a_painter().line((linked("words", number),), [target, f"https://{target}"]))
    rest = re.sub(r"\x1b\]8;(id=[0-9a-f]{8};https?://[!-~]+|;)\x1b\\|\x1b\[[0-9;]*m", "", out)
    assert rest.strip() == "words"


def test_a_row_full_of_long_links_costs_a_bounded_number_of_bytes() -> None:
    targets = [f"https://example.org/{number:03}" + "a" * 1500 for number in range(60)]
    row: Row = tuple(linked("x", number + 1) for number in range(60))
    line = a_painter(80).line(row, targets)
    assert 0 < len(written(line)) < 2 * TARGETS_PER_ROW
    assert line.strip.text.strip() == "x" * 60


def test_rows_whose_links_are_still_the_same_are_not_painted_again() -> None:
    painter = a_painter()
    rows: list[Row] = [(linked("one"),), (linked("two", 2),), (("none", PLAIN),)]
    before = Layout(rows, links=["https://a.org/", "https://b.org/"])
    lines = [before.line(index, painter) for index in range(3)]
    after = Layout(rows, before, ["https://a.org/", "https://b.org/longer", "https://c.org/"])
    assert after.line(0, painter) is lines[0]
    assert after.line(1, painter) is not lines[1]
    assert after.line(2, painter) is lines[2]


# --- the scroll mark ---


def test_words_below_a_label_are_seen_to_be_cut() -> None:
    painter = a_painter()
    full, short = (painter.line(((text, PLAIN),), ()) for text in ("seventeen letters", "eleven cells"))
    assert painter.with_label(full, " ▼ ").strip.text == " seventeen lette…▼  "
    assert painter.with_label(short, " ▼ ").strip.text == " eleven cells    ▼  "


def test_the_scroll_mark_stands_in_the_margin_and_only_there() -> None:
    for has_divider in (False, True):
        painter = a_painter(has_divider=has_divider)
        line = painter.line((("x" * painter.room, PLAIN),))
        marked = painter.with_scroll_mark(line)
        at = painter.gutter + painter.room
        assert marked.strip.text == line.strip.text[:at] + SCROLL_MARK + line.strip.text[at + 1 :]
        assert painter.with_scroll_mark(line) == marked
    narrow = a_painter(MARGIN_FROM - 1)
    line = narrow.line((("x", PLAIN),))
    assert narrow.with_scroll_mark(line) is line


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 60))
def test_the_scroll_mark_touches_an_edge_only_at_the_end(above: int, below: int, height: int) -> None:
    total = above + height + below
    rows = scroll_bar(above, total, height)
    if not height or not above + below:
        assert not rows
        return
    assert 0 <= rows.start < rows.stop <= height
    if len(rows) <= height - 2:
        assert (rows.start == 0) == (above == 0)
        assert (rows.stop == height) == (below == 0)


@pytest.mark.parametrize(
    ("text", "is_sure"),
    [
        ("Redis", True),
        ("会话", True),
        ("Кэш – да", True),
        ("हिन्दी", False),
        ("ภาษาก็", False),
        ("👨‍👩‍👧", False),
    ],
)
def test_a_row_knows_whether_every_terminal_counts_its_cells_as_we_do(text: str, is_sure: bool) -> None:
    assert a_painter().line(((text, PLAIN),)).is_sure is is_sure
