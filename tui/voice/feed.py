"""Fills the transcript of a voice session from its state: each line once, steps as rows that fold."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Final

from agent_tui.model.inert import inert_line
from agent_tui.state.voice import VoiceState
from agent_tui.state.voice_lines import VoiceLine
from tui.live import signs
from tui.live.steps.rows import StepRows, as_typed, step_key, turn_key
from tui.screens.localised import localised
from tui.screens.words import say
from tui.voice.texts import latency
from widgets.painter import PEOPLE
from widgets.terminal.garbage import uncollected
from widgets.transcript.transcript import Transcript

MAX_NAME_CHARACTERS: Final = 40
MAX_NOTICE_CHARACTERS: Final = 200


class VoiceFeed:
    """Remembers what the transcript has. ``take`` costs as much as is new, not what was said before."""

    def __init__(
        self, transcript: Transcript, state: VoiceState, clock: Callable[[], float] = time.time
    ) -> None:
        """``clock`` is for lines without a time of their own."""
        self.transcript = transcript
        self._state = state
        self._clock = clock
        self._generation = state.lines.generation
        self._times: dict[str, float] = {}
        self._agent_name = ""  # the newest one's: it may have left
        self._my_identities = {""}  # each session has another one
        self._start_over()

    def _start_over(self) -> None:
        self._given: dict[str, _Given] = {}
        self._steps: dict[str, _Steps] = {}

    def take(self) -> None:
        """Add what is new in the state to the transcript."""
        lines = self._state.lines
        if self._generation != lines.generation:
            self._generation = lines.generation
            self.transcript.clear()
            self._start_over()
        for line_id in lines.changed:
            if line_id in self._given:
                self._take_line(lines.all[line_id])
        if len(self._given) < len(lines):
            with uncollected():
                for line in list(islice(lines.all.values(), len(self._given), None)):
                    self._given[line.id] = _Given()
                    self._take_line(line)
        lines.changed.clear()

    # --- lines -----------------------------------------------------------------------------------------

    def _take_line(self, line: VoiceLine) -> None:
        match line.kind:
            case "person" | "agent":
                self._take_words(line)
            case "notice":
                self._take_notice(line)
            case "step":
                self._take_step(line)

    def _take_words(self, line: VoiceLine) -> None:
        transcript, given, key = self.transcript, self._given[line.id], turn_key(line.id)
        is_person = line.kind == "person"
        title = self._title(line, self._who(line))
        if key in transcript.messages:
            transcript.turn_titled(key, title)
        else:
            color, who = (PEOPLE, "") if is_person else ("", "agent")
            transcript.turn_opened(key, title, color=color, who=who, is_spoken=True)
        is_open = line.status == "open"
        if is_person:
            transcript.text_replaced(key, as_typed(line.text.text))
        elif given.revision != line.text.revision:
            transcript.text_replaced(key, line.text.text)
        elif given.length != line.text.length:
            transcript.text_added(key, line.text.since(given.length))
        given.length, given.revision = line.text.length, line.text.revision
        transcript.turn_faded(key, is_faded=is_person and is_open)
        tail, times = self._tail(line), "" if is_person else " · ".join(latency(line.times))
        if not is_open and given.ending != (ending := (tail, times, line.text.length)):
            given.ending = ending
            transcript.turn_closed(key, tail=tail, note=times)

    def _title(self, line: VoiceLine, name: str) -> str:
        said_at = line.at if line.at is not None else self._times.setdefault(line.id, self._clock())
        return f"{name}\t{time.strftime('%H:%M', time.localtime(said_at))}"

    def _who(self, line: VoiceLine) -> str:
        state = self._state
        if line.kind == "agent":
            if state.agent is not None:
                self._agent_name = inert_line(state.agent.name, MAX_NAME_CHARACTERS)
            return self._agent_name or say("voice.line.agent")
        self._my_identities |= {person.identity for person in state.people if person.is_me}
        has_others = any(not (person.is_me or person.is_agent) for person in state.people)
        if line.is_typed or (line.identity in self._my_identities and (line.identity or not has_others)):
            return say("voice.line.you")  # items do not say whose words they were
        return inert_line(state.name_of(line.identity), MAX_NAME_CHARACTERS) or say("voice.line.somebody")

    def _tail(self, line: VoiceLine) -> str:
        """Return what follows the last word of a line that was interrupted or lost."""
        match line.status:
            case "cut":
                is_mine = sum(not person.is_agent for person in self._state.people) < 2
                return _beside("cut.you" if is_mine else "cut")
            case "lost":
                if line.is_typed:
                    return f"{signs.FAILED} {say('voice.line.not_sent')}"
                return _beside("lost")
            case "unclear":
                return _beside("unclear")
            case _:
                return ""

    def _take_notice(self, line: VoiceLine) -> None:
        name = inert_line(line.text.slice(0, MAX_NOTICE_CHARACTERS), MAX_NOTICE_CHARACTERS)
        name = localised(name) if line.notice == "failed" else name or say("voice.line.somebody")
        text = say(f"voice.notice.{line.notice}", name=name)
        sign = signs.FAILED if line.notice == "failed" else signs.CUT
        self.transcript.turn_opened(turn_key(line.id), self._title(line, ""), is_spoken=True)
        self.transcript.turn_closed(turn_key(line.id), note=f"{sign} {text}")

    def _take_step(self, line: VoiceLine) -> None:
        rows = self._steps.get(line.turn_id)
        if rows is None:
            rows = self._steps[line.turn_id] = _Steps(self.transcript, line.turn_id)
        rows.take_step(self._state.lines.step_of(line))

    def row_of(self, step_id: str) -> str:
        """Return the key of the row that shows a call, "" for none."""
        turn_id = self._state.lines.turn_of_step.get(step_id)
        rows = self._steps.get(turn_id) if turn_id is not None else None
        return rows.key(step_id) if rows is not None and step_id in rows.rows else ""


@dataclass(slots=True)
class _Given:
    """What the transcript has of a line."""

    length: int = 0
    revision: int = 0
    ending: tuple[str, str, int] | None = None  # what follows its words, its times, and its length


class _Steps(StepRows):
    """The tools of one turn."""

    __slots__ = ("_turn_id",)
    IS_SET_IN = True

    def __init__(self, transcript: Transcript, turn_id: str) -> None:
        super().__init__(transcript)
        self._turn_id = turn_id

    @property
    def is_over(self) -> bool:
        return False

    def key(self, step_id: str = "") -> str:
        return step_key(self._turn_id, step_id or "\nwords")  # no line of words has it


def _beside(why: str) -> str:
    """Return the sign of a line that broke off, and why."""
    return f"{signs.CUT}  {say('between.beside', text=say(f'voice.line.{why}'))}"
