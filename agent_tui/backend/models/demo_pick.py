"""Takes phrases out of the demo model's tables: what nobody has said first, slots filled, nothing twice."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import TypeVar

from agent_tui.backend.models.demo_phrases import INTERESTS, ROLES, Phrases, Theme
from agent_tui.backend.models.demo_room import Room

Item = TypeVar("Item")


class Picker:
    """What one agent can still say in a room without repeating itself or the others.

    Agents of a parallel round cannot hear each other. So that they do not all take the next phrase, each
    prefers its share: of what nobody has said, every n-th, where n is the number of speakers known. In
    the first round nobody knows anybody, and roles begin at different places. ``salt`` is a number of the
    room, ``place`` one of the agent.
    """

    def __init__(self, room: Room, phrases: Phrases, *, salt: int, place: int) -> None:
        self._room = room
        self._phrases = phrases
        self._taken: set[str] = set()
        self._heard = frozenset().union(*room.heard.values())
        self._words = cycle(room.task.words) if room.task.words else None
        speakers = sorted({*room.names, room.speaker})
        self._share = speakers.index(room.speaker), len(speakers)
        apart = place if room.role == "generic" else ROLES.index(room.role)
        self._start = salt + (0 if room.names else apart)
        self._themes = list(phrases.themes.values())
        self._number = {theme.name: number for number, theme in enumerate(self._themes)}
        random.Random(salt if room.names else salt + place).shuffle(self._themes)
        self._interests = [phrases.themes[key] for key in INTERESTS.get(room.role, ())]
        first, second = room.task.options or ("", "")
        self._options = {"a": first, "b": second}
        self._options |= {"pick": first, "other": second} if salt % 2 else {"pick": second, "other": first}

    def is_fresh(self, template: str) -> bool:
        """Say whether this agent has not said it yet, in this turn or before."""
        return template not in self._taken and template not in self._room.own

    def is_unsaid(self, template: str) -> bool:
        """Say whether nobody had said it when this turn began."""
        return template not in self._room.own and template not in self._heard

    def drop(self, template: str) -> None:
        """Leave a phrase out of this turn, because somebody's words are quoted that hold it."""
        self._taken.add(template)

    def mine_first(self, items: Sequence[Item]) -> list[Item]:
        """Return ``items`` with this agent's share of them in front."""
        at, speakers = self._share
        rest = [item for number, item in enumerate(items) if number % speakers != at]
        return [*items[at::speakers], *rest]

    def say(self, pool: Sequence[str], **slots: str) -> str:
        """Take a phrase out of ``pool`` and fill it; empty when this agent has used them all."""
        start = self._start % len(pool)
        turned = (*pool[start:], *pool[:start])
        order = self.mine_first([template for template in turned if self.is_unsaid(template)])
        template = next(filter(self.is_fresh, (*order, *self.mine_first(turned))), None)
        return "" if template is None else self.take(template, **slots)

    def take(self, template: str, *, about: str = "", **slots: str) -> str:
        """Fill a phrase and remember that it was said; ``about`` is its word of the task, else the next."""
        self._taken.add(template)
        if self._words is not None and not about and ("{word}" in template or "{plain}" in template):
            about = next(self._words)
        before, after = self._phrases.marks
        known: dict[str, str] = {
            "task": self._room.task.quote or self._phrases.no_task,
            "word": f"{before}{about}{after}" if about else self._phrases.no_word,
            "plain": about or self._phrases.no_word,
            **self._options,
            **slots,
        }
        return self._fitted(template, known).format(**known)

    def _fitted(self, template: str, slots: Mapping[str, str]) -> str:
        """Chinese tables have spaces beside names, which only names in other scripts need."""
        if self._phrases.space:
            return template
        for slot in ("name", *self._options):
            if not slots.get(slot, "").isascii():
                template = re.sub(rf" ?(\**\{{{slot}\}}\**) ?", r"\1", template)
        return template

    def themes(self, *aspects: str) -> list[Theme]:
        """Return the themes of which all ``aspects`` are fresh: unsaid ones first, of these the own share,
        of that what the role is interested in."""
        unsaid = [t for t in self._themes if all(self.is_unsaid(getattr(t, aspect)) for aspect in aspects)]
        at, speakers = self._share
        share = sorted(unsaid[at::speakers], key=lambda theme: theme not in self._interests)
        ordered = dict.fromkeys((*share, *unsaid, *self.mine_first(self._themes)))
        return [t for t in ordered if all(self.is_fresh(getattr(t, aspect)) for aspect in aspects)]

    def take_aspect(self, theme: Theme, aspect: str) -> str:
        """Take one sentence of a theme; of all words of the task a theme is always about the same one."""
        words = self._room.task.words
        about = words[self._number[theme.name] % len(words)] if words else ""
        return self.take(getattr(theme, aspect), about=about)

    def take_themes(self, aspect: str, count: int) -> list[tuple[Theme, str]]:
        """Take ``aspect`` of the next ``count`` themes: pairs of theme and filled sentence."""
        return [(theme, self.take_aspect(theme, aspect)) for theme in self.themes(aspect)[:count]]
