"""Everything around the words of the voice screen: lines, meters, the card."""

from __future__ import annotations

from typing import Literal

from textual.content import Content
from textual.widgets import Static

from tui.live.board import Lines, status_part
from tui.live.key_hints import BOLD, PARTED, say_keys
from tui.live.texts import Hint, Looking, choosing_hints, finding_hints, possible
from tui.screens.words import say
from tui.voice import texts
from tui.voice.panel import MicPanel
from tui.voice.run import ANSWERING, VoiceRun
from widgets.status_line import Part
from widgets.terminal.frame_clock import FrameClock

Focus = Literal["words", "line", "choices"] | Looking  # in a line, keys are letters; above it may be a list


class VoiceCard(Static):
    """What needs the person's attention, and the keys that help."""


class Board:
    """The widgets, and what is shown in them."""

    def __init__(self, run: VoiceRun, clock: FrameClock, lines: Lines) -> None:
        self.panel = MicPanel(clock=clock)
        self.place = Static("", id="loading", markup=False)
        self.card = VoiceCard("", markup=False, classes="-hidden")
        self._run = run
        self._lines = lines
        self._key_now = lines.key_now
        self._where = ""

    def show(self, shown: texts.VoiceShown, focus: Focus) -> bool:
        """Show the state; return whether that changes with time alone."""
        run, state = self._run, self._run.state
        status = texts.status(state, shown)
        if run.session is not None:
            self._where = run.session.place
        self._lines.top.show(
            [say("voice.title" if run.request.script is None else "voice.title.script", name=run.name)],
            [Part(self._where, 2), Part(texts.connection(state), 3)],
            [status_part(self._lines.timed(status))],
        )
        self._show_panel(focus)
        self._show_place()
        self._show_card(shown, focus)
        self._lines.show_below(self._hints(focus, asks=bool(shown.asking)))
        return bool(status.pending)

    def show_levels(self, shown: texts.VoiceShown) -> None:
        session = self._run.session
        words = texts.instead_of_levels(self._run.state, shown.has_signal, is_open=session is not None)
        self.panel.show_levels(session.sound if session is not None else None, words)

    def _show_panel(self, focus: Focus) -> None:
        run, state = self._run, self._run.state
        mine: list[Part] = []
        agents: list[Part] = []
        if run.is_joined and not run.is_text_only and focus in ("words", "found"):
            mute = say("hint.unmute" if state.mic.is_muted else "hint.mute")
            talk = say("hint.talk.stop" if state.mic.is_talking else "hint.talk")
            mine = [Part(mute, 1, self._key_now("m")), Part(talk, 0, self._key_now("space"))]
            headphones = say("voice.headphones" if run.uses_headphones else "voice.headphones.off")
            agents = [Part(headphones, 2, self._key_now("h"))]
        status = run.session.sound.status if run.session is not None and not run.is_text_only else None
        self.panel.show_devices(
            status,
            [part for part in mine if part.key],
            [part for part in agents if part.key],
        )

    def _show_place(self) -> None:
        """Say what to do first, while there are no words."""
        run = self._run
        if len(run.state.lines):
            return
        key = "voice.first.text" if run.is_text_only else "voice.first"
        fields = {"talk": self._key_now("space"), "type": self._key_now("tab")}
        is_ready = run.state.has_agent and run.state.phase != "initializing"  # before that it hears nobody
        self.place.update(say_keys(key, fields) if is_ready else "")

    def _show_card(self, shown: texts.VoiceShown, focus: Focus) -> None:
        card = texts.card(self._run.state, shown)
        self.card.set_class(card is None, "-hidden")
        if card is None:
            return
        pairs = [(key, say(what)) for name, what in card.keys if (key := self._key_now(name))]
        keys = Content(PARTED).join([Content.assemble((key, BOLD), f" {what}") for key, what in pairs])
        if focus == "line" and any(len(key) == 1 for key, _ in pairs):  # there they are letters
            keys = say_keys("voice.card.from_line", {"back": self._key_now("esc")}) + keys
        self.card.set_class(card.is_failure, "-failure")
        self.card.update(Content("\n").join(filter(None, (Content(card.text), keys))))

    def _hints(self, focus: Focus, *, asks: bool) -> list[Hint]:
        if focus == "choices":
            return choosing_hints()
        if focus == "line":
            return possible(
                (True, "enter", "hint.send", 0),
                (asks, "tab", "hint.answer", 0),
                (True, "esc", "hint.back", 1),
            )
        if focus in ("find", "go_to", "found", "nothing"):
            return finding_hints(focus)
        return possible(
            (self._run.state.phase in ANSWERING, "i", "hint.interrupt", 0),
            (True, "tab", "hint.type", 1),
            (True, "d", "hint.devices", 4),
            (True, "t", "hint.voice_again" if self._run.is_text_only else "hint.text_only", 3),
            (True, "esc", "hint.leave", 2),
            (True, "?", "hint.help", 0),
        )
