"""Which way leads to a URL: straight or through a proxy, with TLS or without."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path

from agent_tui.clients.proxy import resolve_proxy
from agent_tui.tls import tls_context


class Routes:
    """The ways from this machine. The TLS context is built once, and only when something needs it."""

    def __init__(self, environ: Mapping[str, str], ca_bundle: str | Path | None) -> None:
        self._environ = environ
        self._ca_bundle = ca_bundle
        self._tls: ssl.SSLContext | None = None

    def route(self, url: str) -> tuple[ssl.SSLContext | None, str | None]:
        """Return the TLS context (where one is needed) and the proxy (where one is named) for ``url``.

        Raises ``ConfigError`` for a proxy or a CA bundle that cannot be used.
        """
        proxy = resolve_proxy(url, self._environ)
        if not url.startswith(("https:", "wss:")) and not (proxy or "").startswith("https:"):
            return None, proxy
        if self._tls is None:
            self._tls = tls_context(self._ca_bundle, self._environ)
        return self._tls, proxy
