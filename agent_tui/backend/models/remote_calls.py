"""The calls of a provider through ``pydantic_ai.direct``.

Imported only by ``remote``, in a thread: the imports below cost more than a second.

What to know of pydantic-ai 2.68 and the SDKs: their retries are off here (the room's runner retries,
visibly); a stream that simply ends counts as complete unless somebody looks for its end, which is a reason to
finish or, with OpenAI's, ``[DONE]`` – servers are known to leave out either, so one of them is enough;
nothing limits the size of an answer.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

import httpx2
from pydantic_ai import UnexpectedModelBehavior
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.exceptions import ModelHTTPError, ModelNotFoundError
from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from agent_tui.backend.bounded import BoundedBody, Utf8Body
from agent_tui.backend.engine.context.trimming import SHORT_TOKENS, fitted, prompt_tokens
from agent_tui.backend.models.contexts import Contexts
from agent_tui.backend.models.dialects import OPENAI_HOST, dialect
from agent_tui.backend.models.endpoints import (
    ProviderAddress,
    api_root,
    unusable,
    without_login,
)
from agent_tui.backend.models.listing import ModelListing
from agent_tui.backend.models.model import (
    ApartPiece,
    CutPiece,
    ModelRequest,
    NotePiece,
    Piece,
    TextPiece,
    ToolSpec,
    UsagePiece,
)
from agent_tui.backend.models.ollama import OllamaTransport
from agent_tui.backend.models.remote_errors import FAILURES, Teller, is_too_long, own_words
from agent_tui.backend.models.remote_history import ProviderThoughts, has_thoughts, model_messages
from agent_tui.backend.models.remote_pieces import Pieces, ending
from agent_tui.config.presets import LOOPBACK
from agent_tui.model.errors import ConfigError, ModelError
from agent_tui.redaction import shown_url
from agent_tui.tls import tls_context
from agent_tui.wire.content import encodable

CONNECT_SECONDS = 10.0
SLACK_SECONDS = 1.0
MAX_FACT_BYTES = 8 * 1024 * 1024  # of requests besides answers: lists of models, contexts
MAX_ANSWER_BYTES = 64 * 1024 * 1024  # of one response as it travels, JSON around every token included
# Most servers refuse a call with the first two; OpenRouter with 404, Groq and llama.cpp with the others.
REFUSALS = (400, 422, 404, 413, 500, 501)
LOADING = NotePiece("loading")
LOADING_SECONDS = 0.5  # between two calls of a server that is loading its model
LEAST_CONTEXT_TOKENS = 500  # no model takes less
MAX_SHORTER = 3  # calls that are repeated with less, each
# Servers that continue an answer with which the messages end: kinds of providers, and OpenAI-compatible
# servers' own names in their lists of models ("library" is Ollama). Others begin a new answer.
PREFILLING = frozenset({"anthropic", "ollama", "library", "llamacpp", "vllm"})
VLLM_PREFILL = {"continue_final_message": True, "add_generation_prompt": False}
_NO_PREFILL = re.compile(
    "prefill|end with a user message|final `assistant` message|continue_final_message|add_generation_prompt"
)
BEGINNING_BYTES = 16_000  # of an answer that is not a stream, for the error
END_BYTES = 32  # more than the end of a stream
MAX_CONNECTIONS = 1000  # every agent of a parallel round needs one
# Its INFO lines contain whole URLs, which may contain a secret.
logging.getLogger("httpx2").setLevel(logging.WARNING)


@dataclass(slots=True)
class _Watch:
    """What the bytes of one response showed that the SDK does not report."""

    end: re.Pattern[bytes] | None
    done: bool = False
    has_begun: bool = False  # some of the answer was passed on
    beginning: bytes = b""  # the beginning of the body
    response: httpx2.Response | None = None
    _tail: bytes = b"\n"

    def see(self, piece: bytes) -> None:
        """Read the next bytes."""
        self.beginning += piece[: BEGINNING_BYTES - len(self.beginning)]
        if self.end is not None:
            self._tail = self._tail[-END_BYTES:] + piece
            self.done = self.done or self.end.search(self._tail) is not None

    @property
    def page(self) -> bytes:
        """The beginning of an answer that is not a stream."""
        kind = "" if self.response is None else self.response.headers.get("content-type", "")
        return b"" if "event-stream" in kind else self.beginning


@dataclass(slots=True)
class _Repeat:
    """Why a call is repeated."""

    shorter: int = 0  # how many times
    without: frozenset[str] = frozenset()  # what its server does not seem to take
    has_begun: bool = False  # the answer has begun
    is_due: bool = False  # the call that ended is made once more
    is_loading: bool = False


# How the HTTP hook finds its call: both run in the same task.
_watch: ContextVar[_Watch | None] = ContextVar("_watch", default=None)


def connect(endpoint: ProviderAddress, contexts: dict[str, int]) -> ProviderConnection:
    """Return the endpoint's connection pool; raises ``ModelError`` for an invalid address. What is learned
    about its models is stored in ``contexts``.
    """
    try:
        return ProviderConnection(endpoint, contexts)
    except (ValueError, httpx2.InvalidURL):
        raise unusable(endpoint) from None  # not chained: it may quote the URL, and with it a password
    except ConfigError as error:  # of the environment's certificates
        raise ModelError(error.title, error.detail) from error


class ProviderConnection:
    """One provider's connection pool; slow to make (TLS), so made in a thread."""

    def __init__(self, endpoint: ProviderAddress, contexts: dict[str, int]) -> None:
        url, login = without_login(endpoint.base_url)
        host = urlsplit(url).hostname or ""
        self._is_openai = host == OPENAI_HOST
        self._endpoint = endpoint
        # A little more than the engine waits for a token: the engine's error is the better one.
        timeout = httpx2.Timeout(endpoint.silence_seconds + SLACK_SECONDS, connect=CONNECT_SECONDS, pool=None)
        limits = httpx2.Limits(max_connections=MAX_CONNECTIONS, max_keepalive_connections=20)
        verify, native = tls_context(None, os.environ), None
        if endpoint.num_ctx:
            inner = httpx2.AsyncHTTPTransport(verify=verify, limits=limits)
            native = OllamaTransport(inner, endpoint.num_ctx)
        self._http = httpx2.AsyncClient(
            auth=httpx2.BasicAuth(*login) if login else None,
            timeout=timeout,
            limits=limits,
            headers={"Accept-Encoding": "identity"},  # so that _Watch sees what the SDK reads
            verify=verify,
            transport=native,
            trust_env=host not in LOOPBACK,  # a proxy cannot reach addresses of this machine
            event_hooks={"request": [self._strip], "response": [_watch_body]},
        )
        root = api_root(endpoint.kind, url)
        self._dialect = dialect(endpoint, root, self._http, timeout)
        self._contexts = Contexts(endpoint, root, self._http, contexts)
        self._thoughts = ProviderThoughts()
        self._asked_why: set[str] = set()  # models whose stream ended before its first word
        self._server: str | None = None  # its own name, once it was asked
        self._without_prefill: set[str] = set()  # models
        self._teller = Teller(endpoint, shown_url=shown_url(url), secrets=endpoint.secrets())
        self.listing = ModelListing(endpoint, root, self._http, self._teller)
        self._failures: tuple[type[Exception], ...] = (
            ModelError,
            *FAILURES,
            *self._dialect.failures,
        )

    async def aclose(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def context_tokens(self, name: str) -> int:
        """Return the size of model ``name``'s context, as far as its server says."""
        async with aclosing(self._contexts.prepare(name, is_short=False)) as notes:
            async for _ in notes:
                pass
        return self._contexts.tokens(name)

    async def stream(self, name: str, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the answer of model ``name``; raises ``ModelError``.

        A call that is refused for something in it, or for its length, is repeated without that, or shorter:
        nothing was answered yet. A server that refuses to continue its own words is asked to in words.
        """
        if self._dialect.wants_thoughts and not has_thoughts(request.messages, self._thoughts):
            request = replace(request, thinking=False)
        _watch.set(None)
        is_short = prompt_tokens(request) < SHORT_TOKENS
        async with aclosing(self._contexts.prepare(name, is_short=is_short)) as preparation:
            async for note in preparation:
                yield note
        prefills = bool(request.continues) and await self._prefills(name)
        yielded: set[NotePiece] = set()
        repeat = _Repeat()
        while True:
            repeat.is_due = False
            fitted_request, notes = self._fit_request(name, request)
            if repeat.is_loading:
                notes.append(LOADING)
            for note in notes:
                if note not in yielded:
                    yield note
            yielded.update(notes)
            model, watch = self._dialect.model(name), _Watch(self._dialect.end)
            # Claude refuses the beginning of its answer if it is to think first.
            may_think = not (prefills and self._dialect.wants_thoughts)
            sent_request = fitted_request if may_think else replace(fitted_request, thinking=None)
            _watch.set(watch)
            try:
                async with aclosing(self._pieces(model, name, sent_request, watch, prefills)) as pieces:
                    async for piece in pieces:
                        watch.has_begun = repeat.has_begun = True
                        yield piece
                return
            except self._failures as error:
                if _is_refusal(error, watch) and prefills and _NO_PREFILL.search(str(error)):
                    self._without_prefill.add(name)
                    prefills, repeat.is_due = False, True
                    continue
                repeat.is_due = await self._can_repeat(repeat, model, request, fitted_request, error, watch)
                if not repeat.is_due:
                    # Not chained: the SDK's errors quote the server, which may have echoed a key.
                    raise await self._failure(name, error, watch) from None
            finally:
                if not (repeat.has_begun or repeat.is_due):  # what was learned did not help
                    self._dialect.forget(name, repeat.without)
                if watch.response is not None:  # not every SDK closes the response of a cancelled call
                    await watch.response.aclose()

    async def _failure(self, name: str, error: Exception, watch: _Watch) -> ModelError:
        if isinstance(error, ModelError):
            return error
        _watch.set(None)  # what is requested now does not belong to the answer
        known = await self.listing.hint() if isinstance(error, ModelNotFoundError) else ()
        return self._redirect_error(watch) or self._teller.error(
            name, error, known, watch.page, has_begun=watch.has_begun
        )

    async def _can_repeat(
        self,
        repeat: _Repeat,
        model: Model[Any],
        request: ModelRequest,
        sent: ModelRequest,
        error: Exception,
        watch: _Watch,
    ) -> bool:
        """Return whether the call can be repeated, with what its ``error`` taught: a limit, something that
        the model does not take, or that its server is still loading it.
        """
        name = model.model_name
        if _is_loading(error):
            repeat.is_loading = True
            await asyncio.sleep(LOADING_SECONDS)  # the caller decides how long to wait for the answer
            return True
        why = error if _is_refusal(error, watch) else await self._why_empty(model, sent, watch)
        if is_too_long(why) and repeat.shorter < MAX_SHORTER:
            repeat.shorter += 1
            self._contexts.learn(name, prompt_tokens(sent), str(why))
            if self._fit_request(name, request)[0] != sent:  # something can be left out
                return True
        if why is not error:
            return False
        learned = self._dialect.learn(model, own_words(error, name), sent)
        repeat.without |= learned
        return bool(learned)

    async def _why_empty(self, model: Model[Any], sent: ModelRequest, watch: _Watch) -> Exception | None:
        """Return why a stream ended before its first word. A model is asked once, without a stream.

        llama-cpp-python's server ends a stream so if a prompt is too long, and LiteLLM takes that for a
        complete answer; both name the limit only without a stream.
        """
        name = model.model_name
        is_empty = watch.response is not None and watch.response.status_code == 200 and not watch.has_begun
        is_news = name not in self._asked_why and not self._contexts.is_known(name)
        if not (is_empty and is_news) or prompt_tokens(sent) < LEAST_CONTEXT_TOKENS:
            return None
        self._asked_why.add(name)
        _watch.set(None)
        settings = ModelSettings(**{**self._dialect.settings(model, sent), "max_tokens": 1})
        try:
            await model_request(
                model,
                model_messages(
                    sent.messages, self._thoughts, has_tools=bool(sent.tools), any_ids=self._dialect.any_ids
                ),
                model_settings=settings,
                model_request_parameters=_tool_parameters(sent.tools),
                instrument=False,
            )
        except self._failures as error:
            return error
        return None

    def refuses(self, name: str) -> frozenset[str]:
        """Return what the model does not take, as its server said or refused it so far: "tools", "images",
        fields of a call.
        """
        declared = {"tools": self._contexts.without_tools, "images": self._contexts.without_images}
        return self._dialect.refused(name).union(what for what, names in declared.items() if name in names)

    def _fit_request(self, name: str, request: ModelRequest) -> tuple[ModelRequest, list[NotePiece]]:
        """Return the messages for the model from ``request``: without what it refused, and as much as fits;
        and the notes for people about that. Raises ``ModelError`` if it cannot fit.
        """
        notes: list[NotePiece] = []
        refused = self.refuses(name)
        if request.tools and "tools" in refused:
            request = replace(request, tools=())
            notes.append(NotePiece("no_tools"))
        has_images = any(message.images for message in request.messages)
        if has_images and "images" in refused:
            notes.append(NotePiece("no_images"))
            request = request.without_images()
        if not self._contexts.is_known(name) and prompt_tokens(request) < SHORT_TOKENS:
            return request, notes
        context = self._contexts.tokens(name)
        request, fitting = fitted(request, context, limits_answer=self._contexts.is_ollama)
        if self._contexts.is_ollama and prompt_tokens(request) > context:
            # Ollama would silently leave out the beginning.
            raise self._teller.too_long(name, context, has_tools=bool(request.tools))
        return request, [*notes, *fitting.notes]

    async def _pieces(
        self, model: Model[Any], name: str, request: ModelRequest, watch: _Watch, prefills: bool
    ) -> AsyncGenerator[Piece]:
        """Yield the answer to one call; raises ``ModelError`` and what SDKs raise."""
        pieces = Pieces(has_tools=bool(request.tools))
        messages = model_messages(
            request.messages,
            self._thoughts,
            has_tools=bool(request.tools),
            any_ids=self._dialect.any_ids,
            continues=request.continues,
            is_prefilled=prefills,
        )
        settings = self._dialect.settings(model, request)
        if prefills and self._server == "vllm":
            settings["extra_body"] = {**_body(settings), **VLLM_PREFILL}
        if request.continues and not prefills:
            yield ApartPiece()
        try:
            async with model_request_stream(
                model,
                messages,
                model_settings=settings,
                model_request_parameters=_tool_parameters(request.tools),
                instrument=False,
            ) as response:
                async for event in response:
                    for piece in pieces.of(event):
                        yield piece
                # A model that has nothing to add to its answer has finished it.
                last = self._last_pieces(name, response, watch, pieces.said or bool(request.continues))
                self._thoughts.keep(request.messages, response.get())
                for piece in last:
                    yield piece
        except UnexpectedModelBehavior as error:  # a stream without a single chunk
            if watch.done and not pieces.said:
                raise self._teller.empty(name, out_of_tokens=False) from None
            if not watch.beginning:
                raise self._teller.broke_off(name) from None
            raise self._teller.error(name, error, came=watch.page) from None

    async def _prefills(self, name: str) -> bool:
        """Return whether model ``name`` continues its own last words in the messages."""
        if name in self._without_prefill or self._is_openai:
            return False
        if self._endpoint.kind == "openai" and self._server is None:
            self._server = await self.listing.server()
        return self._endpoint.kind in PREFILLING or self._server in PREFILLING

    def _redirect_error(self, watch: _Watch) -> ModelError | None:
        response = watch.response
        if response is None or not response.has_redirect_location:
            return None
        return self._teller.elsewhere(response.status_code, response.headers["location"])

    def _last_pieces(self, name: str, response: StreamedResponse, watch: _Watch, said: bool) -> list[Piece]:
        """Return what is known only at the end; raises ``ModelError`` if that was not a good end."""
        details = response.provider_details or {}
        if refusal := details.get("refusal"):
            return [TextPiece(encodable(str(refusal))), *_usage(response)]
        reason = details.get("block_reason") or details.get("finish_reason")
        if not watch.done and reason is None:
            raise self._teller.broke_off(name)
        end = "filtered" if details.get("block_reason") else ending(reason, response.finish_reason)
        if end == "filtered":
            raise self._teller.filtered(name, str(reason or response.finish_reason))
        if not said and end == "given up":
            raise self._teller.stopped(name, str(reason))
        if not said:
            raise self._teller.empty(name, out_of_tokens=end == "length")
        if end == "good":
            return _usage(response)
        return [CutPiece("length" if end == "length" else str(reason)), *_usage(response)]

    async def _strip(self, request: httpx2.Request) -> None:
        """Remove what the SDK reveals about this machine, and OpenAI's account names for other hosts."""
        for header in list(request.headers):
            is_account = header.startswith("openai-") and not self._is_openai
            if header.startswith("x-stainless-") or header == "x-server-timeout" or is_account:
                del request.headers[header]


async def _watch_body(response: httpx2.Response) -> None:
    watch = _watch.get()
    if watch is None:
        response.stream = BoundedBody(response, MAX_FACT_BYTES, ModelError)
    else:
        bounded = BoundedBody(response, MAX_ANSWER_BYTES, ModelError, watch.see)
        # A page with an error may have a charset of its own.
        response.stream = Utf8Body(bounded) if response.status_code == httpx2.codes.OK else bounded
        watch.response = response


def _is_loading(error: Exception) -> bool:
    """Return whether the server says that it is loading its model, as llama.cpp does."""
    return isinstance(error, ModelHTTPError) and error.status_code == 503 and "Loading model" in str(error)


def _is_refusal(error: Exception, watch: _Watch) -> bool:
    refused = watch.response is not None and watch.response.status_code in REFUSALS
    return refused and isinstance(error, ModelHTTPError)


def _body(settings: ModelSettings) -> Mapping[str, object]:
    """Return the fields of a call that the SDK does not have."""
    body = settings.get("extra_body")
    return body if isinstance(body, Mapping) else {}


def _tool_parameters(tools: Sequence[ToolSpec]) -> ModelRequestParameters:
    """Return the tools unchanged: only some of OpenAI's own models support strict schemas."""
    return ModelRequestParameters(
        function_tools=[
            ToolDefinition(
                name=tool.name,
                description=tool.description,
                parameters_json_schema=dict(tool.parameters),
                strict=False,
            )
            for tool in tools
        ]
    )


def _usage(response: StreamedResponse) -> list[Piece]:
    usage = response.usage
    counted = usage.input_tokens or usage.output_tokens
    return [UsagePiece(usage.input_tokens, usage.output_tokens)] if counted else []
