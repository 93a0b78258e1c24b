"""The chat as it is to be: its title, what it is told, its model, its tools and their folder, its budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from agent_tui.model.errors import AgentTuiError, NotOffered
from agent_tui.model.events import ConversationInfo
from agent_tui.model.settings import Setting, settings_of
from tui.forms.fields import Choice, Field
from tui.forms.model_form import ModelForm
from tui.forms.suspended_rules import SuspendedRules
from tui.forms.tool_list import ToolList
from tui.forms.values import read_changed, setting_field, settings_in
from tui.link import ChatLink
from tui.live.key_hints import Hints
from tui.screens.words import say
from widgets.composer import Composer

DEFAULT, ALL, NONE, SOME = "default", "all", "none", "some"  # which tools may be used
SETTINGS: Final = settings_in(ConversationInfo)
FIRST: Final = ("title", "system_prompt")  # of the fields
OF_MODEL: Final = ("provider_id", "model")


class ConversationForm(ModelForm[None]):
    """Changes the chat with one call of ``change``, and gives its answer to ``take``."""

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
        *,
        ascii_only: bool = False,
    ) -> None:
        super().__init__(link, ascii_only=ascii_only)
        self._chat = chat
        self._change = change
        self._take = take
        self._marked: tuple[str, ...] = ()  # before anything was touched
        self._knows_tools = False  # which ones the server has

    def compose(self) -> ComposeResult:
        chat = self._chat
        with Vertical(classes="dialog wide"):
            yield Static(say("chat_form.title"), classes="title", markup=False)
            with VerticalScroll(id="form", can_focus=False):
                for name in FIRST:
                    yield self._field(SETTINGS[name])
                yield from self.model_fields(chat.provider_id, chat.model)
                for name, setting in SETTINGS.items():
                    if name not in (*FIRST, *OF_MODEL):
                        yield self._field(setting)
                texts = [(one, say(f"chat_form.tools.{one}")) for one in (DEFAULT, ALL, NONE, SOME)]
                tools = Choice(texts, self._tools_now, id="tools", ascii_only=self._ascii_only)
                setting = settings_of(ConversationInfo)["enabled_tools"]
                yield Field("tools", say("chat_form.tools"), tools, setting)
                yield ToolList(chat.enabled_tools or (), ascii_only=self._ascii_only)
                yield SuspendedRules(self._link, chat.id, ascii_only=self._ascii_only)
            yield Static("", classes="error", id="problem", markup=False)
            yield Hints(say("chat_form.hint"), ascii_only=self._ascii_only)

    def _field(self, setting: Setting) -> Field:
        value = getattr(self._chat, setting.name)
        name = setting.called
        return setting_field(setting, value, ascii_only=self._ascii_only, name=name, words="setting.chat")

    @property
    def _tools_now(self) -> str:
        enabled = self._chat.enabled_tools
        if enabled is None:
            return DEFAULT
        return SOME if enabled else NONE

    def on_mount(self) -> None:
        """Show the chat as it is, and ask which providers and tools there are."""
        self.query_one("#prompt", Composer).put(self._chat.system_prompt)
        self._shown = self.values()
        self.query_one(ToolList).show()
        self._marked = self._enabled
        self.look_for_providers()
        self._look_for_tools()

    # --- tools -------------------------------------------------------------------------------------------

    @work(group="tools", exclusive=True)
    async def _look_for_tools(self) -> None:
        """List the server's tools; where there are none to be had, say why, and keep what is chosen."""
        field, listed = self.field("tools"), self.query_one(ToolList)  # it may close meanwhile
        choice = self.query_one("#tools", Choice)
        try:
            listed.offer(*await (await self._link.client()).backend.tools())
        except NotOffered as error:
            field.withhold(error.title)
            listed.disabled = True
        except AgentTuiError as error:
            field.remark(str(error))
        else:
            self._knows_tools = True
            if choice.value in (ALL, DEFAULT):  # now it is known of what
                listed.mark(listed.names)

    @property
    def _enabled(self) -> tuple[str, ...]:
        listed = self.query_one(ToolList)
        return tuple(name for name in listed.names if name in listed.marked)

    @property
    def _has_other_marks(self) -> bool:
        return self.query_one("#tools", Choice).value == SOME and {*self._enabled} != {*self._marked}

    def _tools_of(self, choice: str) -> tuple[str, ...] | None:
        """Return the tools that were chosen as the wire wants them; None: the server's own choice."""
        if choice == DEFAULT:
            return None
        if choice == ALL and not self._knows_tools:
            raise ValueError(say("chat_form.tools.unlisted"))
        return self._enabled

    def on_choice_changed(self, event: Choice.Changed) -> None:
        """Mark the tools that were chosen all at once; mind the model of another provider."""
        super().on_choice_changed(event)
        listed = self.query_one(ToolList)
        if event.choice.id == "tools" and event.choice.value != SOME:
            listed.mark(() if event.choice.value == NONE else listed.names)

    def on_tool_list_marked(self, event: ToolList.Marked) -> None:
        """Say that single ones were chosen."""
        event.stop()
        self.query_one("#tools", Choice).choose(SOME)

    # --- keeping it ----------------------------------------------------------------------------------------

    @property
    def is_changed(self) -> bool:
        """Whether a field or a tool is not as it was."""
        return super().is_changed or self._has_other_marks

    def action_save(self) -> None:
        """Change what is different, if nothing is wrong with it."""
        fields, problems = read_changed(self)
        choice = self.field("tools").value
        if choice != self._shown["tools"] or self._has_other_marks:
            try:
                fields["enabled_tools"] = self._tools_of(choice)
            except ValueError as error:
                problems["tools"] = str(error)
        self.complain(problems)
        if fields and not problems:
            self._save(fields)
        elif not problems:
            self.dismiss()

    @work(group="save", exclusive=True)
    async def _save(self, fields: dict[str, Any]) -> None:
        try:
            chat = await self._change(**fields)
        except AgentTuiError as error:
            self.blame(str(error), fields)
            return
        self._take(chat)
        self.dismiss()
