"""Textual's private parts that have no public twin, each behind a function with a name of ours.

Only ``widgets.terminal`` names them, so that a new version of Textual is tried here; a test greps for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual.app import App
from textual.dom import DOMNode
from textual.driver import Driver
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets._toast import Toast, ToastRack

if TYPE_CHECKING:  # for the first frame
    from textual.document._document import EditResult as EditResult  # what ``TextArea.edit`` returns
    from textual.document._document import Location
    from textual.document._edit import Edit as Edit  # what it takes
    from textual.widgets import TextArea


def name_key(sequence: str, key: Any) -> None:
    """Let ``sequence`` from the terminal be ``key`` (an enum member of that value), unless it has a name."""
    cast("dict[str, Any]", ANSI_SEQUENCES_KEYS).setdefault(sequence, (key,))


def driver_of(app: App[Any]) -> Driver | None:
    """Return what writes to the terminal, None before and after there is one."""
    return getattr(app, "_driver", None)


def keymap_of(app: App[Any]) -> Mapping[str, str]:
    """Return the keys that ``App.set_keymap`` took, with commas between them, by the id of what they do."""
    return app._keymap


def error_of(app: App[Any]) -> BaseException | None:
    """Return the error that ended the app, None if none did."""
    return app._exception


def end_without_traceback(app: App[Any]) -> None:
    """Have the app show nothing of an error that ends it: a traceback holds the words of a conversation."""
    app._fatal_error = app._close_messages_no_wait  # type: ignore[method-assign]


def forget_notifications(app: App[Any], text: str) -> None:
    """Drop what is shown in passing and says ``text``; it goes with the next one that is shown."""
    for told in [told for told in app._notifications if told.message == text]:
        app._unnotify(told, refresh=False)


def toasts_of(screen: Screen[Any]) -> tuple[Widget | None, list[Widget]]:
    """Return what holds the lines that a screen shows in passing, None before there is one, and the lines."""
    rack = next((child for child in screen.children if isinstance(child, ToastRack)), None)
    return (None, []) if rack is None or not rack.display else (rack, list(rack.query(Toast)))


def type_into(area: TextArea, text: str, start: Location, end: Location) -> None:
    """Replace the text between two places as if it were typed: it can be undone as such."""
    area._replace_via_keyboard(text, start, end)


def forget_theme_watcher(app: App[Any], node: DOMNode) -> None:
    """Have the app forget a text area that is gone: it would only when its theme changes."""
    watchers = getattr(app, "__watchers", {}).get("theme", [])
    watchers[:] = [(watcher, callback) for watcher, callback in watchers if watcher is not node]
