"""What a run has said so far, computed only from its events."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agent_tui.model import events as ev
from agent_tui.state.turn import Turn
from agent_tui.wire.content import content_text


@dataclass(slots=True)
class Answer:
    """The turns of one run in the order of their start. Unlike ``ConversationState`` it never decides whose
    words a chunk is, but keeps them under the message's id: nothing that a server sent is lost.
    """

    turns: dict[str, Turn] = field(default_factory=dict)
    _continues: dict[str, str] = field(default_factory=dict)  # id of a message → that of the one before it

    @property
    def text(self) -> str:
        """The raw text of all assistant messages in order, interrupted ones included, joined by a blank line;
        one that continues another comes right after it.
        """
        texts: dict[str, str] = {}  # by the id of the chain's first message
        for turn in self.turns.values():
            if turn.role != "user":
                head = self._head(turn.id)
                texts[head] = texts.get(head, "") + turn.text
        return "\n\n".join(text for text in texts.values() if text)

    def text_after(self, stored: Iterable[ev.Message]) -> str:
        """Return ``text`` with what was ``stored`` before this run in front of it."""
        before = Answer()
        for message in stored:
            before.apply(ev.MessageStored(message))
        whole = Answer({**before.turns, **self.turns})  # a turn that both have is that of this run
        for turn_id, continued in [*before._continues.items(), *self._continues.items()]:
            whole._note_before(turn_id, continued)
        return whole.text

    def _head(self, turn_id: str) -> str:
        """Return the id of the first message of this one's chain."""
        while self._continues.get(turn_id) in self.turns:
            turn_id = self._continues[turn_id]
        return turn_id

    def apply(self, event: ev.Event) -> list[Turn]:
        """Take one event; return the turns that it changed."""
        match event:
            case ev.TurnStarted():
                return [self._started(event)]
            case ev.TextAdded():
                return [self._added(event)]
            case ev.TurnEnded():
                return [self._ended(event)]
            case ev.TurnFailed():
                return self._failed(event)
            case ev.MessageStored(message):
                return [self._stored(message)]
            case ev.RunPaused() | ev.RunCompleted() | ev.RunFailed():
                return self.close()
            case _:
                return []

    def close(self) -> list[Turn]:
        """Close every open turn: nothing more comes."""
        still_open = [turn for turn in self.turns.values() if turn.status == "speaking"]
        for turn in still_open:
            turn.status = "cut"
        return still_open

    def _turn(self, turn_id: str) -> Turn:
        return self.turns.setdefault(turn_id, Turn(turn_id))

    def _started(self, event: ev.TurnStarted) -> Turn:
        turn = self._turn(event.turn_id)
        turn.role, turn.sender_name, turn.agent_id = event.role, event.sender_name, event.agent_id
        self._note_before(event.turn_id, event.continues)
        return turn

    def _note_before(self, turn_id: str, continues: str) -> None:
        if continues and self._head(continues) != turn_id:  # a hostile server's chain cannot be a ring
            self._continues[turn_id] = continues

    def _added(self, event: ev.TextAdded) -> Turn:
        turn = self._turn(event.turn_id)
        whole = event.accumulated
        if whole is not None and len(whole) != turn.length + len(event.text):
            turn.replace(whole)  # a chunk was lost
        else:
            turn.add(event.text)
        return turn

    def _ended(self, event: ev.TurnEnded) -> Turn:
        turn = self._turn(event.turn_id)
        # The end's content may be JSON around the words; words that look like JSON must stay unchanged.
        if event.text and content_text(turn.text) != event.text:
            turn.replace(event.text)
        turn.status = "cut" if event.interrupted else "said"
        return turn

    def _failed(self, event: ev.TurnFailed) -> list[Turn]:
        still_open = [turn for turn in self.turns.values() if turn.status == "speaking"]
        named = [turn for turn in still_open if _is_of(turn, event)]
        anonymous = not event.agent_id and not event.agent_name
        failed = named[-1:] or (still_open if anonymous and len(still_open) == 1 else [])
        for turn in failed:
            turn.status, turn.error = "failed", event.error
        return failed

    def _stored(self, message: ev.Message) -> Turn:
        turn = self._turn(message.id)
        self._note_before(message.id, message.continues)
        if not turn.sender_name:
            turn.role, turn.sender_name = message.role, message.sender_name
        if not turn.length:
            turn.replace(message.text)
        if turn.status == "speaking" and message.status != "streaming":
            turn.status = "cut" if message.interrupted else "said"
        return turn


def _is_of(turn: Turn, event: ev.TurnFailed) -> bool:
    if event.agent_id and turn.agent_id:
        return turn.agent_id == event.agent_id
    return bool(event.agent_name) and turn.sender_name == event.agent_name
