"""``agent-tui backend``: the embedded backend of this user."""

from __future__ import annotations

from tui import exits, output, runtime
from tui.output import OutputFormat


def status(output_format: OutputFormat) -> int:
    """Print whether the backend runs and what it does; never starts it."""
    endpoint = runtime.find()
    if endpoint is None:
        if output_format == "json":
            nothing = {"pid": None, "version": None, "url": None, "rooms_running": 0}
            output.write_json({"running": False, **nothing})
        else:
            output.say("not running")
        return exits.DONE
    rooms = runtime.rooms_running(endpoint)
    if output_format == "json":
        about_it = {"pid": endpoint.pid, "version": endpoint.version, "url": endpoint.url}
        output.write_json({"running": True, **about_it, "rooms_running": rooms})
    else:
        about = f"running: process {endpoint.pid}, version {endpoint.version}, {endpoint.url}"
        output.say(f"{about}, {rooms} {'room runs' if rooms == 1 else 'rooms run'}")
    return exits.DONE


def stop() -> int:
    """Stop the backend and wait until it is gone."""
    output.say("stopped" if runtime.stop() else "not running")
    return exits.DONE
