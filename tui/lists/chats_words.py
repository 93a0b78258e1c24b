"""What the list of chats and its dialogs say; part of the one table in ``tui.screens.words``."""

from __future__ import annotations

from typing import Final

CONVERSATIONS: Final[dict[str, str]] = {
    "chats.title": "Chats",
    "chats.empty": "No chats yet. Press {new} to start one.\n\n"
    "In a chat one agent answers, and may use tools in the folder that you are in.\n\n"
    "  {new:<4} ask something\n"
    "  {other:<4} have several agents answer, in a room\n"
    "  {setup:<4} connect a model",
    "list.hint.search": "search",
    "list.hint.settings": "settings",
    "list.hint.rooms": "rooms",
    "list.hint.chats": "chats",
    # searching
    "search.title": "Search in all rooms and chats",
    "search.line": "words to find",
    "search.first": "The beginning of a word is enough.",
    "search.none": "No messages match.",
    "search.found.most": "the newest {count} – add words to narrow the search",
    "search.room": "room",
    "search.you": "you",
    "search.answer": "answer",
    "search.hint": "{search.up} {search.down} choose · enter open there · {search.back} back",
    # the settings of a chat
    "chat_form.title": "Chat settings",
    "setting.title": "title",
    "setting.system_prompt": "system prompt",
    "setting.temperature": "temperature",
    "setting.temperature.empty": "default",
    "setting.temperature.wrong": "enter a number from 0 to 2, or leave it empty",
    "setting.thinking_enabled": "thinking",
    "setting.thinking_enabled.own": "default",
    "setting.thinking_enabled.off": "off, if the model allows it",
    "setting.thinking_enabled.on": "on, if the model can",
    "setting.workspace.empty": "none",
    "setting.workspace.wrong": "enter a full path, beginning with {root}",
    "chat_form.tools": "tools (press space to mark)",
    "chat_form.tools.default": "default (all except the tools for rooms)",
    "chat_form.tools.all": "default (all)",
    "chat_form.tools.asks": "asks first",
    "chat_form.tools.reads": "never asks",
    "chat_form.tools.unknown": "not available now",
    "setting.title.needed": "a chat needs a title",
    "chat_form.hint": "enter save · tab next · {form.pick} models · {form.mark} mark a tool"
    " · {settings.back} back · {app.help.anywhere} help",
}
