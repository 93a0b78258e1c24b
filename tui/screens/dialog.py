"""What all dialogs are: a screen that closes once, however many reasons come in to close it."""

from __future__ import annotations

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen, ScreenResultType


class Dialog(ModalScreen[ScreenResultType]):
    """Closes only itself. An answer may come in behind the key that went back: Textual's own would then close
    whatever stands below.
    """

    def dismiss(self, result: ScreenResultType | None = None) -> AwaitComplete:
        """Close with ``result``; nothing happens unless this is what stands on top."""
        if self.is_current:
            return super().dismiss(result)
        nothing: AwaitComplete = AwaitComplete.nothing()  # type: ignore[no-untyped-call]  # as Textual has it
        return nothing
