"""The composer of a chat: the queue, the attachments, and the lines themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from textual import events, work

from agent_tui.model.events import Attachment
from agent_tui.model.images import bytes_of
from agent_tui.model.inert import inert, inert_line
from agent_tui.paths import current_folder
from tui.chat.drafts import KeptDraft, Waiting, keep_draft, load_draft
from tui.chat.files import (
    MOST,
    Files,
    Unfit,
    begun_in,
    is_long,
    pasted_paths,
    path_in_question,
    read_all,
    room_beside,
)
from tui.live import commands
from tui.live.composer import Writing
from tui.live.drafts import add_past_text
from tui.screens.localised import localised
from tui.screens.words import count, say
from widgets.choices import Completion, Suggestion
from widgets.composer import Composer, with_line_ends
from widgets.fuzzy import places
from widgets.units import size

BETWEEN: Final = " · "
MOST_CANDIDATES: Final = 30
MAX_SHOWN_CHARACTERS: Final = 120


class ChatLine(Composer):
    """``takes_paste`` gets each pasted text and returns whether it became an attachment; ``drop`` removes
    the last attachment.
    """

    def __init__(
        self,
        completer: Callable[[str], Completion],
        takes_paste: Callable[[str], bool],
        drop: Callable[[], None],
    ) -> None:
        super().__init__(may_be_empty=True, completer=completer, id="chat-line")
        self._takes_paste = takes_paste
        self._drop = drop

    def action_delete_left(self) -> None:
        """Delete to the left; if there is nothing, remove the last attachment."""
        if self.text:
            super().action_delete_left()
        else:
            self._drop()

    def on_paste(self, event: events.Paste) -> None:
        """Attach a path or a long text."""
        if self._takes_paste(with_line_ends(event.text)):
            event.prevent_default()
            event.stop()


class ChatComposer(Writing):
    """Keeps the draft of one chat, its attachments and its queue. It sends nothing itself."""

    def __init__(self, conversation_id: str) -> None:
        line = ChatLine(self._complete, self._takes_paste, self._drop)
        super().__init__(conversation_id, line)
        self.line: ChatLine = line
        self._kept_as = conversation_id
        self._edited: tuple[str, tuple[Attachment, ...]] | None = None  # the draft, during an edit
        self._pastes = 0
        self.files = Files(Path(current_folder() or ""))
        self.attachments: tuple[Attachment, ...] = ()
        self.queue: tuple[Waiting, ...] = ()
        self.queue_key = "u"  # opens the queue
        self.is_busy = False  # an answer is being given
        line.placeholder = say("chat.placeholder")

    def on_mount(self) -> None:
        """Hold the queue of an earlier run until the person says so."""
        kept = load_draft(self._kept_as)
        self.attachments, self.queue = kept.attachments, _with_hold(kept.queue)

    def belongs_to(self, conversation_id: str) -> None:
        """Keep everything under another id: a new chat was stored."""
        keep_draft(self._kept_as, KeptDraft())
        self._kept_as = conversation_id
        self._keep()
        self.draft.belongs_to(conversation_id)

    # --- what is shown ---------------------------------------------------------------------------------

    @property
    def is_editing(self) -> bool:
        return self._edited is not None

    def _show_note(self) -> None:
        self.show()

    def show(self) -> None:
        """Show the queue, the attachments, and what the line is for."""
        if not self.is_mounted:
            return
        going = [waits for waits in self.queue if not waits.is_held]
        held = [waits for waits in self.queue if waits.is_held]
        queued = [(waiting_line(some[0]), len(some)) for some in (going, held) if some]
        self._show_queued(queued, self.queue_key)
        self._show_in_note(" · ".join(filter(None, self._about_line())))
        name = ".editing" if self.is_editing else ".queue" if self.is_busy else ""
        self.line.placeholder = say(f"chat.placeholder{name}")

    def _about_line(self) -> Iterator[str]:
        yield self._told or (say("chat.editing") if self.is_editing else "")
        if self.attachments:
            yield say("chat.attaching", names=_names(self.attachments))
            yield "" if self.line.text else say("chat.attach.drop")

    # --- completion ------------------------------------------------------------------------------------

    def _complete(self, text: str) -> Completion:
        found = commands.completion(text, "chat")
        path = begun_in(text)
        if found.choices or path is None:
            return found
        if not self.files.is_listed:
            self._look_for_files()
        fits = self.files.fitting(path, MOST_CANDIDATES)
        if fits[:1] == [path] and len(fits) == 1:
            return Completion()
        quoted = text.endswith(f'@"{path}')
        choices = [Suggestion(file, path_in_question(file), marks=places(path, file)) for file in fits]
        return Completion(len(path) + 1 + quoted, tuple(choices))

    @work(group="files", exclusive=True)
    async def _look_for_files(self) -> None:
        await asyncio.to_thread(self.files.look)
        self.line.look_for_choices()

    # --- what is put in --------------------------------------------------------------------------------

    def _takes_paste(self, text: str) -> bool:
        """Attach files whose paths were pasted, or a long text."""
        pasted = pasted_paths(text, self.files)
        try:
            if pasted:
                self.attach(*read_all(pasted, self.attachments))
                return True
            if is_long(text):
                self._pastes = max(self._pastes, sum("pasted" in file.name for file in self.attachments)) + 1
                name = say("chat.attach.pasted", number=self._pastes)
                length, room = len(text.encode(errors="replace")), room_beside(self.attachments)
                if length > room:
                    raise Unfit(say("chat.attach.large", name=name, size=size(length), most=size(room)))
                self.attach(Attachment(name, inert(text)))
                return True
        except Unfit as error:
            self.call_later(self.tell, localised(error))  # after the words that it is about
            return not pasted  # a path also remains as a word
        return False

    def attach(self, *files: Attachment) -> None:
        """Attach files to the draft, replacing those with the same names; raises ``Unfit``."""
        named = {file.name: file for file in (*self.attachments, *files)}
        if len(named) > MOST:
            raise Unfit(say("chat.attach.many", most=count(MOST)))
        self._set_attachments(tuple(named.values()))

    def _drop(self) -> None:
        """Remove the last attachment."""
        if self.attachments:
            self._set_attachments(self.attachments[:-1])

    def _set_attachments(self, attachments: tuple[Attachment, ...]) -> None:
        self.attachments = attachments
        self._told = ""
        self._keep()
        self.show()

    # --- what is sent, and what waits ------------------------------------------------------------------

    def sent(self, text: str) -> None:
        """Remove what was sent or queued, and remember it."""
        if self.is_editing:
            self.end_editing()
        else:
            self.line.take_away(text)
            self._set_attachments(())
        if text.strip():
            self.line.past = add_past_text(text)
        self.tell("")
        self.draft.keep()

    def set_queue(self, queue: tuple[Waiting, ...]) -> None:
        self.queue = queue
        self._keep()
        self.show()

    def hold(self, is_held: bool = True) -> None:
        """Send what waits now only when the person says so; what is asked later passes it."""
        self.set_queue(_with_hold(self.queue, is_held))

    def edit(self, text: str, attachments: tuple[Attachment, ...]) -> None:
        """Edit another text; the draft waits."""
        if self._edited is None:
            self._edited = self.line.text, self.attachments
        self.line.put(text)
        self.attachments = attachments
        self.show()
        self.open()

    def end_editing(self) -> None:
        """Continue with the draft."""
        if self._edited is not None:
            (text, self.attachments), self._edited = self._edited, None
            self.line.put(text)
            self.show()

    @property
    def _text(self) -> str:
        return self._edited[0] if self._edited is not None else self.line.text

    def _keep(self) -> None:
        attachments = self._edited[1] if self._edited is not None else self.attachments
        if not keep_draft(self._kept_as, KeptDraft(attachments, self.queue)) and self.is_mounted:
            self.notify(say("chat.queue.not_kept"), severity="warning", markup=False)


def waiting_line(waits: Waiting) -> str:
    """Return a waiting question in a line that says whether it is on hold."""
    words = inert_line(waits.text, MAX_SHOWN_CHARACTERS) or _names(waits.attachments)
    return say("chat.queued.held" if waits.is_held else "chat.queued", words=words)


def _with_hold(queue: tuple[Waiting, ...], is_held: bool = True) -> tuple[Waiting, ...]:
    return tuple(replace(waits, is_held=is_held) for waits in queue)


def _names(attachments: Sequence[Attachment]) -> str:
    return BETWEEN.join(f"{inert_line(file.name, 40)} {size(bytes_of(file))}" for file in attachments)
