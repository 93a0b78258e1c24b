"""The one interface to a language model: messages in, an async stream of pieces out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One message of what the model is told."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One turn's call. ``speaker``, ``task``, ``round`` and ``max_rounds`` say in plain data what
    ``messages`` say in words; real models need only the messages, the demo model reads the rest.
    """

    messages: tuple[ChatMessage, ...]
    model: str
    speaker: str
    task: str
    round: int
    max_rounds: int
    temperature: float = 0.7  # protocols.md §1
    max_tokens: int = 2000  # protocols.md §1: the provider's, or this


@dataclass(frozen=True, slots=True)
class TextPiece:
    """More of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingPiece:
    """More of what the model thinks and does not say."""

    text: str


@dataclass(frozen=True, slots=True)
class UsagePiece:
    """What the call has used so far, in the provider's own tokens."""

    prompt_tokens: int
    completion_tokens: int


Piece = TextPiece | ThinkingPiece | UsagePiece


class Model(Protocol):
    """A language model. ``name`` is what the panes show."""

    @property
    def name(self) -> str: ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Piece]:
        """Yield the answer piece by piece.

        Raises ``ModelError`` for everything that goes wrong with the provider, a stream that ended
        without its end among it. Cancelling the consuming task ends the call at once and closes the
        connection to the provider.
        """
        ...
