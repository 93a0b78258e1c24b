"""Where the calls about rooms are: the paths of cli.md, each of which an existing deployment may move."""

from __future__ import annotations

from collections.abc import Mapping

from agent_tui.clients.paths import Paths

# What belongs into each place, for a person.
_PLACES: Mapping[str, str] = {
    "{id}": "the room's id",
    "{message_id}": "the message's id",
    "{step_id}": "the call's id",
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
    "continue": "/api/rooms/{id}/agents/{agent_id}/continue",
    "ask": "/api/rooms/{id}/asks/{message_id}/{step_id}",
    "presence": "/api/presence",
    "tools": "/api/tools",
    "rules": "/api/tools/rules",
    "rule": "/api/tools/rules/{rule_id}",
    "rule_confirm": "/api/tools/rules/{rule_id}/confirm",
    "providers": "/api/providers",
    "provider_models": "/api/providers/{provider_id}/models",
    "provider_test": "/api/providers/test",
}


class RoomPaths(Paths):
    """The paths of one server; raises ``ConfigError`` for an unusable one."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        super().__init__(DEFAULT_PATHS, _PLACES, paths)
