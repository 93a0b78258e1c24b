"""What a client of rooms and one of chats do alike: each call with one answer, and what a server lacks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from agent_tui.clients.clock import Clock
from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import Loaded, LogStream, Source, follow, read_settled, ready
from agent_tui.clients.offers import Offers, explained, not_offered
from agent_tui.clients.pages import read_messages
from agent_tui.clients.paths import Paths
from agent_tui.clients.records import (
    ProviderInfo,
    ProviderTest,
    ToolInfo,
    ToolRule,
    ToolServer,
    read_models,
    read_provider_test,
    read_providers,
    read_rules,
    read_servers,
    read_tools,
)
from agent_tui.model.errors import AgentTuiError, NotFound, NotOffered, ProtocolError, Refused
from agent_tui.model.events import ConversationInfo, Event, Message, RoomInfo

PROVIDER_SECONDS = 60.0  # how much longer than other calls one may take that asks a provider

I = TypeVar("I", RoomInfo, ConversationInfo)  # noqa: E741  what is talked in
FieldValue = str | int | float | bool | Sequence[Mapping[str, str]] | Sequence[str] | None


class Calls(Generic[I]):
    """Calls to one server. ``paths`` says where they are.

    Every method raises what ``Net.call`` raises; ``NotFound`` means the room or conversation, ``NotOffered``
    that this server does not have the call, whichever status it says that with. None is repeated by itself.
    """

    ONE: ClassVar[str]  # "room" or "conversation": also the name of its path, and with an s of the list's
    ENDED_DETAIL: ClassVar[str]  # why nothing can be followed on a server without a log
    OFFERS: ClassVar[Mapping[str, tuple[str, str, str]]]  # see ``Offers``

    def __init__(self, net: Net, paths: Paths, clock: Clock) -> None:
        self._net = net
        self._clock = clock
        self._paths = paths
        self._offers = Offers(net, paths, self.OFFERS)

    @abstractmethod
    def _decode(self, value: object) -> I:
        """Return what an answer holds; raises ``ValueError`` where it holds none."""

    @abstractmethod
    def _decode_messages(self, values: list[Any]) -> list[Message]: ...

    @abstractmethod
    def _followed(self, id_: str, after: int, give_up_seconds: float | None) -> LogStream:
        """Return the frames behind ``after``, as a screen follows them."""

    @abstractmethod
    def _loaded(self, one: I, messages: list[Message], as_of: int) -> Loaded:
        """Return what was loaded, and how what follows it is read."""

    @abstractmethod
    async def listed(self) -> list[I]:
        """Return all of them that are not put away."""

    @abstractmethod
    def _bare(self, id_: str) -> I:
        """Return one of which only the id is known."""

    async def aclose(self) -> None:
        """Close the connections."""
        await self._net.aclose()

    async def missing(self, id_: str) -> Mapping[str, str]:
        """Return what this server does not offer: name of the call → why, one line.

        Asked with ``OPTIONS``, once in the life of this client; whatever does not answer counts as
        offered, and is asked again another time when nothing answered at all. Never raises.
        """
        return await self._offers.missing(id_)

    # --- one room or conversation ----------------------------------------------------------------------

    async def show_raw(self, id_: str) -> Any:
        """Return one as it was answered."""
        return await self._net.call("GET", self._paths.of(self.ONE, id_))

    async def show(self, id_: str) -> I:
        """Return one."""
        return self._decoded(await self.show_raw(id_))

    async def as_known(self, id_: str) -> I:
        """Return one as far as this server shows them at all: at least its id.

        Raises ``NotFound`` when it shows them and this one is not among them.
        """
        try:
            return await self.show(id_)
        except (NotFound, NotOffered) as error:
            unseen = error
        try:
            shown = await self.listed()
        except (NotFound, NotOffered):
            return self._bare(id_)
        for one in shown:
            if one.id == id_:
                return one
        raise unseen

    async def change(self, id_: str, **fields: FieldValue) -> I:
        """Change ``fields``, by the wire's names; ``None`` is sent and means none.

        Raises ``Refused`` (409) for what cannot be changed now, (422) for what is no such field or value.
        """
        return await self._about("PATCH", self.ONE, id_, f"changing {self.ONE}s", fields)

    async def delete(self, id_: str) -> None:
        """Delete one and everything said in it."""
        await self._call("DELETE", self.ONE, (id_,), f"deleting {self.ONE}s")

    async def messages_raw(self, id_: str) -> list[Any]:
        """Return the stored messages of all pages as they were answered."""
        return (await read_messages(self._net, self._paths.of("messages", id_)))[0]

    async def messages(self, id_: str) -> tuple[list[Message], int | None]:
        """Return the stored messages, turns under way included, and the event id they are as of.

        ``events?after=`` that id misses and doubles nothing; it is ``None`` where the server gives none. Of a
        chat they are those of the branch that is shown.
        """
        messages, as_of = await read_messages(self._net, self._paths.of("messages", id_))
        return self._decode_messages(messages), as_of

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
        """Say whether a tool may run: ``decision`` is once, conversation (this room or chat), always (for
        ``pattern``) or deny (for ``reason``); to a form answer (with ``values``), decline or cancel. Raises
        ``Refused`` (409) when that was answered already.
        """
        named = (("pattern", pattern or None), ("reason", reason or None), ("values", values))
        json = {"decision": decision} | {name: value for name, value in named if value is not None}
        await self._call("POST", "ask", (id_, message_id, step_id), "asking before a tool runs", json)

    # --- followed --------------------------------------------------------------------------------------

    def follow(self, id_: str, *, give_up_seconds: float | None = None) -> AsyncGenerator[Event, None]:
        """Yield one as it is stored (``RoomLoaded``, ``ConversationLoaded``), then everything that happens in
        it; a chat is loaded again when another branch of it is shown. See ``log_stream.follow``.
        """
        return follow(ready(self.source(id_, give_up_seconds)))

    def source(self, id_: str, give_up_seconds: float | None) -> Source:
        """Return one as something that can be followed."""

        async def load() -> Loaded:
            messages, one, as_of = await read_settled(lambda: self.messages(id_), lambda: self.as_known(id_))
            return self._loaded(one, messages, as_of)

        async def last_event_id() -> int:
            return (await self.show(id_)).last_event_id

        def stream(after: int) -> LogStream:
            return self._followed(id_, after, give_up_seconds)

        return Source(load, stream, last_event_id, self.ENDED_DETAIL, self._clock, give_up_seconds)

    # --- providers and tools ---------------------------------------------------------------------------

    async def providers(self) -> list[ProviderInfo]:
        """Return the providers of models that the server knows, its default first."""
        return read_providers(await self._plain_call("GET", "providers", "a list of providers"))

    async def models(self, provider_id: str) -> list[str]:
        """Return the models of one provider, who is asked now; raises what a person can act on."""
        path = self._paths.of("provider_models", provider_id)
        return read_models(await self._net.call("GET", path, patience=PROVIDER_SECONDS))

    async def test_provider(self, **fields: str) -> ProviderTest:
        """Ask a provider that is not yet in the config (kind, base_url, api_key, api_key_env, model)."""
        path = self._paths.of("provider_test")
        return read_provider_test(await self._net.call("POST", path, json=fields, patience=PROVIDER_SECONDS))

    async def tools(self, *, is_waiting: bool = True) -> tuple[list[ToolInfo], list[ToolServer]]:
        """Return the tools that agents may use here, and the MCP servers that some of them come from. Servers
        that still start are waited for, unless it is not ``is_waiting``.
        """
        params = {} if is_waiting else {"wait": "0"}
        value = await self._plain_call("GET", "tools", "a list of tools", params=params)
        return read_tools(value), read_servers(value)

    async def rules(self) -> list[ToolRule]:
        """Return which calls run without asking, and which rules of an earlier version are suspended."""
        return read_rules(await self._plain_call("GET", "rules", "a list of rules"))

    async def confirm_rule(self, rule_id: str) -> None:
        """Let a suspended rule hold again."""
        await self._rule_call("POST", "rule_confirm", rule_id, "confirming a rule")

    async def drop_rule(self, rule_id: str) -> None:
        """Take a rule back: what it allowed is asked again."""
        await self._rule_call("DELETE", "rule", rule_id, "taking back a rule")

    async def _rule_call(self, method: str, name: str, rule_id: str, what: str) -> None:
        path = self._paths.of(name, rule_id)
        try:
            await self._net.call(method, path)
        except (NotFound, NotOffered) as error:
            raise await explained(self._net, method, path, what, error) from error

    # --- how it is called ------------------------------------------------------------------------------

    async def _plain_call(
        self,
        method: str,
        name: str,
        what: str,
        *,
        params: Mapping[str, str] | None = None,
        json: object = None,
        patience: float = 0.0,
    ) -> Any:
        """Call what needs no id: a 404 there means that the call is missing."""
        path = self._paths.of(name)
        try:
            return await self._net.call(method, path, params=params, json=json, patience=patience)
        except (NotFound, NotOffered) as error:
            raise not_offered(what, error) from error

    async def _call(self, method: str, name: str, ids: Sequence[str], what: str, json: object = None) -> Any:
        """Call what has ids, first that of the room or conversation."""
        path = self._paths.of(name, *ids)
        try:
            return await self._net.call(method, path, json=json)
        except NotOffered as error:
            raise not_offered(what, error) from error
        except NotFound as error:
            raise await self._explained(method, path, ids, what, error) from error

    async def _explained(
        self, method: str, path: str, ids: Sequence[str], what: str, error: NotFound
    ) -> Refused:
        """Say what a 404 means: the call, the room or conversation, or what is in it."""
        try:
            methods = await self._net.methods(path)
        except AgentTuiError:
            methods = None
        if method in (methods or ()) or (methods is None and len(ids) > 1):
            return error
        try:
            await self.as_known(ids[0])
        except AgentTuiError:
            return error
        return not_offered(what, error)

    async def _about(
        self, method: str, name: str, ids: str | Sequence[str], what: str, json: object = None
    ) -> I:
        """Return the one that the answer holds; when it holds none, it is looked at."""
        ids = (ids,) if isinstance(ids, str) else ids
        answer = await self._call(method, name, ids, what, json)
        try:
            return self._decode(answer)
        except ValueError:
            return await self.as_known(ids[0])

    def _decoded(self, value: object) -> I:
        try:
            return self._decode(value)
        except ValueError as error:
            raise ProtocolError(f"the server's answer is no {self.ONE}") from error
