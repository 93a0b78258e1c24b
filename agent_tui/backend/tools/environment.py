"""What tools and the programs that they start have of their environment: everything but the secrets."""

from __future__ import annotations

import os
import re

from agent_tui.config import Config

# Who may read what tools make is the user's to say: the backend sets a stricter one for its own files. It can
# only be read by setting it: once, while there are no threads yet.
UMASK = os.umask(0o077)
os.umask(UMASK)
_SECRET = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|^AGENT_TUI_", re.IGNORECASE)
# There is no terminal and nobody to answer.
_QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
_FOR_SERVERS = ("HOME", "LANG", "LC_ALL", "LOGNAME", "PATH", "SHELL", "TMPDIR", "USER")


def secret_names(config: Config) -> frozenset[str]:
    """Return the variables that the config file names as holding something secret."""
    names = {provider.api_key_env for provider in config.providers.values()}
    names |= {backend.token_env for backend in config.backends.values()}
    for server in config.mcp.values():
        names |= {server.token_env, *server.env_from}
    return frozenset(names - {""})


def command_environment(secrets: frozenset[str]) -> dict[str, str]:
    """Return our environment without everything that is, or sounds like, a secret."""
    kept = {
        name: value for name, value in os.environ.items() if name not in secrets and not _SECRET.search(name)
    }
    return {**kept, **_QUIET}


def server_environment() -> dict[str, str]:
    """Return the little that a program needs to be found and to find its home."""
    return {name: os.environ[name] for name in _FOR_SERVERS if name in os.environ}
