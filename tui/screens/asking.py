"""The part of a screen that answers tools which ask before they run."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Final

from textual import work

from agent_tui.errors import AgentTuiError, Refused
from agent_tui.state.steps import StepState
from tui.screens.chat_ask import AskBar, AskScreen, Decision, ReasonScreen
from tui.screens.followed import FollowedTranscript
from tui.screens.live_screen import LiveScreen
from tui.screens.live_texts import Spot
from tui.screens.words import say
from widgets.frame_clock import FrameClock
from widgets.transcript import Transcript

GUARD_SECONDS: Final = 0.3  # a key this soon after the question was meant for something else
CONFLICT: Final = 409


class Asking(LiveScreen):
    """Shows the oldest call that asks, and sends what the person decides."""

    def __init__(self, clock: FrameClock, *, ascii_only: bool) -> None:
        super().__init__(clock, ascii_only=ascii_only)
        self._bar_of_asks = AskBar(ascii_only=ascii_only)
        self.now: Callable[[], float] = time.monotonic
        self._answered: set[Spot] = set()  # on its way to the server
        self._ask_spot: Spot | None = None  # what the bar asks
        self._ask_at = 0.0
        self._is_focus_due = False  # the question came while somebody wrote or read

    @property
    @abstractmethod
    def _asking(self) -> list[Spot]:
        """All calls that ask, oldest first."""

    @abstractmethod
    def _step_of(self, spot: Spot) -> StepState | None:
        """Return that step."""

    @abstractmethod
    def _name_of(self, spot: Spot, step: StepState) -> str:
        """Return who asks."""

    @abstractmethod
    def _place_of(self, spot: Spot) -> tuple[FollowedTranscript, int] | None:
        """Return which message, from 1, of which transcript shows what would be done; None where none that
        can be seen does.
        """

    @abstractmethod
    def _go_to_ask(self, spot: Spot) -> None:
        """Have a transcript shown that has the question."""

    @property
    @abstractmethod
    def _may_be_interrupted(self) -> bool:
        """Whether a question that comes may take the focus."""

    @abstractmethod
    def _leave_bar(self) -> None:
        """Nothing asks any more: the focus goes to where it is written, or read."""

    @abstractmethod
    async def _send_answer(self, spot: Spot, decision: Decision, pattern: str, reason: str) -> None:
        """Tell the server."""

    # --- what asks -------------------------------------------------------------------------------------

    def _show_ask(self) -> None:
        """Ask the oldest question that has no answer, or none any more."""
        asking = self._asking
        self._answered.intersection_update(asking)
        spot = next((spot for spot in asking if spot not in self._answered), None)
        if spot == self._ask_spot:
            return
        former, self._ask_spot = self._ask_spot, spot
        top = self.app.screen
        if former is not None and isinstance(top, AskScreen | ReasonScreen):
            self.notify(say("ask.gone"), markup=False)
            top.dismiss(None)
        step = self._step_of(spot) if spot is not None else None
        had_focus = self.focused is self._bar_of_asks
        name = self._name_of(spot, step) if spot is not None and step is not None else ""
        self._bar_of_asks.ask(name, step.ask if step else None)
        self._is_focus_due = False
        if spot is None:
            self._follow_again()
            if had_focus:
                self._leave_bar()
            return
        self._ask_at = self.now()
        if had_focus or self._may_be_interrupted:
            self.call_after_refresh(self._look_at_ask)
        else:
            self._is_focus_due = True
            self._keep_in_sight()

    def _ask_who_is_quiet(self) -> None:
        """Give the question the focus that it could not have when it came, as soon as it may."""
        if self._is_focus_due and self._may_be_interrupted:
            self._ask_at = self.now()
            self._look_at_ask()

    # --- where it is seen ------------------------------------------------------------------------------

    def _is_seen(self, spot: Spot) -> bool:
        place = self._place_of(spot)
        return place is not None and place[0].is_in_sight(place[1])

    def _look_at_ask(self) -> None:
        """Give the question the focus, and bring it into sight."""
        self._is_focus_due = False
        if self._ask_spot is not None:
            self._go_to_ask(self._ask_spot)
            self.set_focus(self._bar_of_asks, scroll_visible=False)
            self.call_after_refresh(self._bring_into_sight)
            self._show_soon()

    def _bring_into_sight(self) -> None:
        place = self._place_of(self._ask_spot) if self._ask_spot is not None else None
        if place is not None and place[1]:
            place[0].bring_into_sight(place[1])

    def _keep_in_sight(self) -> None:
        """Bring the question into sight with the next frame, unless the person reads elsewhere."""
        here = self.focused
        is_reading = isinstance(here, FollowedTranscript) and not (here.follow or here.is_brought)
        if self._ask_spot is not None and not is_reading:
            self.call_after_refresh(self._bring_into_sight)

    def _follow_again(self) -> None:
        """Nothing asks any more: the end is what is read."""
        for transcript in self.query(Transcript):
            if isinstance(transcript, FollowedTranscript):
                transcript.follow_again()

    def on_followed_transcript_resized(self, event: FollowedTranscript.Resized) -> None:
        """What is asked stays readable."""
        place = self._place_of(self._ask_spot) if self._ask_spot is not None else None
        if place is not None and place[0] is event.transcript:
            self._keep_in_sight()

    # --- answers ---------------------------------------------------------------------------------------

    def on_ask_bar_answered(self, event: AskBar.Answered) -> None:
        """Take the decision, if the person can have seen what it is about."""
        event.stop()
        if self._ask_spot is None or self.now() - self._ask_at < GUARD_SECONDS:
            return
        if not self._is_seen(self._ask_spot):
            self._look_at_ask()
            self.notify(say("ask.unseen"), markup=False)
            return
        self._decide(self._ask_spot, event.decision)

    def on_ask_bar_whole_wanted(self, event: AskBar.WholeWanted) -> None:
        """Show all that the tool would do."""
        event.stop()
        spot = self._ask_spot
        step = self._step_of(spot) if spot is not None else None
        if spot is None or step is None or step.ask is None:
            return

        def decide(decision: Decision | None) -> None:
            if decision is not None:
                self._decide(spot, decision)

        screen = AskScreen(self._name_of(spot, step), step.ask, self._clock, ascii_only=self._ascii_only)
        self.app.push_screen(screen, decide)

    def _decide(self, spot: Spot, decision: Decision) -> None:
        step = self._step_of(spot)
        if step is None or step.ask is None or spot in self._answered:
            self.notify(say("ask.gone"), markup=False)
            return
        if decision == "always" and not step.ask.pattern:
            self.notify(say("ask.no_pattern"), markup=False)
            return
        pattern = step.ask.pattern if decision == "always" else ""
        if decision != "deny":
            self._begin_answer(spot, decision, pattern)
            return

        def deny(reason: str | None) -> None:
            if reason is not None:
                self._begin_answer(spot, "deny", "", reason)

        self.app.push_screen(ReasonScreen(ascii_only=self._ascii_only), deny)

    def _begin_answer(self, spot: Spot, decision: Decision, pattern: str, reason: str = "") -> None:
        self._answered.add(spot)
        self._show_ask()
        self._answer(spot, decision, pattern, reason)

    @work(group="answer")
    async def _answer(self, spot: Spot, decision: Decision, pattern: str, reason: str) -> None:
        try:
            await self._send_answer(spot, decision, pattern, reason)
        except Refused as error:
            is_gone = error.status == CONFLICT
            self.notify(say("ask.gone") if is_gone else str(error), severity="warning", markup=False)
            if not is_gone:
                self._answered.discard(spot)
        except AgentTuiError as error:
            self.notify(str(error), severity="error", markup=False)
            self._answered.discard(spot)
        self._show_ask()
        self._show_soon()
