"""What the home screen says; part of the one table in ``tui.screens.words``."""

from __future__ import annotations

from typing import Final

HOME: Final[dict[str, str]] = {
    "home.title": "agent-tui",
    "home.demo": "demo mode",
    "home.demo.hint": "connect a model",
    "home.ask.room": "What should they talk about?",
    "home.ask.chat": "What do you want to ask?",
    "home.about.room": "A room: three agents answer you and each other, side by side.",
    "home.about.chat": "A chat: one agent answers, and may use tools.",
    "home.hint.start.room": "start a room",
    "home.hint.start.chat": "start a chat",
    "home.hint.turn.room": "make it a chat",
    "home.hint.turn.chat": "make it a room",
    "home.command.unknown": "/{name} does nothing here – these do: {known}",
    "home.starting": "Starting the room…",
    "home.continue": "Continue",
    "home.try": "Try",
    "home.example.1": "Should we keep user sessions in Redis or in PostgreSQL?",
    "home.example.2": "Plan the launch of our mobile app",
    "home.example.3": "Checkout was down for 47 minutes on Friday. What went wrong, and what do we change?",
    "home.chat": "chat",
    "home.voice": "voice",
    "home.found": "Found on this machine: {what} – {press} uses it",
    "home.found.some": "Found on this machine: {what} – {press} chooses one",
    "home.found.title": "Found on this machine",
    "home.found.server": "{name} ({models} models)",
    "home.found.server.one": "{name} (1 model)",
    "home.found.key": "{name} (key in {variable})",
    "home.found.none": "nothing new was found on this machine: no keys in the environment, no local servers",
    "home.hint.new_room": "new room",
    "home.hint.new_chat": "new chat",
    "home.hint.lists": "all rooms and chats",
    "home.hint.models": "models",
}
