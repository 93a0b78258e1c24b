"""The agent socket on the wire (protocols.md §4), inwards: frames of both sides, and an answer as events.

Calls have no ids, and sub-agents only a ``source``: the decoder makes the steps of one turn from them. The
words of a sub-agent are a step of their own type, so that the text of the turn is only the main agent's. The
other direction is ``agent_socket_encode``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from agent_tui.model import events as ev
from agent_tui.model.records import MOST_TOKENS
from agent_tui.wire.content import SplitPairs, content_success, dump, encodable, strict_json

STATUS: Final = "STATUS"
ERROR: Final = "ERROR"
GRACEFUL_DISCONNECT: Final = "GRACEFUL_DISCONNECT"
TEXT_CHUNK: Final = "AGENT_EVENT_TEXT_CHUNK"
TOOL_CALL_CHUNK: Final = "AGENT_EVENT_TOOL_CALL_CHUNK"
TOOL_RESULT: Final = "AGENT_EVENT_TOOL_RESULT"
CUSTOM_UPDATE: Final = "AGENT_EVENT_CUSTOM_UPDATE"
SEND_FILE: Final = "AGENT_EVENT_SEND_FILE"
END: Final = "AGENT_EVENT_END"
CLIENT_TOOL_CALL: Final = "AGENT_EVENT_CLIENT_TOOL_CALL"
USER_MESSAGE: Final = "USER_MESSAGE"
CLIENT_TOOL_RESULT: Final = "CLIENT_TOOL_RESULT"
CLIENT_TOOL_STATUS: Final = "CLIENT_TOOL_STATUS"  # never sent: the status of a call that runs here
TERMINAL: Final = frozenset({END, ERROR})  # frames that end a request

# Codes that a client reports besides a server's own.
NOT_CONNECTED: Final = "NOT_CONNECTED"
TIMEOUT: Final = "TIMEOUT"
INVALID_STATUS: Final = "INVALID_STATUS"
UNEXPECTED_MSG_TYPE: Final = "UNEXPECTED_MSG_TYPE"
CONNECTION_ERROR: Final = "CONNECTION_ERROR"
PARSE_ERROR: Final = "PARSE_ERROR"

# Codes of our own server, whose details are complete sentences.
AGENT_ERROR: Final = "AGENT_ERROR"
MAX_ITERATIONS: Final = "MAX_ITERATIONS"
STOPPED: Final = "STOPPED"
INTERRUPTED: Final = "INTERRUPTED"
CHAT_BUSY: Final = "CHAT_BUSY"
_SELF_EXPLAINING: Final = frozenset({AGENT_ERROR, MAX_ITERATIONS, STOPPED, INTERRUPTED, CHAT_BUSY})

MAIN: Final = "main"
SUB_AGENT: Final = "sub_agent"  # type of the step with a sub-agent's words; its name is the source
FILE_OFFERED: Final = "file_offered"  # ``TurnNoted``, about the path
PROGRESS: Final = "progress"  # ``TurnNoted`` about the line, if not exactly one call of the source is open
_AT: Final = "@"
_MANY_BRACKETS: Final = 200


@dataclass(frozen=True, slots=True)
class SocketFrame:
    """One frame of either side: its ``type`` (empty if it has none) and its other fields. ``status`` is the
    status of a call that runs here: this program adds it, and no server can send it.
    """

    type: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    status: ev.ToolStatusChanged | None = None

    @property
    def source(self) -> str:
        """The agent that sent it."""
        source = self.fields.get("source")
        return encodable(source) if isinstance(source, str) and source else MAIN

    def text(self, name: str) -> str:
        """Return a text field, empty if it is not a text."""
        value = self.fields.get(name)
        return encodable(value) if isinstance(value, str) else ""

    def data(self) -> dict[str, Any]:
        """Return it as an object, as on the wire."""
        return {"type": self.type, **self.fields} if self.type else dict(self.fields)

    def json(self) -> str:
        """Return it as JSON, as it is sent."""
        return dump(self.data())


def parse_frame(raw: str | bytes) -> SocketFrame:
    """Return one frame; raises ``ValueError`` for anything but JSON (``PARSE_ERROR``).

    JSON that is not an object, or has no type, becomes a frame without a type.
    """
    text = raw if isinstance(raw, str) else raw.decode()
    try:
        value = strict_json(text)
        if text.count("[") + text.count("{") > _MANY_BRACKETS:
            json.dumps(value)  # what can be read may be nested too deep to be written
    except RecursionError:
        raise ValueError("nested too deep") from None
    if not isinstance(value, dict):
        return SocketFrame("", {"value": value})
    frame_type = value.get("type")
    if not isinstance(frame_type, str) or not frame_type:
        return SocketFrame("", value)
    return SocketFrame(frame_type, {name: value[name] for name in value if name != "type"})


# --- what a client sends ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A question; ``attachments`` are paths relative to the agent's workspace."""

    text: str
    attachments: tuple[str, ...] = ()

    def frame(self) -> SocketFrame:
        """Return it as it is sent."""
        return SocketFrame(USER_MESSAGE, {"text": self.text, "attachments": list(self.attachments)})


