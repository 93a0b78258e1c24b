"""The demo model: plays scripts, without key, account or network.

It is a demo and says so. Its words are in text files; in rooms ``debate`` finds them, in chats ``chat``, in
voice sessions ``voice``. This module returns them at a steady pace that one can read.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from dataclasses import replace

from agent_tui.backend.models.demo.chat import chat_language, chat_pieces, is_for_tools
from agent_tui.backend.models.demo.debate import turn_text
from agent_tui.backend.models.demo.voice import voice_pieces
from agent_tui.backend.models.model import (
    CallPiece,
    CutPiece,
    ModelRequest,
    Piece,
    TextPiece,
    ThinkingPiece,
    UsagePiece,
)
from agent_tui.config.agent_templates import language_of
from agent_tui.config.file import DEMO_PROVIDER

DEMO = DEMO_PROVIDER  # its provider's id, its model's name, its own
DEFAULT_RATE = 20.0  # tokens/s
MAX_TOKENS = 2000  # of an answer without a limit
TOKENS_A_BREATH = 32  # at most between two turns of the event loop


class DemoModel:
    """Speaks in its role about the room's task; the same request and seed give the same pieces.

    ``rate`` is in tokens/s, 0 as fast as it goes. ``clock`` returns seconds, the event loop's by default.
    """

    def __init__(
        self,
        rate: float = DEFAULT_RATE,
        seed: int = 0,
        *,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._rate = rate
        self._seed = seed
        self._sleep = sleep
        self._clock = clock

    @property
    def name(self) -> str:
        return DEMO

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Piece]:
        """Yield the answer in pieces of four characters (Chinese: one), each at its time.

        The times count from the beginning, so a slow consumer does not slow down the whole answer. Cancelling
        ends it at once: nothing is held open. See ``Model.stream``.
        """
        request = replace(request, max_tokens=request.max_tokens or MAX_TOKENS)
        if request.is_spoken:  # the voice sets the pace of what is spoken
            for spoken in voice_pieces(request):
                yield spoken
            return
        language, whole = _answer(request, self._seed)
        if request.continues:
            whole = _rest(request, self._seed) or whole
        token = token_characters(language)
        pieces = list(split(whole, token))
        clock = self._clock or asyncio.get_running_loop().time
        started_at = clock()
        for number, piece in enumerate(pieces[: request.max_tokens]):
            wait = number / self._rate - (clock() - started_at) if self._rate > 0 else 0.0
            if wait > 0 or number % TOKENS_A_BREATH == 0:
                await self._sleep(max(wait, 0.0))
            yield piece
        if len(pieces) > request.max_tokens:
            yield CutPiece("length")
        prompt = sum(len(message.content) for message in request.messages) // token
        yield UsagePiece(prompt, min(len(pieces), request.max_tokens))


def token_characters(language: str) -> int:
    """Return how many characters count as one token of the demo."""
    return 1 if language == "zh" else 4


def split(pieces: Iterable[Piece], token: int) -> Iterator[Piece]:
    """Yield the small pieces, of ``token`` characters each, that a model would send."""
    for piece in pieces:
        match piece:
            case TextPiece(text) | ThinkingPiece(text):
                yield from (type(piece)(text[at : at + token]) for at in range(0, len(text), token))
            case CallPiece(index, id_, name, text):
                yield CallPiece(index, id_, name)
                yield from (
                    CallPiece(index, "", "", text[at : at + token]) for at in range(0, len(text), token)
                )
            case _:
                yield piece


def _answer(request: ModelRequest, seed: int) -> tuple[str, list[Piece]]:
    """Return language and whole pieces; a room's agent, which has a name, uses tools if the task asks for
    that.
    """
    if not request.speaker or (request.tools and is_for_tools(request)):
        return chat_language(request), chat_pieces(request)
    return language_of(request.task), [TextPiece(turn_text(request, seed))]


def _rest(request: ModelRequest, seed: int) -> list[Piece]:
    """Return what follows the words that the answer is to continue; nothing if they are not the demo's.

    What people said meanwhile is ignored. Like every model it begins after the last word, with the white
    space that may be there already: ``ContinuingModel`` removes that.
    """
    messages, beginning = request.messages[:-1], request.continues.rstrip()
    while messages:
        _, whole = _answer(replace(request, messages=messages, continues=""), seed)
        for place, piece in enumerate(whole):
            if isinstance(piece, TextPiece) and piece.text.startswith(beginning):
                return [TextPiece(piece.text[len(beginning) :]), *whole[place + 1 :]]
        if messages[-1].role != "user":
            break
        messages = messages[:-1]
    return []
