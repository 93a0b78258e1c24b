"""Turns an unwanted HTTP answer, its status and body, into one of our errors.

Pure. Quotes from the server are inert and short, because they are shown on a terminal, and redacted: it may
repeat what it was sent.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

from agent_tui.clients.retry import retry_after_seconds
from agent_tui.model.errors import (
    AgentTuiError,
    ConnectFailed,
    NotFound,
    NotOffered,
    ProtocolError,
    Refused,
    TransportError,
    Unauthorized,
)
from agent_tui.model.inert import inert_line
from agent_tui.redaction import redacted
from agent_tui.wire.content import json_object

MAX_TITLE_CHARACTERS = 200
MAX_DETAIL_CHARACTERS = 400
EXCERPT_BYTES = 64 * 1024  # of an answer's body that are read to explain it

_RETRYABLE = (408, 425, 429)


def refusal(
    status: int, headers: Mapping[str, str], body: bytes, secrets: Collection[str] = ()
) -> AgentTuiError:
    """Return the error for an answer with ``status`` ≥ 400; ``headers`` have lower-case names."""
    problem = json_object(body)
    title, detail = _title_and_detail(problem, secrets) if problem else ("", first_line(body, secrets))
    code = redacted(_first_text(problem, "code"), secrets)[:MAX_TITLE_CHARACTERS]
    if status in (401, 403):
        default = "the server refused the token" if status == 401 else "the server does not allow that"
        detail = detail or "Check AGENT_TUI_TOKEN or --token-file."
        return Unauthorized(title or default, detail, status=status, code=code)
    if status == 404:
        return NotFound(title or "the server did not find that (404)", detail, status=status)
    if status in (405, 501):
        return NotOffered(title or "this server does not offer that", detail, status=status)
    if status == 407:
        return ConnectFailed("the proxy wants a password", detail, retryable=False)
    if status in _RETRYABLE or status >= 500:
        explained = ": ".join(part for part in (title, detail) if part)
        wish = _retry_after(headers)
        return TransportError(_busy_title(status), explained, retryable=True, retry_after=wish)
    return Refused(title or unexplained(status), detail, status=status, code=code)


def unexplained(status: int) -> str:
    """Return the title of a refusal without a reason of the server's."""
    return f"the server refused that ({status})"


def unexpected(
    status: int, content_type: str, body: bytes, wanted: str, secrets: Collection[str] = ()
) -> ProtocolError:
    """Return the error for an answer that is not ``wanted`` (for a person: "an event stream")."""
    kind = inert_line(content_type.partition(";")[0], 60) or "no content type"
    line = first_line(body, secrets) or "nothing"
    return ProtocolError(f"the server's answer is not {wanted}", f"HTTP {status}, {kind}: {line}")


def first_line(body: bytes, secrets: Collection[str] = ()) -> str:
    """Return the first non-empty line of ``body``, inert, short and redacted."""
    for line in body[:EXCERPT_BYTES].decode("utf-8", "replace").splitlines():
        if shown := inert_line(redacted(line, secrets), MAX_TITLE_CHARACTERS):
            return shown
    return ""


def parse_json(body: bytes) -> Any:
    """Return the parsed ``body``; raises ``ValueError`` for anything but JSON, and for extreme nesting."""
    try:
        return json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _busy_title(status: int) -> str:
    if status == 429:
        return "the server asks for fewer calls (429)"
    return f"the server failed ({status})" if status >= 500 else f"the server was not ready ({status})"


def _title_and_detail(value: Mapping[str, Any], secrets: Collection[str]) -> tuple[str, str]:
    """Return (title, detail) of a JSON error: problem+json (RFC 9457), or the forms others use."""
    error = value.get("error")
    if isinstance(error, dict):
        value = error
    title = _first_text(value, "title", "error", "message")
    detail = _first_text(value, "detail", "message")
    if title in ("", detail):
        title, detail = detail, ""
    title, detail = redacted(title, secrets), redacted(detail, secrets)
    return inert_line(title, MAX_TITLE_CHARACTERS), inert_line(detail, MAX_DETAIL_CHARACTERS)


def _first_text(value: Mapping[str, Any], *names: str) -> str:
    return next((text for name in names if isinstance(text := _joined(value.get(name)), str)), "")


def _joined(value: object) -> object:
    """Return in one text what FastAPI lists as wrong with a request: each field and its ``msg``."""
    if not isinstance(value, list):
        return value
    lines = []
    for wrong in value:
        if isinstance(wrong, dict) and isinstance(wrong.get("msg"), str):
            place = wrong.get("loc")
            field = place[-1:] if isinstance(place, list) else []
            lines.append(": ".join((*map(str, field), wrong["msg"])))
    return "; ".join(lines) or None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    wish = headers.get("retry-after")
    if wish is None:
        return None
    try:
        now = parsedate_to_datetime(headers.get("date", ""))
    except (ValueError, TypeError, OverflowError):
        now = datetime.now(UTC)
    return retry_after_seconds(wish, now if now.tzinfo else now.replace(tzinfo=UTC))
