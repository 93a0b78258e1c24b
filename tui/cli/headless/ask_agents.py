"""``agent-tui ask`` of an agent that others run: a task for its service, or a question on its socket."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from agent_tui.clients.agents.chats import AgentChats
from agent_tui.clients.announced import AnswerLeft, Told
from agent_tui.config.file import SOCKET, TASKS, BackendConfig
from agent_tui.model import events as ev
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.wire.agent_tasks import ends_session
from tui.cli import output
from tui.cli.commands.asking import note_line
from tui.cli.headless.ask_input import Asked, AskOptions
from tui.cli.headless.ask_telling import MAX_ERROR_CHARACTERS, Telling, decide, streamed
from tui.cli.headless.formats import Ending, Format, Record
from tui.cli.headless.interrupts import Interrupts, followed, until_its_end
from tui.link import OwnBackend

GIVE_UP_SECONDS: Final = 10.0  # for a service to take the task, where nobody answers
STOP_SECONDS: Final = 3.0  # for an answer to end that was given up
TURN_ID: Final = f"{ev.LOCAL_ID}answer"


async def ask_agent(
    backend: BackendConfig, asked: Asked, options: AskOptions, telling: Telling, interrupts: Interrupts
) -> tuple[Ending, Record]:
    """Ask, follow the answer to its end, and return how it ended and what was said.

    Raises ``ConfigError`` for what such a server cannot be asked.
    """
    wanted = _conversation(backend, options)
    own = OwnBackend()
    client = AgentChats(
        backend,
        wanted,
        lambda noted: telling.notice(note_line(noted)),
        give_up_seconds=GIVE_UP_SECONDS,
        reach=own.reach,
    )
    try:
        ending = await _Answer(client, backend, asked, options.allow, telling).until_its_end(interrupts)
        if ending.reason == "completed":
            await client.linger()
    finally:
        await client.aclose()
        await own.close()
    about = {"conversation": {"id": client.agent_id or wanted or None}}
    return ending, Record(about, streamed(asked, telling.state))


def _conversation(backend: BackendConfig, options: AskOptions) -> str:
    """Return the id of the session or chat that is asked, "" for a new session or chat 0."""
    given = {
        "--model": options.model,
        "--provider": options.provider,
        "--tools": options.tools,
        "--allow": None if backend.kind == SOCKET and backend.workspace else options.allow or None,
        "--workspace": options.workspace,
        "--thinking": options.thinking,
    }
    if named := [name for name, value in given.items() if value is not None]:
        raise ConfigError(
            f"{named[0]} is not for backends of kind {backend.kind}", "such an agent has settings of its own"
        )
    if backend.kind == SOCKET:
        if options.conversation is not None:
            raise ConfigError(
                "--conversation is not for backends of kind socket", "a chat is named by --chat-id"
            )
        return "" if options.chat_id is None else str(options.chat_id)
    return options.conversation or ""


@dataclass(slots=True)
class _Answer:
    """One answer, followed to its end."""

    client: AgentChats
    backend: BackendConfig
    asked: Asked
    allow: Sequence[str]
    telling: Telling
    is_under_way: bool = False
    has_ended: asyncio.Event = field(default_factory=asyncio.Event)

    async def until_its_end(self, interrupts: Interrupts) -> Ending:
        """Follow the answer; the first signal gives it up."""
        return await until_its_end(
            interrupts,
            self._follow(),
            self._stop,
            seconds=STOP_SECONDS,
            too_late="the answer did not stop in time",
        )

    async def _stop(self) -> str:
        self.telling.notice("stopping the answer; once more leaves at once")
        if not self.is_under_way:
            return "stopped before the agent took the question"
        await self.client.stop("")
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await self.has_ended.wait()
        return ""

    async def _follow(self) -> Ending:
        asked = self.asked
        answer = self.client.answering(asked.content, asked.attachments, asked.files, TURN_ID)
        try:
            return await followed(answer, self._take)
        except AnswerLeft:
            return Ending("interrupted")
        finally:
            self.has_ended.set()

    async def _decide(self, events: Sequence[ev.Event]) -> None:
        """Answer the calls that ask whether they may run on this machine."""
        for event in events:
            if isinstance(event, ev.ToolStatusChanged):
                await decide(self.client, "", event, self.allow, self.telling)

    async def _take(self, told: Told) -> Ending | None:
        if not told.name:
            self.is_under_way = True
            self.telling.take(ev.TurnStarted(TURN_ID, "", "assistant", self.backend.name, "", 0))
            if self.backend.kind == TASKS:
                output.notice(f"conversation {self.client.agent_id}")
            return None

        def written(form: Format) -> None:
            if told.data:
                form.frame("", told.name, told.data)

        if not told.events:
            written(self.telling.form)
        for number, event in enumerate(told.events):
            self.telling.take(event, written if not number else lambda _: None)
        if any(isinstance(event, ev.Unknown) for event in told.events):
            self.telling.notice(f"the agent sent an event that is not known: {told.name}")
        match next(reversed(told.events), None):
            case ev.TurnDone():
                return Ending("completed")
            case ev.RunFailed(content):
                is_aborted = self.backend.kind == TASKS and ends_session(content)
                detail = inert_line(content, MAX_ERROR_CHARACTERS) or "the agent failed"
                return Ending("aborted" if is_aborted else "error", detail)
            case _:
                if told.call_id:
                    await self._decide(told.events)
                return None
