"""The form of a new room: what it is about, who speaks, how far they may go."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from rich.text import Text
from textual import events, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import Screen
from textual.suggester import SuggestFromList
from textual.widgets import Input, OptionList, Static, TextArea
from textual.widgets.option_list import Option

from agent_tui.agent_templates import Template, language_of, templates
from agent_tui.errors import AgentTuiError
from agent_tui.events import RoomInfo
from agent_tui.inert import inert, inert_line
from tui.link import RoomLink
from tui.screens import signs
from tui.screens.new_room_fields import OwnAgent, Written, language_of_locale, named_field
from tui.screens.words import say
from widgets.signs import DONE, TASK, twin
from widgets.status_line import Part, StatusLine

MAX_INPUT_CHARACTERS: Final = 2_000
MAX_PROBLEM_CHARACTERS: Final = 300
HINTS: Final = (  # key, word, rank
    ("tab", "next", 2),
    ("space", "choose", 3),
    ("ctrl+n", "create", 0),
    ("ctrl+g", "start", 0),
    ("esc", "back", 1),
)
OWN: Final = ("own_name", "own_prompt", "own_model")


@dataclass(frozen=True, slots=True)
class Made:
    """The room that was made; ``start`` when it shall begin at once."""

    room: RoomInfo
    start: bool


class Choice(Static, can_focus=True):
    """One of a few values on one row; left, right and space go through them."""

    def __init__(self, values: Sequence[tuple[str, str]], *, id: str) -> None:  # noqa: A002 - Textual's own word
        """``values`` are pairs of what is meant and what is read."""
        super().__init__(id=id, markup=False)
        self._values = list(values)
        self._at = 0

    @property
    def value(self) -> str:
        """What is chosen."""
        return self._values[self._at][0]

    def offer(self, values: Sequence[tuple[str, str]]) -> None:
        """Offer other values; the chosen one stays, if it is among them."""
        chosen = self.value
        self._values = list(values)
        self._at = next((at for at, (value, _) in enumerate(self._values) if value == chosen), 0)
        self._show()

    def on_mount(self) -> None:
        """Say what is chosen."""
        self._show()

    def _show(self) -> None:
        is_ascii = self.app.has_class("-ascii")
        arrows = ("", "") if len(self._values) < 2 else ("< ", " >") if is_ascii else ("‹ ", " ›")
        self.update(inert_line(self._values[self._at][1]).join(arrows))

    def on_key(self, event: events.Key) -> None:
        """Go through the values."""
        step = {"right": 1, "space": 1, "left": -1}.get(event.key)
        if step is not None:
            event.stop()
            self._at = (self._at + step) % len(self._values)
            self._show()

    def on_click(self) -> None:
        """Take the next value."""
        self._at = (self._at + 1) % len(self._values)
        self._show()


class Checklist(OptionList):
    """Agents to choose: space or enter takes one, or leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("space", "select", show=False)]


