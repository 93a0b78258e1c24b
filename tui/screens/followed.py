"""Transcripts that tell when the reader leaves the end, or comes back to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from textual.geometry import Region
from textual.message import Message

from widgets.transcript.agent_pane import AgentPane
from widgets.transcript.reading import FOUND_SHARE
from widgets.transcript.transcript import Transcript
from widgets.transcript.view import Place


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
    _watched = ""  # the key of the message whose rows are noted as they are shown
    _rows_shown: frozenset[tuple[int, int]] = frozenset()  # of it, as (part, row), at the width of the view
    _shown_width = 0
    _tell: Callable[[], None] | None = None

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

    # --- what was shown of a message -------------------------------------------------------------------

    def note_rows_of(self, key: str, tell: Callable[[], None]) -> None:
        """Note from now on which rows of that message are on the screen; ``tell`` is called once some are."""
        if key != self._watched:
            self._watched, self._rows_shown, self._tell = key, frozenset(), tell
            self._note_rows()

    def has_shown_all(self, *, but_last: bool = False) -> bool:
        """Whether each row of the watched message was on the screen, unfolded, since it has its width;
        ``but_last``: its last block need not have been.
        """
        number = self.number_of(self._watched)
        if not number or self.is_folded(self._watched):
            return False
        message = self._view.messages[number - 1]
        if not message.is_settled or self._shown_width != self._view.width:
            return False
        return self._first_not_shown(number - 1, message.part_count - but_last) is None

    def show_what_was_not_shown(self) -> None:
        """Bring the first row of the watched message that was never on the screen to its top, or show the end
        if that is nearer.
        """
        number = self.number_of(self._watched)
        parts = self._view.messages[number - 1].part_count if number else 0
        place = self._first_not_shown(number - 1, parts)
        if place is not None:
            self._view.show(place, is_held=False)  # at the end its last row is seen, too
            self._redraw()

    def _first_not_shown(self, index: int, parts: int) -> Place | None:
        for part in range(parts):
            rows = len(self._view.layout_at(Place(index, part, 0)).rows)
            first = 0 if part else self._view.messages[index].APART
            for row in range(first, rows):
                if (part, row) not in self._rows_shown:
                    return Place(index, part, row)
        return None

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._watched = ""

    def _compose_lines(self) -> None:
        super()._compose_lines()
        if self._watched:
            self._note_rows()

    def _note_rows(self) -> None:
        number, view = self.number_of(self._watched), self._view
        if not number or self.is_folded(self._watched):
            return
        if self._shown_width != view.width:
            self._shown_width, self._rows_shown = view.width, frozenset()
        # Where the end is not followed, a label lies over the last row.
        places = view.visible if view.follow else view.visible[:-1]
        self._rows_shown |= {place[1:] for place in places if place.message == number - 1}
        if self._rows_shown and self._tell is not None:
            tell, self._tell = self._tell, None
            tell()

    def scroll_by_key(self, key: str) -> bool:
        """Do what ``key`` does here by default, if it scrolls; return whether it does."""
        moves: Mapping[str, Callable[[], None]] = {
            "up": lambda: self.action_scroll_rows(-1),
            "down": lambda: self.action_scroll_rows(1),
            "pageup": lambda: self.action_scroll_pages(-1),
            "pagedown": lambda: self.action_scroll_pages(1),
            "home": self.action_to_start,
            "end": self.action_follow,
        }
        if key in moves:
            moves[key]()
        return key in moves

    # --- where it stands -------------------------------------------------------------------------------

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
