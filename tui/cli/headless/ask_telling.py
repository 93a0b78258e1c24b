"""How the events of any answer are shown without a screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from agent_tui.clients.agents.chats import AgentChats
from agent_tui.clients.chat import ChatClient
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, Refused
from agent_tui.model.inert import inert_line
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from agent_tui.wire.chat_encode import answer_content, question_content
from tui.cli import output
from tui.cli.commands.asking import note_line
from tui.cli.headless.ask_input import Asked
from tui.cli.headless.ask_tools import ToolNotices, is_allowed, not_allowed
from tui.cli.headless.formats import Format, as_told
from tui.screens.localised import localised

MAX_ERROR_CHARACTERS: Final = 500
NOT_ALLOWED: Final = "this was asked without a screen, where nobody can be asked; nothing allows it"


@dataclass(slots=True)
class Telling:
    """Takes events into ``state`` and writes what they say: the answer by ``form``, all else to stderr."""

    form: Format
    state: ConversationState
    notices: ToolNotices = field(default_factory=ToolNotices)

    def take(self, event: ev.Event, written: Callable[[Format], None] = lambda _: None) -> None:
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


async def decide(
    client: ChatClient | AgentChats,
    conversation_id: str,
    allow: Sequence[str],
    telling: Telling,
    asks: ev.ToolStatusChanged,
) -> None:
    """Let a call that asks run where ``allow`` names it; deny every other one, and say how it could run."""
    step, ask = telling.state.step(asks.turn_id, asks.step_id), asks.ask
    if step is None or ask is None or asks.status != "asks":
        return
    decision, why = "once", ""
    if ask.form is not None:
        telling.notice(localised(f"{inert_line(ask.call)}: declined, nobody can be asked without a screen"))
        decision = "decline"
    elif not is_allowed(step, ask, allow):
        telling.notices.denied.add((asks.turn_id, asks.step_id))
        telling.notice(not_allowed(step.name, ask))
        decision, why = "deny", NOT_ALLOWED
    try:
        await client.answer(conversation_id, asks.turn_id, asks.step_id, decision, reason=why)
    except Refused:
        pass  # another client has answered, or it asks no more
    except AgentTuiError as error:
        telling.notice(localised(f"the answer to {step.name} was not taken: {error}"))


def streamed(asked: Asked, state: ConversationState) -> list[object]:
    """Return question and answer as they would be stored."""
    question = {"role": "user", "content": question_content(asked.content, asked.attachments)}
    answers = (turn for turn in state.turns.values() if turn.role != "user")
    return [question, *({"role": "assistant", "content": _content(turn)} for turn in answers)]


def _content(turn: Turn) -> str:
    return answer_content(turn.text, [as_told(step) for step in turn.steps.all.values()])
