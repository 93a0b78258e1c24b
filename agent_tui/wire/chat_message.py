"""Messages of a chat and their steps, inwards: what is stored (protocols.md §2), read tolerantly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Annotated, Any

from pydantic import BeforeValidator, ValidationError

from agent_tui.model import events as ev
from agent_tui.model.tool_forms import FieldType, FormField, FormOption, ToolForm
from agent_tui.wire.content import content_success, content_text, json_object
from agent_tui.wire.fields import (
    AnyUsage,
    Name,
    Notes,
    R,
    Text,
    Wire,
    field_named,
    fields_of,
    items_of,
    reader,
)

MAX_SECONDS = 1e9  # thirty years: no tool takes longer


def _count(value: object) -> object:
    """Take only whole numbers: a step is shown whatever its server counts."""
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _seconds(value: object) -> object:
    is_time = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_SECONDS
    return value if is_time else None


def _truth(value: object) -> object:
    return None if value is None else bool(value)


Count = Annotated[int, BeforeValidator(_count)]
AnySeconds = Annotated[float | None, BeforeValidator(_seconds)]
Seconds = Annotated[float, BeforeValidator(lambda value: _seconds(value) or 0.0)]


_read_option = reader(FormOption, title=(Text, ""))
_AnyOption = Annotated[FormOption, BeforeValidator(_read_option)]
# A form with a field of another type is not shown.
_read_field = reader(
    FormField,
    type=(FieldType, ...),
    default=(str | bool | float | tuple[str, ...] | None, None),
    options=(tuple[_AnyOption, ...], ()),
)
_AnyField = Annotated[FormField, BeforeValidator(_read_field)]
_read_form = reader(ToolForm, message=(Text, ""), fields=(tuple[_AnyField, ...], ()))
_AnyForm = Annotated[ToolForm, BeforeValidator(_read_form)]
_read_ask = reader(ev.ToolAsk, call=(Text, ""), form=(_AnyForm | None, None))


def _ask(value: object) -> object:
    return _read_ask(value) if isinstance(value, dict) else None


AnyAsk = Annotated[ev.ToolAsk | None, BeforeValidator(_ask)]

_Step = fields_of(
    ev.Step,
    ("status", "seconds", "ask"),
    id=(Name, ...),
    index=(Count, 0),
    success=(Annotated[bool | None, BeforeValidator(_truth)], None),
)


def read_step(value: object) -> ev.Step:
    """Return one step; if a result does not have ``success``, its content decides. Raises
    ``ValidationError``.
    """
    fields = vars(_Step.model_validate(value))
    if fields["success"] is None:
        fields["success"] = fields["type"] != "tool_result" or content_success(fields["content"])
    return ev.Step(**fields)


AnyStep = Annotated[ev.Step, BeforeValidator(read_step)]


class StepAddedFrame(Wire):
    """More of a step."""

    id: Text
    content: Text = ""
    arguments: Text = ""


ToolStatus = fields_of(
    ev.ToolStatusChanged,
    ("agent_id", "percent"),
    turn_id=field_named("message_id", default=""),
    step_id=field_named("id"),
    seconds=(AnySeconds, None),
    ask=(AnyAsk, None),
)


_Call = fields_of(
    ev.ToolStatusChanged,
    ("turn_id", "step_id", "progress", "agent_id", "percent"),
    empties=True,
    seconds=(AnySeconds, None),
    ask=(AnyAsk, None),
)


_read_attachment = reader(ev.Attachment, name=(Text, ""))


def _moment(value: object) -> object:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


_AnyMoment = Annotated[float | None, BeforeValidator(_moment)]
_SPANS: Mapping[str, Any] = dict.fromkeys(
    ("hearing", "end_of_turn", "model", "voice", "whole"), (AnySeconds, None)
)
_read_spoken = reader(
    ev.SpeechRecord,
    started_at=(_AnyMoment, None),
    ended_at=(_AnyMoment, None),
    **_SPANS,
)
AnySpoken = Annotated[ev.SpeechRecord, BeforeValidator(_read_spoken)]


def _as_mapping(value: object) -> object:
    return value if isinstance(value, dict) else None


ChatMessage = fields_of(
    ev.Message,
    ("text", "steps", "attachments", "sender_color", "round_number", "agent_id", "to", "superseded"),
    empties=True,
    id=(Name, ...),
    room_id=field_named("conversation_id", default=""),
    sender_name=field_named("model", default=""),
    token_count=(Count, 0),
    trimmed=(Count, 0),
    usage=(AnyUsage, None),
    seconds=(AnySeconds, None),
    calls=(Any, None),
    spoken=(Annotated[AnySpoken | None, BeforeValidator(_as_mapping)], None),
    notes=(Notes, ()),
)


def chat_message(received: Wire) -> ev.Message:
    """Return a stored message of either side as an event's; the model's name is its sender."""
    fields = vars(received)
    content, calls = fields["content"], fields.pop("calls")
    text = content_text(content)
    steps: tuple[ev.Step, ...] = ()
    if fields["role"] != "user":  # words alone are one step
        steps = stored_steps(content, calls) or ((ev.Step("step-0", content=text),) if text else ())
    return ev.Message(
        text=text,
        steps=steps,
        attachments=tuple(fitting(_read_attachment, content_object(content), "attachments")),
        sender_color="",
        round_number=0,
        **fields,
    )


def read_message(value: object) -> ev.Message:
    """Return a stored message from JSON; raises ``ValidationError``."""
    return chat_message(ChatMessage.model_validate(value))


def stored_steps(content: str, calls: object) -> tuple[ev.Step, ...]:
    """Return the steps of a stored message's content, with what is known of their ``calls``."""
    steps = fitting(read_step, content_object(content), "steps")
    known_calls = calls if isinstance(calls, dict) else {}
    for place, step in enumerate(steps):
        known = next(iter(fitting(_Call.model_validate, [known_calls.get(step.id)], "")), None)
        if known is not None:
            steps[place] = replace(step, **vars(known))
    return tuple(steps)


def content_object(content: str) -> dict[str, Any]:
    """Return the object whose JSON text is ``content``; an empty one if it is not an object."""
    return json_object(content) if content.startswith("{") else {}


def fitting(read: Callable[[object], R], value: object, key: str) -> list[R]:
    """Return the items of ``{key: […]}`` or of a bare list as ``read`` makes them; skips invalid ones."""
    records = []
    for item in items_of(value, key):
        try:
            records.append(read(item))
        except ValidationError:
            continue
    return records
