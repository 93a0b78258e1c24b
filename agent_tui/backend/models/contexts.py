"""The size of a model's context in tokens, and whether its server has loaded it.

Sources, read from the real program or its documentation: Ollama ``GET /api/ps`` (``context_length`` of a
loaded model), ``POST /api/show`` (``parameters``, ``capabilities``) and ``POST /api/generate`` without a
prompt, which loads a model; llama.cpp ``GET /props`` (``default_generation_settings.n_ctx``) and
``meta.n_ctx_train`` in its ``/v1/models``; there also vLLM's ``max_model_len``, OpenRouter's and Together's
``context_length``, Groq's ``context_window``, Mistral's ``max_context_length``; LM Studio ``GET
/api/v0/models`` (``loaded_context_length``, ``max_context_length``); LiteLLM ``GET /model/info``.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2

from agent_tui.backend.models.endpoints import ProviderAddress, key_headers
from agent_tui.backend.models.model import NotePiece
from agent_tui.backend.models.prices import listed_context
from agent_tui.model.errors import ModelError

GUESSED_TOKENS = 32_768  # where nothing says how many; the error of a call that is too long corrects it
AGAIN_SECONDS = 180.0  # after that a server is asked again: it may have loaded the model anew
READ_SECONDS = 3.0  # for each of the questions; loading a model may take as long as an answer
MOST_TOKENS = 100_000_000  # no context is larger: a higher value is nonsense
_LISTED = ("context_length", "context_window", "max_model_len", "max_context_length", "max_input_tokens")
_NUM_CTX = re.compile(r"^\s*num_ctx\s+(\d{1,20})", re.MULTILINE)
_NUMBER = r"(\d[\d,]{0,20})"  # ``int`` takes no more than thousands of digits
# What errors say about the limit: OpenAI and vLLM, xAI, llama-cpp-python and LM Studio, llama.cpp (text and
# field), Mistral, Anthropic, Gemini, TGI.
_LIMITS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"maximum (?:context|prompt) length (?:is|of) {_NUMBER}",
        rf"context (?:length|window|size) of (?:only )?{_NUMBER}",
        rf"context (?:size|length|window) \({_NUMBER}",
        rf"n_ctx\W{{1,4}}{_NUMBER}",
        rf"with {_NUMBER} maximum context",
        rf"> {_NUMBER} maximum",
        rf"number of tokens allowed \({_NUMBER}",
        rf"must be <= {_NUMBER}",
    )
)


def limit_named(error: str) -> int:
    """Return the size of a model's context, from its server's error; 0 if it does not say."""
    for limit in _LIMITS:
        if found := limit.search(error):
            return _tokens(int(found[1].replace(",", "")))
    return 0


class Contexts:
    """What is known about one provider's models. ``known`` (model → tokens) outlives a connection.

    No answer of a server raises here: without a usable one nothing is known.
    """

    def __init__(
        self, endpoint: ProviderAddress, root: str, http: httpx2.AsyncClient, known: dict[str, int]
    ) -> None:
        """``root`` is the beginning of its API's URLs, as ``endpoints.api_root`` returns it."""
        parts = urlsplit(root)
        self._endpoint = endpoint
        self._root = root
        self._server = urlunsplit(parts._replace(path=parts.path.removesuffix("/v1"), query="", fragment=""))
        self._http = http
        self._known = known
        self._learned: dict[str, int] = {}
        self._asked: set[str] = set()  # models whose server has been asked
        # By model: (place in ``_contexts_by_source``, tokens, when the server said so).
        self._answers: dict[str, tuple[int, int, float]] = {}
        self.is_ollama = endpoint.kind == "ollama"
        self.without_tools: set[str] = set()  # models that take no tools, by their server
        self.without_images: set[str] = set()  # models that see no images, by their server

    def tokens(self, name: str) -> int:
        """Return the size of the model's context including the answer, as far as it is known."""
        size = self._endpoint.context_tokens or self._known.get(name) or GUESSED_TOKENS
        return min(size, self._learned.get(name, size))

    def is_known(self, name: str) -> bool:
        """Whether that number is not just a guess."""
        return bool(self._endpoint.context_tokens or self._known.get(name) or name in self._learned)

    def learn(self, name: str, prompt: int, error: str) -> None:
        """Note that a call of about ``prompt`` tokens was too long, and the limit in its ``error``.

        If the limit was known, the tokens were counted too low: then prompts are shorter from now on.
        """
        limit, known_size = limit_named(error), self.tokens(name)
        self._learned[name] = limit if 0 < limit < known_size else min(prompt, known_size) * 3 // 4
        if limit and not self._endpoint.context_tokens:
            self._known[name] = limit

    async def prepare(self, name: str, *, is_short: bool) -> AsyncGenerator[NotePiece]:
        """Ask the server for what is not known yet, or was answered long ago; yield what is waited for.

        A prompt that ``is_short`` fits every model: then only Ollama is asked, where a model is loaded first.
        """
        if not self.is_ollama and not is_short and self._is_due(name):
            self._asked.add(name)
            await self._read(name)
        if self.is_ollama:
            async for note in self._prepare_ollama(name):
                yield note

    # --- Ollama ----------------------------------------------------------------------------------------

    async def _prepare_ollama(self, name: str) -> AsyncIterator[NotePiece]:
        """Have the model loaded: its context is known only then, and may change each time."""
        loaded, num_ctx = await self._context_of_loaded(name), self._endpoint.num_ctx
        if loaded is None:
            return  # not Ollama, or one behind a proxy for its /v1 only
        if name not in self._asked:
            self._asked.add(name)
            capabilities = _at(await self._ask("POST", "/api/show", {"model": name}), "capabilities")
            for capability, without in (("tools", self.without_tools), ("vision", self.without_images)):
                if isinstance(capabilities, list) and capabilities and capability not in capabilities:
                    without.add(name)
        if not loaded:
            yield NotePiece("loading")
            options_field: dict[str, Any] = {"options": {"num_ctx": num_ctx}} if num_ctx else {}
            await self._ask(
                "POST", "/api/generate", {"model": name, **options_field}, self._endpoint.silence_seconds
            )
            loaded = await self._context_of_loaded(name) or 0
        if size := min(filter(None, (loaded, num_ctx)), default=0):
            self._known[name] = size

    async def _context_of_loaded(self, name: str) -> int | None:
        """Return the context of a loaded model, 0 of one that is not loaded, ``None`` without an answer."""
        answer = await self._ask("GET", "/api/ps")
        if not isinstance(answer, Mapping) or not isinstance(answer.get("models"), list):
            return None
        for entry in answer["models"]:
            if _text(entry, "name") in (name, f"{name}:latest"):
                return _tokens(entry.get("context_length")) or await self._context_by_show(name)
        return 0

    async def _context_by_show(self, name: str) -> int:
        """Return what older versions say about a model but not about a loaded one."""
        answer = await self._ask("POST", "/api/show", {"model": name})
        num_ctx = _NUM_CTX.search(_text(answer, "parameters"))
        return _tokens(int(num_ctx[1])) if num_ctx else 0

    # --- others ----------------------------------------------------------------------------------------

    def _is_due(self, name: str) -> bool:
        """Whether the server is to be asked about a model: for the first time, or again after an answer."""
        if name not in self._asked:
            return not self.is_known(name)
        return name in self._answers and time.monotonic() - self._answers[name][2] >= AGAIN_SECONDS

    async def _read(self, name: str) -> None:
        """Note the model's context, from the server or the table of models; once the server gives another
        size, what an error taught is dropped. A less certain source than before changes nothing: a busy
        server may leave out the better one.
        """
        place, size = await self._first_context(name)
        known_place, known_size, _ = self._answers.get(name, (place, 0, 0.0))
        if not size or place > known_place:
            place, size = known_place, known_size
        if size:
            self._answers[name] = place, size, time.monotonic()
        else:
            about = self._endpoint.kind, self._endpoint.base_url, name
            self._known[name] = await asyncio.to_thread(listed_context, *about)
        if size != known_size:
            self._known[name] = size
            self._learned.pop(name, None)

    async def _first_context(self, name: str) -> tuple[int, int]:
        """Return the place in ``_contexts_by_source`` of the first context, and that context: 0 for none."""
        place = 0
        if self._endpoint.kind == "openai":
            async for size in self._contexts_by_source(name):
                if size:
                    return place, size
                place += 1
        return place, 0

    async def _contexts_by_source(self, name: str) -> AsyncIterator[int]:
        """Yield what each source says, 0 if that is nothing: always in the same places, the best first."""
        entries = list(_entries(await self._ask("GET", "/models", root=self._root), name))
        yield _first(entries, *_LISTED)
        props = await self._ask("GET", "/props")  # before ``meta``: it may use less than the maximum
        yield _tokens(_at(props, "default_generation_settings", "n_ctx"))
        meta = [entry.get("meta") for entry in entries]
        yield _first(meta, "n_ctx")
        yield _first(meta, "n_ctx_train")
        if entries and await self._context_of_loaded(name) is not None:
            self.is_ollama = True
            async for _ in self._prepare_ollama(name):
                pass
        yield self._known.get(name, 0) if self.is_ollama else 0
        studio = list(_entries(await self._ask("GET", "/api/v0/models"), name))
        yield _first(studio, "loaded_context_length")
        yield _first(studio, "max_context_length")
        info = _entries(await self._ask("GET", "/model/info"), name)
        model_info = [entry.get("model_info") for entry in info]
        yield _first(model_info, "max_input_tokens")
        yield _first(model_info, "max_tokens")

    async def _ask(
        self, method: str, path: str, body: object = None, seconds: float = READ_SECONDS, *, root: str = ""
    ) -> Any:
        """Return the JSON that the server answers; ``None`` for any other answer, and without one in time."""
        try:
            async with asyncio.timeout(seconds):
                url, key = (root or self._server) + path, key_headers(self._endpoint)
                answer = await self._http.request(method, url, json=body, headers=key, timeout=seconds)
            return answer.json() if answer.status_code == httpx2.codes.OK else None
        except (httpx2.HTTPError, httpx2.InvalidURL, ModelError, ValueError, RecursionError, TimeoutError):
            return None


def _entries(answer: object, name: str) -> Iterator[Mapping[str, Any]]:
    listed = answer.get("data") if isinstance(answer, Mapping) else answer
    for entry in listed if isinstance(listed, list) else ():
        if name in (_text(entry, "id"), _text(entry, "model_name")):
            yield entry


def _text(value: object, key: str) -> str:
    found = value.get(key) if isinstance(value, Mapping) else None
    return found if isinstance(found, str) else ""


def _at(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _first(entries: Iterable[object], *keys: str) -> int:
    """Return the first valid number of tokens under one of the keys, 0 if there is none."""
    return next(filter(None, (_tokens(_at(entry, key)) for entry in entries for key in keys)), 0)


def _tokens(value: object) -> int:
    return value if type(value) is int and 0 < value <= MOST_TOKENS else 0
