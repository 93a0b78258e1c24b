"""The line of the home screen: a task becomes a room, a question becomes a chat."""

from __future__ import annotations

from typing import Literal

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static

from tui.live.drafts import LineDraft, add_past_text, past_texts
from tui.live.key_hints import keys_of
from tui.screens.words import say
from widgets.composer import Composer

Becomes = Literal["room", "chat"]
PROMPT = "› "
KEPT_AS = "home"  # the draft


class HomeAsk(Vertical):
    """One line to write, and below it what it will become. What is not sent is there at the next start."""

    class Asked(Message):
        """Posted when a person wrote a task for a room, or a question for a chat."""

        def __init__(self, text: str, becomes: Becomes) -> None:
            super().__init__()
            self.text = text
            self.becomes = becomes

    def __init__(self) -> None:
        super().__init__(id="ask")
        self.becomes: Becomes = "room"
        self.line = Composer(placeholder=say("home.ask.room"))
        self._draft = LineDraft(self, KEPT_AS, lambda: self.line.text)
        self._about = Static("", id="about", markup=False)

    def compose(self) -> ComposeResult:
        with Horizontal(id="ask-line"):
            yield Static(PROMPT, id="prompt", markup=False)
            yield self.line
        yield self._about

    def on_mount(self) -> None:
        """Restore the draft; say what the line is for, and what keys do while it is empty."""
        self.line.past = past_texts()
        self.line.put(self._draft.load())
        self.become(self.becomes)
        self.line.free_keys = dict.fromkeys(keys_of(self.screen, "app.help"), "app.help")

    def on_unmount(self) -> None:
        """Save the draft, with its last letters."""
        self._draft.keep()

    def sent(self, text: str) -> None:
        """Take away what became a room or a chat."""
        self.line.past = add_past_text(text)
        self.line.take_away(text)
        self._draft.keep()

    def become(self, becomes: Becomes) -> None:
        """Make the text become a room, or a chat."""
        self.becomes = becomes
        self.line.placeholder = say(f"home.ask.{becomes}")
        self.tell(say(f"home.about.{becomes}"))

    def tell(self, text: str) -> None:
        self._about.update(text)

    def turn(self) -> None:
        self.become("chat" if self.becomes == "room" else "room")

    def write(self, text: str = "") -> None:
        """Focus the line and append some text to it."""
        if not self.line.has_focus:
            self.line.focus()
        if text:
            self.line.insert(text)

    async def on_composer_ended(self, event: Composer.Ended) -> None:
        """Quit, like a shell at the end of its input."""
        event.stop()
        await self.run_action("app.leave")

    def on_composer_cleared(self, event: Composer.Cleared) -> None:
        event.stop()
        self.app.notify(say("composer.cleared"), markup=False)

    def on_text_area_changed(self) -> None:
        """Save the draft a moment later."""
        self._draft.keep_soon()

    def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Post what was written; the text stays until it was taken."""
        event.stop()
        self.post_message(self.Asked(event.text, self.becomes))
