"""Where the calls about rooms are: the paths of cli.md, each of which an existing deployment may move."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from agent_tui.errors import ConfigError, NotFound
from agent_tui.inert import inert_line

_ID = "{id}"

DEFAULT_PATHS: Mapping[str, str] = {
    "rooms": "/api/rooms",
    "room": "/api/rooms/{id}",
    "messages": "/api/rooms/{id}/messages",
    "run": "/api/rooms/{id}/run",
    "events": "/api/rooms/{id}/events",
    "pause": "/api/rooms/{id}/pause",
    "resume": "/api/rooms/{id}/resume",
}


class RoomPaths:
    """Templates in which ``{id}`` stands for the room's id; raises ``ConfigError`` for an unusable one."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        for name, path in paths.items():
            shown = inert_line(f"paths.{name}")
            if name not in DEFAULT_PATHS:
                raise ConfigError(f"{shown} is not a path we use", f"Known: {', '.join(DEFAULT_PATHS)}.")
            if not path.startswith("/"):
                raise ConfigError(f"{shown} must begin with /", inert_line(path))
            if name != "rooms" and _ID not in path:
                raise ConfigError(f"{shown} must have {_ID} where the room's id belongs", inert_line(path))
        self._paths = {**DEFAULT_PATHS, **paths}

    def of(self, name: str, room_id: str) -> str:
        """Return the path of one call; raises ``NotFound`` for an empty id, which would name another call."""
        if not room_id:
            raise NotFound("a room without an id does not exist")
        encoded = quote(room_id, safe="", errors="replace")
        if not encoded.strip("."):  # "." and ".." would be taken for steps in the path
            encoded = encoded.replace(".", "%2E")
        return self._paths[name].replace(_ID, encoded)

    @property
    def rooms(self) -> str:
        """Return the path of the list."""
        return self._paths["rooms"]
