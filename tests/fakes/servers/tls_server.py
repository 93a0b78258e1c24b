"""A ``FakeServer`` behind TLS, with the certificates of ``tests/fakes/servers/tls``."""

from __future__ import annotations

import ssl
from pathlib import Path

from tests.fakes.servers.http_server import FakeServer

_FOLDER = Path(__file__).parent / "tls"
CA = _FOLDER / "ca.pem"


def tls_server(certificate: str) -> FakeServer:
    """Return a server with ``good``, ``expired``, ``wronghost`` or ``selfsigned``."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(_FOLDER / f"{certificate}.pem")
    return FakeServer(tls=context)
