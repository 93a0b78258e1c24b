"""The program's part for chats: opens one, another one, and asks before it is left in mid-answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from contextlib import suppress

from textual import on, work
from textual.app import App

from agent_tui.events import ConversationInfo
from tui.keymap import Keymap
from tui.link import ChatLink
from tui.request import ScreenRequest
from tui.screens.chat import ChatScreen
from tui.screens.conversations import ConversationsScreen
from tui.screens.list_screen import ListScreen
from tui.screens.question import QuestionScreen
from tui.screens.words import say
from widgets.frame_clock import FrameClock

LEAVE_SECONDS = 3.0  # how long leaving a list waits for the server to delete what was deleted there


class ChatApp(App[int]):
    """What shows chats and their list; the program itself is ``tui.app.AgentTuiApp``."""

    clock: FrameClock
    keymap: Keymap
    _ascii_only: bool
    _chat_link: ChatLink
    _request: ScreenRequest
    key_names: Callable[..., str]

    @property
    def chat(self) -> ChatScreen | None:
        """The chat that is open, if one is."""
        return next((screen for screen in self.screen_stack if isinstance(screen, ChatScreen)), None)

    @property
    def is_quiet(self) -> bool:
        """Whether no answer is coming."""
        return self.chat is None or not self.chat.is_speaking

    def open_chat(self, conversation_id: str, message_id: str = "") -> None:
        """Show a chat, at its end or at one of its messages; one that is open makes room for it."""
        screen = ChatScreen(self._chat_link, conversation_id, self.clock, ascii_only=self._ascii_only)
        screen.key_now = self.keymap.now_in_a_chat
        screen.show_message(message_id)
        if isinstance(self.screen, ChatScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    @on(ChatScreen.Opened)
    def open_another(self, event: ChatScreen.Opened) -> None:
        """Open the chat that was chosen in another one."""
        event.stop()
        self.open_chat(event.conversation_id)

    def show_chats(self, chats: Iterable[ConversationInfo] = ()) -> None:
        """Show the list of chats; ``chats`` are the ones known already."""
        screen = ConversationsScreen(self._chat_link, chats, ascii_only=self._ascii_only)
        screen.key_of = self.key_names
        self.push_screen(screen)

    @on(ConversationsScreen.Opened)
    def open_listed_chat(self, event: ConversationsScreen.Opened) -> None:
        """Open a chat that was chosen in the list."""
        event.stop()
        if isinstance(self.screen, ConversationsScreen):
            self.open_chat(event.conversation_id, event.message_id)

    def action_leave_chat(self) -> None:
        """Go back to the list of chats, which goes on where it was."""
        if isinstance(self.screen, ChatScreen):
            is_listed = any(isinstance(screen, ConversationsScreen) for screen in self.screen_stack)
            self.pop_screen()
            if not is_listed:
                self.show_chats()

    @work(group="lists", exclusive=True)
    async def leave_for(self, show: Callable[[], None]) -> None:
        """Leave everything that is open, and show something else; what was to be deleted is deleted."""
        await self.settle()
        while len(self.screen_stack) > 1:
            await self.pop_screen()
        show()

    async def settle(self) -> None:
        """Have everything deleted that was to be deleted."""
        for screen in self.screen_stack:
            if isinstance(screen, ListScreen):
                with suppress(TimeoutError):
                    await asyncio.wait_for(screen.deletions.settle(), LEAVE_SECONDS)

    def ask_to_leave_chat(self) -> bool:
        """Ask before the program is left in mid-answer; return whether that had to be asked."""
        chat = self.chat
        if chat is None or chat.may_leave:
            return False
        if isinstance(self.screen, QuestionScreen):  # asked already: the same key means to stay
            self.screen.action_answer(False)
            return True
        key = "chat.quit" if self._request.embedded else "chat.quit.served"
        self.push_screen(QuestionScreen(say(key), ascii_only=self._ascii_only), self._leave_chat)
        return True

    def _leave_chat(self, is_wanted: bool | None) -> None:
        if is_wanted:
            self.exit(0)
