"""The parts of rows in lists: pieces of text in columns, and what all lists say alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Generic, Literal, TypeVar

from rich.cells import cell_len, set_cell_size

from agent_tui.model.events import AgentInfo, ConversationInfo, RoomInfo
from agent_tui.model.inert import inert, inert_line
from tui.lists.order import Place, by_activity
from tui.live import signs
from tui.live.texts import dollars
from tui.screens.words import say
from widgets.painter import cropped
from widgets.units import tokens

Ink = Literal["plain", "dim", "failed", "warned"]
MAX_NAME_CHARACTERS: Final = 200
MAX_WORDS_CHARACTERS: Final = 200
MAX_PREVIEW_CHARACTERS: Final = 600  # of a task in the preview
GAP: Final = 2
TOKEN_CELLS: Final = 6  # at least "1.25M"; the heading may need more
AGE_CELLS: Final = 10  # "59 min ago", for the same reason
MARGIN: Final = 1  # at the right, like the lines above and below
NAME_CELLS: Final = 60  # of the column of names
HEAD_CELLS: Final = 4  # the cursor mark and the sign of the status
LEAST_NAME_CELLS: Final = 16  # of a name that others have, too
_MARKUP: Final = re.compile(r"\*\*|`|(?<!\S)#{1,6} ")  # bold, code, headings; a single star may be a product

T = TypeVar("T", bound=RoomInfo | ConversationInfo)


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a row's text. ``agent`` is the agent whose name it is, for the colour."""

    text: str
    ink: Ink = "plain"
    agent: AgentInfo | None = None


@dataclass(frozen=True, slots=True)
class ItemMark:
    """What this screen knows about an item: ``asked`` was asked and is not done yet, ``undo`` is the key that
    undoes its deletion.
    """

    asked: str = ""
    is_deleted: bool = False
    undo: str = ""


@dataclass(frozen=True, slots=True)
class ColumnWidths:
    """The width of each column, 0 if it is left out; two cells apart. ``extra`` is the one after the name."""

    name: int
    extra: int = 0
    state: int = 0
    tokens: int = 0
    cost: int = 0
    age: int = 0


@dataclass(frozen=True, slots=True)
class ListKind(Generic[T]):
    """The differences between the lists of rooms and of chats, row by row."""

    name_of: Callable[[T], str]  # the name, safe and in one line
    words_of: Callable[[T], Iterable[str]]  # what the filter searches
    sign_of: Callable[[T], str]  # of its state
    extra_of: Callable[[T, int], str]  # the text after the name, for so many cells
    state_of: Callable[[T, int], list[Piece]]  # its state, or its last words, for so many cells
    extra_cells: tuple[int, int, int, int]  # of the column after the name, see ``columns_of``
    preview: Callable[[T], Iterable[tuple[str, str]]] = lambda _: ()  # more about it: labels and texts
    place_of: Callable[[T], Place] = by_activity  # the sort key
    has_use: bool = True  # columns of tokens and cost


def last_words(text: str) -> str:
    """Return an agent's last words in one line, without the most common Markdown signs."""
    return without_markdown(inert_line(text, MAX_WORDS_CHARACTERS)).strip()


def without_markdown(text: str) -> str:
    return _MARKUP.sub("", text)


def begun(text: str) -> str:
    """Return the beginning of a long text for the preview, with its line breaks."""
    shown = inert(text[:MAX_PREVIEW_CHARACTERS]).strip()
    return f"{shown}…" if len(text) > MAX_PREVIEW_CHARACTERS else shown


def columns_of(
    row_cells: int, extra: tuple[int, int, int, int], *, has_use: bool, has_cost: bool
) -> ColumnWidths:
    """Return the columns for rows with so many cells; ``extra`` are the widths of the extra column from the
    widest rows to the narrowest.
    """
    left = row_cells - HEAD_CELLS - MARGIN
    age = max(AGE_CELLS, cell_len(say("time.minutes", minutes=59)))
    used, cost = 0, 0
    if left < 48:
        second = extra[3] if left >= 20 else 0
        return ColumnWidths(max(1, left - (second + GAP if second else 0)), second)
    if has_use and left >= 68:
        used = max(TOKEN_CELLS, cell_len(say("list.column.tokens")), cell_len(tokens(1_250_000)))
        cost = 9 if has_cost and left >= 88 else 0
    second = extra[0 if left >= 88 else 1 if left >= 68 else 2]
    widths = [cells for cells in (second, used, cost, age) if cells]
    rest = left - sum(widths) - GAP * (len(widths) + 1)
    name = max(12, min(NAME_CELLS, rest // 2 if has_use else rest * 5 // 8))
    return ColumnWidths(name, second, rest - name, used, cost, age)


def row_of(
    kind: ListKind[T], item: T, shape: ColumnWidths, age: str, mark: ItemMark, short: str = ""
) -> list[Piece]:
    """Return the pieces of one row after the cursor mark, exactly as wide as ``shape`` says. ``short`` is a
    part of its id if another item has the same name.
    """
    is_quiet = mark.is_deleted or item.archived
    ink: Ink = "dim" if is_quiet else "plain"
    sign = kind.sign_of(item)
    loud: Ink = "warned" if sign == signs.WARNS else "failed" if sign == signs.FAILED else "plain"
    state = _put_away(item, mark) or kind.state_of(item, shape.state)
    name = kind.name_of(item)
    if is_quiet and not shape.state:  # no column would say that it is deleted or archived
        name = f"{state[0].text} · {name}"
    end = f" {short}" if short and shape.name >= LEAST_NAME_CELLS else ""
    pieces = [
        Piece(f"{sign} ", "dim" if is_quiet else loud),
        Piece(padded(cropped(name, shape.name - cell_len(end)) + end, shape.name), ink),
    ]
    if shape.extra:
        pieces.append(Piece(" " * GAP + padded(kind.extra_of(item, shape.extra), shape.extra), "dim"))
    if shape.state:
        pieces += [Piece(" " * GAP), *filled_cells(state, shape.state)]
    used, cost = tokens(item.tokens) if item.tokens > 0 else "", dollars(item.cost) if item.cost else ""
    columns = (shape.tokens, used), (shape.cost, cost), (shape.age, age)
    return pieces + [Piece(" " * GAP + right(text, cells), "dim") for cells, text in columns if cells]


def _put_away(item: RoomInfo | ConversationInfo, mark: ItemMark) -> list[Piece]:
    """Say what was asked of an item, that it is deleted, and how to undo that, or that it is archived."""
    if mark.asked:
        return [Piece(say(f"room.{mark.asked}"))]
    if mark.is_deleted:
        undo = say("list.deleted.undo", press=mark.undo) if mark.undo else say("list.deleted")
        return [Piece(undo, "dim")]
    return [Piece(say("chat.archived"), "dim")] if item.archived else []


def heads_of(shape: ColumnWidths, kind: str) -> str:
    """Return the column headings of rows of this ``kind`` ("rooms", "chats")."""
    text = " " * HEAD_CELLS + padded(say(f"list.column.{kind}.name"), shape.name)
    for column, cells in ((f"{kind}.extra", shape.extra), ("state", shape.state)):
        text += " " * GAP + padded(say(f"list.column.{column}"), cells) if cells else ""
    for column, cells in (("tokens", shape.tokens), ("cost", shape.cost), ("age", shape.age)):
        text += " " * GAP + right(say(f"list.column.{column}"), cells) if cells else ""
    return text


def padded(text: str, cells: int) -> str:
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
