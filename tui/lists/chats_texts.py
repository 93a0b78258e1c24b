"""The chats of a list: what a row shows at every width, and by what rows are sorted and found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich.cells import cell_len

from agent_tui.model.events import ConversationInfo
from agent_tui.model.inert import inert_line
from tui.lists.listing import MAX_NAME_CHARACTERS, ListKind
from tui.lists.texts import (
    MAX_WORDS_CHARACTERS,
    NO_MARK,
    ColumnWidths,
    Head,
    ItemMark,
    ListHint,
    Piece,
    PreviewText,
    begun,
    last_words,
    left,
    paragraph,
    put_away,
    row_of,
)
from tui.live import signs
from tui.live.texts import model_name, short_folder, why_cut
from tui.screens.localised import localised
from tui.screens.words import say
from widgets.painter import cropped

FOLDER_CELLS: Final = 20
FOLDER_FROM_CELLS: Final = 60  # of the column that it begins
MODEL_CELLS: Final = (16, 12, 0, 0)  # of the model, by the width of a row


def title_of(chat: ConversationInfo) -> str:
    """Return a chat's title, safe and in one line; "" if it has none yet."""
    return inert_line(chat.title, MAX_NAME_CHARACTERS)


def words_of(chat: ConversationInfo) -> Iterable[str]:
    """Return its title, its model, and its state as it is shown."""
    return (chat.title or say("chat.untitled"), model_of(chat), state(chat, NO_MARK).text)


def model_of(chat: ConversationInfo) -> str:
    """Return what its model is called: the demo model answers whatever name was given with it."""
    return model_name(chat.model, chat.provider_id) or say("chat.model.default")


def rank_of(chat: ConversationInfo) -> int:
    """Return the sort key of its status: chats that need a person first, idle ones last."""
    states = (chat.asks, chat.status == "running", bool(chat.error), bool(chat.interrupted))
    return states.index(True) if True in states else len(states)


def row(chat: ConversationInfo, shape: ColumnWidths, age: str, mark: ItemMark = NO_MARK) -> list[Piece]:
    """Return the pieces of one row after the cursor mark, exactly as wide as ``shape`` says."""
    head = Head(
        sign(chat),
        title_of(chat) or say("chat.untitled"),
        is_bad=bool(chat.error) and chat.status != "running",
        asks=chat.status == "running" and bool(chat.asks),
        is_quiet=mark.is_deleted or chat.archived,
        short=mark.short,
    )
    told = [state(chat, mark)]
    if shape.state >= FOLDER_FROM_CELLS and chat.workspace:
        told.insert(0, Piece(f"{left(short_folder(chat.workspace), FOLDER_CELLS)}  ", "dim"))
    return row_of(shape, head, cropped(model_of(chat), max(1, shape.extra)), told, chat, age)


def sign(chat: ConversationInfo) -> str:
    """Return the sign of a chat's state, or of how its newest answer ended."""
    if chat.status == "running":
        return signs.WARNS if chat.asks else signs.SPEAKING
    if chat.error:
        return signs.FAILED
    if chat.interrupted:
        return signs.CUT
    return signs.DONE if chat.last_words else signs.WAITING


def state(chat: ConversationInfo, mark: ItemMark) -> Piece:
    """Return the state of a chat, how its newest answer ended, or its last words."""
    if away := put_away(mark, is_archived=chat.archived):
        return away
    if chat.status == "running":
        return Piece(say("chat.asks" if chat.asks else "chat.answering"), "warned" if chat.asks else "plain")
    if chat.error:
        return Piece(inert_line(localised(chat.error), MAX_WORDS_CHARACTERS), "failed")
    if chat.interrupted:
        return Piece(why_cut(chat.interrupted))
    words = last_words(chat.last_words)
    return Piece(say("list.words", words=words) if words else say("chats.idle"), "dim")


def state_cells(chat: ConversationInfo, mark: ItemMark) -> int:
    """Return how many cells its state needs."""
    return cell_len(state(chat, mark).text)


def preview(chat: ConversationInfo) -> list[PreviewText]:
    """Return more about a chat: its model, its folder, its state and its last words."""
    return [
        PreviewText("", (Piece(title_of(chat) or say("chat.untitled")),)),
        *paragraph("model", model_of(chat)),
        *paragraph("prompt", begun(chat.system_prompt)),
        *paragraph("workspace", inert_line(chat.workspace, MAX_WORDS_CHARACTERS)),
        *paragraph("state", state(chat, NO_MARK).text if chat.status == "running" or chat.error else ""),
        *paragraph("words", last_words(chat.last_words)),
    ]


CHATS: Final = ListKind(title_of, words_of, rank_of, MODEL_CELLS, row, state_cells, preview)

HINTS: Final = (
    ListHint("chats.open", "open", 0),
    ListHint("chats.new", "new", 1),
    ListHint("chats.search", "search", 2),
    ListHint("chats.delete", "delete", 4),
    ListHint("chats.undo", "undo", 3),
    ListHint("chats.settings", "settings", 5),
    ListHint("chats.archive", "archive", 8),
    ListHint("app.lists", "rooms", 7),
    ListHint("app.help", "help", 2),
    ListHint("app.quit.quick", "quit", 6),
)
