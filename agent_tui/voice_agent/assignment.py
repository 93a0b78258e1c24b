"""The agent's input and output: one JSON object a line, orders on standard input, states on standard
output.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Literal, TextIO

from agent_tui.config.voice import TURN_DETECTION, VoiceAgentConfig
from agent_tui.model.errors import ConfigError
from agent_tui.wire.log import read_record

StateWord = Literal["warm", "joined", "notice", "failed"]
OWNER_ATTRIBUTE = "agent-tui.owner"  # on the token of a person's own terminals; guests have none
END_OF_TURN_SECONDS = 0.5
UNREADABLE = "the agent cannot read what it was told"
_USUAL = VoiceAgentConfig()


@dataclass(frozen=True, slots=True)
class Assignment:
    """Where to go and whom to serve. Tokens never show in a repr.

    ``url`` and ``token`` are LiveKit's, empty for the console. ``owners``: identities with this beginning are
    the owner's; if it is empty, those whose token has ``OWNER_ATTRIBUTE``. ``greets``: say hello to the first
    person.
    """

    url: str = ""
    token: str = field(default="", repr=False)
    room: str = ""
    identity: str = ""
    backend_url: str = ""
    backend_token: str = field(default="", repr=False)
    conversation_id: str = ""
    owners: tuple[str, ...] = ()
    locale: str = ""
    greets: bool = True
    agent: VoiceAgentConfig = _USUAL


def read_assignment(line: str) -> Assignment:
    """Return the assignment in ``line`` (JSON); unknown fields are ignored.

    Raises ``ConfigError`` for anything else, naming the wrong field; the message contains no value of it.
    """
    try:
        assignment = read_record(Assignment, json.loads(line))
    except ValueError as error:
        why = "one JSON object was expected" if isinstance(error, json.JSONDecodeError) else str(error)
        raise ConfigError(UNREADABLE, why) from error
    if assignment.agent.turn_detection not in ("", *TURN_DETECTION):
        raise ConfigError("turn_detection: is not known", f"known: {', '.join(TURN_DETECTION)}")
    return assignment


def check_who_answers(assignment: Assignment) -> None:
    """Raise ``ConfigError`` if nobody would answer: there is neither a model nor a backend's conversation."""
    missing = [name for name in ("backend_url", "conversation_id") if not getattr(assignment, name)]
    if missing and not assignment.agent.llm:
        raise ConfigError(UNREADABLE, f"{missing[0]} is missing")


def tell(out: TextIO, state: StateWord, **more: str) -> None:
    """Write a line about the agent's state: ``detail`` is for a person, ``code`` for programs."""
    out.write(json.dumps({"state": state, **more}) + "\n")
    out.flush()
