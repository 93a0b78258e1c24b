"""A sound library without hardware: a double of PortAudio at the ``Library`` protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from agent_tui.audio.devices import Device, DeviceList, Direction
from agent_tui.audio.library import DeviceFailed
from agent_tui.audio.resampling import OURS, SampleFormat


class FakeStream:
    """A device that runs when the test calls it."""

    def __init__(
        self,
        device: Device,
        form: SampleFormat,
        latency_seconds: float,
        on_end: Callable[[], None],
        on_sound: Callable[[bytes], None] | None = None,
        next_sound: Callable[[int], bytes] | None = None,
    ) -> None:
        self.device = device
        self.form = form
        self.latency_seconds = latency_seconds
        self.glitches = 0
        self.is_closed = False
        self._on_end = on_end
        self._on_sound = on_sound
        self._next_sound = next_sound

    def hear(self, sound: bytes) -> None:
        """Have the microphone give ``sound``."""
        assert not self.is_closed
        assert self._on_sound is not None
        self._on_sound(sound)

    def ask(self, size: int) -> bytes:
        """Return what the speaker is given."""
        assert not self.is_closed
        assert self._next_sound is not None
        return self._next_sound(size)

    def pull_out(self) -> None:
        """End by itself, as a device that is unplugged."""
        self._on_end()

    def close(self) -> None:
        """Stop."""
        self.is_closed = True
        self._on_end()


class FakeLibrary:
    """Knows the devices that ``plugged`` held when it last began, as PortAudio does."""

    def __init__(self, *plugged: Device, forms: Sequence[SampleFormat] = (OURS,), problem: str = "") -> None:
        self.plugged = list(plugged)
        self.forms = forms
        self.problem = problem
        self.busy: set[str] = set()
        self.streams: list[FakeStream] = []
        self.begun = 0
        self._known: DeviceList | None = None

    @property
    def running(self) -> list[FakeStream]:
        """The streams that are open."""
        return [stream for stream in self.streams if not stream.is_closed]

    def stream_of(self, name: str) -> FakeStream:
        """Return the open stream of a device."""
        return next(stream for stream in self.running if stream.device.name == name)

    async def list_devices(self, *, only_pulse: bool = False) -> DeviceList:
        """What a child process would find now."""
        return DeviceList() if only_pulse else DeviceList(tuple(self.plugged), self.problem)

    def begin(self) -> DeviceList:
        """Look for devices once."""
        return self._known or self.begin_anew()

    def begin_anew(self) -> DeviceList:
        """Look again; PortAudio would end all streams."""
        assert not self.running
        self.begun += 1
        self._known = DeviceList(tuple(self.plugged), self.problem)
        return self._known

    def knows(self, device: Device, direction: Direction) -> bool:
        """Return whether it was plugged in then."""
        return any(known.key == device.key for known in self.begin().of(direction))

    def accepts(self, device: Device, direction: Direction, form: SampleFormat) -> bool:
        """Return whether it is one of the formats."""
        return form in self.forms

    def open_input(
        self,
        device: Device,
        form: SampleFormat,
        latency_seconds: float,
        on_sound: Callable[[bytes], None],
        on_end: Callable[[], None],
    ) -> FakeStream:
        """Start a microphone."""
        return self._opened(device, FakeStream(device, form, latency_seconds, on_end, on_sound=on_sound))

    def open_output(
        self,
        device: Device,
        form: SampleFormat,
        latency_seconds: float,
        next_sound: Callable[[int], bytes],
        on_end: Callable[[], None],
    ) -> FakeStream:
        """Start a speaker."""
        return self._opened(device, FakeStream(device, form, latency_seconds, on_end, next_sound=next_sound))

    def _opened(self, device: Device, stream: FakeStream) -> FakeStream:
        if device.name in self.busy:
            raise DeviceFailed("it is used by another program")
        self.streams.append(stream)
        return stream
