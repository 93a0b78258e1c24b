"""Chains of attempts: a message that ``continues`` another contains only what is new, and both count as one
message.

Pure functions; protocols.md §1, point 9.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from agent_tui.model.records import Message, Step, Usage

BETWEEN_STEPS = "\n\n"  # separates two text steps of one message (protocols.md §2)


def join_chains(messages: Iterable[Message]) -> list[Message]:
    """Return ``messages`` with every chain as one message, at the place and with the id of its first part.

    Its state is that of its last part. A message that continues one that is not in the list stays as it is.
    """
    joined: list[Message] = []
    places: dict[str, int] = {}  # the index of a chain, by the id of each of its parts
    for message in messages:
        place = places.get(message.continues) if message.continues else None
        if place is None:
            places[message.id] = len(joined)
            joined.append(message)
        else:
            places[message.id] = place
            joined[place] = _join(joined[place], message)
    return joined


def joined_steps(first: Sequence[Step], more: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps of two parts of one message: words that were interrupted become one step with their
    rest, after what was thought before that.
    """
    first_spoken = next((place for place, step in enumerate(more) if step.type != "thinking"), len(more))
    if first and more[first_spoken:] and first[-1].type == more[first_spoken].type == "text":
        joined = replace(first[-1], content=first[-1].content + more[first_spoken].content)
        return (*first[:-1], *more[:first_spoken], joined, *more[first_spoken + 1 :])
    return (*first, *more)


def said_in(steps: Iterable[Step]) -> str:
    """Return the text of a message: its text steps, separated by a blank line."""
    return BETWEEN_STEPS.join(step.content for step in steps if step.type == "text" and step.content)


def _join(message: Message, rest: Message) -> Message:
    steps: tuple[Step, ...] = ()
    if message.steps or rest.steps:
        steps = joined_steps(_steps(message), _steps(rest))
    return replace(
        message,
        text=said_in(steps) if steps else message.text + rest.text,
        steps=steps,
        token_count=message.token_count + rest.token_count,
        usage=sum_of(message.usage, rest.usage),
        seconds=_added(message.seconds, rest.seconds),
        interrupted=rest.interrupted,
        error=rest.error,
        status=rest.status,
        superseded=message.superseded or rest.superseded,
        notes=tuple(dict.fromkeys((*message.notes, *rest.notes))),
    )


def _steps(message: Message) -> tuple[Step, ...]:
    if message.steps or not message.text:
        return message.steps
    return (Step("step-0", content=message.text),)


def sum_of(first: Usage | None, second: Usage | None) -> Usage | None:
    """Return the usage of two parts of a message together."""
    if first is None or second is None:
        return first or second
    return Usage(
        first.prompt_tokens + second.prompt_tokens,
        first.completion_tokens + second.completion_tokens,
        first.first_token_seconds,
        _added(first.cost, second.cost),
        second.context or first.context,
        second.context_limit or first.context_limit,
    )


def _added(first: float | None, second: float | None) -> float | None:
    return second if first is None else first if second is None else first + second
