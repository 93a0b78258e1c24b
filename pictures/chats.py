"""Chats for the pictures: asked of the demo model, whose tools work in a small folder made for it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final

from agent_tui.clients.chat import ChatClient, Question
from tui import runtime
from tui.cli.commands.connect import chat_client
from tui.request import reach

FILES: Final = {
    "README.md": "# Shop\n\nSells tea. `make run` starts it, `make test` tests it.\n",
    "Makefile": "test: clean build\n\tpytest\n\nbuild:\n\tuv build\n",
    "notes.txt": "Tea: 40 tins left.\nTo do: order cups.\n",
}
# What was asked before, the oldest first: a title, and questions.
TALKS: Final = (
    ("The tea shop", ("read README.md", "search files for clean")),
    ("Сколько это будет?", ("Сколько будет 17 * 23?",)),
    ("东京现在几点?", ("现在东京几点?",)),
    ("Why is the build slow?", ("read Makefile", "What would a clean build cost us?")),
)


async def new_chat(folder: Path, title: str = "") -> str:
    """Make a chat whose tools work in ``folder``, with its files; return its id."""
    _fill(folder)
    async with chat_client(reach(runtime.begin())) as client:
        return (await client.create(title=title, workspace=str(folder))).id


def _fill(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")


async def many_chats(folder: Path) -> None:
    """Make chats that have something to find in them."""
    for title, questions in TALKS:
        chat_id = await new_chat(folder, title)
        await answered(chat_id, questions)


async def answered(chat_id: str, questions: Sequence[str]) -> None:
    """Ask one after the other, and wait for each answer."""
    async with chat_client(reach(runtime.begin())) as client:
        for question in questions:
            await _answered(client, chat_id, question)


async def _answered(client: ChatClient, chat_id: str, question: str) -> None:
    async with aclosing(client.ask(chat_id, Question(question, thinking_enabled=True))) as events:
        async for _ in events:
            pass
