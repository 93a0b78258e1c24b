"""Agent tasks on the wire (protocols.md §3): requests out, frames of the stream in.

A task is one answer of an agent service. Its frames have no ids and no step numbers: the decoder makes the
steps of a turn from them. Anything that is not described there is skipped, as the original does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeGuard

from agent_tui.model import events as ev
from agent_tui.wire.content import (
    BETWEEN_STEPS,
    SplitPairs,
    attachment_fields,
    dump,
    encodable,
    json_object,
    only_set,
)

ONLY_FILES: Final = "(see attachments)"  # the prompt of a task that consists only of files
_ENDS_SESSION: Final = ("aborted", "exited")
# The payloads of tools are not specified anywhere: first our form, then those of others.
_IDS: Final = ("id", "tool_use_id", "toolUseId", "call_id")
_NAMES: Final = ("name", "tool_name", "toolName", "tool")

Id = str | int  # of a session or a task: sent back as it came


@dataclass(frozen=True, slots=True)
class AgentTask:
    """A question. ``voice_mode``: only words come back; ``system_prompt`` is the voice client's."""

    prompt: str
    engine_type: str = "claude_api"
    voice_mode: bool = False
    system_prompt: str = ""
    attachments: Sequence[ev.Attachment] = ()

    def json(self, session_id: Id) -> dict[str, Any]:
        """Return the body of the POST."""
        body: dict[str, Any] = {
            "prompt": self.prompt or ONLY_FILES,
            "engineType": self.engine_type,
            "voiceMode": self.voice_mode,
        }
        if session_id != "":
            body["sessionId"] = session_id
        return body | only_set(
            systemPrompt=self.system_prompt, attachments=attachment_fields(self.attachments)
        )


def subscribe(session_id: Id, task_id: Id = "") -> str:
    """Return the frame that subscribes to the events of a session, or of one task in it."""
    data = {"sessionId": session_id, **({} if task_id == "" else {"taskId": task_id})}
    return dump({"event": "subscribe_session", "data": data})


def accepted(answer: object) -> tuple[Id, Id]:
    """Return (session id, task id) from the POST's answer; raises ``ValueError`` if they are missing."""
    fields = answer if isinstance(answer, dict) else {}
    session_id, task_id = fields.get("sessionId"), fields.get("taskId")
    if not (_is_id(session_id) and _is_id(task_id)):
        raise ValueError("no sessionId and taskId")
    return session_id, task_id


def _is_id(value: object) -> TypeGuard[Id]:
    return value != "" and isinstance(value, str | int) and not isinstance(value, bool)


def ends_session(message: str) -> bool:
    """Return whether an error says that its session has ended."""
    lowered = message.lower()
    return any(word in lowered for word in _ENDS_SESSION)


@dataclass(frozen=True, slots=True)
class _Call:
    id: str  # the service's id
    name: str
    step_id: str


class AgentTaskDecoder:
    """Turns the frames of one task into events of ``turn_id``, by default the task's own id. A frame without
    ``taskId`` counts as its own.
    """

    def __init__(self, task_id: Id, turn_id: str = "") -> None:
        self.task_id = str(task_id)
        self._turn_id = turn_id or self.task_id
        self._count = 0
        self._has_spoken = False
        self._pairs = SplitPairs()
        self._open = ""  # type of the current step
        self._calls: list[_Call] = []  # without a result, oldest first

    def decode(self, frame: str | bytes) -> list[ev.Event]:
        """Return the events of a frame of the task; none for another task's frame. Never raises."""
        return self.events(self.own(frame))

    def own(self, frame: str | bytes) -> dict[str, Any]:
        """Return the data of a frame of the task; empty for any other frame."""
        data = _data_of(frame)
        task_id = None if data is None else data.get("taskId")
        is_others = task_id not in (None, "") and not (_is_id(task_id) and str(task_id) == self.task_id)
        return {} if data is None or is_others else data

    def events(self, data: dict[str, Any]) -> list[ev.Event]:
        """Return the events for the data of a frame; none if the protocol does not have it."""
        match data.get("type"):
            case "text" | "thinking" as kind:
                words = _first(data, "content", "text", kind)
                text = self._pairs.joined(kind, words) if isinstance(words, str) else ""
                return self._add_words(kind, text)
            case "tool_use":
                return self._add_call(data)
            case "tool_result":
                return self._add_result(data)
            case "completed":
                return [ev.TurnDone(self._turn_id, self.task_id)]
            case "error":
                message = data.get("message")
                words = encodable(message) if isinstance(message, str) and message else "unknown error"
                return [ev.RunFailed(words)]
            case _:
                return []

    def _add_words(self, kind: str, text: str) -> list[ev.Event]:
        if kind == "text" and self._open != kind and self._has_spoken:
            text = text.removeprefix(BETWEEN_STEPS)  # for clients that get no steps between
        if not text:
            return []
        self._has_spoken = self._has_spoken or kind == "text"
        new_step: list[ev.Event] = [] if self._open == kind else [self._step(kind)]
        self._open = kind
        return [*new_step, ev.StepAdded(self._turn_id, f"step-{self._count - 1}", text)]

    def _add_call(self, data: dict[str, Any]) -> list[ev.Event]:
        arguments = _first(data, "input", "arguments", "args")
        written = arguments if isinstance(arguments, str) else dump({} if arguments is None else arguments)
        call_id, name, self._open = _text(data, *_IDS), _text(data, *_NAMES), ""
        step = self._step("tool_call", name=name, arguments=written, id_ref=call_id)
        self._calls.append(_Call(call_id, name, step.step.id))
        return [step, ev.ToolStatusChanged(self._turn_id, step.step.id, "running")]

    def _add_result(self, data: dict[str, Any]) -> list[ev.Event]:
        self._open = ""
        success = data.get("success") is not False and data.get("is_error") is not True
        content = _first(data, "content", "result", "output")
        text = encodable(content) if isinstance(content, str) else "" if content is None else dump(content)
        name, call = _text(data, *_NAMES), self._take_call(_text(data, *_IDS), _text(data, *_NAMES))
        id_ref = call.step_id if call is not None else ""
        name = name or (call.name if call is not None else "")
        result = self._step("tool_result", name=name, content=text, id_ref=id_ref, success=success)
        if call is None:
            return [result]
        return [ev.ToolStatusChanged(self._turn_id, id_ref, "done" if success else "failed"), result]

    def _take_call(self, call_id: str, name: str) -> _Call | None:
        """Return the call that a result names by its id; without one, the oldest call with its name."""
        for call in self._calls:
            if call.id == call_id if call_id else name in ("", call.name):
                self._calls.remove(call)
                return call
        return None

    def _step(self, kind: str, **fields: Any) -> ev.StepSet:
        step = ev.Step(f"step-{self._count}", self._count, kind, **fields)
        self._count += 1
        return ev.StepSet(self._turn_id, step)


def _data_of(frame: str | bytes) -> dict[str, Any] | None:
    message = json_object(frame)
    data = message.get("data")
    return data if message.get("event") == "stream_event" and isinstance(data, dict) else None


def _first(data: dict[str, Any], *names: str) -> Any:
    """Return the first of the fields that is there: the protocol's own name comes first."""
    return next((data[name] for name in names if data.get(name) is not None), None)


def _text(data: dict[str, Any], *names: str) -> str:
    value = _first(data, *names)
    return encodable(str(value)) if _is_id(value) else ""
