"""A room to be made, as the command line describes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agent_tui.errors import ConfigError

Mode = Literal["sequential", "parallel"]


@dataclass(frozen=True, slots=True)
class NewRoom:
    """The fields of ``POST /api/rooms``; ``None`` is left to the server. An agent is (name, model)."""

    task: str
    name: str = ""
    agents: tuple[tuple[str, str], ...] | None = None
    rounds: int | None = None
    mode: Mode | None = None
    keep_running: bool = False


def parse_agent(text: str) -> tuple[str, str]:
    """Return (name, model) of ``NAME[=MODEL]``; raises ``ConfigError`` when there is no name."""
    name, _, model = text.partition("=")
    if not name.strip():
        raise ConfigError("--agent needs NAME or NAME=MODEL")
    return name.strip(), model.strip()
