"""The steps of one answer as they come: a model's pieces become events of the log and rows (protocols.md §2).

This is bookkeeping without a clock or a socket. Steps are numbered over the whole answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from hashlib import sha256

from agent_tui.backend.engine.answer.call import Heard
from agent_tui.backend.engine.context.compacting import SUMMARY
from agent_tui.backend.engine.words import storable
from agent_tui.backend.engine.written import ChangeSet, pieces
from agent_tui.backend.models.model import (
    CallPiece,
    NotePiece,
    StepPiece,
    TextPiece,
    ThinkingPiece,
    ToolCall,
)
from agent_tui.backend.store.rows import FileChanged, NewEvent, StepPut, StepStatus
from agent_tui.backend.tools.texts import cut
from agent_tui.model import events as ev
from agent_tui.model.errors import ModelError
from agent_tui.model.events import SHORTENED, Step, ToolAsk
from agent_tui.model.records import FileChange
from agent_tui.wire.agent_socket import SUB_AGENT

MAX_CALLS = 64  # in one round
MAX_DIFF_CHARACTERS = 100_000  # of a call's change to a file, as it is shown later
MAX_ACTED_STEPS = 2_000  # of an agent that runs its own tools, in one answer

# Returns how an event of a step is stored in the log.
Encode = Callable[[ev.Event], Sequence[NewEvent]]


@dataclass(slots=True)
class _Growing:
    """A step that is not complete yet; ``pieces`` are its content, or a call's arguments."""

    step: Step
    pieces: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.pieces)