@dataclass(frozen=True, slots=True)
class ClientToolCall:
    """A call that is to run on the user's machine (ours); ``args`` is any JSON."""

    call_id: str
    tool_name: str
    args: Any = None

    @property
    def arguments(self) -> str:
        """Its arguments, as JSON text."""
        if isinstance(self.args, str):
            return encodable(self.args)
        return dump({} if self.args is None else self.args)

    def frame(self) -> SocketFrame:
        """Return it as it is sent."""
        return SocketFrame(
            CLIENT_TOOL_CALL, {"call_id": self.call_id, "tool_name": self.tool_name, "args": self.args}
        )


@dataclass(frozen=True, slots=True)
class ClientToolResult:
    """The result of such a call: ``result`` is any JSON, or ``error`` says why there is none."""

    call_id: str
    result: Any = None
    error: str = ""

    def frame(self) -> SocketFrame:
        """Return it as it is sent."""
        outcome = {"error": self.error} if self.error else {"result": self.result}
        return SocketFrame(CLIENT_TOOL_RESULT, {"call_id": self.call_id, **outcome})


def client_frame(frame: SocketFrame) -> UserMessage | ClientToolResult:
    """Return what a client sent; raises ``ValueError``, with a text for the client, for anything else.

    Older clients send no ``attachments``.
    """
    match frame.type:
        case "USER_MESSAGE":
            paths = frame.fields.get("attachments") or []
            if not isinstance(frame.fields.get("text"), str):
                raise ValueError("USER_MESSAGE has no text")
            if not isinstance(paths, list) or not all(isinstance(path, str) for path in paths):
                raise ValueError("attachments is not a list of paths")
            return UserMessage(frame.text("text"), tuple(encodable(path) for path in paths))
        case "CLIENT_TOOL_RESULT":
            if not frame.text("call_id"):
                raise ValueError("CLIENT_TOOL_RESULT has no call_id")
            error = frame.fields.get("error")
            error_text = "" if error is None else _text_of(error) or "failed"
            return ClientToolResult(frame.text("call_id"), frame.fields.get("result"), error_text)
        case _:
            raise ValueError(f"clients send no {frame.type or 'frame without a type'}")


def client_tool_call(frame: SocketFrame) -> ClientToolCall | None:
    """Return the call that a frame asks for, ``None`` if it names none."""
    call = ClientToolCall(frame.text("call_id"), frame.text("tool_name"), frame.fields.get("args"))
    return call if frame.type == CLIENT_TOOL_CALL and call.call_id and call.tool_name else None


def source_of(step_id: str) -> str:
    """Return the source of a step, from the id that the decoder gave it."""
    return step_id.partition(_AT)[2] or MAIN


def error_parts(frame: SocketFrame) -> tuple[str, str]:
    """Return (code, details) of an ``ERROR``, each as text."""
    return _text_of(frame.fields.get("code")), _text_of(frame.fields.get("details"))


def error_line(frame: SocketFrame) -> str:
    """Return an ``ERROR`` as a line for a person; never empty."""
    code, details = error_parts(frame)
    if code in _SELF_EXPLAINING and details:
        return details
    return ": ".join(part for part in (code, details) if part) or "unknown error"


def orphan_line(frame: SocketFrame) -> str:
    """Return a frame that belongs to no question as a line for a person."""
    match frame.type:
        case "AGENT_EVENT_TEXT_CHUNK" if line := frame.text("text"):
            return line
        case "AGENT_EVENT_CUSTOM_UPDATE" if line := progress_line(frame.fields.get("payload")):
            return line
        case "AGENT_EVENT_TOOL_CALL_CHUNK":
            line = f"{frame.text('tool_name')} {frame.text('args_chunk')}"
        case "AGENT_EVENT_TOOL_RESULT":
            line = f"{frame.text('tool_name')}: {_text_of(frame.fields.get('result'))}"
        case "AGENT_EVENT_SEND_FILE":
            line = frame.text("path")
        case "ERROR":
            line = error_line(frame)
        case _:
            line = f"{encodable(frame.type)} {progress_line(dict(frame.fields))}"
    return line.strip() or frame.type


# --- an answer -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Call:
    step_id: str
    name: str
    arguments: _Arguments
    client_id: str = ""  # of a call that the client runs
    is_denied: bool = False


