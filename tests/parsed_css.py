"""Textual parses the style sheets of all widgets for each app anew, and again for each new screen: that was a
sixth of the time of the tests that show an app. Here each sheet is parsed once for each theme.

As often as a class of a widget changes or it gets the focus, Textual also looks through all rules for each of
its component classes, and an agent's pane has twenty-two: that was another sixth. Here it does so when
something has changed that a selector can ask for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from weakref import WeakKeyDictionary

from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.dom import DOMNode

_parse = Stylesheet._parse_rules
_known: dict[object, list[RuleSet]] = {}

style_components = Stylesheet._process_component_classes  # as Textual does it, each time
_named_in: dict[tuple[RuleSet, ...], tuple[frozenset[str], tuple[str, ...]]] = {}
_asked: WeakKeyDictionary[DOMNode, object] = WeakKeyDictionary()


def _parse_once(sheet: Stylesheet, *arguments: Any, **named: Any) -> list[RuleSet]:
    key = (arguments, tuple(named.items()), tuple(sheet._variables.items()))
    rules = _known.get(key)
    if rules is None:
        rules = _known[key] = _parse(sheet, *arguments, **named)
    return rules


def _style_changed_components(sheet: Stylesheet, node: DOMNode) -> None:
    components = node._get_component_classes()
    if not components:
        return
    asked = _what_selectors_ask(sheet, node, components)
    if _asked.get(node) == asked and components <= node._component_styles.keys():
        return
    style_components(sheet, node)
    _asked[node] = asked


def _what_selectors_ask(sheet: Stylesheet, node: DOMNode, components: frozenset[str]) -> object:
    """Return what the styles of component classes depend on: the rules for them, and what these ask of the
    node and of those it is in.
    """
    names = ("*", "DOMNode", *(f".{name}" for name in sorted(components)))
    rules = tuple(
        rule for name in names for rule in sheet.rules_map.get(name, ())
    )  # equal if they are the same
    named, pseudo = _named_in.get(rules) or _named_in.setdefault(rules, _asked_by(rules))
    return rules, [
        (
            each.id in named and each.id,
            named & each.classes,
            named & each._css_type_names,
            [name for name in pseudo if each.has_pseudo_class(name)],
        )
        for each in node.css_path_nodes
    ]


def _asked_by(rules: Iterable[RuleSet]) -> tuple[frozenset[str], tuple[str, ...]]:
    """Return the ids, classes and types, and the pseudo classes, that selectors of these rules ask for."""
    selectors = [
        selector for rule in rules for alternative in rule.selector_set for selector in alternative.selectors
    ]
    named = frozenset({"-textual-system", *(selector.name for selector in selectors)})
    return named, tuple({name for selector in selectors for name in selector.pseudo_classes})


def parse_once() -> None:
    """Have all apps of this process share what was parsed."""
    Stylesheet._parse_rules = _parse_once  # type: ignore[assignment, method-assign]
    Stylesheet._process_component_classes = _style_changed_components  # type: ignore[assignment, method-assign]
    RuleSet.__hash__ = object.__hash__  # type: ignore[method-assign]  # identity as before, in C
