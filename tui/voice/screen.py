"""The voice screen: the levels, what both sides say, and a line to type in.

It is composed: ``VoiceRun`` has the session and its state, ``VoiceFeed`` fills the transcript, ``MicPanel``
shows the sound, ``TalkKey`` is push to talk.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import cached_property
from pathlib import PurePath
from typing import ClassVar, Final

from textual.binding import Binding, BindingType
from textual.events import Key, Resize

from agent_tui.model.voice import LinkMoved, VoiceEvent, WordsSpoken
from tui.link import ChatLink
from tui.live.approvals import Approvals
from tui.live.composer import Writing
from tui.live.find import FindBar, OneTranscript
from tui.live.key_hints import keys_of
from tui.live.screen import CALM_LOOK_SECONDS, LiveScreen
from tui.live.texts import asking
from tui.voice import texts
from tui.voice.acts import Act, VoiceActs
from tui.voice.asks import VoiceAsks
from tui.voice.board import Board, Focus
from tui.voice.composer import commands_of, line_of
from tui.voice.feed import VoiceFeed
from tui.voice.request import VoiceRequest
from tui.voice.run import VoiceRun
from tui.voice.session import NotSetUp, VoiceSource
from tui.voice.talking import TalkKey
from widgets.composer import Composer
from widgets.terminal.frame_clock import FrameClock
from widgets.terminal.keys_in_order import KeysInOrder
from widgets.terminal.paced_driver import RELEASED_KEY, tell_releases
from widgets.transcript.transcript import Transcript

METER_SECONDS: Final = 1 / 12


class VoiceScreen(LiveScreen):
    CSS_PATH: ClassVar[list[str | PurePath]] = ["../live/screen.tcss", "voice.tcss"]
    AUTO_FOCUS = "#voice"
    BINDINGS: ClassVar[list[BindingType]] = [
        # Textual's own binding of tab would come first.
        Binding(
            "tab", "step_on(1)", "Complete, type, or back to the transcript", id="voice.next", priority=True
        ),
        Binding("shift+tab", "step_on(-1)", "Previous part", id="voice.previous", priority=True),
        Binding("m", "act('mute')", "Mute or unmute the microphone", id="voice.mute"),
        Binding("space", "talk", "Push to talk: hold, or press twice", id="voice.talk"),
        Binding("i", "act('interrupt')", "Interrupt the agent", id="voice.interrupt"),
        Binding("t", "act('text_only')", "Text only, or talk again", id="voice.text"),
        Binding("d", "act('devices')", "Choose microphone and speaker", id="voice.devices"),
        Binding("h", "act('headphones')", "Headphones: no echo to cancel", id="voice.headphones"),
        Binding("f", "write('/file ')", "Send a file to the agent", id="voice.file"),
        Binding("r", "act('retry')", "Retry: connect or wait for the agent again", id="voice.retry"),
        Binding("s", "act('set_up')", "Get what voice lacks on this machine", id="voice.set_up"),
        Binding("l", "act('local')", "Talk to an agent on this machine", id="voice.local"),
        Binding("a", "act('listen')", "Ask the agent to listen to you", id="voice.listen"),
        Binding("ctrl+o", "settings", "Chat settings: title, model, tools", id="voice.settings"),
        Binding("exclamation_mark", "answer_tool", "Go to what needs approval", id="voice.answer"),
        Binding("enter", "fold", "Fold or unfold a step", id="voice.fold"),
        Binding("F", "fold_all", "Fold or unfold all steps", id="voice.fold_all"),
        Binding("ctrl+l", "app.leave_voice", "Leave the room", id="voice.leave", priority=True),
        Binding("escape", "back", "Back, or leave the room", id="voice.back"),
    ]

    composer: Writing

    def __init__(
        self,
        source: VoiceSource,
        link: ChatLink,
        request: VoiceRequest,
        clock: FrameClock,
    ) -> None:
        """``link`` leads to our backend, which has the session's conversation."""
        super().__init__(clock)
        self.run = VoiceRun(source, request, changed=self._take_event, failed=self._host.warn)
        self.state = self.run.state
        self._acts = VoiceActs(self.run, self._host)
        self._begin, self.leave = self._acts.begin, self._acts.leave
        self.wall_clock: Callable[[], float] = time.time  # for lines without a time of their own
        self._transcript = Transcript(clock=clock, id="voice", classes="-hidden")
        self._board = board = Board(self.run, clock, self._lines)
        self._words = board.panel, board.place, self._transcript, board.card
        self._find_bar = FindBar(OneTranscript(self._transcript))
        self.composer = line_of(request.name)
        self._feed = VoiceFeed(self._transcript, self.state, lambda: self.wall_clock())
        self._asks = VoiceAsks(
            link,
            self._feed,
            self.composer,
            self._host,
            take=self.run.take,
            changed=self._asks_changed,
            restarted=self._acts.begin,
        )
        self._commands = commands_of(self.run, self._acts, self._asks, self._transcript, self._host)
        self._approvals = Approvals(self._asks, self._host)

    def on_mount(self) -> None:
        """Show the levels; begin in the line if only that is used."""
        seconds = CALM_LOOK_SECONDS if self._host.clock.is_calm else METER_SECONDS
        self.set_interval(seconds, self._show_levels)
        if self.run.is_text_only:
            self.composer.open()

    @cached_property
    def _talk_key(self) -> TalkKey:
        app = self.app
        assert isinstance(app, KeysInOrder)  # there is no other kind of app
        return TalkKey(
            app.presses,
            lambda: self.run.do(lambda session: session.client.start_talking()),
            lambda: self.run.do(lambda session: session.client.stop_talking()),
        )

    # --- what comes in ---------------------------------------------------------------------------------

    def _take_event(self, event: VoiceEvent) -> None:
        if not self._host.is_shown:
            return
        self._feed.take()
        if isinstance(event, WordsSpoken):
            return  # the hot path: no line, only the words
        if isinstance(event, LinkMoved) and event.status == "connecting":
            self.run_worker(self._asks.follow(self.run.session), group="log", exclusive=True)
        if not self.state.mic.is_talking and not self.run.is_joined:
            self._talk_key.is_on = False
        self._show_soon()

    def _asks_changed(self) -> None:
        if self._host.is_shown:
            self._approvals.ask()
            self._show_soon()

    # --- what can be done now --------------------------------------------------------------------------

    def why_not(self, binding_id: str) -> str:
        """Return why an action cannot be done now, as a sentence; "" if it can."""
        return (
            self._asks.why_no_settings if binding_id == "voice.settings" else self._acts.why_not(binding_id)
        )

    @property
    def has_step(self) -> bool:
        return bool(self._transcript.folds.step_at_reader())

    # --- what the lines say ----------------------------------------------------------------------------

    def _show_lines(self) -> bool:
        line: Focus = "choices" if self.composer.line.is_choosing else "line"
        focus: Focus = line if self.composer.has_line_focus else self._find_bar.looking or "words"
        is_pending = self._board.show(self._shown, focus)
        self._show_levels()
        is_empty = not len(self.state.lines)
        self._board.place.set_class(not is_empty, "-hidden")
        self._transcript.set_class(is_empty, "-hidden")
        return is_pending

    def _show_levels(self) -> None:
        """Costs almost nothing while they stay the same."""
        self.run.look_at_sound()
        self._board.show_levels(self._shown)

    @property
    def _shown(self) -> texts.VoiceShown:
        problem, session = self.run.problem, self.run.session
        return texts.VoiceShown(
            problem=texts.problem(problem) if problem is not None and self.state.phase == "failed" else "",
            may_set_up=isinstance(problem, NotSetUp),
            has_signal=session is None or session.sound.status.has_signal,
            may_use_local=not self.run.asks_our_agent,
            asking=asking(self._asks.state) if self.is_asked else "",
            had_input=self.run.had_input,
        )

    # --- what changes around it ------------------------------------------------------------------------

    def on_resize(self, event: Resize) -> None:
        self._board.panel.fit(event.size.width)

    def on_screen_resume(self) -> None:
        """Ask for releases of keys: push to talk needs them."""
        tell_releases(self.app, True)

    def on_screen_suspend(self) -> None:
        """Stop asking for releases: other screens do not know them."""
        tell_releases(self.app, False)

    async def on_composer_submitted(self, event: Composer.Submitted) -> None:
        """Run the command, or send the text, that was typed; a yes or a no answers a question, and is not
        sent to the agent.
        """
        event.stop()
        if self._commands.run(event.text):
            return
        if self._approvals.answer_in_words(event.text) or await self.run.type(event.text.strip()):
            self.composer.line.take_away(event.text)

    async def on_key(self, event: Key) -> None:
        """Stop talking, if the terminal reports that the key was released."""
        if event.key.endswith(RELEASED_KEY):
            event.prevent_default().stop()  # it is not a key of its own
            if event.key.removesuffix(RELEASED_KEY) in keys_of(self, "voice.talk"):
                await self._talk_key.release()

    # --- keys ------------------------------------------------------------------------------------------

    def action_step_on(self, step: int) -> None:
        """Complete the text, go to the line, or back to the question, else to the words."""
        if self.composer.has_line_focus and step > 0 and self.composer.line.is_choosing:
            self.composer.line.action_take_choice()
        elif self.composer.has_line_focus and self.is_asked:
            self._approvals.look()
        elif self.composer.has_line_focus:
            self._asks.focus_words()
        else:
            self.composer.open()

    async def action_back(self) -> None:
        """Leave what was opened last: a selection, the find bar, the line, the room."""
        if self._transcript.reader.has_selection:
            self._transcript.reader.clear_selection()
        elif self._find_bar.asks:
            self._find_bar.close()
        elif self.composer.has_line_focus:
            self._asks.focus_words()
        else:
            await self.run_action("app.leave_voice")

    async def action_act(self, act: Act) -> None:
        if self._host.allows(self.why_not(f"voice.{act}")):
            await self._acts.act(act)

    def action_settings(self) -> None:
        self._asks.open_settings()

    def action_write(self, text: str) -> None:
        self.composer.write(text)

    async def action_talk(self) -> None:
        joins_again = self.run.request.text_only
        if self.run.is_text_only:
            await self._acts.act("text_only")
        if not joins_again:
            await self._talk_key.press()

    def action_fold(self) -> None:
        self._transcript.folds.toggle()

    def action_fold_all(self) -> None:
        self._transcript.folds.fold_all()
