"""The error of a failed call for a person: one line about what happened, and what to do about it.

Imported only by ``remote_calls``, which is imported in a thread. Errors from here contain no key, no login
and no control characters, whatever the server said.
"""

from __future__ import annotations

import contextlib
import html
import json
import re
import urllib.request
from dataclasses import dataclass
from urllib.parse import urlsplit

from httpx2 import HTTPError, InvalidURL
from pydantic_ai import exceptions as failed

from agent_tui.backend.models.endpoints import KEYRING, TRIED, TYPED, ProviderAddress
from agent_tui.causes import reason, tls_cause
from agent_tui.config.presets import LOOPBACK
from agent_tui.model.errors import ModelError
from agent_tui.model.inert import inert_line
from agent_tui.redaction import redacted, shown_url
from agent_tui.tls import tls_failure

MAX_TITLE_CHARACTERS = 300
MAX_SAID_CHARACTERS = 4_000
MAX_DETAIL_CHARACTERS = 4_500
# What pydantic-ai raises besides the SDK's own errors, and what both let through if a 200 answer has JSON of
# another shape than the API's: they construct their objects without checking them.
FAILURES = (
    failed.AgentRunError,
    failed.UserError,
    HTTPError,
    InvalidURL,
    AttributeError,
    TypeError,
    LookupError,
    ValueError,
    RecursionError,
)
KIND_NAMES = {"ollama": "Ollama", "anthropic": "the Anthropic API", "google": "the Gemini API"}
MAX_NAMED_MODELS = 8
MAX_NAMED_FAULTS = 4
MAX_DEPTH = 4  # of errors within errors
MAX_PAGE_CHARACTERS = 4_000  # of a page that came instead of an answer
AGAIN = frozenset({408, 409, 425, 429})  # and everything from 500
# What llama.cpp and Ollama say, which have no code for it.
_TOO_LONG = re.compile(
    "exceeds? the (?:available )?context|exceed_context_size|context window|maximum context length"
    "|maximum prompt length|prompt is too long|input token count|max_new_tokens|maximum context"
    "|context the overflows",
    re.IGNORECASE,
)
TOO_LONG = "the conversation is too long for the model"
_NOT_SUPPORTED = re.compile("not support|unsupported|requires", re.IGNORECASE)
_TITLE = re.compile("<title[^>]*>(.*?)</title", re.IGNORECASE | re.DOTALL)
_TAG = re.compile("<[^>]*>")


