"""How ``widgets`` and ``tui`` are put together: of parts, with Textual's private parts behind one folder."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import tui
import widgets

ROOT = Path(widgets.__file__).parent.parent
MOST_METHODS = 40
MOST_MODULES = 20  # of a folder


OURS = ("tui.", "widgets.")
MOST_CLASSES = 2  # of ours, in one chain


def classes_of_ours() -> list[type]:
    names = [
        module.name
        for root in (tui, widgets)
        for module in walk_packages(root.__path__, f"{root.__name__}.")
        if not module.name.endswith("__main__")
    ]
    return [
        found
        for module in map(import_module, names)
        for found in vars(module).values()
        if inspect.isclass(found) and found.__module__ == module.__name__
    ]


def chain_of(class_: type) -> list[type]:
    """Return a class and those of ours it inherits from."""
    return [one for one in class_.__mro__ if one.__module__.startswith(OURS)]


def methods_of(class_: type) -> list[str]:
    """Return every ``def`` in a class and those of ours it inherits from; what is overridden counts twice."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [
        node.name
        for one in chain_of(class_)
        for node in ast.walk(classes_in(Path(inspect.getfile(one)).relative_to(ROOT))[one.__qualname__])
        if isinstance(node, kinds)
    ]


@cache
def classes_in(path: Path) -> dict[str, ast.ClassDef]:
    return {node.name: node for node in sources()[path].body if isinstance(node, ast.ClassDef)}


def test_a_class_inherits_at_most_once_and_has_at_most_forty_methods_in_all() -> None:
    found = classes_of_ours()
    assert len(found) > 100
    assert [class_ for class_ in found if len(chain_of(class_)) > MOST_CLASSES] == []
    assert [class_ for class_ in found if len(methods_of(class_)) > MOST_METHODS] == []


@pytest.mark.parametrize("root", ["agent_tui", "tui", "widgets"])
def test_a_folder_holds_about_twenty_modules(root: str) -> None:
    modules = Counter(path.parent.relative_to(ROOT) for path in (ROOT / root).rglob("[!_]*.py"))
    assert {folder: count for folder, count in modules.items() if count > MOST_MODULES} == {}


# --- Textual's private parts ---


@cache
def sources() -> dict[Path, ast.Module]:
    paths = [path for root in (tui, widgets) for path in Path(next(iter(root.__path__))).rglob("*.py")]
    return {path.relative_to(ROOT): ast.parse(path.read_text()) for path in paths}


PUBLIC = ("_replace", "_asdict")  # the methods of every named tuple


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name not in PUBLIC


def names_of_ours(tree: ast.Module) -> Iterator[str]:
    """Yield every name that a module gives to something, attributes too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id in ("self", "cls")
        ):
            yield node.attr


def private_parts(tree: ast.Module, ours: set[str]) -> Iterator[str]:
    """Yield what a module names of others that begins with an underscore."""
    modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual"):
            names = [*(node.module or "").split("."), *(alias.name for alias in node.names)]
            yield from filter(is_private, names)
        elif isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in ours:
            if not (isinstance(node.value, ast.Name) and node.value.id in modules):  # os._exit
                yield node.attr
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr":
            name = node.args[1]
            if isinstance(name, ast.Constant) and name.value not in ours and str(name.value).startswith("_"):
                yield str(name.value)


def test_only_the_folder_of_the_terminal_names_private_parts_of_textual() -> None:
    trees = sources()
    ours = {name for tree in trees.values() for name in names_of_ours(tree)}
    found = {
        (str(path), name)
        for path, tree in trees.items()
        if path.parts[:2] != ("widgets", "terminal")
        for name in private_parts(tree, ours)
    }
    assert found == {  # with the reasons there
        ("widgets/painter.py", "_link_id"),  # Rich's
        ("widgets/markdown/highlight.py", "_tokens"),  # Pygments'
    }


def test_no_class_overrides_a_private_method_of_textual() -> None:
    for root in (tui, widgets):
        for module in walk_packages(root.__path__, f"{root.__name__}."):
            if module.name.startswith("widgets.terminal.") or module.name.endswith("__main__"):
                continue
            for found in vars(import_module(module.name)).values():
                if not inspect.isclass(found) or found.__module__ != module.name:
                    continue
                textuals = [one for one in found.__mro__ if one.__module__.startswith("textual")]
                own = {name for name, value in vars(found).items() if inspect.isfunction(value)}
                theirs = {name for one in textuals for name in vars(one)}
                assert not list(filter(is_private, own & theirs)), found
