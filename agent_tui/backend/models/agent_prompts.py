"""The messages for another program's agent: it remembers its conversation, so it gets only what is new.

A language model gets everything at every call. An agent behind a service or a socket (protocols.md §3 and §4)
keeps its own history: it gets once who it is and what was said, then what was said since. A digest records
what it got. If the conversation no longer begins with that (a branch was changed, an older turn was
repeated), or it is unknown whether the last words arrived, a new session gets everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent_tui.backend.models.continuing import instruction
from agent_tui.backend.models.model import AgentSession, ChatMessage, ModelRequest

GO_ON = "[Your last message was cut off. Go on where it stopped; what you did for it is done.]"
SAY_AGAIN = "[Your last message did not arrive as a whole. Say it again, from its beginning.]"
YOUR_TURN = "[Nobody said anything since. It is your turn again.]"


@dataclass(frozen=True, slots=True)
class AgentPrompt:
    """The next words for an agent, and its session after them. ``role`` is its system prompt. ``is_new``: the
    words begin the session.
    """

    text: str
    role: str
    session: AgentSession
    is_new: bool


def next_prompt(request: ModelRequest, session: AgentSession) -> AgentPrompt:
    """Return the next words for the agent: in its ``session``, or in a new one if that is not possible."""
    role = "\n\n".join(message.content for message in request.messages if message.role == "system")
    spoken = [message for message in request.messages if message.role in ("user", "assistant")]
    messages = [message for message in spoken if message.content]
    newest = max((place for place, message in enumerate(messages, 1) if message.role == "user"), default=0)
    digest = _digest(messages[:newest])
    continues = bool(request.continues) or request.messages[-1].role == "tool"
    known = messages[: session.told]
    is_known = bool(session.id) and session.is_sure and session.told > 0
    if not is_known or len(known) < session.told or _digest(known) != session.digest:
        new_session = AgentSession(session.backend, "", newest, digest, request.round)
        parts = _whole_history(request, messages if continues else messages[:newest])
        return AgentPrompt("\n\n".join([*parts, *_go_on(request, continues)]), role, new_session, is_new=True)
    news = [message.content for message in messages[session.told : newest] if message.role == "user"]
    parts = [*news, *_go_on(request, continues)]
    if not parts:
        parts = [YOUR_TURN if request.round > session.round else SAY_AGAIN]
    next_session = replace(session, told=newest, digest=digest, round=request.round)
    return AgentPrompt("\n\n".join(parts), role, next_session, is_new=False)


def _whole_history(request: ModelRequest, messages: Sequence[ChatMessage]) -> list[str]:
    mark = f"[{request.speaker or 'you'}]: "
    return [f"{mark if message.role == 'assistant' else ''}{message.content}" for message in messages]


def _go_on(request: ModelRequest, continues: bool) -> list[str]:
    if not continues:
        return []
    return [instruction(request.continues) if request.continues else GO_ON]


def _digest(messages: Sequence[ChatMessage]) -> str:
    digest = hashlib.sha256()
    for message in messages:
        digest.update(
            f"{message.role}\0{len(message.content)}\0{message.content}\0".encode("utf-8", "replace")
        )
    return digest.hexdigest()
