"""What a voice session offers to a screen or a command, whatever carries it."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Protocol

from agent_tui.model.voice import Transport, VoiceEvent


class VoiceClient(Protocol):
    """One session. ``events`` connects and is the only way in: close it (``contextlib.aclosing``) to leave.

    Calls raise ``AgentTuiError`` with a line for a person when they cannot be carried out.
    """

    @property
    def transport(self) -> Transport: ...

    def events(self) -> AsyncGenerator[VoiceEvent, None]:
        """Join, yield what happens, and leave when closed. Ends after ``LinkMoved`` ended or failed."""
        ...

    async def say(self, text: str) -> None:
        """Send typed text; it interrupts the agent if it speaks."""
        ...

    async def interrupt(self) -> None:
        """Make the agent be silent."""
        ...

    async def mute(self, muted: bool) -> None: ...

    async def start_talking(self) -> None:
        """Begin a push-to-talk turn; where the agent offers none, unmute."""
        ...

    async def stop_talking(self, *, cancel: bool = False) -> None:
        """End the push-to-talk turn, or take it back; where the agent offers none, mute."""
        ...

    async def send_file(self, path: Path) -> None: ...

    async def ask_to_listen(self) -> None:
        """Ask the agent to listen to this terminal instead of another participant."""
        ...

    async def retry(self) -> None:
        """Try now what is waited for: the next connection, or an agent that did not come."""
        ...
