"""The tools that need no resources: the time and a calculator."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.arithmetic import MAX_CHARACTERS, WrongSum, about, evaluate, number_text
from agent_tui.backend.tools.tool import Permission, ToolError, ToolOutput, ToolPlace, object_schema
from agent_tui.model.events import ToolAsk
from agent_tui.model.inert import inert_line

SIMPLE_SECONDS = 5.0
MAX_ZONE_CHARACTERS = 64
_ZONES = "an IANA time zone: Europe/Berlin, Asia/Shanghai, UTC"


class CurrentTime:
    """``current_time``; ``now`` returns the time in UTC."""

    permission: Permission = "read"
    changes = False
    seconds = SIMPLE_SECONDS
    spec = ToolSpec(
        "current_time",
        "Return the current date and time, in this machine's time zone or in the one that is named.",
        object_schema({"zone": {"type": "string", "maxLength": MAX_ZONE_CHARACTERS, "description": _ZONES}}),
    )

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self._now = now

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return the call in one line."""
        return ToolAsk(inert_line(f"current_time {arguments.get('zone', '')}"))

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Return ``{"time": ISO 8601 with offset, "weekday", "zone"}``."""
        name = arguments.get("zone", "")
        moment = self._now().astimezone(_zone(name) if name else None)
        fields = {
            "time": moment.isoformat(timespec="seconds"),
            "weekday": _WEEKDAYS[moment.weekday()],
            "zone": name or moment.tzname() or "local",
        }
        return ToolOutput(json.dumps(fields, ensure_ascii=False))


# Not strftime's: the model's text must not depend on the locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(
            f"there is no time zone {inert_line(name, 80)!r}; it should look like Europe/Berlin"
        ) from None


class Calculator:
    """``calculator``."""

    permission: Permission = "read"
    changes = False
    seconds = SIMPLE_SECONDS
    spec = ToolSpec(
        "calculator",
        "Calculate exactly: + - * / // % ** ! brackets, percent, sqrt, round, min, max, sum, mean, log, exp,"
        " sin and the like (angles in radians), pi, e. Whole numbers, decimals and fractions are exact.",
        object_schema(
            {"expression": {"type": "string", "minLength": 1, "maxLength": MAX_CHARACTERS}}, "expression"
        ),
    )

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        """Return the call in one line."""
        return ToolAsk(inert_line(f"calculator {arguments['expression']}"))

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        """Return ``{"expression", "result", "exact"}``; for an infinite decimal also ``"about"``."""
        expression: str = arguments["expression"]
        try:
            value = evaluate(expression)
        except WrongSum as error:
            raise ToolError(f"{inert_line(expression, 100)}: {error}") from None
        fields: dict[str, Any] = {"expression": expression, "result": number_text(value)}
        fields["exact"] = isinstance(value, Fraction)
        if isinstance(value, Fraction) and "/" in fields["result"]:
            fields["about"] = about(value)
        return ToolOutput(json.dumps(fields, ensure_ascii=False))
