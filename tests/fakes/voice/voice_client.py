"""A voice session without sound or server: the test sends its events, and sees what was asked of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

from agent_tui.audio.devices import Direction
from agent_tui.audio.sound import BLOCK_BYTES, Level, SoundStatus
from agent_tui.model import voice as vo
from agent_tui.model.errors import AgentTuiError
from tui.voice.request import VoiceRequest
from tui.voice.session import VoiceSession

SILENT = Level(-120.0, -120.0)


class FakeVoiceClient:
    """Stands for a ``VoiceClient``. What was asked is in ``asked``, one line each; ``refuse`` is raised
    instead of carrying it out.
    """

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.refuse: AgentTuiError | None = None
        self.transport: vo.Transport = "room"
        self.is_left = False
        self.leaving: asyncio.Event | None = None  # is waited for before it has left
        self._events: asyncio.Queue[vo.VoiceEvent | None] = asyncio.Queue()
        self._is_waiting = False

    def send(self, *events: vo.VoiceEvent) -> None:
        """Let these happen."""
        for event in events:
            self._events.put_nowait(event)

    def end(self) -> None:
        """Let the session's events end."""
        self._events.put_nowait(None)

    @property
    def is_drained(self) -> bool:
        """Whether everything that was sent was taken."""
        return self._events.empty() and (self._is_waiting or self.is_left)

    async def events(self) -> AsyncGenerator[vo.VoiceEvent, None]:
        try:
            while True:
                self._is_waiting = True
                event = await self._events.get()
                self._is_waiting = False
                if event is None:
                    return
                yield event
                if isinstance(event, vo.LinkMoved) and event.status in ("ended", "failed"):
                    return
        finally:
            self.is_left = True
            if self.leaving is not None:
                await self.leaving.wait()

    def _note(self, call: str) -> None:
        self.asked.append(call)
        if self.refuse is not None:
            raise self.refuse

    async def say(self, text: str) -> None:
        key = f"typed {len(self.asked)}"
        self.send(vo.WordsTyped(key, text))
        try:
            self._note(f"say {text}")
        except AgentTuiError:
            self.send(vo.WordsLost(key))
            raise

    async def interrupt(self) -> None:
        self._note("interrupt")

    async def mute(self, muted: bool) -> None:
        self._note(f"mute {muted}")
        self.send(vo.MicChanged(is_muted=muted))

    async def start_talking(self) -> None:
        self._note("start_talking")
        self.send(vo.MicChanged(is_muted=False, is_talking=True))

    async def stop_talking(self, *, cancel: bool = False) -> None:
        self._note("stop_talking cancel" if cancel else "stop_talking")
        self.send(vo.MicChanged(is_muted=True))

    async def send_file(self, path: Path) -> None:
        self._note(f"send_file {path.name}")

    async def ask_to_listen(self) -> None:
        self._note("ask_to_listen")

    async def retry(self) -> None:
        self._note("retry")


class FakeSound:
    """Stands for ``Sound``: levels and devices are what the test says."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.input_level = self.output_level = SILENT
        self.status = SoundStatus("USB Audio", output_name="USB Audio")
        self.queued_seconds = 0.0

    async def open(self) -> None:
        self.asked.append("open")

    async def aclose(self) -> None:
        self.asked.append("close")

    async def captured(self) -> AsyncGenerator[bytes, None]:
        yield bytes(BLOCK_BYTES)

    def play(self, sound: bytes) -> None:
        self.asked.append(f"play {len(sound)}")

    def hold(self) -> None:
        self.asked.append("hold")

    def resume(self) -> None:
        self.asked.append("resume")

    def drop(self) -> float:
        if self.asked[-1] != "drop":  # it is asked twelve times a second
            self.asked.append("drop")
        return 0.0

    async def choose(self, direction: Direction, name: str) -> None:
        self.asked.append(f"choose {direction} {name}")

    def use_headphones(self, on: bool) -> None:
        self.asked.append(f"headphones {on}")


class FakeVoiceSource:
    """Stands for ``VoiceSource``: hands out one session after another. ``refuse`` is raised instead of one;
    ``held`` is waited for before one is there.
    """

    def __init__(self) -> None:
        self.opened: list[VoiceRequest] = []
        self.remembered: list[tuple[Direction, str]] = []
        self.refuse: AgentTuiError | None = None
        self.held: asyncio.Event | None = None
        self.tells: tuple[str, ...] = ()
        self.client = FakeVoiceClient()
        self.sound = FakeSound()
        self.place = "LiveKit on this machine"
        self.conversation_id = self.room = ""

    def hold(self) -> None:
        """Let nobody have a session yet."""
        self.held = asyncio.Event()

    async def open(self, request: VoiceRequest, tell: Callable[[str], None]) -> VoiceSession:
        self.opened.append(request)
        for line in self.tells:
            tell(line)
        if self.held is not None:
            await self.held.wait()
        if self.refuse is not None:
            raise self.refuse
        if self.client.is_left:
            self.client = FakeVoiceClient()
        return VoiceSession(self.client, self.sound, self.place, self.conversation_id, room=self.room)

    async def devices(self) -> tuple[list[str], list[str]]:
        return ["USB Audio", "Webcam"], ["USB Audio", "HDMI"]

    def remember(self, direction: Direction, name: str) -> None:
        self.remembered.append((direction, name))

    async def aclose(self) -> None:
        pass
