"""The chat that a screen shows: its state, its server, and its transcript."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any

from textual.widgets import Static

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from tui.chat.composer import ChatComposer
from tui.chat.feed import ChatFeed
from tui.chat.first import NEW, NewChat
from tui.link import ChatLink
from tui.live.host import Host
from tui.live.key_hints import key_of, say_keys
from tui.live.opened import OpenConversation
from tui.live.steps.rows import step_key
from tui.live.texts import Spot
from tui.screens.words import say
from widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from agent_tui.clients.chat import ChatClient  # noqa: F401  named below in quotes


class OpenChat(OpenConversation["ChatClient"]):
    """Takes every event into the state and the transcript; answers ``approvals.Questions``."""

    link: ChatLink

    def __init__(
        self,
        link: ChatLink,
        chat: str | NewChat,
        host: Host,
        *,
        on_event: Callable[[ev.Event], None],
    ) -> None:
        conversation_id = chat if isinstance(chat, str) else NEW
        state = ConversationState(ev.ConversationInfo(conversation_id))
        self.transcript = Transcript(clock=host.clock, id="chat", classes="-hidden")
        super().__init__(state, link, host, on_event)
        self.new = chat if isinstance(chat, NewChat) else None  # until the chat is stored
        self.composer = ChatComposer(conversation_id)
        self.feed = ChatFeed(self.transcript, self.state)
        self.place = Static(say("chat.loading"), id="loading", markup=False)
        self._is_linked = asyncio.Event()  # whether the connection got further than connecting

    # --- what comes in ---------------------------------------------------------------------------------

    def begin(self) -> None:
        self._is_linked.clear()
        super().begin()

    async def _events(self) -> AsyncGenerator[ev.Event, None]:
        return self.new.events() if self.new is not None else await super()._events()

    async def take(self, event: ev.Event) -> None:
        self.state.apply(event)
        self.feed.take()
        if isinstance(event, ev.StepAdded):
            return  # the hot path: no line, only the words
        self.following.note(event)
        if isinstance(event, ev.LinkChanged) and event.status != "connecting":
            self._is_linked.set()
        self.tell_unpriced()
        self.look_if_deleted(event)
        self._on_event(event)

    def tell_deleted(self) -> None:
        self.composer.tell(say("chat.deleted", press=key_of(self.host.screen, "live.new_chat")))

    def show_place(self) -> bool:
        """Show the words, or in an empty chat what to do first; return whether that changed."""
        is_empty = not self.state.turns
        if is_empty and self.state.loaded:
            self.place.update(say_keys("chat.first", {"file": "@", "command": "/"}))
        if self.place.has_class("-hidden") != is_empty:
            return False
        self.place.set_class(not is_empty, "-hidden")
        self.transcript.set_class(is_empty, "-hidden")
        return True

    def look_for_default(self) -> None:
        """Show a new chat's current default model: it may have been connected meanwhile."""
        if self.new is not None:
            self.host.run("default", self._look_for_default(self.new), exclusive=True)

    async def _look_for_default(self, new: NewChat) -> None:
        await new.look_for_default()
        if new is self.new:
            await self.take(ev.ConversationChanged(new.info))

    # --- what is changed -------------------------------------------------------------------------------

    async def store(self) -> None:
        """Have a new chat stored, and follow it from now on."""
        if self.new is None:
            return
        stored = await self.new.store()
        self.new = None
        self.composer.belongs_to(stored.id)
        await self.take(ev.ConversationChanged(stored))
        self.begin()
        await self._is_linked.wait()

    async def change(self, **fields: Any) -> ev.ConversationInfo:
        """Change the chat, or a new one before it is stored; return it. Raises as ``ChatClient.change``."""
        if self.new is not None:
            return self.new.change(fields)
        client = await self.client()
        return await client.change(self.id, **fields)

    async def change_and_tell(self, note: str, **fields: Any) -> bool:
        """Change the chat, then say so above the line; return whether that succeeded."""
        is_done = await self.changed_by(self.change(**fields))
        if is_done:
            self.composer.tell(note)
        self.host.show_soon()
        return is_done

    # --- tools that ask --------------------------------------------------------------------------------

    def place_of(self, spot: Spot) -> tuple[Transcript, str]:
        return self.transcript, step_key(*spot)

    def go_to_ask(self, spot: Spot) -> None:
        """Do nothing: the only transcript is shown."""

    def focus_words(self) -> None:
        self.transcript.screen.set_focus(self.transcript, scroll_visible=False)
