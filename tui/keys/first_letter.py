"""A letter that may be a key or begin a text, where no line and no list has the focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from textual import events
from textual.binding import ActiveBinding
from textual.screen import Screen
from textual.timer import Timer

from tui.keys.layout import key_in_place
from widgets.terminal.keys_in_order import KeysInOrder
from widgets.terminal.private import binding_of

HOLD_SECONDS: Final = 0.25  # longer than the time between two letters of a word


def is_text(screen: Screen[Any], key: events.Key) -> bool:
    """Return whether a key types a character and does nothing else on ``screen``."""
    return key.is_printable and binding_of(screen, key_in_place(key)) is None


class FirstLetter:
    """Holds a letter that is a key for a moment: if another one follows, both go to ``write`` as a text."""

    def __init__(
        self,
        screen: Screen[Any],
        write: Callable[[str], None],
        is_key: Callable[[ActiveBinding], bool] = lambda _bound: True,
        *,
        hold_seconds: float = HOLD_SECONDS,
    ) -> None:
        """``is_key`` says which bindings count; the letters of others are text."""
        self._screen = screen
        self._write = write
        self._is_key = is_key
        self._hold_seconds = hold_seconds
        self._held: tuple[str, ActiveBinding] | None = None
        self._held_at = 0.0  # when the held letter was typed, which may be long before it is seen here
        self._timer: Timer | None = None

    @property
    def held(self) -> str:
        """The letter that waits for what follows it; "" for none."""
        return self._held[0] if self._held is not None else ""

    async def takes(self, event: events.Key) -> bool:
        """Return whether a key was used here: written, held, or to be answered after the held one."""
        character = (event.character or "") if event.is_printable else ""
        app = self._screen.app
        assert isinstance(app, KeysInOrder)  # there is no other kind of app
        if letter := self.held:
            is_later = app.presses.last_at - self._held_at > self._hold_seconds
            if character not in ("", letter) and not is_later:
                self.let_go()
                self._write(letter + character)
                return True
            await self.act()
            if not character or is_later:
                app.answer_next(event)  # it is for what the letter led to
            return True
        bound = binding_of(self._screen, key_in_place(event))
        if bound is None or not self._is_key(bound):
            if character:
                self._write(character)
            return bool(character)
        if not character.isalnum():
            return False
        self._held, self._held_at = (character, bound), app.presses.last_at
        self._timer = self._screen.set_timer(self._hold_seconds, self.act)
        return True

    async def act(self) -> None:
        """Run the action of the held letter, and forget the letter."""
        bound = self._held[1] if self._held is not None else None
        self.let_go()
        if bound is not None and bound.enabled:
            await self._screen.app.run_action(bound.binding.action, bound.node)

    def let_go(self) -> None:
        """Forget the held letter."""
        self._held = None
        if self._timer is not None:
            self._timer.stop()
