"""The actions of a voice session: the microphone, the devices, a file, the agent."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

from textual.app import SuspendNotSupported
from textual.worker import Worker, WorkerCancelled, WorkerFailed

from agent_tui.model.inert import inert_line
from agent_tui.voice_parts import missing_parts
from tui.live.commands import NotDone
from tui.live.exporting import written_path
from tui.live.host import Host
from tui.outside import run_outside
from tui.screens.choose import Candidate, ChooseScreen
from tui.screens.words import say
from tui.voice.run import ANSWERING, VoiceRun
from tui.voice.session import NotSetUp

if TYPE_CHECKING:
    from agent_tui.audio.devices import Direction

Act = Literal["mute", "interrupt", "text_only", "devices", "headphones", "retry", "local", "listen", "set_up"]
MAX_NAME_CHARACTERS: Final = 80  # of a device or a file
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
        if binding_id == "voice.interrupt" and state.phase not in ANSWERING:
            return say("help.why.not_speaking")
        if binding_id == "voice.set_up":
            lacks = (
                isinstance(self._run.problem, NotSetUp) or missing_parts()
            )  # a local session has no server
            return "" if lacks else say("voice.set_up.done")
        if binding_id == "voice.local" and self._run.asks_our_agent:
            return say("voice.local.already")
        return say("voice.not_now") if binding_id in NEED_AN_AGENT and not state.has_agent else ""

    def do(self, act: Act) -> None:
        """Run it after the current one, or say why it cannot be done."""
        if self._host.allows(self.why_not(f"voice.{act}")):
            self._host.run("act", self.act(act))

    async def act(self, act: Act) -> None:
        run, host = self._run, self._host
        match act:
            case "mute":
                await run.do(lambda session: session.client.mute(not run.state.mic.is_muted))
            case "interrupt":
                run.state.lines.cut()
                await run.do(lambda session: session.client.interrupt())
            case "listen":
                await run.do(lambda session: session.client.ask_to_listen())
            case "text_only" if run.request.text_only:  # it began without devices: it joins again with them
                run.request, run.is_text_only = replace(run.request, text_only=False), False
                self.begin()
            case "text_only":
                await run.only_text(not run.is_text_only)
            case "headphones":
                run.use_headphones(not run.uses_headphones)
            case "devices":
                self._open_devices()
            case "retry":
                await self._retry()
            case "set_up":
                await self._set_up()
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

    async def _set_up(self) -> None:
        """Run ``voice setup`` on the terminal, then begin again, unless a session goes on as it was."""
        lacked = missing_parts()
        command = [sys.executable, "-P", "-m", "tui", "voice", "setup"]
        try:
            await run_outside(self._host.screen.app, command, waits_if_failed=True)
        except SuspendNotSupported:
            self._host.warn(say("outside.here"))
        else:
            if self._run.session is None or missing_parts() != lacked:
                self.begin()

    def _open_devices(self) -> None:
        """Let the person choose a device; "" is the system's default."""
        devices: dict[str, tuple[Direction, str]] = {}

        async def load() -> list[Candidate]:
            inputs, outputs = await self._run.source.devices()
            found: list[tuple[Direction, list[str]]] = [("input", inputs), ("output", outputs)]
            for direction, names in found:
                for name in ("", *names) if names else ():
                    label = f"{say(f'voice.devices.{direction}')} · {_device_name(name)}"
                    devices[label] = direction, name
            return [Candidate(label, label) for label in devices]

        def chosen(label: str | None) -> None:
            if label is not None:
                self._host.run("device", self._take_device(*devices[label]))

        self._host.open(ChooseScreen(say("voice.devices.title"), load, ""), chosen)

    async def _take_device(self, direction: Direction, name: str) -> None:
        await self._run.choose(direction, name)
        what = say(f"voice.devices.{direction}")
        self._host.tell(say("voice.devices.chosen", what=what, name=_device_name(name)))
        self._host.show_soon()

    async def send_file(self, written: str) -> None:
        """Send the named file to the agent; raises ``NotDone``."""
        if reason := self.why_not("voice.file"):
            raise NotDone(reason)
        agent = self._run.state.agent
        if agent is not None and not agent.takes_files:
            raise NotDone(say("voice.file.not_taken"))
        path = written_path(written)
        if not await self._run.do(lambda session: session.client.send_file(path)):
            raise NotDone
        self._host.tell(say("voice.file.sent", name=inert_line(path.name)))


def _device_name(name: str) -> str:
    return inert_line(name, MAX_NAME_CHARACTERS) or say("voice.device.default")
