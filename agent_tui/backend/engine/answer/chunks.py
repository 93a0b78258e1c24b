"""The steps of a room's turn as chunks, whose words are the turn's text (protocols.md §1).

A client that does not know steps reads only the words: there is a blank line between two text steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agent_tui.backend.store.rows import ConversationRow, NewEvent, TurnRow
from agent_tui.model import events as ev
from agent_tui.wire.content import BETWEEN_STEPS
from agent_tui.wire.rooms_encode import progress


class TurnChunks:
    """Encodes the events of the steps of one turn, in their order (``steps.Encode``). If a turn calls no
    tools, its words name no step until another step has begun.
    """

    def __init__(self, room: ConversationRow, turn: TurnRow, *, words_only: bool = False) -> None:
        self._parallel = room.parallel
        self._words_only = words_only
        self._turn = turn
        self._texts: dict[str, bool] = {}  # id of a text step → whether it has any words yet
        self._characters = 0

    def __call__(self, event: ev.Event) -> Sequence[NewEvent]:
        match event:
            case ev.StepSet(_, step) if step.type == "text":
                self._texts[step.id] = False  # no chunk until its first words
                return []
            case ev.StepAdded(turn_id, step_id, text) if step_id in self._texts:
                if not self._texts[step_id] and self._characters:
                    text = BETWEEN_STEPS + text
                self._texts[step_id] = True
                self._characters += len(text)
                return [self._chunk(ev.TextAdded(turn_id, text, step_id="" if self._words_only else step_id))]
            case ev.TurnNoted():
                noted = replace(event, agent_id=self._turn.agent_id, agent_name=self._turn.sender_name)
                return [NewEvent.of(noted, self._turn.message_id)]
            case ev.StepSet() | ev.StepAdded() | ev.ToolStatusChanged():
                self._words_only = False
                return [self._chunk(event)]
            case _:
                raise ValueError(f"{type(event).__name__} is not of a step")

    def _chunk(self, event: ev.TextAdded | ev.StepSet | ev.StepAdded | ev.ToolStatusChanged) -> NewEvent:
        if self._parallel:
            agent_id, percent = self._turn.agent_id, progress(self._characters)
            event = replace(event, agent_id=agent_id, percent=percent)
        return NewEvent.of(event, self._turn.message_id)
