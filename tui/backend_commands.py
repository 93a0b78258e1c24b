"""``agent-tui backend``: the embedded backend of this user."""

from __future__ import annotations

from typing import Literal

from tui import exits, output, runtime


def status(output_format: Literal["text", "json"]) -> int:
    """Print whether the backend runs and what it does; never starts it."""
    endpoint = runtime.find()
    if endpoint is None:
        if output_format == "json":
            output.write_json({"running": False, "pid": None, "version": None, "url": None, "rooms": 0})
        else:
            output.say("not running")
        return exits.DONE
    rooms = runtime.rooms_running(endpoint)
    if output_format == "json":
        fields = {"pid": endpoint.pid, "version": endpoint.version, "url": endpoint.url, "rooms": rooms}
        output.write_json({"running": True, **fields})
    else:
        about = f"running: process {endpoint.pid}, version {endpoint.version}, {endpoint.url}"
        output.say(f"{about}, {rooms} {'room runs' if rooms == 1 else 'rooms run'}")
    return exits.DONE


def stop() -> int:
    """Stop the backend and wait until it is gone."""
    output.say("stopped" if runtime.stop() else "not running")
    return exits.DONE
