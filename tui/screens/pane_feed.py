"""Carries words from the state into transcripts, each chunk once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Final

from agent_tui.state.room import RoomState
from agent_tui.state.steps import Steps
from agent_tui.state.turn import Agent, Turn
from tui.garbage import uncollected
from tui.screens.room_texts import ending, person_title, turn_title
from tui.screens.step_rows import END, StepRows
from widgets.painter import PEOPLE
from widgets.transcript import Transcript

CODE: Final = "```"
_LINE_END: Final = re.compile(r"(?<=\S)\n(?=\S)")


class TurnFeed:
    """Remembers how much of one turn a transcript, which knows the message, has been given."""

    __slots__ = (
        "_given",
        "_is_open",
        "_is_superseded",
        "_key",
        "_place",
        "_revision",
        "_rows",
        "_transcript",
        "turn",
    )

    def __init__(self, transcript: Transcript, key: str, turn: Turn, place: RowsPlace) -> None:
        self.turn = turn
        self._transcript = transcript
        self._key = key
        self._is_open = True  # in the transcript
        self._is_superseded = False  # as the transcript shows it
        self._given = 0  # characters
        self._revision = turn.revision
        self._place = place
        self._rows: TurnRows | None = None  # once it did more than speak

    def take(self) -> None:
        """Give the transcript what is new. Costs what is new, not what was said before."""
        turn = self.turn
        if turn.status == "speaking" and not self._is_open:  # it is continued
            self._is_open = True
            if self._rows is None:
                self._transcript.turn_reopened(self._key)
            else:
                self._rows.go_on()
        if turn.steps is not None:
            self._take_steps(turn.steps)
            return
        if self._revision != turn.revision or (not self._is_open and self._given != turn.length):
            # Replaced, or added to after its end: rare repairs, so the whole text is given again.
            self._transcript.text_replaced(self._key, self._as_meant(turn.text))
        elif self._given != turn.length:
            self._transcript.text_added(self._key, self._as_meant(turn.since(self._given)))
        self._given, self._revision = turn.length, turn.revision
        if turn.status == "speaking":
            return
        if self._is_open or turn.superseded != self._is_superseded:
            self._transcript.turn_closed(self._key, ending(turn))
            self._is_open, self._is_superseded = False, turn.superseded
            if turn.superseded:
                self._transcript.turn_faded(self._key)

    def _take_steps(self, steps: Steps) -> None:
        """Give what is new of its steps; the words that were given so far are the first one."""
        turn, rows = self.turn, self._rows
        changed: Iterable[str] = steps.changed
        if rows is None:
            is_known = self._revision == turn.revision
            rows = self._rows = TurnRows(self._transcript, self._key, turn, self._place)
            rows.begin(steps, self._given if is_known else -1)
            changed = list(steps.all)
        for step in sorted((steps.all[id_] for id_ in changed), key=lambda step: step.place):
            rows.take_step(step)
        if turn.status == "speaking":
            return
        if self._is_open:
            rows.end(ending(turn))
            self._is_open = False
        if turn.superseded != self._is_superseded:
            self._is_superseded = turn.superseded
            rows.fade(ending(turn))

    def _as_meant(self, text: str) -> str:
        """Return the text; a person's line ends where they ended it, which Markdown does not see."""
        return as_typed(text) if self.turn.role == "user" else text


@dataclass(frozen=True, slots=True)
class RowsPlace:
    """Where the rows of a turn stand: what the reader folded there, whose they are by ``color`` and ``who``,
    and what begins a message for words that go on below a row.
    """

    folds: Mapping[str, bool]
    color: str = ""
    who: str = ""
    words_opened: Callable[[str], None] | None = None


