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
        self._turns: dict[str, TurnFeed] = {}
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
            if (feed := self._turns.get(turn_id)) is not None:
                self._take_turn(feed)
        if len(self._turns) < len(state.turns):
            with uncollected():
                for turn in list(islice(state.turns.values(), len(self._turns), None)):
                    feed = TurnFeed(self.transcript, turn, placed=self._spots.append)
                    self._turns[turn.id] = feed
                    self._take_turn(feed)
        state.changed.clear()

    def _take_turn(self, feed: TurnFeed) -> None:
        """Show the speaker, when the turn is over also its time and usage; then what is said."""
        turn, transcript, key = feed.turn, self.transcript, turn_key(feed.turn.id)
        # A server that names no ids does not name the speaker either: it is the model of the chat.
        title = texts.turn_title(turn, self._state.conversation.model if turn.is_local else "")
        if key in transcript.messages:
            transcript.turn_titled(key, title)
        else:
            self._spots.append((turn.id, ""))
            transcript.turn_opened(key, title, color=PEOPLE if turn.role == "user" else "")
        if turn.role == "user":
            show_person(transcript, turn)
            self._show_files(turn)
        else:
            feed.take()
            turn.steps.changed.clear()

    def _show_files(self, turn: Turn) -> None:
        transcript = self.transcript
        for number, file in enumerate(turn.attachments):
            row = step_key(turn.id, file_id(number))
            if row not in transcript.messages:
                self._spots.append((turn.id, file_id(number)))
                title = f"{say('chat.attached')}{APART}{file.name}"
                transcript.step_opened(row, title=title, summary=facts(file), is_folded=True)
                transcript.body_later(row, partial(self._file_body, file), partial(_body_of, file, None))
                transcript.turn_closed(row)

    def _file_body(self, file: Attachment) -> str:
        opens = partial(key_of, self.transcript.screen)
        return _body_of(file, step_texts.limit_of(opens, ascii_only=is_ascii(self.transcript)))

    # --- what the reader does --------------------------------------------------------------------------

    def fold_all(self, kind: str = "") -> None:
        """Fold all steps for the reader, or those of one kind; unfold them if all are folded."""
        self.transcript.folds.fold_all(
            step_key(feed.turn.id, step_id)
            for feed in self._turns.values()
            for step_id in feed.rows
            if not kind or ((step := feed.turn.steps.all.get(step_id)) is not None and step.type == kind)
        )

    # --- where things are ------------------------------------------------------------------------------

    def spot(self, number: int) -> Spot:
        """Return what message ``number`` of the transcript, from 1, shows; ("", "") if there is none."""
        return self._spots[number - 1] if 0 < number <= len(self._spots) else ("", "")

    def whole(self, turn_id: str, step_id: str) -> tuple[str, str] | None:
        """Return the title of a step or attached file, and its whole body; ``None`` if there is none."""
        turn = self._state.turns.get(turn_id)
        if turn is None:
            return None
        if step_id.startswith(ERROR):
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


def file_id(number: int) -> str:
    """Return what an attached file has instead of a step's id."""
    return f"file {number}"


def _body_of(file: Attachment, limit: str | None) -> str:
    """Return the contents of an attached file, as Markdown; for an image only its description."""
    return facts(file) if is_image(file) else text_body(file.content, limit)
