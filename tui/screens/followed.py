"""Transcripts that tell when the reader leaves the end, or comes back to it."""

from __future__ import annotations

from textual.geometry import Region
from textual.message import Message

from widgets.agent_pane import AgentPane
from widgets.reading import FOUND_SHARE
from widgets.transcript import Transcript
from widgets.view import Place


class FollowedTranscript(Transcript):
    """Tells once a frame at most: however the reader scrolled, a frame follows."""

    class FollowChanged(Message):
        """The end stays in sight from now on, or does not any more."""

    class Resized(Message):
        """The transcript has another size, or came into sight: other rows are seen than before."""

        def __init__(self, transcript: FollowedTranscript) -> None:
            super().__init__()
            self.transcript = transcript

    is_brought = False  # the end was followed until something else was brought into sight
    _was_followed = True

    def on_show(self) -> None:
        """Tell that it came into sight."""
        self.post_message(self.Resized(self))

    def on_resize(self) -> None:
        """Tell that it has another size."""
        self.post_message(self.Resized(self))

    def draw(self) -> bool:
        """Draw, and tell."""
        is_left = super().draw()
        if self.follow != self._was_followed:
            self._was_followed = self.follow
            self.post_message(self.FollowChanged())
        return is_left

    def number_of(self, key: str) -> int:
        """Return which message has that key, from 1; 0 for none."""
        message = self._messages.get(key)
        return 0 if message is None else self._view.messages.index(message) + 1

    def is_in_sight(self, number: int) -> bool:
        """Whether the first row of message ``number``, from 1, is on the screen."""
        self._fit_size()
        return any(
            place.message == number - 1
            and place.part == 0
            and place.row >= self._view.messages[number - 1].APART
            for place in self._view.visible
        )

    def bring_into_sight(self, number: int) -> None:
        """Show message ``number``, from 1, as far as there is room: its first row before the others."""
        self._fit_size()
        view, head = self._view, Place(number - 1, 0, 0)
        if not view.is_ready or self._is_shown_best(head):
            return
        in_all = view.messages[head.message].height(view.width)
        self.is_brought = self.is_brought or view.follow
        view.show(head, above=max(0, min(view.height // FOUND_SHARE, view.height - in_all)))
        self._redraw()

    def _is_shown_best(self, head: Place) -> bool:
        visible, last = self._view.visible, self._view.messages[head.message].part_count - 1
        rows = self._view.layout_at(head._replace(part=last)).rows
        is_whole = Place(head.message, last, len(rows) - 1) in visible
        return visible[:1] == [head] or (is_whole and self.is_in_sight(head.message + 1))

    def follow_again(self) -> None:
        """What was brought into sight is not needed any more: follow the end as before."""
        if self.is_brought:
            self.follow, self.is_brought = True, False

    def action_scroll_rows(self, rows: int) -> None:
        """Scroll by rows: the reader goes elsewhere."""
        self.is_brought = False
        super().action_scroll_rows(rows)

    def action_to_start(self) -> None:
        """Go to the first row: the reader goes elsewhere."""
        self.is_brought = False
        super().action_to_start()

    def _fit_size(self) -> None:
        """Lay out for the size it has now, as painting would."""
        self.render_lines(Region())


class FollowedPane(AgentPane, FollowedTranscript):
    """An agent's pane that tells it too."""
