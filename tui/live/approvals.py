"""The part of a screen that answers tools which ask before they run: the same in rooms, chats and voice."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol, TypeVar, cast

from rich.cells import cell_len
from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.events import Click
from textual.screen import Screen

from agent_tui.model.errors import AgentTuiError, Refused
from agent_tui.model.events import ToolAsk
from agent_tui.model.tool_forms import ToolForm
from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import StepState
from agent_tui.yes_or_no import yes_or_no
from tui.live.ask_bar import (
    AskAnswer,
    AskBar,
    AskKeys,
    AskScreen,
    Decision,
    KeepScreen,
    KeyGuard,
    ReasonScreen,
)
from tui.live.composer import Writing
from tui.live.host import Host
from tui.live.key_hints import key_of
from tui.live.steps.rows import show_body
from tui.live.steps.texts import asking_body, asking_keys
from tui.live.texts import Spot
from tui.live.tool_form import FilledIn, ToolFormScreen
from tui.screens.localised import localised
from tui.screens.words import say
from widgets.terminal.paced_driver import name_window
from widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from agent_tui.clients.conversations import Conversations

QUIET_SECONDS: Final = 0.7  # who pressed a key less than this ago is busy, and is not asked in between
CONFLICT: Final = 409
T = TypeVar("T")


class Questions(Protocol):
    """What a screen knows of the calls that need approval, and where it shows them."""

    @property
    def state(self) -> ConversationState: ...

    @property
    def composer(self) -> Writing: ...

    def place_of(self, spot: Spot) -> tuple[Transcript, str] | None:
        """Return the visible transcript with the question, and the key of its row; None if there is none."""

    def go_to_ask(self, spot: Spot) -> None:
        """Show the transcript that has the question."""

    def focus_words(self) -> None:
        """Give the focus to the transcript."""

    async def client(self) -> Conversations[Any]: ...


class Approvals(Vertical):
    """Asks the oldest unanswered question, with the focus once the person is idle, and sends the answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer('once')", "Allow once", id="ask.once"),
        Binding("c", "answer('conversation')", "Allow in this conversation", id="ask.conversation"),
        Binding("a", "answer('always')", "Always allow", id="ask.always"),
        Binding("n", "answer('deny')", "Deny", id="ask.deny"),
        Binding("d", "whole", "Show everything it would do", id="ask.whole"),
    ]
    DEFAULT_CSS = "Approvals { height: auto; width: 1fr; }"

    def __init__(self, questions: Questions, host: Host) -> None:
        super().__init__()
        self.bar = AskBar(AskKeys(self, questions))
        self.spot: Spot | None = None  # what the bar asks
        self.is_focus_due = False  # the question came while the person wrote or read
        self._questions = questions
        self._host = host
        self._answered: set[Spot] = set()  # on its way to the server
        self._answered_at = 0.0  # when the key of the last answer was pressed
        self._card: tuple[Transcript, str, Spot] | None = None  # that has keys on it, and its row
        self._line_was_begun = False  # before the question came
        self._dialog: Screen[Any] | None = None  # that was opened last
        self._filled_in: dict[Spot, FilledIn] = {}  # forms whose values are on their way to the server
        self._reasons: dict[Spot, str] = {}  # the same of reasons

    def compose(self) -> ComposeResult:
        yield self.bar

    def on_unmount(self) -> None:
        """Give the terminal its title back, unless others have it."""
        if self.spot is not None:
            name_window(self.app, "")

    @cached_property
    def guard(self) -> KeyGuard:
        return KeyGuard(self.screen)

    @property
    def has_bar_focus(self) -> bool:
        """Whether the keys on the card work."""
        return self.is_attached and self.screen.focused is self.bar

    # --- what asks -------------------------------------------------------------------------------------

    def ask(self) -> None:
        """Ask the oldest question without an answer, if there is one."""
        asking = self._questions.state.asking
        self._answered.intersection_update(asking)
        self._filled_in = {asked: filled for asked, filled in self._filled_in.items() if asked in asking}
        self._reasons = {asked: reason for asked, reason in self._reasons.items() if asked in asking}
        spot = next((spot for spot in asking if spot not in self._answered), None)
        if spot == self.spot:
            return
        former, self.spot = self.spot, spot
        self.bar.keys.letter.let_go()
        if former is not None and self._dialog is not None and self._dialog is self.app.screen:
            self._host.tell(say("ask.gone"))
            self._dialog.dismiss(None)
        step = self._questions.state.step(*spot) if spot is not None else None
        had_focus = self.has_bar_focus
        name = _name_of(self._questions.state, spot, step) if spot is not None and step is not None else ""
        self.guard.begin()
        self.bar.ask(name, step.ask if step else None)
        self.is_focus_due = False
        self._line_was_begun = bool(self._questions.composer.line.text)
        name_window(self.app, say("ask.window", name=name) if spot is not None else "")
        if spot is None:
            for transcript in self.screen.query(Transcript):
                transcript.sight.follow_again()
            if had_focus and self.bar.keys.came_from_line:
                self._questions.composer.open()
            elif had_focus:
                self._questions.focus_words()
            return
        self.app.bell()
        if had_focus or self._may_be_interrupted:
            self.call_after_refresh(self.look, by_itself=True)
        else:
            self.is_focus_due = True
            self._keep_in_sight()

    @property
    def _may_be_interrupted(self) -> bool:
        """Whether a new question may take the focus."""
        is_free = self._questions.composer.has_line_focus and not self._questions.composer.line.text
        is_answering = self.guard.last_key_at == self._answered_at
        is_quiet = is_answering or self.guard.quiet_seconds > QUIET_SECONDS
        return is_quiet and (is_free or isinstance(self.screen.focused, Transcript))

    def ask_who_is_quiet(self) -> None:
        """Give a waiting question the focus as soon as the person is idle."""
        if self.is_focus_due and self._may_be_interrupted:
            self.look(by_itself=True)

    # --- where it is seen ------------------------------------------------------------------------------

    @property
    def place(self) -> tuple[Transcript, str] | None:
        """Which transcript shows the question, and the key of its row there."""
        return self._questions.place_of(self.spot) if self.spot is not None else None

    @property
    def _is_seen(self) -> bool:
        place = self.place
        return place is not None and place[0].sight.has_head_of(place[0].sight.number_of(place[1]))

    def look(self, *, by_itself: bool = False) -> None:
        """Give the question the focus, and scroll to it; ``by_itself`` if no key of the person led there."""
        self.is_focus_due = False
        self.bar.keys.has_come = by_itself
        if self.spot is not None:
            if not self.has_bar_focus:
                self.bar.keys.came_from_line = self._questions.composer.has_line_focus
            self._questions.go_to_ask(self.spot)
            self.guard.begin()
            self.screen.set_focus(self.bar, scroll_visible=False)
            self.call_after_refresh(self._bring_into_sight)
            self._host.show_soon()

    def _bring_into_sight(self) -> None:
        place = self.place
        if place is not None and (number := place[0].sight.number_of(place[1])):
            place[0].sight.bring(number)
        self._show_card()

    def _keep_in_sight(self) -> None:
        """Scroll to the question with the next frame, unless the person reads elsewhere."""
        focused = self.screen.focused
        is_reading = isinstance(focused, Transcript) and not (focused.follow or focused.sight.is_brought)
        if self.spot is not None and not is_reading:
            self.call_after_refresh(self._bring_into_sight)

    def keep_readable(self, transcript: Transcript) -> None:
        if (place := self.place) is not None and place[0] is transcript:
            self._keep_in_sight()

    # --- the keys on its card ----------------------------------------------------------------------------

    def show_keys(self, way_here: str) -> None:
        """Show in the bar and on the card which keys work now; ``way_here`` leads to the bar."""
        self.bar.show_keys(way_here)
        self._show_card()

    def _show_card(self) -> None:
        """Show the keys on the card that they answer, and on no other; note how much of it was seen."""
        spot, place = self.spot, self.place
        if place is not None and place[0].sight.number_of(place[1]):
            place[0].sight.note_rows_of(place[1], self._card_seen)
            if self._is_seen:
                self._card_seen()
        card = (*place, spot) if spot is not None and place is not None and self.has_bar_focus else None
        if card != self._card:
            former, self._card = self._card, card
            for changed in (former, card):
                if changed is not None:
                    self._make_card(*changed, is_asked=changed is card)

    def _make_card(self, transcript: Transcript, row: str, spot: Spot, *, is_asked: bool) -> None:
        transcript.asked_row = row if is_asked else ""
        if (step := self._questions.state.step(*spot)) is not None:
            show_body(transcript, row, step)

    def act_at(self, x: int, y: int) -> str:
        """Return what the words at that place of the screen do, if they are a key on the card: the last part
        of its id; else "".
        """
        ask = _asked_at(self._questions.state, self._card[2]) if self._card is not None else None
        if self._card is None or ask is None or not self._card[0].region.contains(x, y):
            return ""
        transcript, row, _ = self._card
        text = transcript.sight.end_row_at(row, y - transcript.region.y)
        for act, (name, does) in asking_keys(ask, partial(key_of, self.screen)).items():
            before, hint, _ = text.partition(f"{name} {does}")
            begin = cell_len(before)
            if hint and begin <= x - transcript.region.x < begin + cell_len(hint):
                return act
        return ""

    def click(self, event: Click) -> None:
        """Do what the key on the card does whose words were clicked."""
        act = self.act_at(event.screen_x, event.screen_y)
        if not act or event.button != 1:
            return
        event.stop()
        self.guard.clicked()
        if act == "whole":
            self.action_whole()
        else:
            self.action_answer(cast("Decision", act))

    def uncovered(self) -> None:
        """A dialog was closed: a key that is still down was meant for it."""
        self.guard.begin()
        self._show_card()

    def _card_seen(self) -> None:
        """Start the guard once everything drawn so far is on the screen."""
        if self.has_bar_focus:
            self.call_after_refresh(self.guard.shown)

    # --- answers ---------------------------------------------------------------------------------------

    def action_answer(self, decision: Decision) -> None:
        """Take the decision if the question was seen; to let the tool run, all of it must have been."""
        if self.spot is not None and self.guard.lets_through:
            self._take(self.spot, decision)

    def action_whole(self) -> None:
        if self.spot is not None:
            self._show_whole(self.spot)

    def answer_in_words(self, text: str) -> bool:
        """Take a typed yes or no as if its key was pressed, a no without a reason; return whether it was."""
        spot, agreed = self.spot, yes_or_no(text)
        if spot is None or agreed is None:
            return False
        if self._line_was_begun:  # it was meant for something else
            self.look()
        elif agreed:
            self._take(spot, "once")
        else:
            self._begin_answer(
                spot, AskAnswer("decline" if _form_of(self._questions.state, spot) is not None else "deny")
            )
        return True

    def _take(self, spot: Spot, decision: Decision) -> None:
        if not self._is_seen:
            self.look()
            self._host.tell(say("ask.unseen"))
        elif decision == "deny" or self._is_read(spot):
            self._decide(spot, decision)
        else:
            self._show_whole(spot, is_unread=True)

    def _is_read(self, spot: Spot) -> bool:
        """Whether all of it was on the screen; the keys below it need not have been."""
        ask, place = _asked_at(self._questions.state, spot), self.place
        if ask is None or place is None or ask.form is not None:
            return False
        is_whole = asking_body(ask) == asking_body(ask, shows_all=True)
        return is_whole and place[0].sight.has_shown_all(but_last=True)

    def _show_form(self, spot: Spot, form: ToolForm) -> None:
        """Let the person fill in what a running tool asks for."""

        def take(filled: FilledIn | None) -> None:
            if filled is None:
                return
            if _form_of(self._questions.state, spot) != form or spot in self._answered:
                self._host.tell(say("ask.gone"))
                return
            self._filled_in[spot] = filled
            self._begin_answer(spot, filled.word)

        before = self._filled_in.get(spot)
        texts = before.texts if before is not None else {}
        self._open(ToolFormScreen(form, texts), take)

    def _open(self, dialog: Screen[T], take: Callable[[T | None], None]) -> None:
        self._dialog = dialog
        self._host.open(dialog, take)

    def _show_whole(self, spot: Spot, *, is_unread: bool = False) -> None:
        step = self._questions.state.step(*spot)
        if step is None or step.ask is None:
            return
        if step.ask.form is not None:
            self._show_form(spot, step.ask.form)
            return

        def decide(decision: Decision | None) -> None:
            if decision is not None:
                self._decide(spot, decision)

        name = _name_of(self._questions.state, spot, step)
        screen = AskScreen(name, step.ask, self._host.clock, is_unread=is_unread)
        self._open(screen, decide)

    def _decide(self, spot: Spot, decision: Decision) -> None:
        ask = _asked_at(self._questions.state, spot)
        if ask is None or spot in self._answered:
            self._host.tell(say("ask.gone"))
            return
        pattern = ask.pattern if decision in ("conversation", "always") else ""
        if decision in ("conversation", "always") and not pattern:
            self._host.tell(say("ask.no_pattern"))
            return

        def keep(is_wanted: bool | None) -> None:
            if is_wanted:
                self._begin_answer(spot, AskAnswer(decision, pattern))

        def deny(reason: str | None) -> None:
            if reason is not None:
                self._reasons[spot] = reason
                self._begin_answer(spot, AskAnswer(decision, reason=reason))

        match decision:
            case "deny" if ask.form is not None:
                self._begin_answer(spot, AskAnswer("decline"))
            case "always":
                self._open(KeepScreen(ask), keep)
            case "deny":
                self._open(ReasonScreen(self._reasons.get(spot, "")), deny)
            case _:
                self._begin_answer(spot, AskAnswer(decision, pattern))

    def _begin_answer(self, spot: Spot, word: AskAnswer) -> None:
        self._answered.add(spot)
        self._answered_at = self.guard.last_key_at
        self.ask()
        self._answer(spot, word)

    @work(group="answer")
    async def _answer(self, spot: Spot, word: AskAnswer) -> None:
        try:
            client, state = await self._questions.client(), self._questions.state
            turn = state.turn_of(spot[0])
            message_id = turn.part_id if turn is not None else spot[0]
            await client.answer(state.info.id, message_id, spot[1], *word)
        except Refused as error:
            is_gone = error.status == CONFLICT
            self.notify(say("ask.gone") if is_gone else localised(error), severity="warning", markup=False)
            if not is_gone:
                self._answered.discard(spot)
        except AgentTuiError as error:
            self._host.fail(error)
            self._answered.discard(spot)
        self.ask()
        self._host.show_soon()


def _asked_at(state: ConversationState, spot: Spot) -> ToolAsk | None:
    step = state.step(*spot)
    return step.ask if step is not None else None


def _form_of(state: ConversationState, spot: Spot) -> ToolForm | None:
    ask = _asked_at(state, spot)
    return ask.form if ask is not None else None


def _name_of(state: ConversationState, spot: Spot, step: StepState) -> str:
    """Return the tool that asks; with several agents, also whose it is."""
    turn = state.turn_of(spot[0]) if state.is_room else None
    return f"{turn.sender_name} · {step.name}" if turn is not None else step.name
