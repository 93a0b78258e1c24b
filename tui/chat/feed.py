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
from tui.live.key_hints import key_of
from tui.live.steps import texts as step_texts
from tui.live.steps.rows import ERROR, TurnFeed, show_person, step_key, turn_key
from tui.live.texts import Spot, whole_error
from tui.screens.words import say
from widgets.markdown.rows import APART
from widgets.painter import PEOPLE
from widgets.signs import is_ascii
from widgets.terminal.garbage import uncollected
from widgets.transcript.step_body import fenced, text_body
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

    # --- what comes in ---------------------------------------------------------------------------------

    def take(self) -> None:
        """Add what is new in the state to the transcript."""
        state = self._state
        if self._generation != state.generation:
            self._generation = state.generation
            self.transcript.clear()
            self._start_over()
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
            step_key(turn.turn.id, step_id)
            for turn in self._turns.values()
            for step_id in turn.steps.rows
            if not kind or ((step := turn.turn.steps.all.get(step_id)) is not None and step.type == kind)
        )

    # --- where things are ------------------------------------------------------------------------------

    def placed(self, spot: Spot) -> None:
        """Note that the next message of the transcript shows ``spot``."""
        self._spots.append(spot)

    def spot(self, number: int) -> Spot:
        """Return what message ``number`` of the transcript, from 1, shows; ("", "") if there is none."""
        return self._spots[number - 1] if 0 < number <= len(self._spots) else ("", "")

    def whole(self, turn_id: str, step_id: str) -> tuple[str, str] | None:
        """Return the title of a step or attached file, and its whole body; ``None`` if there is none."""
        turn = self._state.turns.get(turn_id)
        if turn is None:
            return None
        if step_id == ERROR:
            return say("step.error"), fenced(whole_error(turn), limit=None)
        step = turn.steps.all.get(step_id)
        if step is not None:
            if step.type == "text":
                return None
            title = step_texts.step_head(step)[0].replace(APART, " · ", 1)
            return title, step_texts.step_body_of(step, shows_all=True)
        for number, file in enumerate(turn.attachments):
            if step_id == file_id(number):
                return file.name, _body_of(file, None)
        return None

    def model_of(self, turn: Turn) -> str:
        """Return the model of the chat, if the server does not name the speaker; "" for a server with
        settings.
        """
        return self._state.conversation.model if turn.is_local else ""


class _Turn:
    """One turn in the transcript: its head, then what an answer has, or a person's words and files."""

    __slots__ = ("_feed", "_files", "_text", "_title", "steps", "turn")

    def __init__(self, feed: ChatFeed, turn: Turn) -> None:
        self.turn = turn
        self.steps = TurnFeed(feed.transcript, turn, placed=feed.placed)
        self._feed = feed
        self._files = 0  # that have a row
        self._text: str | None = None  # of a person, as it was added
        self._title = ""

    def take(self) -> None:
        self._head()
        if self.turn.role == "user":
            self._take_person()
        else:
            self.steps.take()
            self.turn.steps.changed.clear()

    def _head(self) -> None:
        """Show the speaker; when the turn is over, also its time and usage."""
        turn, transcript = self.turn, self._feed.transcript
        title = texts.turn_title(turn, self._feed.model_of(turn))
        if not self._title:
            self._feed.placed((turn.id, ""))
            transcript.turn_opened(turn_key(turn.id), title, color=PEOPLE if turn.role == "user" else "")
        elif title != self._title:
            transcript.turn_titled(turn_key(turn.id), title)
        self._title = title

    def _take_person(self) -> None:
        turn, transcript = self.turn, self._feed.transcript
        if turn.text != self._text:
            self._text = turn.text
            show_person(transcript, turn)
        for number, file in islice(enumerate(turn.attachments), self._files, None):
            self._files = number + 1
            self._feed.placed((turn.id, file_id(number)))
            row = step_key(turn.id, file_id(number))
            title = f"{say('chat.attached')}{APART}{file.name}"
            transcript.step_opened(row, title=title, summary=facts(file), is_folded=True)
            transcript.body_later(row, partial(self._file_body, file), partial(_body_of, file, None))
            transcript.turn_closed(row)

    def _file_body(self, file: Attachment) -> str:
        transcript = self._feed.transcript
        opens = partial(key_of, transcript.screen)
        return _body_of(file, step_texts.limit_of(opens, ascii_only=is_ascii(transcript)))


def file_id(number: int) -> str:
    """Return what an attached file has instead of a step's id."""
    return f"file {number}"


def _body_of(file: Attachment, limit: str | None) -> str:
    """Return the contents of an attached file, as Markdown; for an image only its description."""
    return facts(file) if is_image(file) else text_body(file.content, limit)
