"""What the demo model's phrases for a chat look like; one table per language in ``demo_chat_words``.

Slots in braces: ``{quote}`` the question as one line, ``{about}`` what a call is about (a sum, a path, a
command), ``{place}`` a place, ``{zone}`` its time zone, ``{tool}`` a tool's name, ``{error}`` why it failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ChatPhrases:
    """Whole sentences. The mappings are by the name of a tool."""

    hello: str
    cannot: tuple[str, ...]  # it is a demo, it does not know: {quote}
    cannot_empty: str  # nothing was asked
    from_script: str  # before a talk from the script
    examples_lead: str
    examples: Mapping[str, str]
    tools_lead: str
    others_lead: str  # tools that are offered and that a script can do nothing with
    no_tools: str
    off: str  # a tool that is not offered: {tool}
    nowhere: str  # {place}
    thoughts: Mapping[str, str]  # before a call: {about} {zone}
    thought_here: str  # before asking for the time of no place
    thought_plain: str  # before an answer without calls, when it is asked to think aloud
    thought_several: str
    asks: Mapping[str, str]  # said before a call: {about}
    asks_several: str
    sums: tuple[str, str, str]  # {about} {result}; with {value} beside a fraction; not exact
    time: str  # {place} {clock} {day} {offset}
    time_here: str
    day: str  # {weekday} {day} {month} {year}
    weekdays: tuple[str, ...]
    months: tuple[str, ...]
    done: Mapping[str, str]  # {about}; the output follows
    empty: str  # instead of an output
    more: str  # {count} more lines
    wrote: str  # {said}
    code: str  # {code}
    failed: str  # {tool} {error}
