"""The chats of a server, looked at again and again: it tells no changes of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from agent_tui.model.events import ConversationInfo
from tui.lists.feed import ListFeed, ListSeen

if TYPE_CHECKING:
    from agent_tui.clients.chat import ChatClient

BUSY_SECONDS: Final = 2.0  # between two looks while something answers
IDLE_SECONDS: Final = 10.0  # and while nothing does: another terminal may ask


class ConversationsFeed(ListFeed["ChatClient", ConversationInfo]):
    """Follows the list of chats."""

    async def _ask(self, client: ChatClient, archived: bool) -> tuple[ListSeen[ConversationInfo], float]:
        chats = tuple(await client.listed(archived))
        is_busy = any(chat.status == "running" for chat in chats)
        return ListSeen(chats, is_all=True, has_archived=archived), BUSY_SECONDS if is_busy else IDLE_SECONDS
