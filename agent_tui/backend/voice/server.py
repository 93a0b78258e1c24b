"""The livekit-server that this backend runs: only for this machine, with a secret that nobody else knows.

The real server was measured with 1.13.5: it ends with 0 on every failure, ignores a signal in its first tenth
of a second, and waits after one SIGTERM for everyone to leave, but not after a second one.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import signal
import socket
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

from agent_tui.backend.tools.programs.child import Child
from agent_tui.backend.tools.programs.environment import passed_environment
from agent_tui.backend.voice.last_words import LastWords, LogFile
from agent_tui.backend.voice.program import Program, ProgramCommand, ProgramEnded

LOOPBACK = "127.0.0.1"
KEY = "agent-tui"
READY_SECONDS = 10.0
POLL_SECONDS = 0.02
SETTLE_SECONDS = 0.2  # after it is ready: an earlier signal is lost
LEAVE_SECONDS = 0.5  # between the first SIGTERM and the second
ROOM_SECONDS = 30  # how long an empty room stays
SECRET_BYTES = 32
VERSION_SECONDS = 5.0
OLDEST_VERSION = (1, 12)


class VoiceServer(Program):
    """One livekit-server: started on demand, watched, restarted on the same port with the same secret."""

    def __init__(self, path: Path, folder: Path, file: LogFile) -> None:
        """``path`` is the program, ``folder`` its working folder."""
        self.secret = secrets.token_hex(SECRET_BYTES)
        self.path = path
        self._folder = folder
        super().__init__("livekit-server", LastWords(file, "livekit-server", [self.secret]))
        self._ports = (0, 0)
        self._was_ready = False

    @property
    def url(self) -> str:
        """Return the address for LiveKit clients."""
        return f"ws://{LOOPBACK}:{self._ports[0]}"

    @property
    def api_url(self) -> str:
        """Return the address of its API."""
        return f"http://{LOOPBACK}:{self._ports[0]}"

    async def stop(self) -> None:
        """End it, even if people are still in a room."""
        await super().stop()
        self._was_ready = False

    async def _command(self) -> ProgramCommand:
        if not self._was_ready:  # the ports are not in use yet, and another process may have taken them
            self._ports = free_ports()
        config = json.dumps(server_config(*self._ports, self.secret))
        # In the environment: every user of this machine could read an argument.
        environ = {**passed_environment(), "LIVEKIT_CONFIG": config}
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return ProgramCommand((str(self.path),), self._folder, environ)

    async def _live(self, child: Child) -> None:
        output_end = asyncio.gather(self._words.listen(child.stdout), self._words.listen(child.stderr))
        try:
            await self._ready(output_end)
            self._was_ready = True
            self._become("running")
            await output_end
        except asyncio.CancelledError:
            child.tell(signal.SIGTERM)
            with suppress(TimeoutError):
                async with asyncio.timeout(LEAVE_SECONDS):
                    await child.wait()
            raise
        finally:
            output_end.cancel()

    async def _ready(self, output_end: asyncio.Future[tuple[None, None]]) -> None:
        """Wait until it answers; raises ``ProgramEnded`` if it ends before, or never does."""
        try:
            async with asyncio.timeout(READY_SECONDS):
                while not output_end.done() and await answered_status(self._ports[0]) != HTTPStatus.OK:
                    await asyncio.wait({output_end}, timeout=POLL_SECONDS)
                # Another process on our port may have answered: ours has ended then, or ends now.
                await asyncio.wait({output_end}, timeout=SETTLE_SECONDS)
        except TimeoutError:
            raise ProgramEnded("it did not get ready") from None
        if output_end.done():
            raise ProgramEnded("it ended while it started")


def server_config(port: int, media_port: int, secret: str) -> dict[str, object]:
    """Return a livekit-server's configuration that binds only 127.0.0.1, for calls (TCP) and media (UDP).
    Without ``tcp_port`` 0 and ``ips`` media would listen on every interface; without ``stun_servers`` clients
    would be sent to public ones.
    """
    return {
        "port": port,
        "bind_addresses": [LOOPBACK],
        "rtc": {
            "tcp_port": 0,
            "udp_port": media_port,
            "ips": {"includes": [f"{LOOPBACK}/32"]},
            "node_ip": LOOPBACK,
            "use_external_ip": False,
            "stun_servers": [f"{LOOPBACK}:9"],
            "enable_loopback_candidate": True,
        },
        "keys": {KEY: secret},
        # The agent does not count: with a shorter time it would be removed before its person is back.
        "room": {"empty_timeout": ROOM_SECONDS, "departure_timeout": ROOM_SECONDS},
        "logging": {"level": "warn"},
        "development": True,
    }


def free_ports() -> tuple[int, int]:
    """Return a TCP port and a UDP port that are currently free on 127.0.0.1."""
    with (
        socket.socket(socket.AF_INET, socket.SOCK_STREAM) as calls,
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as media,
    ):
        for probe in (calls, media):
            probe.bind((LOOPBACK, 0))
        return calls.getsockname()[1], media.getsockname()[1]


async def answered_status(port: int) -> int:
    """Return the HTTP status of ``GET /`` on ``port``, or 0 if nothing listens there."""
    writer = None
    try:
        async with asyncio.timeout(1.0):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            writer.write(b"GET / HTTP/1.0\r\nhost: localhost\r\n\r\n")
            words = (await reader.readline()).split()
    except (OSError, TimeoutError):
        return 0
    finally:
        if writer is not None:
            writer.close()
    return int(words[1][:3]) if len(words) > 1 and words[1].isdigit() else 0


def is_old(version: str) -> bool:
    """Return whether a livekit-server is older than the oldest known to work with us."""
    numbers = [int(word) for word in version.split(".")[:2] if word.isdigit()]
    return bool(numbers) and tuple(numbers) < OLDEST_VERSION


async def server_version(path: Path) -> str:
    """Return the version that the program reports, as "1.13.5"; empty if it does not."""
    try:
        program = await asyncio.create_subprocess_exec(
            str(path),
            "--version",
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=passed_environment(),
        )
    except OSError:
        return ""
    try:
        async with asyncio.timeout(VERSION_SECONDS):
            output, _ = await program.communicate()
    except TimeoutError:
        return ""
    finally:
        if program.returncode is None:
            program.kill()
            await program.wait()
    words = output.decode(errors="replace").split()
    return words[-1][:40] if words and words[-1][:1].isdigit() else ""
