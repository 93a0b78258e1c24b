"""WebSocket connections: uvicorn's, with limits that it lacks. Imported with the first handshake."""

from __future__ import annotations

from uvicorn._types import ASGISendEvent
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

MAX_FRAGMENTS = 1_000  # per message; each costs memory, even an empty one
REFUSED_HEAD = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class WebSocketConnection(WebSocketsSansIOProtocol):
    """One WebSocket; a message beyond the limits closes it with 1009, anything but a handshake is refused."""

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) < MAX_FRAGMENTS:
            super().handle_cont(event)
        elif not self.close_sent:
            self.conn.fail(1009, f"a message may have {MAX_FRAGMENTS} fragments")
            self.handle_parser_exception()

    async def send(self, message: ASGISendEvent) -> None:
        await super().send(message)
        # A refusal with a body ends the handshake, too; uvicorn would log that it was not completed.
        self.handshake_complete = self.handshake_complete or self.close_sent

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.handshake_initiated:  # the whole head was given at once, and is not a handshake's
            self.transport.write(REFUSED_HEAD)
            self.transport.close()
