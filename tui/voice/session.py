"""What a screen, or a command without one, gets of a voice session."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from agent_tui.model.errors import ConfigError
from agent_tui.model.voice import HistoryLoaded, ItemStored, VoiceEvent
from tui.voice.request import VoiceRequest

if TYPE_CHECKING:
    from agent_tui.audio.sound import Sound
    from agent_tui.clients.voice.client import VoiceClient
    from tui.voice.keeping import Keeper


class Speech(Protocol):
    """A file that is the microphone. It waits until ``begin``."""

    def begin(self) -> None: ...

    @property
    def is_over(self) -> bool:
        """Whether all of it was said."""
        ...


@dataclass(frozen=True, slots=True)
class VoiceSession:
    """One session, not yet joined: ``client.events()`` joins. ``place`` says for a person where it is;
    ``conversation_id`` is that of its log in our backend, empty where there is none; ``speech`` is the file
    that is said, where there is one.
    """

    client: VoiceClient
    sound: Sound
    room: str
    place: str = ""
    conversation_id: str = ""
    is_owner: bool = True
    speech: Speech | None = None
    keeper: Keeper | None = None  # puts on record what is said, where the agent does not

    @property
    def log_id(self) -> str:
        """The id of the conversation that what is said is stored in; "" for none."""
        return self.conversation_id or (self.keeper.conversation_id if self.keeper is not None else "")

    def keep(self, event: VoiceEvent, speaker: str) -> None:
        """Put on record what an event stores, where that is for this terminal to do."""
        if self.keeper is not None and isinstance(event, ItemStored):
            self.keeper.keep([event.item], speaker)
        elif self.keeper is not None and isinstance(event, HistoryLoaded):
            self.keeper.keep(event.items, speaker)

    async def aclose(self) -> None:
        """Let go of the devices, once everything is on record."""
        await self.sound.aclose()
        if self.keeper is not None:
            await self.keeper.aclose()


class NotSetUp(ConfigError):
    """What voice needs is not on this machine; the detail says what to do."""


class VoiceSource(Protocol):
    """Finds or starts what a session needs: the backend, its LiveKit server, a token."""

    async def open(self, request: VoiceRequest, tell: Callable[[str], None]) -> VoiceSession:
        """Return a new session; ``tell`` is told in one line what is waited for.

        Raises ``NotSetUp`` where something is missing, ``ConnectFailed`` where no server is reached.
        """
        ...

    async def devices(self) -> tuple[list[str], list[str]]:
        """Return the names of the microphones and of the speakers there are."""
        ...

    def remember(self, *, input_name: str | None = None, output_name: str | None = None) -> None:
        """Keep the choice of a device for the next session; raises ``AgentTuiError`` when it cannot."""
        ...

    async def aclose(self) -> None:
        """End what was opened."""
        ...
