"""A link to chats whose events the test sends one by one, and which notes what the screen asked for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Mapping
from dataclasses import replace
from typing import Any

from agent_tui.clients.chat import Question
from agent_tui.clients.records import ModelInfo, ProviderInfo, ToolInfo, ToolServer
from agent_tui.model.errors import AgentTuiError, NotFound, NotOffered
from agent_tui.model.events import ChangedFile, ConversationInfo, Event, Message
from agent_tui.wire.chat_encode import conversation_fields, stored_message_fields
from tests.fakes.event_link import EventLink
from tests.fakes.own_backend import OwnBackend


class FakeChatClient(OwnBackend):
    """The calls a chat screen makes; ``refuse`` is raised instead of an answer. What was asked is in
    ``asked``, one line each.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuse: AgentTuiError | None = None
        self.is_deleted = False
        self.stores_messages = True
        self.info = ConversationInfo("c", title="Make")
        self.chats: list[ConversationInfo] = [self.info]
        self.stored: list[Message] = []
        self.changed: list[ChangedFile] = []

    async def answer(
        self,
        conversation_id: str,
        message_id: str,
        step_id: str,
        decision: str,
        pattern: str = "",
        reason: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        told = "" if values is None else json.dumps(dict(values))
        self._note(" ".join(filter(None, ("answer", message_id, step_id, decision, pattern, reason, told))))

    async def stop(self, conversation_id: str) -> ConversationInfo:
        self._note("stop")
        return self.info

    async def compact(self, conversation_id: str, keep: str = "") -> ConversationInfo:
        self._note(f"compact {keep}".strip())
        return self.info

    async def change(self, conversation_id: str, **fields: Any) -> ConversationInfo:
        self._note(f"change {fields}")
        tools = fields.get("enabled_tools")
        kept = {**fields, "enabled_tools": tuple(tools)} if tools is not None else fields
        self.info = replace(self.info, **kept)
        return self.info

    async def create(self, **fields: Any) -> ConversationInfo:
        self._note(f"create {fields}")
        return ConversationInfo("new")

    async def list_all(self, archived: bool = False) -> list[ConversationInfo]:
        self._note("conversations")
        return [chat for chat in self.chats if archived or not chat.archived]

    async def messages_raw(self, conversation_id: str) -> list[Any]:
        self._note("messages")
        if not self.stores_messages:
            raise NotOffered("this server does not offer that")
        return [stored_message_fields(message) for message in self.stored]

    async def as_known(self, conversation_id: str) -> ConversationInfo:
        if self.is_deleted:
            raise NotFound(f"There is no conversation {conversation_id}", status=404)
        return self.info

    async def show_raw(self, conversation_id: str) -> Any:
        return conversation_fields(self.info)

    async def messages(self, conversation_id: str) -> tuple[list[Message], int | None]:
        self._note("messages")
        return self.stored, 1

    async def changed_files(self, conversation_id: str) -> list[ChangedFile]:
        self._note("changes")
        return self.changed

    async def undo(
        self, conversation_id: str, message_id: str, step_id: str = ""
    ) -> tuple[list[ChangedFile], ...]:
        self._note(" ".join(filter(None, ("undo", message_id, step_id))))
        wanted = [
            one
            for one in self.changed
            if (one.message_id, step_id or one.step_id) == (message_id, one.step_id)
        ]
        left = [one for one in wanted if one.status != "made"]
        undone = [replace(one, status="undone") for one in wanted if one.status == "made"]
        by_key = {(one.message_id, one.step_id): one for one in undone}
        self.changed = [by_key.get((one.message_id, one.step_id), one) for one in self.changed]
        return undone, left

    async def tools(self) -> tuple[list[ToolInfo], list[ToolServer]]:
        self._note("tools")
        broken = ToolServer("slow", "failed", problem="it ended\x1b[2J")
        known = [ToolInfo("read_file", source="built-in"), ToolInfo("run_command", permission="ask")]
        return [*known, ToolInfo("pause_room", only_if_named=True)], [broken]

    async def providers(self) -> list[ProviderInfo]:
        self._note("providers")
        return [ProviderInfo("local", "Local", "openai", "big")]

    async def models(self, provider_id: str) -> list[str]:
        return [model.id for model in await self.list_models(provider_id)]

    async def list_models(self, provider_id: str) -> list[ModelInfo]:
        self._note(f"models {provider_id}")
        return [ModelInfo("big", 128_000, 2.5, 10.0), ModelInfo("small")]

    def _note(self, call: str) -> None:
        self.asked.append(call)
        if self.refuse is not None:
            raise self.refuse


class FakeChatLink(EventLink[FakeChatClient]):
    """Stands for ``ChatLink``: questions are in ``questions``, those whose answers are followed also in
    ``begun``, and ``refuse`` is raised for the next ones.
    """

    def __init__(self) -> None:
        super().__init__(FakeChatClient())
        self.questions: list[Question] = []
        self.begun: list[Question] = []
        self.refuse: AgentTuiError | None = None
        self.held: asyncio.Event | None = None  # set when a question shall be taken

    async def begin(self, conversation_id: str, question: Question) -> None:
        self.questions.append(question)
        self.begun.append(question)
        if self.held is not None:
            await self.held.wait()
        if self.refuse is not None:
            raise self.refuse

    async def ask(self, conversation_id: str, question: Question) -> AsyncGenerator[Event, None]:
        self.questions.append(question)
        return self.posted()
