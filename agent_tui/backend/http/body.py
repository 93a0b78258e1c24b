"""JSON bodies of requests: read with a limit, then field by field, with errors that name the field.

Everything here is hostile: a body may be endless, not JSON, deeply nested or of the wrong types. Unknown
fields are ignored (cli.md), ``null`` counts as missing, and no body at all as an object without fields.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from agent_tui.model.errors import Refused
from agent_tui.model.settings import Setting, settings_of
from agent_tui.wire.content import strict_json

MAX_BODY_BYTES = 1024 * 1024
MAX_DROPPED_BYTES = 64 * 1024 * 1024
DROP_SECONDS = 3.0
BODY_SECONDS = 30.0  # a slower body is an attack or a dead line

T = TypeVar("T")


def _too_large(max_bytes: int) -> Refused:
    return Refused(
        "The request is too large",
        f"A body may have {max_bytes:,} bytes.",
        status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    )


async def read_body(
    request: Request, seconds: float = BODY_SECONDS, max_bytes: int = MAX_BODY_BYTES
) -> bytes:
    """Return the whole body; raises ``Refused`` 413 over ``max_bytes``, 408 if it takes too long.

    A body that is too large is read and dropped for a moment: closing a connection on which the client still
    sends would reset it, and the client would never see the answer.
    """
    announced = request.headers.get("content-length", "")
    too_large = announced.isdecimal() and int(announced[:20]) > max_bytes
    if too_large and "expect" in request.headers:
        raise _too_large(max_bytes)  # this client waits for our answer before it sends
    body = bytearray()
    dropped = 0
    try:
        async with asyncio.timeout(DROP_SECONDS if too_large else seconds) as limit:
            async for piece in request.stream():
                if not too_large and len(body) + len(piece) > max_bytes:
                    too_large = True
                    limit.reschedule(asyncio.get_running_loop().time() + DROP_SECONDS)
                if not too_large:
                    body += piece
                elif (dropped := dropped + len(piece)) > MAX_DROPPED_BYTES:
                    break
    except TimeoutError:
        if not too_large:
            raise Refused("The body did not arrive in time", status=HTTPStatus.REQUEST_TIMEOUT) from None
    except ClientDisconnect:
        raise Refused("The client left", status=HTTPStatus.BAD_REQUEST) from None
    if too_large:
        raise _too_large(max_bytes)
    return bytes(body)


async def read_fields(request: Request, max_bytes: int = MAX_BODY_BYTES) -> Fields:
    """Return the body's fields, none without a body; raises ``Refused`` 400 for anything but JSON and 422 for
    anything but an object.
    """
    body = await read_body(request, max_bytes=max_bytes)
    try:
        value = strict_json(body) if body else {}
    except (ValueError, RecursionError) as error:
        raise Refused("The body is not valid JSON", _why(error), status=HTTPStatus.BAD_REQUEST) from None
    if not isinstance(value, dict):
        raise wrong_field("body", "must be a JSON object")
    return Fields(value)


def _why(error: ValueError | RecursionError) -> str:
    match error:
        case UnicodeDecodeError():
            return "It is not UTF-8."
        case RecursionError():
            return "It is nested too deep."
        case _:
            return str(error)[:200]


def wrong_field(name: str, complaint: str) -> Refused:
    """Return the 422 that names the field and the values it may have."""
    return Refused(f"{name} {complaint}", status=HTTPStatus.UNPROCESSABLE_ENTITY)


class Fields:
    """The fields of one JSON object; ``where`` is its place in the body, for errors.

    Each reader returns ``None`` if the field is missing or null and raises ``Refused`` with status 422 if it
    has the wrong type. The engine checks the values.
    """

    def __init__(self, values: Mapping[str, Any], where: str = "") -> None:
        self._values = values
        self._where = where

    @property
    def names(self) -> list[str]:
        """The names of all fields."""
        return list(self._values)

    def text(self, name: str) -> str | None:
        """Return a string."""
        return self._of_type(name, str, "must be a string")

    def needed_text(self, name: str) -> str:
        """Return a required string."""
        value = self.text(name)
        if value is None:
            raise self._wrong(name, "is missing")
        return value

    def number(self, name: str) -> int | None:
        """Return a whole number."""
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | None):
            raise self._wrong(name, "must be a whole number")
        return value

    def decimal(self, name: str) -> float | None:
        """Return a number, whole or not."""
        value = self._values.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise self._wrong(name, "must be a number")
        if value is not None and abs(value) > sys.float_info.max:  # 1e999 is JSON, too
            raise self._wrong(name, "is too large")
        return None if value is None else float(value)

    def flag(self, name: str) -> bool | None:
        """Return true or false."""
        return self._of_type(name, bool, "must be true or false")

    def settings(self, record: type, *, is_new: bool = False) -> dict[str, Any]:
        """Return the settings of ``record``, or what a new one can have; null counts if it has a meaning."""
        settings: dict[str, Any] = {}
        for name, setting in settings_of(record).items():
            if is_new and not setting.in_new:
                continue
            value = self._setting(setting)
            if value is not None or (setting.nullable and name in self._values):
                settings[name] = value
            elif is_new and setting.required:
                raise self._wrong(name, "is missing")
        return settings

    def _setting(self, setting: Setting) -> Any:
        readers = {str: self.text, int: self.number, float: self.decimal, bool: self.flag, tuple: self.texts}
        return readers[setting.type](setting.name)

    def texts(self, name: str) -> tuple[str, ...] | None:
        """Return a list of strings."""
        texts = self._list(name, str, "must be a string")
        return None if texts is None else tuple(texts)

    def object(self, name: str) -> Fields | None:
        """Return an object."""
        value = self.mapping(name)
        return None if value is None else Fields(value, f"{self._where}{name}.")

    def objects(self, name: str) -> list[Fields] | None:
        """Return a list of objects."""
        values = self._list(name, dict, "must be an object")
        if values is None:
            return None
        return [Fields(value, f"{self._where}{name}[{place}].") for place, value in enumerate(values)]

    def _list(self, name: str, type_: type, complaint: str) -> list[Any] | None:
        value = self._of_type(name, list, "must be a list")
        for place, entry in enumerate(value or ()):
            if not isinstance(entry, type_):
                raise self._wrong(f"{name}[{place}]", complaint)
        return value

    def mapping(self, name: str) -> dict[str, Any] | None:
        """Return an object unchanged."""
        return self._of_type(name, dict, "must be an object")

    def _of_type(self, name: str, type_: type[T], complaint: str) -> T | None:
        value = self._values.get(name)
        if value is not None and not isinstance(value, type_):
            raise self._wrong(name, complaint)
        return value

    def _wrong(self, name: str, complaint: str) -> Refused:
        return wrong_field(f"{self._where}{name}", complaint)
