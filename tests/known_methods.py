"""For each message Textual looks through all classes of a widget for the methods that take it, counts what
they take, and makes three loggers that tell nobody; for each style it asks two objects twice. Here what a
class says is found once, and nothing is logged: tests that show an app take a fifteenth less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import textual
from textual import _callback
from textual.css.styles import RenderStyles
from textual.message import Message
from textual.message_pump import MessagePump
from textual.reactive import Reactive

# For each class the methods with a decorator, and the name of one without.
_Methods = list[tuple[type, list[Callable[..., Any]], str]]

look_for_methods = MessagePump._get_dispatch_methods
_get, _count = Reactive.__get__, _callback._count_parameters
_methods: dict[tuple[type, type, str], _Methods | None] = {}
_counts: dict[tuple[CodeType, bool], int] = {}
_computed: dict[tuple[type, str], bool] = {}


def _known_methods(pump: MessagePump, name: str, message: Message) -> Iterator[tuple[type, Any]]:
    key = type(pump), type(message), name
    if key not in _methods:
        _methods[key] = _methods_of(*key)
    known = _methods[key]
    if known is None:
        yield from look_for_methods(pump, name, message)
        return
    for cls, decorated, named in known:
        if message._no_default_action:
            break
        for method in decorated:
            yield cls, method.__get__(pump, cls)
        if named:  # looked up each time: a test may have put another one there
            yield cls, cls.__dict__[named].__get__(pump, cls)


def _methods_of(pump: type, message: type, name: str) -> _Methods | None:
    """Return the methods that take a message, by class; ``None`` where selectors have to be asked."""
    by_class: _Methods = []
    taken: set[Callable[..., Any]] = set()
    for cls in pump.__mro__:
        of_class: dict[type, list[tuple[Callable[..., Any], object]]]
        of_class = cls.__dict__.get("_decorated_handlers") or {}
        pairs = [pair for each in message.__mro__ for pair in of_class.get(each, ())]
        if any(selectors for _, selectors in pairs):
            return None
        decorated = [method for method in dict.fromkeys(method for method, _ in pairs) if method not in taken]
        taken.update(decorated)
        named = next((each for each in (f"_{name}", name) if cls.__dict__.get(each) is not None), "")
        if named and getattr(cls.__dict__[named], "_textual_on", None):
            named = ""
        if decorated or named:
            by_class.append((cls, decorated, named))
    return by_class


def _known_count(func: Callable[..., Any]) -> int:
    function = getattr(func, "__func__", func)
    code = getattr(function, "__code__", None)
    if code is None or hasattr(function, "__wrapped__"):
        return _count(func)
    key = code, function is func
    if key not in _counts:
        _counts[key] = _count(func)
    return _counts[key]


def _known_value(reactive: Reactive[Any], node: Any, of: type) -> Any:
    if node is None or reactive.internal_name not in node.__dict__:
        return _get(reactive, node, of)
    key = type(node), reactive.compute_name
    if key not in _computed:
        _computed[key] = hasattr(node, reactive.compute_name)
    return _get(reactive, node, of) if _computed[key] else node.__dict__[reactive.internal_name]


def _rule(styles: RenderStyles, name: str, default: object = None) -> object:
    inline: dict[str, Any] = styles._inline_styles._rules  # type: ignore[assignment]
    return inline[name] if name in inline else styles._base_styles._rules.get(name, default)


def find_methods_once() -> None:
    """Have all apps of this process share what was found."""
    MessagePump._get_dispatch_methods = _known_methods  # type: ignore[assignment, method-assign]
    Reactive.__get__ = _known_value  # type: ignore[assignment, method-assign]
    RenderStyles.get_rule = _rule  # type: ignore[assignment, method-assign]
    _callback._count_parameters = _known_count
    textual.Logger.event = property(lambda logger: logger)  # type: ignore[assignment]
    textual.Logger.verbosity = lambda logger, _: logger  # type: ignore[method-assign, assignment]
