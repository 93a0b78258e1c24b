"""Every sentence the screens say, in one table, so that other languages can follow.

Placeholders are named. Nothing here says that a room has been paused before ``room_paused`` was received:
scripts wait for that word.
"""

from __future__ import annotations

from typing import Final

ENGLISH: Final[dict[str, str]] = {
    # the link
    "link.starting": "starting the backend…",
    "link.connecting": "connecting…",
    "link.connected": "connected",
    "link.waiting": "reconnecting in {seconds} s ({attempt})",
    "link.trying": "reconnecting… ({attempt})",
    "link.unreachable": "{title} – reconnecting in {seconds} s · q quit",
    "link.ended": "this server shows a room only while it runs it",
    "link.lost": "interrupted – r to continue",
    "link.refused": "refused: {detail}",
    "link.restarted": "the backend was restarted, nothing was lost",
    # the room
    "room.live": "live",
    "room.idle": "not started – p starts it",
    "room.pausing": "pausing…",
    "room.resuming": "resuming…",
    "room.starting": "starting…",
    "room.paused": "paused",
    "room.paused.you": "paused by you",
    "room.paused.crash": "paused – the backend died, nothing was lost",
    "room.paused.handover": "paused – the backend was stopped",
    "room.paused.unwatched": "paused – nobody was watching",
    "room.paused.other": "paused – {reason}",
    "room.completed": "done",
    "room.error": "failed: {detail}",
    "room.round": "round {round} of {most}",
    "room.untitled": "a room",
    "room.loading": "Waiting for the room…",
    "room.unknown": "{count} unknown events kept",
    "room.tokens": "{count} tokens",
    "room.demo": "demo model",
    "room.cannot_pause": "this server offers no pause",
    "room.completed.hint": 'the room is done; agent-tui rooms new --task "…" starts another',
    # an agent
    "agent.waiting": "waiting",
    "agent.waits_for": "waits for {name}",
    "agent.thinking": "thinking {seconds} s",
    "agent.speaking": "{rate} tok/s",
    "agent.said": "said",
    "agent.cut": "cut",
    "agent.failed": "failed",
    "agent.round": "round {round}",
    "agent.tokens": "{count} tok",
    # why a turn was cut
    "cut.pause": "cut at the pause",
    "cut.crash": "cut when the backend died",
    "cut.handover": "cut when the backend stopped",
    "cut.unwatched": "cut: nobody was watching",
    "cut.lost": "cut: the end never came",
    "cut.other": "cut: {reason}",
    # hints: what a key does
    "hint.pause": "pause",
    "hint.resume": "resume",
    "hint.resume.who": "resume – {name} goes on",
    "hint.resume.all": "resume – {count} agents go on",
    "hint.start": "start",
    "hint.continue": "continue",
    "hint.tab": "next pane",
    "hint.palette": "commands",
    "hint.help": "help",
    "hint.quit": "quit",
    # leaving
    "quit.how": "q or ctrl+q quits, p pauses the room",
    "quit.title": "Agents are still speaking.",
    "quit.pause": "p  pause the room and quit",
    "quit.keep": "k  keep it running and quit",
    "quit.stay": "esc  stay",
    "quit.pausing": "Pausing the room…",
    "quit.no_pause": "This server offers no pause.",
    # the list
    "rooms.title": "Rooms",
    "rooms.count": "{running} running · {all} in all",
    "rooms.empty": 'No rooms here yet. agent-tui rooms new --task "…" makes one.',
    "rooms.hints": "enter open · ? help · q quit",
    "rooms.round": "round {round}/{most}",
    "rooms.not_offered": "This server offers no list of rooms: name one, agent-tui rooms ROOM.",
    # times
    "time.now": "now",
    "time.minutes": "{minutes} min ago",
    "time.hours": "{hours} h ago",
    # help
    "help.title": "Keys",
    "help.palette": "Every command, and the themes",
    "help.close": "esc close",
    "theme.use": "Theme: {name}",
}


def say(key: str, **fields: object) -> str:
    """Return the sentence ``key`` with its placeholders filled."""
    return ENGLISH[key].format(**fields) if fields else ENGLISH[key]


def ordinal_try(attempt: int) -> str:
    """Return "2nd try" for 2."""
    suffix = {1: "st", 2: "nd", 3: "rd"}.get(attempt % 10, "th")
    return f"{attempt}{'th' if attempt % 100 in (11, 12, 13) else suffix} try"


def count(number: int) -> str:
    """Return a number with thousands separators."""
    return f"{number:,}"
