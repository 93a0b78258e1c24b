"""An agent that speaks the protocol of ``agent_tui.voice_agent`` with the backend and nothing else.

Run as a program with the arguments of the real one. What it was told stands in the file ``told.jsonl`` of
its working folder, a line for each start. How it behaves says the room's name: "crash" ends as soon as it has
joined, "broken" fails before, "hangs" never joins, "leaves" goes at once, "rude" does not end when it is
asked to, "chatty" prints what is no part of the protocol; in every other room it joins and stays. Against a
real LiveKit server it joins the room; against the fake one of ``livekit_server`` it says so there.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import urllib.request
from pathlib import Path
from typing import Any


def say(state: str, **more: str) -> None:
    """Say a state, as the protocol has it."""
    sys.stdout.write(json.dumps({"state": state, **more}) + "\n")
    sys.stdout.flush()


def note(told: dict[str, Any]) -> None:
    """Write down what this program was given."""
    seen = {**told, "pid": os.getpid(), "arguments": sys.argv[1:], "environment": dict(os.environ)}
    with Path("told.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(seen) + "\n")


def tell_fake(told: dict[str, Any], act: str) -> None:
    """Join or leave a room of the fake server."""
    url = told["url"].replace("ws://", "http://") + f"/fake/{act}"
    body = json.dumps({"room": told["room"], "identity": told["identity"], "kind": 4}).encode()
    request = urllib.request.Request(url, body, method="POST")  # noqa: S310 - of a test, on loopback
    urllib.request.urlopen(request, timeout=10).close()  # noqa: S310


def play(told: dict[str, Any]) -> int:
    """Be in a room of the fake server until told to go."""
    if "rude" in told["room"]:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    tell_fake(told, "join")
    say("joined")
    if "crash" in told["room"]:
        sys.stderr.write("the last words of eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl here\n")
        return 1
    if "leaves" in told["room"]:
        tell_fake(told, "leave")
        return 0
    while True:
        signal.pause()


async def join(told: dict[str, Any]) -> None:
    """Be in a room of a real server until it ends."""
    from livekit import rtc

    room, left = rtc.Room(), asyncio.Event()
    room.on("disconnected", lambda _reason: left.set())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, left.set)
    await room.connect(told["url"], told["token"], rtc.RoomOptions(auto_subscribe=False))
    await room.local_participant.set_attributes({"lk.agent.state": "listening"})
    say("joined")
    await left.wait()
    await room.disconnect()


def main() -> int:
    """Say that it is warm, read what it is told, do it."""
    say("warm")
    line = sys.stdin.readline()
    if not line:
        return 0
    told = json.loads(line)
    note(told)
    if "broken" in told["room"]:
        say("failed", detail="there is no model")
        return 2
    while "hangs" in told["room"]:
        signal.pause()
    if "chatty" in told["room"]:
        sys.stdout.write("not json\n[1]\n")
        say("notice", detail="I hear English only\x1b[31m")
    if "FAKE_LIVEKIT" in os.environ:
        return play(told)
    asyncio.run(join(told))
    return 0


if __name__ == "__main__":
    sys.exit(main())
