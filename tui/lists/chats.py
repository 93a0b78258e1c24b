"""The chats of a server: open, begin, search, change, archive and delete them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType

from agent_tui.clients.records import Hit
from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import ConversationInfo
from tui.chat.first import NEW
from tui.forms.chat import chat_settings
from tui.link import ChatLink
from tui.lists.acts import Deletions, ListActs
from tui.lists.chats_texts import CHATS
from tui.lists.feed import ConversationsFeed
from tui.lists.listing import Listing
from tui.lists.screen import ListScreen, may

if TYPE_CHECKING:
    from agent_tui.clients.chat import ChatClient  # noqa: F401  named below in quotes


class ConversationActs(ListActs["ChatClient", ConversationInfo]):
    """Asks for changes of chats."""

    async def change_now(self, conversation_id: str, **fields: Any) -> ConversationInfo:
        """Change a chat and return it; raises what ``ChatClient.change`` does."""
        return await (await self._link.client()).change(conversation_id, **fields)

    async def show_branch(self, chat: ConversationInfo, message_id: str) -> None:
        """Have the chat show the branch of a message, unless it shows it already."""
        try:
            client = await self._link.client()
            messages, _ = await client.messages(chat.id)
            if all(message.id != message_id for message in messages):
                await client.change(chat.id, head=message_id)
        except AgentTuiError as error:  # an answer is under way, or the message is gone: it opens as it is
            self.failed(error, chat)


class ConversationsScreen(ListScreen[ConversationInfo]):
    """The list of chats."""

    KIND = "chats"
    RENAMES = "title"
    HINTS = (
        ("list.open", "list.hint.open", 0),
        ("chats.new", "list.hint.new", 1),
        ("list.search", "list.hint.search", 2),
        ("list.delete", "list.hint.delete", 4),
        ("list.undo", "hint.undo", 3),
        ("chats.settings", "list.hint.settings", 5),
        ("list.archive", "list.hint.archive", 8),
        ("app.lists", "list.hint.rooms", 7),
        ("app.help", "hint.help", 2),
        ("app.quit.quick", "hint.quit", 6),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("n", "new", "New chat", id="chats.new"),
        Binding("e,ctrl+o", "settings", "Chat settings", id="chats.settings"),
    ]
    acts: ConversationActs

    def __init__(self, link: ChatLink, deletions: Deletions) -> None:
        feed = ConversationsFeed(link)
        acts = ConversationActs(link, Listing(CHATS), feed, changed=self.show_all, tell=self.tell)
        super().__init__(acts, deletions)
        self._link = link

    def open_found(self, hit: Hit) -> None:
        self._list.go_to(hit.conversation_id)
        chat = self.listing.get(hit.conversation_id) or ConversationInfo(hit.conversation_id)
        self.do(self._open(chat, hit.message_id))

    async def _open(self, chat: ConversationInfo, message_id: str) -> None:
        if message_id:
            await self.acts.show_branch(chat, message_id)
        self.post_message(self.Opened(chat, message_id))

    def action_new(self) -> None:
        """Begin a chat, which is stored with its first question."""
        if may(self, "new"):
            self.post_message(self.Opened(ConversationInfo(NEW)))

    def action_settings(self) -> None:
        if (chat := self.item_for("settings")) is not None:

            async def change(**changed: Any) -> None:
                self.acts.take(await self.acts.change_now(chat.id, **changed))
                self.show_all()

            self.app.push_screen(chat_settings(chat, self._link, change))
