"""What does not fit a model's context is left out, oldest first: a pure function of messages."""

from __future__ import annotations

from collections.abc import Sequence

from agent_tui.backend.models.model import ChatMessage
from agent_tui.backend.models.prices import Terms

MESSAGE_TOKENS = 4  # what a message costs besides its words
ANSWER_TOKENS = 2000  # kept free for an answer whose length nobody limits


def estimate(text: str) -> int:
    """Return about how many tokens ``text`` has: four characters of ASCII are one, all others one each.

    More than most tokenizers count, for what does not fit is refused as a whole. It is not the count that
    people are shown (``token_count``), which is the protocol's.
    """
    plain = len(text.encode("ascii", "ignore"))
    return -(-plain // 4) + len(text) - plain


def room_for_history(terms: Terms, max_tokens: int) -> int:
    """Return how many tokens the messages may have: of the context what ``max_tokens`` (0: nobody says how
    many) of an answer leave.
    """
    return terms.context_tokens - (max_tokens or min(ANSWER_TOKENS, terms.context_tokens // 4))


def left_out(number: int) -> ChatMessage:
    """Return the one line that stands for messages that were left out."""
    return ChatMessage("user", f"[{number} earlier messages left out]")


def trim(messages: Sequence[ChatMessage], tokens: int) -> tuple[tuple[ChatMessage, ...], int]:
    """Return (what of ``messages`` fits into so many ``tokens``, how many were left out).

    System messages in front, the task (the first message after them) and the newest message always stay;
    of the rest the oldest go first, and one line stands where they were.
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
    gone = len(_joined(rest[:first]))
    return (*_joined(kept), left_out(gone), *_joined(rest[first:])), gone


def _units(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """Return what stays or goes together: a message, and the results of its calls."""
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
    return MESSAGE_TOKENS + estimate(message.content) + calls
