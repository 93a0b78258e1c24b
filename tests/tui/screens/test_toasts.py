"""What is told in passing covers no header, nothing that needs approval and no line that is written in."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from textual.widgets._toast import Toast

import tui
from tests.tui.chat.views import asks, in_a_chat, talk
from tests.tui.room.debate import first_round, second_round
from tests.tui.watched import Watched
from tests.tui.whole_app import opened_app
from tui.screens.dialog import QuestionScreen
from tui.screens.words import ENGLISH

LONG = "the server said so, at some length: " + "and again, " * 12


def told_in(path: Path) -> Iterator[str]:
    """Yield the keys of the texts that a module tells in passing."""
    text = path.read_text()
    for node in ast.walk(ast.parse(text if re.search(r"notify\(|tell\(|warn\(", text) else "")):
        if isinstance(node, ast.Call):
            does = ast.unparse(node.func)
            is_list = path.parent.name == "lists" and does == "self._tell"
            if is_list or does.endswith((".notify", "host.tell", "host.warn")):
                said = [one for one in ast.walk(node) if isinstance(one, ast.Call) and one is not node]
                yield from (
                    ast.unparse(one.args[0]) for one in said if ast.unparse(one.func) in ("say", "say_count")
                )


def test_all_that_is_told_in_passing_begins_with_a_small_letter() -> None:
    places = [path for path in Path(tui.__file__).parent.rglob("*.py") if "cli" not in path.parts]
    patterns = {key for path in places for key in told_in(path)}
    assert len(patterns) > 25
    keys = {
        key: text
        for key, text in ENGLISH.items()
        for pattern in patterns
        if re.fullmatch(re.sub(r"\\\{.*?\\\}", "[a-z_]+", re.escape(pattern.strip("f'\""))), key)
    }
    assert len(keys) > 25
    assert {key: text for key, text in keys.items() if text[:1].isupper() or text.endswith(".")} == {}


async def told(seen: Watched[Any], text: str = LONG) -> list[str]:
    """Tell something, and return what it covers of each row, as that was before."""
    before = (await seen.text()).split("\n")
    seen.app.notify(text, markup=False)
    after = (await seen.text()).split("\n")
    regions = [toast.region for toast in seen.app.screen.query(Toast)]
    assert len(regions) == 1
    x, y, width, height = regions[0]
    assert text[:20] in after[y]
    return [row[x : x + width] for row in [*before, *[""] * height][y : y + height]]


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_in_a_chat_nothing_that_asks_is_covered(tmp_path: Path, size: tuple[int, int]) -> None:
    async with in_a_chat(tmp_path, *talk(), size=size) as seen:
        await seen.send(*asks())
        covered = "\n".join(await told(seen))
        assert "needs approval" not in covered
        assert "Allow this" not in covered
        assert not {"█", "›", "─"} & set(covered)  # edges of the card, the line to write in and its rule


async def test_all_rows_of_what_is_told_are_in_sight(tmp_path: Path) -> None:
    text = "saved as [providers.walker] in /tmp/w/chat/h2/.config/agent-tui/"
    async with in_a_chat(tmp_path, size=(80, 24)) as seen:
        for letters in range(7, 14):  # around the width of a row
            await told(seen, text + "x" * letters + "Z")
            toast = seen.app.screen.query_one(Toast).region
            rows = (await seen.text()).split("\n")[toast.y : toast.bottom]
            assert rows[-1].endswith("Z")
            seen.app.clear_notifications()
            await seen.settle()


async def test_in_a_room_no_header_of_an_agent_is_covered(tmp_path: Path) -> None:
    async with opened_app(tmp_path, size=(120, 40)) as seen:
        seen.link.send(*first_round(4), *second_round(4))
        for text in ("one", LONG):
            assert "tok" not in "\n".join(await told(seen, text))
            seen.app.clear_notifications()
            await seen.settle()


async def test_in_a_list_the_cursor_is_not_covered(tmp_path: Path) -> None:
    async with in_a_chat(tmp_path, *talk()) as seen:
        await seen.press("f3")
        assert not [row for row in await told(seen) if row.startswith((" ▸", "▸"))]


async def test_the_answer_to_a_key_takes_the_place_of_the_one_before_and_a_warning_stays(
    tmp_path: Path,
) -> None:
    async with in_a_chat(tmp_path, *talk()) as seen:
        seen.app.notify("the server is slow", severity="warning")
        seen.app.notify("nothing is queued")
        before = (await seen.text()).splitlines()
        seen.app.notify("copied 1 line")
        text = await seen.text()
        (row,) = (row for row in before if "nothing is queued" in row)
        assert "copied 1 line" in text.splitlines()[before.index(row)]
        assert "the server is slow" in text
        assert "copied 1 line" in text
        assert "nothing is queued" not in text


async def test_what_was_told_before_a_dialog_opens_is_shown_once(tmp_path: Path) -> None:
    async with in_a_chat(tmp_path, *talk()) as seen:
        await told(seen, "copied 12 characters")
        seen.app.push_screen(QuestionScreen("Sure?"))
        assert (await seen.until("Sure?")).count("copied 12 characters") == 1
        assert (await seen.press("escape")).count("copied 12 characters") == 1
