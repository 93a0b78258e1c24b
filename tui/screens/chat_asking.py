"""The part of a chat screen that answers tools which ask before they run."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from typing import Final

from textual import work
from textual.screen import Screen

from agent_tui import events as ev
from agent_tui.errors import AgentTuiError, Refused
from agent_tui.state.conversation import ConversationState
from tui.link import ChatLink
from tui.screens.chat_ask import AskBar, AskScreen, Decision, ReasonScreen
from tui.screens.chat_composer import ChatComposer
from tui.screens.chat_feed import ChatFeed, Spot
from tui.screens.chat_line import ChatLine
from tui.screens.chat_pane import ChatTranscript
from tui.screens.words import say
from widgets.frame_clock import FrameClock

QUIET_SECONDS: Final = 0.7  # who typed less than this ago is writing, and is not asked in between
GUARD_SECONDS: Final = 0.3  # a key this soon after the question was meant for something else
CONFLICT: Final = 409


class ChatAsking(Screen[None]):
    """Shows the oldest call that asks, and sends what the person decides."""

    state: ConversationState
    _ascii_only: bool
    _bar_of_asks: AskBar
    _clock: FrameClock
    _composer: ChatComposer
    _feed: ChatFeed
    _link: ChatLink
    _transcript: ChatTranscript

    def __init__(self) -> None:
        super().__init__()
        self.now: Callable[[], float] = time.monotonic
        self._answered: set[Spot] = set()  # on its way to the server
        self._asked: Spot | None = None  # what the bar asks
        self._asked_at = 0.0
        self._typed_at = 0.0

    @abstractmethod
    async def _apply(self, event: ev.Event) -> None:
        """Take an event into the state and onto the screen."""

    @abstractmethod
    def _show_soon(self) -> None:
        """Say in the lines what is going on now, with the next frame."""

    # --- what asks -------------------------------------------------------------------------------------

    @property
    def _ask(self) -> ev.ToolAsk | None:
        step = self.state.step(*self._asked) if self._asked is not None else None
        return step.ask if step is not None else None

    def _show_ask(self) -> None:
        """Ask the oldest question that has no answer, or none any more."""
        asking = self.state.asking
        self._answered.intersection_update(asking)
        spot = next((spot for spot in asking if spot not in self._answered), None)
        if spot == self._asked:
            return
        former, self._asked = self._asked, spot
        top = self.app.screen
        if former is not None and isinstance(top, AskScreen | ReasonScreen):
            self.notify(say("ask.gone"), markup=False)
            top.dismiss(None)
        step = self.state.step(*spot) if spot is not None else None
        had_focus = self.focused is self._bar_of_asks
        self._bar_of_asks.ask(step.name if step else "", step.ask if step else None)
        if spot is None:
            if had_focus:
                self._composer.open()
            return
        self._asked_at = self.now()
        is_free = self._composer.has_line_focus and not self._composer.line.text
        if had_focus or (is_free and self.now() - self._typed_at > QUIET_SECONDS):
            self.call_after_refresh(self._look_at_ask)

    def _look_at_ask(self) -> None:
        """Give the question the focus, and bring it into sight."""
        if self._asked is None:
            return
        self.set_focus(self._bar_of_asks, scroll_visible=False)
        number = self._feed.number(*self._asked)
        if number and not self._transcript.is_in_sight(number):
            self._transcript.go_to_message(number)
        self._show_soon()

    def on_chat_line_typed(self, event: ChatLine.Typed) -> None:
        """Remember when somebody wrote."""
        event.stop()
        self._typed_at = self.now()

    # --- answers ---------------------------------------------------------------------------------------

    def on_ask_bar_wrote(self, event: AskBar.Wrote) -> None:
        """Let it be written."""
        event.stop()
        self._typed_at = self.now()
        self._composer.open()
        self._composer.line.insert(event.character)

    def on_ask_bar_answered(self, event: AskBar.Answered) -> None:
        """Take the decision, if the person can have seen what it is about."""
        event.stop()
        if self._asked is None or self.now() - self._asked_at < GUARD_SECONDS:
            return
        if not self._transcript.is_in_sight(self._feed.number(*self._asked)):
            self._look_at_ask()
            self.notify(say("ask.unseen"), markup=False)
            return
        self._decide(self._asked, event.decision)

    def on_ask_bar_whole_wanted(self, event: AskBar.WholeWanted) -> None:
        """Show all that the tool would do."""
        event.stop()
        spot, ask = self._asked, self._ask
        step = self.state.step(*spot) if spot is not None else None
        if spot is None or ask is None or step is None:
            return

        def decide(decision: str | None) -> None:
            if decision in ("once", "conversation", "always", "deny"):
                self._decide(spot, decision)  # type: ignore[arg-type]  # one of the four

        screen = AskScreen(step.name, ask, self._clock, ascii_only=self._ascii_only)
        self.app.push_screen(screen, decide)

    def _decide(self, spot: Spot, decision: Decision) -> None:
        step = self.state.step(*spot)
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
            client = await self._link.client()
            await client.answer(self.state.conversation.id, *spot, decision, pattern, reason)
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
