"""The conversation of ours that answers what was heard, one question at a time."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import asdict, dataclass
from typing import Final

from agent_tui.clients.chat import ChatClient, Question
from agent_tui.clients.http import Net
from agent_tui.config.tools import TOOL_VARIABLE
from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, ModelError, NotFound, NotOffered, ProtocolError
from agent_tui.model.records import SpeechRecord

log = logging.getLogger(__name__)

# The tools of a person who is not the owner: read-only ones. The owner has all tools.
LOOKING_TOOLS: Final = ("list_rooms", "room_about")
STOP_SECONDS: Final = 2.0
_LOOK_SECONDS = 0.03
_QUESTIONS_KEPT = 20


@dataclass(frozen=True, slots=True)
class AnswerWords:
    """More of the answer, to be spoken."""

    text: str


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A tool is running; ``id`` is unique in the conversation."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class ToolTold:
    """One line about a tool's progress."""

    id: str
    message: str


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """A tool has ended; ``message`` is its result as text."""

    id: str
    message: str
    success: bool


@dataclass(frozen=True, slots=True)
class AskOpened:
    """A call waits for a key on the owner's screen; ``call`` says in one line what it would do."""

    name: str
    call: str = ""


@dataclass(frozen=True, slots=True)
class RanOut:
    """The answer ends here: its model reached the token limit. What was said is kept."""


AnswerEvent = AnswerWords | ToolStarted | ToolTold | ToolEnded | AskOpened | RanOut


class Conversation:
    """The conversation ``conversation_id`` of the backend at ``url``.

    Calls are made as a program without a person: the owner's terminal is asked for permission. Raises
    ``ConfigError`` for an unusable address or token.
    """

    def __init__(self, url: str, token: str, conversation_id: str) -> None:
        self._net = Net(url, token, environ={**os.environ, TOOL_VARIABLE: "voice"})
        self._client = ChatClient(self._net)
        self.id = conversation_id
        self._stopping: asyncio.Task[None] | None = None
        self._recording = asyncio.Lock()  # what was said first is stored first, and before the next question
        self._under_way = ""  # id of the current answer, until it has ended or was told to
        self._asking: dict[str, str] = {}  # id of a call that waits for a yes or a no → its answer
        self._files: list[ev.Attachment] = []
        self.answer_id = ""  # of the newest answer, when the backend has named it
        self.questions: dict[str, str] = {}  # key of a question → id of its message, for the newest ones

    def attach(self, file: ev.Attachment) -> None:
        """Send ``file`` with the next question."""
        self._files.append(file)

    async def ask(self, question: str, *, key: str, may_act: bool) -> AsyncGenerator[AnswerEvent, None]:
        """Ask, and yield the answer as it comes. Closing it early ends the answer in the backend, too.

        ``key``: the same question asked again is answered once. Without ``may_act``: only read-only tools.
        Raises ``AgentTuiError``; after ``AnswerWords`` it must not be asked again.
        """
        if self._under_way:  # the next question may come before the interrupted answer was closed
            self._give_up()
        await self.wait_until_stopped()
        async with self._recording:
            pass
        files: Sequence[ev.Attachment] = tuple(self._files)
        tools = None if may_act else LOOKING_TOOLS
        events = self._client.ask(self.id, Question(question, files, enabled_tools=tools, client_key=key))
        self.answer_id = ""
        answer = _Answer()
        answer_id = ""
        try:
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, ev.MessageStored) and event.message.role == "user":
                        self._keep_question(key, event.message.id)
                    if isinstance(event, ev.TurnStarted):
                        self.answer_id = self._under_way = answer_id = event.turn_id
                        del self._files[: len(files)]
                    self._note_asks(event)
                    for part in answer.parts(event):
                        yield part
        finally:
            for step_id in [step for step, turn in self._asking.items() if turn == answer_id]:
                del self._asking[step_id]
            if answer_id and answer_id == self._under_way:
                if answer.is_over:
                    self._under_way = ""
                else:
                    self._give_up()

    @property
    def is_asking(self) -> bool:
        """Whether a call is waiting for a yes or a no."""
        return bool(self._asking)

    def _note_asks(self, event: ev.Event) -> None:
        """Note which calls are waiting; a form is shown on the screen only."""
        if isinstance(event, ev.ToolStatusChanged):
            self._asking.pop(event.step_id, None)
            if event.status == "asks" and (event.ask is None or event.ask.form is None):
                self._asking[event.step_id] = event.turn_id

    async def deny(self, reason: str) -> None:
        """Deny all waiting calls. Never raises: a call may have been answered meanwhile."""
        for step_id, turn_id in [*self._asking.items()]:
            try:
                await self._client.answer(self.id, turn_id, step_id, "deny", reason=reason)
            except AgentTuiError as error:
                log.warning("a call could not be denied", exc_info=error)

    def _give_up(self) -> None:
        self._under_way = ""
        self._stopping = asyncio.create_task(self._stop(), name="conversation.stop")

    def _keep_question(self, key: str, message_id: str) -> None:
        self.questions[key] = message_id
        while len(self.questions) > _QUESTIONS_KEPT:
            del self.questions[next(iter(self.questions))]

    async def wait_until_stopped(self) -> None:
        """Wait until the interrupted answer has ended in the backend, too."""
        if self._stopping:
            await asyncio.shield(self._stopping)

    async def _stop(self) -> None:
        try:
            async with asyncio.timeout(STOP_SECONDS):
                shown = await self._client.stop(self.id)
                while shown.status == "running":  # it was told to stop; the next question would meet it
                    await asyncio.sleep(_LOOK_SECONDS)
                    shown = await self._client.show(self.id)
        except (AgentTuiError, TimeoutError) as error:
            log.warning("an answer that was broken off could not be stopped", exc_info=error)

    async def record(self, message_id: str, spoken: SpeechRecord, *, interrupted: bool) -> None:
        """Tell the backend how a message was really spoken. Never raises: the session continues without
        it.
        """
        await self._record(message_id=message_id, spoken=_known_fields(spoken), interrupted=interrupted)

    async def record_whole(
        self, key: str, role: str, text: str, spoken: SpeechRecord, *, speaker: str, interrupted: bool
    ) -> None:
        """Store what was said without the conversation's help, once per ``key``. Never raises."""
        await self._record(
            client_key=key,
            role=role,
            content=text,
            speaker=speaker,
            spoken=_known_fields(spoken),
            interrupted=interrupted,
        )

    async def _record(self, **fields: object) -> None:
        try:
            async with self._recording:
                await self.wait_until_stopped()  # no whole message is accepted while an answer is being given
                await self._client.record(self.id, **fields)
        except (NotFound, NotOffered, ProtocolError):
            log.info("the backend does not take what was said")
        except AgentTuiError as error:
            log.warning("what was said could not be recorded", exc_info=error)

    async def aclose(self) -> None:
        """Close the connections, after a current stop."""
        with suppress(asyncio.CancelledError):
            await self.wait_until_stopped()
        await self._client.aclose()


