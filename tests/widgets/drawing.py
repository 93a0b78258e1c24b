"""Markdown to rows and screens to text, for the tests of the panes."""

from __future__ import annotations

from collections.abc import Iterable

from textual.widget import Widget

from widgets.ink import Row, text_of
from widgets.markdown.blocks import Block
from widgets.markdown.rows import lay_out
from widgets.markdown.splitter import Splitter


def drawn(chunks: Iterable[str], width: int = 60, *, is_closed: bool = True) -> list[Row]:
    """Return the rows of a message that came in ``chunks``."""
    splitter = Splitter()
    text = ""
    closed: list[Block] = []
    for chunk in chunks:
        text += chunk
        closed += splitter.feed(chunk)
    if is_closed:
        closed += splitter.finish()
    rows = [row for block in closed for row in lay_out(block, text[block.start : block.end], width)]
    if not is_closed:
        growing = splitter.open_blocks()
        for index, block in enumerate(growing):
            is_last = index == len(growing) - 1
            rows += lay_out(block, text[block.start : block.end], width, is_open=is_last)
    return rows


def shown(text: str, width: int = 60, *, is_closed: bool = True) -> list[str]:
    """Return the rows of a message as plain text, without the spaces at the end."""
    return [text_of(row).rstrip() for row in drawn([text], width, is_closed=is_closed)]


def screen_of(widget: Widget) -> list[str]:
    """Return what a mounted widget shows, row by row, without the spaces at the end."""
    region = widget.outer_size.region
    return [strip.text.rstrip() for strip in widget.render_lines(region)]
