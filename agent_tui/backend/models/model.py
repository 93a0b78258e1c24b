"""The interface of a language model: messages in, an async stream of pieces out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from agent_tui.model.events import AgentInfo, StepAdded, StepSet, ToolStatusChanged
from agent_tui.model.records import MOST_TOKENS


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool that the model may call; ``parameters`` is the JSON schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as the model made it: ``id`` is its own, ``arguments`` the JSON text, whatever it contains."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture; ``media_type`` is "image/png", "image/jpeg", "image/gif" or "image/webp"."""

    media_type: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message for the model. ``calls`` are those of an assistant's message; a message of the role tool is
    the result of ``call_id``. A person's or a tool's message may have ``images``, which its ``content``
    names. One that ``stays`` is not left out for lack of room.
    """

    role: Literal["system", "user", "assistant", "tool"]
    content: str
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""  # the tool, if it is a result
    images: tuple[Image, ...] = ()
    stays: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class Member:
    """The agent that speaks, and where: an agent of a room, or the one of a chat (``agent_id`` is the chat's
    then). ``workspace`` is the folder of the conversation, "" for none.
    """

    room_id: str
    agent_id: str
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class AgentSession:
    """What is known about an agent's own conversation.

    ``id`` is that of the session or chat, "" for a new one. It got ``told`` messages, with the digest
    ``digest``; ``round`` is the one in which it was last asked. ``is_sure`` is false while it is being asked:
    after a crash this means that the words may not have arrived. ``task_id`` is the current task.
    """

    backend: str
    id: str = ""
    told: int = 0
    digest: str = ""
    round: int = 0
    is_sure: bool = True
    task_id: str = ""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One turn's call. ``speaker``, ``task``, ``round`` and ``max_rounds`` repeat what ``messages`` say in
    words: real models need only the messages, the demo model reads these.

    ``continues`` are the words of the last message, an assistant's, if the answer is to continue them.
    ``member`` is needed by agents that keep a conversation of their own. ``agents`` are those of a room, in
    turn order, ``synthesizer`` the id of the one that writes the synthesis in the last round, "" for none.
    ``is_spoken``: the answer will be heard.
    """

    messages: tuple[ChatMessage, ...]
    model: str
    speaker: str
    task: str
    round: int
    max_rounds: int
    temperature: float | None = None  # ``None``: the model's own, nothing is sent
    max_tokens: int = 0  # of the answer; 0: the provider's limit
    tools: tuple[ToolSpec, ...] = field(default=())
    thinking: bool | None = None  # whether the model is to think aloud, if it can be asked; None: its default
    continues: str = ""
    member: Member | None = None
    agents: tuple[AgentInfo, ...] = ()
    synthesizer: str = ""
    is_spoken: bool = False

    def without_images(self) -> ModelRequest:
        """Return the same call for a model that does not see."""
        return replace(self, messages=tuple(replace(message, images=()) for message in self.messages))


@dataclass(frozen=True, slots=True)
class TextPiece:
    """The next part of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """More of the model's thoughts."""

    text: str


@dataclass(frozen=True, slots=True)
class CallPiece:
    """More of a tool call. Pieces with one ``index`` belong together, several calls may be interleaved;
    ``id`` is empty if this piece does not have it, ``name`` holds more of the name. The end of the stream
    ends all calls.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class StepPiece:
    """A step of an agent that runs its own tools, with an id of its own: it is stored, not run."""

    event: StepSet | StepAdded | ToolStatusChanged


@dataclass(frozen=True, slots=True)
class CutPiece:
    """The model stopped before its end: ``reason`` "length" if it reached the token limit."""

    reason: str


@dataclass(frozen=True, slots=True)
class ApartPiece:
    """The model was asked in words to continue its answer: what it says is a message of its own."""


@dataclass(frozen=True, slots=True)
class UsagePiece:
    """The usage of the call so far, in the provider's own tokens."""

    prompt_tokens: int
    completion_tokens: int

    @property
    def is_credible(self) -> bool:
        """Whether both are possible: a provider may say anything."""
        return all(0 <= count <= MOST_TOKENS for count in (self.prompt_tokens, self.completion_tokens))


@dataclass(frozen=True, slots=True)
class NotePiece:
    """What happens to the call besides words.

    ``note``: "loading", its server loads the model; "no_tools", the model refused tools and is asked without;
    "no_images", likewise for images; "trimmed", the ``count`` oldest messages are left out; "shortened",
    ``count`` results of tools are shortened; "rate_limit", it is asked again at ``until`` (ISO 8601), in
    ``seconds``; "progress", an agent's line about its progress; those of MCP servers, of the working folder
    and of summaries are in ``events.TurnNoted``.
    """

    note: Literal[
        "loading",
        "no_tools",
        "no_images",
        "trimmed",
        "shortened",
        "rate_limit",
        "servers_wait",
        "server_missing",
        "form_declined",
        "guide",
        "guide_cut",
        "guide_unread",
        "summarising",
        "summary",
        "synthesis",
        "progress",
    ]
    count: int = 0
    until: str = ""
    seconds: float = 0.0
    about: str = ""


Piece = NotePiece | TextPiece | ThinkingPiece | CallPiece | StepPiece | CutPiece | ApartPiece | UsagePiece


async def context_of(model: Model, request: ModelRequest) -> int:
    """Return the size of a model's context in tokens if it says so, else 0. Raises ``ModelError``."""
    context_tokens = getattr(model, "context_tokens", None)
    return await context_tokens(request) if context_tokens is not None else 0


async def close(pieces: AsyncIterator[Piece]) -> None:
    """Close an answer that is not read to its end; a generator can be closed, an iterator may not."""
    aclose = getattr(pieces, "aclose", None)
    if aclose is not None:
        await aclose()


class Model(Protocol):
    """A language model. ``name`` is shown in the panes."""

    @property
    def name(self) -> str: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """Yield the answer piece by piece.

        Raises ``ModelError`` for everything that goes wrong with the provider, including a stream without its
        end. Cancelling the consuming task ends the call at once and closes the connection to the provider.
        """
        ...
