"""The environment of programs that tools start: a small part of ours, and nothing that could be a secret."""

from __future__ import annotations

import os
from collections.abc import Sequence

# The user decides who may read what tools make: the backend sets a stricter mask for its own files. It can
# only be read by setting it: once, before there are threads.
UMASK = os.umask(0o077)
os.umask(UMASK)
# There is no terminal and nobody to answer.
_QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}
# Variables that say who, where and in which language, or where tools for developers are installed.
# Variables with secrets have names of every kind, so others are passed on only if the config file names them.
HARMLESS = frozenset(
    {
        *("HOME", "LOGNAME", "USER", "SHELL", "PATH", "TMPDIR", "TZ", "LANG", "LANGUAGE", "MANPATH"),
        *("AGENT_TUI_DATA", "AGENT_TUI_CONFIG"),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
        *("VIRTUAL_ENV", "CONDA_PREFIX", "PYENV_ROOT", "JAVA_HOME", "GOPATH", "GOROOT", "GOBIN"),
        *("CARGO_HOME", "RUSTUP_HOME", "NVM_DIR", "NVM_BIN", "PNPM_HOME", "GEM_HOME", "SDKROOT"),
        *("LD_LIBRARY_PATH", "PKG_CONFIG_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "NO_COLOR"),
    }
)
_HARMLESS_PREFIX = "LC_"
_PROXIES = frozenset({"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"})


def passed_environment(named: Sequence[str] = ()) -> dict[str, str]:
    """Return a program's part of our environment: harmless variables, proxies without a login, and those that
    are ``named``.
    """
    return {name: value for name, value in os.environ.items() if name in named or _is_harmless(name, value)}


def command_environment(named: Sequence[str] = ()) -> dict[str, str]:
    """Return the environment of a command, which has no terminal."""
    return {**passed_environment(named), **_QUIET}


def _is_harmless(name: str, value: str) -> bool:
    if name.upper() in _PROXIES:
        return "@" not in value
    return name in HARMLESS or name.startswith(_HARMLESS_PREFIX)
