"""Answers keys in the order in which they were typed. Textual runs the binding of a key only after the key
went up through all widgets, and priority bindings at once: in bursts (a slow line, a paste, fast typing)
letters would overtake the backspace before them, and what follows ``tab`` would go to the field before.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextvars import Context
from math import inf
from typing import Any, Final, Protocol, runtime_checkable

from textual import events
from textual.app import App, ReturnType
from textual.dom import DOMNode
from textual.screen import Screen

ROUNDS: Final = 2  # up through the widgets: after the key itself, then after the messages it caused
# A held key repeats after the first of these at most, then within the second.
FIRST_REPEAT_SECONDS: Final = 1.1
REPEATED_SECONDS: Final = 0.5  # a slow line delays some of them
SINGLE_SECONDS: Final = 0.3  # what no repetition follows for so long was pressed again
PATIENCE_SECONDS: Final = 1.0  # a key whose answer takes longer does not delay the others
NEVER_HELD: Final = frozenset({"ctrl+c", "ctrl+q"})  # they leave a program that is waiting


@runtime_checkable
class TakesLetters(Protocol):
    """A widget into which letters that wait are typed all at once: a key each costs two milliseconds."""

    @property
    def takes_letters(self) -> bool:
        """Whether it would now do nothing with a letter but type it."""

    def type_letters(self, letters: str) -> None: ...


class KeyPresses:
    """When the current key was pressed, not just repeated, as far as the terminal tells; in seconds."""

    def __init__(self, now: Callable[[], float]) -> None:
        self.now = now
        self.last_at = -inf  # any key, or a paste
        self.began_at = -inf  # the newest key that was not a repetition
        self.repetitions = 0  # of the newest key
        self._key = ""

    def note(self, key: str, seconds_ago: float) -> None:
        """Note a key ("" for a paste) that the terminal sent ``seconds_ago``."""
        at = self.now() - seconds_ago
        longest = REPEATED_SECONDS if self.repetitions else FIRST_REPEAT_SECONDS
        if key == self._key and at - self.last_at <= longest:
            self.repetitions += 1
        else:
            self._key, self.began_at, self.repetitions = key, at, 0
        self.last_at = at

    @property
    def pressed_at(self) -> float:
        """When the newest key was pressed, as far as can be told now: who presses ``y`` twice within a second
        sends the same as who holds it, until more repetitions come or do not.
        """
        is_single = self.repetitions == 1 and self.now() - self.last_at >= SINGLE_SECONDS
        return self.last_at if is_single else self.began_at


class KeysInOrder(App[ReturnType]):
    """Holds a key, or a paste, until the one before it was answered; ``presses`` has their times."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.presses = KeyPresses(time.monotonic)
        self.read_key: Callable[[events.Key], None] | None = None  # changes a key into the one that is meant
        self.holds_keys = False  # typed keys wait: the screen that will take them is not ready
        self._typed: deque[events.Key | events.Paste] = deque()  # what waits after the current key
        self.answered = 0  # keys and pastes so far, including the current one
        self._limit: asyncio.TimerHandle | None = None  # of the current key

    @property
    def is_answering(self) -> bool:
        return self._limit is not None

    async def on_event(self, event: events.Event) -> None:
        """Answer what was typed when it is its turn; everything else at once."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
        elif self.is_answering or (self.holds_keys and not _leaves(event)):
            self._typed.append(event)
        else:
            await self._answer(event)

    def answer_next(self, key: events.Key) -> None:
        """Answer ``key`` right after the current one, before what was typed meanwhile."""
        # A message goes no further up than to the widget in which it was made: this one is made in none.
        self._typed.appendleft(Context().run(events.Key, key.key, key.character))

    async def answer_held_keys(self) -> None:
        """Answer the keys that were held, and hold no more."""
        self.holds_keys = False
        if self._typed and not self.is_answering:
            await self._answer(self._typed.popleft())

    async def _answer(self, event: events.Key | events.Paste) -> None:
        went_to = self._typed_into
        if self.read_key is not None and isinstance(event, events.Key):
            self.read_key(event)
        letters = _letters_at_once([event, *self._typed], went_to, self.screen) if self._typed else []
        for press in (event, *[self._typed.popleft() for _ in letters[1:]]):
            self.answered += 1
            self.presses.note(
                press.key if isinstance(press, events.Key) else "", time.monotonic() - press.time
            )
        number = self.answered
        loop = asyncio.get_running_loop()
        self._limit = loop.call_later(PATIENCE_SECONDS, self.call_later, self._go_on, 0, number)
        if letters and isinstance(went_to, TakesLetters):
            went_to.type_letters("".join(letters))
        else:
            await super().on_event(event)
        self._follow(went_to, ROUNDS, number)

    @property
    def _typed_into(self) -> DOMNode:
        return self.focused or (self.screen if self.screen_stack else self)

    def _follow(self, node: DOMNode, rounds: int, number: int) -> None:
        """Continue when ``node`` and all widgets above it are done; a widget that is being removed takes no
        more messages.
        """
        above: DOMNode | None = node
        while above is not None and above is not self:
            if above.call_later(self._follow_above, above, rounds, number):
                return
            above = above.parent
        self.call_later(self._go_on, rounds - 1, number)

    def _follow_above(self, node: DOMNode, rounds: int, number: int) -> None:
        self._follow(node.parent or self, rounds, number)

    async def _go_on(self, rounds: int, number: int) -> None:
        """Wait for the effects of the key; then answer the next one."""
        if number != self.answered or self._limit is None:  # it took too long, and others were answered
            return
        if rounds:
            self._follow(self._typed_into, rounds, number)
            return
        self._limit.cancel()
        self._limit = None
        if self._typed:
            await self._answer(self._typed.popleft())


def _leaves(event: events.Key | events.Paste) -> bool:
    return isinstance(event, events.Key) and event.key in NEVER_HELD


def _letters_at_once(
    typed: Iterable[events.Key | events.Paste], line: DOMNode, screen: Screen[Any]
) -> list[str]:
    """Return the letters that ``typed`` begins with, if ``line`` takes them all at once."""
    if not (isinstance(line, TakesLetters) and line.takes_letters):
        return []
    bound, letters = screen.active_bindings, []
    for event in typed:
        if not isinstance(event, events.Key) or not event.is_printable or event.character is None:
            break
        if (found := bound.get(event.key)) is not None and found.binding.priority:
            break
        letters.append(event.character)
    return letters
