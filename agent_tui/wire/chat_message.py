"""Messages of a chat and their steps, inwards: what is stored (protocols.md §2), read tolerantly."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from agent_tui.model import events as ev
from agent_tui.model.tool_forms import FieldType, FormField, FormOption, ToolForm
from agent_tui.wire.content import content_success, content_text
from agent_tui.wire.fields import AnyUsage, Flag, Notes, Text, W, Wire, fields_of, listed

MAX_SECONDS = 1e9  # thirty years: no tool took longer


def _count(value: object) -> object:
    """Take only what is a whole number: a step is shown whatever its server counts."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _seconds(value: object) -> object:
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_SECONDS
    return value if is_time else None


def _truth(value: object) -> object:
    return None if value is None else bool(value)


def _ask(value: object) -> object:
    return value if isinstance(value, dict) else None


Count = Annotated[int, BeforeValidator(_count)]
AnySeconds = Annotated[float | None, BeforeValidator(_seconds)]


class FormOptionFields(Wire):
    """One choice of a field."""

    value: Text
    title: Text = ""


class FormFieldFields(Wire):
    """One field of a form; a form with one that is none of these is not shown."""

    name: Text
    type: FieldType
    title: Text = ""
    description: Text = ""
    required: Flag = False
    default: str | bool | float | tuple[str, ...] | None = None
    format: Text = ""
    minimum: float | None = None
    maximum: float | None = None
    options: tuple[FormOptionFields, ...] = ()


class FormFields(Wire):
    """What an MCP server asks a person to fill in."""

    server: Text
    message: Text = ""
    fields_: tuple[FormFieldFields, ...] = Field((), alias="fields")

    def form(self) -> ToolForm:
        """Return it as events have it."""
        fields = []
        for one in self.fields_:
            options = tuple(FormOption(option.value, option.title) for option in one.options)
            fields.append(FormField(**{**dict(one), "options": options}))
        return ToolForm(self.server, self.message, tuple(fields))


class AskFields(Wire):
    """What a person is asked before a tool runs, or while it does."""

    call: Text = ""
    preview: Text = ""
    preview_type: Text = "text"
    pattern: Text = ""
    folder: Text = ""
    suspended: Text = ""
    form: FormFields | None = None


AnyAsk = Annotated[AskFields | None, BeforeValidator(_ask)]


class StepFields(Wire):
    """One step; ``success`` of a result that does not say it is found in its content."""

    id: Text = Field(min_length=1)
    index: Count = 0
    type: Text = "text"
    content: Text = ""
    name: Text = ""
    arguments: Text = ""
    id_ref: Text = ""
    success: Annotated[bool | None, BeforeValidator(_truth)] = None

    def step(self) -> ev.Step:
        """Return it as events have it."""
        success = self.success
        if success is None:
            success = self.type != "tool_result" or content_success(self.content)
        return ev.Step(**self.model_dump(exclude={"success"}), success=success)


class StepAdded(Wire):
    """More of a step."""

    id: Text
    content: Text = ""
    arguments: Text = ""


class ToolStatus(Wire):
    """How a call stands now."""

    id: Text
    status: Text
    seconds: AnySeconds = None
    ask: AnyAsk = None
    progress: Text = ""
    message_id: Text = ""


class _Call(Wire):
    status: Text = ""
    seconds: AnySeconds = None
    ask: AnyAsk = None


class _Attachment(Wire):
    name: Text = ""
    type: Text = "text/plain"
    content: Text = ""


def _moment(value: object) -> object:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


_AnyMoment = Annotated[float | None, BeforeValidator(_moment)]
_SPANS = ("hearing", "end_of_turn", "model", "voice", "whole")
_Spoken = fields_of(
    ev.Spoken,
    started_at=(_AnyMoment, None),
    ended_at=(_AnyMoment, None),
    **dict.fromkeys(_SPANS, (AnySeconds, None)),
)


def _spoken(value: object) -> object:
    return ev.Spoken(**dict(_Spoken.model_validate(value)))


AnySpoken = Annotated[ev.Spoken, BeforeValidator(_spoken)]


class ChatMessage(Wire):
    """A stored message of either side."""

    id: Text = Field(min_length=1)
    conversation_id: Text = ""
    role: Text = ""
    content: Text = ""
    token_count: Count = 0
    created_at: Text = ""
    parent_id: Text = ""
    versions: Any = None
    interrupted: Text = ""
    error: Text = ""
    status: Text = ""
    usage: AnyUsage = None
    seconds: AnySeconds = None
    model: Text = ""
    trimmed: Count = 0
    continues: Text = ""
    calls: Any = None
    spoken: Annotated[AnySpoken | None, BeforeValidator(_ask)] = None
    notes: Notes = ()

    def message(self) -> ev.Message:
        """Return it as events have it; the model's name is its sender's."""
        content = content_object(self.content)
        versions = self.versions if isinstance(self.versions, list) else []
        return ev.Message(
            self.id,
            self.conversation_id,
            self.role,
            self.content,
            content_text(self.content),
            sender_name=self.model,
            sender_color="",
            round_number=0,
            token_count=self.token_count,
            created_at=self.created_at,
            interrupted=self.interrupted,
            status=self.status,
            error=self.error,
            trimmed=self.trimmed,
            usage=self.usage,
            steps=() if self.role == "user" else self._steps(),
            attachments=tuple(
                ev.Attachment(item.name, item.content, item.type)
                for item in fitting(_Attachment, content, "attachments")
            ),
            parent_id=self.parent_id,
            versions=tuple(id_ for id_ in versions if isinstance(id_, str)),
            seconds=self.seconds,
            continues=self.continues,
            spoken=self.spoken,
            notes=self.notes,
        )

    def _steps(self) -> tuple[ev.Step, ...]:
        """Return the steps; words alone are one step."""
        steps = stored_steps(self.content, self.calls)
        if not steps and (text := content_text(self.content)):
            return (ev.Step("step-0", content=text),)
        return steps


def stored_steps(content: str, calls: object) -> tuple[ev.Step, ...]:
    """Return the steps of a stored message's content, with what is known of their ``calls``."""
    steps = [fields.step() for fields in fitting(StepFields, content_object(content), "steps")]
    known_calls = calls if isinstance(calls, dict) else {}
    for place, step in enumerate(steps):
        known = next(iter(fitting(_Call, [known_calls.get(step.id)], "")), None)
        if known is not None:
            ask = tool_ask(known.ask)
            steps[place] = replace(step, status=known.status, seconds=known.seconds, ask=ask)
    return tuple(steps)


def tool_ask(fields: AskFields | None) -> ev.ToolAsk | None:
    """Return what a person is asked, if anything."""
    if fields is None:
        return None
    told = fields.model_dump(exclude={"form"})
    return ev.ToolAsk(**told, form=fields.form.form() if fields.form is not None else None)


def content_object(content: str) -> dict[str, Any]:
    """Return the object whose JSON text ``content`` is; an empty one where it is none."""
    try:
        value = json.loads(content) if content.startswith("{") else {}
    except (ValueError, RecursionError):
        value = {}
    return value if isinstance(value, dict) else {}


def fitting(model: type[W], value: object, key: str) -> list[W]:
    """Return the items of ``{key: […]}`` or of a bare list that are such; skips what is not."""
    found = []
    for item in listed(value, key):
        try:
            found.append(model.model_validate(item))
        except ValidationError:
            continue
    return found
