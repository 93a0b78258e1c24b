"""Textual parses the style sheets of all widgets for each app anew, and again for each new screen: that was a
sixth of the time of the tests that show an app. Here each sheet is parsed once for each theme.

For each widget it then asks each rule whether it holds, and which of all that hold comes first, which was a
fifth of the time of tests with forms. Here that is found once for all nodes of all apps of which selectors
would see the same.

As often as a class of a widget changes or it gets the focus, Textual also looks through all rules for each of
its component classes, and an agent's pane has twenty-two: that was another sixth. Here it does so when
something has changed that a selector can ask for, and for those that something is drawn with.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from textual.css.model import RuleSet
from textual.css.styles import RenderStyles
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode


class _Theme:
    """Stands for the values of all variables."""


_parse = Stylesheet._parse_rules
_known: dict[_Theme, dict[object, list[RuleSet]]] = {}
_themes: dict[object, _Theme] = {}  # by their variables
_theme_of_sheet: WeakKeyDictionary[Stylesheet, tuple[dict[str, str], _Theme]] = WeakKeyDictionary()

_asked: WeakKeyDictionary[DOMNode, object] = WeakKeyDictionary()

_apply = Stylesheet.apply


@dataclass(slots=True)
class _Found:
    """What holds for a node, and how the node keeps it: percents are of a width or a height then."""

    rules: dict[str, Any]
    as_kept: dict[str, Any] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Rules:
    """The rules that may hold for a node, in their order, and what their selectors ask for."""

    rules: tuple[RuleSet, ...]
    named: frozenset[str]
    pseudo: tuple[str, ...]
    found: dict[object, _Found] = field(default_factory=dict)  # by what selectors saw


_rules_of: WeakKeyDictionary[Stylesheet, tuple[list[RuleSet], dict[frozenset[str], _Rules]]] = (
    WeakKeyDictionary()
)
_same_rules: dict[tuple[RuleSet, ...], _Rules] = {}


def _may_hold(sheet: Stylesheet, selector_names: Set[str]) -> _Rules:
    """Return the rules that name one of these types, ids and classes."""
    of_sheet = _rules_of.get(sheet)
    if of_sheet is None or of_sheet[0] is not sheet.rules:
        of_sheet = _rules_of[sheet] = sheet.rules, {}
    names = frozenset(sheet.rules_map.keys() & selector_names)
    may_hold = of_sheet[1].get(names)
    if may_hold is None:
        of_names = {rule for name in names for rule in sheet.rules_map[name]}
        rules = tuple(rule for rule in reversed(sheet.rules) if rule in of_names)
        may_hold = of_sheet[1][names] = _same_rules.get(rules) or _same_rules.setdefault(
            rules, _Rules(rules, *_asked_by(rules))
        )
    return may_hold


def _apply_once(sheet: Stylesheet, node: DOMNode, *, animate: bool = False, cache: object = None) -> None:
    may_hold = _may_hold(sheet, node._selector_names)
    seen = _what_they_see(node, may_hold.named, may_hold.pseudo)
    if (found := may_hold.found.get(seen)) is None:
        rules: dict[tuple[Any, ...], Any] = {}
        with_order = Stylesheet._EXCLUDE_PSEUDO_CLASSES_FROM_CACHE
        try:
            Stylesheet._EXCLUDE_PSEUDO_CLASSES_FROM_CACHE = set()  # type: ignore[misc]
            _apply(sheet, node, animate=animate, cache=rules)
        finally:
            Stylesheet._EXCLUDE_PSEUDO_CLASSES_FROM_CACHE = with_order  # type: ignore[misc]
        may_hold.found[seen] = _Found(next(iter(rules.values()), {}))
        return
    asks = may_hold.pseudo
    node._has_hover_style = "hover" in asks
    node._has_focus_within = "focus-within" in asks
    node._has_order_style = not _ORDER.isdisjoint(asks)
    node._has_odd_or_even = "odd" in asks or "even" in asks
    if found.rules:
        _replace(sheet, node, found, animate)
    sheet._process_component_classes(node)


def _replace(sheet: Stylesheet, node: DOMNode, found: _Found, animate: bool) -> None:
    base: dict[str, Any] = node.styles.base._rules  # type: ignore[assignment]
    if found.as_kept is not None:
        if base == found.as_kept:
            node.notify_style_update()
            return
        if not base and not animate:
            base.update(found.as_kept)
            node.styles.base._updates += 1
            if type(node) is not DOMNode:  # one that stands for a component class is in no layout
                node.refresh(layout=True)
                node.notify_style_update()
            return
    was_new = not base and not animate
    sheet.replace_rules(node, found.rules, animate=animate)  # type: ignore[arg-type]
    if was_new:
        found.as_kept = dict(base)


_ORDER = frozenset({"first-of-type", "last-of-type", "first-child", "last-child", "empty"})


def _what_they_see(node: DOMNode, named: frozenset[str], pseudo: tuple[str, ...]) -> object:
    """Return all that selectors can tell of a node, and of those it is in, by these names."""
    return tuple(
        (
            each._id if each._id in named else None,
            named & each._classes,
            named & each._css_type_names,
            *[name for name in pseudo if each.has_pseudo_class(name)],
        )
        for each in node.css_path_nodes
    )


def _parse_once(sheet: Stylesheet, *arguments: Any, **named: Any) -> list[RuleSet]:
    of_theme = _known.setdefault(_theme_of(sheet), {})
    key = (arguments, tuple(named.items()))
    rules = of_theme.get(key)
    if rules is None:
        rules = of_theme[key] = _parse(sheet, *arguments, **named)
    return rules


def _theme_of(sheet: Stylesheet) -> _Theme:
    """Return the one object that stands for the values of a sheet's variables."""
    if (known := _theme_of_sheet.get(sheet)) is not None and known[0] is sheet._variables:
        return known[1]
    theme = _themes.setdefault(tuple(sheet._variables.items()), _Theme())
    _theme_of_sheet[sheet] = sheet._variables, theme
    return theme


