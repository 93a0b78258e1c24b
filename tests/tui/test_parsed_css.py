"""What the tests' style sheets keep is what Textual would find anew."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from textual.app import App
from textual.dom import DOMNode

from tests.parsed_css import as_textual_does
from tests.tui.lists.rooms_listed import listed, room
from tests.tui.room.debate import first_round, second_round
from tests.tui.room.one_room import opened
from tui import themes
from tui.screens.theme_picker import wear


def rules(node: DOMNode) -> tuple[object, Mapping[str, object]]:
    """Return the rules that hold for a node, and those for each of its component classes."""
    parts = {name: node._component_styles[name].get_rules() for name in node._get_component_classes()}
    return node.styles.base.get_rules(), parts


def styled_otherwise(app: App[Any]) -> list[DOMNode]:
    """Return the nodes that Textual would give other styles, or other component styles, than they have."""
    found: list[DOMNode] = []
    with as_textual_does():
        for node in app.screen.walk_children(with_self=True):
            kept = rules(node)
            app.stylesheet.apply(node)
            if rules(node) != kept:
                found.append(node)
    return found


async def test_styles_that_were_kept_are_those_that_textual_finds() -> None:
    async with opened() as screen:
        await screen.send(*first_round(3), *second_round(3))
        for keys in ([], ["tab"], ["tab", "z"], ["z", "i"], ["escape", "t"], ["escape", "slash"], ["escape"]):
            await screen.press(*keys)
            assert styled_otherwise(screen.app) == []
        wear(screen.app, themes.load("light"))
        await screen.settle()
        assert styled_otherwise(screen.app) == []


async def test_they_are_so_in_a_form_whose_fields_change_with_the_focus(tmp_path: Path) -> None:
    async with listed(tmp_path, room(1), room(2)) as seen:
        await seen.press("n", "ctrl+o")
        for _ in range(12):
            await seen.press("tab")
            assert styled_otherwise(seen.app) == []
