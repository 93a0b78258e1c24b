"""The cause of a network library's exception, in words for a person."""

from __future__ import annotations

import os
import socket
import ssl

from agent_tui.model.inert import inert_line

# An interrupted or waiting handshake says nothing about the server's TLS.
_UNFINISHED = (
    ssl.SSLEOFError,
    ssl.SSLZeroReturnError,
    ssl.SSLSyscallError,
    ssl.SSLWantReadError,
    ssl.SSLWantWriteError,
)


def causes(error: BaseException) -> list[BaseException]:
    """Return ``error`` and all its causes, nearest first."""
    chain: list[BaseException] = []
    waiting: list[BaseException | None] = [error]
    while waiting:
        cause = waiting.pop(0)
        if cause is None or any(cause is other for other in chain):
            continue
        chain.append(cause)
        waiting += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            waiting += cause.exceptions
    return chain


def tls_cause(error: BaseException) -> ssl.SSLError | None:
    """Return the TLS error that caused ``error``, if trying again will not help."""
    for cause in causes(error):
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, _UNFINISHED):
            return cause
    return None


def reason(error: BaseException) -> str:
    """Return in a few words why a connection failed; in the operating system's words, if it is the cause."""
    for cause in causes(error):
        if isinstance(cause, socket.gaierror):
            return "there is no host of that name"
        if isinstance(cause, OSError) and cause.errno and not isinstance(cause, ssl.SSLError):
            return os.strerror(cause.errno)
    return inert_line(str(error))
