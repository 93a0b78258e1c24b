"""Answers in JSON: the result, or ``application/problem+json`` (RFC 9457) about an error."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from agent_tui.model import errors
from agent_tui.wire.content import dump

log = logging.getLogger(__name__)

CHALLENGE = {"www-authenticate": 'Bearer realm="agent-tui"'}


def json_answer(value: Any, status: int = 200) -> Response:
    """Return ``value`` as a JSON answer, not ASCII-escaped; halves of surrogate pairs become U+FFFD."""
    return Response(dump(value).encode(), status, media_type="application/json")


def problem(
    status: int,
    title: str = "",
    detail: str = "",
    headers: Mapping[str, str] | None = None,
    code: str = "",
) -> Response:
    """Return a problem answer: ``type, title, status, detail``, and ``code`` if there is one; the title
    defaults to the status's own.
    """
    fields: dict[str, Any] = {
        "type": "about:blank",
        "title": title or HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    if code:
        fields["code"] = code
    extra = {**CHALLENGE, **(headers or {})} if status == HTTPStatus.UNAUTHORIZED else headers
    return Response(dump(fields).encode(), status, dict(extra or {}), "application/problem+json")


def problem_status(error: errors.AgentTuiError) -> int:
    """Return the HTTP status for ``error``."""
    match error:
        case errors.NotFound():
            return HTTPStatus.NOT_FOUND
        case errors.Unauthorized():
            return HTTPStatus.UNAUTHORIZED
        case errors.NotOffered():
            return HTTPStatus.METHOD_NOT_ALLOWED
        case errors.Refused():
            return error.status or HTTPStatus.CONFLICT
        case errors.StoreError():
            return HTTPStatus.SERVICE_UNAVAILABLE
        case errors.ModelError() | errors.TransportError():
            return HTTPStatus.BAD_GATEWAY
        case _:
            return HTTPStatus.INTERNAL_SERVER_ERROR


async def answer_error(_request: Request, error: Exception) -> Response:
    """Answer with an error that was raised on purpose, or by the router (404, 405)."""
    if isinstance(error, HTTPException):
        headers = error.headers
        return problem(error.status_code, headers=headers)
    if not isinstance(error, errors.AgentTuiError):
        raise error
    status = problem_status(error)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        log.error("%s", error)
    code = error.code if isinstance(error, errors.Refused) else ""
    return problem(status, error.title, error.detail, code=code)


async def answer_bug(_request: Request, _error: Exception) -> Response:
    """Answer a bug; the traceback goes to the log (uvicorn writes it), never into the answer."""
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, detail="The backend's log says more.")


ERROR_ANSWERS: Mapping[Any, Callable[[Request, Exception], Any]] = {
    HTTPException: answer_error,
    errors.AgentTuiError: answer_error,
    Exception: answer_bug,
}
