"""What a chat costs its reader: bytes of a stream to frames, events and state, as CPU of one process; and
an answer on the screen, as CPU of the program.

In the plain form of the protocol a step is sent whole again for every word of it; in ours only the word.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from agent_tui.wire.chat import ChatDecoder
from agent_tui.wire.sse import SSEParser
from benchmarks.load import Load
from benchmarks.table import ms, row, times
from benchmarks.terminal import played

SNAPSHOTS = 8_000
CHUNK_BYTES = 65_536
RUNS = 3
RATE = 150.0
SECONDS = 4.0
TURN = "answer"


def main() -> None:
    """Print the rows."""
    # Each word is six bytes in its frame, whatever it is.
    for name, word in (("ASCII", "token "), ("Russian", "да. "), ("quotes", 'a.\n"')):
        pieces = [word] * SNAPSHOTS
        seconds, megabytes = _measured(partial(_plain, pieces), len(word) * SNAPSHOTS)
        note = f"{megabytes:,.0f} MB through parser, decoder, state"
        row(f"{SNAPSHOTS:,} snapshots of a step up to 48 kB, {name}", "≤ 200 ms", ms(seconds), note)
    pieces = ["token "] * SNAPSHOTS
    seconds, megabytes = _measured(partial(_pieces, pieces), 6 * SNAPSHOTS)
    row(f"the same step as {SNAPSHOTS:,} pieces", "", ms(seconds), f"{megabytes:.1f} MB")
    _on_screen()


def _on_screen() -> None:
    """An answer at 150 words a second, against Textual's stream in the same run."""
    load = Load("chat", "paced", panes=1, rate=RATE, seconds=SECONDS, columns=120, rows=40)
    ours, stock = played(load), played(replace(load, program="stock"))
    shares = [seen.report.word_cpu * seen.report.words / SECONDS for seen in (ours, stock)]
    figures = [f"{share:.1%}" for share in shares]
    what = f"chat at {RATE:g} tok/s: CPU for the words, share of a core"
    row(what, "≤ 1/6", figures[0], times(shares[0] / shares[1]), figures[1])


def _plain(pieces: Sequence[str]) -> Iterator[bytes]:
    text = ""
    for piece in pieces:
        text += piece
        yield _frame("process_step", _step(text))


def _pieces(pieces: Sequence[str]) -> Iterator[bytes]:
    yield _frame("process_step", _step(""))
    for piece in pieces:
        yield _frame("process_step_delta", {"id": "step-0", "content": piece})


def _step(text: str) -> dict[str, object]:
    return {"step": {"id": "step-0", "index": 0, "type": "text", "content": text}}


def _frame(name: str, data: dict[str, object]) -> bytes:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n".encode()


def _chunks(frames: Iterable[bytes]) -> Iterator[bytes]:
    """Cut the stream as it comes from a socket, wherever that is."""
    rest = b""
    for frame in frames:
        rest += frame
        while len(rest) >= CHUNK_BYTES:
            chunk, rest = rest[:CHUNK_BYTES], rest[CHUNK_BYTES:]
            yield chunk
    yield rest


def _measured(frames: Callable[[], Iterable[bytes]], characters: int) -> tuple[float, float]:
    """Return (CPU seconds of the quickest run, megabytes). Making the stream is not counted."""
    runs = [_read(frames(), characters) for _ in range(RUNS)]
    return min(runs)


def _read(frames: Iterable[bytes], characters: int) -> tuple[float, float]:
    parser, decoder, state = SSEParser(), ChatDecoder(TURN), ConversationState()
    state.apply(ev.TurnStarted(TURN, "", "assistant", "", "", 0))
    seconds = megabytes = 0.0
    for chunk in _chunks(frames):
        started = time.process_time()
        for frame in parser.feed(chunk):
            state.apply(decoder.decode(frame.event, frame.data))
        seconds += time.process_time() - started
        megabytes += len(chunk) / 1e6
    step = state.turns[TURN].steps.all["step-0"]
    assert (step.content.length, step.revision, state.unknown_count) == (characters, 0, 0)
    return seconds, megabytes
