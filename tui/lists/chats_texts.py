"""The chats of a list: what a row shows at every width, and by what rows are found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agent_tui.model.events import ConversationInfo
from agent_tui.model.inert import inert_line
from tui.lists.texts import (
    MAX_NAME_CHARACTERS,
    MAX_WORDS_CHARACTERS,
    ListKind,
    Piece,
    begun,
    last_words,
)
from tui.live import signs
from tui.live.texts import model_name, why_cut
from tui.screens.localised import localised
from tui.screens.words import say

MODEL_CELLS: Final = (16, 12, 0, 0)  # of the model, by the width of a row


def title_of(chat: ConversationInfo) -> str:
    """Return a chat's title, safe and in one line."""
    return inert_line(chat.title, MAX_NAME_CHARACTERS) or say("chat.untitled")


def words_of(chat: ConversationInfo) -> Iterable[str]:
    """Return its title, what is after it, its model, and its state as it is shown."""
    return (title_of(chat), extra_of(chat), model_of(chat), *(piece.text for piece in state(chat)))


def extra_of(chat: ConversationInfo, _cells: int = 0) -> str:
    """Return what is shown after the title: the model, or that it is spoken."""
    return say("home.voice") if chat.kind == "voice" else model_of(chat)


def model_of(chat: ConversationInfo) -> str:
    """Return what its model is called: the demo model answers whatever name was given with it."""
    return model_name(chat.model, chat.provider_id) or say("chat.model.default")


def sign(chat: ConversationInfo) -> str:
    """Return the sign of a chat's state, or of how its newest answer ended."""
    if chat.status == "running":
        return signs.WARNS if chat.asks else signs.SPEAKING
    if chat.error:
        return signs.FAILED
    if chat.interrupted:
        return signs.CUT
    return signs.DONE if chat.last_words else signs.WAITING


def state(chat: ConversationInfo, _cells: int = 0) -> list[Piece]:
    """Return the state of a chat, how its newest answer ended, or its last words."""
    if chat.status == "running":
        asks = Piece(say("chat.asks"), "warned")
        return [asks if chat.asks else Piece(say("chat.answering"))]
    if chat.error:
        return [Piece(inert_line(localised(chat.error), MAX_WORDS_CHARACTERS), "failed")]
    if chat.interrupted:
        return [Piece(why_cut(chat.interrupted))]
    words = last_words(chat.last_words)
    return [Piece(say("list.words", words=words) if words else say("help.why.no_message"), "dim")]


def preview(chat: ConversationInfo) -> Iterable[tuple[str, str]]:
    """Yield more about a chat: its model, its folder, its state and its last words."""
    yield "model", model_of(chat)
    yield "prompt", begun(chat.system_prompt)
    yield "workspace", inert_line(chat.workspace, MAX_WORDS_CHARACTERS)
    if chat.status == "running" or chat.error:
        yield "state", "".join(piece.text for piece in state(chat))
    yield "words", last_words(chat.last_words)


CHATS: Final = ListKind(title_of, words_of, sign, extra_of, state, MODEL_CELLS, preview)
