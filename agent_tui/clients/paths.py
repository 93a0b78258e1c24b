"""The paths of the calls in cli.md and protocols.md §2, each of which a deployment may change."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import quote

from agent_tui.model.errors import ConfigError, NotFound
from agent_tui.model.inert import inert_line

_PLACE = re.compile(r"\{\w+\}")
# The names of some placeholders for a person.
_PLACES: Mapping[str, str] = {"{run_id}": "the call's id", "{provider_id}": "the provider's name"}
_COMMON: Mapping[str, str] = {
    "tools": "/api/tools",
    "tool_run": "/api/tools/run",
    "tool_answer": "/api/tools/run/{run_id}/answer",
    "rules": "/api/tools/rules",
    "rule": "/api/tools/rules/{rule_id}",
    "providers": "/api/providers",
    "provider_models": "/api/providers/{provider_id}/models",
    "provider_test": "/api/providers/test",
}
ROOM_PATHS: Mapping[str, str] = {
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
    "continue": "/api/rooms/{id}/agents/{agent_id}/continue",
    "ask": "/api/rooms/{id}/asks/{message_id}/{step_id}",
    "changes": "/api/rooms/{id}/changes",
    "undo": "/api/rooms/{id}/changes/undo",
    "presence": "/api/presence",
    **_COMMON,
}
CHAT_PATHS: Mapping[str, str] = {
    "conversations": "/api/conversations",
    "conversation": "/api/conversations/{id}",
    "messages": "/api/conversations/{id}/messages",
    "events": "/api/conversations/{id}/events",
    "stop": "/api/conversations/{id}/stop",
    "compact": "/api/conversations/{id}/compact",
    "ask": "/api/conversations/{id}/asks/{message_id}/{step_id}",
    "changes": "/api/conversations/{id}/changes",
    "undo": "/api/conversations/{id}/changes/undo",
    "search": "/api/search",
    **_COMMON,
}


class Paths:
    """Templates with a placeholder for each id; ``paths`` replaces some of the ``defaults``.

    Raises ``ConfigError`` for an unusable path.
    """

    def __init__(self, defaults: Mapping[str, str], paths: Mapping[str, str]) -> None:
        self._defaults = defaults
        for name, path in paths.items():
            shown = inert_line(f"paths.{name}")
            if name not in defaults:
                raise ConfigError(f"{shown} is not a path we use", f"Known: {', '.join(defaults)}.")
            if not path.startswith("/"):
                raise ConfigError(f"{shown} must begin with /", inert_line(path))
            for place in _PLACE.findall(defaults[name]):
                if place not in path:
                    raise ConfigError(f"{shown} must have {place} for {self._place(place)}", inert_line(path))
        self._paths = {**defaults, **paths}

    def of(self, name: str, *ids: str) -> str:
        """Return the path of one call, with ``ids`` in the order of the placeholders in the defaults.

        Raises ``NotFound`` for an empty id, which would lead to another call.
        """
        path = self._paths[name]
        for place, id_ in zip(_PLACE.findall(self._defaults[name]), ids, strict=True):
            if not id_:
                raise NotFound(f"a path needs {self._place(place)}")
            path = path.replace(place, _encoded(id_))
        return path

    def _place(self, place: str) -> str:
        noun = "room" if "room" in self._defaults else "conversation"
        named = noun if place == "{id}" else place.strip("{}").removesuffix("_id")
        return _PLACES.get(place, f"the {named}'s id")

    def places(self, name: str) -> int:
        """Return how many ids the path of one call has."""
        return len(_PLACE.findall(self._defaults[name]))


def _encoded(id_: str) -> str:
    encoded = quote(id_, safe="", errors="replace")
    if encoded.strip("."):
        return encoded
    return encoded.replace(".", "%2E")  # "." and ".." would count as steps in the path
