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
    "link.lost": "interrupted – {press} to continue",
    "link.lost.no_key": "interrupted",
    "link.refused": "refused: {detail}",
    "link.restarted": "the backend was restarted, nothing was lost",
    # the room
    "room.live": "live",
    "room.idle": "not started – {press} starts it",
    "room.idle.no_key": "not started",
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
    "room.you": "You",
    "room.zoomed": "zoomed",
    "room.timeline": "timeline",
    "timeline.title": "{name} · round {round}",
    "strip.more": "{count} more",
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
    "hint.zoom": "zoom",
    "hint.timeline": "timeline",
    "hint.find": "find",
    "hint.back": "back",
    "hint.newest": "newest",
    "hint.copy": "copy",
    "hint.clear": "clear",
    "hint.next": "next",
    "hint.previous": "previous",
    "hint.close": "close",
    "hint.palette": "commands",
    "hint.help": "help",
    "hint.quit": "quit",
    # finding
    "find.label": "/",
    "find.none": "nothing found",
    "find.searching": "searching…",
    "find.count": "{count} found",
    "find.of": "{current} of {total}",
    "find.elsewhere": "not here, {count} in {name}'s pane",
    "find.nothing_asked": "/ asks what to find",
    "go_to.label": "message 1–{count}",
    "go_to.keys": "home first · end newest",
    # copying
    "copy.line": "copied 1 line",
    "copy.lines": "copied {count} lines",
    "copy.file": "too long for the clipboard of a terminal, saved to {file}",
    "copy.failed": "too long for the clipboard of a terminal, and not saved: {problem}",
    "copy.nothing": "nothing to copy here",
    "copy.no_code": "no code block in sight",
    # leaving
    "quit.how": "{quit} quits, {pause} pauses the room",
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
    "help.filter": "type to find a key or a word",
    "help.nothing": "nothing found",
    "help.no_key": "no key",
    "help.close": "esc close · keys change under [keys], see agent-tui config path",
    "help.group.room": "Room",
    "help.group.panes": "Panes",
    "help.group.reading": "Reading",
    "help.group.find": "Find and copy",
    "help.group.program": "Program",
    "help.group.dialog": "Here",
    "help.why.not_now": "not now",
    "help.numbered": "Go to the agent of that number",
    "help.why.no_code": "no code in sight",
    "help.why.no_message": "nothing was said yet",
    "help.why.no_selection": "nothing is selected",
    "help.why.not_searched": "nothing is looked for",
    "help.why.bar_closed": "while the find bar is open",
    "help.why.no_interruption": "only after an interruption",
    # the keys of the config file, and what the palette says of an action
    "keys.problems.one": "[keys]: 1 line cannot hold – agent-tui config check says why",
    "keys.problems": "[keys]: {count} lines cannot hold – agent-tui config check says why",
    "keys.or": " or ",
    # the themes
    "theme.use": "Theme: {name}",
    "theme.once": "until you leave",
    "theme.choose": "Theme…",
    "theme.title": "Theme",
    "theme.filter": "type a name",
    "theme.hint": "↑↓ look · enter keep · esc back",
    "theme.no_color": "NO_COLOR is set: no theme shows colours",
    "theme.dark": "dark",
    "theme.light": "light",
    "theme.own": "yours",
    "theme.none": "No theme has that in its name.",
    "theme.kept": "theme {name} kept",
    "theme.not_kept": "{detail} – the theme holds until you leave",
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
