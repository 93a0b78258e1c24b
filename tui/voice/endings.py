"""How a voice session ended, in the reasons and exit codes of cli.md."""

from __future__ import annotations

from typing import Final

from agent_tui.model.voice import LinkMoved
from tui.cli.headless.formats import Ending

# Reasons of ``LinkMoved``, in the words of ``agent_tui.wire.voice_reasons``.
ABSENT: Final = ("agent_absent", "agent_silent", "agent_not_started", "agent_left")
UNREACHABLE: Final = (
    *("refused", "no_such_host", "unreachable", "timed_out", "join_timed_out", "not_ready"),
    *("no_interface", "no_media", "no_livekit", "bad_url", "certificate"),
)
REFUSED: Final = ("unknown_key", "no_permission", "bad_token", "token_refused", "token_expired", "no_token")
FAILED: Final = ("endpoint_failed",)


def ending_of(link: LinkMoved) -> Ending | None:
    """Return the ending for this event; ``None``: the session continues."""
    detail = link.detail or None
    if link.reason in ABSENT:
        return Ending("timeout", detail)
    if link.status not in ("ended", "failed"):
        return None
    if link.reason in REFUSED:
        return Ending("refused", detail)
    if link.reason in UNREACHABLE:
        return Ending("lost", detail, gave_up=True)
    is_error = link.status == "ended" or link.reason in FAILED
    return Ending("error" if is_error else "lost", detail)
