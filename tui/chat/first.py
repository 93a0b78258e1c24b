"""The chat to open first, and a chat that is not stored yet."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from agent_tui.model.errors import AgentTuiError, NotFound, NotOffered
from agent_tui.model.events import ConversationInfo, ConversationLoaded, Event, LinkChanged
from agent_tui.paths import current_folder
from tui.cli.commands.pick import find_conversation
from tui.link import ChatLink
from tui.screens.words import say

NEW = ""  # the id of a chat that is not stored yet


async def first_chat(link: ChatLink, wanted: str, *, is_new: bool = False) -> str:
    """Return the id of the chat to open: the wanted one, else the newest, else ``NEW``.

    Raises what the server and ``find_conversation`` raise, also for a new chat; ``NotOffered`` if the server
    has no list and no chat was named.
    """
    if link.is_agent:
        return await link.open(wanted)
    client = await link.client()
    try:
        listed = await client.list_all(archived=bool(wanted))
    except (NotFound, NotOffered) as error:
        if is_new or wanted:
            return wanted
        raise NotOffered(say("chat.not_offered")) from error
    if is_new:
        return NEW
    if wanted:
        return find_conversation(listed, wanted)
    return listed[0].id if listed else NEW


class NewChat:
    """A chat that is stored with its first question, with its chosen ``fields`` and the server's others."""

    def __init__(self, link: ChatLink, fields: Mapping[str, Any]) -> None:
        self._link = link
        self._fields = dict(fields)
        self._default = ConversationInfo(NEW)  # as the server would make it

    @property
    def info(self) -> ConversationInfo:
        """The chat as it would be stored now."""
        fields: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in self._fields.items()
        }
        return replace(self._default, **fields)

    def change(self, fields: Mapping[str, Any]) -> ConversationInfo:
        """Change ``fields``; return the chat with them."""
        self._fields.update(fields)
        return self.info

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield the empty chat."""
        yield ConversationLoaded(self.info, ())
        yield LinkChanged("ended")

    async def look_for_default(self) -> None:
        """Find out which provider and model the server would choose; unknown if it does not say."""
        with suppress(AgentTuiError):
            providers = await (await self._link.client()).backend.providers()
            if providers:  # the default one is the first
                self._default = replace(self._default, provider_id=providers[0].id, model=providers[0].model)

    async def store(self) -> ConversationInfo:
        """Have the server make the chat; raises what ``ChatClient.create`` and ``change`` do."""
        client = await self._link.client()
        sent = dict(self._fields)
        stored = await client.create(**sent)
        late = {
            name: value for name, value in self._fields.items() if name not in sent or sent[name] != value
        }
        return await client.change(stored.id, **late) if late else stored


def fields_here(link: ChatLink) -> dict[str, Any]:
    """Return the first settings of a new chat: the current folder, if the backend is on this machine."""
    folder = current_folder() if link.is_embedded else None
    return {} if folder is None else {"workspace": folder}
