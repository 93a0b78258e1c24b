"""``agent-tui backend``: the embedded backend of this user."""

from __future__ import annotations

from agent_tui.config.file import load
from tui import runtime
from tui.cli import output
from tui.cli.output import OutputFormat
from tui.screens.localised import localised
from tui.screens.words import say, say_count


def status(output_format: OutputFormat) -> None:
    """Print whether the backend runs and what it does; never starts it. Raises ``ConfigError`` for an
    unusable config file.
    """
    load()
    endpoint = runtime.find()
    work = runtime.under_way(endpoint) if endpoint is not None else runtime.Work()
    if output_format == "json":
        about_it = {name: getattr(endpoint, name, None) for name in ("pid", "version", "url")}
        counts = dict(zip(runtime.WORK_NAMES, work, strict=True))
        output.write_json({"running": endpoint is not None, **about_it, **counts})
    elif endpoint is None:
        output.say(localised("not running"))
    else:
        about = f"running: process {endpoint.pid}, version {endpoint.version}, {endpoint.url}"
        output.say(localised(f"{about}; {_work_text(work)} under way"))


def stop() -> None:
    """Stop the backend and wait until it is gone; say what was interrupted."""
    cut = runtime.stop()
    if cut is None:
        output.say(localised("not running"))
    else:
        output.say(localised(f"stopped, which cut {_work_text(cut)}" if any(cut) else "stopped"))


def _work_text(work: runtime.Work) -> str:
    """Return "2 rooms and 1 answer", or with voice "2 rooms, 1 answer and 1 voice room"."""
    texts = {"rooms": say_count("work.rooms", work.rooms), "answers": say_count("work.answers", work.answers)}
    if not work.voice_rooms:
        return say("work.two", **texts)
    return say("work.three", **texts, voice=say_count("work.voice", work.voice_rooms))
