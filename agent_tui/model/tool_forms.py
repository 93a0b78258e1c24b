"""Forms that an MCP server asks a person to fill in while one of its tools runs, and which values are valid.

The shape is a flat subset of JSON Schema (MCP, "Elicitation", form mode): texts, numbers, yes or no, one or
several of a few choices. Screens and the backend check values with the same functions.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any, Final, Literal

FieldType = Literal["text", "number", "integer", "boolean", "choice", "choices"]
FormAction = Literal["accept", "decline", "cancel"]
MAX_TEXT_CHARACTERS: Final = 2_000  # of one value
MAX_NUMBER: Final = 1e300

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_INTEGER = re.compile(r"[+-]?\d{1,15}")
# What servers must not ask for in a form (MCP, "Elicitation", Security Considerations), in people's words.
_SECRET = re.compile(
    r"pass[\s_-]*(word|phrase|code)|passwd|secret|credential|api[\s_-]*keys?\b"
    r"|private[\s_-]*key|access[\s_-]*key|credit[\s_-]*card|card[\s_-]*number"
    r"|passwort|kennwort|contrase|mot de passe|пароль|密码|密碼|パスワード"
    r"|(?<![a-z])(token|pin|pwd|cvv|cvc)(?![a-z])",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FormOption:
    """One choice: ``value`` is what the server gets, ``title`` is the text for a person."""

    value: str
    title: str


@dataclass(frozen=True, slots=True)
class FormField:
    """One value that is asked for. ``name`` is exactly the server's.

    ``minimum`` and ``maximum`` limit a number, the length of a text, or the number of choices. ``format`` of
    a text is "email", "uri", "date", "date-time" or empty.
    """

    name: str
    type: FieldType = "text"
    title: str = ""
    description: str = ""
    required: bool = False
    default: str | float | bool | tuple[str, ...] | None = None
    format: str = ""
    minimum: float | None = None
    maximum: float | None = None
    options: tuple[FormOption, ...] = ()

    @property
    def label(self) -> str:
        """The text for a person."""
        return self.title or self.name


@dataclass(frozen=True, slots=True)
class ToolForm:
    """What the MCP server ``server`` (its name in the config file) asks for; the texts are inert."""

    server: str
    message: str
    fields: tuple[FormField, ...] = ()

    @property
    def amount(self) -> str:
        """How much is asked for, in words."""
        several = f"{len(self.fields)} values" if len(self.fields) > 1 else "a value"
        return several if self.fields else "a confirmation"

    @property
    def asks_for_secret(self) -> bool:
        """Whether its words suggest that a password or other secret is asked for."""
        texts = [self.message]
        texts += (text for field in self.fields for text in (field.name, field.title, field.description))
        return any(_SECRET.search(re.sub(r"([a-z])([A-Z])", r"\1 \2", text)) for text in texts)


@dataclass(frozen=True, slots=True)
class FormAnswer:
    """The result of a form. ``why`` explains it in a few words if no person decided."""

    action: FormAction
    values: Mapping[str, Any] | None = None
    why: str = ""


def problems(form: ToolForm, values: Mapping[str, Any]) -> dict[str, str]:
    """Return one line about each invalid value, by the name of its field. ``values`` are JSON values; those
    that are not given are missing.
    """
    fields = {field.name: field for field in form.fields}
    lines = {name: "the form has no such field" for name in values if name not in fields}
    for name, field in fields.items():
        wrong = _CHECKS[field.type](field, values[name]) if name in values else _missing(field)
        if wrong:
            lines[name] = wrong
    return lines


def parse_typed(field: FormField, text: str) -> Any:
    """Return the value that a person's ``text`` means, ``None`` if it is empty; a text that means no value is
    returned unchanged, so that ``problems`` reports it.
    """
    match field.type:
        case "choices":
            chosen = json.loads(text) if text else []
            return chosen if chosen or field.required else None
        case "boolean":
            return {"true": True, "false": False}.get(text)
        case "integer" if _INTEGER.fullmatch(text.strip()):
            return int(text)
        case "number" if text.strip():
            try:
                number = float(text.strip())
            except ValueError:
                return text
            is_whole = math.isfinite(number) and number == int(number) and abs(number) < 1e15
            return int(number) if is_whole else number
        case "text" | "choice":
            return text or None
        case _:
            return text.strip() or None


def default_text(field: FormField) -> str:
    """Return the default of a field as ``parse_typed`` reads it; "" if there is none."""
    match field.default:
        case None:
            return ""
        case bool():
            return "true" if field.default else "false"
        case tuple():
            return json.dumps(list(field.default))
        case float() if field.default.is_integer() and abs(field.default) < 1e15:
            return str(int(field.default))
        case _:
            return str(field.default)


def bounds(field: FormField) -> str:
    """Return in a few words which values are valid; "" if all are."""
    low, high = field.minimum, field.maximum
    if low is None and high is None:
        kind = {"integer": "a whole number", "number": "a number"}.get(field.type, "")
        return _FORMATS[field.format][1] if field.format in _FORMATS else kind
    amount = _amount(low, high)
    match field.type:
        case "integer":
            return f"a whole number, {amount}"
        case "number":
            return f"a number, {amount}"
        case "choices":
            return f"{amount} of them"
        case _:
            length = f"{amount} characters"
            return f"{_FORMATS[field.format][1]}: {length}" if field.format in _FORMATS else length


def _amount(low: float | None, high: float | None) -> str:
    if low is not None and high is not None:
        return f"from {low:,.15g} to {high:,.15g}" if low != high else f"{low:,.15g}"
    return f"at least {low:,.15g}" if low is not None else f"at most {high:,.15g}"


def _missing(field: FormField) -> str:
    return "a value is needed" if field.required else ""


def _is_within(field: FormField, amount: float) -> bool:
    low = -math.inf if field.minimum is None else field.minimum
    high = math.inf if field.maximum is None else field.maximum
    return low <= amount <= high


def _check_text(field: FormField, value: Any) -> str:
    if not isinstance(value, str):
        return "it has to be text"
    if len(value) > MAX_TEXT_CHARACTERS:
        return f"it may have at most {MAX_TEXT_CHARACTERS:,} characters"
    if value.encode("utf-8", "replace").decode("utf-8") != value:
        return "it has characters that cannot be sent"
    fits, what = _FORMATS.get(field.format, (lambda _: True, ""))
    if not fits(value):
        return f"it has to be {what}"
    if not _is_within(field, len(value)):
        return f"it needs {_amount(field.minimum, field.maximum)} characters and has {len(value):,}"
    return ""


def _check_number(field: FormField, value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < MAX_NUMBER
    if not is_number or (field.type == "integer" and value != int(value)):
        return "it has to be a whole number" if field.type == "integer" else "it has to be a number"
    if not _is_within(field, value):
        return f"it has to be {_amount(field.minimum, field.maximum)}"
    return ""


def _check_boolean(_: FormField, value: Any) -> str:
    return "" if isinstance(value, bool) else "it has to be yes or no"


def _check_choice(field: FormField, value: Any) -> str:
    is_one = isinstance(value, str) and value in (option.value for option in field.options)
    return "" if is_one else "it has to be one of the choices"


def _check_choices(field: FormField, value: Any) -> str:
    valid = {option.value for option in field.options}
    if not isinstance(value, list) or not all(isinstance(entry, str) and entry in valid for entry in value):
        return "each has to be one of the choices"
    if len(set(value)) < len(value):
        return "each choice can be made only once"
    if not _is_within(field, len(value)):
        return f"choose {_amount(field.minimum, field.maximum)} of them"
    return ""


def _is_date(text: str) -> bool:
    try:
        return bool(_DATE.fullmatch(text) and date.fromisoformat(text))
    except ValueError:
        return False


def _is_date_time(text: str) -> bool:
    try:
        return bool(_DATE_TIME.fullmatch(text) and datetime.fromisoformat(text.upper()))
    except ValueError:
        return False


_FORMATS: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    "email": (lambda text: bool(_EMAIL.fullmatch(text)), "an e-mail address"),
    "uri": (lambda text: bool(_URI.fullmatch(text)), "an address like https://example.org"),
    "date": (_is_date, "a date like 2025-01-31"),
    "date-time": (_is_date_time, "a date, time and zone like 2025-01-31T14:30:00Z"),
}
_CHECKS: Final[Mapping[str, Callable[[FormField, Any], str]]] = {
    "text": _check_text,
    "number": _check_number,
    "integer": _check_number,
    "boolean": _check_boolean,
    "choice": _check_choice,
    "choices": _check_choices,
}
