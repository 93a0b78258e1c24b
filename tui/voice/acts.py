"""The actions of a voice session: the microphone, the devices, a file, the agent."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from textual.worker import Worker, WorkerCancelled, WorkerFailed

from agent_tui.model.inert import inert_line
from agent_tui.paths import current_folder
from tui.live.commands import NotDone
from tui.live.exporting import written_path
from tui.live.host import Host
from tui.screens.words import say
from tui.voice.choosing import device_name, device_screen, file_screen
from tui.voice.run import VoiceRun

if TYPE_CHECKING:
    from agent_tui.audio.devices import Direction

Act = Literal["mute", "interrupt", "text_only", "devices", "headphones", "file", "retry", "local", "listen"]
NEED_AN_AGENT: Final = ("voice.mute", "voice.talk", "voice.interrupt", "voice.file", "voice.listen")


class VoiceActs:
    """Runs the actions of keys."""

    def __init__(self, run: VoiceRun, host: Host) -> None:
        self._run = run
        self._host = host
        self._following: Worker[None] | None = None

    def begin(self) -> None:
        self._following = self._host.run("follow", self._run.follow(), exclusive=True)

    async def leave(self) -> None:
        if self._following is not None and not self._following.is_finished:
            self._following.cancel()
            with suppress(WorkerFailed, WorkerCancelled):
                await self._following.wait()

    def why_not(self, binding_id: str) -> str:
        """Return why an action cannot be done now, as a sentence; "" if it can."""
        state = self._run.state
        if binding_id == "voice.interrupt" and state.phase != "speaking":
            return say("help.why.not_speaking")
        return say("voice.not_now") if binding_id in NEED_AN_AGENT and not state.has_agent else ""

    def do(self, act: Act) -> None:
        """Run it after the current one, or say why it cannot be done."""
        if self._host.allows(self.why_not(f"voice.{act}")):
            self._host.run("act", self.act(act))

    async def act(self, act: Act) -> None:
        run, host = self._run, self._host
        match act:
            case "mute":
                await run.mute(not run.state.mic.is_muted)
            case "interrupt":
                await run.do(lambda session: session.client.interrupt())
            case "listen":
                await run.do(lambda session: session.client.ask_to_listen())
            case "text_only":
                await run.only_text(not run.is_text_only)
            case "headphones":
                run.use_headphones(not run.uses_headphones)
            case "devices":
                host.open(device_screen(run), self._device_chosen)
            case "file":
                host.open(file_screen(Path(current_folder() or "")), self._file_chosen)
            case "retry":
                await self._retry()
            case "local":
                # In the same room if the server's key and secret are known, else in one of this machine.
                run.request = replace(run.request, local_agent=True, agent="", script=None)
                self.begin()
        host.show_soon()

    async def _retry(self) -> None:
        """Connect again, or wait for the agent once more."""
        run = self._run
        if run.session is None:
            self.begin()
        elif run.state.phase in ("waiting_agent", "initializing") or "reconnecting" in run.state.overlays:
            await run.do(lambda session: session.client.retry())
        else:
            self._host.warn(say("voice.nothing_waits"))

    def _device_chosen(self, value: str | None) -> None:
        if value is not None:
            self._host.run("device", self._take_device(value))

    async def _take_device(self, value: str) -> None:
        kind, _, name = value.partition(" ")
        direction: Direction = "input" if kind == "input" else "output"
        await self._run.choose(direction, name)
        what = say(f"voice.devices.{direction}")
        self._host.tell(say("voice.devices.chosen", what=what, name=device_name(name)))
        self._host.show_soon()

    async def send_file(self, written: str) -> None:
        """Send the named file to the agent; raises ``NotDone``."""
        if reason := self.why_not("voice.file"):
            raise NotDone(reason)
        if not await self._send(written_path(written)):
            raise NotDone

    def _file_chosen(self, value: str | None) -> None:
        if value:
            self._host.run("file", self._send(written_path(value)))

    async def _send(self, path: Path) -> bool:
        is_sent = await self._run.send_file(path)
        if is_sent:
            self._host.tell(say("voice.file.sent", name=inert_line(path.name)))
        return is_sent
