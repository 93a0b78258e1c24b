"""The LLM plugin on a conversation of ours (livekit-agents 1.8): the newest words are the question."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Any, Final

from livekit.agents import (
    DEFAULT_API_CONNECT_OPTIONS,
    NOT_GIVEN,
    APIConnectionError,
    APIConnectOptions,
    APIError,
    NotGivenOr,
    llm,
    utils,
)

from agent_tui.model.errors import AgentBusy, AgentTuiError, TransportError
from agent_tui.model.inert import inert_line
from agent_tui.voice_agent.conversation import (
    AnswerEvent,
    AnswerWords,
    AskOpened,
    Conversation,
    RanOut,
    ToolEnded,
    ToolStarted,
    ToolTold,
)
from agent_tui.voice_agent.sentences import APOLOGY, APPROVAL_WORDS, RAN_OUT_WORDS, TOO_LONG_WORDS
from agent_tui.voice_agent.wishes import Wish, hushes, wish
from agent_tui.voice_instructions import Language

DENIED: Final = "the person said no"
MAX_ASK_CHARACTERS: Final = 120
TOO_LONG: Final = "the conversation is too long for the model"  # a part of the backend's error
MAY_ACT: Final = "agent-tui.may_act"  # in the extra of a person's message: whether an owner said it
MESSAGE: Final = "agent-tui.message"  # in the extra of an answer: its id in the conversation

StepSink = Callable[[ToolStarted | ToolTold | ToolEnded], None]


class ConversationLLM(llm.LLM[Any]):
    """Asks ``conversation``. ``may_act`` says whether the current speaker is an owner, for words that carry
    no mark of their own; ``on_step`` gets the steps of tools; ``on_silence`` is called if an answer says
    nothing. ``language`` is that of our own sentences. ``chats`` counts the questions.
    """

    def __init__(
        self,
        conversation: Conversation,
        may_act: Callable[[], bool],
        on_step: StepSink,
        on_silence: Callable[[], None],
        language: Language,
    ) -> None:
        super().__init__()
        self.conversation = conversation
        self.language = language
        self.may_act = may_act
        self.on_step = on_step
        self.on_silence = on_silence
        self.chats = 0
        self._asking: ConversationStream | None = None  # the stream whose call last asked

    @property
    def model(self) -> str:
        return "conversation"

    @property
    def provider(self) -> str:
        return "agent-tui"

    def chat(
        self,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool] | None = None,
        conn_options: APIConnectOptions = DEFAULT_API_CONNECT_OPTIONS,
        parallel_tool_calls: NotGivenOr[bool] = NOT_GIVEN,
        tool_choice: NotGivenOr[llm.ToolChoice] = NOT_GIVEN,
        extra_kwargs: NotGivenOr[dict[str, Any]] = NOT_GIVEN,
    ) -> ConversationStream:
        self.chats += 1
        return ConversationStream(self, chat_ctx=chat_ctx, tools=tools or [], conn_options=conn_options)

    def apology(self, error: Exception) -> str:
        """Return what the person hears instead of an answer."""
        return (TOO_LONG_WORDS if TOO_LONG in str(error) else APOLOGY)[self.language]

    def asks_in(self, stream: ConversationStream) -> None:
        """Note the stream in which a call asks."""
        self._asking = stream

    def say_beside(self, words: str) -> None:
        """Say something while a call is waiting."""
        if self._asking is not None:
            self._asking.say_beside(words)

    async def aclose(self) -> None:
        await self.conversation.aclose()


class ConversationStream(llm.LLMStream):
    """One answer. Closing it (the person cut in) ends the answer in the backend, too."""

    def __init__(
        self,
        owner: ConversationLLM,
        *,
        chat_ctx: llm.ChatContext,
        tools: list[llm.Tool],
        conn_options: APIConnectOptions,
    ) -> None:
        super().__init__(owner, chat_ctx=chat_ctx, tools=tools, conn_options=conn_options)
        self._owner = owner
        self._answer = utils.shortuuid("answer_")
        self._has_spoken = False

    async def _run(self) -> None:
        newest = self._chat_ctx.items[-1] if self._chat_ctx.items else None
        if isinstance(newest, llm.FunctionCallOutput):  # a wish about the session itself was carried out
            self._say(newest.output)
            return
        question = _question(self._chat_ctx)
        if question is None:
            return
        text = question.text_content or ""
        if hushes(text, cut_in=_cut_in(self._chat_ctx, question)):  # what was said is interrupted already
            self._owner.on_silence()
            return
        named = {tool.info.name for tool in self._tools if isinstance(tool, llm.FunctionTool)}
        wanted = wish(text)
        if wanted is not None and wanted.tool in named:
            self._call(wanted)
            return
        may_act = bool(question.extra.get(MAY_ACT, self._owner.may_act()))
        try:
            events = self._owner.conversation.ask(text, key=question.id, may_act=may_act)
            async with aclosing(events):
                async for event in events:
                    self._tell(event)
        except AgentTuiError as error:
            raise self._failure(error) from error

    def _failure(self, error: AgentTuiError) -> APIError:
        """Return the framework's error; the framework tries again only if nothing was said yet."""
        if isinstance(error, TransportError):
            return APIConnectionError(error.title, retryable=error.retryable and not self._has_spoken)
        # Busy: the interrupted answer has not ended yet.
        return APIError(error.title, retryable=isinstance(error, AgentBusy) and not self._has_spoken)

    def _tell(self, event: AnswerEvent) -> None:
        match event:
            case AnswerWords(text):
                self._say(text)
            case AskOpened(name, call):
                self._owner.asks_in(self)
                self.say_beside(f"{APPROVAL_WORDS[self._owner.language]}{_aloud(name, call)}.\n")
            case RanOut():
                self._say(f"\n\n{RAN_OUT_WORDS[self._owner.language]}")
            case _:
                self._owner.on_step(event)

    def say_beside(self, words: str) -> None:
        """Say our own words, in a line of their own."""
        with suppress(utils.aio.ChanClosed):  # the answer is over
            self._say(("\n" if self._has_spoken else "") + words)

    def _say(self, text: str) -> None:
        self._has_spoken = True
        extra = {MESSAGE: self._owner.conversation.answer_id}
        self._send(llm.ChoiceDelta(role="assistant", content=text, extra=extra))

    def _call(self, wanted: Wish) -> None:
        call = llm.FunctionToolCall(
            name=wanted.tool, arguments=json.dumps(wanted.arguments), call_id=utils.shortuuid("call_")
        )
        self._send(llm.ChoiceDelta(role="assistant", tool_calls=[call]))

    def _send(self, delta: llm.ChoiceDelta) -> None:
        self._event_ch.send_nowait(llm.ChatChunk(id=self._answer, delta=delta))


def _aloud(name: str, call: str) -> str:
    words = call.removeprefix(name).strip() if call.startswith(name) else call
    called = name.replace("_", " ") if words != call else ""
    return inert_line(f"{called} {words}".strip(), MAX_ASK_CHARACTERS).rstrip(".")


def _cut_in(context: llm.ChatContext, question: llm.ChatMessage) -> bool:
    """Return whether the agent was speaking when ``question`` began."""
    place = next((at for at, item in enumerate(context.items) if item is question), 0)
    before = context.items[place - 1] if place else None
    return isinstance(before, llm.ChatMessage) and before.role == "assistant" and before.interrupted


def _question(context: llm.ChatContext) -> llm.ChatMessage | None:
    """Return a person's newest message; without one, the first instruction."""
    messages = [item for item in context.items if isinstance(item, llm.ChatMessage) and item.text_content]
    for message in reversed(messages):
        if message.role == "user":
            return message
    return next((message for message in messages if message.role in ("system", "developer")), None)
