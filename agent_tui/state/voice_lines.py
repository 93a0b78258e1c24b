"""The transcript of a voice session: what both sides said, line by line, and what happened between.

The words of a line come up to three times: while they are spoken, when they are final, and as the item of the
agent's history, which is the final version. No id connects items and words, so words are compared; only with
the newest lines, so that the cost of an event does not depend on the length of the session.
"""

from __future__ import annotations

import re
from collections import Counter, OrderedDict, deque
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, Literal

from agent_tui.model.events import StepSet, ToolStatusChanged
from agent_tui.model.growing_text import GrowingText
from agent_tui.model.voice import (
    FalseInterruption,
    HandedOver,
    HistoryLoaded,
    ItemStored,
    SessionFailed,
    SpokenItem,
    TurnTimes,
    WordsHeard,
    WordsLost,
    WordsSpoken,
    WordsTyped,
    WordsUnclear,
)
from agent_tui.state.steps import Steps, StepState

NEAR_LINES: Final = 16  # how many of the newest lines of each side may still become an item
COMPARED_CHARACTERS: Final = 4_000
LIKE_SHARE: Final = 0.6  # of the shorter text's words, for both to count as the same words
MAX_SEGMENT_CHARACTERS: Final = 100_000
_WORDLESS_LINES: Final = 4  # how many of the newest items of each side may still get their words
# A word of a text: letters and digits, or one sign of a script without spaces.
_WORD: Final = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]|[^\W_\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)

LineEvent = (
    WordsHeard
    | WordsUnclear
    | WordsTyped
    | WordsSpoken
    | WordsLost
    | ItemStored
    | HistoryLoaded
    | HandedOver
    | FalseInterruption
    | SessionFailed
    | StepSet
    | ToolStatusChanged
)
LineKind = Literal["person", "agent", "notice", "step"]
LineStatus = Literal["open", "said", "cut", "lost", "unclear"]
SPEAKERS: Final[Mapping[str, LineKind]] = {"user": "person", "assistant": "agent"}


@dataclass(slots=True)
class VoiceLine:
    """One line: words of a person or an agent, a notice, or the place of a tool step.

    ``item_id`` is set when the agent's history has it. ``status``: ``open`` while words may come; ``cut``:
    the person cut in; ``lost``: the rest never came, or what was typed was not sent; ``unclear``: the agent
    could not understand it. A notice has its kind in ``notice`` and its subject in ``text``. ``parts`` are
    the segments of words that are not stored yet, by id.
    """

    id: str
    kind: LineKind
    text: GrowingText = field(default_factory=GrowingText)
    status: LineStatus = "open"
    identity: str = ""
    item_id: str = ""
    notice: str = ""
    is_typed: bool = False
    is_voiced: bool = True
    is_loaded: bool = False  # it came with the agent's whole history
    at: float | None = None  # when it was said
    times: TurnTimes = field(default_factory=TurnTimes)
    turn_id: str = ""  # of a step, and its own id
    step_id: str = ""
    parts: dict[str, str] = field(default_factory=dict)
    finals: set[str] = field(default_factory=set)  # ids of complete parts


