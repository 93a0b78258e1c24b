"""Which chat a screen opens first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent_tui.errors import NotFound, NotOffered
from agent_tui.events import ConversationInfo
from tui.link import ChatLink, Link
from tui.pick import find_conversation
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.chat import ChatClient


async def first_chat(link: ChatLink, wanted: str, *, is_new: bool = False) -> str:
    """Return the id of the chat to open: the wanted one, else the newest, else a new one.

    Raises what the server and ``find_conversation`` raise; ``NotOffered`` when the server has no list and no
    chat was named.
    """
    client = await link.client()
    if not is_new:
        try:
            listed = await client.conversations()
        except (NotFound, NotOffered) as error:
            if not wanted:
                raise NotOffered(say("chat.not_offered")) from error
            return wanted
        if wanted:
            return find_conversation(listed, wanted)
        if listed:
            return listed[0].id
    return (await new_chat(link)).id


async def new_chat(link: Link[ChatClient]) -> ConversationInfo:
    """Make a chat. Its tools work in the folder that the program was started in, where the backend is on
    this machine.
    """
    client = await link.client()
    return await client.create(workspace=str(Path.cwd()) if link.is_embedded else None)
