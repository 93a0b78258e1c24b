"""Clicks on the keys of a question's card: each is an answer, as the key is."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

from rich.cells import cell_len
from textual.events import Click

from tui.live.ask_bar import Decision
from tui.live.key_hints import key_of
from tui.live.steps.texts import asking_keys
from widgets.signs import is_ascii, twin

if TYPE_CHECKING:
    from tui.live.approvals import Approvals, Questions


class CardClicks:
    """Knows where the keys on the card are. ``acts`` has the card, and answers."""

    def __init__(self, acts: Approvals, questions: Questions) -> None:
        self._acts = acts
        self._questions = questions

    def act_at(self, x: int, y: int) -> str:
        """Return what the words at that place of the screen do, if they are a key on the card: the last part
        of its id; else "".
        """
        acts = self._acts
        step = self._questions.state.step(*acts.card[2]) if acts.card is not None else None
        if acts.card is None or not acts.has_bar_focus or step is None or step.ask is None:
            return ""
        transcript, row, _ = acts.card
        if not transcript.region.contains(x, y):
            return ""
        cell, rest = 0, transcript.sight.end_row_at(row, y - transcript.region.y)
        for act, (name, text) in asking_keys(step.ask, partial(key_of, acts.screen)).items():
            before, hint, after = rest.partition(f"{name} {twin(text) if is_ascii(acts) else text}")
            if not hint:
                continue  # it is in another row
            begin, rest = cell + cell_len(before), after
            cell = begin + cell_len(hint)
            if begin <= x - transcript.region.x < cell:
                return act
        return ""

    def take(self, event: Click) -> None:
        """Do what the key on the card does whose words were clicked."""
        act = self.act_at(event.screen_x, event.screen_y)
        if not act or event.button != 1:
            return
        event.stop()
        self._acts.guard.clicked()
        if act == "whole":
            self._acts.action_whole()
        else:
            self._acts.action_answer(cast("Decision", act))
