"""What a demo agent says in its turn of a room.

For a few tasks there are debates written by hand (``LANGUAGE/NAME.toml``); each agent plays its part of one.
For any other task it says that it cannot think, and how to connect a model (``LANGUAGE/room.toml``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent_tui.backend.models.demo.scripts import find, read
from agent_tui.backend.models.model import ModelRequest
from agent_tui.config.agent_templates import language_of
from agent_tui.model.events import AgentInfo
from agent_tui.model.inert import inert_line

VOICES = ("critic", "engineer", "writer")  # those with a part of their own in each round of a debate
MAX_QUOTE_CHARACTERS = 120
MAX_NAME_CHARACTERS = 40
MAX_PROMPT_CHARACTERS = 2_000
MAX_TASK_CHARACTERS = 2_000
PERSON = "用户"  # protocols.md §1: the sender name of what a person says
GAP = "\n\n"

# Signs that would turn into emphasis, code, tables, links or tags in a quotation.
_ACTIVE = str.maketrans({"`": "'", "*": "", "|": "/", "<": "‹", ">": "›", "\\": "/", "~": "-"})
_PREFIX = re.compile(r"\[(.{1,80}?)\]: ")
_TIMES = re.compile(r"(?<=\d)\s*\*\s*(?=\d)")
_SLOT = re.compile(r"\{([a-z]+)\}")


def turn_text(request: ModelRequest, seed: int) -> str:
    """Return the demo model's turn for ``request``, in Markdown."""
    language = language_of(request.task)
    words = read(f"{language}/room.toml")
    task = safe_line(request.task, MAX_TASK_CHARACTERS)
    agents = request.agents or (AgentInfo("", request.speaker),)
    mine = request.member.agent_id if request.member else ""
    seat = next((n for n, agent in enumerate(agents) if agent.id == mine), 0)
    names = [safe_line(agent.name, MAX_NAME_CHARACTERS) for agent in agents]
    slots = {"task": safe_line(task, MAX_QUOTE_CHARACTERS) or words["no_task"], "round": str(request.round)}
    others = names[:seat] + names[seat + 1 :]
    slots["other"] = others[(_number(seed, task) + request.round + seat) % len(others)] if others else ""
    if debate := find("debate", task):
        voices = voices_of(agents)
        # An agent does not call itself by its name, nor mention one that is not there.
        slots |= {voice: names[at] for at, voice in enumerate(voices) if voice and at != seat}
        parts = _debate(read(f"{language}/{debate.lastgroup}.toml"), words, voices, request, seat, seed)
    else:
        models = [safe_line(agent.model, MAX_NAME_CHARACTERS) for agent in agents]
        slots["rows"] = "\n".join(f"| {name} | {model} |" for name, model in zip(names, models, strict=True))
        parts = _own(words, request, seat)
    if person := _newest_of_a_person(request):
        parts.insert(0, words["person"].replace("{quote}", person))
    return GAP.join(filled(part, slots) for part in parts)


def voices_of(agents: Sequence[AgentInfo]) -> tuple[str, ...]:
    """Return each agent's voice in a debate: by its role, else the next free one, else none."""
    left = [*VOICES]
    voices = []
    for agent in agents:
        role = role_of(agent.name, agent.system_prompt)
        voices.append(role if role in left else "")
        left = [voice for voice in left if voice != role]
    return tuple(voice or (left.pop(0) if left else "") for voice in voices)


def role_of(name: str, system_prompt: str) -> str:
    """Return the voice that a name, else a system prompt mentions, in any of the three languages, or ""."""
    found = find("role", name) or find("role", system_prompt[:MAX_PROMPT_CHARACTERS])
    return (found and found.lastgroup) or ""


