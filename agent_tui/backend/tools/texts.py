"""The outputs of tools within limits: texts cut in the middle, results as JSON, errors in one line."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from agent_tui.model.inert import inert_line

MAX_OUTPUT_CHARACTERS = 100_000
MAX_ERROR_CHARACTERS = 2_000


def cut(text: str, limit: int = MAX_OUTPUT_CHARACTERS) -> str:
    """Return at most about ``limit`` characters: the beginning and the end, and between them how much is
    missing.
    """
    if len(text) <= limit:
        return text
    half = max(0, limit // 2 - 40)
    missing = len(text) - 2 * half
    return f"{text[:half]}\n[… {missing:,} characters left out …]\n{text[len(text) - half :]}"


def failure(reason: str) -> str:
    """Return the content of a failed result, in the form of protocols.md §2."""
    return json.dumps(
        {"success": False, "error": inert_line(reason, MAX_ERROR_CHARACTERS)}, ensure_ascii=False
    )


def structure(fields: dict[str, Any], long: str) -> str:
    """Return ``fields`` as JSON of at most ``MAX_OUTPUT_CHARACTERS``; ``fields[long]`` is cut to fit."""
    whole, room = str(fields[long]), MAX_OUTPUT_CHARACTERS
    while True:
        text = json.dumps({**fields, long: cut(whole, room)}, ensure_ascii=False)
        if len(text) <= MAX_OUTPUT_CHARACTERS or room < 200:
            return text
        room = min(room * 9 // 10, room * MAX_OUTPUT_CHARACTERS // len(text))


class Spool:
    """Takes any amount of bytes, and keeps the first and the last ``half`` of them."""

    def __init__(self, half: int) -> None:
        self.size = 0  # of everything that was added, in bytes
        self._half = half
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0

    def add(self, data: bytes) -> None:
        self.size += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        if not data:
            return
        self._tail.append(data[-self._half :])
        self._tail_size += len(self._tail[-1])
        while self._tail_size - len(self._tail[0]) >= self._half:
            self._tail_size -= len(self._tail.popleft())

    def text(self) -> str:
        """Return what was kept as text, with a line if something is missing."""
        tail = b"".join(self._tail)[-self._half :]
        missing = self.size - len(self._head) - len(tail)
        if not missing:
            return (bytes(self._head) + tail).decode("utf-8", "replace")
        head = bytes(self._head).decode("utf-8", "replace")
        return f"{head}\n[… {missing:,} bytes left out …]\n{tail.decode('utf-8', 'replace')}"
