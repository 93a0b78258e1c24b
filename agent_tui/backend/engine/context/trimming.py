"""Shortens and leaves out the oldest of what does not fit a model's context: a pure function of messages."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from agent_tui.backend.models.model import ChatMessage, ModelRequest, NotePiece
from agent_tui.backend.models.prices import Terms
from agent_tui.wire.content import dump

MESSAGE_TOKENS = 4  # the cost of a message besides its words
IMAGE_TOKENS = 1_600  # what the highest-counting providers count for a large image
SHORT_TOKENS = 1_500  # a shorter prompt fits every model
ANSWER_TOKENS = 2_000  # kept free for an answer of unlimited length
SPARE_PART = 16  # this part of a context is kept free, since the number of tokens of a text is only estimated
LEAST_ANSWER_TOKENS = 64
OLD_RESULT_TOKENS = 500  # of a tool's result that is not the newest, once there is too little room
LEAST_RESULT_TOKENS = 100  # a result is not shortened to less
_CLIPPED = re.compile(r"\n?\[… (\d[\d,]*) characters left out …\]\n?")
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


class Fitting(NamedTuple):
    """The messages that fit, how many were left out, and how many results of tools were shortened."""

    messages: tuple[ChatMessage, ...]
    left_out: int = 0
    shortened: int = 0

    @property
    def notes(self) -> list[NotePiece]:
        """The notes for people about what the model does not get."""
        notes = (NotePiece("trimmed", self.left_out), NotePiece("shortened", self.shortened))
        return [note for note in notes if note.count]


def trim(messages: Sequence[ChatMessage], tokens: int) -> Fitting:
    """Return the part of ``messages`` that fits into this many ``tokens``.

    First long results of tools are shortened, the oldest first. Then the oldest messages are left out, and
    one line takes the place of each run of them. System messages in front, those that stay, and the newest
    message with the results of its calls are never left out; if they alone are too long, those results share
    what is left.
    """
    units = _units(messages)
    costs = [sum(map(_cost, unit)) for unit in units]
    missing = sum(costs) - tokens
    if missing <= 0:
        return Fitting(tuple(messages))
    before, newest = [list(unit) for unit in units], len(units) - 1
    for at, unit in enumerate(units):
        if missing > 0:
            most = OLD_RESULT_TOKENS if at < newest else tokens // 2
            missing -= _shorten(unit, dict.fromkeys(range(1, len(unit)), most))
    costs = [sum(map(_cost, unit)) for unit in units]
    omitted: list[int] = []
    head = next((at for at, unit in enumerate(units) if unit[0].role != "system"), len(units))
    for at in range(head, newest):
        if missing <= 0:
            break
        if not units[at][0].stays:
            missing += _cost(left_out(len(messages))) if at - 1 not in omitted[-1:] else 0
            missing -= costs[at]
            omitted.append(at)
    if missing > 0:
        _shorten(units[-1], _shares(units[-1], sum(map(_cost, units[-1][1:])) - missing))
    return _fitting(before, units, set(omitted))


def _shares(unit: Sequence[ChatMessage], room: int) -> dict[int, int]:
    """Return how many tokens each result of ``unit`` may have, by its place: short ones leave more for
    others.
    """
    shares: dict[int, int] = {}
    by_cost = sorted(range(1, len(unit)), key=lambda place: _cost(unit[place]))
    for rank, place in enumerate(by_cost):
        shares[place] = max(room // (len(by_cost) - rank), LEAST_RESULT_TOKENS)
        room -= min(_cost(unit[place]), shares[place])
    return shares


def _shorten(unit: list[ChatMessage], most: Mapping[int, int]) -> int:
    """Shorten results of ``unit`` to so many tokens, by their places; return how many tokens that saves."""
    saved = 0
    for place, tokens in most.items():
        message = unit[place]
        room = max(tokens - _cost(replace(message, content="")), LEAST_RESULT_TOKENS)
        text, characters = message.content, len(message.content)
        while (size := estimate(text)) > room and characters:
            characters = min(characters * room // size, characters * 15 // 16)
            text = clipped(message.content, characters)
        unit[place] = replace(message, content=text) if text != message.content else message
        saved += _cost(message) - _cost(unit[place])
    return saved


def _fitting(
    before: Sequence[Sequence[ChatMessage]], units: Sequence[Sequence[ChatMessage]], omitted: Collection[int]
) -> Fitting:
    kept: list[ChatMessage] = []
    shortened = number = total = 0
    for at, unit in enumerate(units):
        if at in omitted:
            number += sum(map(_count, before[at]))
            continue
        if number:
            kept.append(left_out(number))
            total, number = total + number, 0
        kept += unit
        shortened += sum(new is not old for new, old in zip(unit, before[at], strict=True))
    return Fitting(tuple(kept), total, shortened)


def clipped(text: str, most: int) -> str:
    """Return about ``most`` characters: the beginning and the end, and between them how much is missing."""
    if len(text) <= most:
        return text
    end = len(text) - most // 2
    middle = text[most // 2 : end]
    # Count what an earlier clipping left out, instead of its mark.
    earlier = sum(int(mark[1].replace(",", "")) - len(mark[0]) for mark in _CLIPPED.finditer(middle))
    return f"{text[: most // 2]}\n[… {len(middle) + earlier:,} characters left out …]\n{text[end:]}"


def _units(messages: Sequence[ChatMessage]) -> list[list[ChatMessage]]:
    """Return groups that stay or go together: a message, and the results of its calls."""
    units: list[list[ChatMessage]] = []
    for message in messages:
        if message.role == "tool" and units:
            units[-1].append(message)
        else:
            units.append([message])
    return units


def _cost(message: ChatMessage) -> int:
    calls = sum(estimate(call.name) + estimate(call.arguments) for call in message.calls)
    images = IMAGE_TOKENS * len(message.images)
    return MESSAGE_TOKENS + estimate(message.content) + calls + images


def prompt_tokens(request: ModelRequest) -> int:
    """Return roughly how many tokens a call has before its answer: its messages and the tools it offers."""
    tools = sum(estimate(tool.name + tool.description + dump(tool.parameters)) for tool in request.tools)
    return tools + sum(map(_cost, request.messages))


def fitted(request: ModelRequest, context: int, *, limits_answer: bool) -> tuple[ModelRequest, Fitting]:
    """Return (the call as it fits into a ``context`` of this many tokens, what became of its messages).

    The limit of the answer's length is never more than what is left; with ``limits_answer`` there is always
    one.
    """
    answer = min(request.max_tokens or ANSWER_TOKENS, context // 4)
    tools = prompt_tokens(replace(request, messages=()))
    fitting = trim(request.messages, context - context // SPARE_PART - answer - tools)
    request = replace(request, messages=fitting.messages)
    left = max(context - context // SPARE_PART - prompt_tokens(request), LEAST_ANSWER_TOKENS)
    if request.max_tokens or limits_answer:
        request = replace(request, max_tokens=min(request.max_tokens or left, left))
    return request, fitting


def _count(message: ChatMessage) -> int:
    """Return how many messages one counts for: several, if it stands for those that were left out before."""
    line = _LEFT_OUT.fullmatch(message.content) if message.role == "user" else None
    return int(line[1]) if line else 1
