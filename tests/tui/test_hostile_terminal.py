"""Whatever a server sends, wherever it is shown: the terminal gets only what this program itself writes."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.servers.http_server import FakeServer, Request, Responder, answers_json
from tests.fakes.servers.rooms_server import (
    Event,
    LogRoom,
    LogRoomsServer,
    OriginalRoomsServer,
    in_thread,
    run_events,
)
from tests.fakes.terminal import Terminal, terminal
from tests.tui.programs import PROGRAM, Home, home_at

pytestmark = pytest.mark.slow

NASTY = (
    "\x1b]52;c;aGk=\x07\x1b[31m\x9b2J\u202eevil\u2066[bold red]x[/]\x1b]8;;http://e\x1b\\"
    "\x00\x08\x7f\x85\U000e0041\ufeff &#27;]0;t&#7; &#x202e; <b>html</b>"
)
LINKS = (
    "[a](http://user:secret@evil.example) [b](javascript:alert(1)) [c](http://e\x1b\\x) "
    "[d](file:///etc/passwd) [e](http://é.example) [good](https://good.example/path?q=1)"
)
WORDS = (
    NASTY,
    "x" * 1_000_000,
    "\r\n\r\n# " + NASTY,
    f"\n\n`{NASTY}`\n\n",
    LINKS,
    f"\n```py\n{NASTY}\n```\n",
)
AGENTS = (NASTY, "Ada", "Mika" + NASTY * 40, "Noor")
# All that this program writes: how cells look, where they stand, modes of the terminal, questions to it, safe
# links, the shape of the pointer, its title (whose words are checked like all others), and what was copied.
OWN = re.compile(
    rb"\x1b\[[0-9;]*m|\x1b\[[0-9;]*H|\x1b\[\?[0-9;]+[hl]|\x1b\[[>=<]?[0-9;]*u|\x1b\[\?(?:2026|2048)\$p|\x1b\[\??[0-9;]*[cn]"
    rb"|\x1b\[2[23];2t|\x1b\[2J|\x1b\[>?4?;?[0-9]*m|\x1b\]11;\?(?:\x07|\x1b\\)|\x1b\]22;[a-z]+\x07"
    rb"|\x1b\]8;(?:id=[0-9a-z-]+;https?://[A-Za-z0-9][!-;=?-~]*|;)\x1b\\"
)
TITLE = re.compile(rb"\x1b\]2;([^\x00-\x1f\x7f]*)\x07")
COPIED = re.compile(rb"\x1b\]52;c;[A-Za-z0-9+/]+=*\x07")
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)


def hostile_in(seen: bytes, bells: int = 0) -> str:
    """Return where among what was written something stands that this program did not mean; "" for nowhere.

    It rings ``bells`` times, when a tool asks.
    """
    rest = OWN.sub(b"", TITLE.sub(rb"\1", seen)).decode("utf-8")  # strictly: no half characters either
    assert rest.count("\a") == bells
    found = FORBIDDEN.search(rest.replace("\a", ""))
    return rest[max(0, found.start() - 60) : found.start() + 60] if found else ""


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    with home_at(tmp_path) as opened:
        yield opened


def hostile_run() -> list[Event]:
    """Return a run in which every text is hostile, colours and the task too."""

    def worse(data: dict[str, Any]) -> dict[str, Any]:
        colored = {**data, "sender_color": NASTY} if "sender_color" in data else data
        return {**colored, "task": NASTY} if "task" in data else colored

    run = run_events(agents=AGENTS, words=WORDS, accumulated=False)
    return [(name, worse(data)) for name, data in run]


def look_around(view: Terminal) -> None:
    """Open every view of the room that shows what the server sent."""
    view.send("\x1b[H")  # home: a sequential room opens in the timeline
    view.wait_for("evil")
    view.send("/evil")
    view.wait_for(lambda text: re.search("/ evil .*(of|found)", text.splitlines()[-2]) is not None)
    view.send("\r\x1b")
    view.wait_for(lambda text: "/ evil" not in text)  # behind an escape a letter would be alt+letter
    view.send("t")
    view.wait_for("tab next")
    view.send("\x1b[F")  # end: the code is there
    view.send("z")
    view.wait_for("z back")
    view.send("z")
    view.wait_for(lambda text: "z back" not in text and "│ py" in text)  # laid out anew, down to its end
    view.send("Y")
    view.wait_for("copied")
    view.resize(120, 40)
    view.wait_for(lambda text: text.count("▎") == 3 and "? help" in text.splitlines()[-1])  # no strip
    view.send("?")
    view.wait_for("Keys")
    view.send("\x1b")
    view.wait_for(lambda text: "Keys" not in text)


def test_nothing_hostile_reaches_the_terminal_in_any_view(home: Home) -> None:
    environ = {**home.environ, "COLORTERM": "truecolor", "SSH_CONNECTION": "1 2 3 4"}
    with (
        in_thread(OriginalRoomsServer(hostile_run())) as server,
        terminal(
            [*PROGRAM, "rooms", "r1", "--url", server.url], environ, home.folder, columns=80, rows=24
        ) as view,
    ):
        view.wait_for("only while it is running")
        view.send("p")
        view.wait_for("✓ done")
        look_around(view)
        view.send("q")
        assert view.wait_for_end() == 0
    seen = bytes(view.raw)
    assert len(COPIED.findall(seen)) == 1
    assert b";https://good.example/path?q=1\x1b\\" in seen
    assert hostile_in(COPIED.sub(b"", seen)) == ""
    for target in (b"secret@", b"javascript:", b"file:", "é".encode()):
        assert not re.search(rb"\x1b\]8;[^\x1b]*" + re.escape(target), seen)


def marked(word: str, more: int = 20_000) -> str:
    """Return a hostile text that can be found again: its markup has to be read as it is written."""
    return f"[red]{word}[/]{NASTY}" + "很长" * more


def refuses(word: str, status: int = 409) -> Responder:
    problem = {"title": marked(word, 9), "detail": marked(f"{word} more", 9), "status": status}
    return answers_json(problem, status, kind="application/problem+json")


class HostileServer(LogRoomsServer):
    """Has two rooms of hostile texts, hostile providers, and refuses every change with a hostile reason."""

    def __init__(self) -> None:
        agent = {"name": marked("Ada"), "color": NASTY, "model": marked("model"), "provider_id": NASTY}
        agents = [
            {
                **agent,
                "id": "a",
                "status": "speaking",
                "system_prompt": marked("prompt", 2_000),
                "turn_order": 0,
            },
            {**agent, "id": "b", "status": NASTY, "turn_order": 1},
        ]
        fields = {"name": marked("room"), "task": marked("task"), "created_at": NASTY, "updated_at": NASTY}
        words = {"last_words": marked("words"), "last_speaker": marked("speaker")}
        queue = [{"id": "q", "content": marked("queued"), "to": "a", "when": "next"}]
        super().__init__(
            LogRoom("r1", status="running", agents=agents, fields=fields, queue=queue),
            LogRoom("r2", status="completed", agents=agents, fields={**fields, **words}),
            LogRoom("r3", status="paused", agents=agents, fields={**fields, "interrupted": marked("why")}),
            LogRoom("r4", status="error", agents=agents, fields={**fields, **words}),
        )
        self.providers = [
            {"id": marked("id", more), "name": marked(name), "kind": NASTY, "model": NASTY}
            for name, more in (("far", 20_000), ("near", 9))
        ]

    def responder(self, request: Request) -> Responder:
        if request.path.endswith("/models"):
            return answers_json({"models": [{"id": marked("model")}]})
        if request.method in ("PATCH", "DELETE") or (
            request.method == "POST" and not request.path.endswith("/test")
        ):
            return refuses(request.path.rpartition("/")[2])
        return super().responder(request)


def all_of(view: Terminal) -> bytes:
    """End the program, so that nothing is half written, and return all that it wrote."""
    view.kill(signal.SIGTERM)
    view.wait_for_end()
    return bytes(view.raw)


def back(view: Terminal, gone: str) -> None:
    """Leave a dialog: behind an escape the next letter would be alt+letter, so wait until it is gone."""
    view.wait_for(gone)
    view.send("\x1b")
    view.wait_for(lambda text: gone not in text)


def go_to(view: Terminal, words: str, *, tabs: int) -> None:
    """Go on, or back, by ``tabs`` fields of a form: then the row with ``words`` has the focus."""

    def has_focus(text: str) -> bool:
        rows = [number for number, row in enumerate(text.splitlines()) if words in row]
        return any(len(set(view.grounds(row)[12:])) > 1 for row in rows)

    view.send("\t" * tabs or "\x1b[Z" * -tabs)
    view.wait_for(has_focus)


def look_at_the_list(view: Terminal) -> None:
    """Open what the list can open, and have everything refused."""
    for word in ("room", "Ada", "words"):
        view.wait_for(f"[red]{word}[/]")
    view.send("R")
    view.wait_for("enter save")
    back(view, "enter save")
    view.send("n")
    view.wait_for("New room")
    view.send("why?")
    view.wait_for("why?")
    view.send("\x07")  # ctrl+g: refused
    view.wait_for("[red]rooms[/]")
    view.send("\x0f")  # ctrl+o: all of the form
    view.wait_for("answer limit")
    go_to(view, "provider", tabs=7)
    view.send(" ")
    view.wait_for("[red]far[/]")
    go_to(view, "model", tabs=1)
    view.send("\x1b[B")  # the list of models
    view.wait_for("URL too long")
    back(view, "URL too long")
    go_to(view, "provider", tabs=-1)
    view.send(" ")
    view.wait_for("[red]near[/]")
    go_to(view, "model", tabs=1)
    view.send("\x1b[B")  # the list of models
    view.wait_for("[red]model[/]")
    back(view, "[red]model[/]")
    view.send("\x1b")
    view.wait_for("Discard changes?")
    view.send("y")
    view.wait_for(lambda text: "New room" not in text)


def look_at_the_room(view: Terminal) -> None:
    """Open a room, its composer, queue, settings and the form of an agent."""
    view.send("\r")
    view.wait_for("queued for the next turn: to [red]Ada[/]")
    view.wait_for("[red]room[/]")
    view.send("x")
    view.wait_for("[red]skip[/]")
    view.send("i@[")
    view.wait_for("whisper: only this agent")
    view.send("\x7f\x7f")
    view.wait_for("Say something")
    view.send("nobody")
    view.wait_for("nobody")
    view.send("\r")
    view.wait_for("[red]messages[/]")
    back(view, "enter send ")  # the note says that enter sends it again
    view.send("u")
    view.wait_for("Queued messages")
    view.wait_for("[red]queued[/]")
    back(view, "Queued messages")
    view.send("e")
    view.wait_for("in speaking order")
    go_to(view, "1  ██ [red]Ada[/]", tabs=6)
    view.send("\r")
    view.wait_for("system prompt")
    go_to(view, "system prompt", tabs=1)
    view.press_until("\x1b[5~", "[red]prompt[/]")  # up to the beginning of it
    back(view, "system prompt")
    back(view, "in speaking order")


def test_nothing_hostile_reaches_the_terminal_in_the_list_the_forms_and_the_dialogs(home: Home) -> None:
    environ = {**home.environ, "COLORTERM": "truecolor"}
    with (
        in_thread(HostileServer()) as server,
        terminal([*PROGRAM, "rooms", "--url", server.url], environ, home.folder, rows=40) as view,
    ):
        look_at_the_list(view)
        look_at_the_room(view)
        seen = all_of(view)
    assert hostile_in(seen) == ""
    assert len(seen) < 2_000_000


def test_nothing_hostile_reaches_the_terminal_while_a_provider_is_set_up(home: Home) -> None:
    server = FakeServer()
    server.on(
        "GET", "/v1/models", answers_json({"data": [{"id": "[red]model[/]"}, {"id": marked("model", 9)}]})
    )
    refused = {"error": {"message": marked("refused"), "type": NASTY, "code": NASTY}}
    server.on("POST", "/v1/chat/completions", answers_json(refused, 400))
    with (
        in_thread(server),
        terminal([*PROGRAM, "models", "setup"], home.environ, home.folder) as view,
    ):
        view.wait_for("OPENAI_API_KEY")
        view.send(f"\t\x15{server.url}/v1\t\t\x15\r")
        view.wait_for("[red]model[/]")
        view.send("\r")
        view.wait_for("[red]refused[/]")
        seen = all_of(view)
    assert hostile_in(seen) == ""
    assert len(seen) < 500_000
