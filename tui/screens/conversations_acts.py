"""What the list of chats asks of the server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agent_tui.errors import AgentTuiError, Refused
from agent_tui.events import ConversationInfo
from tui.first_chat import new_chat
from tui.link import ChatLink
from tui.screens.conversations_listing import ConversationListing
from tui.screens.list_acts import ListActs


class ConversationActs(ListActs[ConversationInfo]):
    """Asks for changes of chats."""

    def __init__(
        self,
        link: ChatLink,
        listing: ConversationListing,
        *,
        changed: Callable[[], None],
        tell: Callable[[str, bool], None],
    ) -> None:
        """See ``ListActs``."""
        super().__init__(listing, changed=changed, tell=tell)
        self._link = link

    async def _set(self, item_id: str, fields: Mapping[str, Any]) -> ConversationInfo:
        return await (await self._link.client()).change(item_id, **fields)

    async def _drop(self, item_id: str) -> None:
        await (await self._link.client()).delete(item_id)

    async def _all(self) -> Iterable[ConversationInfo]:
        return await (await self._link.client()).conversations(archived=True)

    async def make(self) -> ConversationInfo | None:
        """Make a chat; return it."""
        try:
            made = await new_chat(self._link)
        except AgentTuiError as error:
            self._tell(self._line(error), True)
            return None
        self.seen(made)
        self._changed()
        return made

    async def show_branch(self, conversation_id: str, message_id: str) -> None:
        """Have the chat show the branch of a message, where it shows another one."""
        try:
            client = await self._link.client()
            messages, _ = await client.messages(conversation_id)
            if all(message.id != message_id for message in messages):
                await client.change(conversation_id, head=message_id)
        except Refused as error:  # an answer is under way, or the message is gone: the chat opens as it is
            self._tell(self._line(error), False)
        except AgentTuiError as error:
            self._tell(self._line(error), True)