class VoiceLines:
    """The lines in order, by id.

    ``changed`` has the ids of lines to look at again, ``steps`` the steps of each turn (their ``changed`` as
    in ``Steps``); whoever draws empties both. ``generation`` counts how often lines were inserted or removed:
    then a transcript starts over.
    """

    def __init__(self) -> None:
        self.all: dict[str, VoiceLine] = {}
        self.changed: set[str] = set()
        self.generation = 0
        self.steps: dict[str, Steps] = {}
        self.turn_of_step: dict[str, str] = {}
        self._number = 0
        self._by_item: dict[str, str] = {}
        self._by_segment: dict[str, str] = {}
        self._pending: dict[str, OrderedDict[str, None]] = {"person": OrderedDict(), "agent": OrderedDict()}
        self._wordless: dict[str, deque[str]] = {
            kind: deque(maxlen=_WORDLESS_LINES) for kind in self._pending
        }
        self._step_lines: dict[tuple[str, str], str] = {}
        self._last: VoiceLine | None = None
        self._heard_times = TurnTimes()  # the times of a question that is not answered yet

    def __len__(self) -> int:
        return len(self.all)

    def apply(self, event: LineEvent) -> None:
        """Take one event. The cost depends on the event, except for ``HistoryLoaded``."""
        match event:
            case WordsHeard():
                self._heard(event)
            case WordsUnclear():
                self._unclear()
            case WordsTyped(key, text):
                self._take_typed(key, text)
            case WordsSpoken():
                self._take_spoken(event)
            case WordsLost(segment_id):
                self._lose(segment_id)
            case ItemStored(item):
                self._store(item)
            case HistoryLoaded(items):
                self._load(items)
            case HandedOver(_, new):
                self.notice("handed_over", new)
            case FalseInterruption(resumed):
                if resumed:
                    self.notice("false_interruption")
            case SessionFailed(message):
                self.notice("failed", message)
            case StepSet() | ToolStatusChanged():
                self._step(event)

    # --- while it is said ------------------------------------------------------------------------------

    def _heard(self, event: WordsHeard) -> None:
        text = event.text[:MAX_SEGMENT_CHARACTERS]
        line = self._line_of(event.segment_id)
        if line is None:
            if not text.strip() or self._join_wordless("person", event.segment_id, text, event.identity):
                return
            line = self._place_for(event)
            self._by_segment[event.segment_id] = line.id
        if line.item_id or (event.segment_id in line.finals and not event.is_final):
            return  # it is stored already, or this is an older version that came late
        if self._join_wordless("person", event.segment_id, text, event.identity):
            self._drop_part(line, event.segment_id)  # its item came before it, when it had other words
            return
        line.parts[event.segment_id] = text
        if event.is_final:
            line.finals.add(event.segment_id)
        line.status = "said" if line.finals >= line.parts.keys() else "open"
        self._update_text(line)

    def _place_for(self, event: WordsHeard) -> VoiceLine:
        """Return the line that a segment begins or continues: one person's turn is one line."""
        last = self._last
        goes_on = (
            last is not None
            and last.kind == "person"
            and last.id in self._pending["person"]
            and not last.is_typed
            and last.identity == event.identity
        )
        return last if goes_on and last is not None else self._begin("person", identity=event.identity)

    def _unclear(self) -> None:
        """Close the words that the agent takes back; what it hears next is another line."""
        newest_first = (self.all[line_id] for line_id in reversed(self._pending["person"]))
        line = next((line for line in newest_first if line.status == "open"), None)
        if line is None:
            return
        line.status = "unclear"
        del self._pending["person"][line.id]
        for segment in line.parts:
            self._by_segment.pop(segment, None)
        self.changed.add(line.id)

    def _take_typed(self, key: str, text: str) -> None:
        if key in self._by_segment or not text.strip() or self._join_wordless("person", key, text):
            return
        line = self._begin("person", status="said", is_typed=True)
        self._by_segment[key] = line.id
        line.parts[key] = text
        line.finals.add(key)
        self._update_text(line)

    def _take_spoken(self, event: WordsSpoken) -> None:
        text = event.text[:MAX_SEGMENT_CHARACTERS]
        line = self._line_of(event.segment_id)
        if line is None:
            is_all = event.is_final and event.is_whole
            if not text or self._join_wordless("agent", event.segment_id, text, is_all=is_all):
                return
            line = self._begin("agent", is_voiced=event.is_voiced)
            self._by_segment[event.segment_id] = line.id
            line.parts[event.segment_id] = ""
        if line.item_id or line.status in ("said", "lost"):
            return
        if event.is_whole:
            line.text.replace(text)
        elif line.text.length < MAX_SEGMENT_CHARACTERS:
            line.text.add(text)
        if event.is_final and line.status == "open":
            line.status = "said"
        self.changed.add(line.id)

    def cut(self) -> None:
        """Mark what the agent is saying as cut off: if nothing was heard, its history does not say so."""
        for line in (self.all[line_id] for line_id in self._pending["agent"]):
            if line.status == "open":
                line.status = "cut"
                self.changed.add(line.id)

    def _lose(self, segment_id: str) -> None:
        line = self._line_of(segment_id)
        if line is not None and not line.item_id and (line.status == "open" or line.is_typed):
            line.status = "lost"
            self.changed.add(line.id)

    # --- what the agent's history has ------------------------------------------------------------------

    def _store(self, item: SpokenItem) -> None:
        """Take an item as the final version of its words."""
        kind = SPEAKERS.get(item.role)
        if kind is None or not item.id:
            return
        line_id = self._by_item.get(item.id)
        line = self.all[line_id] if line_id else self._find(kind, item)
        if line is None:
            if not item.text.strip():
                return
            line = self._begin(kind)
            self._wordless[kind].append(line.id)
        self._fill(line, item)

    def _load(self, items: Sequence[SpokenItem]) -> None:
        """Take the whole history: insert what is missing."""
        before: VoiceLine | None = None
        inserted: list[tuple[VoiceLine | None, VoiceLine]] = []  # (the line before it, the new line)
        # A known line follows a missing one; what is there before the first history was said after it.
        is_behind = bool(self.all) and not self._by_item
        for item in items:
            if item.role not in SPEAKERS or not item.id:
                continue
            count = len(self.all)
            self._store(item)
            line = self.all.get(self._by_item.get(item.id, ""))
            if line is None:
                continue
            if len(self.all) > count:
                line.is_loaded = True
                inserted.append((before, line))
            else:
                is_behind = is_behind or bool(inserted)
            before = line
        if is_behind and inserted:
            self._put_between(inserted)
        for bare in self._wordless.values():
            bare.clear()  # what is heard from now on was said after all of this

    def _put_between(self, inserted: list[tuple[VoiceLine | None, VoiceLine]]) -> None:
        new = {line.id for _, line in inserted}
        followers: dict[str, list[VoiceLine]] = {}
        for before, line in inserted:
            followers.setdefault(before.id if before is not None else "", []).append(line)
        ordered: list[VoiceLine] = []

        def put(line: VoiceLine) -> None:
            pending = [line]
            while pending:
                ordered.append(pending.pop())
                pending += reversed(followers.get(ordered[-1].id, []))

        for line in followers.get("", []):
            put(line)
        for line in self.all.values():
            if line.id not in new:
                put(line)
        self.all = {line.id: line for line in ordered}
        self._last = ordered[-1]
        self.generation += 1

    def _find(self, kind: LineKind, item: SpokenItem) -> VoiceLine | None:
        """Return the line whose words are exactly the item's; ``None`` if there is none."""
        lines = [self.all[line_id] for line_id in self._pending[kind]]
        loose = [(line, segment) for line in lines for segment in line.parts]
        item_words = words_of(item.text)
        if not item_words:
            return None
        spoken = [words_of(_text_of(line, segment)) for line, segment in loose]
        if item_words in spoken:
            return self._take([loose[spoken.index(item_words)]])
        left = Counter(item_words)
        chosen: list[tuple[VoiceLine, str]] = []
        for place, words in zip(loose, spoken, strict=True):
            if _is_more_of(words, left) if chosen else _is_like(words, item_words):
                chosen.append(place)
                left -= Counter(words)
                if kind == "agent" or not left:
                    break
        return self._take(chosen) if chosen else None

    def _take(self, chosen: list[tuple[VoiceLine, str]]) -> VoiceLine:
        """Return a line with exactly the chosen segments."""
        first = chosen[0][0]
        own = [segment for line, segment in chosen if line is first]
        for line, segment in chosen:
            if line is not first:
                self._move_part(line, segment, first)
                own.append(segment)
        rest = [segment for segment in first.parts if segment not in own]
        if not rest:
            return first
        moved = rest if next(iter(first.parts)) in own else own
        other = self._begin(first.kind, identity=first.identity)
        for segment in moved:
            self._move_part(first, segment, other)
        return first if moved is rest else other

    def _move_part(self, line: VoiceLine, segment: str, target: VoiceLine) -> None:
        target.parts[segment] = line.parts[segment]
        if segment in line.finals:
            target.finals.add(segment)
        self._by_segment[segment] = target.id
        self._drop_part(line, segment)
        self._update_text(target)

    def _drop_part(self, line: VoiceLine, segment: str) -> None:
        del line.parts[segment]
        line.finals.discard(segment)
        if not line.parts:
            self._drop(line)
            return
        if line.finals >= line.parts.keys():
            line.status = "said"
        self._update_text(line)

    # --- lines -----------------------------------------------------------------------------------------

    def notice(self, what: str, about: str = "") -> None:
        """Add a line about what happened."""
        line = self._begin("notice", status="said")
        line.notice = what
        line.text.add(about[:MAX_SEGMENT_CHARACTERS])

    def _step(self, event: StepSet | ToolStatusChanged) -> None:
        """Take an event about a tool; a new call comes after the newest line."""
        turn_id = self._turn_of(event)
        steps = self.steps.setdefault(turn_id, Steps())
        step = steps.apply(_still_asking(event, steps))
        shown = steps.all.get(step.call_id, step)
        if shown.type in ("text", "thinking"):
            return  # the words come as they are spoken
        place = turn_id, shown.id
        if place not in self._step_lines:
            line = self._begin("step", status="said")
            line.turn_id, line.step_id = place
            self._put_behind_question(line)
            self._step_lines[place] = line.id
        self.changed.add(self._step_lines[place])

    def _put_behind_question(self, line: VoiceLine) -> None:
        """Put a new step behind its question and earlier steps if the history brought the answer, too."""
        question = self.all.get(self._by_item.get(line.turn_id, ""))
        if question is not None and question.is_loaded:
            newest_first = reversed(self._step_lines.items())
            before = (self.all[line_id] for (turn_id, _), line_id in newest_first if turn_id == line.turn_id)
            self._put_between([(next(before, question), line)])

    def _turn_of(self, event: StepSet | ToolStatusChanged) -> str:
        """Return the turn of a step: the first that was named, if several sources name one."""
        if isinstance(event, ToolStatusChanged):
            return self.turn_of_step.setdefault(event.step_id, event.turn_id)
        step = event.step
        turn_id = (
            self.turn_of_step.get(step.id_ref, event.turn_id) if step.type == "tool_result" else event.turn_id
        )
        return self.turn_of_step.setdefault(step.id, turn_id)

    def step_of(self, line: VoiceLine) -> StepState:
        """Return the step of a line."""
        return self.steps[line.turn_id].all[line.step_id]

    def close(self) -> None:
        """End the session: incomplete lines are lost, a person's words stay as they were heard.

        An interrupted line of the agent that no words of a person follow is lost, too: nobody cut in.
        """
        spoken = (line for line in reversed(self.all.values()) if line.kind in self._pending)
        newest = next(spoken, None)
        if newest is not None and newest.kind == "agent" and newest.status == "cut":
            newest.status = "lost"
            self.changed.add(newest.id)
        for line_id in [*self._pending["person"], *self._pending["agent"]]:
            line = self.all[line_id]
            if line.status == "open":
                line.status = "lost" if line.kind == "agent" else "said"
                self.changed.add(line_id)
        for turn_id, steps in self.steps.items():
            steps.close("cut")
            for step_id in steps.changed:
                self.changed.update(filter(None, [self._step_lines.get((turn_id, step_id))]))

    def _begin(
        self,
        kind: LineKind,
        *,
        status: LineStatus = "open",
        identity: str = "",
        is_typed: bool = False,
        is_voiced: bool = True,
    ) -> VoiceLine:
        self._number += 1
        line = VoiceLine(
            f"l{self._number}", kind, status=status, identity=identity, is_typed=is_typed, is_voiced=is_voiced
        )
        self.all[line.id] = self._last = line
        self.changed.add(line.id)
        if kind in self._pending:
            loose = self._pending[kind]
            loose[line.id] = None
            if len(loose) > NEAR_LINES:
                loose.popitem(last=False)
        return line

    def _drop(self, line: VoiceLine) -> None:
        del self.all[line.id]
        self.changed.discard(line.id)
        self._pending[line.kind].pop(line.id, None)
        if self._last is line:
            self._last = next(reversed(self.all.values()), None)
        self.generation += 1

    def _line_of(self, segment_id: str) -> VoiceLine | None:
        return self.all.get(self._by_segment.get(segment_id, ""))

    def _update_text(self, line: VoiceLine) -> None:
        """Set a person's line to the words of its segments."""
        if line.kind == "person" and not line.item_id:
            line.text.replace(" ".join(text.strip() for text in line.parts.values()))
        self.changed.add(line.id)

    def _join_wordless(
        self, kind: LineKind, segment_id: str, text: str, identity: str = "", *, is_all: bool = True
    ) -> bool:
        """Give words, and whose they are, to the item that came before them; return whether there is one. The
        first of more words (not ``is_all``) can only belong to the last line.
        """
        words = words_of(text)
        for line_id in self._wordless[kind]:
            line = self.all[line_id]
            item_words = words_of(line.text.slice(0, COMPARED_CHARACTERS))
            begins = line is self._last and "".join(item_words).startswith("".join(words) or " ")
            if item_words == words if is_all else begins:
                self._wordless[kind].remove(line_id)
                self._by_segment[segment_id] = line_id
                line.identity = identity
                self.changed.add(line_id)
                return True
        return False

    def _fill(self, line: VoiceLine, item: SpokenItem) -> None:
        is_new = not line.item_id
        line.item_id = item.id
        self._by_item[item.id] = line.id
        self._pending[line.kind].pop(line.id, None)
        line.parts.clear()
        line.finals.clear()
        if not item.interrupted:
            line.status = "said"
        elif line.status != "lost":  # nobody cut in if the connection broke
            line.status = "cut"
        line.text.replace(item.text)
        said_at = item.started_at if item.started_at is not None else item.created_at
        line.at = said_at if said_at is not None else line.at
        self.changed.add(line.id)
        if is_new:
            self._account(line, item.times)

    def _account(self, line: VoiceLine, times: TurnTimes) -> None:
        """Keep the times of a turn: its question has one half, its answer the other."""
        if line.kind == "person":
            line.times = self._heard_times = times
        elif times != TurnTimes():
            line.times = _both(self._heard_times, times)
            self._heard_times = TurnTimes()


