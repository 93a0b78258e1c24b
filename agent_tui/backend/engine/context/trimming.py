"""Leaves out the oldest messages that do not fit a model's context: a pure function of messages."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from agent_tui.backend.models.model import ChatMessage, ModelRequest
from agent_tui.backend.models.prices import Terms
from agent_tui.wire.content import dump

MESSAGE_TOKENS = 4  # the cost of a message besides its words
IMAGE_TOKENS = 1_600  # what the highest-counting providers count for a large image
SHORT_TOKENS = 1_500  # a shorter prompt fits every model
ANSWER_TOKENS = 2_000  # kept free for an answer of unlimited length
SPARE_PART = 16  # this part of a context is kept free, since the number of tokens of a text is only estimated
LEAST_ANSWER_TOKENS = 64
_LEFT_OUT = re.compile(r"\[(\d+) earlier messages left out\]")


def estimate(text: str) -> int:
    """Return about how many tokens ``text`` has: four characters of ASCII count as one, all others as one
    each.

    This is more than most tokenizers count, since a prompt that does not fit is refused as a whole. It is not
    the count that people are shown (``token_count``), which is the protocol's.
    """
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain


def room_for_history(terms: Terms, max_tokens: int) -> int:
    """Return how many tokens the messages may have: the context without ``max_tokens`` of an answer (0:
    unlimited), at least half of it.
    """
    context = terms.context_tokens
    return context - (min(max_tokens, context // 2) or min(ANSWER_TOKENS, context // 4))


def left_out(number: int) -> ChatMessage:
    """Return the line in place of messages that were left out."""
    return ChatMessage("user", f"[{number} earlier messages left out]")


def trim(messages: Sequence[ChatMessage], tokens: int) -> tuple[tuple[ChatMessage, ...], int]:
    """Return (the part of ``messages`` that fits into this many ``tokens``, how many were left out).

    System messages in front, the task (the first message after them) and the newest message always stay; of
    the rest the oldest go first, and one line takes their place.
    """
    units = _units(messages)
    head = 0
    while head < len(units) and units[head][0].role == "system":
        head += 1
    head = min(head + 1, len(units))
    kept, rest = units[:head], units[head:]
    room = tokens - sum(map(_cost, _joined(kept)))
    if sum(map(_cost, _joined(rest))) <= room:
        return tuple(messages), 0
    room -= _cost(left_out(len(rest)))
    first = len(rest)
    while first > 0 and (first == len(rest) or sum(map(_cost, rest[first - 1])) <= room):
        first -= 1
        room -= sum(map(_cost, rest[first]))
    if first == 0:
        return tuple(messages), 0
    gone = sum(map(_count, _joined(rest[:first])))
    return (*_joined(kept), left_out(gone), *_joined(rest[first:])), gone


def _units(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """Return groups that stay or go together: a message, and the results of its calls."""
    units: list[list[ChatMessage]] = []
    for message in messages:
        if message.role == "tool" and units:
            units[-1].append(message)
        else:
            units.append([message])
    return units


def _joined(units: Sequence[Sequence[ChatMessage]]) -> list[ChatMessage]:
    return [message for unit in units for message in unit]


def _cost(message: ChatMessage) -> int:
    calls = sum(estimate(call.name) + estimate(call.arguments) for call in message.calls)
    images = IMAGE_TOKENS * len(message.images)
    return MESSAGE_TOKENS + estimate(message.content) + calls + images


def prompt_tokens(request: ModelRequest) -> int:
    """Return roughly how many tokens a call has before its answer: its messages and the tools it offers."""
    tools = sum(estimate(tool.name + tool.description + dump(tool.parameters)) for tool in request.tools)
    return tools + sum(map(_cost, request.messages))


def fitted(request: ModelRequest, context: int, *, limits_answer: bool) -> tuple[ModelRequest, int]:
    """Return (the call as it fits into a ``context`` of this many tokens, how many messages were left out).

    The limit of the answer's length is never more than what is left; with ``limits_answer`` there is always
    one.
    """
    answer = min(request.max_tokens or ANSWER_TOKENS, context // 4)
    tools = prompt_tokens(replace(request, messages=()))
    messages, gone = trim(request.messages, context - context // SPARE_PART - answer - tools)
    request = replace(request, messages=messages)
    left = max(context - context // SPARE_PART - prompt_tokens(request), LEAST_ANSWER_TOKENS)
    if request.max_tokens or limits_answer:
        request = replace(request, max_tokens=min(request.max_tokens or left, left))
    return request, gone


def _count(message: ChatMessage) -> int:
    """Return how many messages one counts for: several, if it is the line for those that were left out
    before.
    """
    said = _LEFT_OUT.fullmatch(message.content) if message.role == "user" else None
    return int(said[1]) if said else 1
