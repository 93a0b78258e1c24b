"""The calls about chats that have one answer (protocols.md §2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent_tui.clients.chat_answers import Hit, read_hits
from agent_tui.clients.chat_paths import ChatPaths
from agent_tui.clients.http import Net
from agent_tui.clients.offers import Offers, explained, not_offered
from agent_tui.clients.pages import read_messages
from agent_tui.clients.paths import Paths
from agent_tui.clients.provider_calls import ProviderCalls
from agent_tui.clients.tool_calls import ToolCalls
from agent_tui.model.errors import NotFound, NotOffered, ProtocolError
from agent_tui.model.events import ConversationInfo, Message
from agent_tui.wire.chat import decode_conversation, decode_conversations, decode_messages


def decision_fields(
    decision: str, pattern: str, reason: str, values: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return what a person says to a call that asks, as the wire has it, in chats and in rooms."""
    named = (("pattern", pattern or None), ("reason", reason or None), ("values", values))
    return {"decision": decision} | {name: value for name, value in named if value is not None}


CHANGE_FIELDS = (
    "title",
    "system_prompt",
    "model",
    "provider_id",
    "temperature",
    "thinking_enabled",
    "enabled_tools",
    "workspace",
    "max_tokens",
    "max_cost",
    "answer_tokens",
    "archived",
    "head",
)
CREATE_FIELDS = (*CHANGE_FIELDS[:-2], "kind", "client_key")

FieldValue = str | int | float | bool | Sequence[str] | None

# Each call that a server may lack: its method, its path, and what it is called.
_OFFERS: Mapping[str, tuple[str, str, str]] = {
    "conversations": ("GET", "conversations", "a list of conversations"),
    "create": ("POST", "conversations", "making conversations"),
    "change": ("PATCH", "conversation", "changing conversations"),
    "delete": ("DELETE", "conversation", "deleting conversations"),
    "messages": ("GET", "messages", "stored messages"),
    "ask": ("POST", "messages", "questions"),
    "stop": ("POST", "stop", "stopping an answer"),
    "events": ("GET", "events", "following a conversation"),
    "answer": ("POST", "ask", "asking before a tool runs"),
    "search": ("GET", "search", "searching"),
    "tools": ("GET", "tools", "a list of tools"),
    "rules": ("GET", "rules", "a list of rules"),
    "providers": ("GET", "providers", "a list of providers"),
}