def _still_asking(event: StepSet | ToolStatusChanged, steps: Steps) -> StepSet | ToolStatusChanged:
    """Return an event about a call that asks, without the status of an agent that does not know approvals."""
    if isinstance(event, StepSet) and event.step.status == "running":
        known = steps.all.get(event.step.id)
        if known is not None and known.status == "asks":
            return replace(event, step=replace(event.step, status="asks", ask=known.ask))
    return event


def words_of(text: str) -> list[str]:
    """Return the words for comparing two texts, without case and signs; without words, the signs."""
    text = text[:COMPARED_CHARACTERS].casefold()
    return _WORD.findall(text) or text.split()


def _text_of(line: VoiceLine, segment: str) -> str:
    return line.parts[segment] if line.kind == "person" else line.text.slice(0, COMPARED_CHARACTERS)


def _is_like(words: list[str], others: list[str]) -> bool:
    """Whether one text begins like the other, or has most of the words of the shorter one."""
    joined, other_joined = "".join(words), "".join(others)
    if joined and other_joined and (joined.startswith(other_joined) or other_joined.startswith(joined)):
        return True
    shorter = min(len(words), len(others))
    return shorter > 0 and (Counter(words) & Counter(others)).total() >= LIKE_SHARE * shorter


def _is_more_of(words: list[str], left: Counter[str]) -> bool:
    """Whether a text consists of the rest of an item's words."""
    return bool(words) and (Counter(words) & left).total() >= LIKE_SHARE * len(words)


def _both(earlier: TurnTimes, later: TurnTimes) -> TurnTimes:
    return replace(earlier, **{name: value for name, value in asdict(later).items() if value is not None})
