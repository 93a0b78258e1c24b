"""Whether a speaker is the owner, and whether their words may act."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_tui.voice_agent.assignment import OWNER_ATTRIBUTE

NEW_TURN_SECONDS = 5.0  # after a sound, in which words of it may still be understood


class Owners:
    """Recognises the owner's terminals: by the beginning of their identity, or if none is given by the
    attribute of their token, which on another server other people's terminals have, too.
    """

    def __init__(self, prefixes: Sequence[str]) -> None:
        self._prefixes = tuple(filter(None, prefixes))  # an empty one would be everybody's

    def has(self, identity: str, attributes: Mapping[str, str]) -> bool:
        """Return whether it is the owner's. Nobody can give themselves the attribute: no token allows it."""
        if self._prefixes:
            return identity.startswith(self._prefixes)
        return attributes.get(OWNER_ATTRIBUTE) == "1"


class TurnOfWords:
    """Whether all words of a turn are an owner's: what a guest began is not the owner's command.

    ``began_at`` is the earliest time at which it can have begun, in seconds of the Unix clock.
    """

    def __init__(self) -> None:
        self._is_owners = True
        self._has_words = False
        self._quiet_at = self.began_at = 0.0

    def sounds(self, at: float) -> None:
        """Note that a person begins to make a sound; an earlier one without words is no part of the turn."""
        if not self._has_words and at - self._quiet_at > NEW_TURN_SECONDS:
            self.began_at = at

    def is_quiet(self, at: float) -> None:
        """Note that the sound has ended."""
        self._quiet_at = at

    def heard(self, *, by_owner: bool) -> None:
        """Note words."""
        self._is_owners = self._is_owners and by_owner
        self._has_words = True

    def take(self) -> bool:
        """Return whether the turn may act, and begin the next; a turn without words may not."""
        may_act = self._is_owners and self._has_words
        self._is_owners, self._has_words = True, False
        return may_act
