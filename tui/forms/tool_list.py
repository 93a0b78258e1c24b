"""The tools of a server, each with a mark if it may be used."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from textual import work
from textual.app import ComposeResult
from textual.content import Content
from textual.message import Message
from textual.widgets import OptionList, Static

from agent_tui.model.errors import AgentTuiError, NotOffered
from agent_tui.model.events import ConversationInfo
from agent_tui.model.inert import inert_line
from agent_tui.model.settings import settings_of
from tui.forms.fields import Choice, Field, FormPart, Marking
from tui.link import ChatLink, RoomLink
from tui.live.texts import MAX_DESCRIPTION_CHARACTERS, about_tool, told_server
from tui.screens.words import say
from widgets.signs import DONE, FAILED, TASK

if TYPE_CHECKING:
    from agent_tui.clients.records import ToolInfo, ToolServer

MUTED: Final = "$text-muted"
MAX_NAME_CHARACTERS: Final = 60
DEFAULT, ALL, NONE, SOME = "default", "all", "none", "some"  # which tools a chat may use
_PERMISSIONS: Final = {"ask": "chat_form.tools.asks", "read": "chat_form.tools.reads"}


class ToolList(Marking):
    """Lists tools."""

    class Marked(Message):
        """Posted when a mark was added or removed."""

    def __init__(self, marked: Collection[str]) -> None:
        super().__init__(markup=False, compact=True)
        self._tools: list[ToolInfo] = []
        self._broken: list[ToolServer] = []  # MCP servers with problems
        self.marked = set(marked)
        self._strange: list[str] = sorted(self.marked)  # marked, but not on the server

    @property
    def names(self) -> list[str]:
        """All listed names, in their order."""
        return [*(tool.name for tool in self._tools), *self._strange]

    @property
    def by_default(self) -> list[str]:
        """The names of those that a chat has without naming them; the others are only marked by hand."""
        return [*(tool.name for tool in self._tools if not tool.only_if_named), *self._strange]

    def offer(self, tools: Sequence[ToolInfo], servers: Sequence[ToolServer] = ()) -> None:
        """List these tools, marked ones that are gone, and the MCP ``servers`` that lack tools, and why."""
        self._tools = list(tools)
        self._broken = [server for server in servers if server.problem]
        known = {tool.name for tool in tools}
        self._strange = sorted(self.marked - known)
        self.show_all()

    def mark(self, names: Collection[str]) -> None:
        self.marked = set(names)
        self.show_all()

    def show_all(self) -> None:
        unknown = say("chat_form.tools.unknown")
        rows = [*map(self._content, self._tools), *(self._row(name, "", unknown) for name in self._strange)]
        self.show(rows, map(self._server, self._broken))

    def _content(self, tool: ToolInfo) -> Content:
        key = _PERMISSIONS.get(tool.permission)
        return self._row(
            tool.name, say(key) if key else "", about_tool(tool.name, tool.source, tool.description)
        )

    def _server(self, server: ToolServer) -> Content:
        told = inert_line(told_server(server.name, server.problem), MAX_DESCRIPTION_CHARACTERS)
        return Content.assemble(f"{FAILED} ", (told, MUTED))

    def _row(self, name: str, permission: str, more: str) -> Content:
        mark = DONE if name in self.marked else TASK
        rest = "".join(f" · {text}" for text in (permission, more) if text)
        return Content.assemble(f"{mark} ", inert_line(name, MAX_NAME_CHARACTERS), (rest, MUTED))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.marked ^= {self.names[event.option_index]}
        self.show_all()
        self.post_message(self.Marked())


class RoomTools(FormPart):
    """The tools of a server, with marks for the room's agents; or why there are none."""

    def __init__(self, marked: Collection[str], link: RoomLink) -> None:
        super().__init__()
        self._link = link
        self._before = set(marked)
        self._label = Static(say("settings.tools"), classes="label", id="of-tools", markup=False)
        self._listed = ToolList(marked)

    def compose(self) -> ComposeResult:
        yield self._label
        yield self._listed

    @property
    def marked(self) -> set[str]:
        """The names of the tools that may be used."""
        return self._listed.marked

    @property
    def is_changed(self) -> bool:
        """Whether the marks were changed."""
        return self.marked != self._before

    def on_mount(self) -> None:
        """Show the marked tools until the server's are known."""
        self._listed.show_all()
        self._look()

    @work(exclusive=True)
    async def _look(self) -> None:
        try:
            self._listed.offer(*await (await self._link.client()).backend.tools())
        except AgentTuiError as error:
            self._listed.disabled = True
            self._label.update(f"{say('settings.tools')}: {inert_line(error.title, 100)}")


class ChatTools(FormPart):
    """Which of a server's tools a chat may use: its own choice, all, none, or the marked ones."""

    def __init__(self, enabled: Collection[str] | None, link: ChatLink) -> None:
        """``enabled`` are names of tools; ``None`` leaves the choice to the server."""
        super().__init__()
        self._link = link
        now = DEFAULT if enabled is None else SOME if enabled else NONE
        texts = [(one, say(f"chat_form.tools.{one}")) for one in (DEFAULT, ALL, NONE, SOME)]
        self._choice = Choice(texts, now, id="tools")
        setting = settings_of(ConversationInfo)["enabled_tools"]
        self._field = Field("tools", say("chat_form.tools"), self._choice, setting)
        self._listed = ToolList(enabled or ())
        self._before: tuple[str, ...] = ()
        self._is_known = False  # whether the server's tools are known

    def compose(self) -> ComposeResult:
        yield self._field
        yield self._listed

    def on_mount(self) -> None:
        """Show the marked tools until the server's are known."""
        self._listed.show_all()
        self._before = self._marked
        self._look()

    @work(exclusive=True)
    async def _look(self) -> None:
        """List the server's tools. If there are none, say why, and keep the current choice."""
        try:
            self._listed.offer(*await (await self._link.client()).backend.tools())
        except NotOffered as error:
            self._field.withhold(error.title)
            self._listed.disabled = True
        except AgentTuiError as error:
            self._field.remark(str(error))
        else:
            self._is_known = True
            if self._choice.value in (ALL, DEFAULT):  # it is known now which ones these are
                self._listed.mark(self._listed.by_default)

    @property
    def _marked(self) -> tuple[str, ...]:
        return tuple(name for name in self._listed.names if name in self._listed.marked)

    @property
    def is_changed(self) -> bool:
        """Whether another choice was made, or other single tools were marked."""
        return self._field.is_changed or (self._choice.value == SOME and {*self._marked} != {*self._before})

    def chosen(self) -> tuple[str, ...] | None:
        """Return the chosen tools; ``None`` leaves the choice to the server.

        Raises ``ValueError`` with a sentence for a person if all were chosen and the server's tools are not
        known.
        """
        if self._choice.value == DEFAULT:
            return None
        if self._choice.value == ALL and not self._is_known:
            raise ValueError(say("chat_form.tools.unlisted"))
        return self._marked

    def on_choice_changed(self, event: Choice.Changed) -> None:
        """Mark the tools of the choice."""
        event.stop()
        if self._choice.value != SOME:
            self._listed.mark(() if self._choice.value == NONE else self._listed.by_default)

    def on_tool_list_marked(self, event: ToolList.Marked) -> None:
        """Show that single tools were chosen."""
        event.stop()
        self._choice.choose(SOME)
