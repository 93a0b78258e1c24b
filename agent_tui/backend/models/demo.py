"""The model of the house: talks about any task from a script, without key, account or network.

It is a demo and says so. What it says is put together from phrase tables, in rooms by ``demo_turn``, in chats
by ``demo_chat``; this module gives it out at a steady pace, like a model that is being listened to.
"""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import replace

from agent_tui.backend.models.demo_room import read_room
from agent_tui.backend.models.demo_tables import PHRASES
from agent_tui.backend.models.demo_task import Language, language_of
from agent_tui.backend.models.demo_turn import Phase, Turn
from agent_tui.backend.models.demo_voice import is_voice, voice_pieces
from agent_tui.backend.models.model import (
    CallPiece,
    ChatMessage,
    CutPiece,
    ModelRequest,
    Piece,
    TextPiece,
    ThinkingPiece,
    UsagePiece,
)
from agent_tui.config import DEMO_PROVIDER

DEMO = DEMO_PROVIDER  # its provider's id, its model's name, its own
DEFAULT_RATE = 20.0  # tokens/s
MAX_TOKENS = 2000  # of an answer that nobody limits
TOKENS_A_BREATH = 32  # given out between two turns of the event loop, at most


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
        """Yield the answer in pieces of four characters (Chinese: two), each at its time.

        The times are counted from the beginning, so a slow consumer does not make the whole answer slower.
        Cancelling ends it at once: nothing is held open. See ``Model.stream``.
        """
        request = replace(request, max_tokens=request.max_tokens or MAX_TOKENS)
        if is_voice(request.tools):  # what is spoken is paced by the voice
            for spoken in voice_pieces(request):
                yield spoken
            return
        language, whole = _chat(request, self._seed) or _turn(request, self._seed)
        if request.continues:
            whole = _rest(request, self._seed) or whole
        token = PHRASES[language].token
        pieces = split(whole, token)
        clock = self._clock or asyncio.get_running_loop().time
        started = clock()
        for number, piece in enumerate(pieces[: request.max_tokens]):
            wait = number / self._rate - (clock() - started) if self._rate > 0 else 0.0
            if wait > 0 or number % TOKENS_A_BREATH == 0:
                await self._sleep(max(wait, 0.0))
            yield piece
        if len(pieces) > request.max_tokens:
            yield CutPiece("length")
        prompt = sum(len(message.content) for message in request.messages) // token
        yield UsagePiece(prompt, min(len(pieces), request.max_tokens))


def split(pieces: Iterable[Piece], token: int) -> list[Piece]:
    """Return whole pieces in the small ones that a model would give, of ``token`` characters each."""
    small: list[Piece] = []
    for piece in pieces:
        match piece:
            case TextPiece(text):
                small += [TextPiece(text[at : at + token]) for at in range(0, len(text), token)]
            case ThinkingPiece(text):
                small += [ThinkingPiece(text[at : at + token]) for at in range(0, len(text), token)]
            case CallPiece(index, id_, name, text):
                small.append(CallPiece(index, id_, name))
                small += [
                    CallPiece(index, arguments=text[at : at + token]) for at in range(0, len(text), token)
                ]
            case _:
                small.append(piece)
    return small


def _turn(request: ModelRequest, seed: int) -> tuple[Language, list[Piece]]:
    return language_of(request.task), [TextPiece(turn_text(request, seed))]


def _chat(request: ModelRequest, seed: int) -> tuple[Language, list[Piece]] | None:
    """Return an answer to a person, who is told of tools; to a room, whose agents have names, only where its
    task is one for tools.
    """
    if request.speaker and not request.tools:
        return None
    # Here, not at the top: its patterns take longer to compile than all of a room's phrases.
    from agent_tui.backend.models.demo_chat import chat_language, chat_pieces, is_for_tools

    if request.speaker and not is_for_tools(request):
        return None
    alone = (ChatMessage("user", request.task),)
    talk = turn_text(replace(request, messages=alone, speaker=DEMO, round=1, max_rounds=1), seed)
    return chat_language(request), chat_pieces(request, talk)


def turn_text(request: ModelRequest, seed: int) -> str:
    """Return what the demo model says to ``request``: Markdown, at most ``max_tokens`` tokens long."""
    room = read_room(request)
    salt = _number(seed, request.task)
    rng = random.Random(_number(seed, _told(request)))
    place = _number(seed, request.speaker)
    phrases = PHRASES[room.task.language]
    turn = Turn(room, phrases, rng, salt=salt, place=place)
    return turn.text(_phase(request), request.round, (request.max_tokens or MAX_TOKENS) * phrases.token)


def _rest(request: ModelRequest, seed: int) -> list[Piece]:
    """Return what follows the words that the answer is to go on with; nothing if they are not the demo's."""
    begun = replace(request, messages=request.messages[:-1], continues="")
    _, whole = _chat(begun, seed) or _turn(begun, seed)
    for place, piece in enumerate(whole):
        if isinstance(piece, TextPiece) and piece.text.startswith(request.continues):
            return [TextPiece(piece.text[len(request.continues) :]), *whole[place + 1 :]]
    return []


def _told(request: ModelRequest) -> str:
    """Return all that makes this turn another than the next one."""
    messages = [(message.role, message.content) for message in request.messages]
    return repr((messages, request.speaker, request.task, request.round, request.max_rounds))


def _phase(request: ModelRequest) -> Phase:
    if request.round >= request.max_rounds:
        return "last" if request.round > 1 else "only"
    return "opening" if request.round <= 1 else "middle"


def _number(seed: int, text: str) -> int:
    """Return a number that depends on both, the same in every process (``hash`` is not)."""
    digest = hashlib.sha256(f"{seed}:{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big")
