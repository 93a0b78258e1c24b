"""Where a person writes to the room: what waits, what is meant, and the lines themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Literal

from rich.cells import cell_len
from textual import on
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.message import Message
from textual.widget import Widget

from agent_tui.model.inert import inert_line
from agent_tui.state.conversation import ConversationState
from tui.live.commands import completion
from tui.live.composer import Writing
from tui.live.drafts import add_past_text
from tui.room.texts import labels_of, queued_words
from tui.screens.words import say
from widgets.choices import Completion, Suggestion
from widgets.composer import AT, Composer, name_begun, whispered
from widgets.fuzzy import match
from widgets.status_line import StatusLine

When = Literal["next", "now"]


class RoomComposer(Writing):
    """Keeps the draft of one room. It sends nothing itself."""

    DEFAULT_CSS = """
    RoomComposer .composer--when { width: 16; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "when", "Send now or next turn", id="composer.when", priority=True),
    ]

    class WhenChanged(Message):
        """The other moment was chosen."""

    def __init__(self, room_id: str) -> None:
        super().__init__(room_id, Composer(placeholder=say("composer.empty"), completer=self._complete))
        self._names: Sequence[str] = ()
        self.when: When = "next"
        self._may_cut = False  # "now" cuts off who is speaking
        self._meant = StatusLine(is_dim=True, classes="composer--when -empty")

    def _beside(self) -> list[Widget]:
        return [self._meant]

    # --- what is shown ---------------------------------------------------------------------------------

    def show(self, state: ConversationState, key: str) -> None:
        """Show the newest queued message and its ``key``, and know who can be whispered to or cut off."""
        self._names = list(labels_of(state))
        self._may_cut = state.room.status == "running"
        self._meant.set_class(not self._may_cut, "-empty")
        if not self._may_cut:
            self._set_when("next")
        queued: list[tuple[str, int]] = []
        if state.queue:
            line = say("queue.line", words=queued_words(state, state.queue[-1]))
            queued = [(line, len(state.queue))]
        self._show_queued(queued, key)

    def _complete(self, text: str) -> Completion:
        """Return commands, or the agents that a whisper may be for."""
        found = completion(text, "room")
        if found.choices or not text.startswith(AT) or "\n" in text:
            return found
        fits = [(fit, name) for name in self._names if (fit := match(text[1:], name)) is not None]
        if len(text) > 1:
            fits.sort(key=lambda pair: pair[0].rank)
        about = say("composer.whisper.about")
        choices = [Suggestion(inert_line(name, 60), f"{AT}{name}", about, fit.places) for fit, name in fits]
        return Completion(len(text), tuple(choices))

    def _show_note(self) -> None:
        text, note = self.line.text, self._told
        name, _ = whispered(text, self._names)
        if not note and name:
            note = say("composer.whisper", name=inert_line(name, 40))
        elif not note and (word := name_begun(text)) and text[1:] != word:
            note = say("composer.whisper.nobody", name=inert_line(word, 40))
        self._show_in_note(note)
        meant = say(f"composer.when.{self.when}")
        self._meant.show(right=[meant])
        self._meant.styles.width = cell_len(meant) + 3

    # --- what is written -------------------------------------------------------------------------------

    def sent(self, text: str) -> None:
        """Remove and remember what was sent. ``now`` holds for one message only: it cuts agents off."""
        self.line.take_away(text)
        self.line.past = add_past_text(text)
        self._set_when("next")
        self.tell("")
        self.draft.keep()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave the key to the list of completions while that is open; nobody is cut off in a paused room."""
        return action != "when" or (self._may_cut and not self.line.choices.is_open)

    @on(Click, ".composer--when")
    def action_when(self) -> None:
        if not self._may_cut:
            return
        self.open()
        self._set_when("now" if self.when == "next" else "next")

    def _set_when(self, when: When) -> None:
        if when != self.when:
            self.when = when
            self._show_note()
            self.post_message(self.WhenChanged())
