"""WebSocket connections: uvicorn's, with bounds that it lacks. Imported with the first handshake."""

from __future__ import annotations

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

MAX_FRAGMENTS = 1_000  # of one message; each costs memory, even an empty one
REFUSED_HEAD = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class WebSocketConnection(WebSocketsSansIOProtocol):
    """One WebSocket; what breaks its bounds is closed with 1009, what is no handshake is refused."""

    def handle_cont(self, event: Frame) -> None:
        if len(self.frames) < MAX_FRAGMENTS:
            super().handle_cont(event)
        elif not self.close_sent:
            self.conn.fail(1009, f"a message may have {MAX_FRAGMENTS} fragments")
            self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        if self.conn.close_sent is None:  # the head of the handshake, which has no close frame
            self.transport.write(REFUSED_HEAD)
            self.transport.close()
        else:
            super().handle_parser_exception()
