"""The chats of a server: open, begin, search, set, put away and delete them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import ClassVar, Final

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Input

from agent_tui.events import ConversationInfo
from tui.link import ChatLink
from tui.screens import conversations_texts as texts
from tui.screens.conversation_settings import ConversationForm
from tui.screens.conversations_acts import ConversationActs
from tui.screens.conversations_feed import ConversationsFeed
from tui.screens.conversations_list import ConversationList
from tui.screens.conversations_listing import ConversationListing
from tui.screens.conversations_search import SearchScreen
from tui.screens.list_screen import ListScreen
from tui.screens.list_texts import Hint

SEARCHES: Final = "/"  # typed first into the line that filters: search instead
# What a server must offer for an action, in the words of ``ChatClient.missing``.
_NEEDS: Final[Mapping[str, tuple[str, ...]]] = {
    "chats.new": ("create",),
    "chats.delete": ("delete",),
    "chats.rename": ("change",),
    "chats.settings": ("change",),
    "chats.archive": ("change",),
    "chats.search": ("search",),
}
_OF_A_CHAT: Final = frozenset(
    {"chats.open", "chats.delete", "chats.rename", "chats.settings", "chats.archive"}
)


class ConversationsScreen(ListScreen[ConversationInfo]):
    """The list of chats."""

    KIND = "chats"
    RENAMES = "title"
    NEEDS: ClassVar[Mapping[str, tuple[str, ...]]] = _NEEDS
    OF_ONE: ClassVar[frozenset[str]] = _OF_A_CHAT
    HINTS: ClassVar[tuple[Hint, ...]] = texts.HINTS
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open the chat", id="chats.open"),
        Binding("n", "new", "Begin a chat", id="chats.new"),
        Binding("s", "search", "Search in all chats", id="chats.search"),
        Binding("e,ctrl+o", "settings", "Settings of the chat", id="chats.settings"),
        Binding("d", "delete", "Delete the chat", id="chats.delete"),
        Binding("u", "undo", "Take the deletion back", id="chats.undo"),
        Binding("R,f2", "rename", "Give the chat another title", id="chats.rename"),
        Binding("a", "archive", "Archive the chat, or take it back", id="chats.archive"),
        Binding("A", "show_archived", "Show archived chats, or hide them", id="chats.show_archived"),
        Binding("o", "sort", "Sort by the next column", id="chats.sort"),
        Binding("slash", "filter", "List only chats with some words in the title", id="chats.filter"),
        Binding("escape", "clear", "List all chats again", id="chats.clear"),
        Binding("up", "move(-1)", "Chat above", id="chats.up", show=False),
        Binding("down", "move(1)", "Chat below", id="chats.down", show=False),
        Binding("pageup", "move_pages(-1)", "A page up", id="chats.page_up", show=False),
        Binding("pagedown", "move_pages(1)", "A page down", id="chats.page_down", show=False),
        Binding("home", "move(-1000000)", "First chat", id="chats.first", show=False),
        Binding("end", "move(1000000)", "Last chat", id="chats.last", show=False),
    ]

    class Opened(Message):
        """A chat was chosen, maybe at one of its messages."""

        def __init__(self, conversation_id: str, message_id: str = "") -> None:
            super().__init__()
            self.conversation_id = conversation_id
            self.message_id = message_id

    def __init__(self, link: ChatLink, chats: Iterable[ConversationInfo] = (), *, ascii_only: bool) -> None:
        """``chats`` are the ones known already."""
        self.listing = ConversationListing(chats)
        self.acts = ConversationActs(link, self.listing, changed=self.show_all, tell=self.tell)
        rows = ConversationList(self.listing, self.acts.marks, ascii_only=ascii_only, id="list")
        super().__init__(link, self.listing, self.acts, ConversationsFeed(link), rows, ascii_only=ascii_only)
        self._link = link

    def action_open(self) -> None:
        """Open the chat under the cursor."""
        chat = self.one_for("chats.open")
        if chat is not None:
            self.do(self._open(chat.id))

    async def _open(self, conversation_id: str, message_id: str = "") -> None:
        if message_id:
            await self.acts.show_branch(conversation_id, message_id)
        self.post_message(self.Opened(conversation_id, message_id))
        await self.deletions.settle()

    def action_new(self) -> None:
        """Begin a chat."""
        if self.can("chats.new"):
            self.do(self._begin())

    async def _begin(self) -> None:
        made = await self.acts.make()
        if made is not None:
            self._list.go_to(made.id)
            await self._open(made.id)

    def action_settings(self) -> None:
        """Change what holds for the chat under the cursor."""
        chat = self.one_for("chats.settings")
        if chat is not None:
            form = ConversationForm(chat, self._link, self._changed, ascii_only=self._ascii_only)
            self.app.push_screen(form)

    def _changed(self, chat: ConversationInfo) -> None:
        self.acts.seen(chat)
        self.show_all()

    # --- searching -----------------------------------------------------------------------------------------

    @on(Input.Changed, "#filter")
    def filter_changed(self, event: Input.Changed) -> None:
        """List what fits while it is typed; search instead where the first sign says so."""
        if event.value == SEARCHES:
            event.stop()
            event.prevent_default()  # the list's own handler
            self._close_filter(keep=False)
            self.action_search()

    def action_search(self) -> None:
        """Search in all chats."""
        if self.can("chats.search"):
            screen = SearchScreen(self._link, self.listing.needle, ascii_only=self._ascii_only)
            self.app.push_screen(screen, self._found)

    def _found(self, place: tuple[str, str] | None) -> None:
        if place is not None:
            conversation_id, message_id = place
            self._list.go_to(conversation_id)
            self.do(self._open(conversation_id, message_id))
