"""The steps of one turn: what was thought, said, called and answered, in the order of arrival.

Words alone are one step. Tolerates the faults that protocols.md §2 lists: an index that counts differently,
content that shrinks, a call without a result, a result without a call or before it, an id that is used for
two things.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from agent_tui.model import events as ev
from agent_tui.model.chains import BETWEEN_STEPS
from agent_tui.model.growing_text import GrowingText

OPEN_STATUSES = frozenset({"", "waits", "asks", "running"})


@dataclass(slots=True)
class StepState:
    """One step. ``id`` is unique in its turn and does not change; ``place`` is its order of arrival, from 0.

    A call has its ``result`` once that came, a result its ``call_id`` (empty: its call is unknown). ``seams``
    are where its words were interrupted and continued, in characters from their beginning. ``status`` of a
    call is as in ``events.ToolStatusChanged``; empty: it is being written, or unknown. ``progress`` is the
    latest that came.
    """

    id: str
    type: str = "text"
    place: int = 0
    name: str = ""
    id_ref: str = ""
    success: bool = True
    status: str = ""
    seconds: float | None = None
    ask: ev.ToolAsk | None = None
    progress: str = ""
    call_id: str = ""
    content: GrowingText = field(default_factory=GrowingText)
    arguments: GrowingText = field(default_factory=GrowingText)
    result: StepState | None = None
    seams: list[int] = field(default_factory=list)

    @property
    def revision(self) -> int:
        """How often its texts were replaced instead of added to."""
        return self.content.revision + self.arguments.revision


class Steps:
    """The steps of a turn by id, in the order of arrival.

    ``changed`` has the ids of steps to look at again; whoever draws empties it.
    """

    __slots__ = (
        "_asking",
        "_before",
        "_by_call",
        "_cut_off",
        "_guessed",
        "_named",
        "_waiting",
        "all",
        "changed",
    )

    def __init__(self) -> None:
        self.all: dict[str, StepState] = {}
        self.changed: set[str] = set()
        self._asking: dict[str, None] = {}  # ids of calls
        self._named: dict[str, StepState] = {}  # by the id on the wire: the newest step with that id
        self._by_call: dict[str, StepState] = {}  # calls by the provider's own id
        self._waiting: dict[str, StepState] = {}  # results whose call has not come, by the name they refer to
        self._guessed: set[str] = set()  # steps whose type is not known yet
        self._cut_off: StepState | None = None  # interrupted words whose rest is expected
        self._before: dict[str, str] = {}  # by the id on the wire of such a rest: the words before it

    def __len__(self) -> int:
        return len(self.all)

    def text_since(self, start: int = 0) -> str:
        """Return what was said after the first ``start`` characters: the text steps, separated by a blank
        line. Costs as much as it returns, and the number of steps.
        """
        pieces: list[str] = []
        at = 0
        for step in self.texts:
            if at:
                pieces.append(BETWEEN_STEPS[max(0, start - at) :])
                at += len(BETWEEN_STEPS)
            pieces.append(step.content.since(start - at))
            at += step.content.length
        return "".join(pieces)

    @property
    def text_length(self) -> int:
        """How many characters ``text_since`` has in total. Costs the number of steps."""
        lengths = [step.content.length for step in self.texts]
        return sum(lengths) + len(BETWEEN_STEPS) * max(0, len(lengths) - 1)

    @property
    def texts(self) -> list[StepState]:
        """The text steps."""
        return [step for step in self.all.values() if step.type == "text" and step.content.length]

    @property
    def asking(self) -> list[str]:
        """The ids of the calls that ask for permission, oldest first."""
        return list(self._asking)

    @property
    def is_cut_off(self) -> bool:
        """Whether the next words are the rest of the last ones."""
        return self._cut_off is not None

    # --- the only ways in ------------------------------------------------------------------------------

    def apply(self, event: ev.StepSet | ev.StepAdded | ev.ToolStatusChanged) -> StepState:
        """Take one event and return its step. O(1) for added text."""
        match event:
            case ev.StepAdded(_, step_id, content, arguments):
                type_ = "tool_call" if arguments else "text"
                step = self._named.get(step_id) or self._rest(step_id, type_) or self._guess(step_id, type_)
                if content:
                    step.content.add(content)
                if arguments:
                    step.arguments.add(arguments)
            case ev.StepSet(_, received):
                step = self._set(received)
            case ev.ToolStatusChanged(_, step_id, status, seconds, ask, progress):
                step = self._named.get(step_id) or self._guess(step_id, "tool_call", status)
                self._set_status(step, status, ask)
                step.seconds = seconds if seconds is not None else step.seconds
                step.progress = progress
        self.changed.add(step.id)
        return step

    def go_on(self) -> None:
        """Expect the steps of a message that continues this one: words at the end continue in their step."""
        last = next(reversed(self.all.values()), None)
        self._cut_off = last if last is not None and last.type == "text" else None
        self._named.clear()  # ids may start over

    def close(self, status: str) -> None:
        """End the turn: a call without a result will not get one, and gets ``status``."""
        for step in self.all.values():
            if step.type == "tool_call" and step.status in OPEN_STATUSES:
                self._set_status(step, status)
                self.changed.add(step.id)
            step.content.compact()
            step.arguments.compact()

    # --- steps -----------------------------------------------------------------------------------------

    def _set_status(self, step: StepState, status: str, ask: ev.ToolAsk | None = None) -> None:
        step.status, step.ask = status, None
        if status == "asks":
            step.ask = ask
            self._asking[step.id] = None
        elif self._asking:
            self._asking.pop(step.id, None)

    def _set(self, received: ev.Step) -> StepState:
        step = self._named.get(received.id) or self._rest(received.id, received.type)
        if step is not None and step.id in self._guessed:
            self._guessed.discard(step.id)
            step.type = received.type
        elif step is None or step.type != received.type:
            step = self._new(received.id, received.type)
        step.name, step.id_ref = received.name or step.name, received.id_ref or step.id_ref
        step.content.replace(self._before.get(received.id, "") + received.content)
        if received.arguments:  # an empty complete text never removes what was received
            step.arguments.replace(received.arguments)
        step.seconds = received.seconds if received.seconds is not None else step.seconds
        if received.type == "tool_result":
            step.success = received.success
            self._find_call(step)
        elif received.type == "tool_call":
            self._take_call(step, received)
        return step

    def _take_call(self, step: StepState, received: ev.Step) -> None:
        if received.status:
            self._set_status(step, received.status, received.ask)
        elif not step.status and received.arguments:
            step.status = "running"  # it is complete, and its server sends no status
        if step.id_ref:
            self._by_call[step.id_ref] = step
        for name in (received.id, step.id_ref):
            if step.result is None and (result := self._waiting.pop(name, None)) is not None:
                self._join(step, result)

    def _find_call(self, result: StepState) -> None:
        """Attach a result to its call, which it names by the step id or by the provider's id."""
        if result.call_id or not result.id_ref:
            if result.call_id:
                self._join(self.all[result.call_id], result)
            return
        for calls in (self._named, self._by_call):
            call = calls.get(result.id_ref)
            if call is not None and call.type == "tool_call" and call.result is None:
                self._join(call, result)
                return
        self._waiting[result.id_ref] = result

    def _join(self, call: StepState, result: StepState) -> None:
        call.result, result.call_id = result, call.id
        result.name = result.name or call.name
        if call.status in OPEN_STATUSES:
            self._set_status(call, "done" if result.success else "failed")
        self.changed.update((call.id, result.id))

    def _rest(self, step_id: str, type_: str) -> StepState | None:
        """Return the interrupted words, if a step begins that is their rest."""
        cut, self._cut_off = self._cut_off, self._cut_off if type_ == "thinking" else None
        if cut is None or type_ != "text":
            return None
        self._named[step_id], self._before[step_id] = cut, cut.content.text
        cut.seams.append(cut.content.length)
        return cut

    def _guess(self, step_id: str, type_: str, status: str = "") -> StepState:
        """Begin a step that was never announced; an undone call may belong to an earlier part."""
        if status == ev.UNDONE and step_id in self.all:
            return self.all[step_id]
        step = self._new(step_id, type_)
        self._guessed.add(step.id)
        return step

    def _new(self, wire_id: str, type_: str) -> StepState:
        id_, number = wire_id, len(self.all)
        while id_ in self.all:  # a server that uses one id for two things: both are kept
            id_, number = f"{wire_id}~{number}", number + 1
        step = StepState(id_, type_, place=len(self.all))
        self.all[id_] = self._named[wire_id] = step
        return step
