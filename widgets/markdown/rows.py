"""Turns blocks into rows of a given width."""

from __future__ import annotations

import re
from typing import Final

from rich.cells import cell_len

from widgets.cells import Clusters, cells_in, tidy
from widgets.ink import DIM, FAILED, FENCE, HEADING, MARK, PLAIN, QUOTE, STRONG, TITLE, Row, Run
from widgets.markdown import table
from widgets.markdown.blocks import Block
from widgets.markdown.containers import content_lines, skip
from widgets.markdown.diff import DiffRow, diff_rows
from widgets.markdown.highlight import Code, is_diff
from widgets.markdown.inline import parse
from widgets.signs import ELLIPSIS, FOLDED, UNFOLDED
from widgets.signs import FAILED as FAILED_SIGN
from widgets.wrap import wrap

CODE_BAR: Final = "│ "
CODE_GOES_ON: Final = "↳ "  # instead of the bar: the row continues the line above
RULE_SIGN: Final = "─"
PROSE_CELLS: Final = 110  # of a row of words, at most: the eye does not find the next line of a longer one
_CLOSING_SIGNS: Final = re.compile(r"(?:^|[ \t]+)#+$")


def lay_out(
    block: Block, text: str, width: int, *, is_open: bool = False, links: list[str] | None = None
) -> list[Row]:
    """Return the rows of ``block``, whose source is ``text``, at most ``width`` cells (at least one) wide.

    ``is_open``: the block is still growing, so what it does not close yet is shown as closed. The targets of
    the block's links are added to ``links``; the inks of the rows number them from 1.
    """
    width = max(1, width)
    lead, rest = _clipped(block.lead, width), _clipped(block.rest, width)
    body = _body(block, text, max(1, width - cell_len(rest)), is_open, [] if links is None else links)
    rows = [_prefixed(rest if index else lead, row) for index, row in enumerate(body)]
    if block.gap is not None:
        rows.insert(0, _prefixed(_clipped(block.gap, width), ()))
    return rows


def estimate(block: Block, width: int) -> int:
    """Return about how many rows ``lay_out`` would return, without looking at the text."""
    is_prose = block.kind not in ("code", "table")
    room = max(1, width - len(block.rest))
    rows = (block.end - block.start) // (min(room, PROSE_CELLS) if is_prose else room) + 1
    if not is_prose:
        rows = max(rows if block.lines == 1 else 0, block.lines) + bool(block.label)
    return rows + (block.gap is not None)


def _body(block: Block, text: str, width: int, is_open: bool, links: list[str]) -> list[Row]:
    prose = min(width, PROSE_CELLS)
    match block.kind:
        case "paragraph":
            ink = QUOTE if any(part.is_quote for part in block.path) else PLAIN
            words = _join_lines(content_lines(text, block.path))
            return wrap(parse(words, ink, is_open=is_open, links=links), prose)
        case "heading":
            return wrap(parse(_heading(block, text), HEADING | STRONG, is_open=is_open, links=links), prose)
        case "code":
            return _code(block, text, width, is_open)
        case "table":
            lines = content_lines(text, block.path)
            shape = block.shape or table.measure(lines)
            has_head = block.shape is None
            return table.lay_out(lines, shape, width, has_head=has_head, is_open=is_open, links=links)
        case "rule":
            return [((RULE_SIGN * width, MARK),)]
        case "title":
            return [(), *_title(block.label, block.summary, width)]
        case "step":
            return [head_row(block.label, block.summary, width, is_folded=block.is_folded)]
        case "note":
            return wrap([(block.label, DIM)], prose)
        case "failure":
            return wrap([(block.label, FAILED)], prose)


