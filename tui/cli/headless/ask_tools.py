"""Tools during an answer without a screen: which calls may run, and what stderr says of them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from agent_tui.config.tool_rules import PATH_TOOLS, allows, is_pattern, spelled_out
from agent_tui.model import events as ev
from agent_tui.model.inert import inert_line, visible_line
from agent_tui.state.steps import StepState
from tui.cli.output import MAX_LINE_CHARACTERS


def is_allowed(step: StepState, ask: ev.ToolAsk, patterns: Sequence[str]) -> bool:
    """Say whether one of ``patterns`` covers a call; one whose arguments are no JSON object is covered by
    none. A file has to be covered both as it is named and as it was found: it may be named by a link.
    """
    try:
        arguments = json.loads(step.arguments.text or "{}")
    except (ValueError, RecursionError):
        return False
    if not isinstance(arguments, dict):
        return False
    given = [arguments]
    if step.name in PATH_TOOLS and not str(arguments.get("path")).startswith("/"):
        given.append({**arguments, "path": spelled_out(ask.pattern).removeprefix(f"{step.name}(")[:-1]})
    return any(all(allows(pattern, step.name, one) for one in given) for pattern in patterns)


def not_allowed(tool: str, ask: ev.ToolAsk) -> str:
    """Return what is said of a call that nothing allows: how it could run, where that can be shown whole."""
    told = f"not allowed: {visible_line(ask.call) or tool}"
    pattern = ask.pattern if is_pattern(ask.pattern) else tool
    hint = f"--allow {shlex.quote(pattern)} lets it run"
    return f"{told}; {hint}" if inert_line(hint, MAX_LINE_CHARACTERS - len(told) - 2) == hint else told


class ToolNotices:
    """One line for each call as it begins to run, one more for what failed; nothing of ``denied`` ones."""

    def __init__(self) -> None:
        self.denied: set[tuple[str, str]] = set()
        self._said: set[tuple[str, str, str]] = set()
        self._tells_status = False  # a server of ours says when a call begins to run

    def lines(self, turn_id: str, steps: Sequence[StepState], event: ev.Event) -> list[str]:
        """Return what is to be said of the steps of a turn that ``event`` has changed."""
        self._tells_status = self._tells_status or isinstance(event, ev.TurnStarted)
        lines = []
        for step in steps:
            if step.type != "tool_call" or (turn_id, step.id) in self.denied:
                continue
            if self._runs(step, event) and self._is_new(turn_id, step, "runs"):
                lines.append(_called(step))
            result = step.result
            if result is not None and not result.success and self._is_new(turn_id, step, "failed"):
                lines.append(f"{_called(step)}: {_failure(result)}")
        return lines

    def _runs(self, step: StepState, event: ev.Event) -> bool:
        if not self._tells_status:
            return True  # others send a call once, as it begins
        if step.status == "running":
            return isinstance(event, ev.ToolStatusChanged)
        return step.status in ("done", "failed")

    def _is_new(self, turn_id: str, step: StepState, what: str) -> bool:
        key = (turn_id, step.id, what)
        is_new = key not in self._said
        self._said.add(key)
        return is_new


def _called(step: StepState) -> str:
    """Return a call in a line."""
    from widgets.transcript.step_body import step_head  # lazy: only answers that call tools need it

    return step_head("tool_call", name=step.name, arguments=step.arguments.text)[0]


def _failure(result: StepState) -> str:
    from widgets.transcript.step_body import failure  # as in _called

    return failure(result.content.text, MAX_LINE_CHARACTERS)
