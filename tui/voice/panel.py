"""The two rows about sound: the levels of both directions, the devices, and their keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from agent_tui.model.inert import inert_line
from tui.screens.words import say
from widgets.meter import QUIETEST_DBFS, Meter
from widgets.status_line import Part, StatusLine
from widgets.terminal.frame_clock import FrameClock

if TYPE_CHECKING:
    from agent_tui.audio.sound import Sound, SoundStatus

MAX_DEVICE_CHARACTERS: Final = 60
NARROW_COLUMNS: Final = 76  # from this width on the meters have their full width


class MicPanel(Vertical):
    """Shows levels whenever it gets them, and the rest when something changed."""

    DEFAULT_CSS = """
    MicPanel { height: 2; width: 1fr; background: $background; }
    MicPanel > Horizontal { height: 1; }
    MicPanel.-narrow Meter { width: 27; }
    """

    def __init__(self, *, clock: FrameClock) -> None:
        super().__init__(id="panel")
        mine, agents = say("voice.you"), say("voice.agent")
        cells = 2 + max(cell_len(mine), cell_len(agents))
        self._mine = Meter(mine, clock=clock, label_cells=cells)
        self._agents = Meter(agents, clock=clock, label_cells=cells)
        self._about_mine = StatusLine(is_dim=True)
        self._about_agents = StatusLine(is_dim=True)

    def compose(self) -> ComposeResult:
        with Horizontal():
            yield self._mine
            yield self._about_mine
        with Horizontal():
            yield self._agents
            yield self._about_agents

    def fit(self, columns: int) -> None:
        self.set_class(columns < NARROW_COLUMNS, "-narrow")

    def show_levels(self, sound: Sound | None, words: tuple[str, str]) -> None:
        """Show the levels; ``words`` that are not empty replace the numbers."""
        mine, agents = (sound.input_level, sound.output_level) if sound is not None else (None, None)
        for meter, level, word in ((self._mine, mine, words[0]), (self._agents, agents, words[1])):
            if level is None or word:
                meter.show(QUIETEST_DBFS, QUIETEST_DBFS, word=word)
            else:
                meter.show(level.rms, level.peak, is_clipping=level.is_clipping)

    def show_devices(self, status: SoundStatus | None, mine: list[Part], agents: list[Part]) -> None:
        """Show the devices, and keys at the right."""
        # Problems of a device are on the card.
        has_input, has_output = status and not status.input_problem, status and not status.output_problem
        microphone = _device_name(status.input_name) if status and has_input else ""
        speaker = _device_name(status.output_name) if status and has_output else ""
        self._about_mine.show([Part(microphone, 3)], right=mine)
        self._about_agents.show([Part(speaker, 4)], right=agents)


def _device_name(name: str) -> str:
    return inert_line(name, MAX_DEVICE_CHARACTERS) if name else say("voice.device.default")
