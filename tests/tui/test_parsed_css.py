"""What the tests' style sheets keep is what Textual would find anew."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.dom import DOMNode

from tests.parsed_css import style_components
from tests.tui.debate import first_round, second_round
from tests.tui.one_room import opened
from tui import themes
from tui.screens.theme_picker import wear


def rules(node: DOMNode) -> dict[str, object]:
    """Return the rules that hold for each component class of a node."""
    return {name: styles.get_rules() for name, styles in node._component_styles.items()}


def styled_otherwise(app: App[Any]) -> list[DOMNode]:
    """Return the nodes that Textual would give other component styles than they have."""
    found: list[DOMNode] = []
    for node in app.screen.walk_children(with_self=True):
        kept = rules(node)
        style_components(app.stylesheet, node)
        if rules(node) != kept:
            found.append(node)
    return found


async def test_component_styles_that_were_kept_are_those_that_textual_finds() -> None:
    async with opened() as screen:
        await screen.send(*first_round(3), *second_round(3))
        for keys in ([], ["tab"], ["tab", "z"], ["z", "i"], ["escape", "t"], ["escape", "slash"], ["escape"]):
            await screen.press(*keys)
            assert styled_otherwise(screen.app) == []
        wear(screen.app, themes.load("light"))
        await screen.text()
        assert styled_otherwise(screen.app) == []
