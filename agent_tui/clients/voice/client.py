"""The methods of a voice session for a screen or a command, on every transport."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Protocol

from agent_tui.model.voice import Transport, VoiceEvent


class VoiceClient(Protocol):
    """One session. ``events`` connects and is the only way in: close it (``contextlib.aclosing``) to leave.

    Calls that cannot be carried out raise ``AgentTuiError`` with a line for a person.
    """

    @property
    def transport(self) -> Transport: ...

    def events(self) -> AsyncGenerator[VoiceEvent, None]:
        """Join, yield what happens, and leave when closed. Ends after ``LinkMoved`` ended or failed."""
        ...

    async def say(self, text: str) -> None:
        """Send typed text; it interrupts the agent if it is speaking."""
        ...

    async def interrupt(self) -> None:
        """Interrupt the agent."""
        ...

    async def mute(self, muted: bool) -> None: ...

    async def start_talking(self) -> None:
        """Begin a push-to-talk turn; if the agent has none, unmute."""
        ...

    async def stop_talking(self, *, cancel: bool = False) -> None:
        """End the push-to-talk turn, or cancel it; if the agent has none, mute."""
        ...

    async def send_file(self, path: Path) -> None: ...

    async def ask_to_listen(self) -> None:
        """Ask the agent to listen to this terminal instead of another participant."""
        ...

    async def retry(self) -> None:
        """Do now what is waited for: the next connection, or another call for an agent that did not come."""
        ...
