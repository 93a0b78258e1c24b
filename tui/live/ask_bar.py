"""A tool asks before it runs: the row that takes the answer, and the dialogs that show all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any, ClassVar, Final, Literal, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from agent_tui.model.events import ToolAsk
from agent_tui.model.inert import inert_line, visible_line
from tui.forms.fields import Line
from tui.live import signs
from tui.live.key_hints import Hints, key_of
from tui.live.pager import MAX_TITLE_CHARACTERS, WHOLE, WholeScreen
from tui.live.steps.texts import answers, asking_body, kept_rule
from tui.screens.dialog import Dialog, framed
from tui.screens.words import say
from widgets.status_line import Part, StatusLine
from widgets.terminal.frame_clock import FrameClock, terminal_is_behind
from widgets.terminal.keys_in_order import KeyPresses, KeysInOrder

Decision = Literal["once", "conversation", "always", "deny", "answer", "decline", "cancel"]
MAX_CALL_CHARACTERS: Final = 60
MAX_REASON_CHARACTERS: Final = 400
GUARD_SECONDS: Final = 0.3  # a key this soon after the question could be read was meant for something else
LOOK_SECONDS: Final = 0.05  # how often it is looked whether a slow terminal has taken the question


class AskAnswer(NamedTuple):
    """A person's answer to a call that asks, as the clients' ``answer`` takes it."""

    decision: Decision
    pattern: str = ""
    reason: str = ""
    values: Mapping[str, Any] | None = None


class AskBar(StatusLine, can_focus=True):
    """One row above the line while a tool asks. Without the focus it names only the key that leads to it;
    with the focus the keys that answer, unless they can be seen on the card.
    """

    DEFAULT_CSS = """
    AskBar { display: none; }
    AskBar.-open { display: block; }
    AskBar:focus { text-style: bold; }
    """

    writes = False  # what is typed here and is no answer goes to the line
    _way_here = ""
    _is_card_seen = False
    _asks: tuple[str, ToolAsk] | None = None

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a letter may be written, which keeps it in its own script."""
        return self.writes and character is not None and character.isalpha() and not character.isascii()

    def ask(self, name: str, ask: ToolAsk | None) -> None:
        self._asks = (name, ask) if ask is not None else None
        self.set_class(ask is not None, "-open")
        self._show_asked()

    def show_keys(self, way_here: str) -> None:
        """Name the keys that work now; ``way_here`` is the key that leads to the bar."""
        self._way_here = way_here
        self._show_asked()

    def leave_keys_to_card(self, is_card_seen: bool) -> None:
        """Name no keys while those on the card can be seen."""
        if is_card_seen != self._is_card_seen:
            self._is_card_seen = is_card_seen
            self._show_asked()

    def _show_asked(self) -> None:
        if self._asks is None:
            return
        name, ask = self._asks
        if self.has_focus and self._is_card_seen:
            right = []
        elif self.has_focus:
            right = _keys(ask, self._key)
            if ask.form is None:
                right.append(Part(say("ask.whole"), 1, self._key("whole")))
        else:
            right = [Part(say("hint.answer"), 0, self._way_here)]
        call = Part(visible_line(ask.call, MAX_CALL_CHARACTERS), 5)  # it is in the transcript, too
        self.show([asking_line(name, ask), call], right=[part for part in right if part.key])

    def _key(self, act: str) -> str:
        return key_of(self.screen, f"ask.{act}")