def _clipped(prefix: str, width: int) -> str:
    """Return the end of a prefix, so short that most of a narrow row is left for the words."""
    return prefix[max(0, len(prefix) - width // 2) :]


def _prefixed(prefix: str, row: Row) -> Row:
    return ((prefix, MARK), *row) if prefix else row


def _barred(bar: str, row: Row) -> Row:
    """Return a row of a code block; the ink of its bar says where the block's background begins."""
    return ((bar, MARK | FENCE), *row) if bar else row


def _join_lines(lines: list[str]) -> str:
    """Return a paragraph's lines as one: hard breaks are new rows; there is no space between CJK
    characters.
    """
    out: list[str] = []
    for index, line in enumerate(lines):
        text = line.strip(" \t")
        if index == len(lines) - 1:
            out.append(text)
        elif line.endswith("  "):
            out.append(text + "\n")
        elif text.endswith("\\") and not text.endswith("\\\\"):
            out.append(text[:-1] + "\n")
        else:
            out.append(text + _space_between(text, lines[index + 1].lstrip(" \t")))
    return "".join(out)


def _space_between(before: str, after: str) -> str:
    if not before or before[-1].isascii() or not after or after[0].isascii():
        return " " if before else ""
    return "" if cell_len(before[-1]) == 2 == cell_len(after[0]) else " "


def _heading(block: Block, text: str) -> str:
    """Return the words of a heading: above the line that underlines it, or after the signs."""
    if block.lines > 1:
        return _join_lines(content_lines(text, block.path)[:-1])
    return _CLOSING_SIGNS.sub("", text[block.level :].strip(" \t"))


def code_lines(block: Block, text: str) -> list[str]:
    """Return the lines of a code block, whose source is ``text``, without its fences."""
    first, *others = content_lines(text, block.path)
    return [first, *[line[skip(line, 0, block.level) :] for line in others]]


def diff_words(block: Block, text: str, *, is_open: bool = False) -> list[str]:
    """Return what a diff shows of each of its lines, without our signs; nothing for other blocks."""
    code = block.code or Code(block.label)
    if block.kind != "code" or not block.lines or not is_diff(code.label):
        return []
    runs = code.runs(code_lines(block, text), is_open=is_open)
    return ["".join(piece for piece, ink in line if not ink & MARK) for line in runs]


def diff_beside(block: Block, text: str, width: int) -> list[DiffRow]:
    """Return the lines in the last rows that ``lay_out`` makes of a diff, if it is side by side."""
    if block.kind != "code":
        return []
    shown = _diff(block, text, max(1, width - cell_len(_clipped(block.rest, max(1, width)))))
    return shown if any(diff_row.middle for diff_row in shown) else []


def _diff(block: Block, text: str, width: int, *, is_open: bool = False) -> list[DiffRow]:
    """Return the rows of a diff without their containers; nothing for other blocks."""
    code = block.code or Code(block.label)
    if not block.lines or not is_diff(code.label):
        return []
    return diff_rows(code.drawn(code_lines(block, text), is_open=is_open), _bars(width), width)


def _bars(width: int) -> tuple[str, str]:
    """Return the bars before rows of code, and before rows that continue the line above."""
    return (CODE_BAR, CODE_GOES_ON) if width >= 2 * len(CODE_BAR) else ("", "")


def _code(block: Block, text: str, width: int, is_open: bool) -> list[Row]:
    if shown := _diff(block, text, width, is_open=is_open):
        return [diff_row.row for diff_row in shown]
    bar, goes_on = _bars(width)
    room = width - len(bar)
    rows: list[Row] = []
    if block.label:
        rows.extend(_barred(bar, row) for row in wrap([(block.label, DIM | FENCE)], room, words=False)[:1])
    if block.lines:
        code = block.code or Code(block.label)
        for runs in code.runs(code_lines(block, text), is_open=is_open):
            first, *others = wrap(runs, room, words=False)
            rows.append(_barred(bar, first))
            rows.extend(_barred(goes_on, row) for row in others)
    return rows


NAME_CELLS: Final = 12  # shorter names are padded, so that what they are about is aligned
PADDED_FROM: Final = 48  # cells of a row
SUMMARY_CELLS: Final = 52  # a longer right side leaves the whole label its place
LEAST_NAME_CELLS: Final = 4  # kept of the name before the right side is cut
APART: Final = "  "  # between a name and its subject, within a label


def head_row(label: str, summary: str, width: int, *, is_folded: bool) -> Row:
    """Return the one row, exactly ``width`` cells if it has a summary. Its subject (after two spaces in
    ``label``) is cut first, then the name, then the summary, which is not searched or selected; what is long
    of that is cut before all.
    """
    fold = (f"{FOLDED if is_folded else UNFOLDED} "[:width], MARK)
    room = width - len(fold[0])
    name, _, about = label.partition(APART)
    spare = min(LEAST_NAME_CELLS, cell_len(name)) + 1
    padded = max(NAME_CELLS, cell_len(name)) + len(APART) + cell_len(about) + 1
    most = max(0, min(room - spare, max(SUMMARY_CELLS, room - padded)))
    right = _fitted(summary, most, MARK | (FAILED if summary.startswith(FAILED_SIGN) else 0))
    right_cells = cells_in(right)
    left_room = room - right_cells - (1 if right else 0)
    left = _fitted(name, left_room, STRONG)
    if about:
        padding = max(0, NAME_CELLS - cells_in(left)) if width >= PADDED_FROM else 0
        gap = len(APART) + padding
        rest = left_room - cells_in(left) - gap
        if rest > 1:
            left += [(" " * gap, PLAIN), *_fitted(about, rest, PLAIN)]
    if not right:
        return fold, *left
    return fold, *left, (" " * (room - cells_in(left) - right_cells), MARK), *right


def _title(label: str, summary: str, width: int) -> list[Row]:
    """Return the rows of a title: the lines after its first are wrapped below it."""
    name, _, notes = label.partition("\n")
    rows = wrap([(name, DIM | TITLE)], width) if name else []
    if summary:
        rows = [title_row(name, summary, width)]
    return [*rows, *(wrap([(notes, DIM)], width) if notes else [])]


def title_row(label: str, summary: str, width: int) -> Row:
    """Return the one row of a title with something at its right, which is cut last."""
    right = _fitted(summary, max(0, width - LEAST_NAME_CELLS - 1), MARK)
    left = _fitted(label, width - cells_in(right) - 1, DIM | TITLE)
    return *left, (" " * (width - cells_in(left) - cells_in(right)), MARK), *right


def _fitted(text: str, cells: int, ink: int) -> list[Run]:
    """Return ``text`` in at most that many cells; if it was cut, with a sign of ours."""
    if cells < 1 or not text:
        return []
    whole = "".join(piece for piece, _ in tidy([(text, ink)], cells))
    if cell_len(whole) <= cells:
        return [(whole, ink)]
    clusters = Clusters(whole)
    last = clusters.fitting(0, cells - 1) if cells > clusters.size(0) else 0
    kept = whole[: clusters.starts[last]].rstrip()
    return [*([(kept, ink)] if kept else []), (ELLIPSIS, MARK | ink)]
