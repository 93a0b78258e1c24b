"""What an agent's model is told (protocols.md §1): its system prompt, then what was said."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.backend.models.model import ChatMessage
from agent_tui.backend.store.queries import Said
from agent_tui.backend.store.rows import RoomRow


def model_messages(
    room: RoomRow, turn_order: int, round_: int, said: Sequence[Said]
) -> tuple[ChatMessage, ...]:
    """Return the messages for the turn of the agent at ``turn_order`` in ``round_``.

    ``said`` is what was said in whole, in order; cut and failed attempts are not part of it. Its own words
    are the assistant's, those of other agents a user's with ``[name]: `` in front (who spoke is told by
    the turn order, not the name: two agents may share one), a person's stand as they are. In a parallel
    room it is told what was said before the round began, otherwise all.
    """
    prompt = room.agents[turn_order].system_prompt
    messages = [ChatMessage("system", prompt)] if prompt else []
    for words in said:
        if not words.text or (room.parallel and words.round >= round_):
            continue
        if words.turn_order is None:
            messages.append(ChatMessage("user", words.text))
        elif words.turn_order == turn_order:
            messages.append(ChatMessage("assistant", words.text))
        else:
            messages.append(ChatMessage("user", f"[{words.name}]: {words.text}"))
    return tuple(messages)
