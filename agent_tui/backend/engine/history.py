"""What an agent's model is told (protocols.md §1): its system prompt and its room, then what was said."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.backend.engine.agents import room_told, without_own_mark
from agent_tui.backend.models.model import ChatMessage
from agent_tui.backend.store.reads import Said
from agent_tui.backend.store.rows import ConversationRow, TurnRow
from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.events import AgentInfo


def model_messages(
    room: ConversationRow, agent: AgentInfo, turn: TurnRow, said: Sequence[Said], until: int | None = None
) -> tuple[ChatMessage, ...]:
    """Return the messages for the ``turn`` of ``agent``.

    ``said`` is what was said for good, in the order it was begun; cut and failed attempts are not part of
    it, nor is what the agent said in this very turn. ``until`` is where a turn began that is continued: what
    other agents said since then is left out, what people said since then is not.

    The agent's own words are the assistant's, those of other agents a user's with ``[name]: `` in front (who
    spoke is told by the id, not the name: two agents may share one), a person's stand as they are. A mark
    that a model wrote itself in front of its words is left out: who spoke is said once. In a parallel room
    it is told what agents said before the round began, otherwise all. What was whispered to another agent it
    is not told.
    """
    prompt = _prompt(room, agent, turn)
    messages = [ChatMessage("system", prompt)] if prompt else []
    for words in _in_order(room, said):
        if not words.text or words.to not in ("", agent.id):
            continue
        if words.agent_id == agent.id and words.round == turn.round:
            continue
        if until is not None and words.agent_id and words.seq >= until:
            continue
        if room.parallel and words.agent_id and words.round >= turn.round:
            continue
        if not words.agent_id:
            messages.append(ChatMessage("user", words.text))
            continue
        text = without_own_mark(words.text, words.name)
        if words.agent_id == agent.id:
            messages.append(ChatMessage("assistant", text))
        else:
            messages.append(ChatMessage("user", f"[{words.name}]: {text}"))
    return tuple(messages)


def _prompt(room: ConversationRow, agent: AgentInfo, turn: TurnRow) -> str:
    """Return the agent's own prompt and what it is told of the room; of that the demo model needs nothing."""
    if agent.provider_id == DEMO_PROVIDER:
        return agent.system_prompt
    told = room_told(agent, room.agents, room.task, turn.round, room.max_rounds)
    return f"{agent.system_prompt}\n\n{told}" if agent.system_prompt else told


def _in_order(room: ConversationRow, said: Sequence[Said]) -> Sequence[Said]:
    if not room.parallel:
        return said
    # Not by time: what models are told does not hang on who was faster. People's words open a round.
    return sorted(said, key=lambda words: (words.round, words.agent_id != "", words.place))
