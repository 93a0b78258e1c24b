"""What the lists of rooms and of chats share: they are live, can be filtered, and deletions can be undone."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from functools import partial
from typing import Any, ClassVar, Final, Generic

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import DescendantFocus
from textual.message import Message
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Static

from tui.link import Link
from tui.lists.acts import Deletions, ListActs
from tui.lists.board import FilterBar, ListBody, SetupOffer, server_state
from tui.lists.listing import SORT_KEYS, Listing, T
from tui.lists.row_list import RowList
from tui.lists.texts import ItemMark, ListHint
from tui.live.key_hints import hints_of, key_of, say_keys
from tui.screens.dialog import RenameScreen
from tui.screens.words import count, say
from widgets.status_line import Part, StatusLine

AGE_SECONDS: Final = 20.0  # how often "2 min ago" is updated


def keys_of(one: str, rename: str) -> list[BindingType]:
    """Return the keys of all lists; ``one`` is what is listed, "room"; ``rename`` says what that key does."""
    kind = f"{one}s"
    return [
        Binding("d", "delete", f"Delete the {one}", id=f"{kind}.delete"),
        Binding("u", "undo", "Undo the deletion", id=f"{kind}.undo"),
        Binding("R,f2", "rename", rename, id=f"{kind}.rename"),
        Binding("a", "archive", f"Archive or unarchive the {one}", id=f"{kind}.archive"),
        Binding("A", "show_archived", f"Show or hide archived {kind}", id=f"{kind}.show_archived"),
        Binding("o", "sort", "Change the sort order", id=f"{kind}.sort"),
        Binding("slash", "filter", f"Filter the {kind}", id=f"{kind}.filter"),
        Binding("escape", "clear", "Clear the filter", id=f"{kind}.clear"),
        Binding("up,k", "move(-1)", f"Previous {one}", id=f"{kind}.up", show=False),
        Binding("down,j", "move(1)", f"Next {one}", id=f"{kind}.down", show=False),
        Binding("pageup", "move_pages(-1)", "Page up", id=f"{kind}.page_up", show=False),
        Binding("pagedown", "move_pages(1)", "Page down", id=f"{kind}.page_down", show=False),
        Binding("ctrl+u", "move_pages(-0.5)", "Half a page up", id=f"{kind}.half_up", show=False),
        Binding("ctrl+d", "move_pages(0.5)", "Half a page down", id=f"{kind}.half_down", show=False),
        Binding("home,g", "move(-1000000)", f"First {one}", id=f"{kind}.first", show=False),
        Binding("end,G", "move(1000000)", f"Last {one}", id=f"{kind}.last", show=False),
    ]


class ListScreen(Screen[None], Generic[T]):
    """A list. It stays below what is opened from it, and follows its server again when that is left.

    A kind of list has a ``KIND``, with which the ids of its bindings and the keys of its words begin, and its
    own way to open a row.
    """

    CSS_PATH = "list.tcss"
    AUTO_FOCUS = "RowList"
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)  # see ``RoomScreen``
    KIND: ClassVar[str]
    RENAMES: ClassVar[str]  # the field that holds the name
    HINTS: ClassVar[tuple[ListHint, ...]]
    # What a server must offer for an action, in the words of the client's ``missing``.
    NEEDS: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "new": ("create",),
        "delete": ("delete",),
        "rename": ("change",),
        "archive": ("change",),
    }
    # The actions on the row under the cursor.
    OF_ONE: ClassVar[frozenset[str]] = frozenset({"open", "delete", "rename", "archive"})

    class Searches(Message):
        """Posted to search for words in everything that was said."""

        def __init__(self, words: str = "") -> None:
            super().__init__()
            self.words = words

    def __init__(
        self,
        link: Link[Any],
        listing: Listing[T],
        acts: ListActs[Any, T],
        deletions: Deletions | None,
    ) -> None:
        """``deletions`` are the program's, if it has some for this kind."""
        super().__init__()
        self.listing = listing
        self.acts = acts
        self.deletions = Deletions(link) if deletions is None else deletions
        self._link = link
        # Held, not looked up: an answer may come while the screen is being taken down.
        self._list = RowList(listing, acts.marks, id="list")
        self._body = ListBody(self._list, listing, self.KIND)
        self._filter = FilterBar(self.words("filter"), self.look_for, self._list)
        self._offer = SetupOffer(link)
        self._top = StatusLine(id="top")
        self._bottom = StatusLine(id="bottom", is_dim=True)
        self._empty = Static("", id="empty", classes="-hidden", markup=False)

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._body
        yield self._empty
        yield self._filter
        yield self._offer
        yield self._bottom

    def on_mount(self) -> None:
        for item_id in self.deletions:
            self._mark_deleted(item_id)
        self.set_interval(AGE_SECONDS, self._list.look)
        self.show_all()

    def on_screen_resume(self) -> None:
        """Continue following, where it stopped when a row was opened."""
        self._follow()
        if self._link.is_embedded:
            self._offer.look(key_of(self, "app.setup"))

    def on_screen_suspend(self) -> None:
        """Stop following: the screen is not visible."""
        self.workers.cancel_group(self, "follow")

    def words(self, key: str, **fields: object) -> str:
        return say(f"{self.KIND}.{key}", **fields)

    def _follow(self) -> None:
        self.run_worker(self.acts.follow(), group="follow", exclusive=True)

    # --- what is shown ---------------------------------------------------------------------------------

    def show_all(self) -> None:
        if not self.is_attached:
            return
        self._list.look()
        self.show_lines()

    @on(RowList.Moved)
    @on(DescendantFocus)
    def show_lines(self) -> None:
        """Show the counts, the state of the connection, and what can be done."""
        listing, acts = self.listing, self.acts
        middle = [Part(say(f"list.sort.{listing.sort}"), 1)] if listing.sort != "activity" else []
        if listing.shows_archived:
            middle.append(Part(self.words("with_archived"), 3))
        problem = server_state(acts.state)
        self._top.show([self.words("title")], middle, [problem] if problem else _heading(self))
        self._bottom.show(self._filter.hints(self.KIND) or _hints(self))
        self._empty.set_class(len(listing) > 0, "-hidden")
        if not len(listing):
            self._empty.update(_invitation(self) if acts.is_known else say("list.loading"))
        self._body.look()

    def tell(self, line: str, is_bad: bool) -> None:
        self.app.notify(line, severity="error" if is_bad else "information", markup=False)

    # --- what can be done ------------------------------------------------------------------------------

    def why(self, binding_id: str) -> str:
        """Return why an action, or that of a binding id, is impossible: a word of "help.why", or ""."""
        action = binding_id.removeprefix(f"{self.KIND}.")
        if action in self.OF_ONE and self._list.cursor is None:
            return f"{self.KIND}_none"
        if action == "undo" and not self.deletions:
            return "no_undo"
        if action == "clear" and not self.listing.needle:
            return f"{self.KIND}_all"
        if any(call in self.acts.missing for call in self.NEEDS.get(action, ())):
            return "list_not_offered"
        return ""

    def can(self, action: str) -> bool:
        """Return whether an action can be done now; if not, show why."""
        why = self.why(action)
        if why:
            self.tell(say(f"help.why.{why}"), False)
        return not why

    def one_for(self, action: str) -> T | None:
        """Return the item under the cursor, if the action can be done with it; else show why not."""
        item = self._list.cursor
        if not self.can(action) or item is None:
            return None
        if item.id in self.deletions:
            self.tell(say("list.is_deleted", press=key_of(self, f"{self.KIND}.undo")), False)
            return None
        return item

    @work(group="ask")
    async def do(self, act: Coroutine[Any, Any, object]) -> None:
        """Do it in the background."""
        await act

    def action_move(self, rows: int) -> None:
        self._list.move(rows)

    def action_move_pages(self, pages: float) -> None:
        self._list.move_pages(pages)

    def on_row_list_chosen(self) -> None:
        self.call_later(self.run_action, "open")

    def action_rename(self) -> None:
        item = self.one_for("rename")
        if item is not None:
            name, title = self.listing.kind.name_of(item), self.words("rename")
            self.app.push_screen(RenameScreen(name, title), partial(self._rename, item))

    def _rename(self, item: T, name: str | None) -> None:
        if name:
            self.do(self.acts.change(item, **{self.RENAMES: name}))

    def action_archive(self) -> None:
        item = self.one_for("archive")
        if item is not None:
            self.do(self.acts.change(item, archived=not item.archived))

    def action_show_archived(self) -> None:
        self.listing.arrange(archived=not self.listing.shows_archived)
        self._follow()  # follows again at once, with what was left out before
        self.show_all()

    def action_sort(self) -> None:
        following = (SORT_KEYS.index(self.listing.sort) + 1) % len(SORT_KEYS)
        self.listing.arrange(sort=SORT_KEYS[following])
        self.show_all()

    # --- deleting, which can be undone --------------------------------------------------------------------

    def action_delete(self) -> None:
        """Delete the item when the program is left, unless that is undone."""
        item = self.one_for("delete")
        if item is not None:
            self.deletions.add(item.id)
            self._mark_deleted(item.id)
            self.do(self.acts.rest(item, self.deletions.resting))
            self.show_all()

    def _mark_deleted(self, item_id: str) -> None:
        self.acts.marks[item_id] = ItemMark(is_deleted=True, undo=key_of(self, f"{self.KIND}.undo"))

    def action_undo(self) -> None:
        if self.can("undo"):
            item_id = self.deletions.undo()
            self.app.clear_notifications()  # one of them may say how to undo this
            self.acts.marks.pop(item_id, None)
            self.do(self.acts.wake(item_id, self.deletions.resting))
            self._list.go_to(item_id)
            self.show_all()

    # --- looking for some --------------------------------------------------------------------------------

    def action_filter(self) -> None:
        self._filter.open()

    def look_for(self, words: str) -> None:
        """List the items that match."""
        self.listing.arrange(needle=words)
        self.show_all()

    def action_search(self) -> None:
        if self.can("search"):
            self.post_message(self.Searches(self.listing.needle))

    async def action_clear(self) -> None:
        """List all items again; if all are listed, go back to the home screen below, if there is one."""
        if self.listing.needle or self._filter.is_typed:
            self._filter.clear()
        else:
            await self.run_action("app.leave_list")