def _style_changed_components(sheet: Stylesheet, node: DOMNode) -> None:
    components = node._get_component_classes()
    if not components:
        return
    may_hold = _may_hold(sheet, {"*", "DOMNode", *[f".{name}" for name in components]})
    asked = may_hold, _what_they_see(node, may_hold.named, may_hold.pseudo)
    if _asked.get(node) == asked:
        return
    drawn, node._component_styles = node._component_styles, _Components(sheet, node, components)
    _asked[node] = asked
    if any(
        name not in components or node._component_styles[name] != styles for name, styles in drawn.items()
    ):
        node.refresh()


class _Components(dict[str, RenderStyles]):
    """The styles of a node's component classes, found when something is first drawn with them."""

    def __init__(self, sheet: Stylesheet, node: DOMNode, names: frozenset[str]) -> None:
        super().__init__()
        self._sheet, self._node, self._names = sheet, node, names

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __missing__(self, name: str) -> RenderStyles:
        component = DOMNode(classes=name)
        component._attach(self._node)
        self._sheet.apply(component, animate=False)
        styles = self[name] = component.styles
        return styles


def _asked_by(rules: Iterable[RuleSet]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the ids, classes and types, and the pseudo classes, that selectors of these rules ask for."""
    selectors = [
        selector for rule in rules for alternative in rule.selector_set for selector in alternative.selectors
    ]
    named = frozenset({"-textual-system", *(selector.name for selector in selectors)})
    return named, tuple({name for selector in selectors for name in selector.pseudo_classes})


_OURS = {
    "_parse_rules": _parse_once,
    "apply": _apply_once,
    "_process_component_classes": _style_changed_components,
}
_TEXTUALS = {name: getattr(Stylesheet, name) for name in _OURS}


def parse_once() -> None:
    """Have all apps of this process share what was parsed and found."""
    for name, method in _OURS.items():
        setattr(Stylesheet, name, method)
    RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]  # identity as before, in C


@contextmanager
def as_textual_does() -> Iterator[None]:
    """Share nothing meanwhile."""
    for name, method in _TEXTUALS.items():
        setattr(Stylesheet, name, method)
    try:
        yield
    finally:
        parse_once()
