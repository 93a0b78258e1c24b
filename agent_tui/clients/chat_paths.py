"""Where the calls about chats are: the paths of protocols.md §2, each of which a deployment may move."""

from __future__ import annotations

from collections.abc import Mapping

from agent_tui.clients.paths import Paths

_PLACES: Mapping[str, str] = {
    "{id}": "the conversation's id",
    "{message_id}": "the message's id",
    "{step_id}": "the step's id",
    "{rule_id}": "the rule's id",
    "{provider_id}": "the provider's name",
}

DEFAULT_PATHS: Mapping[str, str] = {
    "conversations": "/api/conversations",
    "conversation": "/api/conversations/{id}",
    "messages": "/api/conversations/{id}/messages",
    "events": "/api/conversations/{id}/events",
    "stop": "/api/conversations/{id}/stop",
    "ask": "/api/conversations/{id}/asks/{message_id}/{step_id}",
    "search": "/api/search",
    "tools": "/api/tools",
    "rules": "/api/tools/rules",
    "rule": "/api/tools/rules/{rule_id}",
    "rule_confirm": "/api/tools/rules/{rule_id}/confirm",
    "providers": "/api/providers",
    "provider_models": "/api/providers/{provider_id}/models",
    "provider_test": "/api/providers/test",
}


class ChatPaths(Paths):
    """The paths of one server; raises ``ConfigError`` for an unusable one."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        super().__init__(DEFAULT_PATHS, _PLACES, paths)