class AgentSocketDecoder:
    """Turns the frames of one answer into events of the turn ``turn_id``."""

    def __init__(self, turn_id: str) -> None:
        self.turn_id = turn_id
        self._count = 0
        self._pairs = SplitPairs()
        self._speaking: dict[str, str] = {}  # source → the current step of words
        self._open: dict[str, list[_Call]] = {}  # source → calls without a result, oldest first
        self._answered: dict[str, int] = {}  # name → how many of the client's results the server may repeat

    def decode(self, frame: SocketFrame) -> list[ev.Event]:
        """Return the events of a frame; what is not in the protocol or does not fit it becomes ``Unknown``.

        ``STATUS`` and ``GRACEFUL_DISCONNECT`` do not belong to an answer. Never raises.
        """
        match frame.type:
            case "STATUS" | "GRACEFUL_DISCONNECT":
                return []
            case "CLIENT_TOOL_STATUS" if frame.status is not None:
                return self._set_client_status(frame.text("call_id"), frame.status)
            case "AGENT_EVENT_TEXT_CHUNK" if isinstance(frame.fields.get("text"), str):
                return self._add_words(frame.source, self._pairs.joined(frame.source, frame.fields["text"]))
            case "AGENT_EVENT_TOOL_CALL_CHUNK":
                return self._add_call(frame)
            case "AGENT_EVENT_TOOL_RESULT" if "result" in frame.fields:
                return self._add_result(frame)
            case "AGENT_EVENT_CUSTOM_UPDATE" if "payload" in frame.fields:
                return self._add_progress(frame.source, frame.fields["payload"])
            case "AGENT_EVENT_SEND_FILE" if frame.text("path"):
                return [ev.TurnNoted(self.turn_id, FILE_OFFERED, about=frame.text("path"))]
            case "AGENT_EVENT_CLIENT_TOOL_CALL" if (call := client_tool_call(frame)) is not None:
                return self._add_client_call(call)
            case "CLIENT_TOOL_RESULT" if frame.text("call_id"):  # what this client sends itself
                return self._add_client_result(frame)
            case "AGENT_EVENT_END":
                return [ev.TurnDone(self.turn_id, "", _count(frame.fields.get("tokens_used")))]
            case "ERROR":
                return [ev.RunFailed(error_line(frame))]
            case _:
                return [_unknown(frame, UNEXPECTED_MSG_TYPE)]

    def _add_words(self, source: str, text: str) -> list[ev.Event]:
        if not text:
            return []
        events: list[ev.Event] = []
        if source not in self._speaking:
            kind, name = ("text", "") if source == MAIN else (SUB_AGENT, source)
            step = self._step(kind, source, name=name)
            events, self._speaking[source] = [step], step.step.id
        return [*events, ev.StepAdded(self.turn_id, self._speaking[source], text)]

    def _add_call(self, frame: SocketFrame) -> list[ev.Event]:
        """Take a piece of a call: a name begins one; pieces without a name belong to the last open call of
        their source.
        """
        source, name, written = frame.source, frame.text("tool_name"), frame.text("args_chunk")
        calls = self._open.setdefault(source, [])
        if not name and (not calls or calls[-1].client_id):
            return [_unknown(frame, "arguments of no call")] if written else []
        events: list[ev.Event] = []
        if name:
            self._speaking.pop(source, None)
            step = self._step("tool_call", source, name=name)
            calls.append(_Call(step.step.id, name, _Arguments()))
            events = [step]
        call = calls[-1]
        if written:
            events.append(ev.StepAdded(self.turn_id, call.step_id, arguments=written))
            if call.arguments.ends_with(written):
                events.append(ev.ToolStatusChanged(self.turn_id, call.step_id, "running"))
        return events

    def _add_result(self, frame: SocketFrame) -> list[ev.Event]:
        """Take a result, which closes the oldest open call of its name and source."""
        name = frame.text("tool_name")
        calls = self._open.get(frame.source, [])
        call = next((call for call in calls if call.name == name or not name), None)
        if call is None and frame.source == MAIN and self._answered.get(name):
            self._answered[name] -= 1  # the client's own result, repeated
            return []
        if call is not None:
            calls.remove(call)
        content = _text_of(frame.fields["result"])
        return self._close_call(call, frame.source, name, content, success=content_success(content))

    def _close_call(
        self, call: _Call | None, source: str, name: str, content: str, *, success: bool
    ) -> list[ev.Event]:
        self._speaking.pop(source, None)
        id_ref = call.step_id if call is not None else ""
        name = name or (call.name if call is not None else "")
        result = self._step("tool_result", source, name=name, content=content, id_ref=id_ref, success=success)
        if call is None:
            return [result]
        status = "done" if success else "denied" if call.is_denied else "failed"
        return [ev.ToolStatusChanged(self.turn_id, id_ref, status), result]

    def _add_progress(self, source: str, payload: object) -> list[ev.Event]:
        """Take progress, for the open call of its source, if there is exactly one."""
        line, calls = progress_line(payload), self._open.get(source, [])
        if not line:
            return []
        if len(calls) == 1:
            return [ev.ToolStatusChanged(self.turn_id, calls[0].step_id, "running", progress=line)]
        who = "" if source == MAIN else source
        return [ev.TurnNoted(self.turn_id, PROGRESS, about=line, agent_name=who)]

    def _add_client_call(self, received: ClientToolCall) -> list[ev.Event]:
        """Take a call that the client is to run; it may have been streamed before like any other. When it
        runs is a separate event (``_set_client_status``), since a person may have to allow it.
        """
        fields: dict[str, Any] = {"name": received.tool_name, "arguments": received.arguments}
        calls = self._open.setdefault(MAIN, [])
        streamed = (call for call in calls if call.name == received.tool_name and not call.client_id)
        call = next(streamed, None)
        if call is not None:  # what was streamed may differ from what is to run
            call.client_id = received.call_id
            index = int(call.step_id.removeprefix("step-"))
            whole = ev.Step(call.step_id, index, "tool_call", id_ref=received.call_id, **fields)
            return [ev.StepSet(self.turn_id, whole)]
        self._speaking.pop(MAIN, None)
        step = self._step("tool_call", MAIN, id_ref=received.call_id, **fields)
        calls.append(_Call(step.step.id, received.tool_name, _Arguments(), received.call_id))
        return [step]

    def _set_client_status(self, call_id: str, status: ev.ToolStatusChanged) -> list[ev.Event]:
        call = next((call for call in self._open.get(MAIN, []) if call.client_id == call_id), None)
        if call is None:
            return []
        call.is_denied = status.status == "denied"
        return [replace(status, turn_id=self.turn_id, step_id=call.step_id)]

    def _add_client_result(self, frame: SocketFrame) -> list[ev.Event]:
        calls = self._open.get(MAIN, [])
        call = next((call for call in calls if call.client_id == frame.text("call_id")), None)
        if call is None:
            return [_unknown(frame, "the result of no call")]
        calls.remove(call)
        self._answered[call.name] = self._answered.get(call.name, 0) + 1
        if "error" in frame.fields:
            return self._close_call(call, MAIN, call.name, _text_of(frame.fields["error"]), success=False)
        content = _text_of(frame.fields.get("result"))
        return self._close_call(call, MAIN, call.name, content, success=content_success(content))

    def _step(self, kind: str, source: str, **fields: Any) -> ev.StepSet:
        id_ = f"step-{self._count}" if source == MAIN else f"step-{self._count}{_AT}{source}"
        step = ev.Step(id_, self._count, kind, **fields)
        self._count += 1
        return ev.StepSet(self.turn_id, step)


