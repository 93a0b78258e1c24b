"""What becomes of the events of an answer without a screen, whoever gives it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from agent_tui.wire.chat_encode import answer_content, question_content
from tui import output
from tui.ask_formats import AskFormat, as_told
from tui.ask_input import Asked
from tui.ask_tools import ToolNotices
from tui.commands import note_line

MAX_ERROR_CHARACTERS: Final = 500


@dataclass(slots=True)
class Telling:
    """Takes events into ``state`` and writes what they say: the answer by ``form``, all else to stderr."""

    form: AskFormat
    state: ConversationState
    notices: ToolNotices = field(default_factory=ToolNotices)

    def take(self, event: ev.Event, written: Callable[[AskFormat], None] = lambda _: None) -> None:
        """Take an event; ``written`` gives the format the frame that it came in."""
        self.state.apply(event)
        written(self.form)
        for turn_id in self.state.changed:
            if (turn := self.state.turns.get(turn_id)) is not None and turn.role != "user":
                changed = (turn.steps.all[step_id] for step_id in turn.steps.changed)
                steps = sorted(changed, key=lambda step: step.place)
                self.form.told(turn_id, steps)
                for line in self.notices.lines(turn_id, steps, event):
                    self.notice(line)
                turn.steps.changed.clear()
        self.state.changed.clear()
        if isinstance(event, ev.TurnNoted) and (line := note_line(event)):
            self.notice(line)

    def notice(self, text: str) -> None:
        """Write one line to stderr."""
        self.form.aside()
        output.notice(text)


def streamed(asked: Asked, state: ConversationState) -> list[object]:
    """Return question and answer as they would be stored."""
    question = {"role": "user", "content": question_content(asked.content, asked.attachments)}
    answers = (turn for turn in state.turns.values() if turn.role != "user")
    return [question, *({"role": "assistant", "content": _content(turn)} for turn in answers)]


def _content(turn: Turn) -> str:
    return answer_content(turn.text, [as_told(step) for step in turn.steps.all.values()])
