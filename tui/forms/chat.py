"""The settings of a chat: its title, its instructions, its model, its tools and their folder, its budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

from agent_tui.model.events import ConversationInfo
from tui.forms.fields import Field
from tui.forms.model_fields import ModelFields
from tui.forms.settings import SettingsScreen
from tui.forms.tool_list import ToolList
from tui.forms.values import setting_field, settings_in
from tui.link import ChatLink
from tui.screens.words import say

SETTINGS: Final = settings_in(ConversationInfo)
FIRST: Final = ("title", "system_prompt")  # of the fields
OF_MODEL: Final = ("provider_id", "model")


def chat_settings(
    chat: ConversationInfo, link: ChatLink, change: Callable[..., Awaitable[None]], *, begins_at: str = ""
) -> SettingsScreen:
    """Return the dialog that changes a chat by one call of ``change``; ``begins_at`` has the focus first."""

    def field(name: str) -> Field:
        setting = SETTINGS[name]
        return setting_field(setting, getattr(chat, name), name=setting.called, words="setting.chat")

    parts = [
        *map(field, FIRST),
        ModelFields(link, chat.provider_id, chat.model),
        *(field(name) for name in SETTINGS if name not in (*FIRST, *OF_MODEL)),
        ToolList(
            chat.enabled_tools,
            link,
            say("chat_form.tools"),
            may_be_default=True,
            is_all_default=chat.kind == "voice",
        ),
    ]
    return SettingsScreen(say("chat_form.title"), say("chat_form.hint"), parts, change, begins_at=begins_at)