class NewRoomScreen(Screen[Made | None]):
    """Makes a room and is dismissed with it; with nothing when that was given up."""

    CSS_PATH = "new_room.tcss"
    AUTO_FOCUS = "#task"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "create(False)", "Create the room", id="new.create", priority=True),
        Binding("ctrl+g", "create(True)", "Create the room and start it", id="new.start", priority=True),
        Binding("escape", "back", "Back, without a room", id="new.back"),
    ]

    def __init__(self, link: RoomLink, *, ascii_only: bool) -> None:
        super().__init__()
        self._link = link
        self._ascii_only = ascii_only
        self._language = language_of_locale(os.environ)
        self._templates: list[Template] = []
        self._chosen: set[str] = set()  # ids of templates
        self._own: list[OwnAgent] = []
        self._is_asking = False
        self._models_of = ""

    def compose(self) -> ComposeResult:
        yield Static(f" {say('new.title')}", id="top", markup=False)
        with VerticalScroll(id="form", can_focus=False):
            yield from self._field("task", TextArea(id="task", compact=True, tab_behavior="focus"))
            yield from self._field("name", self._line("name"))
            modes = [(mode, say(f"new.mode.{mode}")) for mode in ("sequential", "parallel")]
            yield from self._field("execution_mode", Choice(modes, id="mode"))
            yield from self._field("max_rounds", self._line("rounds", "3"))
            yield from self._field("agents", Checklist(id="agents", compact=True, markup=False))
            with Horizontal(classes="row"):
                yield Static(say("new.own"), classes="label", markup=False)
                for name in OWN:
                    yield self._line(name, placeholder=say(f"new.{name}"))
            yield from self._field("provider", Choice([("", say("new.default"))], id="provider"))
            yield from self._field("model", self._line("model", placeholder=say("new.default")))
            yield from self._field("max_tokens", self._line("tokens", placeholder=say("new.none")))
            yield from self._field("max_cost", self._line("cost", placeholder=say("new.none")))
            on_error = [(what, say(f"new.on_error.{what}")) for what in ("continue", "pause")]
            yield from self._field("on_error", Choice(on_error, id="on_error"))
        yield Static("", id="problem", markup=False)
        yield StatusLine(id="hints", is_dim=True, ascii_only=self._ascii_only)

    def _field(self, name: str, widget: TextArea | Input | Choice | Checklist) -> ComposeResult:
        with Horizontal(classes="row"):
            yield Static(say(f"new.{name}"), classes="label", markup=False)
            yield widget
            yield Static("", id=f"problem-{name}", classes="problem", markup=False)

    def _line(self, name: str, value: str = "", placeholder: str = "") -> Input:
        return Input(
            value,
            id=name,
            placeholder=twin(placeholder) if self._ascii_only else placeholder,
            compact=True,
            select_on_focus=False,
            max_length=MAX_INPUT_CHARACTERS,
        )

    def on_mount(self) -> None:
        """Offer the agents and what runs them, as soon as they are known."""
        area = self.query_one("#task", TextArea)
        area.cursor_blink = False
        keys = [Part(say(f"new.hint.{word}"), rank, key) for key, word, rank in HINTS]
        self.query_one("#hints", StatusLine).show(keys)
        self._offer_agents()
        self._offer_providers()

    # --- agents ------------------------------------------------------------------------------------------

    @work(group="templates", exclusive=True)
    async def _offer_agents(self) -> None:
        self._templates = await asyncio.to_thread(templates)
        self._list_agents()

    def _list_agents(self) -> None:
        checklist = self.query_one(Checklist)
        at = checklist.highlighted
        rows = []
        for template in self._templates:
            name, _, summary = template.in_language(self._language)
            rows.append(self._agent_row(name, summary, is_chosen=template.id in self._chosen))
        rows += [self._agent_row(agent.name, agent.prompt, is_chosen=True) for agent in self._own]
        checklist.set_options([Option(Text(row, no_wrap=True, overflow="ellipsis")) for row in rows])
        if rows:
            checklist.highlighted = min(at or 0, len(rows) - 1)

    def _agent_row(self, name: str, summary: str, *, is_chosen: bool) -> str:
        row = f"{DONE if is_chosen else TASK} {inert_line(name, 40)}  {inert_line(summary, 120)}"
        return twin(row) if self._ascii_only else row

    @on(OptionList.OptionSelected, "#agents")
    def choose_agent(self, event: OptionList.OptionSelected) -> None:
        """Take an agent, or leave it; one that was written here is gone then."""
        event.stop()
        at = event.option_index
        if at < len(self._templates):
            self._chosen ^= {self._templates[at].id}
        else:
            del self._own[at - len(self._templates)]
        self._list_agents()

    @on(TextArea.Changed, "#task")
    def speak_its_language(self, event: TextArea.Changed) -> None:
        """Offer the agents in the language of the task."""
        event.stop()
        text = event.text_area.text
        language = language_of(text) if text.strip() else language_of_locale(os.environ)
        if language != self._language:
            self._language = language
            self._list_agents()

    @on(Input.Submitted)
    def submitted(self, event: Input.Submitted) -> None:
        """Add the agent that was written; from any other line go on to the next field."""
        event.stop()
        if event.input.id not in OWN:
            self.focus_next()
        elif not self._add_own():
            self.query_one("#own_name", Input).focus()

    def _add_own(self) -> bool:
        """Take the agent that was written in place, if it has a name."""
        lines = [self.query_one(f"#{name}", Input) for name in OWN]
        name, prompt, model = (inert(line.value).strip() for line in lines)
        if not name:
            return False
        self._own.append(OwnAgent(name, prompt, model))
        for line in lines:
            line.value = ""
        self._list_agents()
        checklist = self.query_one(Checklist)
        checklist.highlighted = checklist.option_count - 1  # in sight
        lines[0].focus()
        return True

    # --- providers and models ------------------------------------------------------------------------------

    @work(group="providers", exclusive=True)
    async def _offer_providers(self) -> None:
        try:
            client = await self._link.client()
            providers = await client.providers()
        except AgentTuiError:
            return  # the server chooses
        named = [
            (provider.id, f"{provider.name or provider.id} {provider.model}".strip())
            for provider in providers
        ]
        self.query_one("#provider", Choice).offer([("", say("new.default")), *named])

    @on(events.DescendantFocus)
    def look_for_models(self) -> None:
        """Know the models of the chosen provider once the model is to be written."""
        provider = self.query_one("#provider", Choice).value
        if self.focused is self.query_one("#model", Input) and provider and provider != self._models_of:
            self._models_of = provider
            self._offer_models(provider)

    @work(group="models", exclusive=True)
    async def _offer_models(self, provider: str) -> None:
        try:
            client = await self._link.client()
            models = await client.models(provider)
        except AgentTuiError as error:
            self._models_of = ""
            self._say_problem("model", inert_line(str(error), MAX_PROBLEM_CHARACTERS))
            return
        self._say_problem("model", "")
        known = [inert_line(model) for model in models]
        self.query_one("#model", Input).suggester = SuggestFromList(known, case_sensitive=False)

    # --- making it -----------------------------------------------------------------------------------------

    def _written(self) -> Written:
        value = {line.id: line.value for line in self.query(Input)}
        choice = {one.id: one.value for one in self.query(Choice)}
        return Written(
            task=self.query_one("#task", TextArea).text,
            name=value["name"],
            mode=choice["mode"],
            rounds=value["rounds"],
            templates=[template for template in self._templates if template.id in self._chosen],
            own=self._own,
            language=self._language,
            provider=choice["provider"],
            model=value["model"],
            tokens=value["tokens"],
            cost=value["cost"],
            on_error=choice["on_error"],
        )

    def action_create(self, start: bool) -> None:
        """Make the room, if everything is as it must be."""
        if self._is_asking:
            return
        self._add_own()  # what was written and not added is meant
        written = self._written()
        fields = written.fields()
        for problem in self.query(".problem").results(Static):
            problem.update("")
        self.query_one("#problem", Static).update("")
        for name, problem_text in written.problems.items():
            self._say_problem(name, problem_text)
        if not written.problems:
            self._create(fields.pop("task"), fields, start)

    @work(group="create", exclusive=True)
    async def _create(self, task: str, fields: dict[str, object], start: bool) -> None:
        self._is_asking = True
        try:
            client = await self._link.client()
            room = await client.create(task, **fields)  # type: ignore[arg-type]  # checked by ``Written``
        except AgentTuiError as error:
            line = inert_line(str(error), MAX_PROBLEM_CHARACTERS)
            self._say_problem(named_field(line), line)
            return
        finally:
            self._is_asking = False
        self.dismiss(Made(room, start))

    def _say_problem(self, name: str, text: str) -> None:
        """Say what is wrong beside its field, or below all of them."""
        line = f"{signs.FAILED} {text}" if text else ""
        shown = twin(line) if self._ascii_only else line
        beside = list(self.query(f"#problem-{name}").results(Static)) if name else []
        (beside[0] if beside else self.query_one("#problem", Static)).update(shown)
        if beside and text:
            beside[0].scroll_visible()

    def action_back(self) -> None:
        """Close without a room."""
        self.dismiss(None)
