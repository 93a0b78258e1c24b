"""Search in all rooms and chats: in titles, and in everything that was said."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text
from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.widgets import Input

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert_line
from tui.forms.fields import MAX_LINE_CHARACTERS, Line
from tui.link import ChatLink
from tui.lists.order import ago
from tui.lists.texts import without_markdown
from tui.screens.dialog import Dialog, framed
from tui.screens.line_and_list import LineAndList, keys_of
from tui.screens.localised import localised
from tui.screens.words import count, say

if TYPE_CHECKING:
    from agent_tui.clients.records import Hit

MOST: Final = 50  # hits that are requested
INDENT: Final = 2  # cells before the words that were found
MAX_TITLE_CHARACTERS: Final = 60
MAX_SNIPPET_CHARACTERS: Final = 600
MAX_LEAD_CHARACTERS: Final = 30  # before the first match, which should be in sight
BEGIN, END = "\x02", "\x03"  # around each match of a snippet


class SearchScreen(Dialog["Hit | None"]):
    """Closes with the hit that was chosen, or with ``None``."""

    CSS_PATH = ["../screens/room_dialogs.tcss", "conversations.tcss"]  # noqa: RUF012 - as Textual wants it
    BINDINGS: ClassVar[list[BindingType]] = keys_of("search", "Back")

    def __init__(self, link: ChatLink, words: str = "") -> None:
        super().__init__()
        self._link = link
        line = Line(words, placeholder=say("search.line"), id="search-line")
        self._part = LineAndList(line, say("search.first"), note_first=True)
        self._hits: list[Hit] = []
        self._found_for = ""  # the words of the current hits

    def compose(self) -> ComposeResult:
        yield framed(say("search.title"), self._part, hint=say("search.hint"))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Search while the words are typed; an earlier request is cancelled."""
        event.stop()
        self._search(self._part.typed)

    @work(group="search", exclusive=True)
    async def _search(self, words: str) -> None:
        if not words:
            self._list([], words, say("search.first"))
            return
        if not self._hits:
            self._part.note.update(say("find.searching"))
        try:
            hits = await (await self._link.client()).search(words, MOST)
        except AgentTuiError as error:
            self._list([], "", localised(inert_line(str(error), MAX_LINE_CHARACTERS)))
            return
        key = ("search.found.most" if len(hits) >= MOST else "find.count") if hits else "search.none"
        self._list(hits, words, say(key, count=count(len(hits))))

    def _list(self, hits: list[Hit], words: str, note: str) -> None:
        self._hits, self._found_for = hits, words
        self._part.note.update(note)
        self._part.show([self._row(hit) for hit in hits], 0 if hits else None)

    def _row(self, hit: Hit) -> RenderableType:
        """Return a hit as it is listed: place, speaker and time; below them what was found. Each is in
        one row that is cut where it is too long.
        """
        who = {"user": "search.you", "assistant": "search.answer"}.get(hit.role)
        facts = [say("search.room")] if hit.kind == "room" else []
        facts += [say(who)] if who else []
        facts += [when] if (when := ago(hit.created_at)) else []
        about = " · ".join(["", *facts])
        found = snippet_of(hit.snippet)
        if not hit.message_id:
            return _one_row(Text.assemble(*found, style="bold"), about)
        title = inert_line(hit.title, MAX_TITLE_CHARACTERS) or say("chat.untitled")
        return Group(_one_row((title, "bold"), about), Padding(_one_row(*found), (0, 0, 0, INDENT)))

    def on_line_and_list_taken(self, event: LineAndList.Taken) -> None:
        """Close with the hit that was taken, unless others are being searched."""
        if event.at is not None and self._part.typed == self._found_for:
            self.dismiss(self._hits[event.at])

    def action_move(self, step: int) -> None:
        self._part.move(step)


def _one_row(*pieces: str | Text | tuple[str, str]) -> Text:
    return Text.assemble(*pieces, no_wrap=True, overflow="ellipsis")


def snippet_of(text: str) -> list[str | tuple[str, str]]:
    """Return the words around a match, without Markdown signs, with the matches marked: the first is near."""
    pieces: list[str | tuple[str, str]] = []
    lead, *others = without_markdown(text[:MAX_SNIPPET_CHARACTERS]).split(BEGIN)
    if others and len(lead) > MAX_LEAD_CHARACTERS:
        lead = f"…{lead[-MAX_LEAD_CHARACTERS:]}"
    for number, part in enumerate([lead, *others]):
        found, mark, rest = part.partition(END) if number else ("", "", part)
        if mark:
            pieces.append((_harmless(found), "bold underline"))
        pieces.append(_harmless(rest if mark or not number else found))
    return pieces


def _harmless(text: str) -> str:
    """Return one safe line, with the spaces at its ends."""
    return inert_line(f"|{text}|", MAX_SNIPPET_CHARACTERS + 2)[1:-1]
