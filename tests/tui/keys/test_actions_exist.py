"""Textual runs an action that nobody has without a word: every one that is named in code has its method."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from textual.actions import parse

import tui
from tui.app import AgentTuiApp
from tui.keys.keymap import APP, SCOPES, catalogue
from tui.live.screen import LiveScreen

FOLDER = Path(tui.__file__).parent
CALLS = ("do", "run_action")


def named(path: Path) -> Iterator[str]:
    """Yield the actions that a module has the program or a screen do: ``host.do("app.leave")``."""
    text = path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text if any(f".{name}(" in text for name in CALLS) else "")):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CALLS:
            owner = ast.unparse(node.func.value)
            for argument in node.args[:1]:
                if isinstance(argument, ast.Constant) and not owner.endswith("acts"):
                    yield str(argument.value)


@cache
def methods(folder: Path) -> set[str]:
    """Return the names of all methods that the modules of a folder, and those beside the screens, declare."""
    paths = (*folder.glob("*.py"), *(FOLDER / "live").glob("*.py"), *(FOLDER / "forms").glob("*.py"))
    return {name for path in paths for name in re.findall(r"def (\w+)\(", path.read_text(encoding="utf-8"))}


def test_every_action_that_is_named_in_code_has_its_method() -> None:
    missing, count = [], 0
    for path in sorted(FOLDER.rglob("*.py")):
        own = methods(path.parent)
        for action in named(path):
            count += 1
            namespace, name, _ = parse(action)
            has_it = hasattr(AgentTuiApp, f"action_{name}") if namespace == "app" else f"action_{name}" in own
            if not has_it:
                missing.append(f"{path.relative_to(FOLDER)}: {action}")
    assert count > 10
    assert missing == []


def test_every_key_has_an_action_that_there_is() -> None:
    missing = []
    for entry in catalogue():
        owner = AgentTuiApp if entry.scope == APP else SCOPES[entry.scope][0]
        namespace, name, _ = parse(entry.action)
        target = {"app": AgentTuiApp, "screen": LiveScreen}.get(namespace, owner)
        if not hasattr(target, f"action_{name}"):
            missing.append(f"{entry.id}: {entry.action}")
    assert missing == []
