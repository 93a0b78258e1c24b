"""The agent socket on the wire (protocols.md §4), outwards: the events of one answer to frames.

Thinking has no frame. Calls have no id on this wire, so calls of one source are written one after the other,
and results of calls with one name in the order of the calls: what comes too early waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from agent_tui.model import events as ev
from agent_tui.model.chains import BETWEEN_STEPS
from agent_tui.model.errors import TOO_MANY_ROUNDS
from agent_tui.wire.agent_socket import (
    AGENT_ERROR,
    CUSTOM_UPDATE,
    END,
    ERROR,
    FILE_OFFERED,
    INTERRUPTED,
    MAIN,
    MAX_ITERATIONS,
    PROGRESS,
    SEND_FILE,
    STOPPED,
    SUB_AGENT,
    TEXT_CHUNK,
    TOOL_CALL_CHUNK,
    TOOL_RESULT,
    SocketFrame,
    source_of,
)
from agent_tui.wire.content import dump

NO_RESULT: Final = dump({"success": False, "error": "no result"})
_CODES: Final = {"Stopped": STOPPED, TOO_MANY_ROUNDS: MAX_ITERATIONS}
_INTERRUPTED: Final = "Interrupted: "

StepKey = tuple[str, str]  # turn id, step id


@dataclass(slots=True)
class _Call:
    name: str
    source: str
    waiting: str = ""  # arguments that were not sent yet
    sent: str = ""
    is_begun: bool = False
    is_whole: bool = False
    result: str | None = None


class AgentSocketEncoder:
    """Turns the events of one answer, in the full form of our log, into frames."""

    def __init__(self) -> None:
        self._texts: dict[StepKey, str] = {}
        self._sources: dict[StepKey, str] = {}  # of the steps with words
        self._tails: dict[str, StepKey] = {}  # source → the words of its last frame
        self._joins = False  # the next words continue interrupted ones
        self._calls: dict[StepKey, _Call] = {}
        self._writing: dict[str, deque[_Call]] = {}  # source → the first is being written, the others wait
        self._open: dict[tuple[str, str], deque[_Call]] = {}  # source and name → begun, without a sent result

    def encode(self, event: ev.Event) -> list[SocketFrame]:
        """Return the frames of an event, none if this protocol cannot express it."""
        return list(self._frames(event))

    def _frames(self, event: ev.Event) -> Iterator[SocketFrame]:
        match event:
            case ev.TurnStarted(continues=continues):
                self._joins = bool(continues)
            case ev.TextAdded(turn_id, text, step_id=step_id):
                yield from self._say((turn_id, step_id), MAIN, text)
            case ev.StepSet(turn_id, step):
                yield from self._set((turn_id, step.id), step)
            case ev.StepAdded(turn_id, step_id, content, arguments):
                yield from self._add((turn_id, step_id), content, arguments)
            case ev.ToolStatusChanged(turn_id, step_id, status, progress=progress):
                yield from self._send_status((turn_id, step_id), status, progress)
            case ev.TurnNoted(note=note, about=path) if note == FILE_OFFERED:
                yield SocketFrame(SEND_FILE, {"path": path})
            case ev.TurnNoted(note=note, about=line, agent_name=source) if note == PROGRESS:
                yield _progress("running", line, source or MAIN)
            case ev.TurnDone():
                yield from self._finish()
                yield SocketFrame(END, {"tokens_used": _tokens(event)})
            case ev.RunFailed(content) | ev.TurnFailed(content):
                yield from self._finish()
                yield error_frame(content)
            case _:
                pass  # it does not belong to an answer, or has no frame

    # --- words -----------------------------------------------------------------------------------------

    def _set(self, key: StepKey, step: ev.Step) -> Iterator[SocketFrame]:
        source = source_of(step.id)
        if step.type in ("text", SUB_AGENT):
            self._sources[key] = step.name if step.type == SUB_AGENT and step.name else source
            yield from self._replace_words(key, step.content)
        elif step.type == "tool_call":
            yield from self._set_call(key, step, source)
        elif step.type == "tool_result":
            yield from self._set_result(key, step, source)
        # Thinking, and steps of other servers' own types, have no frame.

    def _add(self, key: StepKey, content: str, arguments: str) -> Iterator[SocketFrame]:
        if (source := self._sources.get(key)) is not None:
            yield from self._say(key, source, content)
        elif (call := self._calls.get(key)) is not None:
            yield from self._write(call, arguments)

    def _replace_words(self, key: StepKey, text: str) -> Iterator[SocketFrame]:
        """Send words that replace others after them: nothing that was sent can be taken back."""
        known = self._texts.get(key, "")
        if text.startswith(known):
            yield from self._say(key, self._sources[key], text[len(known) :])
        elif text:
            self._texts[key] = ""
            yield from self._say(key, self._sources[key], text, parts=True)

    def _say(self, key: StepKey, source: str, text: str, *, parts: bool = False) -> Iterator[SocketFrame]:
        if not text:
            return
        self._texts[key] = self._texts.get(key, "") + text
        tail = self._tails.get(source)
        is_apart = parts or (tail is not None and tail != key and not self._joins)
        self._tails[source], self._joins = key, False
        yield SocketFrame(TEXT_CHUNK, {"text": BETWEEN_STEPS * is_apart + text, "source": source})

    # --- calls -----------------------------------------------------------------------------------------

    def _set_call(self, key: StepKey, step: ev.Step, source: str) -> Iterator[SocketFrame]:
        call = self._calls.get(key)
        if call is None:
            call = self._calls[key] = _Call(step.name, source)
            self._writing.setdefault(source, deque()).append(call)
            self._open.setdefault((source, step.name), deque()).append(call)
        known = call.sent + call.waiting
        if step.arguments.startswith(known):
            yield from self._write(call, step.arguments[len(known) :])
        elif step.arguments and not call.is_begun:
            call.waiting = step.arguments
        call.is_whole = call.is_whole or bool(step.arguments or step.status)
        yield from self._send_waiting(source)

    def _write(self, call: _Call, arguments: str) -> Iterator[SocketFrame]:
        call.waiting += arguments
        if call.is_begun and call.waiting:
            call.sent, written, call.waiting = call.sent + call.waiting, call.waiting, ""
            yield SocketFrame(TOOL_CALL_CHUNK, {"args_chunk": written, "source": call.source})

    def _send_status(self, key: StepKey, status: str, progress: str) -> Iterator[SocketFrame]:
        call = self._calls.get(key)
        if call is None:
            return
        call.is_whole = True  # nobody runs half a call
        yield from self._send_waiting(call.source)
        if progress:
            yield _progress(status, progress.rpartition("\n")[2], call.source)

    def _set_result(self, key: StepKey, step: ev.Step, source: str) -> Iterator[SocketFrame]:
        call = self._calls.get((key[0], step.id_ref))
        if call is None:
            self._tails.pop(source, None)
            yield _result(step.name, step.content, source)
            return
        if call.result is None:
            call.result, call.is_whole = step.content, True
            yield from self._send_waiting(call.source)

    def _send_waiting(self, source: str) -> Iterator[SocketFrame]:
        """Send what had to wait for another call and no longer has to."""
        writing = self._writing.get(source, deque())
        while writing:
            call = writing[0]
            if not call.is_begun:
                yield self._begin(call)
            if not call.is_whole:
                break
            yield from self._write(call, "")
            writing.popleft()
        for (whose, _), calls in self._open.items():
            while whose == source and calls and calls[0].is_begun and calls[0].result is not None:
                yield self._close(calls.popleft())

    def _begin(self, call: _Call) -> SocketFrame:
        self._tails.pop(call.source, None)
        call.is_begun, call.sent, call.waiting = True, call.waiting, ""
        written = {"args_chunk": call.sent} if call.sent else {}
        return SocketFrame(TOOL_CALL_CHUNK, {"tool_name": call.name, **written, "source": call.source})

    def _close(self, call: _Call) -> SocketFrame:
        self._tails.pop(call.source, None)
        return _result(call.name, call.result or "", call.source)

    def _finish(self) -> Iterator[SocketFrame]:
        """Send everything that still waits: a call without a result comes before others of its name."""
        for calls in self._writing.values():
            for call in calls:
                call.is_whole = True
        for source in list(self._writing):
            yield from self._send_waiting(source)
        for calls in self._open.values():
            while any(call.result is not None for call in calls):
                call = calls.popleft()
                call.result = NO_RESULT if call.result is None else call.result
                yield self._close(call)


def error_frame(content: str, code: str = "") -> SocketFrame:
    """Return the ``ERROR`` with ``content``; its code is derived from our own texts if none is given."""
    if not code:
        code = INTERRUPTED if content.startswith(_INTERRUPTED) else _CODES.get(content, AGENT_ERROR)
    return SocketFrame(ERROR, {"code": code, "details": content})


def _progress(status: str, line: str, source: str) -> SocketFrame:
    return SocketFrame(CUSTOM_UPDATE, {"payload": {"status": status, PROGRESS: line}, "source": source})


def _result(name: str, content: str, source: str) -> SocketFrame:
    return SocketFrame(TOOL_RESULT, {"tool_name": name, "result": content, "source": source})


def _tokens(done: ev.TurnDone) -> int:
    if done.usage is not None:
        return done.usage.prompt_tokens + done.usage.completion_tokens
    return done.token_count
