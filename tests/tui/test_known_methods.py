"""What the tests know of a class is what Textual would find."""

from __future__ import annotations

from textual import events
from textual.widgets import Button, Input

from tests.known_methods import look_for_methods
from tests.tui.debate import first_round
from tests.tui.one_room import opened


async def test_the_methods_that_take_a_message_are_those_that_textual_finds() -> None:
    async with opened() as screen:
        await screen.send(*first_round(3))
        await screen.press("s")
        nodes = [screen.app, *screen.app.screen.walk_children(with_self=True)]
        messages = [
            events.Mount(),
            events.Focus(),
            events.Key("a", "a"),
            events.Paste("a"),
            Button.Pressed(Button()),
            Input.Changed(Input(), ""),
        ]
        for pump in nodes:
            for message in messages:
                name = message.handler_name
                found = list(look_for_methods(pump, name, message))
                assert list(pump._get_dispatch_methods(name, message)) == found
