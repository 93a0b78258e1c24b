"""The mouse in a transcript: it selects, scrolls at the edges, chooses and folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual import events

from widgets.transcript.view import Place

if TYPE_CHECKING:
    from widgets.transcript.transcript import Transcript

FAR_CELLS: Final = 1_000_000  # after the end of any row


class Pointer:
    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._view = transcript.view
        self._pressed: tuple[int, int] | None = None  # where the button was pressed
        self._is_dragged = False
        self._at = (0, 0)
        self._edge = 0  # rows to scroll in each frame: the pointer is beyond an edge

    def take(self, event: events.MouseEvent) -> None:
        """Handle a mouse event: select, choose, fold."""
        match event:
            case events.MouseDown():
                self._press(event)
            case events.MouseMove():
                self._move(event)
            case events.MouseUp():
                self._release(event)
            case events.Click():
                self._click(event)
            case _:
                pass

    def _press(self, event: events.MouseDown) -> None:
        """Begin a selection; with shift, extend the current one."""
        place = self._place_at(event.y)
        if event.button != 1 or place is None:
            return
        self._transcript.capture_mouse()
        self._pressed, self._is_dragged = (event.x, event.y), False
        if event.shift:
            self._extend(event.x, event.y)
        else:
            self._transcript.reader.press(place, self._cell_at(event.x, event.y))

    def _move(self, event: events.MouseMove) -> None:
        """Extend the selection to the pointer; beyond an edge the transcript scrolls."""
        if self._pressed is None or (not self._is_dragged and (event.x, event.y) == self._pressed):
            return
        if event.button != 1:  # it was released outside
            self.let_go()
            return
        self._is_dragged, self._at = True, (event.x, event.y)
        self._view.stay()
        top, bottom = self._transcript.canvas.head_height, self._transcript.outer_size.height
        self._edge = min(0, event.y - top) + max(0, event.y - bottom + 1)
        self._extend(event.x, event.y)

    def _release(self, event: events.MouseUp) -> None:
        if self._pressed is not None:
            if self._edge:
                self._extend(event.x, event.y)
            self.let_go()

    def let_go(self) -> None:
        """End selecting at this point."""
        if self._pressed is not None:
            self._transcript.release_mouse()
            self._pressed, self._edge = None, 0

    def _click(self, event: events.Click) -> None:
        """Choose the message; a click on a head row folds or unfolds it; two clicks select the word, three
        the block.
        """
        place = self._place_at(event.y)
        if self._is_dragged or event.shift or event.button != 1 or place is None:
            return
        reader = self._transcript.reader
        row = event.y - self._transcript.canvas.head_height
        reader.choose(place.message)
        is_on_head = not place.part and 0 <= row < len(self._view.visible)
        if is_on_head and self._transcript.folds.toggle_number(place.message):
            return  # a double click selects no words of it
        reader.choose(place.message, place.part)
        if event.chain > 1:
            reader.select(place, self._cell_at(event.x, event.y), is_word=event.chain == 2)
        self._transcript.redraw()

    def scroll_on(self) -> bool:
        """Scroll one frame's share; return whether the pointer is beyond an edge."""
        if self._edge:
            self._extend(*self._at)
            self._view.scroll(self._edge)
            self._view.stay()
        return self._edge != 0

    def _extend(self, x: int, y: int) -> None:
        place = self._place_at(y)
        if place is not None:
            self._transcript.reader.extend(place, self._cell_at(x, y))

    def _place_at(self, y: int) -> Place | None:
        """Return the row at ``y``, or the nearest visible one; ``None`` if it is gone since it was drawn."""
        visible = self._view.visible
        if not visible:
            return None
        row = y - self._transcript.canvas.head_height
        place = visible[min(max(0, row), len(visible) - 1)]
        return place if self._view.has(place) else None

    def _cell_at(self, x: int, y: int) -> int:
        canvas = self._transcript.canvas
        if y < canvas.head_height:
            return 0
        if y - canvas.head_height >= len(self._view.visible):
            return FAR_CELLS
        return max(0, x - (canvas.painter.gutter if canvas.painter else 0))
