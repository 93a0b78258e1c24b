"""Which rows of a transcript are on the screen. The view is anchored at a *place* (message, part, row): what
is above or below may be unsplit or wrapped for another width without moving what the reader sees.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from widgets.ink import MARK, Row
from widgets.layout import Layout, Span
from widgets.painter import ASK, ASKS
from widgets.transcript.heights import Heights
from widgets.transcript.message import TranscriptMessage

FRAME_BUDGET: Final = 131_072  # of Message.settle in one frame: a few milliseconds
MIN_LAYOUTS: Final = 400
EXACT_PER_FRAME: Final = 16  # blocks below the view that are laid out in one frame, only to be counted
ESTIMATES_PER_FRAME: Final = 1000  # of messages, and of blocks of one, after a change of width
CARET_KINDS: Final = ("paragraph", "heading", "code")


class Place(NamedTuple):
    message: int
    part: int
    row: int


class View:
    """Messages seen through ``width`` by ``height`` cells."""

    def __init__(self) -> None:
        self.messages: list[TranscriptMessage] = []
        self.heights = Heights()  # of the messages: exact where they are laid out, else estimated
        self.width = 0
        self.height = 0
        self.follow = True
        self.is_unsettled = False  # the last frame left work for the next one
        self.has_caret = False  # the last visible row is where an open message grows
        self._spans: list[Span] = []  # in sight
        self._is_held = False  # not following, even with the end in sight
        self._place = Place(0, 0, 0)
        self._mark: Place | None = None  # the end as it was when the view stopped following
        self._bottom = Place(0, 0, 0)  # just behind the last visible row
        # The place after the last change of width and the character it was made from, so that going back
        # to a width goes back to the row.
        self._kept: tuple[Place | None, int] = (None, 0)
        self._due: tuple[Place, int, int] | None = None  # see ``show_later``
        self._layouts: dict[object, Layout] = {}  # least recently used first
        self._wanted: int | None = None  # a huge message that the reader scrolled to, still to be split
        self._budget = 0
        self._changed: set[int] = set()  # messages whose heights are to be looked at again
        self._stale = 0  # the heights of the first so many messages are for another width

    # --- frames ---

    def frame(self) -> list[Span]:
        """Return the visible rows, at most ``height``."""
        self.is_unsettled = self.has_caret = False
        former, self._spans = self._spans, []
        self._budget = FRAME_BUDGET
        if not self.is_ready:
            return []
        if self._due is not None:
            (place, characters, above), self._due = self._due, None
            place = self._at(self.nearest(place), characters, is_end=False)
            self._release(self._moved(place, -above))
        last = len(self.messages) - 1
        self._settle(last)
        if self._wanted is not None and self._settle(self._wanted):
            self._wanted = None
        self._spans = self._window(last)
        _drop_unseen(former, self._spans)
        self._note_bottom(self._spans[-1])
        self._estimate_anew()
        return self._spans

    def _window(self, last: int) -> list[Span]:
        if not self.follow:
            self._place = self.nearest(self._place)
            spans = self._down_from(self._place)
            if sum(span.end - span.start for span in spans) == self.height:
                self._count_exactly(last)
                return spans
            self.follow = not self._is_held  # everything below is in sight
        if self.follow:
            self._mark, self._is_held = None, False
        spans = self._up_from_end()
        self._place = Place(*spans[0][:3])
        return spans

    @property
    def visible(self) -> list[Place]:
        """The place of each row of the last frame."""
        return [
            Place(span.message, span.part, row) for span in self._spans for row in range(span.start, span.end)
        ]

    @property
    def is_ready(self) -> bool:
        """Whether there is something to be seen, and room for it."""
        return bool(self.messages) and self.width > 0 and self.height > 0

    def resize(self, width: int, height: int) -> None:
        """Take another size; the row at the top keeps its words."""
        if width != self.width:
            keeps = bool(self.width and self.messages and not self.follow)
            kept, characters = self._kept
            before = characters if kept == self._place else self.characters_above(self._place) if keeps else 0
            until = self.characters_above(self._mark) if keeps and self._mark else 0
            self.width = width
            self._layouts.clear()
            self._stale = len(self.heights)
            if keeps:
                self._place = self._at(self._place, before, is_end=False)
                self._mark = self._at(self._mark, until, is_end=True) if self._mark else None
                self._kept = self._place, before
        self.height = height

    def clear(self) -> None:
        self.messages = []
        self.heights = Heights()
        self._spans = []
        self._changed = set()
        self._layouts.clear()
        self._place = self._bottom = Place(0, 0, 0)
        self._mark = self._wanted = self._due = None
        self._kept = (None, 0)
        self._stale = 0
        self.follow, self._is_held = True, False

    # --- scrolling ---

    def scroll(self, rows: int) -> None:
        """Move by ``rows``, downwards if positive. Moving up stops following, reaching the end resumes it:
        also by 0 rows, where the end came to the view, unless that is held.
        """
        if not self.is_ready:
            return
        self._budget = FRAME_BUDGET
        place = self._moved(self.nearest(self._place), rows)
        if rows < 0:
            if place != self._place:
                self._release(place)
        elif not self.follow and (rows or not self._is_held):
            end = Place(*self._up_from_end()[0][:3])
            self.follow = place >= end
            self._place = min(place, end)

    def show(self, place: Place, *, above: int = 0, is_held: bool = True) -> None:
        """Show a place, ``above`` rows below the top, and stay; not held: until all below is in sight."""
        if not self.is_ready:
            return
        self._budget = FRAME_BUDGET
        self._release(self._moved(self.nearest(place), -above))
        self._is_held = is_held

    def show_later(self, message: int, part: int, characters: int, above: int) -> None:
        """Bring the row behind so many ``characters`` of a part into sight once there is a size."""
        self._due = Place(message, part, 0), characters, above

    def to_start(self) -> None:
        is_drawn = bool(self._spans)  # before that the place says nothing
        if self.messages and (self._place != Place(0, 0, 0) or not is_drawn):
            self._release(Place(0, 0, 0))

    def to_end(self) -> None:
        """Move to the last row and follow."""
        self.follow, self._due = True, None
        self._mark, self._is_held = None, False

    def stay(self) -> None:
        """Stop following at the present rows, also where nothing is below them yet."""
        if self.follow and self.is_ready:
            self._release(self.nearest(self._place))
            self._is_held = True

    def _release(self, place: Place) -> None:
        if self.follow:
            self._mark = None  # nothing is new where nothing was seen
            if self._spans:
                index = len(self.messages) - 1
                part = self.messages[index].part_count - 1
                self._mark = Place(index, part, len(self._rows(index, part)))
        self.follow = self._is_held = False
        self._place = place

    @property
    def rows_new(self) -> int:
        """About how many rows came since the view stopped following, and lie below it."""
        if self._mark is None or not self.messages:
            return 0
        self._measure()
        return max(0, self.heights.total - self._rows_before(max(self._mark, self._bottom)))

    def position(self) -> tuple[int, int]:
        """Return about how many rows are above the view, and how many there are in all. O(log n)."""
        if not self.is_ready:
            return 0, 0
        self._measure()
        return self._rows_before(self._place), self.heights.total

    # --- places ---

    def has(self, place: Place) -> bool:
        """Whether there is such a row now: texts are replaced, open blocks become others."""
        if place.message >= len(self.messages) or place.part >= self.messages[place.message].part_count:
            return False
        return place.row < len(self._rows(place.message, place.part))

    def nearest(self, place: Place) -> Place:
        """Return ``place``, or the nearest one there is: a head may have no row of its own."""
        index = min(place.message, len(self.messages) - 1)
        self._settle(index)
        parts = self.messages[index].part_count
        part = min(place.part, parts - 1)
        if not part and parts > 1 and not self._rows(index, 0):
            part = 1
        return Place(index, part, max(0, min(place.row, len(self._rows(index, part)) - 1)))

    def _moved(self, place: Place, rows: int) -> Place:
        index, part, row = place.message, place.part, place.row + rows
        while row < 0:
            if part == 0:
                if index == 0:
                    return self.nearest(Place(0, 0, 0))
                index -= 1
                if not self._settle(index):
                    self._wanted = index
                    return Place(index + 1, 0, 0)
                part = self.messages[index].part_count
            part -= 1
            row += len(self._rows(index, part))
        while row >= (count := len(self._rows(index, part))):
            row -= count
            part += 1
            if part == self.messages[index].part_count:
                if index == len(self.messages) - 1:
                    return Place(index, part - 1, count - 1)
                index, part = index + 1, 0
                self._settle(index)
        return Place(index, part, row)

    def _down_from(self, place: Place) -> list[Span]:
        """Return a screenful from ``place`` downwards, as far as there is one."""
        spans: list[Span] = []
        index, part, row = place
        left = self.height
        while True:
            layout = self.layout(index, part)
            end = min(len(layout.rows), row + left)
            spans.append(Span(index, part, row, end, layout))
            left -= end - row
            part, row = part + 1, 0
            is_last = part >= self.messages[index].part_count
            if left <= 0 or (is_last and index == len(self.messages) - 1):
                return spans
            if is_last:
                index, part = index + 1, 0
                self._settle(index)

    def _up_from_end(self) -> list[Span]:
        """Return the screenful that ends with the last row, in one walk."""
        spans: list[Span] = []
        missing = self.height
        for index in range(len(self.messages) - 1, -1, -1):
            if not self._settle(index) and spans:
                break  # what is above is still to be split
            for part in range(self.messages[index].part_count - 1, -1, -1):
                layout = self.layout(index, part)
                end = len(layout.rows)
                start = max(0, end - missing)
                spans.append(Span(index, part, start, end, layout))
                missing -= end - start
                if not missing:
                    return spans[::-1]
        return spans[::-1]

    def _note_bottom(self, span: Span) -> None:
        """Take in where the rows in sight end, and whether the last message grows there."""
        self._bottom = Place(span.message, span.part, span.end)
        message = self.messages[span.message]
        self.has_caret = (
            not message.is_closed
            and span.message == len(self.messages) - 1
            and span.part == message.part_count - 1
            and span.start < span.end == len(span.layout.rows)
            and message.part(span.part).kind in CARET_KINDS
        )

    # --- layouts ---

    def _settle(self, index: int) -> bool:
        """Split what is pending of a message as far as this frame's budget goes."""
        message = self.messages[index]
        if not message.is_settled:
            message.know_width(self.width)
            if self._budget > 0:
                self._budget -= message.settle(self._budget)
            self.is_unsettled |= not message.is_settled
        return message.is_settled

    def _rows(self, index: int, part: int) -> list[Row]:
        return self.layout(index, part).rows

    def layout(self, index: int, part: int) -> Layout:
        """Return the layout of a part of a message. Raises IndexError if there is none."""
        message = self.messages[index]
        message.know_width(self.width)
        at = message.open_index(part)
        if at >= 0:
            layout = message.open_layouts[at]
            if layout is None:
                layout = self._laid_out(message, part, is_open=at == len(message.open) - 1)
                message.open_layouts[at] = layout
            return layout
        key = message.part_key(part)
        layout = self._layouts.pop(key, None)
        if layout is None:
            # A text that was cut, too: a sign that it does not close was said, and is shown.
            layout = self._laid_out(message, part, is_open=False)
            while len(self._layouts) >= max(MIN_LAYOUTS, 8 * self.height):
                del self._layouts[next(iter(self._layouts))]
        self._layouts[key] = layout
        return layout

    def _laid_out(self, message: TranscriptMessage, part: int, *, is_open: bool) -> Layout:
        links: list[str] = []
        rows = message.rows_of(part, self.width, is_open=is_open, links=links)
        message.know_rows(part, len(rows))
        former = message.former.get(message.part(part).start) if part else None
        tone, apart = message.tone, 0 if part else message.APART
        if tone.card == ASK and not part:
            tone = tone._replace(card=ASKS)
        return Layout(rows, former, links, tone=tone, apart=apart)

    # --- counting ---

    def _measure(self) -> None:
        """Bring the heights up to date with what changed since the last time."""
        for number in range(len(self.heights), len(self.messages)):
            message = self.messages[number]
            message.number, message.changed = number, self._changed
            self.heights.append(message.height(self.width))
        for number in self._changed:
            self.heights.set(number, self.messages[number].height(self.width))
        self._changed.clear()

    def _estimate_anew(self) -> None:
        """After a change of width, estimate some more heights: what is in sight does not need them."""
        self._measure()
        first = max(0, self._stale - ESTIMATES_PER_FRAME)
        for number in range(first, self._stale):
            self.heights.set(number, self.messages[number].height(self.width))
        self._stale = first
        self.is_unsettled |= first > 0
        for number in {span.message for span in self._spans}:
            self.is_unsettled |= not self.messages[number].estimate_anew(ESTIMATES_PER_FRAME)

    def _count_exactly(self, index: int) -> None:
        """Lay out the new blocks of the last message, so that ``rows_new`` does not jump later."""
        message = self.messages[index]
        message.know_width(self.width)
        left, part = EXACT_PER_FRAME, len(message.blocks)
        while left and part > 0 and not message.exact_rows(part):
            self.layout(index, part)
            left, part = left - 1, part - 1
        for part in range(1 + len(message.blocks), message.part_count):
            self.layout(index, part)

    def _rows_before(self, place: Place) -> int:
        if place.message >= len(self.heights):
            return self.heights.total
        message = self.messages[place.message]
        message.know_width(self.width)
        return self.heights.before(place.message) + message.rows_before(place.part) + place.row

    # --- keeping the place over a change of width ---

    def characters_above(self, place: Place) -> int:
        """Return how many characters of its part are before the row of ``place``; spaces do not count."""
        return sum(_length(row) for row in self._rows(place.message, place.part)[: place.row])

    def _at(self, place: Place, characters: int, *, is_end: bool) -> Place:
        """Return the row of the same part that holds that character, or that ends behind it."""
        rows = self._rows(place.message, place.part)
        row = 0
        while row < len(rows) and characters >= (length := _length(rows[row])) and (characters or is_end):
            characters -= length
            row += 1
        if is_end:
            return place._replace(row=min(row + bool(characters), len(rows)))
        return place._replace(row=max(0, min(row, len(rows) - 1)))


def _length(row: Row) -> int:
    """Return the characters of a row that come from the text, but for spaces: wrapping drops those."""
    return sum(len(text) - text.count(" ") for text, ink in row if not ink & MARK)


def _drop_unseen(former: list[Span], spans: list[Span]) -> None:
    """Drop what is painted of rows that went out of sight."""
    seen = {id(span.layout): span for span in spans}
    for span in former:
        now = seen.get(id(span.layout))
        if now is None:
            span.layout.keep(0, 0)
        elif (now.start, now.end) != (span.start, span.end):
            now.layout.keep(now.start, now.end)