class ChatCalls(ProviderCalls, ToolCalls):
    """Calls to one server. ``paths`` overrides URL paths (see ``ChatPaths``).

    Every method raises what ``Net.call`` raises; ``NotFound`` means the conversation, ``NotOffered`` that
    this server does not have the call, whichever status it says that with. None is repeated by itself.
    """

    def __init__(self, net: Net, paths: Mapping[str, str] | None = None) -> None:
        self._net = net
        self._paths: Paths = ChatPaths(paths or {})
        self._offers = Offers(net, self._paths, _OFFERS)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._net.aclose()

    async def missing(self, conversation_id: str) -> Mapping[str, str]:
        """Return what this server does not offer: name of the call → why, one line.

        Asked with ``OPTIONS``, once in the life of this client; whatever does not answer counts as
        offered, and is asked again another time when nothing answered at all. Never raises.
        """
        return await self._offers.missing(conversation_id)

    # --- conversations ---------------------------------------------------------------------------------

    async def conversations_raw(self, archived: bool = False) -> Any:
        """Return the list of conversations as it was answered."""
        params = {"archived": "1"} if archived else None
        return await self._plain_call("GET", "conversations", "a list of conversations", params=params)

    async def conversations(self, archived: bool = False) -> list[ConversationInfo]:
        """Return all conversations, newest activity first; those that were put away only with
        ``archived``.
        """
        value = await self.conversations_raw(archived)
        items = value.get("conversations") if isinstance(value, Mapping) else value
        if not isinstance(items, list):
            raise ProtocolError("the server's answer is no list of conversations")
        return decode_conversations(items)

    async def create(self, **fields: FieldValue) -> ConversationInfo:
        """Make a conversation of ``fields`` (of ``CREATE_FIELDS``); the server chooses what is not given."""
        _check(fields, CREATE_FIELDS)
        json = {name: value for name, value in fields.items() if value is not None}
        return _conversation(
            await self._plain_call("POST", "conversations", "making conversations", json=json)
        )

    async def show_raw(self, conversation_id: str) -> Any:
        """Return one conversation as it was answered."""
        return await self._net.call("GET", self._paths.of("conversation", conversation_id))

    async def show(self, conversation_id: str) -> ConversationInfo:
        """Return one conversation."""
        return _conversation(await self.show_raw(conversation_id))

    async def change(self, conversation_id: str, **fields: FieldValue) -> ConversationInfo:
        """Change ``fields`` (of ``CHANGE_FIELDS``); ``None`` is sent and means none.

        ``head`` shows the branch of that message. Raises ``Refused`` (409) while an answer is under way
        for what cannot be changed then.
        """
        _check(fields, CHANGE_FIELDS)
        what = "changing conversations"
        return await self._about(conversation_id, "PATCH", "conversation", what, fields)

    async def delete(self, conversation_id: str) -> None:
        """Delete a conversation and everything said in it."""
        await self._call("DELETE", "conversation", (conversation_id,), "deleting conversations")

    async def stop(self, conversation_id: str) -> ConversationInfo:
        """End the answer under way, its words kept; nothing happens where there is none."""
        return await self._about(conversation_id, "POST", "stop", "stopping an answer")

    async def conversation_as_known(self, conversation_id: str) -> ConversationInfo:
        """Return the conversation as far as this server shows them at all: at least its id.

        Raises ``NotFound`` when it shows its conversations and this one is not among them.
        """
        try:
            return await self.show(conversation_id)
        except (NotFound, NotOffered) as error:
            unseen = error
        try:
            shown = await self.conversations()
        except (NotFound, NotOffered):
            return ConversationInfo(conversation_id)
        for conversation in shown:
            if conversation.id == conversation_id:
                return conversation
        raise unseen

    # --- messages --------------------------------------------------------------------------------------

    async def messages_raw(self, conversation_id: str) -> list[Any]:
        """Return the stored messages of all pages as they were answered."""
        return (await read_messages(self._net, self._paths.of("messages", conversation_id)))[0]

    async def messages(self, conversation_id: str) -> tuple[list[Message], int | None]:
        """Return the messages of the branch that is shown, the answer under way included, and the event id
        they are as of (``None`` where the server gives none).
        """
        path = self._paths.of("messages", conversation_id)
        messages, as_of = await read_messages(self._net, path)
        return decode_messages(messages), as_of

    async def record(self, conversation_id: str, **fields: object) -> str:
        """Put on record what was said in a voice session; return the id of its message.

        ``fields``: ``spoken`` (of ``Spoken``, as a mapping) and either ``message_id`` of a message on record,
        or ``client_key, role, content, speaker, interrupted`` of a whole one. Raises ``Refused`` (409) for a
        whole one while an answer is under way.
        """
        what = "keeping what was said"
        answer = await self._call("POST", "messages", (conversation_id,), what, {"recorded": fields})
        message_id = answer.get("message_id") if isinstance(answer, dict) else None
        if not isinstance(message_id, str):
            raise ProtocolError("the server's answer names no message")
        return message_id

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
        """Say whether a tool may run: ``decision`` is once, conversation, always (for ``pattern``) or deny
        (for ``reason``); to a form answer (with ``values``), decline or cancel. Raises ``Refused`` (409) when
        that was answered already.
        """
        json = decision_fields(decision, pattern, reason, values)
        ids = (conversation_id, message_id, step_id)
        await self._call("POST", "ask", ids, "asking before a tool runs", json)

    # --- all conversations -----------------------------------------------------------------------------

    async def search_raw(self, words: str, limit: int = 50) -> Any:
        """Return what a search in all conversations found, as it was answered."""
        params = {"q": words, "limit": str(limit)}
        return await self._plain_call("GET", "search", "searching", params=params)

    async def search(self, words: str, limit: int = 50) -> list[Hit]:
        """Return the messages that hold ``words``, newest first."""
        return read_hits(await self.search_raw(words, limit))

    # --- how it is called ------------------------------------------------------------------------------

    async def _plain_call(
        self,
        method: str,
        name: str,
        what: str,
        *,
        params: Mapping[str, str] | None = None,
        json: object = None,
    ) -> Any:
        """Call what needs no id: a 404 there means that the call is missing."""
        try:
            return await self._net.call(method, self._paths.of(name), params=params, json=json)
        except (NotFound, NotOffered) as error:
            raise not_offered(what, error) from error

    async def _call(self, method: str, name: str, ids: Sequence[str], what: str, json: object = None) -> Any:
        path = self._paths.of(name, *ids)
        try:
            return await self._net.call(method, path, json=json)
        except (NotFound, NotOffered) as error:
            raise await explained(self._net, method, path, what, error) from error

    async def _about(
        self, conversation_id: str, method: str, name: str, what: str, json: object = None
    ) -> ConversationInfo:
        """Return the conversation that the answer holds; when it holds none, it is looked at."""
        answer = await self._call(method, name, (conversation_id,), what, json)
        try:
            return decode_conversation(answer)
        except ValueError:
            return await self.conversation_as_known(conversation_id)


def _conversation(value: object) -> ConversationInfo:
    try:
        return decode_conversation(value)
    except ValueError as error:
        raise ProtocolError("the server's answer is no conversation") from error


def _check(fields: Mapping[str, object], known: Sequence[str]) -> None:
    unknown = set(fields) - set(known)
    if unknown:
        raise ValueError(f"no such fields of a conversation: {', '.join(sorted(unknown))}")
