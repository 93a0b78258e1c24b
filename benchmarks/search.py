"""Searching the words of a hundred thousand messages, in English and in Chinese."""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, insert

from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import ConversationCreated, ConversationRow
from agent_tui.backend.store.schema import searched
from agent_tui.backend.store.sqlite import search_words
from agent_tui.backend.store.store import FileStore
from agent_tui.backend.store.words import indexed
from agent_tui.model.events import AgentInfo
from benchmarks.table import ms, row

MESSAGES: Final = 100_000
WORDS: Final = 30
HITS: Final = 50
TARGET_SECONDS: Final = 0.05
# Beginnings of words, rare and common, several words, Chinese; each is asked once.
ASKED: Final = ("qu", "abc", "a", "t e", "s m r", "的", "\u4e01\u4e02", "zzzzzz")


def said(rng: random.Random, words: list[str]) -> str:
    """Return a message: English words, and some Chinese in every third."""
    english = " ".join(rng.choices(words, k=WORDS))
    chinese = "".join(chr(0x4E00 + rng.randrange(2_000)) for _ in range(WORDS))
    return f"{english} {chinese}的" if rng.randrange(3) == 0 else english


def fill(connection: Connection, words: list[str]) -> None:
    """Put the messages into the index, past the store: what is measured is the searching."""
    rng = random.Random(1)
    rows = [
        {
            "number": number,
            "conversation_id": "c",
            "message_id": f"m{number}",
            "role": "user",
            "created_at": "",
        }
        for number in range(1, MESSAGES + 1)
    ]
    connection.execute(insert(searched), rows)
    index = [{"rowid": one["number"], "words": indexed(said(rng, words))} for one in rows]
    connection.execute(insert(search_words), index)


async def measured(words: list[str]) -> float:
    """Return the seconds that the slowest of several searches takes."""
    with tempfile.TemporaryDirectory() as folder:
        store = FileStore(Path(folder) / "search.db")
        await store.append(
            "c",
            (),
            [
                ConversationCreated(
                    ConversationRow("c", "Chat", kind="chat", agents=(AgentInfo("a", "Chat"),))
                )
            ],
        )
        await store.read(fill, words)
        slowest = 0.0
        for wanted in ASKED:
            began = time.perf_counter()
            await store.read(reads.search, wanted, HITS)
            slowest = max(slowest, time.perf_counter() - began)
        await store.close()
    return slowest


def main() -> None:
    """Print the figure."""
    rng = random.Random(2)
    letters = "abcdefghijklmnopqrstuvwxyz"
    words = ["".join(rng.choices(letters, k=rng.randrange(2, 11))) for _ in range(5_000)]
    slowest = asyncio.run(measured(words))
    row(f"search: {MESSAGES:,} messages, slowest of {len(ASKED)}", f"≤ {ms(TARGET_SECONDS)}", ms(slowest))


if __name__ == "__main__":
    main()