def _heading(screen: ListScreen[Any]) -> list[Part]:
    """Return how many items there are and how many are running, or how many match the filter."""
    listing = screen.listing
    if not screen.acts.is_known:
        return []
    if listing.needle:
        return [Part(screen.words("found", found=count(len(listing)), all=count(listing.total)))]
    heads = Part(screen.words("count", running=count(listing.running), all=count(listing.total)))
    return [heads, *hints_of(screen, [(f"{screen.KIND}.filter", "list.hint.filter", 2)])]


def _hints(screen: ListScreen[Any]) -> list[Part]:
    """Return what keys do with the row under the cursor."""
    hints = [(f"{screen.KIND}.clear", "hint.clear", 0)] if screen.listing.needle else []
    for hint in screen.HINTS:
        if not screen.why(hint.binding_id):
            word = hint.word if isinstance(hint.word, str) else hint.word(screen.listing.items)
            if word:
                hints.append((hint.binding_id, f"list.hint.{word}", hint.rank))
    return hints_of(screen, hints)


def _invitation(screen: ListScreen[Any]) -> Content:
    """Return what an empty list says, with the keys that fill it."""
    named = {name: f"{screen.KIND}.{name}" for name in ("new", "clear")}
    named |= {"other": "app.lists", "setup": "app.setup"}
    keys = {name: key_of(screen, binding_id) or "-" for name, binding_id in named.items()}
    return say_keys(f"{screen.KIND}.{'nothing' if screen.listing.needle else 'empty'}", keys)
