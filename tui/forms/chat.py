"""The settings of a chat: its title, its instructions, its model, its tools and their folder, its budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import ConversationInfo
from agent_tui.model.settings import Setting
from tui.forms.fields import Field
from tui.forms.form import Form
from tui.forms.model_fields import ModelFields
from tui.forms.tool_list import ChatTools
from tui.forms.values import read_changed, setting_field, settings_in
from tui.link import ChatLink
from tui.screens.dialog import Dialog, framed
from tui.screens.words import say

SETTINGS: Final = settings_in(ConversationInfo)
FIRST: Final = ("title", "system_prompt")  # of the fields
OF_MODEL: Final = ("provider_id", "model")


class ConversationForm(Dialog[None]):
    """Changes the chat with one call of ``change``, and passes the answer to ``take``."""

    CSS_PATH = ["../screens/room_dialogs.tcss", "../lists/conversations.tcss"]  # noqa: RUF012 - as Textual wants it
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Save", id="chat_form.save", priority=True),
        Binding("escape", "back", "Back without saving", id="chat_form.back", priority=True),
    ]

    def __init__(
        self,
        chat: ConversationInfo,
        link: ChatLink,
        change: Callable[..., Awaitable[ConversationInfo]],
        take: Callable[[ConversationInfo], object],
    ) -> None:
        super().__init__()
        self._change = change
        self._take = take
        self._tools = ChatTools(chat.enabled_tools, link)
        others = [setting for name, setting in SETTINGS.items() if name not in (*FIRST, *OF_MODEL)]
        self._form = Form(
            *(self._field(SETTINGS[name], chat) for name in FIRST),
            ModelFields(link, chat.provider_id, chat.model),
            *(self._field(setting, chat) for setting in others),
            self._tools,
        )

    def _field(self, setting: Setting, chat: ConversationInfo) -> Field:
        value = getattr(chat, setting.name)
        name = setting.called
        return setting_field(setting, value, name=name, words="setting.chat")

    def compose(self) -> ComposeResult:
        yield framed(
            say("chat_form.title"), self._form, self._form.problem, hint=say("chat_form.hint"), classes="form"
        )

    def action_save(self) -> None:
        """Save what was changed, if all of it is valid."""
        fields, problems = read_changed(self._form)
        if self._tools.is_changed:
            try:
                fields["enabled_tools"] = self._tools.chosen()
            except ValueError as error:
                problems["tools"] = str(error)
        self._form.complain(problems)
        if fields and not problems:
            self._save(fields)
        elif not problems:
            self.dismiss()

    @work(group="save", exclusive=True)
    async def _save(self, fields: dict[str, Any]) -> None:
        try:
            chat = await self._change(**fields)
        except AgentTuiError as error:
            self._form.blame(str(error), fields)
            return
        self._take(chat)
        self.dismiss()

    def action_back(self) -> None:
        """Close without a result; ask first if something was changed."""
        self._form.leave()
