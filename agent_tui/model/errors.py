"""Every error that agent-tui raises on purpose.

    AgentTuiError
    ├── ConfigError            a setting, option or file is wrong: the user corrects it
    │   └── DiskFull           a file cannot be written: the command was right, there is no space
    ├── TransportError         the way to the server failed (``retryable`` says if trying again can help)
    │   ├── ConnectFailed      nobody answered, or the name, proxy or certificate is wrong
    │   ├── StreamLost         the stream broke off before its last event
    │   └── TimedOut           no byte for longer than allowed
    ├── ProtocolError          somebody answered, but not in the protocol we speak
    ├── Refused                the server understood and said no
    │   ├── AgentBusy          somebody else holds it
    │   ├── NotFound           there is no such thing there
    │   ├── NotOffered         this server does not have that call
    │   └── Unauthorized       the token is missing or wrong
    ├── StoreError             the database cannot be used (locked, newer, read-only)
    │   └── StoreFull          it cannot grow: the disk is full
    └── ModelError             the model behind an agent failed (``retryable`` likewise)

Each has a ``title`` (one line: what happened) and a ``detail`` (what it means, what helps); screens and
the command line show both and never a traceback.
"""

from __future__ import annotations

import errno

MAX_TOOL_ROUNDS = 20  # of one answer (protocols.md §2)
TOO_MANY_ROUNDS = "Exceeded maximum tool call iterations"  # the error of an answer then (protocols.md §2)


class AgentTuiError(Exception):
    """An error for people: ``title`` is one line, ``detail`` may be empty. ``attempts`` says how often it was
    tried.
    """

    def __init__(self, title: str, detail: str = "") -> None:
        super().__init__(title, detail)
        self.title = title
        self.detail = detail
        self.attempts = 1

    def __str__(self) -> str:
        return f"{self.title}: {self.detail}" if self.detail else self.title


class ConfigError(AgentTuiError):
    """A setting, option or file is wrong."""


class DiskFull(ConfigError):
    """There is no space left to write a file."""


def not_written(title: str, error: OSError) -> ConfigError:
    """Return the error for a file that cannot be written; ``title`` says which file."""
    is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return (DiskFull if is_full else ConfigError)(title, error.strerror or str(error))


class TransportError(AgentTuiError):
    """The connection to the server failed; ``retry_after`` is the server's own value in seconds, if it sent
    one.
    """

    def __init__(
        self, title: str, detail: str = "", *, retryable: bool = True, retry_after: float | None = None
    ) -> None:
        super().__init__(title, detail)
        self.retryable = retryable
        self.retry_after = retry_after


class ConnectFailed(TransportError):
    """Nobody answered at that address."""


class StreamLost(TransportError):
    """The stream ended before its last event."""


class TimedOut(TransportError):
    """No byte came for longer than allowed."""


class ProtocolError(AgentTuiError):
    """The answer is not in the protocol we speak."""


class Refused(AgentTuiError):
    """The server understood and refused. ``status`` is its HTTP status, 0 if there was none. ``code`` is a
    word by which programs distinguish refusals, such as "voice.no_server"; empty if they need not.
    """

    def __init__(self, title: str, detail: str = "", *, status: int = 0, code: str = "") -> None:
        super().__init__(title, detail)
        self.status = status
        self.code = code


class AgentBusy(Refused):
    """Something else is using it."""


class NotFound(Refused):
    """There is no such thing there."""


class NotOffered(Refused):
    """This server does not have that call."""


class Unauthorized(Refused):
    """The token is missing or wrong."""


class StoreError(AgentTuiError):
    """The database cannot be used."""


class StoreFull(StoreError):
    """The database cannot grow."""


class ModelError(AgentTuiError):
    """The model behind an agent failed. ``retryable`` says whether the same call may succeed later,
    ``retry_after`` how many seconds the provider asks to wait. ``status`` is its HTTP status, 0 if there was
    none.
    """

    def __init__(
        self,
        title: str,
        detail: str = "",
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        status: int = 0,
    ) -> None:
        super().__init__(title, detail)
        self.retryable = retryable
        self.retry_after = retry_after
        self.status = status
