"""Fills the transcript of a chat from its state: each word once, each step as a row that folds."""

from __future__ import annotations

from functools import partial
from itertools import islice

from agent_tui.model.events import Attachment
from agent_tui.model.images import is_image
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from tui.chat import texts
from tui.chat.files import facts
from tui.live.steps import texts as step_texts
from tui.live.steps.rows import StepRows, as_typed
from tui.live.texts import Spot, ending
from tui.screens.words import say
from widgets.markdown.rows import APART
from widgets.painter import PEOPLE
from widgets.signs import is_ascii
from widgets.terminal.garbage import uncollected
from widgets.transcript.step_body import text_body
from widgets.transcript.transcript import Transcript


class ChatFeed:
    """Remembers what the transcript has. ``take`` costs as much as is new, not what was said before."""

    def __init__(self, transcript: Transcript, state: ConversationState) -> None:
        self.transcript = transcript
        self._state = state
        self._generation = -1
        self._start_over()

    def _start_over(self) -> None:
        self._turns: dict[str, _Turn] = {}
        self._spots: list[Spot] = []  # of each message of the transcript
        self._numbers: dict[Spot, int] = {}
        self._keys: dict[str, Spot] = {}

    # --- what comes in ---------------------------------------------------------------------------------

    def take(self) -> None:
        """Add what is new in the state to the transcript."""
        state = self._state
        if self._generation != state.generation:
            self._generation = state.generation
            self.transcript.clear()
            self._start_over()
            for turn in state.turns.values():  # what was shown before is shown again
                turn.steps.changed.update(turn.steps.all)
        for turn_id in state.changed:
            if (known := self._turns.get(turn_id)) is not None:
                known.take()
        if len(self._turns) < len(state.turns):
            with uncollected():
                for turn in list(islice(state.turns.values(), len(self._turns), None)):
                    self._turns[turn.id] = _Turn(self, turn)
                    self._turns[turn.id].take()
        state.changed.clear()

    # --- what the reader does --------------------------------------------------------------------------

    def fold_all(self, kind: str = "") -> None:
        """Fold all steps for the reader, or those of one kind; unfold them if all are folded."""
        self.transcript.folds.fold_all(
            key_of(turn.turn.id, step_id)
            for turn in self._turns.values()
            for step_id in turn.rows
            if not kind or turn.turn.steps.all[step_id].type == kind
        )

    # --- where things are ------------------------------------------------------------------------------

    def placed(self, spot: Spot) -> None:
        """Note that the next message of the transcript shows ``spot``."""
        self._spots.append(spot)
        self._numbers.setdefault(spot, len(self._spots))
        self._keys[key_of(*spot)] = spot

    def spot(self, number: int) -> Spot:
        """Return what message ``number`` of the transcript, from 1, shows; ("", "") if there is none."""
        return self._spots[number - 1] if 0 < number <= len(self._spots) else ("", "")

    def spot_of(self, key: str) -> Spot:
        """Return what the message ``key`` of the transcript shows; ("", "") if there is none."""
        return self._keys.get(key, ("", ""))

    def whole(self, turn_id: str, step_id: str) -> tuple[str, str] | None:
        """Return the title of a step or attached file, and its whole body; ``None`` if there is none."""
        turn = self._state.turns.get(turn_id)
        if turn is None:
            return None
        step = turn.steps.all.get(step_id)
        if step is not None:
            if step.type == "text":
                return None
            title = step_texts.step_head(step)[0].replace(APART, " · ", 1)
            return title, step_texts.step_body_of(step, shows_all=True)
        for number, file in enumerate(turn.attachments):
            if step_id == f"file {number}":
                return file.name, _body_of(file, None)
        return None

    def model_of(self, turn: Turn) -> str:
        """Return the model of the chat, if the server does not name the speaker; "" for a server with
        settings.
        """
        return self._state.conversation.model if turn.is_local else ""

    def number(self, turn_id: str, step_id: str = "") -> int:
        """Return the number of the message that shows it; 0 if none does."""
        return self._numbers.get((turn_id, step_id), 0)


class _Turn(StepRows):
    """One turn in the transcript."""

    __slots__ = ("_ending", "_feed", "_files", "_text", "_title", "turn")

    def __init__(self, feed: ChatFeed, turn: Turn) -> None:
        super().__init__(feed.transcript)
        self.turn = turn
        self._feed = feed
        self._files: set[str] = set()  # keys of files that have a row
        self._text: str | None = None  # of a person, as it was added
        self._title = ""
        self._ending: str | None = None  # as it was shown

    def take(self) -> None:
        turn = self.turn
        self._head()
        if turn.role == "user":
            self._take_person()
            return
        if turn.status == "speaking" and self._ending is not None:  # it is continued
            self._ending = None
            self.go_on()
        self.take_steps(turn.steps)
        turn.steps.changed.clear()
        how = ending(turn)
        if turn.status != "speaking" and how != self._ending:
            self._ending = how
            self.end(how)

    def _head(self) -> None:
        """Show the speaker; when the turn is over, also its time and usage."""
        title = texts.turn_title(self.turn, self._feed.model_of(self.turn))
        if not self._last:
            self._last = key_of(self.turn.id)
            self._feed.placed((self.turn.id, ""))
            self._transcript.turn_opened(self._last, title, color=PEOPLE if self.turn.role == "user" else "")
        elif title != self._title:
            self._transcript.turn_titled(key_of(self.turn.id), title)
        self._title = title

    def _take_person(self) -> None:
        turn = self.turn
        key = key_of(turn.id)
        if turn.text != self._text:
            self._text = turn.text
            self._transcript.text_replaced(key, as_typed(turn.text))
            self._transcript.turn_closed(key)
        for number, file in enumerate(turn.attachments):
            row = key_of(turn.id, f"file {number}")
            if row not in self._files:
                self._files.add(row)
                self._feed.placed((turn.id, f"file {number}"))
                title = f"{say('chat.attached')}{APART}{file.name}"
                self._transcript.step_opened(row, title=title, summary=facts(file), is_folded=True)
                self._transcript.body_later(
                    row, partial(self._file_body, file), partial(_body_of, file, None)
                )
                self._transcript.turn_closed(row)

    def _file_body(self, file: Attachment) -> str:
        return _body_of(file, step_texts.limit_of(self._key_now, ascii_only=is_ascii(self._transcript)))

    # --- steps -----------------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        return self.turn.status != "speaking"

    def key(self, step_id: str = "") -> str:
        return key_of(self.turn.id, step_id)

    def placed(self, step_id: str) -> None:
        self._feed.placed((self.turn.id, step_id))


def _body_of(file: Attachment, limit: str | None) -> str:
    """Return the contents of an attached file, as Markdown; for an image only its description."""
    return facts(file) if is_image(file) else text_body(file.content, limit)


def key_of(turn_id: str, step_id: str = "") -> str:
    """Return the key of a message; whatever ids a server sends, no two are the same."""
    return f"{len(turn_id)} {turn_id} {step_id}"
