"""Where the calls about rooms are: the paths of cli.md, each of which an existing deployment may move."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from agent_tui.errors import ConfigError, NotFound
from agent_tui.inert import inert_line

_PLACE = re.compile(r"\{\w+\}")

# What belongs into each place, for a person.
_PLACES: Mapping[str, str] = {
    "{id}": "the room's id",
    "{message_id}": "the message's id",
    "{agent_id}": "the agent's id",
    "{provider_id}": "the provider's name",
}

DEFAULT_PATHS: Mapping[str, str] = {
    "rooms": "/api/rooms",
    "room": "/api/rooms/{id}",
    "messages": "/api/rooms/{id}/messages",
    "run": "/api/rooms/{id}/run",
    "events": "/api/rooms/{id}/events",
    "pause": "/api/rooms/{id}/pause",
    "resume": "/api/rooms/{id}/resume",
    "queue": "/api/rooms/{id}/queue",
    "queued": "/api/rooms/{id}/queue/{message_id}",
    "stop": "/api/rooms/{id}/agents/{agent_id}/stop",
    "skip": "/api/rooms/{id}/agents/{agent_id}/skip",
    "retry": "/api/rooms/{id}/agents/{agent_id}/retry",
    "providers": "/api/providers",
    "provider_models": "/api/providers/{provider_id}/models",
    "provider_test": "/api/providers/test",
}


class RoomPaths:
    """Templates with a place for each id they need; raises ``ConfigError`` for an unusable one."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        for name, path in paths.items():
            shown = inert_line(f"paths.{name}")
            if name not in DEFAULT_PATHS:
                raise ConfigError(f"{shown} is not a path we use", f"Known: {', '.join(DEFAULT_PATHS)}.")
            if not path.startswith("/"):
                raise ConfigError(f"{shown} must begin with /", inert_line(path))
            for place in _PLACE.findall(DEFAULT_PATHS[name]):
                if place not in path:
                    raise ConfigError(f"{shown} must have {place} for {_PLACES[place]}", inert_line(path))
        self._paths = {**DEFAULT_PATHS, **paths}

    def of(self, name: str, *ids: str) -> str:
        """Return the path of one call, ``ids`` in the order of their places in ``DEFAULT_PATHS``.

        Raises ``NotFound`` for an empty id, which would name another call.
        """
        path = self._paths[name]
        for place, id_ in zip(_PLACE.findall(DEFAULT_PATHS[name]), ids, strict=True):
            if not id_:
                raise NotFound(f"a path needs {_PLACES[place]}")
            path = path.replace(place, _encoded(id_))
        return path

    def places(self, name: str) -> int:
        """Return how many ids the path of one call has."""
        return len(_PLACE.findall(DEFAULT_PATHS[name]))

    @property
    def rooms(self) -> str:
        """Return the path of the list."""
        return self._paths["rooms"]


def _encoded(id_: str) -> str:
    encoded = quote(id_, safe="", errors="replace")
    if encoded.strip("."):
        return encoded
    return encoded.replace(".", "%2E")  # "." and ".." would be taken for steps in the path
