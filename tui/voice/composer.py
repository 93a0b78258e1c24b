"""Where a person types instead of talking."""

from __future__ import annotations

from tui.forms.fields import own
from tui.live.composer import Writing
from tui.screens.words import say
from widgets.composer import Composer


class VoiceComposer(Writing):
    """Keeps the draft of one voice room. It sends nothing itself."""

    def __init__(self, room: str, *, ascii_only: bool = False) -> None:
        line = Composer(placeholder=own(say("voice.placeholder"), ascii_only=ascii_only), id="voice-line")
        super().__init__(f"voice {room}", line, ascii_only=ascii_only)

    def _show_note(self) -> None:
        self._note.show([self._told] if self._told else [])
        self._note.set_class(not self._told, "-empty")
