"""JSON bodies of requests: read with a limit, then field by field with a complaint that names the field.

Everything here is hostile: a body may be endless, no JSON, deeply nested or of the wrong types. Unknown
fields are ignored (cli.md), ``null`` counts as left out.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, NoReturn

from starlette.requests import ClientDisconnect, Request

from agent_tui.errors import Refused
from agent_tui.wire.content import encodable

MAX_BODY_BYTES = 1024 * 1024
BODY_SECONDS = 30.0  # a body that is slower than this is an attack or a dead line


def _too_large() -> Refused:
    return Refused(
        "The request is too large",
        f"A body may have {MAX_BODY_BYTES:,} bytes.",
        status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    )


async def read_body(request: Request, seconds: float = BODY_SECONDS) -> bytes:
    """Return the whole body; raises ``Refused`` 413 over the limit, 408 when it takes too long."""
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > MAX_BODY_BYTES:
        raise _too_large()
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > MAX_BODY_BYTES:
                    raise _too_large()
    except TimeoutError:
        raise Refused("The body did not arrive in time", status=HTTPStatus.REQUEST_TIMEOUT) from None
    except ClientDisconnect:
        raise Refused("The client left", status=HTTPStatus.BAD_REQUEST) from None
    return bytes(body)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


async def read_fields(request: Request) -> Fields:
    """Return the body's fields; raises ``Refused`` 400 for what is no JSON and 422 for no object."""
    body = await read_body(request)
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        detail = "" if isinstance(error, UnicodeDecodeError | RecursionError) else str(error)[:200]
        raise Refused("The body is not valid JSON", detail, status=HTTPStatus.BAD_REQUEST) from None
    if not isinstance(value, dict):
        raise wrong_field("body", "must be a JSON object")
    return Fields(value)


def wrong_field(name: str, complaint: str) -> Refused:
    """Return the 422 that names the field and says what it must be."""
    return Refused(
        f"{name} {complaint}",
        f"Field {name!r}: {complaint}.",
        status=HTTPStatus.UNPROCESSABLE_ENTITY,
    )


class Fields:
    """The fields of one JSON object; ``where`` is its place in the body, for complaints.

    Each reader returns None (or the given default) where the field is missing or null, and raises
    ``Refused`` with status 422 where it has the wrong type or range.
    """

    def __init__(self, values: Mapping[str, Any], where: str = "") -> None:
        self._values = values
        self._where = where

    def text(self, name: str, most: int, *, least: int = 0) -> str | None:
        """Return a string of ``least`` to ``most`` characters, made encodable."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self._wrong(name, "must be a string")
        if len(value.strip()) < least:
            raise self._wrong(name, "must not be empty")
        if len(value) > most:
            raise self._wrong(name, f"must have at most {most} characters")
        return encodable(value)

    def needed_text(self, name: str, most: int) -> str:
        """Return a string that must be there and say something."""
        value = self.text(name, most, least=1)
        if value is None:
            raise self._wrong(name, "is missing")
        return value

    def number(self, name: str, least: int, most: int) -> int | None:
        """Return a whole number in ``least`` … ``most``."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int):
            raise self._wrong(name, "must be a whole number")
        if not least <= value <= most:
            raise self._wrong(name, f"must be {least} to {most}")
        return value

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, bool):
            raise self._wrong(name, "must be true or false")
        return value

    def choice(self, name: str, known: Sequence[str]) -> str | None:
        """Return one of ``known``."""
        value = self._values.get(name)
        if value is not None and value not in known:
            raise self._wrong(name, f"must be one of: {', '.join(known)}")
        return value

    def objects(self, name: str, most: int) -> list[Fields] | None:
        """Return a list of at most ``most`` objects."""
        value = self._values.get(name)
        if value is None:
            return None
        if not isinstance(value, list):
            raise self._wrong(name, "must be a list")
        if len(value) > most:
            raise self._wrong(name, f"must have at most {most} entries")
        for place, entry in enumerate(value):
            if not isinstance(entry, dict):
                raise self._wrong(f"{name}[{place}]", "must be an object")
        return [Fields(entry, f"{self._where}{name}[{place}].") for place, entry in enumerate(value)]

    def _wrong(self, name: str, complaint: str) -> Refused:
        return wrong_field(f"{self._where}{name}", complaint)
