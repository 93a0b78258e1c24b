"""Stored messages of a conversation, page by page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_tui.clients.http import Net
from agent_tui.model.errors import ProtocolError
from agent_tui.wire.fields import page_marks

MAX_PAGES = 1000
LARGEST_PAGE = 1000  # messages; more than one page holds when nothing is asked for


async def read_messages(net: Net, path: str) -> tuple[list[Any], int | None]:
    """Return the messages of all pages as they were answered, and the event id they are as of.

    Raises what ``Net.call`` raises, and ``ProtocolError`` for what is no list of messages.
    """
    read: list[Any] = []
    params: dict[str, str] = {}
    for _ in range(MAX_PAGES):
        page = await net.call("GET", path, params=params)
        items = page.get("messages") if isinstance(page, Mapping) else page
        if not isinstance(items, list):
            raise ProtocolError("the server's answer is no list of messages")
        following, as_of = page_marks(page)
        started = len(read)
        read += items
        if following is not None and following != params.get("after") and items:
            params["after"] = following
            continue
        under_way = next((n for n in range(started) if _field(read[n], "status") == "streaming"), None)
        if under_way is None or "limit" in params:
            return read, as_of
        # A turn under way on an earlier page has gone on since then: everything from it on is read
        # again in one answer, so that all of it is as of one event.
        del read[under_way:]
        params = {"limit": str(LARGEST_PAGE)}
        if read:
            params["after"] = str(_field(read[-1], "id"))
    raise ProtocolError(f"the server's answer has more than {MAX_PAGES} pages of messages")


def _field(item: object, name: str) -> object:
    return item.get(name) if isinstance(item, Mapping) else None
