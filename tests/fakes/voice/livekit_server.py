"""A server that answers those calls of LiveKit's that our backend makes, and takes part in no room itself.

Run as a program like livekit-server: its configuration stands in ``LIVEKIT_CONFIG``. The argument says how it
behaves: "good"; "broken" says what is wrong with its configuration and ends with 0, as the real one does;
"deaf" takes no notice of SIGTERM; "silent" listens to nobody. ``POST /fake/ACT`` plays what happens in rooms:
``join`` and ``leave`` {room, identity, kind, attributes}; ``GET /fake/looks`` says how often it was asked for
its rooms. Calls need a token that the key of the configuration has signed and that has the grant, as the real
one asks for. Each start leaves a line with the process id in
the file ``servers`` of its working folder, and one with the secret on its output; whoever joins while they
are in the room leaves a file ``doubles``.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event
from typing import Any

CONFIG = json.loads(os.environ.get("LIVEKIT_CONFIG", "{}"))
ROOMS: dict[str, dict[str, dict[str, Any]]] = {}
LOOKS: list[None] = []


class Calls(BaseHTTPRequestHandler):
    """One request."""

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.answer(str(len(LOOKS)).encode() if self.path == "/fake/looks" else b"OK")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        if self.path.startswith("/fake/"):
            play(self.path.removeprefix("/fake/"), json.loads(body or b"{}"))
            self.answer(b"{}")
        else:
            self.answer(*called(self.path.rpartition("/")[2], body, self.headers["authorization"] or ""))

    def answer(self, body: bytes, status: int = 200) -> None:
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def play(act: str, fields: dict[str, Any]) -> None:
    """Let something happen."""
    if act == "join":
        people = ROOMS.setdefault(fields["room"], {})
        if fields["identity"] in people:
            Path("doubles").touch()
        people[fields["identity"]] = fields
    elif act == "leave":
        ROOMS.get(fields["room"], {}).pop(fields["identity"], None)


def called(name: str, body: bytes, authorization: str) -> tuple[bytes, int]:
    """Answer a call of the room service."""
    import jwt
    from livekit.protocol import models, room

    (key, secret), *_ = CONFIG["keys"].items()
    claims = jwt.decode(authorization.removeprefix("Bearer "), secret, ["HS256"], issuer=key)["video"]
    if name == "ListRooms":
        assert claims["roomList"]
        LOOKS.append(None)
        listed = room.ListRoomsResponse(rooms=[models.Room(name=name) for name in ROOMS])
        return listed.SerializeToString(), 200
    identity = room.RoomParticipantIdentity.FromString(body)  # the room comes first in every call
    assert claims["roomAdmin"]
    assert claims["room"] == identity.room
    people = ROOMS.get(identity.room, {})
    if name == "ListParticipants":
        infos = [
            models.ParticipantInfo(
                identity=one["identity"], kind=one.get("kind", 0), attributes=one.get("attributes", {})
            )
            for one in people.values()
        ]
        return room.ListParticipantsResponse(participants=infos).SerializeToString(), 200
    if name == "RemoveParticipant":
        if people.pop(identity.identity, None) is None:
            return b'{"code": "not_found", "msg": "participant does not exist"}', 404
    else:
        assert name == "DeleteRoom"
        ROOMS.pop(identity.room, None)
    return b"", 200


def main(mode: str) -> int:
    """Serve until told to end."""
    if "--version" in sys.argv:
        print("livekit-server version 1.13.5")  # noqa: T201 - what it is for
        return 0
    with Path("servers").open("a", encoding="utf-8") as file:
        file.write(f"{os.getpid()}\n")
    print("a line with the secret", *CONFIG["keys"].values(), flush=True)  # noqa: T201 - as a server logs
    if mode == "broken":
        print("could not parse config: secret", *CONFIG["keys"].values())  # noqa: T201 - as the real one
        return 0
    if mode == "silent":
        Event().wait()
    signal.signal(signal.SIGTERM, signal.SIG_IGN if mode == "deaf" else lambda *_: os._exit(0))
    ThreadingHTTPServer((CONFIG["bind_addresses"][0], CONFIG["port"]), Calls).serve_forever()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
