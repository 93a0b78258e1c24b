"""The chat client: the calls of chats, and answers as streams of events (protocols.md §2)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from itertools import count
from typing import Any

from agent_tui.clients.announced import beginning, ending_of
from agent_tui.clients.answers import unexplained
from agent_tui.clients.clock import SYSTEM_CLOCK, Clock
from agent_tui.clients.conversations import ClientKind, Conversations, FieldValue
from agent_tui.clients.http import EVENT_STREAM, Net
from agent_tui.clients.log_stream import GIVE_UP_SECONDS, Item, Post, StoredConversation
from agent_tui.clients.paths import CHAT_PATHS
from agent_tui.clients.records import Hit, read_all
from agent_tui.model.errors import (
    AgentBusy,
    AgentTuiError,
    NotFound,
    ProtocolError,
    Refused,
    StreamLost,
    TimedOut,
)
from agent_tui.model.events import (
    LOCAL_ID,
    ConversationChanged,
    ConversationInfo,
    ConversationLoaded,
    Event,
    LinkChanged,
    Message,
    MessageStored,
    TurnStarted,
)
from agent_tui.model.records import Question as Question
from agent_tui.wire.chat import (
    TERMINAL,
    ChatDecoder,
    decode_conversation,
    decode_conversations,
    decode_messages,
)
from agent_tui.wire.content import attachment_fields, only_set

SILENCE_SECONDS = 30.0  # protocols.md §2: an answer without a byte for this long is given up

_CONFLICT = 409
# The first events of servers that name their messages; otherwise we name them.
_NAMED = frozenset({"message", "answer_started", "conversation"})


_OFFERS: Mapping[str, tuple[str, str, str]] = {
    "conversations": ("GET", "conversations", "a list of conversations"),
    "create": ("POST", "conversations", "making conversations"),
    "change": ("PATCH", "conversation", "changing conversations"),
    "delete": ("DELETE", "conversation", "deleting conversations"),
    "messages": ("GET", "messages", "stored messages"),
    "ask": ("POST", "messages", "questions"),
    "stop": ("POST", "stop", "stopping an answer"),
    "compact": ("POST", "compact", "summaries"),
    "events": ("GET", "events", "following a conversation"),
    "answer": ("POST", "ask", "asking before a tool runs"),
    "search": ("GET", "search", "searching"),
    "tools": ("GET", "tools", "a list of tools"),
    "rules": ("GET", "rules", "a list of rules"),
    "providers": ("GET", "providers", "a list of providers"),
}


def _stored_conversation(chat: ConversationInfo, messages: list[Message], as_of: int) -> StoredConversation:
    read = _Branch(messages[-1].id if messages else "").read
    return StoredConversation(ConversationLoaded(chat, tuple(messages)), as_of, read)


CHATS = ClientKind(
    one="conversation",
    paths=CHAT_PATHS,
    offers=_OFFERS,
    bare=ConversationInfo,
    decode=decode_conversation,
    decode_listed=decode_conversations,
    decode_messages=decode_messages,
    loaded=_stored_conversation,
    ended_detail="this server shows an answer only while it is given",
    terminal=TERMINAL,
    silence_seconds=SILENCE_SECONDS,
    following={"follow": "1"},
    headers={"Accept": f"{EVENT_STREAM}; deltas=1; full=1"},
)


class ChatClient(Conversations[ConversationInfo]):
    """All calls about the conversations of one server. ``paths`` overrides ``CHAT_PATHS``.

    Closing a stream never stops an answer of ours. ``ask`` and ``follow`` yield the same events: a state
    takes them from one of the two.
    """

    def __init__(
        self,
        net: Net,
        paths: Mapping[str, str] | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        super().__init__(CHATS, net, paths, clock=clock, silence_seconds=silence_seconds)
        self._number = count(1)

    async def create(self, **fields: FieldValue) -> ConversationInfo:
        """Make a conversation from ``fields``, by the wire's names; the server chooses the others."""
        return await self._create({name: value for name, value in fields.items() if value is not None})

    async def search_raw(self, words: str, limit: int = 50) -> Any:
        """Return the results of a search in all rooms, chats and voice sessions, as they were answered."""
        params = {"q": words, "limit": str(limit), "kinds": "room,chat,voice"}
        return await self._calls.plain("GET", "search", "searching", params=params)

    async def search(self, words: str, limit: int = 50) -> list[Hit]:
        """Return the messages that contain ``words``, newest first."""
        return read_all(Hit, await self.search_raw(words, limit), "hits")

    async def stop(self, conversation_id: str) -> ConversationInfo:
        """Stop the current answer and keep its words; does nothing if there is none."""
        return await self._act("POST", "stop", (conversation_id,), "stopping an answer")

    async def compact(self, conversation_id: str, keep: str = "") -> ConversationInfo:
        """Have the conversation so far summarised: models get the summary instead from then on. ``keep`` says
        what the summary should keep. Raises ``Refused`` (409) if there is nothing to summarise, or the model
        cannot do it.
        """
        body = {"keep": keep} if keep else None
        return await self._act("POST", "compact", (conversation_id,), "summaries", body)

    async def record(self, conversation_id: str, **fields: object) -> str:
        """Store what was said in a voice session; return the id of its message.

        ``fields``: ``spoken`` (a ``SpeechRecord`` as a mapping) and either ``message_id`` of a stored one,
        or ``client_key, role, content, speaker, interrupted`` of a whole one. Raises ``Refused`` (409) for a
        whole one while an answer is being given.
        """
        what = "keeping what was said"
        answer = await self._calls.about("POST", "messages", (conversation_id,), what, {"recorded": fields})
        message_id = answer.get("message_id") if isinstance(answer, dict) else None
        if not isinstance(message_id, str):
            raise ProtocolError("the server's answer names no message")
        return message_id

    # --- one answer ------------------------------------------------------------------------------------

    def ask_frames(
        self, conversation_id: str, question: Question, *, give_up_seconds: float | None = GIVE_UP_SECONDS
    ) -> AsyncGenerator[Item, None]:
        """Ask, and yield the frames of the answer to its end.

        Sends exactly one POST. If its stream is lost after frames with ids, the rest is read from ``events``,
        which reconnects until ``LogStream`` gives up (``ConnectFailed``); otherwise raises ``StreamLost``,
        or ``TimedOut`` after 30 s without a byte. Raises ``AgentBusy`` while another answer is being given,
        and ``Refused`` for a question that is not taken.
        """
        path = self._paths.of("messages", conversation_id)

        async def explain(error: Refused) -> Refused:
            if isinstance(error, NotFound):
                return await self._calls.explain_refusal("POST", path, "questions", error)
            if error.status == _CONFLICT and await self._is_busy(conversation_id, error):
                return AgentBusy(error.title, error.detail, status=error.status)
            return error

        post = Post(path, {}, _body(question), self._silence_seconds, explain)
        return aiter(self._log(conversation_id, post=post, give_up_seconds=give_up_seconds))

    async def _is_busy(self, conversation_id: str, conflict: Refused) -> bool:
        """Return whether a conflict means another answer: all of them, but those of a server that says what
        else it is about and shows that there is no answer.
        """
        if conflict.title == unexplained(_CONFLICT):
            return True
        try:
            answer = await self.show_raw(conversation_id)
        except AgentTuiError:
            return True
        return not isinstance(answer, dict) or answer.get("status", "running") == "running"

    async def ask(
        self, conversation_id: str, question: Question, *, give_up_seconds: float | None = GIVE_UP_SECONDS
    ) -> AsyncGenerator[Event, None]:
        """Ask, and yield the events of the answer to its end (see ``ask_frames``).

        If the server does not name the question and its answer, they are announced here under ids of our own
        (``LOCAL_ID``). An answer that is lost is ended before the error is raised.
        """
        answer = _Answer(conversation_id, question, next(self._number))
        frames = self.ask_frames(conversation_id, question, give_up_seconds=give_up_seconds)
        try:
            async with aclosing(frames):
                async for item in frames:
                    for event in answer.events(item):
                        yield event
        except (StreamLost, TimedOut) as error:
            for event in answer.interrupted_events(error):
                yield event
            raise


