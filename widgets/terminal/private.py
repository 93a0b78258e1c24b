"""Textual's private parts without a public equivalent, each in a function with a name of ours.

Only ``widgets.terminal`` uses them, so that a new version of Textual is tested here; a test greps for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import App
from textual.binding import ActiveBinding
from textual.dom import DOMNode
from textual.driver import Driver
from textual.screen import Screen
from textual.widgets._toast import Toast, ToastHolder

if TYPE_CHECKING:  # for the first frame
    from textual.document._document import EditResult as EditResult  # what ``TextArea.edit`` returns
    from textual.document._document import Location
    from textual.document._edit import Edit as Edit  # what it takes
    from textual.widgets import TextArea


def name_key(sequence: str, key: Any) -> None:
    """Map ``sequence`` from the terminal to ``key`` (an enum member with that value), unless it has a key."""
    cast("dict[str, Any]", ANSI_SEQUENCES_KEYS).setdefault(sequence, (key,))


def driver_of(app: App[Any]) -> Driver | None:
    """Return the driver, ``None`` before and after there is one."""
    return getattr(app, "_driver", None)


def keymap_of(app: App[Any]) -> Mapping[str, str]:
    """Return the keys that ``App.set_keymap`` took, separated by commas, by the id of the action."""
    return app._keymap


def binding_of(screen: Screen[Any], key: str) -> ActiveBinding | None:
    """Return the same as ``screen.active_bindings.get(key)``, without asking about all other keys."""
    found: ActiveBinding | None = None
    for node, bindings in screen._modal_binding_chain:
        for binding in bindings.key_to_bindings.get(key, ()):
            enabled = screen.app._check_action_state(binding.action, node)
            if enabled is not False and (found is None or (binding.priority and not found.binding.priority)):
                found = ActiveBinding(node, binding, bool(enabled), binding.tooltip)
    return found


def error_of(app: App[Any]) -> BaseException | None:
    """Return the error that ended the app, ``None`` if none did."""
    return app._exception


def end_without_traceback(app: App[Any]) -> None:
    """Show nothing of an error that ends the app: a traceback contains words of the conversation."""
    app._fatal_error = app._close_messages_no_wait  # type: ignore[method-assign]


def forget_notifications(app: App[Any], text: str) -> None:
    """Drop the notifications that say ``text`` and those that only inform, with the rows that they have."""
    gone = [note for note in app._notifications if note.message == text or note.severity == "information"]
    for note in gone:
        app._unnotify(note, refresh=False)
    for toast in (toast for screen in app.screen_stack for toast in screen.query(Toast)):
        if toast._notification in gone and isinstance(toast.parent, ToastHolder):
            toast.parent.remove()  # Textual removes the toast alone, and the next one would stand lower


def type_into(area: TextArea, text: str, start: Location, end: Location) -> None:
    """Replace the text between two positions as if it were typed: it can be undone."""
    area._replace_via_keyboard(text, start, end)


def forget_theme_watcher(app: App[Any], node: DOMNode) -> None:
    """Unregister a removed text area from the app, which would do it only when its theme changes."""
    watchers = getattr(app, "__watchers", {}).get("theme", [])
    watchers[:] = [(watcher, callback) for watcher, callback in watchers if watcher is not node]
