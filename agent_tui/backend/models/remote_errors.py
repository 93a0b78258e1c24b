"""What a failed call says to a person: one line of what happened, and what to do about it.

Imported only by ``remote_calls``, which is imported in a thread. No key, no login and nothing a terminal
would obey comes out of here, whatever the server said.
"""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass

from httpx2 import HTTPError, InvalidURL
from pydantic_ai import exceptions as failed

from agent_tui.backend.models.endpoints import Endpoint
from agent_tui.errors import ModelError
from agent_tui.inert import inert_line

MAX_SAID_CHARACTERS = 300
MAX_DETAIL_CHARACTERS = 500
MIN_SECRET_CHARACTERS = 3  # hiding shorter ones would make a riddle of every error
HIDDEN = "***"
# What pydantic-ai raises beside the SDK's own, and what both let through when a 200 answer holds JSON of
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
AGAIN = frozenset({408, 409, 425, 429})  # and everything from 500


@dataclass(frozen=True, slots=True)
class Teller:
    """Turns failures of one endpoint into ``ModelError``; ``secrets`` are hidden wherever they appear."""

    endpoint: Endpoint
    shown_url: str
    secrets: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Teller({self.shown_url})"

    def error(self, model: str, error: BaseException, known: tuple[str, ...] = ()) -> ModelError:
        """Return what to raise for ``error``, one of ``FAILURES``; ``known`` are models that exist there."""
        match error:
            case failed.ModelHTTPError():
                return self._status(model, error, known)
            case failed.ModelTimeoutError(phase="connect"):
                return self._make("nobody answers at {url}", "no connection in time", retryable=True)
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
                return self._make("the model's server reported an error", error.message, retryable=again)
            case _:
                return self.no_answer(self._root(error))

    def broke_off(self, model: str) -> ModelError:
        """The stream ended before its end."""
        return self._make("the answer broke off", f"{model}: the connection ended early", retryable=True)

    def no_answer(self, why: str) -> ModelError:
        """What came is nothing that this kind of provider would say."""
        kind = KIND_NAMES.get(self.endpoint.kind, "an OpenAI-compatible server")
        detail = f"{why}. Does base_url lead to its API{self._ending()}?"
        return self._make(f"{{url}} gave no answer of {kind}", detail)

    def _ending(self) -> str:
        return " (it often ends in /v1)" if self.endpoint.kind in ("openai", "ollama") else ""

    def silent(self, seconds: float) -> ModelError:
        """Nothing came for too long."""
        return self._make("{url} did not answer", f"not within {seconds:g} s", retryable=True)

    def offline(self, error: BaseException) -> ModelError:
        """Nobody could be reached."""
        detail = f"{self._root(error)}. Is the server running, and is base_url right?"
        return self._make("cannot connect to {url}", detail, retryable=True)

    def refused_list(self, status: int, body: bytes, retry_after: str) -> ModelError:
        """The provider answered with an error where its list of models was asked for."""
        said: object = body[: 4 * MAX_SAID_CHARACTERS].decode("utf-8", "replace")
        with contextlib.suppress(ValueError, RecursionError):
            said = json.loads(body)
        words = self._said(said)
        detail = f"status {status}: {words}" if words else f"status {status}"
        invalid_key = status == 400 and "API key" in words  # Gemini
        if status in (401, 403) or invalid_key:
            told = self._make("{url} refused the key", f"{detail}. The key comes from {self._key()}")
            status = 401
        elif status == 404:
            asked = f"{detail}. Is base_url right{self._ending()}?"
            told = self._make("no list of models at {url}", asked)
        elif status == 429:
            told = self._make("the provider wants fewer calls", detail, retryable=True)
            told.retry_after = float(retry_after) if retry_after.isdecimal() else None
        elif status >= 500:
            told = self._make("the model's server failed", detail, retryable=True)
        else:
            told = self._make("the model's server refused the call", detail)
        told.status = status
        return told

    def filtered(self, model: str, reason: str) -> ModelError:
        """The provider's content filter stopped the answer, or the question; ``reason`` is its own word."""
        return self._make("the provider's content filter stopped the answer", f"{model}: {reason}")

    def stopped(self, model: str, reason: str) -> ModelError:
        """The provider gave the answer up before its first word."""
        return self._make("the model stopped before the first word", f"{model}: {reason}", retryable=True)

    def empty(self, model: str, *, out_of_tokens: bool) -> ModelError:
        """The model ended without having said a word."""
        if out_of_tokens:
            detail = f"{model} used all its tokens before the first word; raise the provider's max_tokens"
            return self._make("the model said nothing", detail)
        return self._make("the model said nothing", f"{model} ended its answer at once", retryable=True)

    def _status(self, model: str, error: failed.ModelHTTPError, known: tuple[str, ...]) -> ModelError:
        told = self._explained(model, error, known)
        told.status, told.retry_after = error.status_code, error.retry_after if told.retryable else None
        return told

    def _explained(self, model: str, error: failed.ModelHTTPError, known: tuple[str, ...]) -> ModelError:
        said = self._said(error.body)
        detail = f"status {error.status_code}: {said}" if said else f"status {error.status_code}"
        match error:
            case failed.ModelAuthenticationError():
                return self._make("{url} refused the key", f"{detail}. The key comes from {self._key()}")
            case failed.ModelNotFoundError():
                return self._make("no such model or path at {url}", f"{detail}. {self._others(model, known)}")
            case failed.ModelQuotaExceededError():
                return self._make("the provider's quota is used up", detail)
            case failed.ModelContextWindowExceededError():
                return self._make("the conversation is too long for the model", detail)
            case failed.ModelRateLimitError():
                wait = "" if error.retry_after is None else f". It asks to wait {error.retry_after:g} s"
                return self._make("the provider wants fewer calls", detail + wait, retryable=True)
            case _ if error.status_code >= 500:
                return self._make("the model's server failed", detail, retryable=True)
            case _:
                again = error.status_code in AGAIN
                return self._make("the model's server refused the call", detail, retryable=again)

    def _key(self) -> str:
        return self.endpoint.key_name or "api_key_env (none is set)"

    def _others(self, model: str, known: tuple[str, ...]) -> str:
        if known and model not in known:
            more = f" and {len(known) - MAX_NAMED_MODELS} more" if len(known) > MAX_NAMED_MODELS else ""
            return f"It has no {model}, but {', '.join(known[:MAX_NAMED_MODELS])}{more}"
        return f"Is the model called {model}, and is base_url right{self._ending()}?"

    def _make(self, title: str, detail: str, *, retryable: bool = False) -> ModelError:
        title = self._line(title.replace("{url}", self.shown_url), MAX_SAID_CHARACTERS)
        return ModelError(title, self._line(detail, MAX_DETAIL_CHARACTERS), retryable=retryable)

    def _hide(self, text: str) -> str:
        for secret in self.secrets:
            if len(secret) >= MIN_SECRET_CHARACTERS:
                text = text.replace(secret, HIDDEN)
        return text

    def _line(self, text: str, limit: int) -> str:
        """Return one harmless line; hidden before it is cut, which could leave half a secret."""
        return self._hide(inert_line(self._hide(text), limit))

    def _said(self, body: object) -> str:
        """Return the server's own words: ``message`` of the error object, or the body as it is."""
        match body:
            case {"message": str(message)} | {"error": {"message": str(message)}} | {"error": str(message)}:
                said = message
            case None:
                said = ""
            case _:
                said = str(body)
        return self._line(said, MAX_SAID_CHARACTERS)

    def _root(self, error: BaseException) -> str:
        """Return the innermost cause's words: the outer ones only say «Connection error.»."""
        for _ in range(10):
            if error.__cause__ is None:
                break
            error = error.__cause__
        return self._line(str(error) or type(error).__name__, MAX_SAID_CHARACTERS)
