"""The suspended rules of earlier versions, each with a key to restore it or to drop it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.cells import cell_len
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line, visible_line
from tui.forms.fields import VimList
from tui.live.key_hints import Hints
from tui.screens.dialog import ask_first
from tui.screens.words import say

if TYPE_CHECKING:
    from agent_tui.clients.records import ToolRule
    from tui.link import Link

MAX_ROW_CHARACTERS: Final = 200
MAX_PATTERN_CHARACTERS: Final = 10_000
MAX_ERROR_CHARACTERS: Final = 300
PART_OF_SCREEN: Final = 3  # a pattern that needs more than this part of the cells is cut


def suspended_in(rules: list[ToolRule], place: str) -> list[ToolRule]:
    """Return the suspended rules that apply to the chat or room ``place``."""
    return [rule for rule in rules if rule.scope == "suspended" and rule.conversation_id in ("", place)]


class SuspendedRules(Widget):
    """Lists them for one chat or room; takes no space if there are none."""

    DEFAULT_CSS = "SuspendedRules { height: auto; width: 1fr; display: none; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("c", "decide('confirm')", "Reactivate the suspended rule", id="rule.confirm", show=False),
        Binding("x", "decide('drop')", "Delete the suspended rule", id="rule.drop", show=False),
    ]

    def __init__(self, link: Link[Any], place: str) -> None:
        """``place`` is the id of the chat or room, "" for a new one."""
        super().__init__()
        self._link = link
        self._place = place
        self._rules: list[ToolRule] = []

    def compose(self) -> ComposeResult:
        yield Static(say("rules.title"), classes="label", markup=False)
        yield VimList(markup=False, compact=True)
        yield Hints(say("rules.hint"), classes="note")

    def on_mount(self) -> None:
        self._look()

    @work(exclusive=True)
    async def _look(self) -> None:
        try:
            rules = await (await self._link.client()).backend.rules()
        except AgentTuiError:
            return  # a server without rules; if it does not answer, the list of tools says so
        self._rules = suspended_in(rules, self._place)
        listed = self.query_one(OptionList)
        at = listed.highlighted or 0
        listed.clear_options()
        listed.add_options(Option(visible_line(rule.pattern, MAX_ROW_CHARACTERS)) for rule in self._rules)
        listed.highlighted = min(at, len(self._rules) - 1) if self._rules else None
        self.display = bool(self._rules)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Do nothing: enter decides nothing here."""
        event.stop()

    def action_decide(self, what: str) -> None:
        """Ask whether to restore or drop the rule under the cursor, showing its whole pattern."""
        at = self.query_one(OptionList).highlighted
        if at is None:
            return
        rule = self._rules[at]
        pattern = visible_line(rule.pattern, MAX_PATTERN_CHARACTERS)
        width, height = self.app.size
        if what == "confirm" and cell_len(pattern) > width * height // PART_OF_SCREEN:
            self.app.notify(say("rules.too_long"), severity="warning", markup=False)
            return
        reach = say("rules.here" if rule.conversation_id else "rules.everywhere")
        question = say(f"rules.{what}", pattern=pattern, reach=reach)
        ask_first(self.app, question, partial(self._change, what, rule))

    @work(group="change")
    async def _change(self, what: str, rule: ToolRule) -> None:
        try:
            client = await self._link.client()
            backend = client.backend
            await (backend.confirm_rule if what == "confirm" else backend.drop_rule)(rule.id)
        except AgentTuiError as error:
            self.app.notify(inert_line(str(error), MAX_ERROR_CHARACTERS), severity="error", markup=False)
        else:
            self.app.notify(say(f"rules.{what}.done"), markup=False)
        self._look()
