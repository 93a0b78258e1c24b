"""What the home screen says; part of the one table in ``tui.screens.words``."""

from __future__ import annotations

from typing import Final

HOME: Final[dict[str, str]] = {
    "home.title": "agent-tui",
    "home.demo": "demo mode",
    "home.demo.hint": "connect a model",
    "home.ask.room": "What should they talk about?",
    "home.ask.chat": "What do you want to ask?",
    "home.about.room": "A room: three agents answer side by side, and each other.",
    "home.about.chat": "A chat: one agent answers, and may use tools.",
    "home.hint.room": "enter start a room · tab make it a chat · esc back",
    "home.hint.chat": "enter start a chat · tab make it a room · esc back",
    "home.hint.type": "Just type, or press {room} for a room, {chat} for a chat.",
    "home.starting": "Starting the room…",
    "home.continue": "Continue",
    "home.try": "Try",
    "home.example.1": "Should we keep user sessions in Redis or in PostgreSQL?",
    "home.example.2": "Plan the launch of our mobile app",
    "home.example.3": "Checkout was down for 47 minutes on Friday. What went wrong, and what do we change?",
    "home.chat": "chat",
    "home.voice": "voice",
    "home.found": "Found on this machine: {what} – press {press} to use it",
    "home.found.some": "Found on this machine: {what} – press {press} to choose",
    "home.found.title": "Found on this machine",
    "home.found.server": "{name} ({models} models)",
    "home.found.server.one": "{name} (1 model)",
    "home.found.key": "{name} (key in {variable})",
    "home.found.more": "{count} more",
    "home.found.none": "Nothing new was found on this machine: no keys in the environment, no local servers.",
    "home.hint.open": "open",
    "home.hint.new_room": "new room",
    "home.hint.new_chat": "new chat",
    "home.hint.voice": "voice",
    "home.hint.lists": "all rooms and chats",
    "home.hint.models": "models",
    "home.hint.commands": "commands",
    "home.hint.help": "help",
    "home.hint.quit": "quit",
}
