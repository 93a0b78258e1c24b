"""A tool asks before it runs: the row that takes the answer, and the dialogs that show all of it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple

from textual import on
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding, BindingType
from textual.containers import VerticalScroll
from textual.events import Key, Paste
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Static

from agent_tui.model.events import ToolAsk
from agent_tui.model.inert import inert_line, visible_line
from tui.forms.fields import Line
from tui.keys.first_letter import FirstLetter
from tui.keys.layout import key_in_place
from tui.live import signs
from tui.live.key_hints import PARTED, Hints, hints_of
from tui.live.pager import MAX_TITLE_CHARACTERS, WHOLE, WholeScreen
from tui.live.steps.texts import answers, asking_body, kept_rule
from tui.live.texts import asked_call
from tui.screens.dialog import Dialog, framed
from tui.screens.words import say
from widgets.status_line import Part, StatusLine
from widgets.terminal.frame_clock import FrameClock, terminal_is_behind
from widgets.terminal.keys_in_order import KeyPresses, KeysInOrder
from widgets.terminal.private import binding_of
from widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from tui.live.approvals import Approvals, Questions

Decision = Literal["once", "conversation", "always", "deny", "answer", "decline", "cancel"]
MAX_CALL_CHARACTERS: Final = 60
MAX_REASON_CHARACTERS: Final = 400
GUARD_SECONDS: Final = 0.3  # a key this soon after the question could be read was meant for something else
HELP: Final = "app.help"  # the key that lists the keys is not a word either
LOOKS: Final = "answer_tool"  # nor is the one that leads to the question
DECIDES: Final = "answer("  # begins the actions that answer
HOLD_SECONDS: Final = 0.4  # a letter that no other follows for so long was an answer
LOOK_SECONDS: Final = 0.05  # how often it is looked whether a slow terminal has taken the question


class AskAnswer(NamedTuple):
    """A person's answer to a call that asks, as the clients' ``answer`` takes it."""

    decision: Decision
    pattern: str = ""
    reason: str = ""
    values: Mapping[str, Any] | None = None


class AskBar(StatusLine, can_focus=True):
    """One row above the line while a tool asks. It names the key that leads to it, or the one that shows all
    (opens the form): those that answer are on the card, whose end may be out of sight.
    """

    DEFAULT_CSS = """
    AskBar { display: none; }
    AskBar.-open { display: block; }
    AskBar:focus { text-style: bold; }
    """

    _way_here = ""
    _asks: tuple[str, ToolAsk] | None = None

    def __init__(self, keys: AskKeys) -> None:
        super().__init__()
        self.keys = keys

    @property
    def is_written_past(self) -> bool:
        """Whether letters that are no answer go to the line."""
        return self.has_focus and self.keys.came_from_line

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """Whether a letter may be written, which keeps it in its own script."""
        is_other = character is not None and character.isalpha() and not character.isascii()
        return self.keys.came_from_line and is_other

    async def on_key(self, event: Key) -> None:
        if await self.keys.take(event):
            event.prevent_default().stop()

    def on_blur(self) -> None:
        self.keys.letter.let_go()

    def on_paste(self, event: Paste) -> None:
        """Paste into the line."""
        event.prevent_default().stop()
        self.keys.paste(event.text)

    def ask(self, name: str, ask: ToolAsk | None) -> None:
        self._asks = (name, ask) if ask is not None else None
        self.set_class(ask is not None, "-open")
        self.screen.set_class(ask is not None, "-asks")  # where notifications are
        self.show_keys(self._way_here)

    def show_keys(self, way_here: str) -> None:
        """Name the keys that work now; ``way_here`` is the key that leads to the bar."""
        self._way_here = way_here
        if self._asks is None:
            return
        name, ask = self._asks
        if not self.has_focus:
            right = [Part(say("hint.answer"), 0, way_here)]
        else:
            # A form is filled in where all of it is shown.
            hint = ("ask.whole", "ask.whole", 0) if ask.form is None else ("ask.once", "ask.fill_in", 0)
            right = hints_of(self.screen, [hint])
        shown_call = visible_line(_call_beside(name, ask), MAX_CALL_CHARACTERS)
        call = Part(shown_call, 5)  # it is in the transcript, too
        self.show([asking_line(name, ask), call], right=[part for part in right if part.key])


class AskKeys:
    """What is typed while the bar has the focus: an answer, or words for the line.

    ``acts`` has the bindings of the answers and knows where the question is.
    """

    def __init__(self, acts: Approvals, questions: Questions) -> None:
        self.came_from_line = True  # what had the focus before the question: letters are words for the line
        self.has_come = False  # the question took the focus by itself: words may be under way to the line
        self._acts = acts
        self._questions = questions

    @cached_property
    def letter(self) -> FirstLetter:
        """A letter that may be an answer, or the first of a word."""
        write = self._questions.composer.write
        return FirstLetter(self._acts.screen, write, self._is_answer, hold_seconds=HOLD_SECONDS)

    async def take(self, event: Key) -> bool:
        """Scroll around the question, answer it or type into the line; return whether the key was used.

        If the question took the focus by itself, a letter that another one follows at once is no answer: the
        person writes.
        """
        place = self._acts.place
        if place is not None and _scrolled(place[0], event.key):
            return True
        bound = binding_of(self._acts.screen, key_in_place(event))
        is_answer = bound is not None and self._is_answer(bound)
        if not (is_answer or self.came_from_line or self.letter.held):
            return False  # a key of who reads
        is_early = self.has_come and self.came_from_line and self._acts.guard.is_too_early
        if is_early and bound is not None and bound.binding.action.startswith(DECIDES) and event.character:
            self._questions.composer.write(event.character)  # it was meant for the line
            return True
        if bound is None or not is_answer or self.has_come:
            return await self.letter.takes(event)
        await self._acts.app.run_action(bound.binding.action, bound.node)
        return True

    def paste(self, text: str) -> None:
        self.letter.let_go()
        self._questions.composer.open()
        pasted = Paste(text)
        pasted.stop()  # an app would give it to the line once more
        self._questions.composer.line.post_message(pasted)

    def _is_answer(self, bound: ActiveBinding) -> bool:
        return bound.node is self._acts or bound.binding.id == HELP or bound.binding.action == LOOKS


class KeyGuard:
    """Says whether a key can be an answer: it was pressed (not held) a while after the question was seen."""

    def __init__(self, screen: Screen[Any]) -> None:
        self._screen = screen
        self._shown_at = inf
        self._is_looking = False

    def begin(self) -> None:
        """A new question comes, which was not shown yet."""
        self._shown_at, self._is_looking = inf, False

    def clicked(self) -> None:
        """An answer was clicked: it counts as a key."""
        self._presses.note("", 0.0)

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
        return self._presses.pressed_at >= self._shown_at + GUARD_SECONDS

    @property
    def is_too_early(self) -> bool:
        """Whether it was pressed just now, before the question could be read; a held key was not."""
        return not self.lets_through and self._presses.began_at == self._presses.last_at

    @property
    def last_key_at(self) -> float:
        return self._presses.last_at

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

    _bottom: Hints
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back without answering", id="asked.close"),
        Binding("y", "decide('once')", "Once", id="asked.once", priority=True),
        Binding("c", "decide('conversation')", "In this conversation", id="asked.conversation"),
        Binding("a", "decide('always')", "Always", id="asked.always"),
        Binding("n", "decide('deny')", "No", id="asked.deny"),
    ]

    def __init__(self, name: str, ask: ToolAsk, clock: FrameClock, *, is_unread: bool = False) -> None:
        """``is_unread`` says from the start that it must be read to its end."""
        call = visible_line(_call_beside(name, ask), MAX_TITLE_CHARACTERS // 2)
        title = f"{asking_line(name, ask)} · {call}"
        super().__init__(title, asking_body(ask, shows_all=True), clock)
        decisions = [f"{{asked.{act}}} {text}" for act, text in answers(ask).items()]
        back = f"{{asked.close}} {say('hint.back')}"
        self._bottom = Hints(PARTED.join([*decisions, back]))  # no key is left out: it wraps
        self._guard = KeyGuard(self)
        self._unread = StatusLine()  # a notification would cover what is to be read
        self._unread.show([say("ask.unread")])
        self._unread.display = is_unread

    def _below(self) -> list[Widget]:
        return [self._unread]

    def _show_hints(self) -> None:
        self._bottom.tell()

    def _show(self) -> None:
        super()._show()
        self._transcript.sight.note_rows_of(WHOLE, self._on_drawn)

    def _on_drawn(self) -> None:
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


def asking_line(name: str, ask: ToolAsk) -> str:
    """Return who or what needs approval, with its sign."""
    line = "ask.line" if ask.form is None else "ask.line.form"
    return f"{signs.PAUSED} {say(line, name=inert_line(name, 60))}"


def _call_beside(name: str, ask: ToolAsk) -> str:
    """Return the call as it follows the name of what asks, with which a file tool's call begins itself."""
    called = ask.call if ask.form is None else asked_call(ask)
    tool, _, about = called.partition(" ")
    return about if name.rpartition(" ")[2] == tool else called


class ReasonScreen(Dialog[str | None]):
    """Asks why a tool may not run; closes with the reason (it may be empty) or with None."""

    CSS_PATH = "../screens/room_dialogs.tcss"
    AUTO_FOCUS = "Line"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Back without answering", id="reason.back", priority=True),
    ]

    def __init__(self, begun: str) -> None:
        super().__init__()
        self._begun = begun

    def compose(self) -> ComposeResult:
        yield framed(say("ask.reason"), Line(self._begun, id="reason"), hint=say("ask.reason.hint"))

    @on(Input.Submitted)
    def give(self, event: Input.Submitted) -> None:
        event.stop()
        self.dismiss(inert_line(event.value, MAX_REASON_CHARACTERS))


def _scrolled(transcript: Transcript, key: str) -> bool:
    """Scroll as ``key`` does in a transcript by default; return whether it does."""
    match key:
        case "up" | "down":
            transcript.action_scroll_rows(-1 if key == "up" else 1)
        case "pageup" | "pagedown":
            transcript.action_scroll_pages(-1 if key == "pageup" else 1)
        case "home":
            transcript.action_to_start()
        case "end":
            transcript.action_follow()
        case _:
            return False
    return True
