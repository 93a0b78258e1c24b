"""Keys of a Russian keyboard do what the Latin keys in their places do, and write Russian elsewhere."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import TextArea

from tests.tui.lists.rooms_listed import listed, room
from tui.forms.new_room import NewRoomScreen
from tui.keys.layout import LATIN


async def test_a_russian_letter_is_the_key_in_its_place_unless_it_is_written(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        before = seen.cursor
        await seen.press("о")  # j
        assert seen.cursor != before
        await seen.press("т")  # n
        assert isinstance(seen.app.screen, NewRoomScreen)
        await seen.press("т", "о")
        assert seen.app.screen.query_one("#task", TextArea).text == "то"


def test_every_letter_has_its_place() -> None:
    assert LATIN["з"] == ("p", "p")
    assert LATIN["Н"] == ("Y", "Y")
    assert LATIN["х"] == ("left_square_bracket", "[")
    assert len(LATIN) == 2 * 26 + 3
