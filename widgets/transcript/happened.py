"""What a transcript tells: what the reader did in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.message import Message

from widgets.transcript.finding import Found

if TYPE_CHECKING:
    from widgets.transcript.transcript import Transcript

What = Literal["message", "code", "selection"]


class Happened(Message):
    """Something the reader did in ``transcript``."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self.transcript = transcript

    @property
    def control(self) -> Transcript:
        return self.transcript


class CopyRequested(Happened, namespace="transcript"):
    """``text`` is to be copied, Markdown as it was sent; empty when there is no such thing in sight."""

    def __init__(self, transcript: Transcript, text: str, what: What) -> None:
        super().__init__(transcript)
        self.text = text
        self.what: What = what


class SelectionChanged(Happened, namespace="transcript"):
    """Something is selected now, something else, or nothing any more."""


class FoundChanged(Happened, namespace="transcript"):
    """The search got on, or the reader went to another match."""

    def __init__(self, transcript: Transcript, found: Found) -> None:
        super().__init__(transcript)
        self.found = found


class FoldToggled(Happened, namespace="transcript"):
    """The reader folded or unfolded the step ``key``: at once, without another word from anybody."""

    def __init__(self, transcript: Transcript, key: str, *, is_folded: bool) -> None:
        super().__init__(transcript)
        self.key = key
        self.is_folded = is_folded


class FollowChanged(Happened, namespace="transcript"):
    """The end stays in sight from now on, or does not any more. Told once a frame at most."""


class Resized(Happened, namespace="transcript"):
    """The transcript has another size, or came into sight: other rows are seen than before."""