_OF_STRUCTURE = re.compile(r'[\\"{}\[\]]')


class _Arguments:
    """Detects the end of a call's arguments in their JSON text. Costs as much as is added."""

    __slots__ = ("_depth", "_is_escaped_at", "_is_text", "_length")

    def __init__(self) -> None:
        self._depth = 0
        self._is_text = False
        self._length = 0
        self._is_escaped_at = -1  # index of a character that is escaped by a backslash

    def ends_with(self, piece: str) -> bool:
        """Return whether the arguments are complete after ``piece``."""
        is_whole = False
        for match in _OF_STRUCTURE.finditer(piece):
            place, char = self._length + match.start(), match.group()
            if place == self._is_escaped_at:
                continue
            if self._is_text:
                if char == "\\":
                    self._is_escaped_at = place + 1
                self._is_text = char != '"'
            elif char == '"':
                self._is_text = True
            else:
                self._depth += 1 if char in "{[" else -1
                is_whole = self._depth == 0
        self._length += len(piece)
        return is_whole and not self._is_text


def progress_line(payload: object) -> str:
    """Return a tool's progress as one line of text; empty if it only says that the tool is running."""
    if not isinstance(payload, dict):
        return _text_of(payload)
    shown = {name: value for name, value in payload.items() if value not in (None, "")}
    if shown.get("status") == "running" and len(shown) > 1:
        del shown["status"]
    if len(shown) == 1 and isinstance(only := next(iter(shown.values())), str):
        return encodable(only)
    return encodable(", ".join(f"{name}: {_text_of(value)}" for name, value in shown.items()))


def _text_of(value: object) -> str:
    if isinstance(value, str):
        return encodable(value)
    return "" if value is None else dump(value)


def _count(value: object) -> int:
    return value if type(value) is int and 0 < value <= MOST_TOKENS else 0


def _unknown(frame: SocketFrame, reason: str) -> ev.Unknown:
    return ev.Unknown(encodable(frame.type), frame.json(), reason)
