"""What the reader does in a transcript: selects, copies, finds, goes from message to message."""

from __future__ import annotations

from typing import ClassVar, Final, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message as TextualMessage
from textual.widget import Widget

from widgets.layout import Line
from widgets.painter import Painter
from widgets.transcript.finding import Finder, Found, Match
from widgets.transcript.marks import CHOSEN_SIGN, CHOSEN_STEP, SEAM_SIGN, Mark, MarkedLines, with_sign
from widgets.transcript.message import Message
from widgets.transcript.selection import Selection, Sources, code_of
from widgets.transcript.view import Place, View

What = Literal["message", "code", "selection"]
FOUND_SHARE: Final = 3  # a match is brought into sight this part of the height below the top
FAR_CELLS: Final = 1_000_000  # behind the end of any row


class Reading(Widget):
    """The reader's side of a transcript: nothing of it costs anything until it is used.

    The *current* message is the one the reader clicked, found or went to, as long as it is in sight, else
    the newest that is.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "copy_message", "Copy the message", id="pane.copy_message", show=False),
        Binding("Y", "copy_code", "Copy the code block", id="pane.copy_code", show=False),
        Binding("ctrl+c", "copy_selection", "Copy what is selected", id="pane.copy_selection", show=False),
        Binding("escape", "clear_selection", "Select nothing", id="pane.clear_selection", show=False),
        Binding("shift+up", "step_message(-1)", "Previous message", id="pane.previous_message", show=False),
        Binding("shift+down", "step_message(1)", "Next message", id="pane.next_message", show=False),
    ]

    class Happened(TextualMessage):
        """Something the reader did in ``transcript``."""

        def __init__(self, transcript: Reading) -> None:
            super().__init__()
            self.transcript = transcript

        @property
        def control(self) -> Reading:
            """The transcript, for ``on`` with a selector."""
            return self.transcript

    class CopyRequested(Happened, namespace="transcript"):
        """``text`` is to be copied, Markdown as it was sent; empty when there is no such thing in sight."""

        def __init__(self, transcript: Reading, text: str, what: What) -> None:
            super().__init__(transcript)
            self.text = text
            self.what: What = what

    class SelectionChanged(Happened, namespace="transcript"):
        """Something is selected now, something else, or nothing any more."""

    class FoundChanged(Happened, namespace="transcript"):
        """The search got on, or the reader went to another match."""

        def __init__(self, transcript: Reading, found: Found) -> None:
            super().__init__(transcript)
            self.found = found

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own word
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._view = View()
        self._head_height = 0  # rows above the messages
        self._painter: Painter | None = None
        self._forget_reading()

    def _forget_reading(self) -> None:
        """Begin anew with other messages: what is looked for stays."""
        needle = finder.needle.text if (finder := getattr(self, "_finder", None)) else ""
        self._sources = Sources(self._view)
        self._selection = Selection(self._view, self._sources)
        self._finder: Finder | None = Finder(self._view, needle) if needle else None
        self._told_found = Found()
        self._marked = MarkedLines()
        self._chosen = -1  # the message that the reader chose
        self._cursor: tuple[int, int] | None = None  # message and part the reader clicked or found
        self._pressed: tuple[int, int] | None = None  # where the button went down
        self._is_dragged = False
        self._pointer = (0, 0)
        self._edge = 0  # rows to scroll in each frame: the pointer is beyond an edge

    def _redraw(self) -> None:
        """Have the transcript drawn at once: the reader did something."""
        raise NotImplementedError

    # --- messages ---

    @property
    def message_count(self) -> int:
        """How many messages there are."""
        return len(self._view.messages)

    @property
    def current_message(self) -> int:
        """The number of the current message, from 1; 0 when there is none."""
        if 0 <= self._chosen < self.message_count:
            return self._chosen + 1
        visible = self._view.visible
        return visible[-1].message + 1 if visible else self.message_count

    def go_to_message(self, number: int) -> None:
        """Bring the beginning of a message to the top; the nearest one if there is no such number."""
        if self.message_count:
            self._choose(max(1, min(number, self.message_count)) - 1)
            self._view.show(Place(self._chosen, 0, 0))
            self._redraw()

    def action_step_message(self, step: int) -> None:
        """Go to the message before (-1) or to the next (+1); first to the beginning of a long one."""
        current, visible = self.current_message, self._view.visible
        if step < 0 and self._chosen < 0 and visible and visible[0] > self._view.first_of(current - 1):
            step += 1
        self.go_to_message(current + step)

    def _reads_anew(self, message: Message) -> None:
        """Forget what was found in a message whose text is another one now."""
        if self._finder is not None:
            self._finder.restarted(message)

    def _choose(self, message: int) -> None:
        self._chosen = message
        self._cursor = None

    # --- copying ---

    def message_text(self) -> str:
        """Return the current message as the Markdown it was sent as, all of it."""
        current = self.current_message
        return self._view.messages[current - 1].uncut_text().strip("\n") if current else ""

    def code_text(self) -> str:
        """Return the code block that was clicked or found, else the newest in sight; "" without one.

        Only the code: without fences, and without what its quotes and lists put before each line.
        """
        parts = [(place.message, place.part) for place in reversed(self._view.visible)]
        for message, part in [self._cursor, *parts] if self._cursor else parts:
            if self._is_code(message, part):
                return code_of(self._view.messages[message], part)
        return ""

    def _is_code(self, message: int, part: int) -> bool:
        if message >= self.message_count or part >= self._view.messages[message].part_count:
            return False
        return self._view.messages[message].part(part).kind == "code"

    def action_copy_message(self) -> None:
        """Ask for a copy of what is selected, else of the current message."""
        if self.has_selection:
            self.action_copy_selection()
        else:
            self.post_message(self.CopyRequested(self, self.message_text(), "message"))

    def action_copy_code(self) -> None:
        """Ask for a copy of the code block under the cursor."""
        self.post_message(self.CopyRequested(self, self.code_text(), "code"))

    def action_copy_selection(self) -> None:
        """Ask for a copy of what is selected."""
        self.post_message(self.CopyRequested(self, self.selected_text(), "selection"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Keep keys of the selection free while there is none."""
        if action in ("copy_selection", "clear_selection"):
            return self.has_selection
        return super().check_action(action, parameters)

    # --- selecting ---

    @property
    def has_selection(self) -> bool:
        """Whether anything is selected."""
        return self._selection.range() is not None

    def selected_text(self) -> str:
        """Return the source of what is selected; "" when nothing is."""
        return self._selection.text()

    def clear_selection(self) -> None:
        """Select nothing."""
        if self._selection.is_extended:
            self._selection.clear()
            self._selection_changed()

    def action_clear_selection(self) -> None:
        """Select nothing."""
        self.clear_selection()

    def _selection_changed(self) -> None:
        self._redraw()
        self.post_message(self.SelectionChanged(self))
        self.refresh_bindings()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Begin to select; with shift, extend what is selected."""
        place = self._place_at(event.y)
        if event.button != 1 or place is None:
            return
        self.capture_mouse()
        self._pressed, self._is_dragged = (event.x, event.y), False
        if event.shift:
            self._extend(event.x, event.y)
        else:
            self.clear_selection()
            self._selection.begin(self._sources.at(place, self._cell_at(event.x, event.y)))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Extend the selection to the pointer; beyond an edge the transcript scrolls."""
        if self._pressed is None or (not self._is_dragged and (event.x, event.y) == self._pressed):
            return
        if event.button != 1:  # it went up where nobody saw it
            self._let_go()
            return
        self._is_dragged, self._pointer = True, (event.x, event.y)
        self._view.stay()
        bottom = self.outer_size.height
        self._edge = min(0, event.y - self._head_height) + max(0, event.y - bottom + 1)
        self._extend(event.x, event.y)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        """End selecting."""
        if self._pressed is not None:
            if self._edge:
                self._extend(event.x, event.y)
            self._let_go()

    def on_hide(self) -> None:
        """End selecting when the pane goes out of sight."""
        self._let_go()

    def _let_go(self) -> None:
        if self._pressed is not None:
            self.release_mouse()
            self._pressed, self._edge = None, 0

    def on_click(self, event: events.Click) -> None:
        """Choose the message; twice selects the word, three times the block."""
        place = self._place_at(event.y)
        if self._is_dragged or event.shift or event.button != 1 or place is None:
            return
        self._choose(place.message)
        self._cursor = place.message, place.part
        if event.chain > 1:
            cell = self._cell_at(event.x, event.y)
            is_word = event.chain == 2
            spot = self._sources.word_at(place, cell) if is_word else self._sources.block_at(place)
            self._selection.begin(spot, is_selected=True)
            self._selection_changed()
        self._redraw()

    def _extend(self, x: int, y: int) -> None:
        place = self._place_at(y)
        if place is not None:
            self._selection.extend(self._sources.at(place, self._cell_at(x, y)))
            self._selection_changed()

    def _place_at(self, y: int) -> Place | None:
        """Return the row at ``y``, or the nearest one in sight; None if it is gone since it was drawn."""
        visible = self._view.visible
        if not visible:
            return None
        place = visible[min(max(0, y - self._head_height), len(visible) - 1)]
        return place if self._view.has(place) else None

    def _cell_at(self, x: int, y: int) -> int:
        if y < self._head_height:
            return 0
        if y - self._head_height >= len(self._view.visible):
            return FAR_CELLS
        return max(0, x - (self._painter.gutter if self._painter else 0))

    # --- finding ---

    def find(self, needle: str) -> None:
        """Look for ``needle`` in all messages, and mark it; "" ends that. The work is done frame by frame.

        Upper and lower case are the same unless the needle has an upper-case letter.
        """
        finder = Finder(self._view, needle)
        self._finder = finder if finder.needle.text else None
        self._tell_found()
        self._redraw()

    def find_step(self, step: int) -> None:
        """Go to the next match (+1) or to the one before (-1), round the ends."""
        if self._finder is not None and self._finder.step(step) is not None:
            self._show_found()
            self._tell_found()
        self._redraw()

    @property
    def found(self) -> Found:
        """Which match the reader is at, how many there are so far, and whether those are all."""
        return self._finder.found if self._finder is not None else Found()

    def _show_found(self) -> None:
        match = self._finder.current if self._finder else None
        if match is None:
            return
        self._choose(match.message)
        self._cursor = match.message, match.part
        self._reveal(match)
        place = self._finder.place_of(match) if self._finder else Place(match.message, match.part, 0)
        if place in self._view.visible:
            self._view.stay()
        else:
            self._view.show(place, above=self._view.height // FOUND_SHARE)

    def _reveal(self, match: Match) -> None:
        """Show what a match is in, where it may be hidden: here nothing is."""

    def _tell_found(self) -> None:
        if self.found != self._told_found:
            self._told_found = self.found
            self.post_message(self.FoundChanged(self, self._told_found))

    # --- frames ---

    def _read_on(self) -> bool:
        """Do one frame's share of scrolling and searching; return whether something is left."""
        if self._edge:
            self._extend(*self._pointer)
            self._view.scroll(self._edge)
            self._view.stay()
        if self._finder is None:
            return self._edge != 0
        before = self._finder.current
        is_left = self._finder.work()
        if self._finder.current != before:
            self._show_found()
        self._tell_found()
        return is_left or self._edge != 0

    def _overlaid(self, lines: list[Line], painter: Painter) -> list[Line]:
        """Return the composed rows with what is found, selected and chosen."""
        visible = self._view.visible
        for index, place in enumerate(visible):
            if self._view.messages[place.message].seams and self._is_at_seam(place):
                lines[index] = with_sign(lines[index], SEAM_SIGN, painter, is_dim=True)
        if self._finder is None and not self._selection.is_extended and self._chosen < 0:
            return lines
        if all(place.message != self._chosen for place in visible) and not self._view.is_unsettled:
            self._choose(-1)  # the reader went on
        for index, place in enumerate(visible):
            if marks := self._marks(place):
                lines[index] = self._marked.line(lines[index], marks, painter)
        for index, place in enumerate(visible):
            above = self._view.messages[place.message].APART  # the empty row above it
            if place.message == self._chosen and (place.part or place.row >= above):
                lines[index] = with_sign(lines[index], CHOSEN_SIGN if above else CHOSEN_STEP, painter)
                break
        return lines

    def _is_at_seam(self, place: Place) -> bool:
        """Return whether the text was cut in this row and went on."""
        message = self._view.messages[place.message]
        block = message.part(place.part)
        seams = [seam for seam in message.seams if block.start < seam <= block.end]
        if not place.part or not seams:
            return False
        rows = self._sources.rows(place)
        starts = [row.first for row in rows if row.first < row.last]  # the others are empty, or ours
        here = rows[place.row]
        behind = min((start for start in starts if start > here.first), default=message.length)
        return here.first < here.last and any(here.first < seam <= behind for seam in seams)

    def _marks(self, place: Place) -> list[Mark]:
        marks: list[Mark] = []
        if self._finder is not None:
            for start, end, is_current in self._finder.cells(place):
                marks.append(Mark(start, end, "found-current" if is_current else "found"))
        start, end = self._selection.cells(place)
        if start < end:
            marks.append(Mark(start, end, "selection"))
        return marks
