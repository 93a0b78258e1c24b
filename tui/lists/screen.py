"""The list of rooms or of chats: it is live, can be filtered, and deletions can be undone."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, ClassVar, Final, Generic

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from agent_tui.clients.records import Hit
from agent_tui.model.events import LinkChanged
from agent_tui.model.inert import inert_line
from tui.lists.acts import Deletions, ListActs
from tui.lists.listing import Listing
from tui.lists.order import SORTS
from tui.lists.row_list import RowList
from tui.lists.texts import ItemMark, ListKind, T, heads_of
from tui.live import signs
from tui.live.key_hints import hints_of, key_of, say_keys
from tui.screens.dialog import RenameScreen
from tui.screens.localised import localised
from tui.screens.words import count, say
from widgets.status_line import Part, StatusLine

AGE_SECONDS: Final = 20.0  # how often "2 min ago" is updated
WIDE_CELLS: Final = 140  # from this width on there is a preview beside the rows
MAX_NEEDLE_CHARACTERS: Final = 200
MUTED: Final = "$text-muted"
FILTER_HINTS: Final = (("enter", "hint.keep", 0), ("list.clear", "hint.clear", 0))  # while it is typed
OF_ONE: Final = frozenset(  # actions on the row under the cursor
    ("open", "delete", "rename", "archive", "pause", "duplicate", "settings")
)
NEEDS: Final = {  # what a server must offer for an action, in the words of the client's ``missing``
    **dict.fromkeys(("new", "duplicate"), ("create",)),
    **dict.fromkeys(("rename", "archive", "settings"), ("change",)),
    **dict.fromkeys(("pause", "pause_all"), ("pause", "resume")),
    "delete": ("delete",),
}


class ListScreen(Screen[None], Generic[T]):
    """A list. It stays below what is opened from it, and follows its server again when that is left.

    A kind of list has a ``KIND``, with which the ids of its own bindings and the keys of its words begin.
    """

    CSS_PATH = "list.tcss"
    AUTO_FOCUS = "RowList"
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (WIDE_CELLS, "-wide")]  # noqa: RUF012 - as Textual wants it
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)  # see ``LiveScreen``
    KIND: ClassVar[str]
    RENAMES: ClassVar[str]  # the field that holds the name
    HINTS: ClassVar[tuple[tuple[str, str, int], ...]]  # as for ``hints_of``
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="list.open"),
        Binding("s", "search", "Search all rooms and chats", id="list.search"),
        Binding("d", "delete", "Delete", id="list.delete"),
        Binding("u", "undo", "Undo the deletion", id="list.undo"),
        Binding("R,f2", "rename", "Rename", id="list.rename"),
        Binding("a", "archive", "Archive or unarchive", id="list.archive"),
        Binding("A", "show_archived", "Show or hide what is archived", id="list.show_archived"),
        Binding("o", "sort", "Change the sort order", id="list.sort"),
        Binding("slash", "filter", "Filter the list", id="list.filter"),
        Binding("escape", "clear", "Clear the filter, or go back", id="list.clear"),
        Binding("up,k", "move(-1)", "Row above", id="list.up", show=False),
        Binding("down,j", "move(1)", "Row below", id="list.down", show=False),
        Binding("pageup", "move_pages(-1)", "Page up", id="list.page_up", show=False),
        Binding("pagedown", "move_pages(1)", "Page down", id="list.page_down", show=False),
        Binding("ctrl+u", "move_pages(-0.5)", "Half a page up", id="list.half_up", show=False),
        Binding("ctrl+d", "move_pages(0.5)", "Half a page down", id="list.half_down", show=False),
        Binding("home,g", "move(-1000000)", "First row", id="list.first", show=False),
        Binding("end,G", "move(1000000)", "Last row", id="list.last", show=False),
    ]

    class Searches(Message):
        """Posted to search for words in everything that was said."""

        def __init__(self, words: str = "") -> None:
            super().__init__()
            self.words = words

    class Opened(Message):
        """Posted when a room or chat was chosen, or a message in it; ``start`` for a new room that begins at
        once.
        """

        def __init__(self, item: Any, message_id: str = "", *, start: bool = False) -> None:
            super().__init__()
            self.item = item
            self.message_id = message_id
            self.start = start

    def __init__(self, acts: ListActs[Any, T], deletions: Deletions) -> None:
        super().__init__()
        self.listing: Listing[T] = acts.listing
        self.acts = acts
        self.deletions = deletions
        # Held, not looked up: an answer may come while the screen is being taken down.
        self._list = RowList(self.listing, acts.marks, id="list")
        self._heads = Static("", id="heads", markup=False)
        self._preview = Static("", id="preview", markup=False)
        self._body = Horizontal(Vertical(self._heads, self._list), self._preview, id="body")
        self._filter = Input(placeholder=say("list.filter"), id="filter", compact=True, select_on_focus=False)
        self._filter.max_length = MAX_NEEDLE_CHARACTERS
        self._filter.add_class("-hidden")
        self._top = StatusLine(id="top")
        self._bottom = StatusLine(id="bottom", is_dim=True)
        self._empty = Static("", id="empty", markup=False)
        self.early: list[Callable[[], object]] = []  # what keys do with the rows, once these are there

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._body
        yield self._empty
        yield self._filter
        yield self._bottom

    def on_mount(self) -> None:
        for item_id in self.deletions:
            _mark_deleted(self, item_id)
        self.set_interval(AGE_SECONDS, self._list.look)
        self.show_all()

    def on_screen_resume(self) -> None:
        """Continue following, where it stopped when a row was opened."""
        self._follow()

    def on_screen_suspend(self) -> None:
        """Stop following: the screen is not visible."""
        self.early.clear()
        self.workers.cancel_group(self, "follow")

    @work(group="follow", exclusive=True)
    async def _follow(self) -> None:
        await self.acts.follow()

    # --- what is shown ---------------------------------------------------------------------------------

    def show_all(self) -> None:
        if self.is_attached:
            self._list.look()
            self.show_lines()
            if not _is_loading(self):
                early, self.early = self.early, []
                for act in early:
                    act()

    @on(RowList.Moved)
    @on(DescendantFocus)
    def show_lines(self) -> None:
        """Show the counts, the state of the connection, and what can be done."""
        listing, acts = self.listing, self.acts
        middle = [Part(say(f"list.sort.{listing.sort}"), 1)] if listing.sort != SORTS[0] else []
        middle += [Part(say("list.with_archived"), 3)] if listing.shows_archived else []
        problem = server_state(acts.state)
        self._top.show([say(f"{self.KIND}.title")], middle, [problem] if problem else _counts(self))
        self._bottom.show(hints_of(self, FILTER_HINTS) if self._filter.has_focus else _hints(self))
        self._empty.set_class(len(listing) > 0, "-hidden")
        self._body.set_class(not len(listing), "-hidden")
        if not len(listing):
            self._empty.update(_invitation(self) if acts.is_known else say("list.loading"))
        elif (item := self._list.cursor) is not None:
            self._preview.update(_about(listing.kind, item))

    @on(RowList.Shaped)
    def _show_heads(self) -> None:
        self._heads.update(heads_of(self._list.shape, self.KIND))

    def tell(self, line: str, is_bad: bool) -> None:
        self.app.notify(line, severity="error" if is_bad else "information", markup=False)

    # --- what can be done ------------------------------------------------------------------------------

    def why(self, binding_id: str) -> str:
        """Return why an action is impossible, by its binding id: a word of "help.why", or ""."""
        action = binding_id.partition(".")[2]
        if self._list.cursor is None and action in {*OF_ONE, "pause_all"}:
            return "list_empty" if self.acts.is_known else "not_loaded"
        if any(call in (self.acts.missing or {}) for call in NEEDS.get(action, ())):
            return "list_not_offered"
        return "no_undo" if action == "undo" and not self.deletions else ""

    def item_for(self, action: str) -> T | None:
        """Return the item under the cursor, if the action can be done with it; else show why not."""
        item = self._list.cursor if may(self, action) else None
        if item is not None and item.id in self.deletions:
            self.tell(say("list.is_deleted", press=key_of(self, "list.undo")), False)
            return None
        return item

    @work(group="ask")
    async def do(self, act: Coroutine[Any, Any, object]) -> None:
        """Do it in the background."""
        await act

    def go_to(self, item: T) -> None:
        """Put the cursor on an item, also on a new one."""
        if self.listing.get(item.id) is None:
            self.acts.take(item)
        self._list.go_to(item.id)
        self.show_all()

    def action_move(self, rows: int) -> None:
        _with_rows(self, partial(self._list.move, rows))

    def action_move_pages(self, pages: float) -> None:
        _with_rows(self, partial(self._list.move_pages, pages))

    def action_open(self) -> None:
        _with_rows(self, partial(_open, self))

    def on_row_list_chosen(self) -> None:
        self.call_later(self.run_action, "open")

    def open_found(self, hit: Hit) -> None:
        """Open what a search found."""
        raise NotImplementedError

    def action_rename(self) -> None:
        if (item := self.item_for("rename")) is not None:
            before = getattr(item, self.RENAMES)
            self.app.push_screen(RenameScreen(before, say("list.rename")), partial(self._rename, item))

    def _rename(self, item: T, name: str | None) -> None:
        if name:
            self.do(self.acts.change(item, **{self.RENAMES: name}))

    def action_archive(self) -> None:
        if (item := self.item_for("archive")) is not None:
            self.do(_archive(self, item))

    def action_show_archived(self) -> None:
        self.listing.arrange(archived=not self.listing.shows_archived)
        self._follow()  # follows again at once, with what was left out before
        self.show_all()

    def action_sort(self) -> None:
        following = (SORTS.index(self.listing.sort) + 1) % len(SORTS)
        self.listing.arrange(sort=SORTS[following])
        self.show_all()

    # --- deleting, which can be undone --------------------------------------------------------------------

    def action_delete(self) -> None:
        """Delete the item when the program is left, unless that is undone."""
        if (item := self.item_for("delete")) is not None:
            self.deletions.add(item.id)
            _mark_deleted(self, item.id)
            self.do(self.acts.rest(item))
            self.show_all()

    def action_undo(self) -> None:
        if item_id := self.deletions.undo():
            self.app.clear_notifications()  # one of them may say how to undo this
            self.acts.marks.pop(item_id, None)
            self._list.go_to(item_id)
            self.show_all()

    # --- looking for some --------------------------------------------------------------------------------

    def action_search(self) -> None:
        self.post_message(self.Searches(self.listing.needle))

    def action_filter(self) -> None:
        self._filter.remove_class("-hidden")
        self._filter.focus()

    def on_input_changed(self, event: Input.Changed) -> None:
        """List the items that match while it is typed."""
        self.listing.arrange(needle=event.value)
        self.show_all()

    def on_input_submitted(self) -> None:
        self._filter.set_class(not self._filter.value, "-hidden")
        self._list.focus()

    async def action_clear(self) -> None:
        """List all items again; if all are listed, go back to the home screen below, if there is one."""
        if self.listing.needle or self._filter.has_focus:
            self._filter.value = ""
            self.on_input_submitted()
        else:
            await self.run_action("app.leave_list")


def _is_loading(screen: ListScreen[Any]) -> bool:
    """Whether the rows are on their way; not while its server cannot be reached."""
    return not screen.acts.is_known and screen.acts.state.status == "live"


def _with_rows(screen: ListScreen[Any], act: Callable[[], object]) -> None:
    """Do it now, or as soon as the rows are there, unless another screen is opened first."""
    if _is_loading(screen):
        screen.early.append(act)
    else:
        act()


def _open(screen: ListScreen[Any]) -> None:
    if (item := screen.item_for("open")) is not None:
        screen.post_message(screen.Opened(item))


def may(screen: ListScreen[Any], action: str) -> bool:
    """Return whether an action can be done now; if not, show why."""
    why = screen.why(f"list.{action}")
    if why:
        screen.tell(say(f"help.why.{why}"), False)
    return not why


async def _archive(screen: ListScreen[T], item: T) -> None:
    """Archive an item, or take it out; say how to find what the list no longer shows."""
    await screen.acts.change(item, archived=not item.archived)
    now = screen.listing.get(item.id)
    if now is not None and now.archived and not screen.listing.shows_archived:
        screen.tell(say("list.archived", press=key_of(screen, "list.show_archived")), False)


def _mark_deleted(screen: ListScreen[Any], item_id: str) -> None:
    screen.acts.marks[item_id] = ItemMark(is_deleted=True, undo=key_of(screen, "list.undo"))


def server_state(link: LinkChanged) -> str:
    """Return what is wrong with the connection; "" while it is live."""
    if link.status == "connecting":
        return localised(link.detail)
    if link.status == "waiting":
        return say("list.waiting", title=localised(inert_line(link.detail)), seconds=round(link.delay))
    if link.status == "refused":
        return f"{signs.FAILED} {say('link.refused', detail=localised(inert_line(link.detail)))}"
    return ""


def _counts(screen: ListScreen[Any]) -> list[Part]:
    """Return how many items there are and how many are running, or how many match the filter."""
    items = screen.listing.known
    if not screen.acts.is_known:
        return []
    if screen.listing.needle:
        return [Part(say("list.found", found=count(len(screen.listing)), all=count(len(items))))]
    running = sum(item.status == "running" for item in items)
    counts = Part(say("list.count", running=count(running), all=count(len(items))))
    return [counts, *hints_of(screen, [("list.filter", "list.hint.filter", 2)])]


def _hints(screen: ListScreen[Any]) -> list[Part]:
    """Return what keys do with the row under the cursor."""
    clear = [("list.clear", "hint.clear", 0)] if screen.listing.needle else []
    return hints_of(screen, [*clear, *(hint for hint in screen.HINTS if not screen.why(hint[0]))])


def _about(kind: ListKind[T], item: T) -> Content:
    """Return the preview of an item: its name, and paragraphs with a label above each."""
    labelled = [(say(f"list.preview.{label}"), text) for label, text in kind.preview(item)]
    parts = [Content.assemble((label, MUTED), "\n", text) for label, text in labelled if text]
    name = Content.styled(kind.name_of(item), "bold")
    return Content("\n\n").join([name, *parts])


def _invitation(screen: ListScreen[Any]) -> Content:
    """Return what an empty list says, with the keys that fill it."""
    named = {"new": f"{screen.KIND}.new", "clear": "list.clear", "other": "app.lists", "setup": "app.setup"}
    named |= {"archived": "list.show_archived"}
    keys = {name: key_of(screen, binding_id) or "-" for name, binding_id in named.items()}
    empty = "list.all_archived" if screen.listing.items else f"{screen.KIND}.empty"
    return say_keys("list.nothing" if screen.listing.needle else empty, keys)
