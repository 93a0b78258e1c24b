"""The sound of a session through real devices: lost ones are waited for, and they can be changed at any
time.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import suppress
from math import inf
from typing import Any, Final, TypeVar, cast

from agent_tui.audio.check import NOUNS, SoundSurroundings, no_device
from agent_tui.audio.devices import PULSE, Device, DeviceList, Direction, list_devices, with_pulse
from agent_tui.audio.echo import DEFAULT_PROCESSING, SILENCE, Lockstep, MicrophoneFilter, SoundProcessing
from agent_tui.audio.levels import LevelMeter
from agent_tui.audio.library import LATENCY_SECONDS, LONG_LATENCY_SECONDS, DeviceFailed, Library, Stream
from agent_tui.audio.pace import LATE_SECONDS
from agent_tui.audio.portaudio import PortAudio
from agent_tui.audio.recording import Recording
from agent_tui.audio.resampling import OURS, FromDevice, SampleFormat, ToDevice
from agent_tui.audio.rings import ROOM_LIMITS, CaptureQueue, PlayRing, RingLimits
from agent_tui.audio.sound import BLOCK_BYTES, BLOCK_SECONDS, SAMPLE_RATE, Level, SoundStatus

log = logging.getLogger(__name__)

LOOK_SECONDS: Final = 0.25  # how often streams are checked
STALLED_SECONDS: Final = 5.0  # a device without a call for this long counts as lost, whatever it says
GLITCHES: Final = 5  # of one stream, before it gets a longer latency
RETRY_SECONDS: Final = (1.0, 2.0, 3.0, 5.0)  # then always the last one
PULSE_WATCH_SECONDS: Final = 3.0  # how often to look for another default, or a device that came back
WATCH_SECONDS: Final = 15.0  # likewise if that takes a child process that loads PortAudio
CLOSE_SECONDS: Final = 2.0
ANSWER_SECONDS: Final = 15.0
WORDS: Final = {"input": "heard with", "output": "played on"}
Lister = Callable[..., Coroutine[Any, Any, DeviceList]]
R = TypeVar("R")


class Port:
    """One direction: the wanted device and the running one."""

    def __init__(self, direction: Direction, wanted: str) -> None:
        self.direction = direction
        self.wanted = wanted
        self.device: Device | None = None
        self.stream: Stream | None = None
        self.problem = ""
        self.latency_seconds = LATENCY_SECONDS
        self.ended = threading.Event()
        self.called_at = 0.0
        self.tries = 0
        self.retry_at = 0.0

    @property
    def name(self) -> str:
        """The running device, or ""."""
        return self.device.name if self.device is not None and self.stream is not None else ""

    @property
    def is_lost(self) -> bool:
        """Whether a device that was running no longer is."""
        silent_for = time.monotonic() - self.called_at
        return self.stream is not None and (self.ended.is_set() or silent_for > STALLED_SECONDS)

    @property
    def needs_longer(self) -> bool:
        """Whether the device is called too late too often for its latency."""
        is_late = self.stream is not None and self.stream.glitches >= GLITCHES
        return is_late and self.latency_seconds < LONG_LATENCY_SECONDS

    @property
    def is_as_wanted(self) -> bool:
        """Whether nothing better can come: the device that was asked for by name is running."""
        return self.stream is not None and bool(self.wanted) and not self.problem

    def starting(self) -> None:
        """Forget the end of the last device: another one is about to run."""
        self.ended = threading.Event()
        self.called_at = time.monotonic()

    def is_on(self, device: Device) -> bool:
        """Whether ``device`` is running."""
        ours = self.device
        return ours is not None and (ours.key, ours.pulse) == (device.key, device.pulse)

    def failed(self, problem: str) -> None:
        """Note why there is no device, and when to try again."""
        self.problem = problem
        self.retry_at = time.monotonic() + RETRY_SECONDS[min(self.tries, len(RETRY_SECONDS) - 1)]
        self.tries += 1

    def started(self, device: Device, stream: Stream) -> None:
        """Note the running device."""
        is_wanted = not self.wanted or DeviceList((device,)).find(self.wanted, self.direction) is not None
        self.problem = (
            "" if is_wanted else f'"{self.wanted}" is not there; "{device.name}" is used until it is'
        )
        self.device, self.stream, self.tries = device, stream, 0


class DeviceSound:
    """``Sound`` of a microphone and a speaker.

    ``input_name`` and ``output_name`` are ``Device.key``, or names; empty is the system's default. ``limits``
    say how much may wait to be played: ``ROOM_LIMITS`` or ``CONSOLE_LIMITS``.
    """

    def __init__(
        self,
        *,
        input_name: str = "",
        output_name: str = "",
        limits: RingLimits = ROOM_LIMITS,
        processing: SoundProcessing = DEFAULT_PROCESSING,
        recording: Recording | None = None,
        library: Library | None = None,
        lister: Lister = list_devices,
    ) -> None:
        self._ports: dict[Direction, Port] = {
            "input": Port("input", input_name),
            "output": Port("output", output_name),
        }
        self._library: Library = library or PortAudio()
        self._lister = lister
        self._filter = MicrophoneFilter(processing)
        self._lockstep = Lockstep()
        self._recording = recording
        self._ring = PlayRing(limits)
        self._input_meter, self._output_meter = LevelMeter(), LevelMeter()
        self._captured: CaptureQueue[tuple[bytes, bytes]] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._watcher: asyncio.Task[None] | None = None
        self._glitches = 0  # of closed streams
        self._last_sound_at = 0.0
        self._unheard_at = time.monotonic()
        self._listed = DeviceList()

    async def open(self) -> None:
        """Start both devices, if there are any."""
        self._captured = CaptureQueue()
        async with self._one_at_a_time:
            self._listed = await self._first_look()
            for port in self._ports.values():
                await self._connect(port)
        self._watcher = asyncio.create_task(self._watch())

    async def aclose(self) -> None:
        """Stop both devices."""
        if self._watcher is not None:
            self._watcher.cancel()
            with suppress(asyncio.CancelledError):
                await self._watcher
            self._watcher = None
        async with self._one_at_a_time:
            for port in self._ports.values():
                await self._close(port)
        if self._recording is not None:
            self._recording.close()

    async def captured(self) -> AsyncGenerator[bytes, None]:
        """Yield what the microphone hears, without the echo of the speaker. Without a microphone, yield
        silence: a listener then knows that a sentence is over.
        """
        assert self._captured is not None, "open() comes first"
        due = time.monotonic()
        while True:
            try:
                has_microphone = self._ports["input"].stream is not None
                async with asyncio.timeout(LATE_SECONDS if has_microphone else BLOCK_SECONDS):
                    heard, played = await self._captured.get()
            except TimeoutError:
                if self._ports["input"].stream is None:
                    due = max(due, time.monotonic() - 2 * LATE_SECONDS)
                    # A reader that takes a block in the time of a block never catches up.
                    while due < time.monotonic() and self._ports["input"].stream is None:
                        due += BLOCK_SECONDS
                        yield bytes(BLOCK_BYTES)
                continue
            due = time.monotonic()
            yield self._filter.filtered(heard, played, self._delay_seconds())

    def play(self, sound: bytes) -> None:
        """Queue sound for the speaker."""
        self._ring.play(sound)

    @property
    def queued_seconds(self) -> float:
        """How much was not heard yet, in seconds, including what is in the device."""
        stream = self._ports["output"].stream
        in_device = self._last_sound_at + stream.latency_seconds - time.monotonic() if stream else 0.0
        return self._ring.seconds + max(0.0, in_device)

    def hold(self) -> None:
        """Be silent at once and keep what is queued."""
        self._ring.hold()

    def resume(self) -> None:
        """Resume after ``hold``."""
        self._ring.resume()

    def drop(self) -> float:
        """Drop what is queued; return how many seconds of it were never heard."""
        return self._ring.drop()

    @property
    def input_level(self) -> Level:
        """The level of the microphone, before its sound is processed."""
        return self._input_meter.level

    @property
    def output_level(self) -> Level:
        """The level of what is played."""
        return self._output_meter.level

    @property
    def status(self) -> SoundStatus:
        """The running devices, and what is wrong with them."""
        heard, played = self._ports["input"], self._ports["output"]
        glitches = played.stream.glitches if played.stream is not None else 0
        return SoundStatus(
            input_name=heard.name,
            input_problem=heard.problem,
            output_name=played.name,
            output_problem=played.problem or (self._recording.problem if self._recording is not None else ""),
            has_signal=heard.stream is None or self._input_meter.has_signal,
            uses_headphones=self._filter.uses_headphones,
            underruns=self._ring.underruns + self._glitches + glitches,
        )

    async def choose(self, direction: Direction, name: str) -> None:
        """Change to another device while running; an empty name is the system's default."""
        async with self._one_at_a_time:
            self._listed = await self._lister()
            self._ports[direction].wanted = name
            await self._connect(self._ports[direction])

    def use_headphones(self, on: bool) -> None:
        """Turn the echo canceller off: with headphones the microphone hears nothing of the speaker."""
        self._filter.use_headphones(on)

    # --- devices ---

    def _delay_seconds(self) -> float:
        """Return the time from passing a block to the speaker until its echo comes from the microphone,
        without the way through the air: a constant of the two devices.
        """
        return sum(port.stream.latency_seconds for port in self._ports.values() if port.stream is not None)

    async def _first_look(self) -> DeviceList:
        pulse = asyncio.create_task(self._lister(only_pulse=True))
        try:
            listed = await _call_within(self._library.begin)
        except DeviceFailed as error:
            listed = DeviceList(problem=str(error))
        return with_pulse(listed, (await pulse).devices)

    async def _connect(self, port: Port) -> None:
        await self._close(port)
        device = self._wanted_device(port)
        if device is None:
            port.failed(no_device(port.direction, self._listed.problem, SoundSurroundings.of_this_process()))
            return
        try:
            if not await _call_within(lambda: self._library.knows(device, port.direction)):
                await self._begin_anew()  # it was plugged in after PortAudio began
        except DeviceFailed as error:
            port.failed(str(error))
            return
        await self._run(port, device)

    async def _begin_anew(self) -> None:
        running = [(port, port.device) for port in self._ports.values() if port.stream is not None]
        for port, _ in running:
            await self._close(port)
        await _call_within(self._library.begin_anew)
        for port, device in running:
            if device is not None:
                await self._run(port, device)

    async def _run(self, port: Port, device: Device) -> None:
        port.starting()
        is_too_late = threading.Event()

        def open_stream() -> Stream:
            stream = self._open_stream(port, device)
            if is_too_late.is_set():
                stream.close()
            return stream

        try:
            stream = await _call_within(open_stream)
        except asyncio.CancelledError:
            is_too_late.set()
            raise
        except DeviceFailed as error:
            is_too_late.set()
            port.failed(f'"{device.name}" cannot be {WORDS[port.direction]}: {error}')
            return
        port.started(device, stream)
        self._lockstep.expect(self._delay_seconds())

    def _open_stream(self, port: Port, device: Device) -> Stream:
        own = SampleFormat(device.rate, 1), SampleFormat(device.rate, min(2, device.channels(port.direction)))
        forms = (OURS, SampleFormat(SAMPLE_RATE, 2), *own)
        form = next((form for form in forms if self._library.accepts(device, port.direction, form)), OURS)
        if port.direction == "input":
            self._input_meter.reset()
            return self._library.open_input(
                device, form, port.latency_seconds, FromDevice(form, self._hear), port.ended.set
            )
        return self._library.open_output(
            device, form, port.latency_seconds, ToDevice(form, self._next_block), port.ended.set
        )

    async def _close(self, port: Port) -> None:
        stream, port.stream = port.stream, None
        if stream is None:
            return
        self._glitches += stream.glitches if port.direction == "output" else 0
        try:
            await _call_within(stream.close, CLOSE_SECONDS)
        except DeviceFailed:
            log.warning("The %s does not close", NOUNS[port.direction])

    def _wanted_device(self, port: Port) -> Device | None:
        find = self._listed.find
        return find(port.wanted, port.direction) or find("", port.direction)

    async def _look(self) -> None:
        """List the devices again, as cheaply as possible."""
        others = [device for device in self._listed.devices if device.host_api != PULSE]
        if len(others) < len(self._listed.devices):
            pulse = await self._lister(only_pulse=True)
            if pulse.devices:
                self._listed = DeviceList((*pulse.devices, *others))
                return
        self._listed = await self._lister()

    async def _watch(self) -> None:
        looked_at = time.monotonic()
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self._drop_unheard()
            if self._recording is not None:
                self._recording.flush()
            async with self._one_at_a_time:
                for port in self._ports.values():
                    if port.is_lost:
                        problem = f'"{port.name}" is gone; it is tried again every few seconds'
                        await self._close(port)
                        port.failed(problem)
                    elif port.needs_longer and port.device is not None:
                        port.latency_seconds = LONG_LATENCY_SECONDS
                        await self._close(port)
                        await self._run(port, port.device)
                now = time.monotonic()
                missing = [port for port in self._ports.values() if port.stream is None]
                if any(now >= port.retry_at for port in missing) or now - looked_at >= self._watch_seconds():
                    await self._look()
                    looked_at = time.monotonic()
                    for port in self._ports.values():
                        await self._reconnect(port)

    def _drop_unheard(self) -> None:
        """Without a speaker, drop what would have been played by now: the sender waits for its end."""
        now = time.monotonic()
        due = int((now - self._unheard_at) / BLOCK_SECONDS)
        self._unheard_at += due * BLOCK_SECONDS
        if self._ports["output"].stream is None:
            for _ in range(due):
                self._ring.read()

    async def _reconnect(self, port: Port) -> None:
        """Change to another device if the wanted one changed, or try again if none is running."""
        wanted = self._wanted_device(port)
        is_other = port.stream is not None and wanted is not None and not port.is_on(wanted)
        if is_other or (port.stream is None and time.monotonic() >= port.retry_at):
            await self._connect(port)

    def _watch_seconds(self) -> float:
        if all(port.is_as_wanted for port in self._ports.values()):
            return inf
        has_pulse = any(device.host_api == PULSE for device in self._listed.devices)
        return PULSE_WATCH_SECONDS if has_pulse else WATCH_SECONDS

    # --- in the threads of the devices ---

    def _hear(self, heard: bytes) -> None:
        self._ports["input"].called_at = time.monotonic()
        self._input_meter.feed(heard)
        played = self._lockstep.pair()
        if self._captured is not None:
            self._captured.put((heard, played))
        if self._recording is not None and self._recording.has_microphone:
            self._recording.add(heard, played)

    def _next_block(self) -> bytes:
        played = self._ring.read()
        now = time.monotonic()
        self._ports["output"].called_at = now
        if played != SILENCE:
            self._last_sound_at = now
        self._output_meter.feed(played)
        self._lockstep.played(played)
        if self._recording is not None and not self._recording.has_microphone:
            self._recording.add(b"", played)
        return played


async def _call_within(call: Callable[[], R], seconds: float = ANSWER_SECONDS) -> R:
    """Return what ``call`` returns, from a thread that is not waited for any longer: a device may hang
    forever.

    Raises ``DeviceFailed`` if it does not return within ``seconds``.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _in_thread(call)
    except TimeoutError as error:
        raise DeviceFailed("the sound system does not answer") from error


async def _in_thread(call: Callable[[], R]) -> R:
    """Return what ``call`` returns in a thread that the program's end does not wait for."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[R] = loop.create_future()

    def tell(result: R | None, error: BaseException | None) -> None:
        if done.done():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(cast("R", result))

    def run() -> None:
        result, error = None, None
        try:
            result = call()
        except Exception as raised:  # noqa: BLE001  # handed on to the caller
            error = raised
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(tell, result, error)

    threading.Thread(target=run, name="sound-device", daemon=True).start()
    return await done
