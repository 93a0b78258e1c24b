"""Which rooms are listed and in which order: what the list of rooms knows, without a screen.

A room that changed costs its own place, however many there are: two searches in a sorted list.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Literal

from agent_tui.events import RoomInfo
from agent_tui.inert import inert_line

SortKey = Literal["activity", "name", "status", "tokens", "cost"]
SORT_KEYS: Final[tuple[SortKey, ...]] = ("activity", "name", "status", "tokens", "cost")
MAX_NAME_CHARACTERS: Final = 200
_STATUS_ORDER: Final = {"running": 0, "error": 1, "paused": 2, "idle": 3, "completed": 4}
Place = tuple[float, float, str, str]
"""What a room is sorted by; the id comes last, so that no two are the same."""


def moment_of(when: str) -> float:
    """Return an ISO 8601 time in seconds since 1970; 0 for what is none."""
    try:
        moment = datetime.fromisoformat(when)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError, OSError):
        return 0.0


def name_of(room: RoomInfo) -> str:
    """Return what a room is called in one harmless line: its name, or what it is about."""
    return inert_line(room.name, MAX_NAME_CHARACTERS) or inert_line(room.task, MAX_NAME_CHARACTERS)


@dataclass(frozen=True, slots=True)
class Entry:
    """One room in its place."""

    room: RoomInfo
    place: Place
    moment: float  # of its last activity, in seconds since 1970
    is_listed: bool


class Listing:
    """Rooms in order, as far as they fit what is asked for."""

    def __init__(self, rooms: Iterable[RoomInfo] = ()) -> None:
        self._entries: dict[str, Entry] = {}
        self._order: list[Place] = []
        self._sort: SortKey = "activity"
        self._needle = ""
        self._shows_archived = False
        self._running = 0
        self._total = 0
        self.sorted_places = 0  # places that were found so far: what changes cost
        self.replace(rooms)

    # --- what is known ---

    def __len__(self) -> int:
        """How many rooms are listed."""
        return len(self._order)

    def __getitem__(self, index: int) -> Entry:
        """The room in one place of the list."""
        return self._entries[self._order[index][-1]]

    def get(self, room_id: str) -> RoomInfo | None:
        """Return a room, listed or not."""
        entry = self._entries.get(room_id)
        return entry.room if entry is not None else None

    def index_of(self, room_id: str) -> int | None:
        """Return where a room is listed, if it is."""
        entry = self._entries.get(room_id)
        return bisect_left(self._order, entry.place) if entry is not None and entry.is_listed else None

    @property
    def running(self) -> int:
        """How many rooms run, archived ones not counted unless they are shown."""
        return self._running

    @property
    def total(self) -> int:
        """How many rooms there are, whatever is looked for; archived ones only if they are shown."""
        return self._total

    @property
    def rooms(self) -> list[RoomInfo]:
        """All rooms that are known, in no order."""
        return [entry.room for entry in self._entries.values()]

    @property
    def sort(self) -> SortKey:
        """What they are sorted by."""
        return self._sort

    @property
    def needle(self) -> str:
        """What is looked for; "" lists all."""
        return self._needle

    @property
    def shows_archived(self) -> bool:
        """Whether archived rooms are listed too."""
        return self._shows_archived

    # --- what happens ---

    def replace(self, rooms: Iterable[RoomInfo]) -> None:
        """Take ``rooms`` for all there are."""
        self._entries = {}
        for room in rooms:
            self._entries[room.id] = self._entry(room)
        self._list()

    def put(self, room: RoomInfo) -> None:
        """Take a room as it is now, a new one too."""
        self.remove(room.id)
        entry = self._entries[room.id] = self._entry(room)
        self._count(entry, 1)
        if entry.is_listed:
            insort(self._order, entry.place)
            self.sorted_places += 1

    def remove(self, room_id: str) -> None:
        """The room is gone."""
        index = self.index_of(room_id)
        if index is not None:
            del self._order[index]
            self.sorted_places += 1
        entry = self._entries.pop(room_id, None)
        if entry is not None:
            self._count(entry, -1)

    def arrange(
        self, *, sort: SortKey | None = None, needle: str | None = None, archived: bool | None = None
    ) -> None:
        """Sort or choose by something else; what is not given stays."""
        self._sort = self._sort if sort is None else sort
        self._needle = self._needle if needle is None else needle.strip().casefold()
        self._shows_archived = self._shows_archived if archived is None else archived
        self._entries = {room_id: self._entry(entry.room) for room_id, entry in self._entries.items()}
        self._list()

    def _count(self, entry: Entry, step: int) -> None:
        if self._shows_archived or not entry.room.archived:
            self._total += step
            self._running += step * (entry.room.status == "running")

    def _list(self) -> None:
        self._running = self._total = 0
        for entry in self._entries.values():
            self._count(entry, 1)
        self._order = sorted(entry.place for entry in self._entries.values() if entry.is_listed)
        self.sorted_places += len(self._order)

    def _entry(self, room: RoomInfo) -> Entry:
        moment = moment_of(room.updated_at)
        is_listed = (self._shows_archived or not room.archived) and self._fits(room)
        return Entry(room, self._place(room, moment), moment, is_listed)

    def _fits(self, room: RoomInfo) -> bool:
        if not self._needle:
            return True
        words = (room.name, room.task, room.status, *(agent.name for agent in room.agents))
        return any(self._needle in word.casefold() for word in words)

    def _place(self, room: RoomInfo, moment: float) -> Place:
        """Return where a room belongs. Rooms that run are all active now: they keep their order, so that
        they do not change places with every word.
        """
        recent = -moment_of(room.created_at) if room.status == "running" else -moment
        match self._sort:
            case "activity":
                return (0.0 if room.status == "running" else 1.0, recent, "", room.id)
            case "name":
                return (0.0, 0.0, name_of(room).casefold(), room.id)
            case "status":
                return (float(_STATUS_ORDER.get(room.status, 5)), recent, "", room.id)
            case "tokens":
                return (-float(room.tokens), recent, "", room.id)
            case "cost":
                return (-(room.cost or 0.0), recent, "", room.id)