class StepLog:
    """The steps of the answer ``message_id`` so far. ``done`` are the stored ones by id; ``encode`` writes
    them to the log, by default in a chat's form; ``before`` are the steps of the answer that it continues:
    numbering continues after them. Without ``has_rows`` only the log has them, until something was thought.
    """

    def __init__(
        self,
        message_id: str,
        now: str,
        done: Sequence[Step] = (),
        encode: Encode | None = None,
        before: Sequence[Step] = (),
        *,
        has_rows: bool = True,
    ) -> None:
        self._encode = encode or self._as_chat
        self._has_rows = has_rows
        self.message_id = message_id
        self.now = now  # the time for the next write
        self.done: dict[str, Step] = {step.id: step for step in done}
        self.notes: list[ev.Note] = []  # notes that are stored with the answer
        self.characters = 0  # said, thought and in arguments, in total
        self._next = max((step.index for step in (*before, *done)), default=-1) + 1
        self._before = before
        self._open: _Growing | None = None  # the growing text or thought
        self._calls: dict[int, _Growing] = {}  # by the provider's index
        self._early: dict[int, CallPiece] = {}  # calls whose name is not known yet
        self._agent_steps: dict[str, _Growing] = {}  # open steps of an agent with its own tools, by its ids
        self._agent_step_count = 0

    # --- what a model says -----------------------------------------------------------------------------

    def hear(self, pieces: Sequence[Heard], written: ChangeSet) -> None:
        """Write ``pieces``; adjacent ones of one step become one event."""
        for piece in _join_pieces(pieces):
            match piece:
                case TextPiece(text):
                    self._say("text", text, written)
                case ThinkingPiece(text):
                    self._say("thinking", text, written)
                case CallPiece():
                    self._hear_call(piece, written)
                case StepPiece(event):
                    self._hear_step(event, written)

    def note(self, notes: Sequence[NotePiece], written: ChangeSet) -> None:
        """Note what happens to the answer besides words."""
        for note in notes:
            noted = ev.TurnNoted(
                self.message_id,
                note.note,
                note.count,
                until=note.until,
                seconds=note.seconds,
                about=note.about,
            )
            written.events += self._encode(noted)
            written.note(noted)
            if noted.lasting:
                if note.note == SHORTENED:  # only the newest count
                    self.notes = [earlier for earlier in self.notes if earlier.note != SHORTENED]
                self.notes.append(noted.lasting)

    @property
    def shortened(self) -> int:
        """How many results were noted as shortened."""
        return next((note.count for note in self.notes if note.note == SHORTENED), 0)

    def put_summary(self, text: str, count: int, written: ChangeSet) -> None:
        """Store a summary of this many messages: a thought, and the note about it."""
        number = self._number()
        step = Step(f"step-{number}", number, "thinking", text)
        self._event(ev.StepSet(self.message_id, step), written)
        self.put(step, written)
        self.note([NotePiece(SUMMARY, count, about=step.id)], written)

    def close_words(self, written: ChangeSet) -> None:
        """Store the growing text or thought as it is."""
        grown, self._open = self._open, None
        if grown is not None:
            self.put(replace(grown.step, content=grown.text), written)

    def close_calls(self, written: ChangeSet) -> list[Step]:
        """Return the model's calls, now complete, in the order of their beginning; those without a name begin
        now. That they are complete is not written yet.
        """
        for index, piece in sorted(self._early.items()):
            self._begin_call(index, piece, written)
        self._early.clear()
        grown, self._calls = list(self._calls.values()), {}
        return [self.with_call_id(replace(call.step, arguments=call.text)) for call in grown]

    def close_agent_steps(self, status: str, result: str, written: ChangeSet) -> None:
        """Close the steps that an agent left open: its calls get this ``status`` and ``result``."""
        open_steps, self._agent_steps = list(self._agent_steps.values()), {}
        for grown in open_steps:
            if grown.step.type != "tool_call":
                self.put(replace(grown.step, content=grown.text), written)
                continue
            self._put_agent_call(grown, written)
            self.set_call(grown.step, status, None, written)
            self.put_result(grown.step, result, success=False, written=written)

    # --- what becomes of calls -------------------------------------------------------------------------

    def put_call(self, call: Step, status: str, ask: ToolAsk | None, written: ChangeSet) -> Step:
        """Store a complete call, with its first status."""
        changed = replace(call, status=status, ask=ask)
        self._event(ev.StepSet(self.message_id, call), written)
        self._event(ev.ToolStatusChanged(self.message_id, call.id, status, ask=ask), written)
        self.put(changed, written)
        return changed

    def set_call(
        self, call: Step, status: str, seconds: float | None, written: ChangeSet, ask: ToolAsk | None = None
    ) -> Step:
        """Store the state of a call; ``ask`` is what it asks while it runs."""
        changed = replace(self.done[call.id], status=status, seconds=seconds, ask=ask)
        self.done[call.id] = changed
        self._event(ev.ToolStatusChanged(self.message_id, call.id, status, seconds, ask), written)
        written.changes.append(StepStatus(self.message_id, call.index, status, seconds, ask=ask))
        return changed

    def put_progress(self, call: Step, progress: str, written: ChangeSet) -> None:
        """Store the progress of a running call."""
        self._event(ev.ToolStatusChanged(self.message_id, call.id, "running", progress=progress), written)

    def put_result(self, call: Step, content: str, *, success: bool, written: ChangeSet) -> Step:
        """Store the result of a call."""
        number = self._number()
        result = Step(
            id=f"step-{number}",
            index=number,
            type="tool_result",
            content=content,
            name=call.name,
            id_ref=call.id,
            success=success,
        )
        self._event(ev.StepSet(self.message_id, result), written)
        self.put(result, written)
        return result

    def file_changed(self, call: Step, change: FileChange, folder: str) -> FileChanged:
        """Return what records a call's change to a file of ``folder``."""
        kept = {
            **asdict(change),
            "after": digest(change.after.encode()),
            "diff": storable(cut(change.diff, MAX_DIFF_CHARACTERS)),
        }
        return FileChanged(
            **kept, message_id=self.message_id, place=call.index, folder=folder, created_at=self.now
        )

    @property
    def in_order(self) -> tuple[Step, ...]:
        """All stored steps, in the order of their beginning."""
        return tuple(sorted(self.done.values(), key=lambda step: step.index))

    def calls_without_result(self) -> list[Step]:
        """Return the stored calls without a result."""
        answered = {step.id_ref for step in self.done.values() if step.type == "tool_result"}
        return [step for step in self.in_order if step.type == "tool_call" and step.id not in answered]

    # --- how it is done --------------------------------------------------------------------------------

    def _say(self, type_: str, text: str, written: ChangeSet) -> None:
        if not text:
            return
        self._has_rows = self._has_rows or type_ == "thinking"
        if self._open is not None and self._open.step.type != type_:
            self.close_words(written)
        if self._open is None:
            number = self._number()
            self._open = _Growing(Step(f"step-{number}", number, type_))
            self._event(ev.StepSet(self.message_id, self._open.step), written)
        self._open.pieces.append(text)
        self.characters += len(text)
        for piece in pieces(text):
            self._event(ev.StepAdded(self.message_id, self._open.step.id, content=piece), written)

    def _hear_call(self, piece: CallPiece, written: ChangeSet) -> None:
        call = self._calls.get(piece.index)
        if call is None:
            self._hear_early(piece, written)
            return
        if piece.id and not call.step.id_ref:
            call.step = replace(call.step, id_ref=piece.id)
        if piece.name:  # the event of the whole call has the complete name
            call.step = replace(call.step, name=call.step.name + piece.name)
        self._add_arguments(call, piece.arguments, written)

    def _hear_early(self, piece: CallPiece, written: ChangeSet) -> None:
        """Keep a call until its name is known: it begins on the screen with its name."""
        kept = self._early.pop(piece.index, CallPiece(piece.index))
        arguments = kept.arguments + piece.arguments
        piece = CallPiece(piece.index, kept.id or piece.id, kept.name or piece.name, arguments)
        if len(self._calls) + len(self._early) >= MAX_CALLS:
            raise ModelError(f"it called more than {MAX_CALLS} tools at once", "It was stopped.")
        if not piece.name:
            self._early[piece.index] = piece
            return
        self.close_words(written)
        self._begin_call(piece.index, piece, written)

    def _begin_call(self, index: int, piece: CallPiece, written: ChangeSet) -> None:
        self._calls[index] = self._new_call(piece.name, piece.id, piece.arguments, written)

    def _new_call(self, name: str, id_ref: str, arguments: str, written: ChangeSet) -> _Growing:
        number = self._number()
        step = Step(f"step-{number}", number, "tool_call", name=name, id_ref=id_ref)
        call = _Growing(step)
        self._event(ev.StepSet(self.message_id, step), written)
        self._add_arguments(call, arguments, written)
        return call

    def _add_arguments(self, call: _Growing, text: str, written: ChangeSet) -> None:
        call.pieces.append(text)
        self.characters += len(text)
        for piece in pieces(text):
            self._event(ev.StepAdded(self.message_id, call.step.id, arguments=piece), written)

    def _hear_step(self, event: ev.StepSet | ev.StepAdded | ev.ToolStatusChanged, written: ChangeSet) -> None:
        """Take a step of an agent that runs its own tools, with a number of ours."""
        match event:
            case ev.StepSet(_, step):
                self._agent_step_count += 1
                if self._agent_step_count > MAX_ACTED_STEPS:
                    raise ModelError(f"it took more than {MAX_ACTED_STEPS:,} steps", "It was stopped.")
                self._take_agent_step(step, written)
            case ev.StepAdded(_, step_id, content, arguments) if step_id in self._agent_steps:
                grown = self._agent_steps[step_id]
                if grown.step.type == "tool_call":
                    self._add_arguments(grown, arguments, written)
                else:
                    grown.pieces.append(content)
                    self.characters += len(content)
                    self._event(ev.StepAdded(self.message_id, grown.step.id, content), written)
            case ev.ToolStatusChanged(_, step_id, "running", progress=progress) if (
                step_id in self._agent_steps
            ):
                self._put_agent_call(self._agent_steps[step_id], written)
                if progress:
                    self.put_progress(self._agent_steps[step_id].step, progress, written)
            case _:
                pass  # a call's result shows how it ended

    def _take_agent_step(self, step: Step, written: ChangeSet) -> None:
        if step.type == "tool_call":
            self.close_words(written)
            self._agent_steps[step.id] = self._new_call(step.name, "", step.arguments, written)
        elif step.type == "tool_result":
            self.close_words(written)
            call = self._agent_steps.pop(step.id_ref, None)
            if call is not None:
                self._put_agent_call(call, written)
                self.set_call(call.step, "done" if step.success else "failed", None, written)
            call_step = Step("", name=step.name) if call is None else call.step
            self.put_result(call_step, step.content, success=step.success, written=written)
        else:
            number = self._number()
            own = Step(f"step-{number}", number, step.type, step.content, name=step.name)
            self._event(ev.StepSet(self.message_id, own), written)
            if step.type == SUB_AGENT:  # its words will follow
                self._agent_steps[step.id] = _Growing(own, [step.content])
            else:
                self.put(own, written)

    def _put_agent_call(self, call: _Growing, written: ChangeSet) -> None:
        if call.step.id not in self.done:
            call.step = self.put_call(
                self.with_call_id(replace(call.step, arguments=call.text)), "running", None, written
            )

    def with_call_id(self, call: Step) -> Step:
        """Return the call with an id for the provider: models get results by it."""
        others = (step for step in (*self._before, *self.done.values()) if step.id != call.id)
        taken = {step.id_ref for step in others if step.type == "tool_call"}
        if not call.id_ref or call.id_ref in taken:
            call = replace(call, id_ref=f"call-{self.message_id[:8]}-{call.index}")
        self.done[call.id] = call
        return call

    def _number(self) -> int:
        number, self._next = self._next, self._next + 1
        return number

    def put(self, step: Step, written: ChangeSet) -> None:
        """Store a complete step; its log event is written elsewhere."""
        self.done[step.id] = step
        if self._has_rows:
            written.changes.append(StepPut(self.message_id, step, self.now))

    def _event(self, event: ev.Event, written: ChangeSet) -> None:
        written.events += self._encode(event)

    def _as_chat(self, event: ev.Event) -> Sequence[NewEvent]:
        return [NewEvent.of(event, self.message_id)]


def digest(data: bytes) -> str:
    """Return the SHA-256 of a file's bytes."""
    return sha256(data).hexdigest()


def tool_calls(calls: Sequence[Step]) -> tuple[ToolCall, ...]:
    """Return calls in the form for models."""
    return tuple(ToolCall(call.id_ref, call.name, call.arguments) for call in calls)


def _join_pieces(pieces: Sequence[Heard]) -> list[Heard]:
    joined: list[Heard] = []
    for piece in pieces:
        last = joined[-1] if joined else None
        match last, piece:
            case TextPiece(before), TextPiece(more):
                joined[-1] = TextPiece(before + more)
            case ThinkingPiece(before), ThinkingPiece(more):
                joined[-1] = ThinkingPiece(before + more)
            case CallPiece(index, id_, name, before), CallPiece(same, "", "", more) if index == same:
                joined[-1] = CallPiece(index, id_, name, before + more)
            case _:
                joined.append(piece)
    return joined
