"""Agent tasks on the wire (protocols.md §3), the service's side: requests in, frames of the stream out.

How a task was asked is part of its id, so a client that reads the log again, even after a restart, gets the
same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from agent_tui.model import events as ev
from agent_tui.wire.agent_tasks import ONLY_FILES
from agent_tui.wire.content import BETWEEN_STEPS, dump, encodable, json_object, strict_json

MAX_ID_CHARACTERS: Final = 200
MAX_FRAME_CHARACTERS: Final = 64 * 1024
TERMINAL: Final = frozenset({"completed", "error"})
SESSION_ENDED: Final = "The session was aborted: its conversation was deleted"  # recognised by "aborted"
UNKNOWN_TASK: Final = "There is no such task: the service ended before it began, or it never was"
_VOICE: Final = "-voice"
_OF_SESSIONS: Final = (
    (re.compile("aborted", re.IGNORECASE), "broken off"),
    (re.compile("exited", re.IGNORECASE), "ended"),
)


def task_id_of(key: str, *, voice_mode: bool) -> str:
    """Return the id of the task with this ``key``."""
    return f"{key}{_VOICE}" if voice_mode else key


def prompt_of(prompt: str, *, has_files: bool) -> str:
    """Return what a person said; "" if the prompt only stands for files."""
    return "" if has_files and prompt == ONLY_FILES else prompt


def parse_subscription(frame: str) -> tuple[str, str] | None:
    """Return (session id, task id or "") of a ``subscribe_session``, ``None`` for any other frame."""
    message = json_object(frame) if len(frame) <= MAX_FRAME_CHARACTERS else {}
    if message.get("event") != "subscribe_session":
        return None
    data = message.get("data")
    fields = data if isinstance(data, dict) else {}
    session_id, task_id = fields.get("sessionId"), fields.get("taskId") or ""
    if not (isinstance(session_id, str) and session_id and isinstance(task_id, str)):
        return None
    if max(len(session_id), len(task_id)) > MAX_ID_CHARACTERS:
        return None
    return encodable(session_id), encodable(task_id)


def stream_event(task_id: str, kind: str, **fields: Any) -> str:
    """Return one frame of a task's stream."""
    return dump({"event": "stream_event", "data": {"type": kind, "taskId": task_id, **fields}})


def error_event(task_id: str, message: str) -> str:
    """Return the frame for a failed task; its session continues.

    A message with "aborted" or "exited" would end the session for its client, so these words (perhaps a
    provider's) are replaced.
    """
    for pattern, other in _OF_SESSIONS:
        message = pattern.sub(other, message)
    return stream_event(task_id, "error", message=message or "unknown error")


def session_ended(task_id: str) -> str:
    """Return the frame that ends a task and its session: its client forgets the session."""
    return stream_event(task_id, "error", message=SESSION_ENDED)


@dataclass(slots=True)
class _Call:
    name: str
    arguments: str = ""
    is_sent: bool = False


@dataclass(slots=True)
class AgentTaskEncoder:
    """Turns the events of one answer, in the full form of our log, into frames of the task ``task_id``.

    A voice task has only words and its end. Thoughts and words are sent as they grow, a call when it is
    complete.
    """

    task_id: str
    _steps: dict[str, tuple[str, str]] = field(default_factory=dict)  # by id: type, what was sent
    _calls: dict[str, _Call] = field(default_factory=dict)
    _said: str = ""  # the text step that was sent last

    def encode(self, event: ev.Event) -> list[str]:
        """Return the frames of an event, none if this protocol cannot express it."""
        return list(self._frames(event))

    def _frames(self, event: ev.Event) -> Iterator[str]:
        match event:
            case ev.StepSet(_, step) if step.type == "tool_call":
                call = self._calls.setdefault(step.id, _Call(step.name))
                call.arguments = step.arguments or call.arguments
            case ev.StepSet(_, step) if step.type == "tool_result":
                yield from self._tool_result(step)
            case ev.StepSet(_, step):
                known = self._steps.setdefault(step.id, (step.type, ""))[1]
                yield from self._say(step.id, step.content.removeprefix(known))
            case ev.StepAdded(_, step_id, content, arguments):
                if (open_call := self._calls.get(step_id)) is not None:
                    open_call.arguments += arguments
                yield from self._say(step_id, content)
            case ev.ToolStatusChanged(_, step_id):
                yield from self._tool_use(step_id)
            case ev.TurnDone():
                yield stream_event(self.task_id, "completed")
            case ev.RunFailed(content):
                yield error_event(self.task_id, content)
            case _:
                pass  # it does not belong to an answer, or has no frame

    @property
    def _is_voice(self) -> bool:
        return self.task_id.endswith(_VOICE)

    def _say(self, step_id: str, words: str) -> Iterator[str]:
        kind, known = self._steps.get(step_id, ("", ""))
        if not words or kind not in ("text", "thinking") or (self._is_voice and kind != "text"):
            return
        self._steps[step_id] = kind, known + words
        if kind == "text":
            words = BETWEEN_STEPS * bool(self._said and self._said != step_id) + words
            self._said = step_id
        yield stream_event(self.task_id, kind, content=words)

    def _tool_use(self, step_id: str) -> Iterator[str]:
        call = self._calls.get(step_id)
        if call is None or call.is_sent or self._is_voice:
            return
        call.is_sent = True
        yield stream_event(self.task_id, "tool_use", id=step_id, name=call.name, input=_input(call.arguments))

    def _tool_result(self, step: ev.Step) -> Iterator[str]:
        yield from self._tool_use(step.id_ref)
        if not self._is_voice:
            fields = {"id": step.id_ref, "name": step.name, "content": step.content}
            yield stream_event(self.task_id, "tool_result", **fields, success=step.success)


def _input(arguments: str) -> Any:
    try:
        value = strict_json(arguments) if arguments else {}
        dump(value)  # what can be read may be nested too deep to be written
    except (ValueError, RecursionError):
        return arguments
    return value
