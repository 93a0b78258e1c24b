"""The chats of a list, as ``tui.screens.listing`` wants to know them."""

from __future__ import annotations

from collections.abc import Iterable

from agent_tui.events import ConversationInfo
from agent_tui.inert import inert_line
from tui.screens.listing import MAX_NAME_CHARACTERS, Listing


def title_of(chat: ConversationInfo) -> str:
    """Return what a chat is called in one harmless line; "" for one that has no title yet."""
    return inert_line(chat.title, MAX_NAME_CHARACTERS)


class ConversationListing(Listing[ConversationInfo]):
    """Chats, by their titles and models."""

    def name_of(self, item: ConversationInfo) -> str:
        """Return its title."""
        return title_of(item)

    def words_of(self, item: ConversationInfo) -> Iterable[str]:
        """Return its title and which model speaks."""
        return (item.title, item.model)

    def rank_of(self, item: ConversationInfo) -> int:
        """Return where its status stands: what waits for a person comes first, what is at rest last."""
        states = (item.asks, item.status == "running", bool(item.error), bool(item.interrupted))
        return states.index(True) if True in states else len(states)
