"""What the voice screen costs while nothing happens but sound: levels that move twelve times a second.

The program's own screen on a terminal of its own; the share of a core is of the whole process.
"""

from __future__ import annotations

import asyncio
import math
import os
import pty
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import AsyncGenerator, Callable
from fcntl import ioctl

from agent_tui.audio.sound import Level, SoundStatus
from agent_tui.model import voice as vo
from benchmarks.table import row
from tui.voice.request import VoiceRequest
from tui.voice.session import VoiceSession

SECONDS = 8.0
JOINED = (
    vo.LinkMoved("connecting"),
    vo.LinkMoved("connected"),
    vo.AgentJoined("agent", "demo", has_session=True),
    vo.AgentStateChanged("listening"),
)


class SilentSession:
    """A session in which nothing happens."""

    transport: vo.Transport = "room"

    async def events(self) -> AsyncGenerator[vo.VoiceEvent, None]:
        for event in JOINED:
            yield event
        for number in range(20):
            yield vo.ItemStored(vo.SpokenItem(f"u{number}", "user", "What rooms are running?"))
            yield vo.ItemStored(vo.SpokenItem(f"a{number}", "assistant", "Two of them, in round three."))
        await asyncio.Event().wait()


class Noise:
    """Levels that move all the time, or never."""

    queued_seconds = 0.0
    status = SoundStatus("USB Audio", output_name="USB Audio")

    def __init__(self, *, moves: bool) -> None:
        self._moves = moves

    async def open(self) -> None: ...

    async def aclose(self) -> None: ...

    def use_headphones(self, on: bool) -> None: ...

    def _level(self, phase: float) -> Level:
        if not self._moves:
            return Level(-96.0, -96.0)
        rms = -25.0 + 15.0 * math.sin(9.0 * time.monotonic() + phase)
        return Level(rms, rms + 6.0)

    @property
    def input_level(self) -> Level:
        return self._level(0.0)

    @property
    def output_level(self) -> Level:
        return self._level(1.0)


class Here:
    """A source of such sessions."""

    def __init__(self, *, moves: bool) -> None:
        self._moves = moves

    async def open(self, request: VoiceRequest, tell: Callable[[str], None]) -> VoiceSession:
        sound = Noise(moves=self._moves)
        return VoiceSession(SilentSession(), sound, "nowhere")  # type: ignore[arg-type]  # no more is asked


def show(*, moves: bool) -> None:
    """Show the screen for some seconds; print how much of a core that took."""
    from tui import themes
    from tui.link import ChatLink
    from tui.request import Server
    from tui.voice.screen import VoiceScreen
    from widgets.terminal.frame_clock import FrameClock
    from widgets.terminal.keys_in_order import KeysInOrder

    class Bare(KeysInOrder[None]):
        def __init__(self) -> None:
            super().__init__()
            self.clock = FrameClock.for_app(self)
            self.began = 0.0, 0.0

        def on_mount(self) -> None:
            self.register_theme(themes.load("dark"))
            self.theme = "dark"
            source = Here(moves=moves)
            link = ChatLink(Server("http://127.0.0.1:9"))  # is never asked: the session keeps no log
            screen = VoiceScreen(source, link, VoiceRequest(), self.clock)  # type: ignore[arg-type]
            self.push_screen(screen)
            self.set_timer(2.0, self.begin)

        def begin(self) -> None:
            self.began = time.process_time(), time.monotonic()
            self.set_timer(SECONDS, self.done)

        def done(self) -> None:
            cpu, wall = time.process_time() - self.began[0], time.monotonic() - self.began[1]
            os.write(int(os.environ["RESULT"]), f"{cpu / wall:.6f}".encode())
            self.exit()

    Bare().run()


def share(word: str) -> float:
    """Return the share of a core that a screen in a terminal of 100 × 30 takes."""
    reader, writer = os.pipe()
    ours, theirs = pty.openpty()
    ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    child = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.voice_screen", word],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        pass_fds=[writer],
        env={**os.environ, "RESULT": str(writer), "TERM": "xterm-256color"},
    )
    os.close(theirs)
    os.close(writer)
    threading.Thread(target=_drain, args=(ours,), daemon=True).start()
    if child.wait():
        raise SystemExit(f"the voice screen ended with code {child.returncode}")
    return float(os.read(reader, 100))


def _drain(terminal: int) -> None:
    """Take what is drawn, as a terminal does that answers no question."""
    try:
        while os.read(terminal, 65536):
            pass
    except OSError:
        return


def main() -> None:
    """Print what the meters cost, and what the screen costs without them."""
    still, moving = share("still"), share("moving")
    row("voice screen, meters at 12 Hz", "≤ 3 %", f"{100 * moving:.1f} %", f"{100 * still:.1f} % in silence")


if __name__ == "__main__":
    if sys.argv[1:]:
        show(moves=sys.argv[1] == "moving")
    else:
        main()
