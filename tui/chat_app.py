"""The program's part for chats: opens one, another one, and asks before it is left in mid-answer."""

from __future__ import annotations

from textual import on
from textual.app import App

from tui.keymap import Keymap
from tui.link import ChatLink
from tui.request import ScreenRequest
from tui.screens.chat import ChatScreen
from tui.screens.question import QuestionScreen
from tui.screens.words import say
from widgets.frame_clock import FrameClock


class ChatApp(App[int]):
    """What shows chats; the program itself is ``tui.app.AgentTuiApp``."""

    clock: FrameClock
    keymap: Keymap
    _ascii_only: bool
    _chat_link: ChatLink
    _request: ScreenRequest

    @property
    def chat(self) -> ChatScreen | None:
        """The chat that is open, if one is."""
        return next((screen for screen in self.screen_stack if isinstance(screen, ChatScreen)), None)

    @property
    def is_quiet(self) -> bool:
        """Whether no answer is coming."""
        return self.chat is None or not self.chat.is_speaking

    def open_chat(self, conversation_id: str) -> None:
        """Show a chat; one that is open makes room for it."""
        screen = ChatScreen(self._chat_link, conversation_id, self.clock, ascii_only=self._ascii_only)
        screen.key_now = self.keymap.now_in_a_chat
        if isinstance(self.screen, ChatScreen):
            self.switch_screen(screen)
        else:
            self.push_screen(screen)

    @on(ChatScreen.Opened)
    def open_another(self, event: ChatScreen.Opened) -> None:
        """Open the chat that was chosen in another one."""
        event.stop()
        self.open_chat(event.conversation_id)

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
