"""A server of tools (MCP) in plain Python, that does what it should and everything it should not.

As a program it speaks over its input and output: ``python mcp_server.py [MODE]``. ``answer`` is
the same as a function, for a server over HTTP.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

LARGE_CHARACTERS = 3_000_000
_NO_ARGUMENTS = {"type": "object", "properties": {}}
_TOOLS: list[dict[str, Any]] = [
    {
        "name": "add",
        "description": "Adds two numbers.\x1b[31m\u202e",
        "inputSchema": {
            "type": "object",
            "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
            "required": ["a", "b"],
        },
    },
    *({"name": name, "inputSchema": _NO_ARGUMENTS} for name in ("look", "fail", "die", "hang", "large")),
    *({"name": name, "inputSchema": _NO_ARGUMENTS} for name in ("flood", "family", "environment", "picture")),
    *(
        {"name": name, "inputSchema": _NO_ARGUMENTS, "annotations": {"readOnlyHint": True}}
        for name in ("working", "photo", "links", "many-photos")
    ),
    *({"name": name, "inputSchema": _NO_ARGUMENTS} for name in ("question", "two-questions", "deep")),
]
_RUDE_TOOLS: list[dict[str, Any]] = [
    {"name": "a name; rm -rf", "inputSchema": _NO_ARGUMENTS},
    {"name": "x" * 80, "inputSchema": _NO_ARGUMENTS},
    {"name": "x" * 90, "inputSchema": _NO_ARGUMENTS},
    {"name": "look.up", "inputSchema": _NO_ARGUMENTS},
    {"name": "look/up", "inputSchema": _NO_ARGUMENTS},
    {"name": "look_up", "inputSchema": _NO_ARGUMENTS},
    {"name": "\x1b]0;title\x07", "inputSchema": _NO_ARGUMENTS},
    {"name": "wrong", "inputSchema": {"type": "object", "properties": {"a": {"type": "no such type"}}}},
    {"name": "wide", "inputSchema": {"type": "object", "description": "x" * 30_000}},
    {
        "name": "slow",
        "inputSchema": {
            "type": "object",
            "properties": {
                "text": {"type": "string", "pattern": "^(a+)+$"},
                "far": {"$ref": "http://127.0.0.1:9/schema.json"},
                "round": {"$ref": "#"},
            },
        },
    },
    {"name": "slow", "inputSchema": _NO_ARGUMENTS},
    {"name": "typeless", "inputSchema": {"$ref": "#/x"}},
    {"name": 7, "inputSchema": _NO_ARGUMENTS},
    {"name": "long", "description": "y" * 50_000, "inputSchema": _NO_ARGUMENTS},
    {"name": "noted", "description": "Notes.", "inputSchema": _NO_ARGUMENTS, "annotations": 5},
    {"name": "shaped", "inputSchema": _NO_ARGUMENTS, "outputSchema": {"type": 5}},
    {"name": "mute", "description": 5, "inputSchema": _NO_ARGUMENTS},
]
# A picture of one dot.
PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_RESOURCES: dict[str, dict[str, str]] = {
    "file:///notes": {"text": "tea at four", "mimeType": "text/plain"},
    "file:///dot": {"blob": PNG, "mimeType": "image/png"},
    "file:///packed": {"blob": "AAAA", "mimeType": "application/zip"},
}
_SHOWN: dict[str, list[dict[str, Any]]] = {
    "picture": [{"type": "image", "data": "AAAA", "mimeType": "image/png"}, {"type": "text", "text": "seen"}],
    "photo": [{"type": "text", "text": "a dot:"}, {"type": "image", "data": PNG, "mimeType": "text/odd"}],
    "deep": [{"type": "text", "text": "x", "_meta": json.loads('{"a":' * 300 + "1" + "}" * 300)}],
    "many-photos": [{"type": "image", "data": PNG, "mimeType": "image/png"}] * 9,
    "links": [
        *(
            {"type": "resource_link", "name": uri.removeprefix("file:///"), "uri": uri}
            for uri in (*_RESOURCES, "file:///gone")
        ),
        {"type": "resource", "resource": {"uri": "file:///within", "text": "inside"}},
    ],
}
_progress: dict[str, Any] = {}  # the newest call's token
_learned: list[str] = []  # the tools that mode "grows" has besides its first
_lists = [0]  # how often its tools were requested


def answer(message: dict[str, Any], mode: str = "") -> dict[str, Any] | None:
    """Return the answer to a JSON-RPC message, None for one that needs none."""
    if "id" not in message:
        return None
    method, params = message.get("method"), message.get("params") or {}
    if method == "initialize":
        result: dict[str, Any] = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "1"},
        }
    elif method == "tools/list":
        wrong = [{"name": "list", "inputSchema": {"type": "array"}}]
        many = [{"name": f"tool-{number}", "inputSchema": _NO_ARGUMENTS} for number in range(1_000)]
        large = {"type": "object", "description": "x" * 19_000}
        heavy = [{"name": f"tool-{number}", "inputSchema": large} for number in range(100)]
        grown = [{"name": name, "inputSchema": _NO_ARGUMENTS} for name in ("grow", *_learned)]
        count = [{"name": "count", "inputSchema": _NO_ARGUMENTS}]
        lists = {
            "restless": count,
            "grows": grown,
            "rude": _RUDE_TOOLS,
            "wrong": wrong,
            "many": many,
            "heavy": heavy,
        }
        result = {"tools": lists.get(mode, _TOOLS)}
        _lists[0] += 1
        if mode == "restless":
            _tell_of_change()
    elif method == "tools/call":
        _progress.update(params.get("_meta") or {})
        is_restless = mode == "restless"
        counted = _text(f"listed {_lists[0]} times")
        result = counted if is_restless else _call(params["name"], params.get("arguments") or {})
    elif method == "resources/read" and params["uri"] in _RESOURCES:
        result = {"contents": [{"uri": params["uri"], **_RESOURCES[params["uri"]]}]}
    else:
        error = {"code": -32601, "message": "there is no such method"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _tell_of_change() -> None:
    sys.stdout.write('{"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}\n')


def _tell_progress(done: int, total: int, message: str) -> None:
    params = {
        "progressToken": _progress.get("progressToken"),
        "progress": done,
        "total": total,
        "message": message,
    }
    told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": params}
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


def _wait_until_written(path: str) -> None:
    """Return once somebody has written the file, as which there is a pipe meanwhile."""
    with suppress(FileExistsError):
        os.mkfifo(path)
    Path(path).read_bytes()


def _worked() -> dict[str, Any]:
    """Tell of three stages; each goes on once its file was written."""
    for done in (1, 2, 3):
        _tell_progress(done, 3, f"stage {done}\x1b[2J\u202e")
        _wait_until_written(f"{os.environ['GO_ON']}{done}")
    return _text("worked")


def _asked(questions: int, params: dict[str, Any]) -> dict[str, Any]:
    """Ask the person, wait for the answers, return them; a file gets them, too, for who waits in vain."""
    for number in range(questions):
        asks = {"jsonrpc": "2.0", "id": f"ask-{number}", "method": "elicitation/create", "params": params}
        sys.stdout.write(json.dumps(asks) + "\n")
    sys.stdout.flush()
    answers: dict[str, Any] = {}
    while len(answers) < questions:
        said = json.loads(sys.stdin.readline())
        if "result" in said or "error" in said:
            answers[said["id"]] = said.get("result") or said["error"]
    told = json.dumps([answers[name] for name in sorted(answers)])
    if "ANSWERED" in os.environ:
        Path(os.environ["ANSWERED"]).write_text(told, encoding="utf-8")
    return _text(told)


def _call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    match name:
        case "question":
            return _asked(1, arguments)
        case "two-questions":
            return _asked(2, arguments)
        case "add":
            return _text(str(arguments["a"] + arguments["b"]))
        case "fail":
            sys.stderr.write("the tray is empty\n")
            sys.stderr.flush()
            return {**_text("there is no more paper\x1b[2J"), "isError": True}
        case "die":
            sys.stderr.write(arguments.get("words", "one line\nout of memory\x1b[2J\n"))
            sys.stderr.flush()
            os._exit(3)
        case "hang":
            signal.pause()
        case "large":
            return _text("z" * LARGE_CHARACTERS)
        case "flood":
            while True:
                sys.stdout.write("x" * 65_536)
        case "family":
            child = subprocess.Popen(["/bin/sh", "-c", "sleep 600 & echo $!; wait"], stdout=subprocess.PIPE)
            assert child.stdout is not None
            return _text(f"{os.getpid()} {child.pid} {child.stdout.readline().decode().strip()}")
        case "grow":
            _learned.append(f"learned-{len(_learned)}")
            _tell_of_change()
            return _text("grown")
        case "environment":
            return _text(json.dumps(dict(os.environ)))
        case "working":
            return _worked()
        case "picture" | "photo" | "many-photos" | "links" | "deep":
            return {"content": _SHOWN[name]}
        case "look" | "slow":
            return _text("looked")
        case _:
            return _text(f"this is {name}")
    return _text("woke up")


def _text(text: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def main(mode: str) -> None:
    """Serve until the input ends; ``late`` begins once a file was written, ``silent`` never answers, ``dies``
    ends at once with a word, ``deaf`` stays whoever asks it to end.
    """
    if mode == "dies":
        sys.stderr.write("no such database\n")
        sys.exit(4)
    if mode == "late":
        _wait_until_written(os.environ["GO_ON"])
    if mode == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    sys.stdout.write("a line that is not a message\n")
    for line in sys.stdin:
        if mode != "silent" and (said := answer(json.loads(line), mode)) is not None:
            sys.stdout.write(json.dumps(said) + "\n")
            sys.stdout.flush()
    if mode == "deaf":
        signal.pause()


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
