"""One turn in a transcript: its words, each once, and a row that folds for each thought and each tool."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection
from functools import partial
from typing import ClassVar, Final

from agent_tui.state.steps import StepState
from agent_tui.state.turn import Turn
from tui.live.key_hints import key_of
from tui.live.steps import texts
from tui.live.texts import Spot, ending, whole_error
from tui.screens.words import say
from widgets.signs import is_ascii
from widgets.transcript.step import BODY_BAR
from widgets.transcript.step_body import fenced
from widgets.transcript.transcript import Transcript
from widgets.units import size

WRITTEN_CHARACTERS: Final = 8_000  # of arguments: longer ones are shown once they are whole
CODE: Final = "```"
# Instead of a step's id; behind both how often the turn was continued.
END: Final = "\nend"  # the last row of a turn that does not end in words
ERROR: Final = "\nerror"  # all of an error that the last row of a turn cuts
_LINE_END: Final = re.compile(r"(?<=\S)[ \t]*\n(?=[ \t]*\S)")


class StepRows:
    """Gives a transcript the steps of one turn, below its message ``key("")``. It costs what is new."""

    __slots__ = (
        "_continued",
        "_emptied",
        "_given",
        "_keys_of_texts",
        "_last",
        "_note",
        "_open",
        "_tone",
        "_transcript",
        "_words_opened",
        "rows",
    )
    IS_SET_IN: ClassVar[bool] = False  # the rows are among spoken lines, and begin where their names do

    def __init__(
        self,
        transcript: Transcript,
        tone: tuple[str, str] = ("", ""),
        words_opened: Callable[[str], None] | None = None,
    ) -> None:
        """``tone``: colour and owner of the rows; ``words_opened`` begins a message for words below a row."""
        self.rows: set[str] = set()  # ids of steps that have a row
        self._transcript = transcript
        self._tone = tone
        self._words_opened = words_opened or transcript.turn_opened
        self._given: dict[str, tuple[int, int]] = {}  # of texts: characters and revision
        self._keys_of_texts: dict[str, str] = {}  # by step id: the message that shows it
        self._open: tuple[str, str] | None = None  # the message that grows: its key, its step's type
        self._last = ""  # key of the last message
        self._note = ""  # what that ends with
        self._continued = 0  # how often the turn went on after an end
        self._emptied = ""  # the message of such an end, which says nothing any more

    # --- what it hangs on ------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        raise NotImplementedError

    def key(self, step_id: str = "") -> str:
        """Return the key of the message that shows a step."""
        raise NotImplementedError

    def placed(self, step_id: str) -> None:
        """The next message of the transcript shows that step."""

    # --- steps -----------------------------------------------------------------------------------------

    def take_step(self, step: StepState) -> None:
        if step.type == "tool_result" and step.call_id and step.id not in self.rows:
            return  # it is shown with its call
        if step.type == "text":
            self._grow(step, self._keys_of_texts.get(step.id) or self._begin_text(step))
        elif step.type in ("thinking", "sub_agent"):
            self._think(step)
        else:
            self._tool(step)

    def _begin_text(self, step: StepState) -> str:
        """Return the message that shows a text; the first one is right under the name."""
        self._begin(step)
        if self._last == self.key() and not self._given:
            key = self._last
        else:
            if self._last == self._emptied:  # right below the row it went on after
                key = self._last
            else:
                key = self.key(step.id)
                self.placed(step.id)
            self._words_opened(key)
        self._given[step.id] = 0, step.content.revision
        self._keys_of_texts[step.id] = key
        self._last, self._open = key, (key, step.type)
        return key

    def _think(self, step: StepState) -> None:
        key = self.key(step.id)
        if step.id not in self._given:
            self._begin(step)
            self._row(step, key, is_folded=self.is_over)
            self._given[step.id] = 0, step.content.revision
            self._open = key, step.type
        elif self._given[step.id][0] < texts.HEAD_CHARACTERS or step.seconds is not None:
            self._transcript.step_titled(key, *texts.step_head(step))
        self._grow(step, key)
        if self.is_over:
            self._close_open()

    def _tool(self, step: StepState) -> None:
        """Show a call with its result, or a step of another type."""
        key = self.key(step.id)
        is_folded = texts.is_folded(step)
        if step.id not in self.rows:
            self._begin(step)
            self._row(step, key, is_folded=is_folded)
        else:
            is_shown_folded = self._transcript.folds.is_folded(key)
            self._transcript.step_titled(key, *self._head(step, is_folded=is_shown_folded))
        if step.arguments.length <= WRITTEN_CHARACTERS or not texts.is_written(step):
            show_body(self._transcript, key, step)
            self._transcript.turn_closed(key)
        self._transcript.folds.fold(key, is_folded)

    def _row(self, step: StepState, key: str, *, is_folded: bool) -> None:
        self.rows.add(step.id)
        self.placed(step.id)
        title, summary, sign = self._head(step, is_folded=is_folded)
        color, who = self._tone
        self._transcript.step_opened(
            key,
            title=title,
            summary=summary,
            sign=sign,
            is_folded=is_folded,
            color=color,
            who=who,
            is_dim=step.type in ("thinking", "sub_agent"),
            is_set_in=self.IS_SET_IN,
        )
        self._last = key

    def _head(self, step: StepState, *, is_folded: bool) -> tuple[str, str, str]:
        return texts.step_head(step, has_lines=not is_folded and bool(_lines(self._transcript, step)))

    def _grow(self, step: StepState, key: str) -> None:
        given, revision = self._given[step.id]
        if (given, revision) == (step.content.length, step.content.revision):
            return
        if revision != step.content.revision or self._open is None or self._open[0] != key:
            # Replaced, or added to after something else began: rare repairs, so all of it is given again.
            self._transcript.text_replaced(key, step.content.text)
            if self._open is None or self._open[0] != key:
                self._transcript.turn_closed(key, self._note if key == self._last else "")
        elif given != step.content.length:
            self._transcript.text_added(key, step.content.slice(given, step.content.length))
        self._given[step.id] = step.content.length, step.content.revision
        if step.seams:
            self._transcript.set_seams(key, step.seams)

    def go_on(self) -> None:
        """The turn continues: words at its end continue in their message, another last row says no more."""
        if self._last == self._end_key:
            self._transcript.turn_closed(self._last)
            self._emptied = self._last
        self._continued += 1
        if self._last in self._keys_of_texts.values():
            self._transcript.turn_reopened(self._last)
            self._open = self._last, "text"
        elif self._last == self.key():
            self._transcript.turn_reopened(self._last)

    # --- ends ------------------------------------------------------------------------------------------

    def _begin(self, step: StepState) -> None:
        """Another step begins: the one before it is over."""
        if not self._given and not self.rows and step.type != "text":
            self._transcript.turn_closed(self.key())
        self._close_open()

    def _close_open(self, note: str = "") -> None:
        if self._open is not None:
            key, type_ = self._open
            self._transcript.turn_closed(key, note if type_ == "text" else "")
            if type_ != "text":
                self._transcript.folds.fold(key, True)
            self._open = None

    @property
    def _end_key(self) -> str:
        return self.key(f"{END}{self._continued}")

    def end(self, note: str) -> None:
        """The turn is over; ``note`` is its last row, where there is one."""
        self._note = note
        is_text = self._open is not None and self._open[1] == "text"
        self._close_open(note)
        if is_text:
            return
        if self._last == self.key():
            self._transcript.turn_closed(self._last, note)
        elif note:
            key = self._end_key
            if self._last != key:
                self.placed("")
                color, who = self._tone
                self._transcript.turn_opened(key, color=color, who=who)
                self._last = key
            self._transcript.turn_closed(key, note)


class TurnFeed(StepRows):
    """Carries one turn of an agent into a transcript, below the message that says who speaks."""

    __slots__ = ("_ending", "_is_new", "_keys", "_placed", "turn")

    def __init__(
        self,
        transcript: Transcript,
        turn: Turn,
        tone: tuple[str, str] = ("", ""),
        words_opened: Callable[[str], None] | None = None,
        placed: Callable[[Spot], None] | None = None,
    ) -> None:
        """``placed`` is told what each message shows, before it is there; ``StepRows`` has the others."""
        super().__init__(transcript, tone, words_opened)
        self.turn = turn
        self._placed = placed
        self._last = turn_key(turn.id)
        self._keys = [self._last]
        self._is_new = True
        self._ending: str | None = None  # as the transcript shows it; ``None`` while it speaks

    def take(self) -> None:
        """Give the transcript what is new, and costs that. The last to show it resets what changed."""
        turn, steps = self.turn, self.turn.steps
        if turn.status == "speaking" and self._ending is not None:  # it is continued
            self._ending = None
            self.go_on()
        changed: Collection[str] = steps.all if self._is_new else steps.changed
        self._is_new = False
        if len(changed) > 1:
            changed = sorted(changed, key=lambda id_: steps.all[id_].place)
        for step_id in changed:
            self.take_step(steps.all[step_id])
        if turn.status == "speaking" or (note := ending(turn)) == self._ending:
            return
        if self._ending is None or not turn.superseded:
            self.end(note)
            self._show_whole_error()
        if turn.superseded:
            self._fade(note)
        self._ending = note

    def _show_whole_error(self) -> None:
        if not (error := whole_error(self.turn)):
            return
        row = f"{ERROR}{self._continued}"
        key = self.key(row)
        if row not in self.rows:
            self.rows.add(row)
            self.placed(row)
        self._transcript.step_opened(key, title=say("step.error"), summary=size(len(error)), is_folded=True)
        self._transcript.body_later(key, partial(fenced, error))
        self._transcript.turn_closed(key)

    def _fade(self, note: str) -> None:
        """Show all of it dim: it is no longer meant."""
        if self._last not in map(self.key, self.rows):
            self._transcript.turn_closed(self._last, note)
        for key in self._keys:
            self._transcript.turn_faded(key)

    @property
    def is_over(self) -> bool:
        return self.turn.status != "speaking"

    def key(self, step_id: str = "") -> str:
        return step_key(self.turn.id, step_id) if step_id else turn_key(self.turn.id)

    def placed(self, step_id: str) -> None:
        self._keys.append(self.key(step_id) if step_id else self._end_key)
        if self._placed is not None:
            self._placed((self.turn.id, step_id))


def show_body(transcript: Transcript, row: str, step: StepState) -> None:
    """Give a row the body of its step, made when it is drawn; only the card that they answer names keys."""

    def key(binding_id: str) -> str:
        is_elsewhere = binding_id.startswith("ask.") and transcript.asked_row != row
        return "" if is_elsewhere else key_of(transcript.screen, binding_id)

    lines = _lines(transcript, step)
    shown = partial(texts.step_body_of, step, key, lines=lines, ascii_only=is_ascii(transcript))
    transcript.body_later(row, shown, partial(texts.step_body_of, step, shows_all=True))


def _lines(transcript: Transcript, step: StepState) -> list[str]:
    view = transcript.view
    return texts.last_lines(step, view.height, view.width - len(BODY_BAR))


def show_person(transcript: Transcript, turn: Turn) -> None:
    """Give ``transcript`` a person's words, in the message that was opened for them, or other words there."""
    key = turn_key(turn.id)
    transcript.text_replaced(key, as_typed(turn.text))
    transcript.turn_closed(key, ending(turn))


def turn_key(turn_id: str) -> str:
    """Return the key of a turn's first message; it is never that of a step or rule."""
    return f"turn {turn_id}"


def step_key(turn_id: str, step_id: str) -> str:
    """Return the key of a step's row; whatever ids a server sends, no two are the same."""
    head = turn_key(turn_id)
    return f"step {len(head)} {head} {step_id}"


def as_typed(text: str) -> str:
    """Return a person's words as Markdown with their line breaks."""
    return text if CODE in text else _LINE_END.sub("  \\n", text)
