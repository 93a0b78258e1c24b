"""Whether a widget can be seen: what cannot be seen is not drawn."""

from __future__ import annotations

from textual.widget import Widget


def is_shown(widget: Widget) -> bool:
    """Return whether the widget is on the screen, with at most see-through screens (dialogs) above it."""
    if not widget.is_attached or not widget.is_on_screen:
        return False
    stack = widget.app.screen_stack
    if widget.screen not in stack:
        return False
    above = stack[stack.index(widget.screen) + 1 :]
    return all(screen.styles.background.a < 1 for screen in above)
