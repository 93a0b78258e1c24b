"""What models are told: in a room (protocols.md §1) the agent's prompt, the room, then what was said; in a
chat its system prompt and the branch.
"""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.backend.engine.agents import room_told, without_own_mark
from agent_tui.backend.engine.answer_history import branch_told
from agent_tui.backend.engine.attempt import Brief
from agent_tui.backend.engine.chat_fields import Question
from agent_tui.backend.models.model import ChatMessage, Member, ModelRequest
from agent_tui.backend.store.reads import Said
from agent_tui.backend.store.rows import ConversationRow, TurnRow
from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.chains import joined_steps
from agent_tui.model.events import AgentInfo, Message, Step

ROOM_FAILED = "LLM stream failed"  # protocols.md §1
CHAT_FAILED = "API Error"  # protocols.md §2

# What an attempt continues: the attempts before it, oldest first, each with its steps, if it has any.
Chain = Sequence[tuple[TurnRow, tuple[Step, ...]]]


def room_brief(room: ConversationRow, turn: TurnRow, said: Sequence[Said], chain: Chain) -> Brief:
    """Return what the ``turn`` of an agent is spoken from; ``said`` is that of ``model_messages``."""
    agent = next(agent for agent in room.agents if agent.id == turn.agent_id)
    before: tuple[Step, ...] = ()
    for row, steps in chain:
        before = joined_steps(before, steps or (Step("step-0", content=row.text),))
    request = ModelRequest(
        messages=model_messages(room, agent, turn, said, chain[0][0].first_seq if chain else None),
        model=agent.model,
        speaker=agent.name,
        task=room.task,
        round=turn.round,
        max_rounds=room.max_rounds,
        member=Member(room.id, agent.id, room.workspace),
    )
    continued = frozenset(row.message_id for row, _ in chain)
    return Brief(request, ROOM_FAILED, before, continued, room.tools, keeps_steps=bool(room.tools))


def chat_brief(
    row: ConversationRow, history: Sequence[Message], question: Question, before: tuple[Step, ...]
) -> Brief:
    """Return what an answer is spoken from: ``history`` is the branch with the question at its end,
    ``before`` are the steps of the answer that it continues.
    """
    prompt = row.agent.system_prompt if question.system_prompt is None else question.system_prompt
    request = ModelRequest(
        messages=tuple(branch_told(prompt, history)),
        model=row.agent.model,
        speaker="",
        task=history[-1].text,
        round=1,
        max_rounds=1,
        temperature=row.temperature,
        thinking=row.thinking if question.thinking is None else question.thinking,
        member=Member(row.id, row.id, row.workspace),
    )
    tools = row.tools if question.tools is None else question.tools
    return Brief(request, CHAT_FAILED, before, tools=tools, is_alone=question.is_alone)


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
