"""The agent's input and output: one JSON object a line, orders on standard input, states on standard
output.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TextIO

from agent_tui.model.errors import ConfigError

StateWord = Literal["warm", "joined", "notice", "failed"]
OWNER_ATTRIBUTE = "agent-tui.owner"  # on the token of a person's own terminals; guests have none
END_OF_TURN_SECONDS = 0.5
TURN_DETECTIONS = ("vad", "stt", "realtime", "manual", "model", "detector")


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """The agent's models: the table ``[voice.agent]``.

    ``stt``, ``llm`` and ``tts`` are ``provider:model``, or empty for what needs no provider; ``llm`` may also
    be ``tasks:URL``, an agent service (protocols.md §3). ``hearing`` and ``voice`` name the offline models,
    empty for the installed ones. ``end_of_turn`` is the silence in seconds after which a turn counts as over.
    """

    stt: str = ""
    llm: str = ""
    tts: str = ""
    hearing: str = ""
    voice: str = ""
    turn_detection: str = TURN_DETECTIONS[0]
    end_of_turn: float = END_OF_TURN_SECONDS


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
    agent: ModelChoice = ModelChoice()


def read_assignment(line: str) -> Assignment:
    """Return the assignment in ``line`` (JSON); unknown fields are ignored.

    Raises ``ConfigError`` for anything else; the message contains nothing of the line.
    """
    try:
        fields = json.loads(line)
    except ValueError as error:
        raise ConfigError("the agent cannot read what it was told", "one JSON object was expected") from error
    if not isinstance(fields, Mapping):
        raise ConfigError("the agent cannot read what it was told", "one JSON object was expected")
    return assignment(fields)


def assignment(fields: Mapping[str, Any]) -> Assignment:
    """Return the assignment with these fields; raises ``ConfigError`` naming the wrong one."""
    owners = fields.get("owners") or ()
    if not isinstance(owners, list | tuple) or not all(isinstance(owner, str) for owner in owners):
        raise ConfigError("owners: must be a list of identities")
    agent = fields.get("agent")
    agent = {} if agent is None else agent
    if not isinstance(agent, Mapping):
        raise ConfigError("agent: must be a table")
    texts = ("url", "token", "room", "identity", "backend_url", "backend_token", "conversation_id", "locale")
    return Assignment(
        **{name: _text(fields, name) for name in texts},
        owners=tuple(owner for owner in owners if owner),
        greets=fields.get("greets", True) is not False,
        agent=_choice(agent),
    )


def _choice(fields: Mapping[str, Any]) -> ModelChoice:
    texts = {name: _text(fields, name) for name in ("stt", "llm", "tts", "hearing", "voice")}
    detection = _text(fields, "turn_detection") or TURN_DETECTIONS[0]
    if detection not in TURN_DETECTIONS:
        known = ", ".join(TURN_DETECTIONS)
        raise ConfigError("turn_detection: is not known", f"it is {detection!r}; known: {known}")
    delay = fields.get("end_of_turn")
    if delay is None:
        delay = END_OF_TURN_SECONDS
    if isinstance(delay, bool) or not isinstance(delay, int | float) or not 0.2 <= delay <= 10:
        raise ConfigError("end_of_turn: must be seconds from 0.2 to 10")
    return ModelChoice(**texts, turn_detection=detection, end_of_turn=float(delay))


def _text(fields: Mapping[str, Any], name: str) -> str:
    value = fields.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ConfigError(f"{name}: must be text")
    return value


def tell(out: TextIO, state: StateWord, **more: str) -> None:
    """Write a line about the agent's state: ``detail`` is for a person, ``code`` for programs."""
    out.write(json.dumps({"state": state, **more}) + "\n")
    out.flush()