@dataclass(frozen=True, slots=True)
class Teller:
    """Turns failures of one endpoint into ``ModelError``; ``secrets`` are hidden wherever they appear."""

    endpoint: ProviderAddress
    shown_url: str
    secrets: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Teller({self.shown_url})"

    def error(
        self,
        model: str,
        error: BaseException,
        known: tuple[str, ...] = (),
        came: bytes = b"",
        *,
        has_begun: bool = False,
    ) -> ModelError:
        """Return the error to raise for ``error``, one of ``FAILURES``; ``known`` are models that exist
        there, ``came`` is the beginning of an answer that is not a stream. After an answer that ``has_begun``
        nobody is asked about the address.
        """
        match error:
            case failed.ModelHTTPError():
                return self._status(model, error, known)
            case failed.ModelTimeoutError(phase="connect"):
                return self._make("nothing answers at {url}", "no connection in time", retryable=True)
            case failed.ModelTimeoutError():
                silence = f"no byte for {self.endpoint.silence_seconds:g} s"
                return self._make("the model at {url} fell silent", silence, retryable=True)
            case failed.ModelConnectionError(phase="read" | "write"):
                return self.broke_off(model)
            case failed.ModelConnectionError():
                return self.offline(error)
            case failed.ModelAPIError(in_stream=True):
                again = not isinstance(
                    error, failed.ModelRequestRejectedError | failed.ModelQuotaExceededError
                )
                said = self._reason_in(error.body) or error.message
                return self._make("the model's server reported an error", said, retryable=again)
            case _ if has_begun:
                detail = f"{model}: what the server sent next cannot be read: {_why(error)}"
                return self._make("the answer broke off", detail, retryable=True)
            case _:
                return self.no_answer(_why(error), came)

    def broke_off(self, model: str) -> ModelError:
        """Return the error for a stream that ended before its end."""
        return self._make("the answer broke off", f"{model}: the connection ended early", retryable=True)

    def no_answer(self, why: str, came: bytes = b"") -> ModelError:
        """Return the error for an answer of the wrong kind; ``came`` is its beginning."""
        kind = KIND_NAMES.get(self.endpoint.kind, "an OpenAI-compatible server")
        words = self._reason_in(_parsed(came)).rstrip(".")
        detail = f"{why.rstrip('.')}. Does {self._address} lead to its API{self._ending()}?"
        if words:  # last: nothing that follows foreign words is taken for ours
            detail = f"Does {self._address} lead to its API{self._ending()}? Instead it said: {words}"
        return self._make(f"{{url}} gave no answer of {kind}", detail)

    @property
    def _address(self) -> str:
        """What a person calls the address: a setting, or a field of the form in which they try it."""
        return "the address" if self.endpoint.provider_id == TRIED else "base_url"

    def _ending(self) -> str:
        return " (it often ends in /v1)" if self.endpoint.kind == "openai" else ""

    def silent(self, seconds: float) -> ModelError:
        """Return the error for a server that was silent for too long."""
        return self._make("{url} did not answer", f"not within {seconds:g} s", retryable=True)

    def offline(self, error: BaseException) -> ModelError:
        """Return the error for a server that cannot be reached."""
        if (tls := tls_cause(error)) is not None:
            failure = tls_failure(tls, self.shown_url)
            return self._make(failure.title, failure.detail)
        said = self._line(reason(_innermost(error)), MAX_TITLE_CHARACTERS)
        if proxy := self._proxy():
            detail = f"{_open(said)}. The proxy is the environment's, HTTPS_PROXY or the like"
            title = f"cannot connect to {{url}} through the proxy {proxy}"
            return self._make(title, detail, retryable=not said.startswith("407"))
        detail = f"{_open(said)}. Is the server running, and is {self._address} right?"
        return self._make("cannot connect to {url}", detail, retryable=True)

    def elsewhere(self, status: int, address: str) -> ModelError:
        """Return the error for a redirect; a person has to decide where a key is sent."""
        detail = f"status {status}: to {shown_url(address)}. Is that the address to use?"
        return self._make("{url} sends to another address", detail)

    def refused_list(self, status: int, body: bytes, retry_after: str) -> ModelError:
        """Return the error for a provider that refused to list its models."""
        words = self._reason_in(_parsed(body))
        detail = f"status {status}: {words}" if words else f"status {status}"
        invalid_key = status == 400 and "API key" in words  # Gemini
        if status in (401, 403) or invalid_key:
            failure, status = self._refused_key(detail), 401
        elif status == 404:
            asked = f"{_open(detail)}. Is {self._address} right{self._ending()}?"
            failure = self._make("no list of models at {url}", asked)
        else:
            failure = self._of_status(status, detail)
            if failure.retryable and retry_after.isdecimal():
                failure.retry_after = float(retry_after)
        failure.status = status
        return failure

    def filtered(self, model: str, reason: str) -> ModelError:
        """Return the error for an answer, or question, stopped by the provider's content filter; ``reason``
        is its own word.
        """
        return self._make("the provider's content filter stopped the answer", f"{model}: {reason}")

    def stopped(self, model: str, reason: str) -> ModelError:
        """Return the error for a provider that gave up the answer before its first word."""
        return self._make("the model stopped before its first word", f"{model}: {reason}", retryable=True)

    def too_long(self, model: str, tokens: int, *, has_tools: bool) -> ModelError:
        """Return the error for a prompt that does not fit the model, however much is left out."""
        is_ollama = self.endpoint.kind == "ollama"
        more = f"; providers.{self.endpoint.provider_id}.num_ctx raises that" if is_ollama else ""
        also = "its answer and its tools" if has_tools else "its answer"
        return self._make(TOO_LONG, f"{model} takes {tokens:,} tokens, {also} among them{more}")

    def empty(self, model: str, *, out_of_tokens: bool) -> ModelError:
        """Return the error for an answer without a word."""
        if out_of_tokens:
            detail = f"{model} used all its tokens before the first word; raise the provider's max_tokens"
            return self._make("the model said nothing", detail)
        return self._make("the model said nothing", f"{model} ended its answer at once", retryable=True)

    def _status(self, model: str, error: failed.ModelHTTPError, known: tuple[str, ...]) -> ModelError:
        failure = self._http_error(model, error, known)
        failure.status = error.status_code
        failure.retry_after = error.retry_after if failure.retryable else None
        return failure

    def _http_error(self, model: str, error: failed.ModelHTTPError, known: tuple[str, ...]) -> ModelError:
        said = self._reason_in(error.body)
        detail = f"status {error.status_code}: {said}" if said else f"status {error.status_code}"
        match error:
            case failed.ModelAuthenticationError():
                return self._refused_key(detail)
            case failed.ModelNotFoundError():
                asked = f"{_open(detail)}. {self._others(model, known)}"
                return self._make("no such model or path at {url}", asked)
            case failed.ModelQuotaExceededError():
                return self._make("the provider's quota is used up", detail)
            case _ if is_too_long(error):
                return self._make(TOO_LONG, detail)
            case _ if error.provider_error_code == "content_filter":
                return self._make("the provider's content filter stopped the question", detail)
            case _:
                wait = error.retry_after
                asks = "" if wait is None else f"{_open(detail)}. It asks to wait {_seconds(wait)} s"
                return self._of_status(error.status_code, asks or detail)

    def _of_status(self, status: int, detail: str) -> ModelError:
        if status == 407:
            return self._make("the proxy wants a password", f"{detail}. It is the environment's")
        if status == 429:
            return self._make("the provider limits the rate of calls", detail, retryable=True)
        if status >= 500:
            return self._make("the model's server failed", detail, retryable=True)
        return self._make("the model's server refused the call", detail, retryable=status in AGAIN)

    def _refused_key(self, detail: str) -> ModelError:
        key, has_login = self.endpoint.key_name, "@" in self.endpoint.base_url
        if not key and not has_login:
            setup = "No key is set: agent-tui models setup (f4 in the program) asks for one"
            helps = "No key is set: enter one" if self.endpoint.provider_id == TRIED else setup
            return self._make("{url} wants a key", f"{_open(detail)}. {helps}")
        whose = f"The key comes from {key}"
        if not key:
            whose = "The key is the login in the address"
        elif key == TYPED:
            whose = "The key is the one you typed"
        elif key == KEYRING:
            whose = "The key comes from the keyring"
        return self._make("{url} refused the key", f"{_open(detail)}. {whose}")

    def _proxy(self) -> str:
        url = urlsplit(self.shown_url)
        host = url.hostname or ""
        if host in LOOPBACK or urllib.request.proxy_bypass(host):
            return ""
        proxies = urllib.request.getproxies()
        return shown_url(proxies.get(url.scheme) or proxies.get("all", ""))

    def _others(self, model: str, known: tuple[str, ...]) -> str:
        if known and model not in known:
            names, more = ", ".join(known[:MAX_NAMED_MODELS]), len(known) - MAX_NAMED_MODELS
            if more > 0:
                return f"It has no {model}, but {names} and {more} more"
            return f"It has no {model}, but {names}"
        return f"Is the model called {model}, and is {self._address} right{self._ending()}?"

    def _make(self, title: str, detail: str, *, retryable: bool = False) -> ModelError:
        title = self._line(title.replace("{url}", self.shown_url), MAX_TITLE_CHARACTERS)
        detail = self._line(detail, MAX_DETAIL_CHARACTERS)
        return ModelError(title, detail, retryable=retryable)

    def _line(self, text: str, limit: int) -> str:
        """Return one safe line; secrets are hidden before it is cut, which could leave half of one."""
        return redacted(inert_line(redacted(text, self.secrets), limit), self.secrets)

    def _reason_in(self, body: object) -> str:
        with contextlib.suppress(RecursionError):  # of a body that is nothing but brackets
            return self._line(_words(body), MAX_SAID_CHARACTERS)
        return ""


