"""The client of rooms or chats: the calls that both have."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from agent_tui.clients.backend import BackendClient, decision_fields
from agent_tui.clients.calls import Calls
from agent_tui.clients.clock import SYSTEM_CLOCK, Clock
from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import (
    LogStream,
    Post,
    Source,
    StoredConversation,
    follow,
    read_settled,
    ready,
)
from agent_tui.clients.paths import Paths
from agent_tui.clients.records import read_all, whole_list
from agent_tui.model.errors import NotFound, NotOffered, ProtocolError
from agent_tui.model.events import ChangedFile, ConversationInfo, Event, Message, RoomInfo
from agent_tui.wire.fields import page_marks

MAX_PAGES = 1000
LARGEST_PAGE = 1000  # messages; the most that a page has if no number is requested

I = TypeVar("I", RoomInfo, ConversationInfo)  # noqa: E741  a room or a chat
FieldValue = str | int | float | bool | Sequence[Mapping[str, str]] | Sequence[str] | None


@dataclass(frozen=True, slots=True)
class ClientKind(Generic[I]):
    """The differences between rooms and chats; ``one`` is also the name of the path of a single room or
    chat.

    ``offers`` is that of ``Calls``. ``loaded`` makes the event of what was loaded, and says how to read what
    follows. Events are requested with ``params`` and ``headers``, and with ``following`` by clients that
    stay; ``terminal`` names the events that end a run or an answer. ``ended_detail`` says why nothing can be
    followed on a server without a log, ``silence_seconds`` how long it may be silent before it counts as
    lost, ``is_ours`` which data of a stream is about one of them.
    """

    one: str
    paths: Mapping[str, str]
    offers: Mapping[str, tuple[str, str, str]]
    bare: Callable[[str], I]
    decode: Callable[[object], I]
    decode_listed: Callable[[object], list[I]]
    decode_messages: Callable[[object], list[Message]]
    loaded: Callable[[I, list[Message], int], StoredConversation]
    ended_detail: str
    terminal: frozenset[str]
    silence_seconds: float
    params: Mapping[str, str] = field(default_factory=dict)
    following: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    is_ours: Callable[[str], Callable[[str], bool] | None] = lambda id_: None


class Conversations(Generic[I]):
    """Calls to one server, which raise what ``Calls`` says. ``paths`` replaces some of those of ``kind``.

    ``backend`` has the calls that are about no conversation. Streams are async generators: close them
    (``contextlib.aclosing``) when leaving early.
    """

    def __init__(
        self,
        kind: ClientKind[I],
        net: Net,
        paths: Mapping[str, str] | None = None,
        *,
        clock: Clock = SYSTEM_CLOCK,
        silence_seconds: float | None = None,
    ) -> None:
        self._kind: ClientKind[I] = kind
        self._net = net
        self._clock = clock
        self._paths = Paths(kind.paths, paths or {})
        self._calls = Calls(net, self._paths, kind.offers, self.as_known)
        self._silence_seconds = kind.silence_seconds if silence_seconds is None else silence_seconds
        self.backend = BackendClient(self._calls, clock=clock)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._net.aclose()

    async def missing(self, id_: str) -> Mapping[str, str]:
        """Return what this server does not offer: name of the call → why, one line. See ``Calls.missing``."""
        return await self._calls.missing(id_)

    # --- all of them -----------------------------------------------------------------------------------

    async def list_raw(self, params: Mapping[str, str] | None = None, patience: float = 0.0) -> Any:
        """Return the list as it was answered; ``params`` and ``patience`` are ``Net.call``'s."""
        many = f"{self._kind.one}s"
        value = await self._calls.plain("GET", many, f"a list of {many}", params=params, patience=patience)
        if not isinstance(value, Mapping | list):
            raise ProtocolError(f"the server's answer is not a list of {many}")
        return value

    async def list_all(self, archived: bool = False) -> list[I]:
        """Return all of them, newest activity first; archived ones only with ``archived``."""
        value = await self.list_raw({"archived": "1"} if archived else None)
        return self._kind.decode_listed(whole_list(value, f"{self._kind.one}s"))

    async def _create(self, fields: Mapping[str, FieldValue]) -> I:
        many = f"{self._kind.one}s"
        return self._decoded(await self._calls.plain("POST", many, f"making {many}", json=fields))

    # --- one of them -----------------------------------------------------------------------------------

    async def show_raw(self, id_: str) -> Any:
        """Return a room or chat as it was answered."""
        return await self._net.call("GET", self._paths.of(self._kind.one, id_))

    async def show(self, id_: str) -> I:
        """Return a room or chat."""
        return self._decoded(await self.show_raw(id_))

    async def as_known(self, id_: str) -> I:
        """Return a room or chat with as much as this server shows of it: at least its id.

        Raises ``NotFound`` if the server has a list, and it is not in it.
        """
        try:
            return await self.show(id_)
        except (NotFound, NotOffered) as error:
            not_found = error
        try:
            listed = await self.list_all()
        except (NotFound, NotOffered):
            return self._kind.bare(id_)
        for info in listed:
            if info.id == id_:
                return info
        raise not_found

    async def change(self, id_: str, **fields: FieldValue) -> I:
        """Change ``fields``, by the wire's names; ``None`` is sent and means none.

        Raises ``Refused`` (409) for what cannot be changed now, (422) for an unknown field or an invalid
        value.
        """
        return await self._act("PATCH", self._kind.one, (id_,), f"changing {self._kind.one}s", fields)

    async def delete(self, id_: str) -> None:
        """Delete a room or chat and everything said in it."""
        await self._calls.about("DELETE", self._kind.one, (id_,), f"deleting {self._kind.one}s")

    async def messages_raw(self, id_: str) -> list[Any]:
        """Return the stored messages of all pages as they were answered."""
        return (await read_messages(self._net, self._paths.of("messages", id_)))[0]

    async def messages(self, id_: str) -> tuple[list[Message], int | None]:
        """Return the stored messages, current turns included, and the event id that they correspond to.

        ``events?after=`` that id neither misses nor repeats anything; it is ``None`` if the server sends
        none. For a chat they are those of the shown branch.
        """
        messages, as_of = await read_messages(self._net, self._paths.of("messages", id_))
        return self._kind.decode_messages(messages), as_of

    async def answer(
        self,
        id_: str,
        message_id: str,
        step_id: str,
        decision: str,
        pattern: str = "",
        reason: str = "",
        values: Mapping[str, Any] | None = None,
    ) -> None:
        """Allow or deny a tool: ``decision`` is once, conversation (this room or chat), always (for
        ``pattern``) or deny (for ``reason``); for a form it is answer (with ``values``), decline or cancel.
        Raises ``Refused`` (409) if the question was answered already.
        """
        json = decision_fields(decision, pattern, reason, values)
        what = "asking before a tool runs"
        await self._calls.about("POST", "ask", (id_, message_id, step_id), what, json)

    async def changed_files(self, id_: str) -> list[ChangedFile]:
        """Return the files that tools changed, the newest change first."""
        value = await self._calls.about("GET", "changes", (id_,), "a list of changed files")
        return read_all(ChangedFile, value, "changes")

    async def undo(self, id_: str, message_id: str, step_id: str = "") -> tuple[list[ChangedFile], ...]:
        """Undo the changes of one call, or of an answer; return what was undone, and what was left. Raises
        ``Refused`` (409) if nothing could be undone, or an agent is speaking.
        """
        body = {"message_id": message_id} | ({"step_id": step_id} if step_id else {})
        value = await self._calls.about("POST", "undo", (id_,), "undoing changes", body)
        return read_all(ChangedFile, value, "undone"), read_all(ChangedFile, value, "left")

    # --- followed --------------------------------------------------------------------------------------

    def follow(self, id_: str, *, give_up_seconds: float | None = None) -> AsyncGenerator[Event, None]:
        """Yield a room or chat as it is stored (``RoomLoaded``, ``ConversationLoaded``), then everything that
        happens in it; a chat is loaded again when another branch of it is shown. See ``log_stream.follow``.
        """
        return follow(ready(self.source(id_, give_up_seconds)))

    def source(self, id_: str, give_up_seconds: float | None) -> Source:
        """Return a room or chat as a ``Source`` for ``follow``."""

        async def load() -> StoredConversation:
            messages, one, as_of = await read_settled(lambda: self.messages(id_), lambda: self.as_known(id_))
            return self._kind.loaded(one, messages, as_of)

        async def last_event_id() -> int:
            return (await self.show(id_)).last_event_id

        def stream(after: int) -> LogStream:
            return self._log(id_, after, give_up_seconds=give_up_seconds, following=self._kind.following)

        return Source(load, stream, last_event_id, self._kind.ended_detail, self._clock, give_up_seconds)

    # --- how it is called ------------------------------------------------------------------------------

    def _log(
        self,
        id_: str,
        after: int | None = None,
        post: Post | None = None,
        *,
        give_up_seconds: float | None,
        following: Mapping[str, str] | None = None,
    ) -> LogStream:
        return LogStream(
            self._net,
            self._paths.of("events", id_),
            {**self._kind.params, **(following or {})},
            idle_timeout=self._silence_seconds,
            after=after,
            post=post,
            is_last=None if post is None else lambda frame: frame.event in self._kind.terminal,
            is_ours=self._kind.is_ours(id_),
            headers=self._kind.headers,
            give_up_seconds=give_up_seconds,
            clock=self._clock,
        )

    async def _act(self, method: str, name: str, ids: Sequence[str], what: str, json: object = None) -> I:
        """Return the room or chat in the answer; if there is none, request it."""
        answer = await self._calls.about(method, name, ids, what, json)
        try:
            return self._kind.decode(answer)
        except ValueError:
            return await self.as_known(ids[0])

    def _decoded(self, value: object) -> I:
        try:
            return self._kind.decode(value)
        except ValueError as error:
            raise ProtocolError(f"the server's answer is not a {self._kind.one}") from error