def _known_fields(spoken: SpeechRecord) -> dict[str, object]:
    return {name: value for name, value in asdict(spoken).items() if value not in (None, "")}


class _Answer:
    """The parts of one answer, from the events of a chat."""

    def __init__(self) -> None:
        self.is_over = False
        self._turn_id = ""
        self._texts: dict[str, str] = {}  # step id → its text so far
        self._speaking = ""  # id of the text step that was last spoken
        self._calls: dict[str, str] = {}  # step id → name, of the calls that were yielded
        self._ran_out = False

    def parts(self, event: ev.Event) -> list[AnswerEvent]:
        """Return the parts for ``event``; raises ``ModelError`` if the answer failed."""
        match event:
            case ev.TurnStarted(turn_id):
                self._turn_id = turn_id
            case ev.StepSet(_, step):
                return self._step(step)
            case ev.StepAdded(_, step_id, content):
                return self._more(step_id, content) if step_id in self._texts else []
            case ev.ToolStatusChanged():
                return self._status(event)
            case ev.TurnEnded(_, interrupted=why, error=error):
                self.is_over = True
                self._ran_out = why == "length"
                if error and not self._ran_out:
                    raise ModelError(error)
            case ev.RunFailed(content):  # of an interrupted answer, too: after its end
                self.is_over = True
                if not (self._ran_out and self._speaking):
                    raise ModelError(content)
                return [RanOut()]
            case ev.TurnDone():
                self.is_over = True
            case _:
                pass
        return []

    def _step(self, step: ev.Step) -> list[AnswerEvent]:
        if step.type == "text":
            text = self._texts.setdefault(step.id, "")
            more = step.content[len(text) :] if step.content.startswith(text) else ""
            return self._more(step.id, more)
        if step.type == "tool_call":
            return self._call(step)
        if step.type == "tool_result" and step.id_ref in self._calls:
            return [ToolEnded(self._call_id(step.id_ref), step.content, step.success)]
        return []

    def _more(self, step_id: str, text: str) -> list[AnswerEvent]:
        if not text:
            return []
        apart = "\n\n" if self._speaking and self._speaking != step_id else ""
        self._speaking = step_id
        self._texts[step_id] += text
        return [AnswerWords(apart + text)]

    def _call(self, step: ev.Step) -> list[AnswerEvent]:
        """Yield a call when its arguments are complete: it then comes a second time."""
        if step.id in self._calls or not (step.arguments or step.status):
            return []
        self._calls[step.id] = step.name
        return [ToolStarted(self._call_id(step.id), step.name, step.arguments)]

    def _status(self, event: ev.ToolStatusChanged) -> list[AnswerEvent]:
        if event.status == "asks":
            name = self._calls.get(event.step_id, "")
            return [AskOpened(name, event.ask.call if event.ask is not None else name)]
        if event.progress and event.step_id in self._calls:
            return [ToolTold(self._call_id(event.step_id), event.progress.rpartition("\n")[2])]
        return []

    def _call_id(self, step_id: str) -> str:
        return f"{self._turn_id}:{step_id}"
