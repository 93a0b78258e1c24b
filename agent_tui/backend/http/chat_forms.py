"""The three forms of a chat's event stream (protocols.md §2), all written from one log.

The log has the *full* form, which our own client reads. *Deltas* leaves out what only we know. *Plain*, for
all others, has each step complete: what is said is sent again and again as it grows, a call once.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from enum import IntEnum

from agent_tui.backend.store.rows import StoredFrame
from agent_tui.wire.agent_socket import SUB_AGENT
from agent_tui.wire.chat_encode import TERMINAL
from agent_tui.wire.content import dump

EVENT_STREAM = "text/event-stream"

# Possessive, and a quote that begins always matches: there is never another way to try, so that the time
# for a header grows only with its length.
_QUOTED = r'"(?:[^"\\]|\\.?)*+"?'
_RANGE = re.compile(rf'(?:[^,"]|{_QUOTED})++')
_PART = re.compile(rf'(?:[^;"]|{_QUOTED})++')

_IN_DELTAS = frozenset({"process_step", "process_step_delta", *TERMINAL})
_CLOSING = '"}}'  # after the content of a step, which is its last field (``step_fields``)
_OF_WORDS = ("text", "thinking", SUB_AGENT)  # types of steps that grow; those of several agents at once


class ClientForm(IntEnum):
    """How much a client understands."""

    PLAIN = 0
    DELTAS = 1
    FULL = 2


def form_of_accept(accept: str) -> ClientForm:
    """Return the form that an ``Accept`` header asks for: of its ranges for event streams the one with the
    greatest ``q``; of several such, the most detailed.
    """
    best = (0.0, ClientForm.PLAIN)
    for range_ in _RANGE.findall(accept):
        type_, *parts = (part.strip() for part in _PART.findall(range_) or [""])
        if type_.lower() != EVENT_STREAM:
            continue
        pairs = (part.partition("=") for part in parts)
        parameters = {name.strip().lower(): value.strip().strip('"') for name, _, value in pairs}
        form = ClientForm.PLAIN
        if parameters.get("deltas") == "1":
            form = ClientForm.FULL if parameters.get("full") == "1" else ClientForm.DELTAS
        best = max(best, (_quality(parameters.get("q", "1")), form))
    return best[1] if best[0] else ClientForm.PLAIN


def _quality(text: str) -> float:
    return float(text) if re.fullmatch(r"[01](\.\d{0,3})?", text, re.ASCII) else 1.0


async def in_form(
    batches: AsyncGenerator[list[StoredFrame], None],
    form: ClientForm,
    after: int,
    ends: Callable[[StoredFrame], bool],
) -> AsyncGenerator[list[StoredFrame], None]:
    """Yield the frames of ``batches`` in ``form``: those greater than ``after``, up to and including the one
    that ``ends`` the stream.

    For the plain form ``batches`` begin at the beginning of the answer that contains ``after``.
    """
    write: Callable[[list[StoredFrame]], list[StoredFrame]] = {
        ClientForm.PLAIN: Snapshots().frames,
        ClientForm.DELTAS: _deltas,
        ClientForm.FULL: lambda batch: batch,
    }[form]
    async with aclosing(batches):
        async for batch in batches:
            end = next((place for place, frame in enumerate(batch) if ends(frame)), None)
            frames = write(batch if end is None else batch[: end + 1])
            if frames and frames[0].seq <= after:
                frames = [frame for frame in frames if frame.seq > after or ends(frame)]
            if frames:
                yield frames
            if end is not None:
                return


def _deltas(batch: list[StoredFrame]) -> list[StoredFrame]:
    return [frame for frame in batch if frame.name in _IN_DELTAS]


class Snapshots:
    """Makes the plain form of a log's frames, which begin anywhere between two answers.

    Of a step's snapshots only the newest in a batch is sent. A snapshot has the id of the last event in it, a
    call that of the event with its result: then it is complete.
    """

    def __init__(self) -> None:
        self._words: dict[str, str] = {}  # step id → its frame's data so far, without the closing part
        self._newest: dict[str, StoredFrame] = {}  # step id → the newest event of its words, if not sent yet
        self._calls: dict[str, str] = {}  # not sent yet: step id → data

    def frames(self, batch: list[StoredFrame]) -> list[StoredFrame]:
        """Return the frames to send for ``batch``."""
        sent: list[StoredFrame] = []
        for frame in batch:
            match frame.name:
                case "process_step_delta":
                    self._add(frame)
                case "process_step":
                    self._flush(sent)
                    self._step(frame, sent)
                case "tool_status":
                    data = self._calls.pop(json.loads(frame.data)["id"], None)
                    if data is not None:
                        self._flush(sent)
                        sent.append(_step_frame(frame, data))
                case "answer_started":  # ids start over
                    for mapping in (self._words, self._newest, self._calls):
                        mapping.clear()
                case name if name in TERMINAL:
                    self._flush(sent)
                    sent.append(frame)
                case _:
                    pass
        self._flush(sent)
        return sent

    def _step(self, frame: StoredFrame, sent: list[StoredFrame]) -> None:
        step = json.loads(frame.data)["step"]
        if step["type"] == "tool_call":
            self._calls[step["id"]] = frame.data
        elif step["type"] in _OF_WORDS:
            self._words[step["id"]] = frame.data.removesuffix(_CLOSING)
            if step["content"]:
                self._newest[step["id"]] = frame
        else:
            sent.append(frame)

    def _add(self, frame: StoredFrame) -> None:
        delta = json.loads(frame.data)
        id_ = delta["id"]
        if id_ in self._words and "content" in delta:
            self._words[id_] += dump(delta["content"])[1:-1]
            self._newest.pop(id_, None)  # in the order of the log
            self._newest[id_] = frame

    def _flush(self, sent: list[StoredFrame]) -> None:
        sent += [_step_frame(frame, self._words[id_] + _CLOSING) for id_, frame in self._newest.items()]
        self._newest.clear()


def _step_frame(frame: StoredFrame, data: str) -> StoredFrame:
    return StoredFrame(frame.room_id, frame.seq, "process_step", data, frame.message_id)
