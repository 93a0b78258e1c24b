"""What the parts of a live screen may do of it."""

from __future__ import annotations

from tests.tui.chat.one_chat import opened
from tui.live.host import Host


async def test_a_screen_that_is_being_left_is_not_drawn_again() -> None:
    async with opened() as chat:
        screen = chat.app.screen
        host = Host(screen, chat.app.clock, lambda: None)
        assert host.is_shown
        left = screen.remove()  # its parts go one by one while the clock ticks
        assert not host.is_shown
        await left
