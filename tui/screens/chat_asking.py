"""The part of a chat screen that answers tools which ask before they run."""

from __future__ import annotations

from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import StepState
from tui.link import ChatLink
from tui.screens.asking import Asking
from tui.screens.chat_ask import Word
from tui.screens.chat_composer import ChatComposer
from tui.screens.chat_feed import ChatFeed, key_of
from tui.screens.followed import FollowedTranscript
from tui.screens.live_texts import Spot


class ChatAsking(Asking):
    """Shows the oldest call that asks, and sends what the person decides."""

    state: ConversationState
    _composer: ChatComposer
    _feed: ChatFeed
    _link: ChatLink
    _transcript: FollowedTranscript

    # --- what asks -------------------------------------------------------------------------------------

    @property
    def asking(self) -> list[Spot]:
        return self.state.asking

    def step_of(self, spot: Spot) -> StepState | None:
        return self.state.step(*spot)

    def name_of(self, _: Spot, step: StepState) -> str:
        return step.name

    def place_of(self, spot: Spot) -> tuple[FollowedTranscript, str]:
        return self._transcript, key_of(*spot)

    def go_to_ask(self, spot: Spot) -> None:
        pass  # there is one transcript, and it is shown

    def focus_words(self) -> None:
        self.set_focus(self._transcript, scroll_visible=False)

    async def send_answer(self, spot: Spot, word: Word) -> None:
        client = await self._link.client()
        turn_id, step_id = spot
        turn = self.state.turns.get(turn_id)
        message_id = turn.part_id if turn is not None else turn_id
        await client.answer(self.state.conversation.id, message_id, step_id, *word)
