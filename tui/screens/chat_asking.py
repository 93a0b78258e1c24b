"""The part of a chat screen that answers tools which ask before they run."""

from __future__ import annotations

from typing import Final

from textual.events import Key

from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import StepState
from tui.link import ChatLink
from tui.screens.asking import Asking
from tui.screens.chat_ask import AskBar, Decision
from tui.screens.chat_composer import ChatComposer
from tui.screens.chat_feed import ChatFeed
from tui.screens.chat_line import ChatLine
from tui.screens.chat_pane import ChatTranscript
from tui.screens.followed import FollowedTranscript
from tui.screens.live_texts import Spot
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
        self._was_reading = False  # before a question had the focus

    # --- what asks -------------------------------------------------------------------------------------

    @property
    def _asking(self) -> list[Spot]:
        return self.state.asking

    def _step_of(self, spot: Spot) -> StepState | None:
        return self.state.step(*spot)

    def _name_of(self, _: Spot, step: StepState) -> str:
        return step.name

    def _place_of(self, spot: Spot) -> tuple[FollowedTranscript, int]:
        return self._transcript, self._feed.number(*spot)

    @property
    def _may_be_interrupted(self) -> bool:
        is_free = self._composer.has_line_focus and not self._composer.line.text
        is_quiet = self.now() - self._typed_at > QUIET_SECONDS
        return is_quiet and (is_free or self.focused is self._transcript)

    def _go_to_ask(self, spot: Spot) -> None:
        if self.focused is not self._bar_of_asks:
            self._was_reading = self.focused is self._transcript

    def _leave_bar(self) -> None:
        if self._was_reading:
            self.set_focus(self._transcript, scroll_visible=False)
        else:
            self._composer.open()

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
        turn_id, step_id = spot
        turn = self.state.turns.get(turn_id)
        message_id = turn.part_id if turn is not None else turn_id
        await client.answer(self.state.conversation.id, message_id, step_id, decision, pattern, reason)
