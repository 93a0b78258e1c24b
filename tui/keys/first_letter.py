"""A letter that is a key and may also begin a text: the next key decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from textual import events
from textual.binding import ActiveBinding
from textual.screen import Screen
from textual.timer import Timer

from tui.keys.layout import key_in_place
from widgets.terminal.private import binding_of

HOLD_SECONDS: Final = 0.25  # longer than the time between two letters of a word
MOVES: Final = (  # actions whose keys are pressed repeatedly, and change nothing
    *("move(", "scroll_", "to_start", "follow", "step_message("),
    *("find('next')", "find('previous')"),
)
WRITES: Final = ("write(", "compose")  # actions that are followed by writing
NO_WORDS: Final = frozenset(  # no word begins so: a key pressed twice, or keys that a script sends
    ("pp", "pq", "qp", "qq", "rr", "yy")
)


def moves(action: str) -> bool:
    """Return whether an action only moves something."""
    return action.startswith(MOVES)


class FirstLetter:
    """Holds a letter that is a key until the next key, or a short wait, decides.

    ``q`` alone quits, but ``quick`` begins a text, which goes to ``write``; so does ``just``, after a move.
    """

    def __init__(
        self,
        screen: Screen[Any],
        write: Callable[[str], None],
        is_key: Callable[[ActiveBinding], bool] = lambda _bound: True,
        cannot_wait: Callable[[str], bool] = moves,
        *,
        hold_seconds: float = HOLD_SECONDS,
    ) -> None:
        """``is_key`` says which bindings count; the letters of others are text. ``cannot_wait`` says which
        actions run before the next key decides, even if that makes a text of their letter.
        """
        self._screen = screen
        self._write = write
        self._is_key = is_key
        self._cannot_wait = cannot_wait
        self._hold_seconds = hold_seconds
        self._held: tuple[str, ActiveBinding] | None = None
        self._is_urgent = False  # the held letter is a key that cannot wait
        self._has_run = False  # and its action was run
        self._is_done = False  # and it was seen what came of it
        self._is_moving = False  # so did the one before it: neither begins a word
        self._timer: Timer | None = None

    async def takes(self, event: events.Key, *, is_moving: bool) -> bool:
        """Return whether a key was used here. With ``is_moving``, keys that move do so at once."""
        character = (event.character or "") if event.is_printable else ""
        bound = binding_of(self._screen, key_in_place(event))
        if bound is not None and not self._is_key(bound):
            bound = None
        has_acted = False
        if self._held is not None:
            letter, before = self._held
            if character and not (self._is_moving or self._was_key(letter, before, bound, character)):
                self.let_go()
                self._write(letter + character)
                return True
            has_acted = self._is_urgent
            await self.act()
            if character and before.binding.action.startswith(WRITES):
                self._write(character)
                return True
        if not character:
            return False
        if bound is None:
            self._write(character)
        elif not character.isalnum():
            return False
        else:
            self._held = character, bound
            self._timer = self._screen.set_timer(self._hold_seconds, self.act)
            self._is_urgent = self._cannot_wait(bound.binding.action)
            if self._is_urgent and (is_moving or has_acted):
                self._is_moving = has_acted  # of two, no word begins with them
                await self._run()
        return True

    @property
    def held(self) -> str:
        """The letter that waits for what follows it; "" for none."""
        return self._held[0] if self._held is not None else ""

    async def act(self) -> None:
        """Run the action of the held letter, if that was not done, and forget the letter."""
        await self._run()
        self.let_go()

    async def _run(self) -> None:
        bound = self._held[1] if self._held is not None and not self._has_run else None
        self._has_run = True
        if bound is not None and bound.enabled:
            await self._screen.app.run_action(bound.binding.action, bound.node)

    def done(self) -> None:
        """Note that the action of the held letter had its effect: a key that follows now is one."""
        self._is_done = self._has_run

    def give_up(self) -> str:
        """Forget the held letter, and return it unless its action was run."""
        letter = "" if self._has_run else self.held
        self.let_go()
        return letter

    def let_go(self) -> None:
        """Forget the held letter."""
        self._held = None
        self._is_urgent = self._has_run = self._is_done = self._is_moving = False
        if self._timer is not None:
            self._timer.stop()

    def _was_key(
        self, letter: str, before: ActiveBinding, bound: ActiveBinding | None, character: str
    ) -> bool:
        """Return whether ``letter``, the key of ``before``, was a key, now that ``character`` follows it.

        It was if neither can wait, if no word begins with the two, or if it leads to the line and
        ``character`` begins a sentence, a name or a command, or belongs to another script. A mark that is a
        key, such as ``?``, follows no first letter; a blank may, but not one that could not wait.
        """
        if before.binding.action.startswith(WRITES):
            return character in "@/" or character.isupper() or character.isascii() != letter.isascii()
        if letter + character in NO_WORDS:
            return True
        if bound is None:
            return False
        if letter.isascii() and letter.isalpha() and not character.isalnum():
            return self._is_urgent or character != " "
        return self._is_done or (self._is_urgent and self._cannot_wait(bound.binding.action))
