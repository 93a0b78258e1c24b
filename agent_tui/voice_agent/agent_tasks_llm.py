"""The LLM of a voice agent that is an agent service (protocols.md §3).

Errors are raised, never spoken as an answer: the framework tells the session, which apologises
(``apology``). The client of the service tries again what the protocol allows, so the framework must not: it
would post a task that the service has.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import Any

from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectOptions,
    APIError,
    NotGivenOr,
    llm,
    utils,
)

from agent_tui import apologies
from agent_tui.clients.agents.tasks import AgentTasksClient
from agent_tui.config.voice import TASKS_VARIABLE
from agent_tui.model.errors import AgentTuiError, Unauthorized
from agent_tui.model.events import Attachment, Event, RunFailed, StepAdded, StepSet
from agent_tui.voice_instructions import INSTRUCTIONS, UNAVAILABLE, Language
from agent_tui.wire.agent_tasks import AgentTask

SDK_ENGINE = "claude_agent_sdk"


class AgentTasksLLM(llm.LLM[Any]):
    """One session with an agent service.

    Preemptive generation has to be off in the session: every chat is a task, also that of a half-finished
    turn.
    """

    def __init__(self, client: AgentTasksClient, *, language: Language = "en") -> None:
        super().__init__()
        self._client = client
        self._language = language
        self._files: list[Attachment] = []  # sent with the next question

    @property
    def model(self) -> str:
        return SDK_ENGINE

    @property
    def provider(self) -> str:
        return "agent-service"

    @property
    def session_id(self) -> str:
        """The service's id of the session, empty before the first task and after the service ended it."""
        return self._client.session_id

    def chat(
        self,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool] | None = None,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        tool_choice: NotGivenOr[llm.ToolChoice] = NOT_GIVEN,
        extra_kwargs: NotGivenOr[dict[str, Any]] = NOT_GIVEN,
    ) -> llm.LLMStream:
        """Return the answer to the newest question; the service has its own tools and its own history."""
        return _Answer(self, chat_ctx=chat_ctx, tools=tools or [], conn_options=conn_options)

    def attach(self, file: Attachment) -> None:
        """Send ``file`` with the next question."""
        self._files.append(file)

    async def say(self, prompt: str) -> AsyncGenerator[str, None]:
        """Yield the words of the answer to ``prompt``, with the waiting files.

        Raises ``APIError``; the files wait until the service has them.
        """
        files = tuple(self._files)
        task = self._task(prompt, files)

        def taken() -> None:
            self._files = [file for file in self._files if file not in files]

        ask = self._client.inject if files else self._client.ask
        async with aclosing(_words(ask(task, on_taken=taken))) as words:
            async for text in words:
                yield text

    def inject(self, text: str = "", attachments: Sequence[Attachment] = ()) -> AsyncGenerator[str, None]:
        """Yield the words of the answer to typed text, for ``AgentSession.say``: in the same session, after
        the current answer. Yields nothing for an empty text.
        """
        if not text and not attachments:
            return _nothing()
        return _words(self._client.inject(self._task(text, attachments)))

    def apology(self, error: Exception) -> str:
        """Return what the person hears instead of an answer."""
        cause = error.__cause__
        if isinstance(cause, AgentTuiError):
            return apologies.apology(cause, self._language)
        return UNAVAILABLE[self._language]

    async def aclose(self) -> None:
        """Close the connections when tasks that were given up are cancelled."""
        await super().aclose()
        await self._client.aclose()

    def _task(self, prompt: str, attachments: Sequence[Attachment]) -> AgentTask:
        return AgentTask(prompt, SDK_ENGINE, True, INSTRUCTIONS[self._language], attachments)


class _Answer(llm.LLMStream):
    """One answer of an ``AgentTasksLLM``."""

    def __init__(self, owner: AgentTasksLLM, **options: Any) -> None:
        super().__init__(owner, **options)
        self._owner = owner

    async def _run(self) -> None:
        prompt = question_of(self._chat_ctx)
        if not prompt:
            return
        chunk_id = utils.shortuuid("task_")
        async with aclosing(self._owner.say(prompt)) as words:  # closed at once when the person cuts in
            async for text in words:
                delta = llm.ChoiceDelta(role="assistant", content=text)
                self._event_ch.send_nowait(llm.ChatChunk(id=chunk_id, delta=delta))


def question_of(chat: llm.ChatContext) -> str:
    """Return the prompt: the newest user message; if there is none, the first developer or system message;
    else nothing.
    """
    messages = [item for item in chat.items if item.type == "message"]
    for message in reversed(messages):
        if message.role == "user":
            return message.text_content or ""
    instructions = (message for message in messages if message.role in ("developer", "system"))
    return next((message.text_content or "" for message in instructions), "")


async def _words(events: AsyncGenerator[Event, None]) -> AsyncGenerator[str, None]:
    """Yield what is said. Raises ``APIError``, which the framework does not try again."""
    texts = set[str]()
    try:
        async with aclosing(events):
            async for event in events:
                match event:
                    case StepSet(_, step) if step.type == "text":
                        texts.add(step.id)
                    case StepAdded(_, step_id, content) if step_id in texts and content:
                        yield content
                    case RunFailed(message):
                        raise APIError(message, retryable=False)
                    case _:
                        pass
    except Unauthorized as error:
        raise APIError(f"{error.title}: Check {TASKS_VARIABLE}.", retryable=False) from error
    except AgentTuiError as error:
        raise APIError(str(error), retryable=False) from error


async def _nothing() -> AsyncGenerator[str, None]:
    for words in tuple[str, ...]():
        yield words
