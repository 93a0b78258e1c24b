"""Steps in a transcript: rows that fold and unfold under the reader's hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual import events

from widgets.transcript.finding import Match
from widgets.transcript.message import Message
from widgets.transcript.reading import FOUND_SHARE, Reading
from widgets.transcript.step import Step
from widgets.transcript.view import Place


class Folding(Reading):
    """The steps of a transcript, and what a reader does with them.

    What the reader folded or unfolded stays so, whatever comes and whatever the program wants.
    """

    class FoldToggled(Reading.Happened, namespace="transcript"):
        """The reader folded or unfolded the step ``key``: at once, without another word from anybody."""

        def __init__(self, transcript: Reading, key: str, *, is_folded: bool) -> None:
            super().__init__(transcript)
            self.key = key
            self.is_folded = is_folded

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's own word
        classes: str | None = None,
    ) -> None:
        super().__init__(name=name, id=id, classes=classes)
        self._messages: dict[str, Message] = {}

    def _came(self) -> None:
        """Have the transcript drawn with the next frame: something came in."""
        raise NotImplementedError

    # --- what comes in ---

    def step_opened(
        self,
        key: str,
        *,
        title: str,
        summary: str = "",
        sign: str = "",
        is_folded: bool,
        color: str = "",
        who: str = "",
        is_dim: bool = False,
        is_set_in: bool = False,
    ) -> None:
        """Begin a step; a known ``key`` is opened again, and its fold stays.

        ``title`` is its kind or tool and, after two spaces or a tab, what it is about; ``sign`` and
        ``summary`` stand at the right. The body comes by ``text_added`` or ``text_replaced``, as Markdown;
        ``turn_closed`` ends it. ``is_dim`` shows all of it dim; ``is_set_in`` has it begin where the names of
        spoken lines do.
        """
        message = self._messages.get(key)
        if message is None:
            step = Step(key, is_folded=is_folded, color=color, who=who, is_dim=is_dim, is_set_in=is_set_in)
            step.set_head(title, summary, sign)
            self._messages[key] = step
            self._view.messages.append(step)
        else:
            message.reopen()
            self.step_titled(key, title, summary, sign)
        self._came()

    def step_titled(self, key: str, title: str, summary: str = "", sign: str = "") -> None:
        """Let the head row of a step say so. O(1); the fold stays."""
        step = self._messages.get(key)
        if isinstance(step, Step) and step.set_head(title, summary, sign):
            self._reads_anew(step)
            self._came()

    def body_later(self, key: str, make: Callable[[], str], uncut: Callable[[], str] | None = None) -> None:
        """Let ``make()`` be the body of a step, called when it is unfolded or searched, and ``uncut()`` what
        is copied, where that is more. O(1) while it is folded: for steps that come by the thousand.
        """
        step = self._messages.get(key)
        if isinstance(step, Step):
            step.set_body(make, uncut)
            self._reads_anew(step)
            self._came()

    def fold(self, key: str, is_folded: bool) -> None:
        """Fold or unfold a step, unless the reader did so before."""
        step = self._messages.get(key)
        if isinstance(step, Step) and not step.is_kept and step.fold(is_folded):
            self._came()

    # --- what can be asked ---

    def is_folded(self, key: str) -> bool:
        """Whether ``key`` is a step that is folded."""
        step = self._messages.get(key)
        return isinstance(step, Step) and step.is_folded

    def step_at_reader(self) -> str:
        """Return the key of the step that the reader chose, else of the top-most one in sight; or ""."""
        number = self._step_at_reader()
        return self._view.messages[number].key if number >= 0 else ""

    def _step_at_reader(self) -> int:
        messages = self._view.messages
        if 0 <= self._chosen < len(messages) and isinstance(messages[self._chosen], Step):
            return self._chosen
        for place in self._view.visible:
            if place.message < len(messages) and isinstance(messages[place.message], Step):
                return place.message
        return -1

    # --- what the reader does ---

    def toggle(self, key: str = "") -> str:
        """Fold or unfold the step ``key``, else the one at the reader; return the key of it, or ""."""
        number = self._step_at_reader()
        if key:
            step = self._messages.get(key)
            number = self._view.messages.index(step) if step is not None else -1
        if number < 0 or not isinstance(step := self._view.messages[number], Step):
            return ""
        self._fold_by_reader(number, step, is_folded=not step.is_folded)
        return step.key

    def fold_all(
        self, which: Iterable[str] | str | None = None, *, is_folded: bool | None = None
    ) -> dict[str, bool]:
        """Fold or unfold steps for the reader: all, those with these keys, or those of one kind (a text:
        what their head rows begin with). Without ``is_folded``: fold if any is unfolded, else unfold.
        Return the keys of these steps, each with whether it is folded now.
        """
        if which is None or isinstance(which, str):
            steps = [
                step
                for step in self._view.messages
                if isinstance(step, Step) and (which is None or step.name == which)
            ]
        else:
            known = map(self._messages.get, which)
            steps = [step for step in known if isinstance(step, Step)]
        if is_folded is None:
            is_folded = any(not step.is_folded for step in steps)
        for step in steps:
            step.is_kept = True
            step.fold(is_folded)
        self._redraw()
        return {step.key: is_folded for step in steps}

    def on_click(self, event: events.Click) -> None:
        """Fold or unfold the step whose head row is clicked, and choose it."""
        place = self._place_at(event.y)
        if self._is_dragged or event.shift or event.button != 1 or place is None or place.part:
            return
        step = self._view.messages[place.message]
        row = event.y - self._head_height
        if isinstance(step, Step) and 0 <= row < len(self._view.visible):
            event.prevent_default()  # no words of it are selected by a second click
            self._choose(place.message)
            self._fold_by_reader(place.message, step, is_folded=not step.is_folded)

    def _fold_by_reader(self, number: int, step: Step, *, is_folded: bool) -> None:
        """Fold or unfold; where the end is followed, what is unfolded must not push its own head away."""
        view, head = self._view, Place(number, 0, 0)
        row = view.visible.index(head) if head in view.visible else -1
        step.is_kept = True
        step.fold(is_folded)
        if view.follow and not is_folded and row >= 0:
            view.frame()
            if head not in view.visible:
                view.show(head, above=row, is_held=False)
        elif is_folded:
            view.scroll(0)
        self._redraw()
        self.post_message(self.FoldToggled(self, step.key, is_folded=is_folded))

    def _reveal(self, match: Match) -> None:
        """Unfold the step that a match is in: the reader went there."""
        step = self._view.messages[match.message]
        if match.part and isinstance(step, Step) and step.is_folded:
            step.is_kept = True
            step.fold(is_folded=False)
            self.post_message(self.FoldToggled(self, step.key, is_folded=False))

    def go_to_message(self, number: int) -> None:
        """Bring the beginning of a message to the top; a step in sight is chosen where it stands."""
        index = max(1, min(number, self.message_count)) - 1
        if not self.message_count or not isinstance(self._view.messages[index], Step):
            super().go_to_message(number)
            return
        self._choose(index)
        head = Place(index, 0, 0)
        if head in self._view.visible:
            self._view.stay()
        else:
            self._view.show(head, above=self._view.height // FOUND_SHARE)
        self._redraw()
