"""The files that the tools of a conversation changed: each with its diff, to be looked at and undone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.events import UNDONE, ChangedFile
from agent_tui.model.inert import inert_line, visible, visible_line
from tui.forms.fields import VimList, wrong
from tui.lists.order import ago
from tui.live import signs
from tui.live.key_hints import hints_of
from tui.live.opened import OpenConversation
from tui.live.pager import WHOLE, PagerScreen
from tui.screens.dialog import Dialog, ask_first
from tui.screens.localised import localised
from tui.screens.words import count, list_of, say
from widgets.status_line import StatusLine
from widgets.transcript.step_body import diff_body
from widgets.transcript.transcript import Transcript

MADE: Final = "made"
MAX_PATH_CHARACTERS: Final = 300
MAX_HEAD_CHARACTERS: Final = 200
MAX_PROBLEM_CHARACTERS: Final = 300


class ChangesScreen(Dialog[None]):
    """Lists the changes, newest first, under the question or agent they were for; shows the marked diff."""

    CSS_PATH = "changes.tcss"
    AUTO_FOCUS = "OptionList"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("u", "undo", "Undo the change", id="changes.undo"),
        Binding("U", "undo_answer", "Undo all changes of the answer", id="changes.undo_answer"),
        Binding("o", "open", "Show the whole diff", id="changes.open"),
        Binding("escape,D", "dismiss", "Back", id="changes.back"),
    ]

    def __init__(self, opened: OpenConversation[Any], called: Callable[[str], str]) -> None:
        """``called`` returns in a line what a message (by id) was for, "" if that is unknown."""
        super().__init__()
        self._opened = opened
        self._called = called
        self._host = host = opened.host
        self._changes: Sequence[ChangedFile] = ()
        self._rows: list[ChangedFile | None] = []  # None: a heading
        self._top = StatusLine(id="top")
        self._listed = VimList(markup=False, compact=True)
        self._note = Static(say("changes.loading"), classes="note", markup=False)
        self._diff = Transcript(clock=host.clock)
        self._bottom = StatusLine(is_dim=True)
        self._shown = ""  # the diff that is shown, as Markdown

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._listed
        yield self._note
        yield self._diff
        yield self._bottom

    def on_mount(self) -> None:
        self._listed.display = False
        self._diff.can_focus = False
        self._diff.turn_opened(WHOLE)
        self._show_lines()
        self._look()

    @property
    def _marked(self) -> ChangedFile | None:
        at = self._listed.highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    # --- what is shown ---------------------------------------------------------------------------------

    @work(group="look", exclusive=True)
    async def _look(self) -> None:
        try:
            self._take(await (await self._opened.client()).changed_files(self._opened.id))
        except AgentTuiError as error:
            self._note.update(wrong(localised(error), MAX_PROBLEM_CHARACTERS))

    def _take(self, changes: Sequence[ChangedFile]) -> None:
        """Show these changes; the mark stays on the same one."""
        marked = self._marked
        self._changes, self._rows = changes, []
        options: list[Option] = []
        before = ""
        for change in changes:
            if change.message_id != before:
                before = change.message_id
                self._rows.append(None)
                head = inert_line(self._called(before), MAX_HEAD_CHARACTERS) or say("changes.unknown")
                options.append(Option(Content(f" {head}"), disabled=True))
            self._rows.append(change)
            options.append(Option(self._row(change)))
        self._listed.set_options(options)
        self._listed.display = bool(changes)
        self._note.update(say("changes.untracked" if changes else "changes.none"))
        spots = [(row.message_id, row.step_id) if row is not None else None for row in self._rows]
        spot = (marked.message_id, marked.step_id) if marked is not None else ("", "")
        self._listed.highlighted = spots.index(spot) if spot in spots else 1 if changes else None
        self._show_marked()
        self._show_lines()
        self._listed.focus()

    def _row(self, change: ChangedFile) -> Content:
        counts = say("changes.lines", added=count(change.added), removed=count(change.removed))
        facts = [counts, *([say("changes.new")] if change.is_new else [])]
        facts.append(ago(change.created_at))
        if change.status != MADE:
            facts.append(say(f"changes.{change.status}"))
        is_over = change.status == UNDONE
        path = visible_line(change.path, MAX_PATH_CHARACTERS)
        style = "dim" if is_over else "bold"
        sign = signs.CUT if is_over else signs.DONE if change.status == MADE else " "
        detail = f"  {' · '.join(filter(None, facts))}"
        return Content.assemble(f"  {sign} ", (path, style), (detail, "dim"))

    def _show_marked(self) -> None:
        change = self._marked
        diff = "" if change is None else diff_body(visible(change.diff), visible(change.path), None)
        if diff != self._shown:
            self._shown = diff
            self._diff.text_replaced(WHOLE, diff)
            self._diff.turn_closed(WHOLE)
            self._diff.action_to_start()

    def _show_lines(self) -> None:
        folder = self._changes[0].folder if self._changes else ""
        number = len({change.path for change in self._changes if change.status != UNDONE})
        summary = say("changes.count", count=count(number)) if number else say("changes.all_undone")
        about = [summary] if self._changes else []
        where = [say("chat.workspace", folder=inert_line(folder, MAX_PATH_CHARACTERS))] if folder else []
        self._top.show([say("changes.title"), *about], right=where)
        change = self._marked
        hints = [("changes.undo", "hint.undo", 0)] if change is not None and change.status == MADE else []
        hints += [("changes.undo_answer", "hint.undo_answer", 1)] if self._undoable else []
        hints += [("changes.open", "hint.open_all", 2)] if change is not None else []
        self._bottom.show(hints_of(self, [*hints, ("changes.back", "hint.back", 0)]))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show_marked()
        self._show_lines()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        """Show the whole diff on a searchable screen of its own."""
        if (change := self._marked) is not None:
            title = visible_line(change.path, MAX_PATH_CHARACTERS)
            self.app.push_screen(PagerScreen(title, self._shown, self._host.clock))

    # --- undoing ---------------------------------------------------------------------------------------

    @property
    def _undoable(self) -> list[ChangedFile]:
        """The changes in the answer of the marked one that were not undone."""
        id_ = self._marked.message_id if self._marked is not None else ""
        return [change for change in self._changes if change.message_id == id_ and change.status != UNDONE]

    def action_undo(self) -> None:
        """Restore the file as it was before the change."""
        change = self._marked
        if change is not None and change.status == MADE:
            self._undo(change.message_id, change.step_id)
        elif change is not None:
            self._tell_why(change)

    def _tell_why(self, change: ChangedFile) -> None:
        """Say why a change cannot be undone."""
        path = visible_line(change.path, MAX_HEAD_CHARACTERS)
        self._host.tell(say(f"changes.why.{change.status}", path=path))

    def action_undo_answer(self) -> None:
        """Restore all files as they were before the answer, after a question."""
        if left := self._undoable:
            question = say("changes.sure", count=count(len(left)))
            ask_first(self.app, question, partial(self._undo, left[0].message_id))
        elif self._marked is not None:
            self._tell_why(self._marked)

    @work(group="undo")
    async def _undo(self, message_id: str, step_id: str = "") -> None:
        try:
            client = await self._opened.client()
            undone, left = await client.undo(self._opened.id, message_id, step_id)
        except AgentTuiError as error:
            self._host.fail(error)
        else:
            paths = dict.fromkeys(visible_line(change.path, MAX_HEAD_CHARACTERS) for change in undone)
            self._host.tell(say("changes.done", paths=list_of(paths)))
            for change in left:
                if change.status != UNDONE:
                    self._tell_why(change)
        self._look()
