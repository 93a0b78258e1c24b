"""TLS for clients and for model calls: which authorities are trusted, and what a bad certificate means."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

import certifi  # the authorities that httpx also uses

from agent_tui.model.errors import ConfigError, ConnectFailed

# OpenSSL's verify codes (openssl-verification-options(1)), in words.
_EXPIRED, _NOT_YET_VALID = 10, 9
_SELF_SIGNED = (18, 19)
_UNKNOWN_ISSUER = (2, 20, 21)
_WRONG_HOST = (62, 64)


def tls_context(ca_bundle: str | Path | None, environ: Mapping[str, str]) -> ssl.SSLContext:
    """Return a context that trusts only ``ca_bundle`` (a PEM file or a folder), else only ``SSL_CERT_FILE``
    or ``SSL_CERT_DIR``, else the machine's authorities and the bundled ones.

    All clients with the same trust share it: do not change it. Making one takes tens of ms. Raises
    ``ConfigError`` for a bundle that cannot be read.
    """
    for name, path in (
        ("the CA bundle", str(ca_bundle or "")),
        ("SSL_CERT_FILE", environ.get("SSL_CERT_FILE", "")),
        ("SSL_CERT_DIR", environ.get("SSL_CERT_DIR", "")),
    ):
        if path:
            return _context_of(name, path)
    usual = ssl.get_default_verify_paths()
    return _usual_context(_changed_ns(usual.cafile), _changed_ns(usual.capath))


def _context_of(name: str, path: str) -> ssl.SSLContext:
    try:
        return _own_context(path, _changed_ns(path))
    except ssl.SSLError as error:
        raise ConfigError(f"{name} holds no certificate: {path}", "It should be a PEM file.") from error
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigError(f"{name} cannot be read: {path}", reason) from error


# The time of the last change (ns) is part of the key: a changed source makes a new context.
@lru_cache(maxsize=1)
def _usual_context(_file_ns: int, _folder_ns: int) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certifi.where())
    context.load_default_certs()
    return context


@lru_cache(maxsize=8)
def _own_context(path: str, _ns: int) -> ssl.SSLContext:
    folder = Path(path).is_dir()
    return ssl.create_default_context(capath=path if folder else None, cafile=None if folder else path)


def _changed_ns(path: str | None) -> int:
    try:
        return Path(path).stat().st_mtime_ns if path else 0
    except OSError:
        return 0


def tls_failure(error: ssl.SSLError, where: str) -> ConnectFailed:
    """Return our error for a failed handshake with ``where``; trying again would not help."""
    if not isinstance(error, ssl.SSLCertVerificationError):
        return ConnectFailed(f"no TLS connection to {where}", _handshake(error), retryable=False)
    code = error.verify_code
    if code == _EXPIRED:
        what, helps = "has expired", "The server needs a new one, or this machine's clock is wrong."
    elif code == _NOT_YET_VALID:
        what, helps = "is not valid yet", "This machine's clock may be wrong."
    elif code in _SELF_SIGNED:
        what, helps = "is self-signed", "Name its certificate in SSL_CERT_FILE if you trust it."
    elif code in _UNKNOWN_ISSUER:
        what, helps = "is from an unknown authority", "Name that authority in SSL_CERT_FILE if you trust it."
    elif code in _WRONG_HOST:
        what, helps = "is for another host", error.verify_message
    else:
        what, helps = "is not valid", error.verify_message
    return ConnectFailed(f"the certificate of {where} {what}", helps, retryable=False)


def _handshake(error: ssl.SSLError) -> str:
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "The server does not speak TLS there; perhaps the address should begin with http://."
    return (error.reason or str(error)).replace("_", " ").lower()
