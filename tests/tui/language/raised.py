"""What is said in English below the screens: titles and details of errors, and what ``localised`` is given.

Found by walking the code: the words of an error are followed through names, constants, conditions and the
parameters of functions to the literals that they come from. An f-string is a pattern with named places.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

import agent_tui
import tui
from agent_tui.model import errors
from tui.screens.localised import parts_of

ROOTS: Final = [Path(str(package.__file__)).parent for package in (agent_tui, tui)]
OWN_WAY: Final = (
    "words.py",
    "setup_words.py",
    "declared.py",
    "pages.py",
)  # translated otherwise
RAISED: Final = {name for name, one in vars(errors).items() if isinstance(one, type)} | {"not_written"}
SAYS: Final = {
    "localised": slice(0, 1),
    "tell": slice(0, 1),
    "complain": slice(0, 1),
    "Ending": slice(1, 2),
    "print_one": slice(0, 1),
    "check": slice(1, 3),
    "Reason": slice(1, 3),  # of a voice session that ended
    "LinkMoved": slice(1, 2),
    "_SERVER": slice(1, 3),
    "_TOKEN": slice(1, 3),
    "SoundCheck": slice(0, 1),
    "listed": slice(2, 3),
    "UnknownKey": slice(0, 1),
    "ToolError": slice(0, 1),
    "problem": slice(1, 3),
    "CallDenied": slice(0, 1),
    "_Refusal": slice(0, 1),
    "failed": slice(0, 1),
    "_remark": slice(1, 2),
    "replace": slice(0, 0),
}  # which arguments are words
OTHERS: Final = (  # words of the system, and states
    "No such file or directory",
    "Permission denied",
    "Connection refused",
    "Connection reset by peer",
    "LLM stream failed",
    "API Error",
    "The model failed: {why}.",
    "Hearing failed: {why}.",
    "The voice failed: {why}.",
    "The agent failed: {why}.",
    "The agent did not say what failed.",
    "the call was cancelled",
    "Is a directory",
    "Not a directory",
    "No space left on device",
    "frame with {size} bytes exceeds limit of {most} bytes",
    "Read-only file system",
    "File exists",
    "Address already in use",
    "Cannot assign requested address",
    "No such option: {name}",
    "No such command '{name}'",
    "No such command '{name}'. Did you mean {suggestions}?",
    "No such option: {name} (Possible options: {possibilities})",
    "{name} is missing",
    "needs a value",
    "takes no value",
    "not together with {option}",
    "unknown setting, ignored",
    "true or false",
    "the name of a theme",
    "one of {choices}",
    "from {least} to {most}",
    "unexpected argument '{given}'",
    "must be a whole number",
    "must be a number",
    "must be at least {least}",
    "Missing command",
    'there is no room "{shown}"',
    'there is no conversation "{shown}"',
    "user",
    "assistant",
    "'{given}' is not one of {choices}",
    "known: {names}",
    "failed",
    "room",
    "rooms",
    "chat",
    "chats",
    "conversation",
    "conversations",
    "answer",
    "question",
    "server",
    "message",
    "TOOL",
    "PERMISSION",
    "FROM",
    "ALLOWED",
    "IN",
    "HOLDS FOR",
    "SINCE",
    "pausing",
    "resuming",
    "searching",
    "questions",
    "summaries",
    "stored messages",
    "following a conversation",
    "idle",
    "running",
    "paused",
    "completed",
    "error",
)
NAMES: Final = ("backspace", "enter", "escape", "tab", "ID", "PortAudio", "WSL", "id", "tmux")
COMMAND: Final = re.compile(  # to be typed as it is, and names of settings
    r".*%s.*|--[a-z-]+ \{\w+\}|(\{program\}|agent-tui)( [a-z]+){2}|export \S+( -u\))?|source .*|fpath.*"
    r"|tmux show -s|(calculator|current_time) \{\w+\}|livekit-agents .*|[\w.]+\.\{\w+\}(\.\w+)*|\w+\{\w+\}"
    r"|https?://\S*|[/#_].*|Value error,|\{ones\}.*|\S+/\S+|an exception"
    r"|voice setup|\[voice\] \w+|keys\.\{id\}: \{complaint\}"
    r"|agent-tui: \{line\}|What rooms are running.*|\{path\}: agents.*|\[called .*|\S*-\{\w+\}"
)
MOST_LINES: Final = 3  # a longer text is a script or a page
LETTERS: Final = 4  # of a text with places: with fewer it would be found everywhere
GATHERED: Final = ("warnings", "problems", "complaints")  # lists of lines that are said
GATHERS: Final = (  # functions that return such a list, or a line about a form of an MCP server
    *("_missing_variables", "_idle_patterns", "_complaint", "bounds", "_amount", "_missing", "how_it_ended"),
    *("_check_text", "_check_number", "_check_boolean", "_check_choice", "_check_choices"),
)
Function = ast.FunctionDef | ast.AsyncFunctionDef
Place = tuple[str, str]  # of a function and one of its parameters


class Module:
    """A file: all its nodes, and in which function each of them is."""

    def __init__(self, path: Path) -> None:
        self.nodes: list[ast.AST] = []
        self.around: dict[ast.AST, Function] = {}
        self._take(ast.parse(path.read_text(encoding="utf-8")), None)

    def _take(self, node: ast.AST, function: Function | None) -> None:
        function = node if isinstance(node, Function) else function
        self.nodes.append(node)
        if function is not None:
            self.around[node] = function
        for child in ast.iter_child_nodes(node):
            if not isinstance(child, ast.expr_context | ast.operator):
                self._take(child, function)


class Walk:
    """All files, and the literals that were found to be said."""

    def __init__(self) -> None:
        self.modules = [
            Module(path) for root in ROOTS for path in sorted(root.rglob("*.py")) if path.name not in OWN_WAY
        ]
        self.constants: dict[str, list[ast.expr]] = defaultdict(list)
        self.functions: dict[str, list[tuple[Module, Function]]] = defaultdict(list)
        self.calls: dict[str, list[tuple[Module, ast.Call]]] = defaultdict(list)
        for module in self.modules:
            self._index(module)
        del self.constants["ENGLISH"]  # texts of screens are translated by their keys
        self.places: list[Place] = []
        self.may_be_words = False  # single words are said, too
        self.seen: set[tuple[int, str]] = set()
        self.found: dict[str, None] = {}

    def _index(self, module: Module) -> None:
        for node in module.nodes:
            if isinstance(node, Function):
                self.functions[node.name].append((module, node))
            elif isinstance(node, ast.Call):
                self.calls[_name(node.func)].append((module, node))
            elif isinstance(node, ast.Assign | ast.AnnAssign) and node not in module.around and node.value:
                for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                    self.constants[_name(target)].append(node.value)

    def patterns(self) -> list[str]:
        """Return every text that is said, each once; those with places have names in braces there."""
        for name in sorted(RAISED | SAYS.keys() | self._raised_here()):
            for module, call in self.calls[name]:
                self.may_be_words = name in SAYS
                given = call.args[SAYS.get(name, slice(0, 2))]
                for words in [*given, *(one.value for one in call.keywords if one.arg in WORDS)]:
                    self._said(module, call, words)
        self.may_be_words = False
        for module in self.modules:
            self._gathered(module)
        for name in GATHERS:
            self._returned(name)
        self.may_be_words = True
        for module in self.modules:
            self._labelled(module)
        self.may_be_words = False
        for function, parameter in self.places:  # which grows
            self._given(function, parameter)
        return sorted(self.found | dict.fromkeys(OTHERS))

    def _gathered(self, module: Module) -> None:
        """Keep what is added to a list of ``GATHERED`` lines, and what a part of voice is and is for."""
        for node in module.nodes:
            match node:
                case ast.Call(func=ast.Attribute(value=value, attr="append"), args=[words]) if (
                    _name(value).lstrip("_") in GATHERED
                ):
                    self._said(module, node, words)
                case ast.Call(func=ast.Name(id="VoicePart"), args=[_, what, licence, _, _, _, without]):
                    for words in (what, licence, without):
                        self._said(module, node, words)
                case ast.Call(func=ast.Attribute(attr="get"), args=[_, otherwise]):
                    self._said(module, node, otherwise)  # what is said of what a table lacks
                case ast.Call(func=ast.Name(id="wrong_field"), args=[_, ast.Constant(value=str(text))]):
                    self._keep(f"{{name}} {text}")
                case ast.AugAssign(target=target, value=words) if _name(target).lstrip("_") in GATHERED:
                    self._said(module, node, words)
                case _:
                    pass

    def _labelled(self, module: Module) -> None:
        """Keep the headings of tables, ``HEAD``, the labels of ``facts``, and the titles of checks."""
        for node in module.nodes:
            match node:
                case ast.Assign(targets=[ast.Name(id="facts")], value=ast.List(elts=rows)):
                    for row in rows:
                        if isinstance(row, ast.Tuple):
                            self._said(module, node, row.elts[0])
                case (
                    ast.Assign(value=value, targets=[ast.Name(id="HEAD")])
                    | ast.AnnAssign(target=ast.Name(id="HEAD"), value=ast.expr() as value)
                ):
                    self._said(module, node, value)
                case ast.Call(func=ast.Name(id="partial"), args=[ast.Name(id="Check"), _, title]):
                    self._said(module, node, title)
                case _:
                    pass

    def _raised_here(self) -> set[str]:
        classes = [node for one in self.modules for node in one.nodes if isinstance(node, ast.ClassDef)]
        known = set(RAISED)
        for _ in range(3):
            known |= {one.name for one in classes if known & {_name(base) for base in one.bases}}
        return known - {"NotGiven"}

    def _said(self, module: Module, near: ast.AST, words: ast.expr) -> None:
        """Keep the literals that an expression may be."""
        if (id(words), "") in self.seen:
            return
        self.seen.add((id(words), ""))
        match words:
            case ast.Constant(value=str(text)):
                self._keep(text)
            case ast.JoinedStr() | ast.BinOp():
                self._keep(_pattern(words))
                for part in ast.walk(words):
                    if isinstance(part, ast.FormattedValue):
                        self._said(module, near, part.value)
            case ast.IfExp(body=body, orelse=orelse):
                self._said(module, near, body)
                self._said(module, near, orelse)
            case (
                ast.BoolOp(values=values)
                | ast.Dict(values=values)
                | ast.Tuple(elts=values)
                | ast.List(elts=values)
            ):
                for value in values:
                    self._said(module, near, value)
            case ast.ListComp(elt=value) | ast.GeneratorExp(elt=value):
                self._said(module, near, value)
            case ast.Starred(value=value) | ast.Subscript(value=value) | ast.NamedExpr(value=value):
                self._said(module, near, value)
            case ast.Name(id=name):
                self._named(module, near, name)
            case ast.Attribute(attr=name) if name.isupper():
                self._constant(module, near, name)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                self._held(module, near, name)
            case ast.Call(func=ast.Attribute(value=value, attr="format" | "get" | "rstrip")):
                self._said(module, near, value)
            case ast.Call(func=func):
                self._returned(_name(func))
            case _:
                pass

    def _constant(self, module: Module, near: ast.AST, name: str) -> None:
        for value in self.constants[name]:
            self._said(module, near, value)

    def _named(self, module: Module, near: ast.AST, name: str) -> None:
        if name.isupper() or name.lstrip("_").isupper():
            return self._constant(module, near, name)
        function = module.around.get(near)
        if function is None:
            return None
        for node in ast.walk(function):
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        if _name(target) == name:
                            self._said(module, near, value)
                        elif isinstance(target, ast.Tuple) and name in map(_name, target.elts):
                            self._one_of(module, near, value, [_name(one) for one in target.elts].index(name))
                case ast.AnnAssign(target=target, value=ast.expr() as value) if _name(target) == name:
                    self._said(module, near, value)
                case ast.NamedExpr(target=target, value=value) if target.id == name:
                    self._said(module, near, value)
                case _:
                    pass
        place = (function.name, name)
        if name in [one.arg for one in _parameters(function)] and place not in self.places:
            self.places.append(place)
        return None

    def _held(self, module: Module, near: ast.AST, name: str) -> None:
        """Keep what is assigned to an attribute in this file, and what a property returns."""
        for node in module.nodes:
            match node:
                case ast.Assign(targets=[ast.Attribute(attr=attribute), *_], value=value) if (
                    attribute == name
                ):
                    self._said(module, node, value)
                case ast.FunctionDef(name=function) if function == name and _is_text(node):
                    for part in ast.walk(node):
                        if isinstance(part, ast.Return) and part.value is not None:
                            self._said(module, part, part.value)
                case _:
                    pass

    def _one_of(self, module: Module, near: ast.AST, value: ast.expr, number: int) -> None:
        if isinstance(value, ast.Tuple) and number < len(value.elts):
            self._said(module, near, value.elts[number])
        elif isinstance(value, ast.IfExp):
            self._one_of(module, near, value.body, number)
            self._one_of(module, near, value.orelse, number)
        elif isinstance(value, ast.Call | ast.Subscript):
            self._said(module, near, value)

    def _returned(self, name: str) -> None:
        for module, function in self.functions[name]:
            if len(self.functions[name]) <= SAME_NAME_AT_MOST and _is_text(function):
                for node in ast.walk(function):
                    if isinstance(node, ast.Return | ast.Yield) and node.value is not None:
                        self._said(module, node, node.value)

    def _given(self, name: str, parameter: str) -> None:
        """Keep what is passed for a parameter, wherever a function of this name is called."""
        if name == "__init__" or len(self.functions[name]) > 2 * SAME_NAME_AT_MOST:
            return
        for _, function in self.functions[name]:
            names = [one.arg for one in _parameters(function) if one.arg not in ("self", "cls")]
            for module, call in self.calls[name]:
                given = {one.arg: one.value for one in call.keywords}
                if parameter in names and names.index(parameter) < len(call.args):
                    given[parameter] = call.args[names.index(parameter)]
                if parameter in given:
                    self._said(module, call, given[parameter])

    def _keep(self, text: str) -> None:
        for line in text.split("\n") if text.count("\n") <= MOST_LINES else ():
            words, is_pattern = line.strip(), "{" in line
            letters = "".join(literal for literal, _ in parts_of(words)) if is_pattern else words
            is_word = self.may_be_words and words.isalpha() and words not in NAMES
            is_said = (is_word or " " in words or is_pattern) and not COMMAND.fullmatch(words)
            if is_said and len(re.findall("[a-zA-Z]", letters)) >= (LETTERS if is_pattern else 2):
                self.found[words] = None


WORDS: Final = (
    "title",
    "detail",
    "advice",
    "text",
    "what",
    "helps",
    "fix",
    "found",
    "problem",
    "wanted",
    "bounds",
)
SAME_NAME_AT_MOST: Final = 3  # functions of one name: with more it says nothing of who is called


def _parameters(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _is_text(function: Function) -> bool:
    returns = ast.unparse(function.returns) if function.returns else ""
    return "str" in returns


def _name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _pattern(node: ast.expr) -> str:
    """Return an f-string, or a sum of literals, as a text with names in braces."""
    names: dict[str, int] = {}

    def made(part: ast.expr) -> Iterator[str]:
        match part:
            case ast.JoinedStr(values=values):
                for value in values:
                    yield from made(value)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield from made(left)
                yield from made(right)
            case ast.Constant(value=str(text)):
                yield text
            case _:
                yield "{" + _numbered(names, _called(part)) + "}"

    return "".join(made(node))


def _numbered(names: dict[str, int], name: str) -> str:
    names[name] = names.get(name, 0) + 1
    return name if names[name] == 1 else f"{name}{names[name]}"


def _called(node: ast.AST) -> str:
    """Return a name for what stands at a place of an f-string."""
    while isinstance(node, ast.FormattedValue | ast.Call) and (
        isinstance(node, ast.FormattedValue) or node.args
    ):
        node = node.value if isinstance(node, ast.FormattedValue) else node.args[0]
    words = [_name(one) for one in ast.walk(node) if _name(one).lstrip("_")]
    return words[0].strip("_").lower() if words else "value"


@cache
def raised() -> list[str]:
    """Return every text that errors and ``localised`` have, in order."""
    unique: dict[tuple[str, ...], str] = {}
    for text in Walk().patterns():
        unique.setdefault(tuple(literal for literal, _ in parts_of(text)), text)
    return list(unique.values())
