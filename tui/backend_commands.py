"""``agent-tui backend``: the embedded backend of this user."""

from __future__ import annotations

from tui import exits, output, runtime
from tui.output import OutputFormat


def status(output_format: OutputFormat) -> int:
    """Print whether the backend runs and what it does; never starts it."""
    endpoint = runtime.find()
    if endpoint is None:
        if output_format == "json":
            nothing = {"pid": None, "version": None, "url": None, "rooms_running": 0, "answers_running": 0}
            output.write_json({"running": False, **nothing})
        else:
            output.say("not running")
        return exits.DONE
    rooms, answers = runtime.under_way(endpoint)
    if output_format == "json":
        about_it = {"pid": endpoint.pid, "version": endpoint.version, "url": endpoint.url}
        counts = {"rooms_running": rooms, "answers_running": answers}
        output.write_json({"running": True, **about_it, **counts})
    else:
        about = f"running: process {endpoint.pid}, version {endpoint.version}, {endpoint.url}"
        output.say(f"{about}; {runtime.said(rooms, answers)} under way")
    return exits.DONE


def stop() -> int:
    """Stop the backend and wait until it is gone; say what that cut."""
    cut = runtime.stop()
    if cut is None:
        output.say("not running")
    else:
        output.say(f"stopped, which cut {runtime.said(*cut)}" if any(cut) else "stopped")
    return exits.DONE
