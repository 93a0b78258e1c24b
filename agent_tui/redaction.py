"""Hides secrets in settings, addresses and errors: the one place that decides what is a secret."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from agent_tui.model.errors import AgentTuiError

HIDDEN = "********"
SECRET_KEYS = ("token", "api_key", "auth_header", "key", "secret")
MAX_DEPTH = 32
MIN_SECRET_CHARACTERS = 3  # hiding shorter texts would make errors unreadable
SURE_SECRET_CHARACTERS = 12  # shorter ones are not hidden inside words and names: "agent-1"
_WORDS = ("error", "message", "detail", "content", "title", "msg", "reason")  # fields of errors for people
_LOGIN = re.compile(r"(?<=://)[^/\s\"'<>]+(?=@)")  # user:password of an address
# After an address: "?key=…&more=…", "#token=…"; a question mark before Chinese begins none.
_QUERY = re.compile(r"(?<=[\w/.\]])(?:\?(?=[!-~])|#(?=[\w.-]+=))[^\s\"'<>#]+")
_QUERY_PART = re.compile(r"([?&#])([^&=]*=)?[^&]+")
_JWT = re.compile(r"\beyJ[\w-]{5,}(?:\.[\w-]*){0,2}")  # LiveKit puts whole tokens into its errors and logs
_SECRET_OPTION = re.compile(r"--?[\w-]*(?:token|key|secret|pass|auth)[\w-]*", re.IGNORECASE)
_OPTION = re.compile(r"(--[A-Za-z][A-Za-z-]*|-[A-Za-z])(=.*)?", re.DOTALL)


def secrets_of(authorization: str) -> tuple[str, ...]:
    """Return the secret parts of an ``Authorization`` header: all but its scheme."""
    return tuple(authorization.split()[1:])


def secret_arguments(arguments: Sequence[str]) -> Iterator[str]:
    """Yield the values of options whose names say that they are secret: ``--token=X``, ``--api-key X``."""
    for argument, following in pairwise((*arguments, "")):
        name, equals, value = argument.partition("=")
        if _SECRET_OPTION.fullmatch(name):
            yield value if equals else following


def shown_url(url: str) -> str:
    """Return an address without a login and without a query, which may contain a key."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return HIDDEN
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="")
    return urlunsplit(bare) if parts.netloc else url


def redacted(text: str, secrets: Iterable[str] = ()) -> str:
    """Return ``text`` without the ``secrets`` and signed tokens (JWT) and, in every address, without the
    login and the values of a query.
    """
    text = _JWT.sub(HIDDEN, _without(text, secrets, MIN_SECRET_CHARACTERS))
    if "://" not in text:
        return text
    return _QUERY.sub(_hidden_query, _LOGIN.sub(HIDDEN, text))


def redacted_values(
    value: Any, secrets: Collection[str], depth: int = MAX_DEPTH, *, are_words: bool = True
) -> Any:
    """Return the JSON value of an error with texts for people redacted, and no long secret in any other text;
    anything nested deeper than ``depth`` is hidden.
    """
    match value:
        case str():
            return redacted(value, secrets) if are_words else _without(value, secrets, SURE_SECRET_CHARACTERS)
        case dict() | list() if not depth:
            return HIDDEN
        case dict():
            return {
                key: redacted_values(item, secrets, depth - 1, are_words=key in _WORDS)
                for key, item in value.items()
            }
        case list():
            return [redacted_values(item, secrets, depth - 1, are_words=are_words) for item in value]
        case _:
            return value


def redact(error: AgentTuiError, secrets: Collection[str]) -> None:
    """Redact the title and the detail of ``error``, which may quote a server."""
    error.title, error.detail = redacted(error.title, secrets), redacted(error.detail, secrets)
    error.args = (error.title, error.detail)


def hide_secrets(value: Any, key: str = "") -> Any:
    """Return ``value``, a table of the config file or a part of one, with every secret replaced."""
    match value:
        case Mapping():
            if key == "env":  # a program's variables are often secrets
                return {name: HIDDEN if entry else entry for name, entry in value.items()}
            return {name: hide_secrets(entry, str(name)) for name, entry in value.items()}
        case list():
            return [_hidden_argument(entry) if key == "args" else hide_secrets(entry, key) for entry in value]
        case str() if value:
            return HIDDEN if key in SECRET_KEYS else redacted(value)
        case _:
            return HIDDEN if key in SECRET_KEYS and value else value


def _without(text: str, secrets: Iterable[str], shortest: int) -> str:
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SURE_SECRET_CHARACTERS:
            text = text.replace(secret, HIDDEN)
        elif len(secret) >= shortest:
            text = re.sub(rf"(?<![\w-]){re.escape(secret)}(?![\w-])", HIDDEN, text, flags=re.ASCII)
    return text


def _hidden_query(query: re.Match[str]) -> str:
    return _QUERY_PART.sub(lambda part: f"{part[1]}{part[2] or ''}{HIDDEN}", query[0])


def _hidden_argument(argument: Any) -> Any:
    """Return the visible part of a program's argument: an option's name, and nothing of anything else."""
    option = _OPTION.fullmatch(argument) if isinstance(argument, str) else None
    if option is None:
        return HIDDEN
    return f"{option[1]}={HIDDEN}" if option[2] else option[1]
