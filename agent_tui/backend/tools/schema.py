"""Checks a call's arguments against the schema of its tool, with the safe part of a foreign schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from agent_tui.backend.models.model import ToolSpec
from agent_tui.model.inert import inert_line

if TYPE_CHECKING:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError

MAX_COMPLAINTS = 3
MAX_COMPLAINT_CHARACTERS = 300
# Keywords that only forbid something, take no time, and fetch nothing. References may be circular or name
# an address, patterns may take forever, and under "not" or "oneOf" leaving these out would forbid what the
# server allows: the server itself has to check those.
_PLAIN = {
    *("type", "required", "enum", "const", "minLength", "maxLength", "minItems", "maxItems"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
}


def misfit(spec: ToolSpec, arguments: Mapping[str, Any]) -> str:
    """Return one line about what is wrong with the arguments, "" if they are valid."""
    validator = _validator(_Key(spec))
    # Only the first few: a long list may have one for each of its items.
    errors = list(islice(validator.iter_errors(dict(arguments)), MAX_COMPLAINTS))
    if not errors:
        return ""
    said = "; ".join(map(_complaint, sorted(errors, key=lambda error: str(list(error.absolute_path)))))
    known = spec.parameters.get("properties")
    if not isinstance(known, Mapping) or not known:
        return f"the arguments do not fit: {said}"
    return f"the arguments do not fit: {said} – {spec.name} takes {', '.join(list(known)[:20])}"


def checkable(schema: Any) -> Any:
    """Return the part of a foreign schema that can be checked safely; it allows all that the whole allows."""
    if not isinstance(schema, Mapping):
        return True
    kept: dict[str, Any] = {word: schema[word] for word in _PLAIN & schema.keys()}
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        kept["properties"] = {name: checkable(inner) for name, inner in properties.items()}
        if schema.get("additionalProperties") is False and "patternProperties" not in schema:
            kept["additionalProperties"] = False
    if isinstance(schema.get("items"), Mapping) and "prefixItems" not in schema:
        kept["items"] = checkable(schema["items"])
    for word in ("anyOf", "allOf"):
        if isinstance(schema.get(word), list) and schema[word]:
            kept[word] = [checkable(inner) for inner in schema[word]]
    return kept


def is_valid_schema(schema: Any) -> bool:
    """Return whether this is a valid schema."""
    from jsonschema import Draft202012Validator  # as below
    from jsonschema.exceptions import SchemaError

    try:
        Draft202012Validator.check_schema(schema)
    except (SchemaError, RecursionError):
        return False
    return True


class _Key:
    """A spec as a key, by identity: its contents are not hashable."""

    def __init__(self, spec: ToolSpec) -> None:
        self.spec = spec

    def __hash__(self) -> int:
        return id(self.spec.parameters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and other.spec.parameters is self.spec.parameters


@lru_cache(maxsize=512)
def _validator(key: _Key) -> Draft202012Validator:
    # Only when a tool is first called: the import takes a tenth of a second.
    from jsonschema import Draft202012Validator
    from referencing import Registry

    # An empty registry of our own: the default one would fetch what a schema refers to.
    return Draft202012Validator(checkable(key.spec.parameters), registry=Registry())


def _complaint(error: ValidationError) -> str:
    where = ".".join(str(part) for part in error.absolute_path)
    message = error.message
    if len(message) > MAX_COMPLAINT_CHARACTERS:  # it begins with the whole value
        message = message.replace(repr(error.instance), "the value", 1)
    text = inert_line(message, MAX_COMPLAINT_CHARACTERS)
    return f"{inert_line(where, 100)}: {text}" if where else text
