"""``agent-tui backend``: the embedded backend of this user."""

from __future__ import annotations

from tui import runtime
from tui.cli import exits, output
from tui.cli.output import OutputFormat


def status(output_format: OutputFormat) -> int:
    """Print whether the backend runs and what it does; never starts it."""
    endpoint = runtime.find()
    if endpoint is None:
        if output_format == "json":
            nothing = {"pid": None, "version": None, "url": None}
            output.write_json({"running": False, **nothing, **_counts(runtime.Work())})
        else:
            output.say("not running")
        return exits.DONE
    work = runtime.under_way(endpoint)
    if output_format == "json":
        about_it = {"pid": endpoint.pid, "version": endpoint.version, "url": endpoint.url}
        output.write_json({"running": True, **about_it, **_counts(work)})
    else:
        about = f"running: process {endpoint.pid}, version {endpoint.version}, {endpoint.url}"
        output.say(f"{about}; {runtime.said(work)} under way")
    return exits.DONE


def stop() -> int:
    """Stop the backend and wait until it is gone; say what that cut."""
    cut = runtime.stop()
    if cut is None:
        output.say("not running")
    else:
        output.say(f"stopped, which cut {runtime.said(cut)}" if any(cut) else "stopped")
    return exits.DONE


def _counts(work: runtime.Work) -> dict[str, int]:
    return {
        "rooms_running": work.rooms,
        "answers_running": work.answers,
        "voice_rooms": work.voice_rooms,
    }
