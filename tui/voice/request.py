"""The options of a voice session. Nothing else of voice is loaded before the first frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.config.voice import DEFAULT_ROOM


@dataclass(frozen=True, slots=True)
class VoiceRequest:
    """The options of ``agent-tui voice``, as they were given: empty means not given.

    ``agent`` is an agent's name, ``script`` a file with one. ``url`` and ``token`` are LiveKit's.
    ``uses_aec``: cancel the echo of the speaker unless there are headphones.
    """

    room: str = DEFAULT_ROOM
    agent: str = ""
    script: Path | None = None
    text_only: bool = False
    muted: bool = False
    headphones: bool = False
    uses_aec: bool = True
    url: str = ""
    token: str = field(default="", repr=False)
    input_name: str = ""
    output_name: str = ""
    wav: Path | None = None
    speech: bytes | None = field(default=None, repr=False)  # the sound of ``wav``, once it is read
    record: Path | None = None
    local_agent: bool = False

    @property
    def name(self) -> str:
        """What the conversation is called: the room, or the file with the agent, which is in no room."""
        return self.room if self.script is None else self.script.name
