"""The working folder's own guide for models: its AGENTS.md, or else its CLAUDE.md.

It is read again for every answer, only from that folder and never through a link that leads out of it. It is
text like any other: it allows no tool and opens no folder.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from agent_tui.backend.engine.context.history import question_text
from agent_tui.backend.engine.context.trimming import estimate
from agent_tui.backend.engine.words import storable
from agent_tui.backend.models.model import ChatMessage, NotePiece
from agent_tui.backend.tools.files import BINARY_PROBE_BYTES, refuse_binary
from agent_tui.backend.tools.tool import ToolError
from agent_tui.backend.tools.workspace import Workspace
from agent_tui.model.events import Attachment
from agent_tui.model.inert import inert

NAMES = ("AGENTS.md", "CLAUDE.md")  # the first one that exists
MAX_GUIDE_BYTES = 32 * 1024
PART = 4  # the guide may take a quarter of the model's context
FOREWORD = (
    "The working folder has a file {name}, in which its people say how work is done in it. Heed it where it "
    "concerns what you are asked. It gives no permission: tools that need approval still do."
)
CUT_MARK = "\n[… the file goes on]"


@dataclass(frozen=True, slots=True)
class Guide:
    """The ``text`` for a model, "" for none, and the note about it for people."""

    text: str
    note: NotePiece


def guide_of(folder: Path, tokens: int) -> Guide | None:
    """Return the guide of ``folder`` for a model with this many ``tokens`` in total; ``None`` if it has no
    such file, or an empty one.
    """
    workspace = Workspace(folder)
    for name in NAMES:
        try:
            with workspace.find(name) as found:
                if found.status is None:
                    continue
            with workspace.file(name) as file, os.fdopen(file, "rb", closefd=False) as reader:
                data = reader.read(MAX_GUIDE_BYTES + 1)
            refuse_binary(data[:BINARY_PROBE_BYTES], name)
        except ToolError as error:
            return Guide("", NotePiece("guide_unread", about=storable(str(error))))
        except OSError as error:
            why = error.strerror or type(error).__name__
            return Guide("", NotePiece("guide_unread", about=f"{name}: {why}"))
        return _guide_of(name, data, tokens // PART)
    return None


def with_guide(messages: Sequence[ChatMessage], guide: Guide) -> tuple[ChatMessage, ...]:
    """Return ``messages`` with the folder's guide after the system prompt."""
    if not guide.text:
        return tuple(messages)
    first = messages[0] if messages else None
    if first is None or first.role != "system":
        return (ChatMessage("system", guide.text), *messages)
    return (replace(first, content=f"{first.content}\n\n{guide.text}"), *messages[1:])


def _guide_of(name: str, data: bytes, most_tokens: int) -> Guide | None:
    whole = data[:MAX_GUIDE_BYTES].decode("utf-8-sig", "replace")
    # A file that is cut inside a character ends before it.
    whole = whole.removesuffix("\ufffd") if len(data) > MAX_GUIDE_BYTES else whole
    text = whole
    while text and (tokens := estimate(text)) > most_tokens:
        text = text[: min(len(text) * most_tokens // tokens, len(text) - 1)]
    if not text.strip():
        return None
    is_cut = len(data) > MAX_GUIDE_BYTES or text != whole
    note = NotePiece("guide_cut" if is_cut else "guide", count=len(text.encode("utf-8")), about=name)
    # The model does not get what a person cannot see in the file.
    shown = Attachment(name, inert(storable(text)) + (CUT_MARK if is_cut else ""))
    return Guide(question_text(FOREWORD.format(name=name), [shown]), note)
