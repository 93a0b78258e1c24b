"""The rooms of a server, newest first: pick one to open it."""

from __future__ import annotations

from datetime import UTC, datetime

from rich.cells import cell_len, set_cell_size
from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.screen import Screen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.events import RoomInfo
from agent_tui.inert import inert_line
from tui.screens import signs
from tui.screens.words import count, say
from widgets.signs import twin

NAME_CELLS = 46
MAX_NAME_CHARACTERS = 200


class RoomsScreen(Screen[str]):
    """Lists rooms and is dismissed with the id of the chosen one."""

    CSS_PATH = "rooms.tcss"

    def __init__(self, rooms: list[RoomInfo], *, ascii_only: bool) -> None:
        super().__init__()
        self._rooms = sorted(rooms, key=lambda room: room.updated_at, reverse=True)
        self._ascii_only = ascii_only

    def compose(self) -> ComposeResult:
        running = sum(room.status == "running" for room in self._rooms)
        heading = say("rooms.count", running=count(running), all=count(len(self._rooms)))
        yield Static(f" {say('rooms.title')}   {heading}", id="top", markup=False)
        now = datetime.now(UTC)
        if self._rooms:
            options = [Option(self._row(room, now), id=f"room-{n}") for n, room in enumerate(self._rooms)]
            yield OptionList(*options, markup=False)
        else:
            yield Static(say("rooms.empty"), id="empty", markup=False)
        yield Static(f" {say('rooms.hints')}", id="hints", markup=False)

    def _row(self, room: RoomInfo, now: datetime) -> Text:
        row = room_row(room, now)
        return Text(twin(row) if self._ascii_only else row)

    @on(OptionList.OptionSelected)
    def open_selected(self, event: OptionList.OptionSelected) -> None:
        """Open what was picked with the keyboard or the mouse."""
        self.dismiss(self._rooms[event.option_index].id)


def room_row(room: RoomInfo, now: datetime) -> str:
    """Return one row: sign, name, round, when something last happened."""
    sign = {
        "running": signs.SPEAKING,
        "paused": signs.PAUSED,
        "completed": signs.DONE,
        "error": signs.FAILED,
    }.get(room.status, signs.WAITING)
    name = inert_line(room.name or room.task, MAX_NAME_CHARACTERS)
    if cell_len(name) > NAME_CELLS:
        name = set_cell_size(name, NAME_CELLS - 1) + "…"
    done = say("rooms.round", round=room.current_round, most=room.max_rounds)
    return f"{sign} {set_cell_size(name, NAME_CELLS)}  {done:<12}  {ago(room.updated_at, now)}"


def ago(when: str, now: datetime) -> str:
    """Return "2 min ago" for an ISO 8601 time; times are relative up to a day."""
    try:
        moment = datetime.fromisoformat(when)
    except ValueError:
        return ""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (now - moment).total_seconds()
    if seconds < 60:
        return say("time.now")
    if seconds < 3600:
        return say("time.minutes", minutes=int(seconds // 60))
    if seconds < 86_400:
        return say("time.hours", hours=int(seconds // 3600))
    return moment.astimezone().strftime("%Y-%m-%d")
