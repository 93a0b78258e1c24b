"""Our signs, and what a terminal that has only ASCII gets instead."""

from __future__ import annotations

from rich.cells import cell_len
from rich.segment import ControlType, Segment
from rich.style import Style
from textual.color import Color
from textual.widgets import Static

from tests.widgets.apps import running
from widgets import signs
from widgets.signs import ASCII_SIGNS, is_ascii, twin

BLACK = Color(0, 0, 0)
OURS = "●◌◔‖✓✗┄▸▾‹›↓↑↳▼▏▎▐▌█│─┼╭╮╰╯•◦·…–−☐☑▣"


def test_every_sign_has_a_twin_of_one_cell() -> None:
    named = [sign for sign in vars(signs).values() if isinstance(sign, str) and len(sign) == 1]
    for sign in (*OURS, *named):
        assert twin(sign).isascii(), sign
        assert cell_len(twin(sign)) == cell_len(sign) == 1


def test_the_filter_replaces_our_signs_and_leaves_words_styles_and_controls() -> None:
    bold = Style(bold=True)
    control = Segment("●", None, [(ControlType.BELL,)])
    given = [Segment("plain", bold), Segment("● 老王…", bold), control]
    plain, ours, last = ASCII_SIGNS.apply(given, BLACK)
    assert plain is given[0]
    assert ours == Segment("* 老王~", bold)
    assert last is control


async def test_what_textual_draws_is_ascii_where_the_app_says_so() -> None:
    for ascii_too, row in ((False, "‹ Ada › · 1 …"), (True, "< Ada > - 1 ~")):
        told = Static("‹ Ada › · 1 …", markup=False)
        async with running(told, (20, 2), is_ascii=ascii_too) as pilot:
            assert is_ascii(told) is is_ascii(pilot.app) is ascii_too
            strips = pilot.app.screen._compositor.render_strips(pilot.app.size)
            assert strips[0].text.rstrip() == row
