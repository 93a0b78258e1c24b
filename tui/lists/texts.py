"""The parts of rows in lists: pieces of text in columns, and what all lists say alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Final, Literal

from rich.cells import cell_len, set_cell_size

from agent_tui.model.events import AgentInfo, ConversationInfo, RoomInfo
from agent_tui.model.inert import inert, inert_line
from tui.screens.words import say
from widgets.painter import cropped
from widgets.units import tokens

Ink = Literal["plain", "strong", "dim", "failed", "warned", "agent"]
MAX_WORDS_CHARACTERS: Final = 200
MAX_PREVIEW_CHARACTERS: Final = 600  # of a task in the preview
GAP: Final = 2
TOKEN_CELLS: Final = 6  # at least "1.25M"; the heading may need more
AGE_CELLS: Final = 10  # "59 min ago", for the same reason
MARGIN: Final = 1  # at the right, like the lines above and below
NAME_CELLS: Final = 44  # of the column of names, as far as none needs more
HEAD_CELLS: Final = 4  # the cursor mark and the sign of the status


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a row's text. ``agent`` is the agent whose name it is, for the colour."""

    text: str
    ink: Ink = "plain"
    agent: AgentInfo | None = None


@dataclass(frozen=True, slots=True)
class ItemMark:
    """What this screen knows about an item: ``asked`` was asked and is not done yet, ``undo`` is the key that
    undoes its deletion, ``short`` is a part of its id if another item has the same name.
    """

    asked: str = ""
    is_deleted: bool = False
    undo: str = ""
    short: str = ""


_MARKUP: Final = re.compile(r"\*\*|`|(?<!\S)#{1,6} ")  # bold, code, headings; a single star may be a product
_RULES: Final = re.compile(r"\|?(?:\s*:?-{3,}:?\s*\|)+(?:\s*:?-{3,}:?(?!\S))?")  # below the head of a table
_ROWS: Final = re.compile(r"\s*\|(?:\s*\|)+\s*")  # between its rows
_BARS: Final = re.compile(r"\s*\|\s*")  # between its cells
LEAST_BARS: Final = 3  # in a table; fewer may be pipes of a command


def without_markdown(text: str) -> str:
    """Return a text without the most common Markdown signs; the cells and rows of a table stay apart."""
    text = _MARKUP.sub("", text)
    if text.count("|") < LEAST_BARS:
        return text
    return _BARS.sub(" · ", _ROWS.sub("; ", _RULES.sub("|", text))).strip(" ·;")


def last_words(text: str) -> str:
    """Return an agent's last words in one line, without Markdown signs."""
    return without_markdown(inert_line(text, MAX_WORDS_CHARACTERS)).strip()


LEAST_NAME_CELLS: Final = 16  # of a name that others have, too
NO_MARK: Final = ItemMark()


@dataclass(frozen=True, slots=True)
class ColumnWidths:
    """The width of each column, 0 if it is left out; two cells apart. ``extra`` is the one after the name."""

    name: int
    extra: int
    state: int
    tokens: int
    cost: int
    age: int


@dataclass(frozen=True, slots=True)
class Head:
    """The beginning of a row: the sign of its status, and its name, safe and in one line."""

    sign: str
    name: str
    is_bad: bool = False
    asks: bool = False  # it is waiting for a person
    is_quiet: bool = False  # deleted or archived
    short: str = ""  # a part of its id, if others have its name


@dataclass(frozen=True, slots=True)
class PreviewText:
    """A paragraph of the preview: its text, and the label above it ("" for a heading); all safe."""

    label: str
    pieces: tuple[Piece, ...]


def paragraph(label: str, *parts: str | Piece) -> list[PreviewText]:
    """Return a paragraph below the words of ``label``; none if it has no text."""
    pieces = tuple(Piece(part) if isinstance(part, str) else part for part in parts)
    return [PreviewText(say(f"list.preview.{label}"), pieces)] if any(one.text for one in pieces) else []


def begun(text: str) -> str:
    """Return the beginning of a long text for the preview, with its line breaks."""
    shown = inert(text[:MAX_PREVIEW_CHARACTERS]).strip()
    return f"{shown}…" if len(text) > MAX_PREVIEW_CHARACTERS else shown