def filled(text: str, slots: Mapping[str, str]) -> str:
    """Return ``text`` with its slots filled; a line about an agent who is not there is left out."""
    lines = []
    for line in text.strip().split("\n"):
        wanted = {slot for slot in _SLOT.findall(line) if slot in slots or slot in VOICES}
        if all(slots.get(slot) for slot in wanted):
            lines.append(_SLOT.sub(lambda slot: slots.get(slot[1], slot[0]), line))
        elif lines and not lines[-1]:
            lines.pop()  # the blank line before it
    return "\n".join(lines).strip()


def safe_line(text: str, limit: int) -> str:
    """Return ``text`` as one safe line of at most ``limit`` characters without Markdown; a sum keeps its
    sign.
    """
    line = inert_line(_TIMES.sub(" × ", text[: limit * 4 + 64]).translate(_ACTIVE), limit)
    return re.sub(r"^(?:[#>+-]+\s+|\d+[.)]\s+|=+)+", "", line).strip()


def _debate(
    debate: Mapping[str, Any],
    words: Mapping[str, Any],
    voices: Sequence[str],
    request: ModelRequest,
    seat: int,
    seed: int,
) -> list[str]:
    """Return the part of the agent at ``seat``; the first agent begins by saying that this is a demo."""
    parts = [words["disclosure"]] if request.round == 1 and seat == 0 else []
    if _sums_up(request):
        return [*parts, debate["decision"]]
    if part := _parts(debate, voices, request, seed).get((request.round, seat)):
        return [*parts, part]
    passes: list[str] = words["passes" if len(voices) > 1 else "alone"]
    return [*parts, passes[(seed + request.round + seat) % len(passes)]]


def _parts(
    debate: Mapping[str, Any], voices: Sequence[str], request: ModelRequest, seed: int
) -> dict[tuple[int, int], str]:
    """Return the parts by round and seat: the voices' parts first and last and in the second round; between
    these, and for agents without a voice, the other parts.
    """
    at = seed % len(debate["more"])
    more = [*debate["more"][at:], *debate["more"][:at]]
    # Without a synthesis the writer decides, else the last agent.
    decides = voices.index("writer") if "writer" in voices else len(voices) - 1
    parts = {}
    for round_ in range(1, request.max_rounds + 1):
        moment = {request.max_rounds: "closing", 1: "opening", 2: "middle"}.get(round_, "")
        for seat, voice in enumerate(voices):
            if seat == decides and 1 < round_ == request.max_rounds and not request.synthesizer:
                parts[round_, seat] = debate["decision"]
            elif part := debate[voice].get(moment) if voice else "":
                parts[round_, seat] = part
            elif more:
                parts[round_, seat] = more.pop(0)
    return parts


def _own(words: Mapping[str, Any], request: ModelRequest, seat: int) -> list[str]:
    """Return the turn for a task without a debate: each agent shows something else in each round."""
    shows: list[str] = words["shows"]
    if _sums_up(request):
        return [words["conclusion"]]
    if request.round > len(shows):
        return [words["nothing"]]
    head: list[str] = words["first" if request.round == 1 else "again"]
    return [head[(request.round + seat) % len(head)], shows[(request.round - 1 + seat) % len(shows)]]


def _sums_up(request: ModelRequest) -> bool:
    """Return whether the turn is the synthesis of the room."""
    is_mine = request.member is not None and request.member.agent_id == request.synthesizer
    return is_mine and request.round == request.max_rounds


def _newest_of_a_person(request: ModelRequest) -> str:
    """Return a person's last message since the agent's last turn, as a short line; "" if there is none."""
    for message in reversed(request.messages):
        if message.role == "assistant":
            break
        if message.role != "user" or message.content.strip() == request.task.strip():
            continue
        prefix = _PREFIX.match(message.content)
        if prefix is None or prefix[1] == PERSON:
            return safe_line(message.content[prefix.end() if prefix else 0 :], MAX_QUOTE_CHARACTERS)
    return ""


def _number(seed: int, text: str) -> int:
    """Return a number from both, the same in every process (``hash`` is not)."""
    digest = hashlib.sha256(f"{seed}:{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big")
