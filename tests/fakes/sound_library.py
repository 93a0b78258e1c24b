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
        ended: Callable[[], None],
        taken: Callable[[bytes], None] | None = None,
        given: Callable[[int], bytes] | None = None,
    ) -> None:
        self.device = device
        self.form = form
        self.latency_seconds = latency_seconds
        self.glitches = 0
        self.is_closed = False
        self._ended = ended
        self._taken = taken
        self._given = given

    def hear(self, sound: bytes) -> None:
        """Have the microphone give ``sound``."""
        assert not self.is_closed
        assert self._taken is not None
        self._taken(sound)

    def ask(self, size: int) -> bytes:
        """Return what the speaker is given."""
        assert not self.is_closed
        assert self._given is not None
        return self._given(size)

    def pull_out(self) -> None:
        """End by itself, as a device that is unplugged."""
        self._ended()

    def close(self) -> None:
        """Stop."""
        self.is_closed = True
        self._ended()


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
        taken: Callable[[bytes], None],
        ended: Callable[[], None],
    ) -> FakeStream:
        """Start a microphone."""
        return self._opened(device, FakeStream(device, form, latency_seconds, ended, taken=taken))

    def open_output(
        self,
        device: Device,
        form: SampleFormat,
        latency_seconds: float,
        given: Callable[[int], bytes],
        ended: Callable[[], None],
    ) -> FakeStream:
        """Start a speaker."""
        return self._opened(device, FakeStream(device, form, latency_seconds, ended, given=given))

    def _opened(self, device: Device, stream: FakeStream) -> FakeStream:
        if device.name in self.busy:
            raise DeviceFailed("it is used by another program")
        self.streams.append(stream)
        return stream
