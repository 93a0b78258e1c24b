"""A voice session as a screen, or a command without one, gets it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent_tui.model.errors import ConfigError
from agent_tui.model.voice import HistoryLoaded, ItemStored, VoiceEvent
from tui.voice.request import VoiceRequest

if TYPE_CHECKING:
    from agent_tui.audio.clocked import ClockedSound
    from agent_tui.audio.devices import Direction
    from agent_tui.audio.sound import Sound
    from agent_tui.clients.voice.client import VoiceClient
    from tui.voice.keeping import Keeper


@dataclass(frozen=True, slots=True)
class VoiceSession:
    """One session that has not joined yet: ``client.events()`` joins. ``place`` says for a person where it
    is; ``conversation_id`` is its log's in our backend, empty if there is none; ``speech`` is the file that
    is played, if there is one; ``room`` is the one that a given token is for, "" for the requested one.
    """

    client: VoiceClient
    sound: Sound
    place: str = ""
    conversation_id: str = ""
    is_owner: bool = True
    speech: ClockedSound | None = None
    keeper: Keeper | None = None  # stores what is said, if the agent does not
    room: str = ""
    delete_empty: Callable[[], Awaitable[None]] | None = None  # its log, if our backend does not

    @property
    def asks_in(self) -> str:
        """The id of the conversation whose tools ask this terminal; "" for none: guests are not asked."""
        return self.conversation_id if self.is_owner else ""

    @property
    def log_id(self) -> str:
        """The id of the conversation in which the session is stored; "" for none."""
        return self.conversation_id or (self.keeper.conversation_id if self.keeper is not None else "")

    def keep(self, event: VoiceEvent, speaker: str) -> None:
        """Store an item, if that is this terminal's job."""
        if self.keeper is not None and isinstance(event, ItemStored):
            self.keeper.keep([event.item], speaker)
        elif self.keeper is not None and isinstance(event, HistoryLoaded):
            self.keeper.keep(event.items, speaker)

    async def aclose(self) -> None:
        """Release the devices, when everything is stored; a log of nothing is deleted."""
        await self.sound.aclose()
        if self.keeper is not None:
            await self.keeper.aclose()
        if self.delete_empty is not None:
            await self.delete_empty()


class NotSetUp(ConfigError):
    """Something that voice needs is missing on this machine; the detail says what to do."""


class VoiceSource(Protocol):
    """Finds or starts what a session needs: the backend, its LiveKit server, a token."""

    async def open(self, request: VoiceRequest, tell: Callable[[str], None]) -> VoiceSession:
        """Return a new session; ``tell`` gets a line about what is being waited for.

        Raises ``NotSetUp`` if something is missing, ``ConnectFailed`` if no server is reached.
        """

    async def devices(self) -> tuple[list[str], list[str]]:
        """Return the names of the microphones and of the speakers."""

    def remember(self, direction: Direction, name: str) -> None:
        """Store the choice of a device for the next session; raises ``AgentTuiError`` if that fails."""
