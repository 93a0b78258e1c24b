"""Whatever a server of chats sends, wherever it is shown: the terminal gets only what this program writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.servers.chat_server import Event, LogChatServer
from tests.fakes.servers.http_server import Request, Responder, answers_json
from tests.fakes.servers.rooms_server import in_thread
from tests.fakes.terminal import Terminal, terminal
from tests.tui.programs import PROGRAM, Home, home_at
from tests.tui.test_hostile_terminal import COPIED, LINKS, NASTY, all_of, back, hostile_in, marked, refuses

pytestmark = pytest.mark.slow

FENCES = (
    f"````\n```\n~~~\n{NASTY}\n```\n    {NASTY}\n| a | b |\n|---|---|\n| {NASTY} | ![x](http://e\x1b\\) |\n"
)
ROWS = json.dumps([{NASTY: marked("cell", 9), "n": NASTY}] * 3)
HOME, END, PAGE_DOWN = "\x1b[H", "\x1b[F", "\x1b[6~"


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with home_at(tmp_path) as opened:
        yield opened


def step(number: int, type_: str, **fields: str) -> dict[str, Any]:
    return {"id": f"step-{number}", "index": number, "type": type_, **fields}


def written(**fields: str) -> str:
    """Return arguments as a model writes them: the signs escaped, as JSON has them, and as they are."""
    return json.dumps(fields)[:-1] + f', "raw": "{NASTY}"' + "}"


def stored_answer() -> dict[str, Any]:
    """Return an answer in which every text of every kind of step is hostile."""
    steps = [
        step(0, "thinking", content=marked("thought")),
        step(1, "tool_call", name=marked("tool", 9), arguments=written(command=marked("command"))),
        step(2, "tool_result", id_ref="step-1", name=NASTY, content=marked("result")),
        step(3, "tool_call", name=NASTY, arguments=NASTY * 9),
        step(
            4,
            "tool_result",
            id_ref="step-3",
            content=json.dumps({"success": False, "error": marked("bad", 9)}),
        ),
        step(5, "tool_call", name="table", arguments=json.dumps({NASTY: NASTY})),
        step(6, "tool_result", id_ref="step-5", content=ROWS),
        step(7, "tool_result", id_ref=NASTY, name=NASTY, content=FENCES),
        step(8, NASTY, name=marked("kind", 9), content=marked("odd")),
        step(9, "text", content=LINKS + FENCES),
    ]
    calls = {"step-1": {"status": NASTY, "seconds": 1e300}, "step-3": {"status": "unknown"}}
    return {
        "id": f"a{NASTY}",
        "role": "assistant",
        "content": json.dumps({"text": NASTY, "steps": steps}),
        "parent_id": "q1",
        "model": marked("speaker", 9),
        "versions": [f"a{NASTY}", NASTY],
        "error": marked("error", 9),
        "calls": calls,
    }


def stored_question(id_: str, parent_id: str) -> dict[str, Any]:
    files = [{"name": marked("file", 9), "type": NASTY, "content": FENCES}]
    content = json.dumps({"text": marked("question", 9), "attachments": files})
    return {"id": id_, "role": "user", "content": content, "parent_id": parent_id}


def cut_answer() -> dict[str, Any]:
    content = json.dumps({"text": "So", "steps": [step(0, "text", content="So")]})
    about = {"id": "a2", "role": "assistant", "content": content, "model": NASTY, "parent_id": "q2"}
    return {**about, "interrupted": marked("why", 9)}


def live_answer() -> list[Event]:
    """Return an answer up to where its tool asks."""
    call = step(1, "tool_call", name=marked("asker", 9), arguments=written(path=marked("path")))
    diff = f"--- {NASTY}\n+++ {NASTY}\n@@ -1 +1 @@\n-{marked('old', 9)}\n+{marked('new', 3000)}\n```\n{NASTY}"
    ask = {
        "call": marked("call", 9),
        "preview": diff,
        "preview_type": "diff",
        "pattern": marked("pattern", 9),
    }
    return [
        (
            "answer_started",
            {"message_id": "live", "parent_id": "q3", "model": marked("live", 9), "attempt": 1},
        ),
        ("process_step", {"step": step(0, "thinking", content="")}),
        *[("process_step_delta", {"id": "step-0", "content": letter}) for letter in marked("grows", 9)],
        ("process_step", {"step": call}),
        ("tool_status", {"id": "step-1", "status": "asks", "ask": ask}),
        (NASTY.split("\x1b")[0] or "odd", {"x": NASTY}),
    ]


def rest_of_it() -> list[Event]:
    """Return how the answer goes on once somebody decided, and ends."""
    result = step(2, "tool_result", id_ref="step-1", name=NASTY, content=marked("outcome"))
    ended = {"message_id": "live", "error": marked("broken", 9), "interrupted": "", "token_count": 1}
    return [
        ("tool_status", {"id": "step-1", "status": "failed", "seconds": -1}),
        ("process_step", {"step": {**result, "success": False}}),
        ("process_step", {"step": step(3, "text", content=LINKS + FENCES + marked("said", 9))}),
        ("answer_ended", ended),
        ("error", {"content": marked("broken", 9)}),
    ]


class HostileChatServer(LogChatServer):
    """Has chats of hostile texts, one with an answer under way that asks, and refuses every change."""

    def __init__(self, *, is_live: bool = True) -> None:
        super().__init__()
        self.fields = {"title": marked("title"), "model": marked("model", 9), "provider_id": marked("far", 9)}
        self.fields |= {"system_prompt": marked("prompt"), "workspace": f"/{NASTY}", "created_at": NASTY}
        self.fields |= {"enabled_tools": [NASTY, "near"], "status": "running" if is_live else "idle"}
        self.messages = [
            *[stored_question("q1", ""), stored_answer()],
            *[stored_question("q2", f"a{NASTY}"), cut_answer()],
            stored_question("q3", "a2"),
        ]
        self.publish(("message", self.messages[-1]))
        self.as_of = self.last_event_id
        if is_live:
            self.publish(*live_answer())

    def listed(self) -> Mapping[str, Any]:
        more: list[dict[str, Any]] = [
            {"error": marked("failed", 9)},
            {"interrupted": marked("reason", 9)},
            {"last_words": marked("words"), "cost": 1e300, "tokens": 10**18},
            {"archived": True, "asks": True},
        ]
        chats = [{**self.shown(), "status": "idle", "id": f"c{n + 2}", **each} for n, each in enumerate(more)]
        return {"conversations": [self.shown(), *chats]}

    def _calls(self, request: Request) -> Mapping[str, Callable[[], Responder]]:
        match request.method, request.path.removeprefix("/api/").split("/"):
            case "GET", ["conversations"]:
                return {"GET": lambda: answers_json(self.listed())}
            case "GET", ["search"]:
                hit = {"conversation_id": "c1", "title": marked("found"), "message_id": NASTY, "role": NASTY}
                hit |= {"snippet": f"{NASTY}\2[red]match[/]{NASTY}\3{marked('tail')}", "created_at": NASTY}
                return {"GET": lambda: answers_json({"hits": [hit] * 3})}
            case "GET", ["tools"]:
                tool = {"description": marked("about"), "permission": NASTY, "source": marked("source", 9)}
                tools = [
                    {**tool, "name": marked("offered", 9)},
                    {**tool, "name": "near", "permission": "ask"},
                ]
                return {"GET": lambda: answers_json({"tools": tools})}
            case "GET", ["providers"]:
                far = {"id": marked("far", 9), "name": marked("Far"), "kind": NASTY, "model": NASTY}
                return {"GET": lambda: answers_json({"providers": [far]})}
            case "GET", ["providers", *_]:
                return {"GET": lambda: answers_json({"models": [{"id": marked("big", 9)}]})}
            case "POST", ["conversations", _, "asks", *_]:
                self.publish(*rest_of_it())
                self.fields |= {"status": "idle"}
                return {"POST": lambda: refuses("too late", 400)}
            case ("POST" | "PATCH" | "DELETE") as method, [*_, last]:
                return {method: lambda: refuses(last)}
            case _:
                return super()._calls(request)


def look_at_the_chat(view: Terminal) -> None:
    """Answer what asks, then read all that was said and done before."""
    view.wait_for("[red]call[/]")
    view.wait_for("[red]title[/]")
    view.send("d")
    view.wait_for("esc back")
    view.wait_for("[red]old[/]")
    back(view, "esc back")

    view.send("d")
    view.wait_for("esc back")
    # What was not read to its end is not let run; and the same key alone, again and again, is a held one.
    view.press_until(PAGE_DOWN + "y", "[red]too late[/]")
    view.wait_for("[red]broken[/]")
    view.wait_for("[red]said[/]")
    view.send("\t")
    view.wait_for("F fold all")
    view.send("F")
    view.wait_for(lambda text: "▾" not in text)
    view.send(HOME)
    for words in ("question", "file", "thought", "tool", "kind", "error", "why"):
        view.wait_for(f"[red]{words}[/]")
    view.send("o")
    view.wait_for("esc back")
    view.send("y")
    view.wait_for("copied")
    back(view, "esc back")
    view.send("F")
    view.wait_for("▾")
    view.send(PAGE_DOWN * 60 + END)
    view.wait_for("[red]broken[/]")


def test_nothing_hostile_reaches_the_terminal_in_a_chat(home: Home) -> None:
    environ = {**home.environ, "COLORTERM": "truecolor", "SSH_CONNECTION": "1 2 3 4"}
    with (
        in_thread(HostileChatServer()) as server,
        terminal([*PROGRAM, "chat", "c1", "--url", server.url], environ, home.folder, rows=40) as view,
    ):
        look_at_the_chat(view)
        seen = all_of(view)
    assert hostile_in(COPIED.sub(b"", seen), bells=1) == ""
    assert b";https://good.example/path?q=1\x1b\\" in seen
    for target in (b"secret@", b"javascript:", b"file:"):
        assert target not in b"".join(part for part in seen.split(b"\x1b]8;")[1:] if target in part[:200])
    assert len(seen) < 3_000_000


def look_at_the_lists(view: Terminal) -> None:
    """Open what the list of chats and the commands of a chat can open, and have everything refused."""
    view.wait_for("[red]title[/]")
    view.send("/model \r")
    view.wait_for("[red]big[/]")
    back(view, "[red]big[/]")
    view.send("/title no\r")
    view.wait_for("[red]c1[/]")
    view.send("\x1b")
    view.wait_for("F fold all")
    view.send("\x1b")
    for word in ("failed", "reason", "words"):
        view.wait_for(f"[red]{word}[/]")
    view.send("A")
    view.wait_for("archived")
    view.send("R")
    view.wait_for("enter save")
    back(view, "enter save")
    view.send("e")
    view.wait_for("system prompt")
    view.wait_for("[red]prompt[/]")
    view.send("\t" * 9)
    view.wait_for("[red]offered[/]")
    back(view, "system prompt")
    view.send("s")
    view.wait_for("words to find")
    view.send("match")
    view.wait_for("  match  ")
    view.wait_for("[red]match[/]")
    view.wait_for("[red]found[/]")


def test_nothing_hostile_reaches_the_terminal_in_the_list_the_search_and_the_settings(home: Home) -> None:
    environ = {**home.environ, "COLORTERM": "truecolor"}
    with (
        in_thread(HostileChatServer(is_live=False)) as server,
        terminal([*PROGRAM, "chat", "c1", "--url", server.url], environ, home.folder, rows=50) as view,
    ):
        look_at_the_lists(view)
        seen = all_of(view)
    assert hostile_in(seen) == ""
    assert len(seen) < 2_000_000
