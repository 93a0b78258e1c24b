"""The part of a chat screen that answers tools which ask before they run."""

from __future__ import annotations

from typing import Final

from textual.events import Key

from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import StepState
from tui.link import ChatLink
from tui.screens.asking import Asking, Spot
from tui.screens.chat_ask import AskBar, Decision
from tui.screens.chat_composer import ChatComposer
from tui.screens.chat_feed import ChatFeed
from tui.screens.chat_line import ChatLine
from tui.screens.chat_pane import ChatTranscript
from widgets.frame_clock import FrameClock

QUIET_SECONDS: Final = 0.7  # who typed less than this ago is writing, and is not asked in between


class ChatAsking(Asking):
    """Shows the oldest call that asks, and sends what the person decides."""

    state: ConversationState
    _composer: ChatComposer
    _feed: ChatFeed
    _link: ChatLink
    _transcript: ChatTranscript

    def __init__(self, clock: FrameClock, *, ascii_only: bool) -> None:
        super().__init__(clock, ascii_only=ascii_only)
        self._typed_at = 0.0
        self._was_following = False  # before a question was brought into sight
        self._was_reading = False  # before a question had the focus

    # --- what asks -------------------------------------------------------------------------------------

    @property
    def _asking(self) -> list[Spot]:
        return self.state.asking

    def _step_of(self, spot: Spot) -> StepState | None:
        return self.state.step(*spot)

    def _name_of(self, _: Spot, step: StepState) -> str:
        return step.name

    def _is_seen(self, spot: Spot) -> bool:
        return self._transcript.is_in_sight(self._feed.number(*spot))

    def _ask_came(self, *, had_focus: bool) -> None:
        is_free = self.focused is self._transcript or (
            self._composer.has_line_focus and not self._composer.line.text
        )
        if had_focus or (is_free and self.now() - self._typed_at > QUIET_SECONDS):
            self.call_after_refresh(self._look_at_ask)

    def _leave_bar(self) -> None:
        if self._was_following:
            self._transcript.follow, self._was_following = True, False
        if self._was_reading:
            self.set_focus(self._transcript, scroll_visible=False)
        else:
            self._composer.open()

    def _look_at_ask(self) -> None:
        """Give the question the focus, and bring it into sight."""
        if self._ask_spot is None:
            return
        if self.focused is not self._bar_of_asks:
            self._was_reading = self.focused is self._transcript
            self.set_focus(self._bar_of_asks, scroll_visible=False)
        number = self._feed.number(*self._ask_spot)
        if number and not self._transcript.is_in_sight(number):
            self._was_following = self._was_following or self._transcript.follow
            self._transcript.go_to_message(number)
        self._show_soon()

    def on_chat_line_typed(self, event: ChatLine.Typed) -> None:
        """Remember when somebody wrote."""
        event.stop()
        self._typed_at = self.now()

    def on_chat_transcript_key_pressed(self, event: ChatTranscript.KeyPressed) -> None:
        """Remember when somebody read."""
        event.stop()
        self._typed_at = self.now()

    def on_key(self, event: Key) -> None:
        """Let it be read around a question."""
        if self.focused is self._bar_of_asks and self._transcript.scroll_by_key(event.key):
            event.stop()

    def on_ask_bar_wrote(self, event: AskBar.Wrote) -> None:
        """Let it be written."""
        event.stop()
        self._typed_at = self.now()
        self._composer.open()
        self._composer.line.insert(event.character)

    async def _send_answer(self, spot: Spot, decision: Decision, pattern: str, reason: str) -> None:
        client = await self._link.client()
        await client.answer(self.state.conversation.id, *spot, decision, pattern, reason)