async def read_messages(net: Net, path: str) -> tuple[list[Any], int | None]:
    """Return the messages of all pages as they were answered, and the event id that they correspond to.

    Raises what ``Net.call`` raises, and ``ProtocolError`` for anything but a list of messages.
    """
    messages: list[Any] = []
    params: dict[str, str] = {}
    for _ in range(MAX_PAGES):
        page = await net.call("GET", path, params=params)
        items = page.get("messages") if isinstance(page, Mapping) else page
        if not isinstance(items, list):
            raise ProtocolError("the server's answer is not a list of messages")
        next_id, as_of = page_marks(page)
        page_start = len(messages)
        messages += items
        if next_id is not None and next_id != params.get("after") and items:
            params["after"] = next_id
            continue
        earlier = enumerate(messages[:page_start])
        streaming_at = next((at for at, item in earlier if _field(item, "status") == "streaming"), None)
        if streaming_at is None or "limit" in params:
            return messages, as_of
        # A current turn on an earlier page has continued since then: everything from it on is read again
        # in one answer, so that all of it corresponds to one event.
        del messages[streaming_at:]
        params = {"limit": str(LARGEST_PAGE)}
        if messages:
            params["after"] = str(_field(messages[-1], "id"))
    raise ProtocolError(f"the server's answer has more than {MAX_PAGES} pages of messages")


def _field(item: object, name: str) -> object:
    return item.get(name) if isinstance(item, Mapping) else None
