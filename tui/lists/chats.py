"""The chats of a server: open, begin, search, change, archive and delete them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.binding import Binding, BindingType
from textual.message import Message

from agent_tui.clients.records import Hit
from agent_tui.model.errors import AgentTuiError, Refused
from agent_tui.model.events import ConversationInfo
from tui.chat.first import NEW
from tui.forms.chat import ConversationForm
from tui.link import ChatLink
from tui.lists.acts import Deletions, ListActs
from tui.lists.chats_texts import CHATS, HINTS
from tui.lists.feed import ConversationsFeed
from tui.lists.listing import Listing
from tui.lists.screen import ListScreen, keys_of

if TYPE_CHECKING:
    from agent_tui.clients.chat import ChatClient  # noqa: F401  named below in quotes

SEARCHES: Final = "/"  # typed first into the filter: search instead


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


class ConversationsScreen(ListScreen[ConversationInfo]):
    """The list of chats."""

    KIND = "chats"
    RENAMES = "title"
    HINTS = HINTS
    NEEDS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **ListScreen.NEEDS,
        "settings": ("change",),
        "search": ("search",),
    }
    OF_ONE = ListScreen.OF_ONE | {"settings"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open the chat", id="chats.open"),
        Binding("n", "new", "New chat", id="chats.new"),
        Binding("s", "search", "Search all rooms and chats", id="chats.search"),
        Binding("e,ctrl+o", "settings", "Chat settings", id="chats.settings"),
        *keys_of("chat", "Rename the chat"),
    ]
    acts: ConversationActs
    _link: ChatLink

    class Opened(Message):
        """Posted when a chat was chosen, perhaps at one of its messages."""

        def __init__(self, chat: ConversationInfo, message_id: str = "") -> None:
            super().__init__()
            self.chat = chat
            self.message_id = message_id

    def __init__(self, link: ChatLink, deletions: Deletions | None = None) -> None:
        listing = Listing(CHATS)
        feed = ConversationsFeed(link)
        acts = ConversationActs(link, listing, feed, changed=self.show_all, tell=self.tell)
        super().__init__(link, listing, acts, deletions)

    def action_open(self) -> None:
        chat = self.one_for("open")
        if chat is not None:
            self.do(self._open(chat))

    async def _open(self, chat: ConversationInfo, message_id: str = "") -> None:
        if message_id:
            await self.acts.show_branch(chat.id, message_id)
        self.post_message(self.Opened(chat, message_id))

    def action_new(self) -> None:
        """Begin a chat, which is stored with its first question."""
        if self.can("new"):
            self.do(self._open(ConversationInfo(NEW)))

    def go_to_chat(self, chat: ConversationInfo) -> None:
        """Put the cursor on a chat, also on a new one; does nothing if the chat is not stored."""
        if chat.id != NEW:
            if self.listing.get(chat.id) is None:
                self.acts.seen(chat)
                self.show_all()
            self._list.go_to(chat.id)

    def action_settings(self) -> None:
        chat = self.one_for("settings")
        if chat is not None:
            change = partial(self.acts.change_now, chat.id)
            self.app.push_screen(ConversationForm(chat, self._link, change, self._changed))

    def _changed(self, chat: ConversationInfo) -> None:
        self.acts.seen(chat)
        self.show_all()

    # --- searching -----------------------------------------------------------------------------------------

    def look_for(self, words: str) -> None:
        """List the chats that match; search instead if the text begins with ``SEARCHES``."""
        if words == SEARCHES:
            self._filter.clear()
            self.action_search()
        else:
            super().look_for(words)

    def open_found(self, hit: Hit) -> None:
        self._list.go_to(hit.conversation_id)
        chat = self.listing.get(hit.conversation_id) or ConversationInfo(hit.conversation_id)
        self.do(self._open(chat, hit.message_id))
