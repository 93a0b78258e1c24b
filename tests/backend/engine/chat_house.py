"""A store, a hub and the engine of chats on a file of the test's, and the log of what was committed."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agent_tui.backend.engine.answer.tools import ToolSource
from agent_tui.backend.engine.chats.fields import QuestionFields
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.engine.resources import ModelSource
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.engine.unwatched import OpenPrograms
from agent_tui.backend.hub import Hub
from agent_tui.backend.models.model import CallPiece, ModelRequest
from agent_tui.backend.store.store import FileStore
from agent_tui.model.events import Message
from agent_tui.wire import chat_encode
from tests.backend.engine.house import Log, data
from tests.backend.stores import open_store
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel
from tests.fakes.scripted_tools import ScriptedBox

ENDS = ("done", "error")


class ChatHouse:
    """What a backend consists of, without its server; ``id`` is a chat that is there from the start."""

    def __init__(
        self, store: FileStore, models: ModelSource, box: ToolSource, unwatched: float | None, timing: Timing
    ) -> None:
        self.store = store
        self.hub = Hub(store)
        self.log = Log(chat_encode.frame)
        store.subscribe(self.log)
        self.presence = OpenPrograms()
        self.engine = Engine(
            store,
            self.hub,
            models,
            box,
            unwatched_seconds=unwatched,
            timing=timing,
            presence=self.presence,
        )
        self.id = ""

    async def ask(self, content: str = "Well?", **fields: Any) -> str:
        """Ask, wait for the end of the answer, return its id."""
        asked = await self.engine.chats.ask(self.id, QuestionFields(content, **fields))
        await self.ended(asked.message_id)
        return asked.message_id

    async def begin(self, content: str = "Well?", **fields: Any) -> str:
        """Ask; return the id of the answer that begins."""
        return (await self.engine.chats.ask(self.id, QuestionFields(content, **fields))).message_id

    async def ended(self, message_id: str) -> None:
        """Wait for the last event of that answer."""
        await self.log.until(
            self.id, lambda: any(f.name in ENDS and f.message_id == message_id for f in self.log.of(self.id))
        )

    async def asks(self, step_id: str = "") -> dict[str, Any]:
        """Wait for a call that asks; return its ``tool_status``."""

        def asking() -> list[dict[str, Any]]:
            found = [data(frame) for frame in self.log.of(self.id) if frame.name == "tool_status"]
            return [one for one in found if one["status"] == "asks" and step_id in ("", one["id"])]

        await self.log.until(self.id, lambda: bool(asking()))
        return asking()[-1]

    async def stands(self, status: str) -> None:
        """Wait until some call stands so."""
        await self.log.until(
            self.id,
            lambda: any(
                f.name == "tool_status" and data(f)["status"] == status for f in self.log.of(self.id)
            ),
        )

    async def messages(self) -> list[Message]:
        """Return the shown branch."""
        return (await self.engine.messages(CHATS, self.id, None, None)).messages

    async def last(self) -> Message:
        """Return the newest message of the shown branch."""
        return (await self.messages())[-1]

    def events(self, after: int = 0) -> list[tuple[str, dict[str, Any]]]:
        """Return (name, data) of what is in the log."""
        return [(frame.name, data(frame)) for frame in self.log.of(self.id) if frame.seq > after]

    def end(self) -> tuple[str, dict[str, Any]]:
        """Return the newest event."""
        return self.events()[-1]


@asynccontextmanager
async def open_chats(
    file: Path,
    model: ScriptedModel,
    *tools: Any,
    allow: tuple[str, ...] = (),
    box: ToolSource | None = None,
    models: FakeModels | None = None,
    unwatched: float | None = None,
    timing: Timing | None = None,
    enabled: Sequence[str] | None = ("look", "change"),
    new: bool = True,
    retry_seconds: Sequence[float] = (),
) -> AsyncIterator[ChatHouse]:
    """Open the database, start an engine of chats on it with one chat; stop and close all in the end."""
    source = box or ScriptedBox(*tools, allow=allow)
    store = open_store(file, retry_seconds)
    quick = timing or Timing(retries=(0.0, 0.0), grace=0.05, tool_grace=0.05)
    house = ChatHouse(store, models or FakeModels(model), source, unwatched, quick)
    try:
        await house.engine.start(resume=False)
        if new:
            tools_on = None if enabled is None else tuple(enabled)
            house.id = (await house.engine.create(CHATS, {"enabled_tools": tools_on})).id
        yield house
    finally:
        await house.engine.stop_all()
        house.hub.close()
        await house.store.close()


def speaks(*rounds: Script) -> ScriptedModel:
    """Return a model that says these, one after the other, at once; the last one again and again."""
    turns = list(rounds)
    return ScriptedModel(lambda request: turns.pop(0) if len(turns) > 1 else turns[0], free=True)


def call(name: str, arguments: object = None, index: int = 0, id_: str | None = None) -> CallPiece:
    """Return a whole call."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {})
    return CallPiece(index, f"call_{index}" if id_ is None else id_, name, text)


def results(message: Message) -> list[tuple[str, bool]]:
    """Return (content, success) of the answer's results."""
    return [(step.content, step.success) for step in message.steps if step.type == "tool_result"]


def statuses(message: Message) -> list[str]:
    """Return how the answer's calls stand."""
    return [step.status for step in message.steps if step.type == "tool_call"]


def kinds(message: Message) -> list[str]:
    """Return the types of the answer's steps."""
    return [step.type for step in message.steps]


def told(request: ModelRequest) -> list[tuple[str, str]]:
    """Return (role, content) of what a model was told."""
    return [(message.role, message.content) for message in request.messages]
