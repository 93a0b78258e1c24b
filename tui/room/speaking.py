"""Speaking into a room: one message at a time, the same one when it has to be sent again."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import uuid4

from agent_tui.model.errors import AgentTuiError, TimedOut
from agent_tui.model.inert import inert_line
from tui.room.acts import PaneActs
from tui.room.open_room import OpenRoom
from tui.room.texts import labels_of
from tui.screens.dialog import QuestionScreen
from tui.screens.localised import localised
from tui.screens.words import say
from widgets.composer import name_begun, whispered


@dataclass(frozen=True, slots=True)
class Sending:
    """A message on its way; with the same ``key`` it is one message, however often it is sent."""

    text: str  # as it was written
    content: str
    to: str
    when: str
    key: str


class Speaking:
    """Sends messages; one that failed is sent again as the same message."""

    def __init__(self, room: OpenRoom, acts: PaneActs) -> None:
        self._room = room
        self._acts = acts
        self._sending: Sending | None = None  # not yet acknowledged
        self._is_sending = self._is_asking = False
        self._doubted = ""  # what is sent to everyone by a second enter, though it begins with an @

    def submit(self, text: str) -> None:
        """Send ``text``; into a completed room only with another round."""
        room, composer = self._room, self._room.composer
        if self._is_sending or self._is_asking:  # enter was pressed twice
            return
        if reason := self._acts.why_not("say"):
            composer.tell(reason)
            return
        labels = labels_of(room.state)
        name, content = whispered(text, list(labels))
        if name and not content:
            composer.tell(say("composer.nothing"))
            return
        if not name and (word := name_begun(text)) and text != self._doubted:
            self._doubted = text
            composer.tell(say("composer.nobody", name=inert_line(word, 40)))
            return
        to, when = labels.get(name, ""), composer.when
        sending = self._sending
        if sending is None or (sending.text, sending.to, sending.when) != (text, to, when):
            sending = Sending(text, content, to, when, uuid4().hex)
        self._sending = sending
        if room.state.room.status == "completed":
            if reason := room.why_no_round:
                composer.tell(reason)
                return
            self._is_asking = True
            room.host.open(QuestionScreen(say("composer.round")), self._add_a_round)
        else:
            self._begin(sending, add_a_round=False)

    def _add_a_round(self, is_wanted: bool | None) -> None:
        self._is_asking = False
        if is_wanted and self._sending is not None:
            self._begin(self._sending, add_a_round=True)

    def _begin(self, sending: Sending, *, add_a_round: bool) -> None:
        self._is_sending = True  # before the worker begins: more may be submitted until then
        self._room.host.run("say", self._send(sending, add_a_round=add_a_round))

    async def _send(self, sending: Sending, *, add_a_round: bool) -> None:
        room, composer = self._room, self._room.composer
        try:
            client = await room.client()
            if add_a_round:
                await room.add_a_round(client)
            answer = await client.say(
                room.id, sending.content, when=sending.when, to=sending.to, client_key=sending.key
            )
            self._sending, self._doubted = None, ""
            composer.sent(sending.text)
            room.state.take_queue(answer.queue)
            if add_a_round:
                await client.resume(room.id)
        except AgentTuiError as error:
            if await room.is_deleted(error):
                room.tell_deleted()
            else:
                key = "composer.unknown" if isinstance(error, TimedOut) else "composer.failed"
                composer.tell(say(key, reason=localised(error)))
        finally:
            self._is_sending = False
        room.host.show_soon()
