"""The output formats of ``agent-tui voice`` without a screen (cli.md, «Formats»)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from agent_tui.model.events import Step
from agent_tui.model.inert import inert
from agent_tui.model.voice import TurnTimes
from agent_tui.state.voice import VoiceState
from agent_tui.state.voice_lines import VoiceLine
from agent_tui.wire.steps_encode import step_fields
from tui.cli import output
from tui.cli.headless.formats import Ending, FormatName, Record, format_named
from tui.live.signs import CUT
from tui.screens.words import say

SAID: Final = ("person", "agent")


class VoiceFormat:
    """One way to write a session to stdout; it writes only what it gets here. Every method may raise
    ``BrokenPipeError``.
    """

    def __init__(self, name: FormatName) -> None:
        self._last = format_named(name)
        self._turns = 0

    def words(self, line: VoiceLine, *, is_final: bool) -> None:
        """Take what was said; ``is_final``: this is the final version, and comes once for each line."""

    def step(self, step: Step) -> None:
        """Take a call of a tool, or its result."""

    def metrics(self, line: VoiceLine) -> None:
        """Take the times of an answer."""

    def agent_state(self, state: str) -> None:
        """Take the agent's state."""

    def end(self, ending: Ending, state: VoiceState, room: str, conversation_id: str) -> None:
        about = {"room": room, "conversation": conversation_id or None}
        messages = [message_of(line) for line in said_lines(state)]
        self._last.end(ending, whole_text(state), Record(about, messages))


class VoiceText(VoiceFormat):
    """Both sides' lines, each when it is final."""

    def words(self, line: VoiceLine, *, is_final: bool) -> None:
        if is_final and (text := line_text(line)):
            output.say(text)


class VoiceStream(VoiceFormat):
    """One object for each event, and a last one named ``end``."""

    def words(self, line: VoiceLine, *, is_final: bool) -> None:
        name = "user_transcript" if line.kind == "person" else "agent_transcript"
        data: dict[str, object] = {"line": line.id, "text": line.text.text, "final": is_final}
        if line.kind == "person":
            data["identity"] = line.identity or None
        elif is_final:
            data["interrupted"] = line.status in ("cut", "lost")
        self._write(name, data)

    def step(self, step: Step) -> None:
        self._write("process_step", {"step": step_fields(step)})

    def metrics(self, line: VoiceLine) -> None:
        self._turns += 1
        self._write("metrics", {"turn": self._turns, "line": line.id, **seconds_of(line.times)})

    def agent_state(self, state: str) -> None:
        self._write("agent_state", {"state": state})

    def _write(self, name: str, data: object) -> None:
        output.write_json({"id": None, "event": name, "data": data})


def voice_format(name: FormatName) -> VoiceFormat:
    """Return the format for ``--output``."""
    return {"text": VoiceText, "json": VoiceFormat, "stream-json": VoiceStream}[name](name)


def said_lines(state: VoiceState) -> Iterable[VoiceLine]:
    """Return the lines of both sides in order, without those of earlier sessions."""
    return [line for line in state.lines.all.values() if line.kind in SAID and not state.is_earlier(line)]


def whole_text(state: VoiceState) -> str:
    """Return everything the agent said, as it said it, joined by a blank line."""
    texts = (line.text.text for line in said_lines(state) if line.kind == "agent")
    return "\n\n".join(text for text in texts if text)


def line_text(line: VoiceLine) -> str:
    """Return "you: …" or "agent: …" in the language of the screens, with the sign for it if it was cut."""
    text = " ".join(inert(line.text.text).split())
    cut = f" {CUT}" if line.status in ("cut", "lost") else ""
    name = say("voice.you" if line.kind == "person" else "voice.agent")
    return f"{name}{say('between.detail')}{text}{cut}" if text else ""


def message_of(line: VoiceLine) -> dict[str, object]:
    """Return a line as a message of the json format."""
    fields: dict[str, object] = {
        "id": line.item_id or line.id,
        "role": "user" if line.kind == "person" else "assistant",
        "content": line.text.text,
        "typed": line.is_typed,
        "interrupted": line.status in ("cut", "lost"),
        "created_at": line.at,
    }
    return {**fields, "metrics": seconds_of(line.times)} if line.kind == "agent" else fields


def seconds_of(times: TurnTimes) -> dict[str, float | None]:
    """Return times by name; "e2e_seconds" is the total."""
    return {
        "e2e_seconds": times.whole,
        "hearing_seconds": times.hearing,
        "end_of_turn_seconds": times.end_of_turn,
        "model_seconds": times.model,
        "voice_seconds": times.voice,
    }