class TurnRows(StepRows):
    """The steps of one turn of an agent, below what says who speaks."""

    __slots__ = ("_head", "_keys", "_place", "_turn")

    def __init__(self, transcript: Transcript, head: str, turn: Turn, place: RowsPlace) -> None:
        super().__init__(transcript)
        self._head = head
        self._turn = turn
        self._place = place
        self._keys = [head]
        self._last = head

    def begin(self, steps: Steps, given: int) -> None:
        """So many characters stand under the name by now: they are of the first step, if that is words; -1:
        what stands there is not what was said.
        """
        first = next(iter(steps.all.values()), None)
        if given and first is not None and first.type == "text":
            self._first_text = first.id
            self._given[first.id] = max(given, 0), first.content.revision if given > 0 else -1
            self._open = self._head, "text"
            self._texts.add(self._head)

    def fade(self, note: str) -> None:
        """Show all of it dim: it is no longer meant."""
        if self._last not in map(self.key, self.rows):
            self._transcript.turn_closed(self._last, note)
        for key in self._keys:
            self._transcript.turn_faded(key)

    @property
    def is_over(self) -> bool:
        return self._turn.status != "speaking"

    def key(self, step_id: str = "") -> str:
        return _key_below(self._head, step_id) if step_id else self._head

    def placed(self, step_id: str) -> None:
        self._keys.append(self.key(step_id or END))

    def words_opened(self, key: str) -> None:
        if self._place.words_opened is None:
            self._transcript.turn_opened(key)
        else:
            self._place.words_opened(key)

    def row_color(self) -> tuple[str, str]:
        return self._place.color, self._place.who

    def starts_folded(self, key: str, *, is_folded: bool) -> bool:
        return self._place.folds.get(key, is_folded)

    def fold(self, key: str, *, is_folded: bool) -> None:
        if key not in self._place.folds:
            self._transcript.fold(key, is_folded)


def turn_key(turn_id: str) -> str:
    """Return the key of a turn's first message; no id that a server sends makes it that of a step or rule."""
    return f"turn {turn_id}"


def step_key(turn_id: str, step_id: str) -> str:
    """Return the key of a step's row, in panes and in the timeline."""
    return _key_below(turn_key(turn_id), step_id)


def _key_below(head: str, step_id: str) -> str:
    return f"step {len(head)} {head} {step_id}"


def as_typed(text: str) -> str:
    """Return a person's words as Markdown whose lines end where they ended them."""
    return text if CODE in text else _LINE_END.sub("  \\n", text)


class PaneFeed:
    """Carries into an agent's pane its turns, and between them what people said to it or to all.

    ``state`` has the turns of the whole room, in order. A chunk costs no look at them: only more turns do.
    The task, which some servers store as what a person said, stands above all panes already.
    """

    __slots__ = ("_given", "_last", "_place", "_seen", "_state", "_title", "_transcript")

    def __init__(
        self, transcript: Transcript, state: RoomState, folds: Mapping[str, bool] = MappingProxyType({})
    ) -> None:
        """``folds`` are the rows that the reader folded (or not), by their keys."""
        self._transcript = transcript
        self._state = state
        self._place = RowsPlace(folds)
        self._start_over()

    def _start_over(self) -> None:
        self._seen = 0  # turns of the room that were looked at
        self._given = 0  # turns of the agent that the pane has been told about
        self._last: TurnFeed | None = None  # of the last of those
        self._title = ""  # of that one

    def take(self, agent: Agent) -> None:
        """Give the pane what is new for its agent."""
        if self._last is not None:
            self._last.take()
            if (title := turn_title(self._last.turn)) != self._title:  # more is known of how it was asked
                self._title = title
                self._transcript.turn_titled(turn_key(self._last.turn.id), title)
        if self._seen < len(self._state.turns):
            with uncollected():
                self._look(agent)
        if self._given != len(agent.turns):  # it got a turn whose speaker was unknown, or lost one: rare
            self._transcript.clear()
            self._start_over()
            self._look(agent)
            self._given = len(agent.turns)

    def _look(self, agent: Agent) -> None:
        new = list(islice(self._state.turns.values(), self._seen, None))
        self._seen += len(new)
        heard = len(new)
        if agent.is_gone and agent.turns:  # what was said after its last turn it was never told
            newest = agent.turns[-1].id
            heard = 1 + next((at for at, turn in enumerate(new) if turn.id == newest), -1)
        for at, turn in enumerate(new):
            if turn.agent_id == agent.id and turn.role != "user":
                self._title = turn_title(turn)
                self._last = self._open(turn, self._title)
                self._given += 1
            elif at < heard and self._is_heard(turn, agent):
                self._open(turn, person_title(turn), color=PEOPLE)

    def _is_heard(self, turn: Turn, agent: Agent) -> bool:
        is_for_it = turn.role == "user" and turn.to in ("", agent.id)
        return is_for_it and turn.text.strip() != self._state.task.strip()

    def _open(self, turn: Turn, title: str, *, color: str = "") -> TurnFeed:
        key = turn_key(turn.id)
        self._transcript.turn_opened(key, title, color=color)
        feed = TurnFeed(self._transcript, key, turn, self._place)
        feed.take()
        return feed
