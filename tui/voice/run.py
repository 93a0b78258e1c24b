"""The voice sessions of one screen, one after another: opens them, takes their events, runs actions."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.voice import LinkMoved, SoundChanged, VoiceEvent
from agent_tui.paths import file_exists
from agent_tui.state.voice import VoiceState
from tui.cli import exits
from tui.screens.words import say
from tui.voice.endings import ending_of
from tui.voice.request import VoiceRequest
from tui.voice.session import VoiceSession, VoiceSource

if TYPE_CHECKING:
    from agent_tui.audio.devices import Direction

ANSWERING: Final = ("thinking", "speaking")
READY: Final = ("listening", "user_speaking", *ANSWERING)


class VoiceRun:
    """Has the session and its state. ``changed`` is called after every event; ``failed`` gets what could not
    be carried out.
    """

    def __init__(
        self,
        source: VoiceSource,
        request: VoiceRequest,
        *,
        changed: Callable[[VoiceEvent], None],
        failed: Callable[[str], None],
    ) -> None:
        self.source = source
        self.request = request
        self._record = request.record
        self.state = VoiceState()
        self.session: VoiceSession | None = None
        self._newest: VoiceSession | None = None  # stays when it is over
        self.problem: AgentTuiError | None = None  # why there is no session, or why it ended
        self.uses_headphones = request.headphones
        self.is_text_only = request.text_only
        self.had_input = False  # there was a microphone
        self._told_problem = ""
        self._changed = changed
        self._failed = failed

    @property
    def is_joined(self) -> bool:
        return self.session is not None and not self.state.is_over

    @property
    def name(self) -> str:
        """What the conversation is called: the room that is joined, or the file with the agent."""
        return (self._newest.room if self._newest is not None else "") or self.request.name

    @property
    def log_id(self) -> str:
        """The id of the conversation of the newest session; "" for none."""
        return self._newest.log_id if self._newest is not None else ""

    @property
    def exit_code(self) -> int:
        """The exit code if the program ends now."""
        if self.problem is not None:
            return exits.exit_code(self.problem)
        ending = ending_of(self.state.link) if self.state.phase == "failed" else None
        return ending.code if ending is not None else exits.DONE

    @property
    def asks_our_agent(self) -> bool:
        """Whether the agent of the session is ours, on this machine; our backend has its log then."""
        is_ours = self.session is not None and bool(self.session.conversation_id)
        return is_ours or self.request.local_agent

    def take(self, event: VoiceEvent) -> None:
        self.state.apply(event)
        self._changed(event)

    async def follow(self) -> None:
        """Open a session and take its events, until it is over."""
        self.problem = None
        self.take(LinkMoved("preparing"))
        try:
            session = await self.source.open(
                self.request, lambda line: self.take(LinkMoved("preparing", line))
            )
            self.session = self._newest = session
            self.request = replace(self.request, record=self._next_record())
            try:
                await session.sound.open()
                await self._choose_sound(session)
                async with aclosing(session.client.events()) as events:
                    async for event in events:
                        self.take(event)
                        session.keep(event, self.state.agent.name if self.state.agent else "")
                        self._look_at_keeper(session)
            finally:
                if self.session is session:  # otherwise the next one has begun while this one was leaving
                    self.session = None
                await session.aclose()
        except AgentTuiError as error:
            self.problem = error
            self.take(LinkMoved("failed", str(error)))

    def _next_record(self) -> Path | None:
        """Return where the next session records: it does not overwrite what there is of this one."""
        if (first := self._record) is None:
            return None
        names = (first.with_name(f"{first.stem}-{number}{first.suffix}") for number in count(2))
        return next(path for path in names if not file_exists(path))

    def _look_at_keeper(self, session: VoiceSession) -> None:
        """Report once that what is said is not stored."""
        problem = session.keeper.problem if session.keeper is not None else ""
        if problem and problem != self._told_problem:
            self._told_problem = problem
            self._failed(say("voice.not_kept", problem=problem))

    async def _choose_sound(self, session: VoiceSession) -> None:
        """Start a session with the person's last choices, or the requested ones."""
        session.sound.use_headphones(self.uses_headphones or not self.request.uses_aec)
        if self.request.muted or self.is_text_only:
            await session.client.mute(True)
        if self._is_silent:
            session.sound.hold()
        self.look_at_sound()

    @property
    def _is_silent(self) -> bool:
        """Whether the agent's voice is neither heard nor recorded."""
        return self.is_text_only and not (self.request.text_only and self.request.record is not None)

    def look_at_sound(self) -> None:
        """Take the state of the devices, if it changed. Sound that is not to be heard is discarded."""
        if self.session is None:
            return
        if self._is_silent:
            self.session.sound.drop()
        status = self.session.sound.status
        self.had_input = self.had_input or bool(status.input_name)
        change = SoundChanged(
            "" if status.input_name else status.input_problem,
            "" if status.output_name else status.output_problem,
            self.is_text_only,
            status.input_name,
            status.output_name,
        )
        if change != self.state.sound:
            self.take(change)

    # --- what a person does ----------------------------------------------------------------------------

    async def do(self, what: Callable[[VoiceSession], Awaitable[None]]) -> bool:
        """Run an action; return whether it succeeded. A failure is reported."""
        if self.session is None or self.state.is_over:
            self._failed(say("voice.not_now"))
            return False
        try:
            await what(self.session)
        except AgentTuiError as error:
            self._failed(str(error))
            return False
        return True

    async def type(self, text: str) -> bool:
        """Send a typed line; return whether it was sent. The client yields it as a line of its own."""
        if self.state.phase not in READY:  # an agent that is still starting would not get it
            self._failed(say("voice.not_now"))
            return False
        return await self.do(lambda session: session.client.say(text))

    async def only_text(self, is_text_only: bool) -> None:
        """Turn the sound off in both directions, or on again."""
        self.is_text_only = is_text_only
        if self.session is not None:
            sound = self.session.sound
            sound.hold() if is_text_only else sound.resume()
            await self.do(lambda session: session.client.mute(is_text_only))
        self.look_at_sound()

    def use_headphones(self, on: bool) -> None:
        """Turn the echo canceller off, or on again."""
        self.uses_headphones = on
        if self.session is not None:
            self.session.sound.use_headphones(on)

    async def choose(self, direction: Direction, name: str) -> None:
        """Change to another device, now and in later sessions."""
        if self.session is not None:
            await self.session.sound.choose(direction, name)
        if direction == "input":
            self.request = replace(self.request, input_name=name)
        else:
            self.request = replace(self.request, output_name=name)
        try:
            self.source.remember(direction, name)
        except AgentTuiError as error:
            self._failed(str(error))
        self.look_at_sound()
