"""The conversation that a screen shows, room or chat: its state, its server, and the loop that follows it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import replace
from typing import Generic

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, NotFound
from agent_tui.state.conversation import ConversationState
from tui.link import C, Link
from tui.live.following import Following
from tui.live.host import Host
from tui.live.texts import unpriced_text


class OpenConversation(Generic[C]):
    """What ``OpenRoom`` and ``OpenChat`` have in common; they say what is fed with what happens."""

    def __init__(
        self, state: ConversationState, link: Link[C], host: Host, on_event: Callable[[ev.Event], None]
    ) -> None:
        """``on_event`` is called for every event that is more than words, once it is shown."""
        self.state = state
        self.host = host
        self.following = Following(host, self.take)
        self.link = link
        self.client = link.client
        self._unpriced = ""  # what the person was told of the budget
        self._on_event = on_event

    @property
    def id(self) -> str:
        return self.state.info.id

    def begin(self) -> None:
        self.following.begin(self._events)

    async def _events(self) -> AsyncGenerator[ev.Event, None]:
        return await self.link.follow(self.id)

    @abstractmethod
    async def take(self, event: ev.Event) -> None:
        """Take an event into the state, and show it."""

    @abstractmethod
    def tell_deleted(self) -> None:
        """Say above the line that it was deleted elsewhere, and how to begin another."""

    def tell_unpriced(self) -> None:
        """Say, once, that the budget in dollars does not limit a model."""
        text = unpriced_text(self.state.info)
        if text and text != self._unpriced:
            self.host.tell(text)
        self._unpriced = text

    def look_if_deleted(self, event: ev.Event) -> None:
        """Say so when the server has no more of what was shown."""
        if (
            isinstance(event, ev.LinkChanged)
            and self.state.loaded
            and isinstance(self.following.failure, NotFound)
        ):
            self.state.apply(ev.LinkChanged("refused"))  # the reason would name its id
            self.tell_deleted()

    async def is_deleted(self, error: AgentTuiError) -> bool:
        """Whether ``error`` came because the server has it no more."""
        if not isinstance(error, NotFound):
            return False
        try:
            await (await self.client()).as_known(self.id)
        except NotFound:
            return True
        except AgentTuiError:
            pass
        return False

    async def changed_by(self, answer: Awaitable[ev.RoomInfo | ev.ConversationInfo]) -> bool:
        """Take a call's answer into the state, or show its error; return whether it succeeded."""
        try:
            info = await answer
        except AgentTuiError as error:
            self.host.fail(error)
            return False
        await self.take_answer(info)
        return True

    async def take_answer(self, info: ev.RoomInfo | ev.ConversationInfo) -> None:
        """Take a call's answer, but for the status: it may be older than the one that was followed here."""
        if isinstance(info, ev.RoomInfo):
            await self.take(ev.RoomChanged(info))  # the state keeps a room's itself
        else:
            known = self.state.info
            status = known.status if isinstance(known, ev.ConversationInfo) else info.status
            await self.take(ev.ConversationChanged(replace(info, status=status)))