def form_of(
    row_cells: int, extra: tuple[int, int, int, int], *, has_cost: bool, name: int = 0, state: int = 0
) -> ColumnWidths:
    """Return the columns for rows with so many cells; ``extra`` are the widths of the extra column from the
    widest rows to the narrowest. ``name`` and ``state`` are the cells that the longest of these need: a long
    name gets what the states leave, who get half if they need it.
    """
    left = row_cells - HEAD_CELLS - MARGIN
    used = max(TOKEN_CELLS, cell_len(say("list.column.tokens")), cell_len(tokens(1_250_000)))
    age = max(AGE_CELLS, cell_len(say("time.minutes", minutes=59)))
    if left >= 88:
        fixed = ColumnWidths(0, extra[0], 0, used, 9 if has_cost else 0, max(11, age))
    elif left >= 68:
        fixed = ColumnWidths(0, extra[1], 0, used, 0, age)
    elif left >= 48:
        fixed = ColumnWidths(0, extra[2], 0, 0, 0, age)
    elif left >= 20 and extra[3]:
        return ColumnWidths(max(1, left - extra[3] - GAP), extra[3], 0, 0, 0, 0)
    else:
        return ColumnWidths(max(1, left), 0, 0, 0, 0, 0)
    widths = [cells for cells in (fixed.extra, fixed.tokens, fixed.cost, fixed.age) if cells]
    rest = left - sum(widths) - GAP * (len(widths) + 1)
    name = max(12, min(NAME_CELLS, rest // 2), min(name, rest - min(state, rest // 2)))
    return ColumnWidths(name, fixed.extra, rest - name, fixed.tokens, fixed.cost, fixed.age)


def row_of(
    shape: ColumnWidths,
    head: Head,
    extra: str,
    state: list[Piece],
    item: RoomInfo | ConversationInfo,
    age: str,
) -> list[Piece]:
    """Return the pieces of one row after the cursor mark, exactly as wide as ``shape`` says."""
    ink: Ink = "dim" if head.is_quiet else "plain"
    is_untold = head.is_quiet and not shape.state  # no column would say that it is deleted or archived
    name = f"{state[0].text} · {head.name}" if is_untold and state else head.name
    short = f" {head.short}" if head.short and shape.name >= LEAST_NAME_CELLS else ""
    loud: Ink = "warned" if head.asks else "failed" if head.is_bad else "plain"
    pieces = [
        Piece(f"{head.sign} ", ink if head.is_quiet else loud),
        Piece(left(cropped(name, shape.name - cell_len(short)) + short, shape.name), ink),
    ]
    if shape.extra:
        pieces.append(Piece(" " * GAP + left(extra, shape.extra), "dim"))
    if shape.state:
        pieces.append(Piece(" " * GAP))
        pieces += filled_cells(state, shape.state)
    used = tokens(item.tokens) if item.tokens > 0 else ""
    columns = (shape.tokens, used), (shape.cost, cost_text(item.cost)), (shape.age, age)
    return pieces + [Piece(" " * GAP + right(text, cells), "dim") for cells, text in columns if cells]


def heads_of(shape: ColumnWidths, kind: str) -> str:
    """Return the column headings of rows of this ``kind`` ("rooms", "chats")."""
    name, extra, told = (say(f"list.column.{kind}.{column}") for column in ("name", "extra", "state"))
    text = " " * HEAD_CELLS + left(name, shape.name)
    text += "".join(
        " " * GAP + left(head, cells) for head, cells in ((extra, shape.extra), (told, shape.state)) if cells
    )
    numbers = ("tokens", shape.tokens), ("cost", shape.cost), ("age", shape.age)
    return text + "".join(
        " " * GAP + right(say(f"list.column.{column}"), cells) for column, cells in numbers if cells
    )


def put_away(mark: ItemMark, *, is_archived: bool) -> Piece | None:
    """Say that a row is deleted, and how to undo that, or that it is archived."""
    if mark.is_deleted:
        undo = say("list.deleted.undo", press=mark.undo) if mark.undo else say("list.deleted")
        return Piece(undo, "dim")
    return Piece(say("list.archived"), "dim") if is_archived else None


@dataclass(frozen=True, slots=True)
class ListHint:
    """An action of a list, and its name in the last line, which may depend on the items; "" hides it."""

    binding_id: str
    word: str | Callable[[Collection[Any]], str]
    rank: int


def cost_text(cost: float | None) -> str:
    """Return "$0.12"; "" if the price is unknown."""
    if not cost or not 0 < cost < 1e9:
        return ""
    return f"${cost:,.2f}" if cost >= 0.005 else "<$0.01"


def left(text: str, cells: int) -> str:
    return set_cell_size(cropped(text, cells), cells)


def right(text: str, cells: int) -> str:
    text = cropped(text, cells)
    return " " * (cells - cell_len(text)) + text


def filled_cells(pieces: list[Piece], cells: int) -> list[Piece]:
    """Return the pieces, cut or filled to exactly so many cells."""
    filled: list[Piece] = []
    for piece in pieces:
        text = cropped(piece.text, cells)
        cells -= cell_len(text)
        filled.append(Piece(text, piece.ink, piece.agent))
        if text != piece.text:
            break
    return [*filled, Piece(" " * cells)] if cells > 0 else filled