def is_too_long(error: Exception | None) -> bool:
    """Return whether a server refused a call because it was too long for its model."""
    if isinstance(error, failed.ModelContextWindowExceededError):
        return True
    said = isinstance(error, failed.ModelHTTPError) and error.status_code in (400, 413, 422, 500)
    return said and _TOO_LONG.search(str(error)[:MAX_PAGE_CHARACTERS]) is not None


def own_words(error: Exception, model: str) -> str:
    """Return what a server says about a call that it refused, without the name of the ``model``, which may
    hold any word; "" for an error of the server itself, unless it says what is not supported or required.
    """
    if not isinstance(error, failed.ModelHTTPError):
        return ""
    said = re.sub(rf"(?<![\w-]){re.escape(model)}(?![\w-])", "", str(error.body), flags=re.IGNORECASE)
    is_refusal = error.status_code < 500 or _NOT_SUPPORTED.search(said)  # llama.cpp refuses with 500
    return said if is_refusal else ""


def _words(body: object) -> str:
    """Return the text of an error: its ``message`` or ``detail``, a page's title, or the body as it is."""
    for _ in range(MAX_DEPTH):
        match body:
            case (
                {"error": {} as inner}
                | {"error": [{} as inner, *_]}
                | {"message": {} as inner}
                | [{} as inner]
            ):
                body = inner
            case _:
                break
    match body:
        case {"message": str(said)} | {"error": str(said)} | {"detail": str(said)}:
            return said
        case {"detail": [*faults]}:  # of a validation: place and error
            return "; ".join(map(_fault, faults[:MAX_NAMED_FAULTS]))
        case str(page) if page.lstrip().startswith("<"):
            title = _TITLE.search(page[:MAX_PAGE_CHARACTERS])
            words = title[1] if title else _TAG.sub(" ", page[:MAX_PAGE_CHARACTERS])
            return html.unescape(words).strip()
        case None:
            return ""
        case _:
            return str(body)


def _fault(fault: object) -> str:
    match fault:
        case {"msg": str(said), "loc": [*places]}:
            return f"{'.'.join(map(str, places))}: {said}"
        case _:
            return str(fault)


def _parsed(body: bytes) -> object:
    """Return the beginning of an answer as JSON if possible, else as text."""
    text = body[: 4 * MAX_SAID_CHARACTERS].decode("utf-8", "replace")
    with contextlib.suppress(ValueError, RecursionError):
        return json.loads(text)
    return text


def _open(sentence: str) -> str:
    return sentence.rstrip(".")


def _seconds(wait: float) -> str:
    return f"{wait:g}" if wait < 10 else f"{wait:,.0f}"


def _why(error: BaseException) -> str:
    return str(_innermost(error)) or type(error).__name__


def _innermost(error: BaseException) -> BaseException:
    """Return the innermost cause: the outer ones only say that something failed."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
