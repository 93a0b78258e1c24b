"""Changes that the list of chats asks the server for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agent_tui.model.errors import AgentTuiError, Refused
from agent_tui.model.events import ConversationInfo
from tui.lists.acts import ListActs

if TYPE_CHECKING:
    from agent_tui.clients.chat import ChatClient  # noqa: F401  named below in quotes


class ConversationActs(ListActs["ChatClient", ConversationInfo]):
    """Asks for changes of chats."""

    async def change_now(self, conversation_id: str, **fields: Any) -> ConversationInfo:
        """Change a chat and return it; raises what ``ChatClient.change`` does."""
        return await (await self._link.client()).change(conversation_id, **fields)

    async def show_branch(self, conversation_id: str, message_id: str) -> None:
        """Have the chat show the branch of a message, unless it shows it already."""
        try:
            client = await self._link.client()
            messages, _ = await client.messages(conversation_id)
            if all(message.id != message_id for message in messages):
                await client.change(conversation_id, head=message_id)
        except AgentTuiError as error:
            # Refused: an answer is under way, or the message is gone; the chat opens as it is.
            self._failed(error, is_bad=not isinstance(error, Refused))
