"""Chats to be looked at, over a server in memory: every kind of step, every end, a tool that asks."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent_tui.clients.records import Hit
from agent_tui.model import events as ev
from tests.fakes.chat_link import FakeChatLink
from tests.state.chat_events import loaded, message, status
from tests.tui.lists.chats_listed import Fake, ListedChats, Size, app_in_memory, chat

MAKEFILE = "   12  test: clean build\n   13      pytest"
HITS = '[{"file": "a.mk", "line": 3}, {"file": "b.mk", "line": 140}]'
FAILURE = '{"success": false, "exit_code": 2, "output": "make: *** no rule"}'
DIFF = "--- a/Makefile\n+++ b/Makefile\n@@ -12,2 +12,2 @@\n-test: clean build\n+test: build\n     pytest"
ASK = ev.ToolAsk("write_file Makefile", DIFF, "diff", "write_file(Makefile)", "/home/ada/shop")
SAID = (
    "So far: `test` depends on **clean**, so every run starts from nothing.\n\n- measured\n- 老王 saw it, too"
)
CHAT = ev.ConversationInfo("c", title="Why is the build slow?", model="some-model", provider_id="local")


def called(
    number: int, name: str, arguments: str, outcome: str, result: str = "", **fields: Any
) -> list[ev.Step]:
    """Return a call and its result, if there is one."""
    call = ev.Step(
        f"step-{number}", number, "tool_call", name=name, arguments=arguments, status=outcome, **fields
    )
    if not result:
        return [call]
    is_good = not result.startswith('{"success": false')
    of = {"id_ref": call.id, "content": result, "success": is_good}
    return [call, ev.Step(f"step-{number + 1}", number + 1, "tool_result", **of)]  # type: ignore[arg-type]


def every_step() -> tuple[ev.Step, ...]:
    return (
        ev.Step(
            "step-0", type="thinking", content="The Makefile *probably* rebuilds 17 * 23 files.", seconds=4.0
        ),
        ev.Step("step-1", 1, content="I look at it."),
        *called(2, "read_file", '{"path": "Makefile"}', "done", MAKEFILE, seconds=0.003),
        *called(4, "search_files", '{"pattern": "clean", "glob": "*.mk"}', "done", HITS, seconds=0.011),
        *called(
            6, "run_command", '{"command": "make -n test", "seconds": 60}', "failed", FAILURE, seconds=1.5
        ),
        *called(8, "fetch_url", '{"url": "https://example.org/a"}', "unknown"),
        *called(
            9, "patch_file", '{"path": "a.mk"}', "denied", '{"success": false, "error": "denied by the user"}'
        ),
        ev.Step("step-11", 11, "plan", content="first measure"),
        ev.Step("step-12", 12, content=SAID),
    )


def talk() -> list[ev.Message]:
    """Return a question with a file, and its answer with every kind of step."""
    file = ev.Attachment("notes.txt", "slow since Monday\n")
    asked = message("q1", "Why is the build slow? Look at the Makefile.", attachments=(file,))
    told = message("a1", "x", "assistant", parent_id="q1", seconds=12.0)
    told = replace(
        told, sender_name="some-model", steps=every_step(), usage=ev.Usage(1000, 902), versions=("a0", "a1")
    )
    return [asked, told]


def ends() -> list[ev.Message]:
    """Return answers that a person, the backend and the model's server ended, and a whole one."""
    found: list[ev.Message] = []
    for number, fields in enumerate(
        ({"interrupted": "stop"}, {"interrupted": "crash"}, {"error": "API Error: the quota is used up"}, {})
    ):
        found += [
            message(f"q{number}", f"Question {number}?", parent_id=found[-1].id if found else ""),
            message(f"a{number}", "So far", "assistant", parent_id=f"q{number}", **fields),
        ]
    return found


def live() -> list[ev.Event]:
    """Return an answer that is under way: it thinks aloud."""
    start = ev.TurnStarted("live", "", "assistant", "some-model", "", 0, parent_id="a1")
    thought = ev.Step("step-0", type="thinking", content="The second target is the slow one")
    return [start, ev.StepSet("live", thought)]


def asks() -> list[ev.Event]:
    """Return an answer whose tool asks."""
    call = ev.Step("step-1", 1, "tool_call", name="write_file", arguments='{"path": "Makefile"}')
    asked = replace(status("asks", ask=ASK), turn_id="live")
    return [*live(), ev.StepSet("live", call), asked]


def every_state() -> list[ev.ConversationInfo]:
    """Return a chat in each state that a list shows, the newest first."""
    fields: list[dict[str, Any]] = [
        {"title": "Why is the build slow?", "status": "running"},
        {"title": "缓存为什么总是冷?", "status": "running", "asks": True, "tokens": 999_999},
        {
            "title": "Какое название понятнее?",
            "last_words": "Call it Ledger.",
            "tokens": 19_500,
            "cost": 0.12,
        },
        {"title": "Migration", "error": "API Error: no quota"},
        {"title": "Onboarding", "interrupted": "stop", "tokens": 412},
        {"title": "Redis", "interrupted": "crash"},
        {"title": "", "model": ""},
        {"title": "Old", "archived": True, "last_words": "Done."},
    ]
    return [chat(number, **each) for number, each in enumerate(fields)]


def hits() -> list[Hit]:
    when = "2026-11-20T11:00:00+00:00"
    long = "and a \2cold\3 cache is no cache, whatever one says of it in the evening when nobody is there"
    return [
        Hit("c1", "Why is the build slow?", "m1", "assistant", long, when),
        Hit("c2", "缓存为什么总是冷?", "m2", "user", "Is it \2cold\3?", when),
        Hit("c3", "", "m3", "assistant", "\2Cold\3.", ""),
    ]


class Shown(Fake):
    """The program with a chat open, and what its server sends. Every key comes a second later."""

    link: FakeChatLink
    time = 100.0

    async def send(self, *events: ev.Event) -> str:
        self.link.send(*events)
        return await self.text()

    @property
    def is_told(self) -> bool:
        return self.link.is_drained

    async def press(self, *keys: str) -> str:
        for key in keys:
            self.time += 1.0
            await self.pilot.press(key)
            await self.settle()
        return await self.text()


@asynccontextmanager
async def in_a_chat(
    folder: Path, *messages: ev.Message, size: Size = (120, 40), is_ascii: bool = False, **fields: Any
) -> AsyncIterator[Shown]:
    """Show a chat with these messages; ``fields`` are what else its server says."""
    client = ListedChats(every_state(), hits=hits(), **fields)
    app, link = app_in_memory(client, folder, is_ascii=is_ascii)
    async with app.run_test(size=size, notifications=True) as pilot:
        seen = Shown(app, pilot)
        seen.client, seen.link = client, link
        while app.places.chat is None:
            await pilot.pause()
        app.places.chat.now = app.presses.now = lambda: seen.time
        about = {"title": CHAT.title, "model": CHAT.model, "provider_id": CHAT.provider_id}
        seen.link.send(loaded(*messages, **about), ev.LinkChanged("live"))
        await seen.settle()
        yield seen
        link.end()
