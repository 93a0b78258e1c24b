"""The messages that a transcript posts when the reader did something."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from textual.message import Message

from widgets.transcript.finding import FindCount

if TYPE_CHECKING:
    from widgets.transcript.transcript import Transcript

What = Literal["message", "code", "selection"]


class Happened(Message):
    """The reader did something in ``transcript``."""

    def __init__(self, transcript: Transcript) -> None:
        super().__init__()
        self.set_sender(transcript)  # a message never goes above its sender, which may be a screen's timer
        self.transcript = transcript

    @property
    def control(self) -> Transcript:
        return self.transcript


class CopyRequested(Happened, namespace="transcript"):
    """``text`` is to be copied, Markdown as it was sent; empty if there is nothing of that kind."""

    def __init__(self, transcript: Transcript, text: str, what: What) -> None:
        super().__init__(transcript)
        self.text = text
        self.what: What = what


class SelectionChanged(Happened, namespace="transcript"):
    """The selection changed, or there is none anymore."""


class FoundChanged(Happened, namespace="transcript"):
    """The search continued, or the reader went to another match."""

    def __init__(self, transcript: Transcript, found: FindCount) -> None:
        super().__init__(transcript)
        self.found = found


class FollowChanged(Happened, namespace="transcript"):
    """The transcript follows its end from now on, or no longer does. Posted at most once a frame."""


class Resized(Happened, namespace="transcript"):
    """The transcript has another size, or became visible: other rows are visible than before."""
