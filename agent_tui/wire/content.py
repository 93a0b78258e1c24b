"""The ``content`` of a stored message: JSON text that contains what was said (protocols.md §1 and §2)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from agent_tui.model.chains import BETWEEN_STEPS as BETWEEN_STEPS
from agent_tui.model.events import Attachment

_SURROGATE = re.compile("[\ud800-\udfff]")


def encodable(text: str) -> str:
    """Return ``text`` with every half of a surrogate pair replaced, so that it can be encoded as UTF-8."""
    return _SURROGATE.sub("\ufffd", text) if _SURROGATE.search(text) else text


class SplitPairs:
    """Joins the halves of a surrogate pair, such as of an emoji, that come in two pieces of a text: the first
    half is held until the next piece.
    """

    def __init__(self) -> None:
        self.held: dict[object, str] = {}  # by what the text is of

    def joined(self, key: object, piece: str) -> str:
        """Return the next ``piece`` of the text of ``key`` with nothing left that cannot be encoded."""
        if piece.isascii() and not self.held:  # nearly always
            return piece
        half = self.held.pop(key, "") if piece else ""
        if "\udc00" <= piece[:1] <= "\udfff":
            piece = (half + piece).encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
        elif half:
            piece = "\ufffd" + piece
        if "\ud800" <= piece[-1:] <= "\udbff":
            self.held[key], piece = piece[-1], piece[:-1]
        return encodable(piece)

    def joined_data(self, key: object, data: str) -> str:
        """Return the JSON of a frame whose ``content`` is the next piece of the text of ``key`` and its
        ``id``.
        """
        fields = json_object(data)
        content = fields.get("content")
        if not isinstance(content, str):
            return data
        joined = self.joined((key, str(fields.get("id"))), content)
        flat = {name: value for name, value in fields.items() if not isinstance(value, dict | list)}
        return data if joined == content else dump(flat | {"content": joined})  # the rest may be too deep


def dump(value: Any) -> str:
    """Return ``value`` as one line of JSON as the protocol writes it: not ASCII-escaped."""
    return encodable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def only_set(**fields: Any) -> dict[str, Any]:
    """Return the fields that are not empty: absent means false or empty on our wires."""
    return {name: value for name, value in fields.items() if value}


def json_object(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object in ``text``, an empty one for anything else."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def strict_json(text: str | bytes) -> Any:
    """Return the value of JSON ``text``; raises ``ValueError``, also for NaN, which is not JSON."""
    return json.loads(text, parse_constant=_no_number)


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def steps_content(text: str) -> str:
    """Return the stored content of an agent's message whose only step is ``text``."""
    return dump({"steps": [{"id": "step-0", "index": 0, "type": "text", "content": text}]})


def attachment_fields(files: Iterable[Attachment]) -> list[dict[str, str]]:
    """Return files as in every request and every stored question."""
    return [{"name": file.name, "type": file.type, "content": file.content} for file in files]


def text_content(text: str) -> str:
    """Return the stored content of a person's message."""
    return dump({"text": text})


def content_text(content: str) -> str:
    """Return the text for a person: the text steps joined, else ``text``, else the content as it is."""
    if not content.startswith("{"):
        return content
    value = json_object(content)
    steps = value.get("steps")
    if isinstance(steps, list):
        pieces = [
            step.get("content") for step in steps if isinstance(step, dict) and step.get("type") == "text"
        ]
        return BETWEEN_STEPS.join(piece for piece in pieces if isinstance(piece, str))
    text = value.get("text")
    return text if isinstance(text, str) else content


def content_success(content: str) -> bool:
    """Return whether a tool's result is a success: its ``success`` if it is a JSON object with that field,
    else true (protocols.md §2).
    """
    if not content.lstrip().startswith("{"):
        return True
    return bool(json_object(content).get("success", True))
