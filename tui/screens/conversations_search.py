"""Words that were said, looked for in all chats."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Final

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from agent_tui.errors import AgentTuiError
from agent_tui.inert import inert_line
from tui.link import ChatLink
from tui.screens.form_fields import MAX_LINE_CHARACTERS, Line, own
from tui.screens.list_texts import ago
from tui.screens.words import count, say

if TYPE_CHECKING:
    from agent_tui.clients.chat_answers import Hit

MOST: Final = 50  # hits that are asked for
PAGE: Final = 5  # hits a page key goes on
MAX_TITLE_CHARACTERS: Final = 120
MAX_SNIPPET_CHARACTERS: Final = 600
BEGIN, END = "\x02", "\x03"  # around each match of a snippet


class SearchScreen(ModalScreen[tuple[str, str] | None]):
    """Closes with (conversation, message) that was chosen, or with nothing."""

    CSS_PATH = ["room_dialogs.tcss", "conversations.tcss"]  # noqa: RUF012 - as Textual wants it
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back", id="search.back", priority=True),
        Binding("up", "move(-1)", "The one above", id="search.up", show=False),
        Binding("down", "move(1)", "The one below", id="search.down", show=False),
        Binding("pageup", f"move(-{PAGE})", "Some up", id="search.page_up", show=False),
        Binding("pagedown", f"move({PAGE})", "Some down", id="search.page_down", show=False),
    ]

    def __init__(self, link: ChatLink, words: str = "", *, ascii_only: bool = False) -> None:
        super().__init__()
        self._link = link
        self._words = words
        self._ascii_only = ascii_only
        self._hits: list[Hit] = []

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog wide"):
            yield Static(say("search.title"), classes="title", markup=False)
            yield Line(self._words, placeholder=say("search.line"), id="search-line")
            yield Static(say("search.first"), classes="note", markup=False)
            yield OptionList(markup=False, compact=True)
            yield Static(own(say("search.hint"), ascii_only=self._ascii_only), classes="hint", markup=False)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while it is typed; what is asked already is let go."""
        event.stop()
        self._search(event.value.strip())

    @work(group="search", exclusive=True)
    async def _search(self, words: str) -> None:
        if not words:
            self._list([], say("search.first"))
            return
        if not self._hits:
            self._note(say("search.asking"))
        try:
            hits = await (await self._link.client()).search(words, MOST)
        except AgentTuiError as error:
            self._list([], inert_line(str(error), MAX_LINE_CHARACTERS))
            return
        if not hits:
            note = say("search.none")
        else:
            key = "search.found.most" if len(hits) >= MOST else "search.found"
            note = say(key, count=count(len(hits)))
        self._list(hits, note)

    def _note(self, text: str) -> None:
        self.query_one(".note", Static).update(own(text, ascii_only=self._ascii_only))

    def _list(self, hits: list[Hit], note: str) -> None:
        self._hits = hits
        self._note(note)
        listed = self.query_one(OptionList)
        listed.clear_options()
        now = datetime.now(UTC)
        listed.add_options(Option(self._content(hit, now)) for hit in hits)
        listed.highlighted = 0 if hits else None

    def _content(self, hit: Hit, now: datetime) -> Content:
        """Return a hit as it is listed: where it was said, by whom, when; then the words around it."""
        title = inert_line(hit.title, MAX_TITLE_CHARACTERS) or say("chat.untitled")
        who = {"user": "search.you", "assistant": "search.answer"}.get(hit.role)
        facts = [say(who)] if who else []
        facts += [when] if (when := ago(hit.created_at, now)) else []
        head = own(" · ".join(["", *facts]), ascii_only=self._ascii_only)
        return Content.assemble((title, "bold"), head, "\n  ", *snippet_of(hit.snippet))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Open what is highlighted."""
        event.stop()
        at = self.query_one(OptionList).highlighted
        if at is not None:
            self._choose(at)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Open what was clicked."""
        event.stop()
        self._choose(event.option_index)

    def _choose(self, at: int) -> None:
        if at < len(self._hits):
            self.dismiss((self._hits[at].conversation_id, self._hits[at].message_id))

    def action_move(self, step: int) -> None:
        """Highlight another one."""
        listed = self.query_one(OptionList)
        if self._hits:
            listed.highlighted = max(0, min((listed.highlighted or 0) + step, len(self._hits) - 1))


def snippet_of(text: str) -> list[str | tuple[str, str]]:
    """Return the words around a match, and the matches so that they are seen."""
    pieces: list[str | tuple[str, str]] = []
    for number, part in enumerate(text[:MAX_SNIPPET_CHARACTERS].split(BEGIN)):
        found, mark, rest = part.partition(END) if number else ("", "", part)
        if mark:
            pieces.append((_harmless(found), "bold underline"))
        pieces.append(_harmless(rest if mark or not number else found))
    return pieces


def _harmless(text: str) -> str:
    """Return one line of it, with the spaces at its ends."""
    return inert_line(f"|{text}|", MAX_SNIPPET_CHARACTERS + 2)[1:-1]
