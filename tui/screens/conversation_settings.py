"""The chat as it is to be: its title, what it is told, its model, its tools and their folder, its budget."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.widgets import Static

from agent_tui.model.errors import AgentTuiError, NotOffered
from agent_tui.model.events import ConversationInfo
from tui.link import ChatLink
from tui.screens.form_fields import Choice, Field, Line
from tui.screens.form_values import read_value
from tui.screens.key_hints import Hints
from tui.screens.model_form import ModelForm
from tui.screens.suspended_rules import SuspendedRules
from tui.screens.tool_list import ToolList
from tui.screens.words import say
from widgets.composer import Composer

MAX_TEMPERATURE: Final = 2.0
DEFAULT, ALL, NONE, SOME = "default", "all", "none", "some"  # which tools may be used
ON_RESUME: Final = ("continue", "again")
THINKING: Final[Mapping[str, bool | None]] = {"own": None, "off": False, "on": True}
_FIELDS: Final = {
    "name": "title",
    "prompt": "system_prompt",
    "provider": "provider_id",
    "model": "model",
    "temperature": "temperature",
    "thinking": "thinking_enabled",
    "tools": "enabled_tools",
    "workspace": "workspace",
    "max_tokens": "max_tokens",
    "max_cost": "max_cost",
    "answer_tokens": "answer_tokens",
    "on_resume": "on_resume",
}  # of the form, and what they are of a chat


class ConversationForm(ModelForm[None]):
    """Changes the chat with one call of ``change``, and gives its answer to ``take``."""

    CSS_PATH = ["room_dialogs.tcss", "conversations.tcss"]  # noqa: RUF012 - as Textual wants it
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "save", "Keep it", id="chat_form.save", priority=True),
        Binding("escape", "back", "Back, nothing changed", id="chat_form.back", priority=True),
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
                yield self._field("name", Line(chat.title, id="name"))
                yield self._field("prompt", Composer(id="prompt", may_be_empty=True))
                yield from self.model_fields(chat.provider_id, chat.model)
                temperature = "" if chat.temperature is None else f"{chat.temperature:g}"
                yield self._field("temperature", self._line("temperature", temperature, "default"))
                thinking = self._choice("thinking", tuple(THINKING), thinking_now(chat.thinking_enabled))
                yield self._field("thinking", thinking)
                yield self._field("workspace", self._line("workspace", chat.workspace, "none"))
                budget = str(chat.max_tokens or ""), f"{chat.max_cost:g}" if chat.max_cost else ""
                for name, value in zip(("max_tokens", "max_cost"), budget, strict=True):
                    line = Line(value, placeholder=say("settings.no_limit"), id=name)
                    yield Field(name, say(f"settings.{name}"), line)
                none = say("settings.answer_tokens.none")
                longest = Line(str(chat.answer_tokens or ""), placeholder=none, id="answer_tokens")
                yield Field("answer_tokens", say("settings.answer_tokens"), longest)
                on_resume = self._choice("on_resume", ON_RESUME, chat.on_resume)
                yield self._field("on_resume", on_resume)
                yield self._field("tools", self._choice("tools", (DEFAULT, ALL, NONE, SOME), self._tools_now))
                yield ToolList(chat.enabled_tools or (), ascii_only=self._ascii_only)
                yield SuspendedRules(self._link, chat.id, ascii_only=self._ascii_only)
            yield Static("", classes="error", id="problem", markup=False)
            yield Hints(say("chat_form.hint"), ascii_only=self._ascii_only)

    @staticmethod
    def _field(name: str, inner: Line | Choice | Composer) -> Field:
        return Field(name, say(f"chat_form.{name}"), inner)

    @staticmethod
    def _line(name: str, value: str, empty: str) -> Line:
        return Line(value, placeholder=say(f"chat_form.{name}.{empty}"), id=name)

    def _choice(self, name: str, options: tuple[str, ...], value: str) -> Choice:
        texts = [(option, say(f"chat_form.{name}.{option}")) for option in options]
        return Choice(texts, value, id=name, ascii_only=self._ascii_only)

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
        """Change what is different, if nothing is wrong with it. What was not touched is not sent: what is
        shown of it is harmless, and may differ from what it is.
        """
        fields: dict[str, Any] = {}
        problems: dict[str, str] = {}
        for name, field in _FIELDS.items():
            value = self.field(name).value.strip()
            if value == self._shown[name].strip() and not (name == "tools" and self._has_other_marks):
                continue
            try:
                fields[field] = self._tools_of(value) if name == "tools" else read_field(name, value)
            except ValueError as error:
                problems[name] = str(error)
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
            sent = {name: field for name, field in _FIELDS.items() if field in fields}
            self.blame(str(error), sent)
            return
        self._take(chat)
        self.dismiss()


def thinking_now(enabled: bool | None) -> str:
    """Return what stands for it in ``THINKING``."""
    return next(name for name, value in THINKING.items() if value is enabled)


def read_field(name: str, text: str) -> object:
    """Return what was typed or chosen as the wire wants it. Raises ``ValueError`` with a sentence for a
    person.
    """
    match name:
        case "name" if not text:
            raise ValueError(say("chat_form.no_title"))
        case "temperature":
            return temperature_of(text)
        case "thinking":
            return THINKING[text]
        case _:
            return read_value(name, text, 0)


def temperature_of(text: str) -> float | None:
    """Return a temperature, None for the model's own."""
    if not text:
        return None
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = -1.0
    if not 0 <= number <= MAX_TEMPERATURE:
        raise ValueError(say("chat_form.temperature.wrong"))
    return number
