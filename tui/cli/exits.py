"""The exit codes of cli.md, and the code for each error."""

from __future__ import annotations

from agent_tui.model import errors

DONE = 0
BUG = 1
USAGE = 2
PAUSED = 3
FAILED = 4
UNREACHABLE = 5
REFUSED = 6

# The reasons of an ``end`` line (cli.md) and their codes.
REASONS = {
    "completed": DONE,
    "paused": PAUSED,
    "interrupted": PAUSED,
    "error": FAILED,
    "aborted": FAILED,
    "lost": FAILED,
    "timeout": FAILED,
    "busy": REFUSED,
    "refused": REFUSED,
}


def exit_code(error: errors.AgentTuiError) -> int:
    """Return the exit code for ``error`` from cli.md's table."""
    match error:
        case errors.DiskFull():
            return FAILED
        case errors.ConfigError() | errors.Refused(status=422):  # a field is invalid: it was typed so
            return USAGE
        case errors.ConnectFailed():
            return UNREACHABLE
        case _:
            return REASONS[reason(error)]


def reason(error: errors.AgentTuiError) -> str:
    """Return the reason for ``error`` in an ``end`` line."""
    match error:
        case errors.NotFound() | errors.Refused(status=422):
            return "error"
        case errors.AgentBusy():
            return "busy"
        case errors.Refused():
            return "refused"
        case errors.TimedOut():
            return "timeout"
        case errors.StreamLost() | errors.ConnectFailed():
            return "lost"
        case _:
            return "error"
