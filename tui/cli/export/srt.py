"""A voice session as subtitles (SubRip, .srt): words, speaker and time."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from agent_tui.model.events import Message
from agent_tui.model.inert import inert, inert_line
from tui.cli.export.document import said_by

CHARACTERS_A_SECOND: Final = 15.0  # of speech with an unknown end
SHORTEST_SECONDS: Final = 1.0
MAX_NAME_CHARACTERS: Final = 100
CUT: Final = "…"


def subtitles(messages: Sequence[Message]) -> str:
    """Return one numbered subtitle for each message with words; times begin with the first one.

    A message with an unknown time is shown when it was stored, for as long as reading it aloud takes, but
    never into the next one.
    """
    spoken = sorted(
        ((*times, message) for message in messages if _words(message) and (times := _times(message))),
        key=lambda entry: entry[0],
    )
    first = spoken[0][0] if spoken else 0.0
    blocks = []
    for place, (start, end, message) in enumerate(spoken):
        following = spoken[place + 1][0] if place + 1 < len(spoken) else end
        # People and agents may talk at the same time: only a guessed end is shortened.
        is_end_known = message.spoken is not None and message.spoken.ended_at is not None
        until = end if is_end_known else max(start, min(end, following))
        clock = f"{_clock(start - first)} --> {_clock(until - first)}"
        name = inert_line(said_by(message).replace("-->", "→"), MAX_NAME_CHARACTERS)
        blocks.append(f"{place + 1}\n{clock}\n{name}: {_words(message)}\n")
    return "\n".join(blocks)


def _words(message: Message) -> str:
    """Return what was heard of a message, without blank lines, which would end its subtitle."""
    text = message.text
    is_cut = bool(message.interrupted)
    if message.spoken is not None and message.spoken.text and message.role != "user":
        is_cut, text = is_cut or message.spoken.text != text, message.spoken.text
    lines = [line.strip() for line in inert(text).replace("-->", "→").splitlines()]
    words = "\n".join(line for line in lines if line)
    return f"{words}{CUT}" if words and is_cut else words


def _times(message: Message) -> tuple[float, float] | None:
    spoken = message.spoken
    start = spoken.started_at if spoken is not None else None
    if start is None:
        try:
            start = datetime.fromisoformat(message.created_at).timestamp()
        except ValueError:
            return None
    lasts = max(SHORTEST_SECONDS, len(_words(message)) / CHARACTERS_A_SECOND)
    end = spoken.ended_at if spoken is not None and spoken.ended_at is not None else start + lasts
    return start, max(start, end)


def _clock(seconds: float) -> str:
    """Return a time as in subtitles, "00:01:02,345"."""
    thousandths = round(seconds * 1000)
    return (
        f"{thousandths // 3_600_000:02}:{thousandths // 60_000 % 60:02}:"
        f"{thousandths // 1000 % 60:02},{thousandths % 1000:03}"
    )
