"""The tools of a server, each with a mark if it may be used."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

from textual import work
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui.forms.fields import FormPart, Marking
from tui.link import Link
from tui.live.texts import MAX_DESCRIPTION_CHARACTERS, about_tool, told_server
from tui.screens.localised import localised
from tui.screens.words import say
from widgets.signs import DONE, FAILED, TASK

if TYPE_CHECKING:
    from agent_tui.clients.records import ToolInfo, ToolServer

MUTED: Final = "$text-muted"
MAX_NAME_CHARACTERS: Final = 60
MAX_PROBLEM_CHARACTERS: Final = 100
_PERMISSIONS: Final = {"ask": "chat_form.tools.asks", "read": "chat_form.tools.reads"}


class ToolList(FormPart):
    """The tools of a server; the first row, if there is one, leaves the choice to the server."""

    about = "tools"

    def __init__(
        self,
        enabled: Collection[str] | None,
        link: Link[Any],
        label: str,
        *,
        may_be_default: bool = False,
        is_all_default: bool = False,
    ) -> None:
        """``enabled`` are names of tools; ``None`` leaves the choice to the server, which for a voice session
        is all of them (``is_all_default``).
        """
        super().__init__()
        self._link = link
        self._before = None if enabled is None else set(enabled)
        self._may_be_default = may_be_default
        self._is_all_default = is_all_default
        self._is_default = enabled is None
        self._marked = set(enabled or ())
        self._tools: list[ToolInfo] = []
        self._broken: list[ToolServer] = []  # MCP servers with problems
        self._label = Static(label, classes="label", id="of-tools", markup=False)
        self._listed = Marking(id="tools", markup=False, compact=True)

    def compose(self) -> ComposeResult:
        yield self._label
        yield self._listed

    @property
    def names(self) -> list[str]:
        """All listed names, in their order: the server's, and marked ones that are gone."""
        listed = [tool.name for tool in self._tools]
        return [*listed, *sorted(self._marked.difference(listed))]

    @property
    def enabled(self) -> tuple[str, ...] | None:
        """The names of the tools that may be used; ``None`` leaves the choice to the server."""
        return None if self._is_default else tuple(name for name in self.names if name in self._marked)

    @property
    def is_changed(self) -> bool:
        enabled = self.enabled
        return (None if enabled is None else set(enabled)) != self._before

    def changes(self) -> dict[str, Any]:
        return {"enabled_tools": self.enabled}

    def on_mount(self) -> None:
        """Show the marked tools until the server's are known."""
        self._show_all()
        self._look()

    @work(exclusive=True)
    async def _look(self) -> None:
        try:
            tools, servers = await (await self._link.client()).backend.tools()
        except AgentTuiError as error:
            self._listed.disabled = True
            why = inert_line(localised(error.title), MAX_PROBLEM_CHARACTERS)
            self._label.update(f"{self._label.content}{say('between.detail')}{why}")
            return
        self._tools, self._broken = list(tools), [server for server in servers if server.problem]
        if self._is_default:
            self._mark_default()
        self._show_all()

    def _mark_default(self) -> None:
        """Mark what a chat has without naming it; other tools are only marked by hand."""
        is_all = self._is_all_default
        self._marked = {tool.name for tool in self._tools if is_all or not tool.only_if_named}

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        at = event.option_index - self._may_be_default
        if at >= 0:
            self._is_default = False
            self._marked ^= {self.names[at]}
        elif self._is_default:
            self._is_default = False
            self._marked.clear()
        else:
            self._is_default = True
            self._mark_default()
        self._show_all()

    # --- rows ------------------------------------------------------------------------------------------

    def _show_all(self) -> None:
        about = {tool.name: self._about(tool) for tool in self._tools}
        unknown = f" · {say('chat_form.tools.unknown')}"
        default = say("chat_form.tools.all" if self._is_all_default else "chat_form.tools.default")
        first = [_row(default, "", self._is_default)] if self._may_be_default else []
        rows = [_row(name, about.get(name, unknown), name in self._marked) for name in self.names]
        self._listed.show([*first, *rows], map(_server_row, self._broken))

    def _about(self, tool: ToolInfo) -> str:
        key = _PERMISSIONS.get(tool.permission)
        more = (say(key) if key else "", about_tool(tool.name, tool.source, tool.description))
        return "".join(f" · {text}" for text in more if text)


def _row(name: str, about: str, is_marked: bool) -> Content:
    mark = DONE if is_marked else TASK
    return Content.assemble(f"{mark} ", inert_line(name, MAX_NAME_CHARACTERS), (about, MUTED))


def _server_row(server: ToolServer) -> Content:
    problem = inert_line(told_server(server.name, server.problem), MAX_DESCRIPTION_CHARACTERS)
    return Content.assemble(f"{FAILED} ", (problem, MUTED))