class KeyGuard:
    """Says whether a key can be an answer: it was pressed (not held) a while after the question was seen."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._shown_at = inf
        self._is_looking = False

    def begin(self) -> None:
        """A new question comes, which was not shown yet."""
        self._shown_at, self._is_looking = inf, False

    def shown(self) -> None:
        """All of it was drawn: count from when the terminal has taken it, unless a dialog covers it."""
        if self._shown_at < inf or self._is_looking or not self._screen.is_current:
            return
        if terminal_is_behind(self._screen.app):
            self._is_looking = True
            self._screen.set_timer(LOOK_SECONDS, self._look_again)
        else:
            self._shown_at = self._presses.now()

    def _look_again(self) -> None:
        if self._is_looking:
            self._is_looking = False
            self.shown()

    @property
    def lets_through(self) -> bool:
        """Whether the key that is being handled may decide."""
        return self._presses.began_at >= self._shown_at + GUARD_SECONDS

    @property
    def quiet_seconds(self) -> float:
        return self._presses.now() - self._presses.last_at

    @property
    def _presses(self) -> KeyPresses:
        app = self._screen.app
        assert isinstance(app, KeysInOrder)  # there is no other kind of app
        return app.presses


class AskScreen(WholeScreen[Decision]):
    """Shows all that a tool would do; closes with a decision or None. Only what was read whole may run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back without answering", id="asked.close"),
        Binding("y", "decide('once')", "Once", id="asked.once", priority=True),
        Binding("c", "decide('conversation')", "In this conversation", id="asked.conversation"),
        Binding("a", "decide('always')", "Always", id="asked.always"),
        Binding("n", "decide('deny')", "No", id="asked.deny"),
    ]

    def __init__(self, name: str, ask: ToolAsk, clock: FrameClock, *, is_unread: bool = False) -> None:
        """``is_unread`` says from the start that it must be read to its end."""
        title = f"{asking_line(name, ask)} · {visible_line(ask.call, MAX_TITLE_CHARACTERS // 2)}"
        super().__init__(title, asking_body(ask, shows_all=True), clock)
        self._ask = ask
        self._guard = KeyGuard(self)
        self._unread = StatusLine()  # a notification would cover what is to be read
        self._unread.show([say("ask.unread")])
        self._unread.display = is_unread

    def _below(self) -> list[Widget]:
        return [self._unread]

    def _hints(self) -> list[Part]:
        keys = _keys(self._ask, lambda act: key_of(self, f"asked.{act}"))
        return [*keys, self._hint("hint.back", 1, "asked.close")]

    def _show(self) -> None:
        super()._show()
        self._transcript.sight.note_rows_of(WHOLE, self._seen)

    def _seen(self) -> None:
        self.call_after_refresh(self._guard.shown)

    def action_decide(self, decision: Decision) -> None:
        """Close with the decision, if it is allowed yet."""
        if not self._guard.lets_through:
            return
        if decision == "deny" or self._transcript.sight.has_shown_all():
            self.dismiss(decision)
        else:
            self._transcript.sight.show_what_was_not_shown()
            self._unread.display = True


class KeepScreen(Dialog[bool]):
    """Shows the rule that "always" saves; closes with whether to save it."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "keep", "Save the rule", id="keep.yes"),
        Binding("escape", "dismiss", "Back without answering", id="keep.back", priority=True),
    ]

    def __init__(self, ask: ToolAsk) -> None:
        super().__init__()
        self._ask = ask
        self._guard = KeyGuard(self)

    def compose(self) -> ComposeResult:
        rule, reach = kept_rule(self._ask)
        with VerticalScroll(classes="dialog wide"):
            yield Static(say("ask.keep"), classes="title", markup=False)
            yield Static(rule, classes="rule", markup=False)
            yield Static(reach, classes="rule", markup=False)
            yield Hints(say("ask.keep.hint"))

    def on_mount(self) -> None:
        """Start the guard when the rule can be read."""
        super().on_mount()
        self.call_after_refresh(self._guard.shown)

    def action_keep(self) -> None:
        if self._guard.lets_through:
            self.dismiss(True)


def _keys(ask: ToolAsk, key: Callable[[str], str]) -> list[Part]:
    """Return the possible decisions with their keys; in a narrow row yes and no remain."""
    ranks = {"once": 0, "conversation": 4, "always": 3, "deny": 0}
    return [Part(text, ranks[act], key(act)) for act, text in answers(ask).items() if key(act)]


def status_part(text: str) -> Part:
    """Return the state as a part of the top line; a needed approval stands out."""
    return Part(text, warns=text == f"{signs.PAUSED} {say('chat.asks')}")


def asking_line(name: str, ask: ToolAsk) -> str:
    """Return who or what needs approval, with its sign."""
    line = "ask.line" if ask.form is None else "ask.line.form"
    return f"{signs.PAUSED} {say(line, name=inert_line(name, 60))}"


class ReasonScreen(Dialog[str | None]):
    """Asks why a tool may not run; closes with the reason (it may be empty) or with None."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back without answering", id="reason.back", priority=True),
    ]

    def compose(self) -> ComposeResult:
        yield framed(say("ask.reason"), Line("", id="reason"), hint=say("ask.reason.hint"))

    @on(Input.Submitted)
    def give(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(inert_line(event.value, MAX_REASON_CHARACTERS))
