"""Whatever a server sends, wherever it is shown: the terminal gets only what this program itself writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.rooms_server import Event, OriginalRoomsServer, in_thread, run_events
from tests.fakes.terminal import Terminal, terminal
from tests.tui.programs import PROGRAM, Home, home_at

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
# links, the shape of the pointer, and what was copied.
OWN = re.compile(
    rb"\x1b\[[0-9;]*m|\x1b\[[0-9;]*H|\x1b\[\?[0-9;]+[hl]|\x1b\[[>=<]?[0-9;]*u|\x1b\[\?(?:2026|2048)\$p|\x1b\[\??[0-9;]*[cn]"
    rb"|\x1b\[2J|\x1b\[>?4?;?[0-9]*m|\x1b\]11;\?(?:\x07|\x1b\\)|\x1b\]22;[a-z]+\x07"
    rb"|\x1b\]8;(?:id=[0-9a-z-]+;https?://[A-Za-z0-9][!-;=?-~]*|;)\x1b\\"
)
COPIED = re.compile(rb"\x1b\]52;c;[A-Za-z0-9+/]+=*\x07")
FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]"
)


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
    view.send("t")
    view.wait_for("timeline")
    view.send("\x1b[H")  # home
    view.wait_for("evil")
    view.send("/evil")
    view.wait_for(lambda text: "of" in text.splitlines()[-2] or "found" in text.splitlines()[-2])
    view.send("\r\x1b")
    view.wait_for(lambda text: "/ evil" not in text)  # behind an escape a letter would be alt+letter
    view.send("t")
    view.wait_for("tab next")
    view.send("z")
    view.wait_for("zoomed")
    view.send("z")
    view.send("Y")
    view.wait_for("copied")
    view.resize(120, 40)
    view.wait_for(lambda text: text.count("█") + text.count("▎") > 4)
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
        view.wait_for("only while it runs it")
        view.send("p")
        view.wait_for("✓ done")
        look_around(view)
        view.send("q")
        assert view.wait_for_end() == 0
    seen = bytes(view.raw)
    assert len(COPIED.findall(seen)) == 1
    assert b";https://good.example/path?q=1\x1b\\" in seen
    rest = COPIED.sub(b"", OWN.sub(b"", seen)).decode("utf-8")  # strictly: no half characters either
    found = FORBIDDEN.search(rest)
    assert found is None, rest[max(0, found.start() - 60) : found.start() + 60]
    for target in (b"secret@", b"javascript:", b"file:", "é".encode()):
        assert not re.search(rb"\x1b\]8;[^\x1b]*" + re.escape(target), seen)
