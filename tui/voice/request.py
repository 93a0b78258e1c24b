"""What a voice session is asked to be. Loaded before the first frame: nothing else is."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

DEFAULT_ROOM = "demo"


@dataclass(frozen=True, slots=True)
class VoiceRequest:
    """The options of ``agent-tui voice``, as they were given: empty is not given.

    ``agent`` is an agent's name, ``script`` a file with one. ``url`` and ``token`` mean LiveKit.
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
    name: str = ""
    wav: Path | None = None
    record: Path | None = None
    local_agent: bool = False
