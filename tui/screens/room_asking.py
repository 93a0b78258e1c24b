"""The part of a room screen that answers tools which ask before they run."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from tui.link import RoomLink
from tui.screens.asking import Asking
from tui.screens.live_texts import Spot
from tui.screens.room_composer import RoomComposer
from tui.screens.room_panes import RoomPanes
from tui.screens.step_rows import step_key
from tui.screens.words import say
from widgets.transcript.transcript import Transcript


class RoomAsking(Asking):
    """Shows the oldest call that asks in the pane of its agent, and sends what the person decides."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("exclamation_mark", "answer_tool", "Go to what needs approval", id="room.answer"),
        Binding("f", "fold", "Fold or unfold a step", id="room.fold"),
        Binding("F", "fold_all", "Fold or unfold all steps", id="room.fold_all"),
    ]
    _composer: RoomComposer
    _link: RoomLink
    _panes: RoomPanes

    def place_of(self, spot: Spot) -> tuple[Transcript, str] | None:
        turn = self.state.turns.get(spot[0])
        transcript = self._panes.transcript_of(turn.agent_id) if turn is not None else None
        if transcript is None or not transcript.is_on_screen:
            return None
        return transcript, step_key(*spot)

    def go_to_ask(self, spot: Spot) -> None:
        turn = self.state.turns.get(spot[0])
        if turn is not None and self._panes.transcript_of(turn.agent_id) is not self._panes.active:
            self._panes.go_to(turn.agent_id)

    def focus_words(self) -> None:
        self._panes.focus_current()

    # --- keys ------------------------------------------------------------------------------------------

    def action_answer_tool(self) -> None:
        """Go to the question of a tool."""
        if self._approvals.spot is None:
            self.notify(say("help.why.nothing_asks"), markup=False)
        else:
            self._approvals.look()

    @property
    def has_step(self) -> bool:
        """Whether there is a step to fold where the reader is."""
        return self._panes.active is not None and bool(self._panes.active.folds.step_at_reader())

    def action_fold(self) -> None:
        """Fold or unfold the step that the reader is at."""
        if self._panes.active is None or not self._panes.active.folds.toggle():
            self.notify(say("chat.no_step"), markup=False)

    def action_fold_all(self) -> None:
        """Fold all steps of the pane; unfold them if all are folded."""
        self._panes.fold_all()
