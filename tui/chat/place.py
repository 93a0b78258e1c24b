"""The reader's place in a chat: message, version and step, and what can be done there."""

from __future__ import annotations

from agent_tui.state.turn import Turn
from tui.chat.asking import Asking
from tui.chat.open_chat import OpenChat
from tui.live.pager import PagerScreen
from tui.live.steps.rows import turn_key
from tui.screens.words import say


class ReaderPlace:
    """Finds the reader's place in the transcript."""

    def __init__(self, chat: OpenChat, asking: Asking) -> None:
        self.go_to = ""  # id of the message to show when the chat is loaded again
        self._chat = chat
        self._asking = asking

    @property
    def turn(self) -> Turn | None:
        """The reader's message."""
        turn_id, _ = self._chat.feed.spot(self._chat.transcript.reader.current_message)
        return self._chat.state.turns.get(turn_id)

    @property
    def question(self) -> Turn | None:
        """The reader's question, or the one of the reader's answer."""
        current = self.turn
        is_before = current is None
        for turn in reversed(self._chat.state.turns.values()):  # mostly it is among the last
            is_before = is_before or turn is current
            if is_before and turn.role == "user":
                return turn
        return None

    def _is_summary(self, turn: Turn | None) -> bool:
        """Whether it is a turn for a summary alone: it answers no question."""
        before = self._chat.state.turns.get(turn.parent_id) if turn is not None else None
        return before is not None and before.role != "user" and turn is not None and turn.role != "user"

    def why_not(self, act: str) -> str:
        """Return why an action (edit, again, continue, version, …) cannot be done now; "" if it can."""
        if not self._chat.state.loaded:
            return say("help.why.not_loaded")
        if act == "settings":
            return say("chat.agent.settings") if self._chat.link.is_agent else ""
        if act == "queue":
            return "" if self._chat.composer.queue else say("queue.none")
        if act == "open_step":
            return "" if self._whole() is not None else say("help.why.no_step")
        if act == "version" and not self._versions()[0]:
            return say("chat.no_version")
        if act in ("edit", "again") and self._is_summary(self.turn):
            return say("chat.no_question")
        if act in ("edit", "again"):
            question = self.question
            is_asked_anew = act == "again" and self._chat.link.is_agent
            if question is None or (question.is_local and not is_asked_anew):
                return say("chat.no_question" if question is None else "chat.no_versions_here")
        if act == "continue" and not self._asking.unfinished:
            return say("help.why.nothing_to_continue")
        if self._chat.state.conversation.archived:
            return say("chat.is_archived")
        return say("chat.not_now") if self._asking.is_busy else ""

    def may(self, act: str) -> bool:
        """Return whether an action can be done now; if not, say why."""
        return self._chat.host.allows(self.why_not(act))

    @property
    def acts(self) -> frozenset[str]:
        """What can be done with the message: again, edit, version."""
        turn = self.turn
        fits = {
            "again": True,
            "edit": turn is not None and turn.role == "user",
            "version": turn is not None and len(turn.versions) > 1 and turn.id in turn.versions,
        }
        return frozenset(act for act, does_fit in fits.items() if does_fit and not self.why_not(act))

    @property
    def unanswered(self) -> frozenset[str]:
        """What can be done about an incomplete last answer: again, continue."""
        last = self._chat.state.last_turn
        if last is None or last.role == "user" or last.status not in ("cut", "failed"):
            return frozenset()
        if self._is_summary(last):
            return frozenset()
        return frozenset(act for act in ("again", "continue") if not self.why_not(act))

    # --- versions --------------------------------------------------------------------------------------

    def _versions(self) -> tuple[tuple[str, ...], str]:
        """Return the versions of the reader's message, or of its question, and which one is shown."""
        for turn in (self.turn, self.question):
            if turn is not None and len(turn.versions) > 1 and turn.id in turn.versions:
                return turn.versions, turn.id
        return (), ""

    def show_version(self, step: int) -> None:
        """Show another version of the message, with what followed it."""
        if not self.may("version"):
            return
        versions, shown = self._versions()
        at = versions.index(shown) + step
        if 0 <= at < len(versions):
            self.go_to = versions[at]
            self._chat.host.run("act", self._chat.changed_by(self._chat.change(head=versions[at])))
        else:
            self._chat.host.tell(say("chat.last_version"))

    def go_there(self) -> None:
        """Go to the requested message, when it is there."""
        turn, transcript = self._chat.state.turn_of(self.go_to), self._chat.transcript
        number = transcript.sight.number_of(turn_key(turn.id)) if turn is not None else 0
        if number and not transcript.has_class("-hidden"):
            self.go_to = ""
            transcript.screen.call_after_refresh(transcript.reader.go_to_message, number)

    # --- steps -----------------------------------------------------------------------------------------

    def _whole(self) -> tuple[str, str] | None:
        """Return the title and body of the reader's step or file."""
        feed, transcript = self._chat.feed, self._chat.transcript
        chosen, at = feed.spot(transcript.reader.current_message), transcript.folds.step_at_reader()
        return feed.whole(*chosen) or feed.whole(*feed.spot(transcript.sight.number_of(at)))

    def open_step(self) -> None:
        """Show all of the reader's step."""
        whole, host = self._whole(), self._chat.host
        if whole is None:
            host.tell(say("help.why.no_step"))
        else:
            host.open(PagerScreen(*whole, host.clock))