class _Answer:
    """The events of one answer, in whatever form its frames come."""

    def __init__(self, conversation_id: str, question: Question, number: int) -> None:
        self._conversation_id = conversation_id
        self._question = question
        self._question_id = f"{LOCAL_ID}question-{number}"
        self._decoder = ChatDecoder(f"{LOCAL_ID}answer-{number}")
        self._was_live = False
        self._is_named = False  # the question and its answer, by the server or by us

    def events(self, item: Item) -> list[Event]:
        """Return the events of ``item``; before the first, if the server names neither, question and
        answer.
        """
        if isinstance(item, LinkChanged):
            self._was_live = self._was_live or item.status == "live"
            return [item]
        self._is_named = self._is_named or item.event in _NAMED
        return [*self._announced(), self._decoder.decode(item.event, item.data)]

    def interrupted_events(self, error: StreamLost | TimedOut) -> list[Event]:
        """Return the end of an answer that was interrupted; nothing if it never began."""
        return [*self._announced(), ending_of(self._decoder.turn_id, error)] if self._was_live else []

    def _announced(self) -> list[Event]:
        if self._is_named:
            return []
        self._is_named = True
        question, turn_id = self._question, self._decoder.turn_id
        stored, start = beginning(
            self._conversation_id, self._question_id, question.content, question.attachments, turn_id
        )
        return [start] if question.again or question.continues else [stored, start]


class _Branch:
    """Decodes what follows the loaded branch, whose last message is ``newest``."""

    def __init__(self, newest: str) -> None:
        self._newest = newest
        self._decoder = ChatDecoder(newest)

    def read(self, name: str, data: str) -> Event | None:
        """Return the event of a frame, ``None`` if another client shows another branch."""
        event = self._decoder.decode(name, data)
        match event:
            case MessageStored(message):
                self._newest = message.id
            case TurnStarted(turn_id):
                self._newest = turn_id
            case ConversationChanged(conversation):
                is_elsewhere = conversation.head not in ("", self._newest)
                if is_elsewhere and conversation.status != "running":
                    return None
            case _:
                pass
        return event


def _body(question: Question) -> dict[str, Any]:
    body: dict[str, Any] = {} if question.is_anew else {"content": question.content}
    if question.enabled_tools is not None:
        body["enabled_tools"] = list(question.enabled_tools)
    for name in ("thinking_enabled", "parent_id"):
        if getattr(question, name) is not None:
            body[name] = getattr(question, name)
    return body | only_set(
        attachments=attachment_fields(question.attachments),
        again=question.again,
        continues=question.continues,
        client_key=question.client_key,
    )
