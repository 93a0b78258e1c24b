"""One turn of a conversation, as the screen knows it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Literal

from agent_tui.model.chains import BETWEEN_STEPS, sum_of
from agent_tui.model.events import (
    LOCAL_ID,
    Attachment,
    Message,
    Note,
    SpeechRecord,
    Step,
    StepAdded,
    StepSet,
    ToolStatusChanged,
    TurnNoted,
    Usage,
)
from agent_tui.state.steps import Steps, StepState

StepEvent = StepSet | StepAdded | ToolStatusChanged
TurnStatus = Literal["speaking", "said", "cut", "failed"]

# Interruptions after which a turn counts as finished: the person wants no second attempt.
FINISHED_BY = frozenset({"stop", "skip", "length"})
FIRST_STEP = "step-0"  # for words that come before any step is named


@dataclass(slots=True, eq=False)
class Turn:
    """What an agent or a person contributed at one time; everything that was said is in its ``steps``.

    Attempts that continue it are parts of it: ``part_id`` is the id of the newest, ``parts`` their number.
    """

    id: str
    agent_id: str = ""
    received_agent_id: str = ""  # as it was received: which of the agents that are one to the state
    role: str = "assistant"
    sender_name: str = ""  # in a chat, the model's name
    sender_color: str = ""
    round_number: int = 0
    parent_id: str = ""  # the message it follows, if the server says so
    versions: tuple[str, ...] = ()
    attempt: int = 1
    status: TurnStatus = "speaking"
    interrupted: str = ""  # why it was interrupted
    error: str = ""  # why it failed
    token_count: int = 0
    usage: Usage | None = None
    seconds: float | None = None
    created_at: str = ""
    superseded: bool = False  # it was said again, by a newer turn
    to: str = ""  # id of the agent that a whisper is for
    to_name: str = ""  # its name, or its id if that is unknown
    attachments: tuple[Attachment, ...] = ()
    spoken: SpeechRecord | None = None  # in a voice session
    trimmed: int = 0  # how many older messages its model did not get
    shortened: int = 0  # how many results of tools it got shortened
    is_loading: bool = False  # its model is being loaded, and has not said anything yet
    is_synthesis: bool = False  # it sums up its room
    has_no_tools: bool = False  # its model does not take tools, and was asked without
    has_no_images: bool = False  # its model does not see images, and got a description
    waits_for: str = ""  # the MCP servers that are waited for
    missing: tuple[str, ...] = ()  # MCP servers whose tools are missing, and why
    missing_before: tuple[str, ...] = ()  # those of its agent's turn before
    declined: tuple[str, ...] = ()  # MCP servers whose forms were declined without a person, and why
    guide: Note | None = None  # the file of its folder that its model got, or not
    is_guide_news: bool = False  # the turn before got another file, or none
    summarises: int = 0  # how many older messages are being summarised before it
    summary: Note | None = None  # the step that is the summary of so many
    progress: str = ""  # a line about its agent's progress, outside of a tool
    waits: TurnNoted | None = None  # since its last words
    steps: Steps = field(default_factory=Steps)
    part_id: str = ""
    parts: int = 1
    rest_of: str = ""  # the part whose rest the server was asked for
    _before: str = field(default="", repr=False)  # the words of the parts before the newest one
    _used: dict[str, tuple[int, Usage | None, float | None]] = field(default_factory=dict, repr=False)
    _uncounted: int = 0  # tokens of parts whose provider was cut off before it counted
    _grows: StepState | None = field(default=None, repr=False)  # the text step for words without an id
    _grows_as: str = ""  # the server's id of that step

    def __post_init__(self) -> None:
        self.part_id = self.part_id or self.id

    # --- what it has said and cost ---------------------------------------------------------------------

    @property
    def text(self) -> str:
        """Everything that was said so far, without thoughts and tools. Costs its length."""
        return self.steps.text_since()

    @property
    def length(self) -> int:
        """The number of these characters. Costs the number of steps."""
        return self.steps.text_length

    def since(self, length: int) -> str:
        """Return what follows the first ``length`` characters. Costs as much as it returns."""
        return self.steps.text_since(length)

    @property
    def revision(self) -> int:
        """How often the text was replaced instead of added to."""
        return sum(step.content.revision for step in self.steps.texts)

    @property
    def tokens(self) -> int:
        """Its tokens in the provider's count, else in the server's; 0 if both are unknown."""
        return self.token_count if self.usage is None else self.usage.completion_tokens + self._uncounted

    @property
    def estimated_tokens(self) -> int:
        """Its tokens; if unknown or not complete, the protocol's estimate: a quarter of its characters."""
        if self.usage is not None and self.usage.completion_tokens and self.status != "speaking":
            return self.tokens
        return self.token_count if self.token_count and self.parts == 1 else self.length // 4

    @property
    def spent(self) -> int:
        """The tokens it used: the provider's count of prompt and answer if known, else ``token_count``."""
        if self.usage is not None:
            return self.usage.prompt_tokens + self.usage.completion_tokens + self._uncounted
        return 0 if self.role == "user" else self.token_count

    @property
    def cost(self) -> float | None:
        """US dollars, ``None`` if a price is unknown."""
        return self.usage.cost if self.usage is not None else None

    @property
    def is_finished(self) -> bool:
        """Whether it is over and needs no second attempt."""
        if self.superseded or self.status == "speaking":
            return False
        return self.status != "cut" or self.interrupted in FINISHED_BY

    @property
    def server_news(self) -> list[str]:
        """Lines about MCP servers, without those that the turn before had already."""
        return [*(line for line in self.missing if line not in self.missing_before), *self.declined]

    @property
    def will_continue(self) -> bool:
        """Whether its rest was asked for and has not begun."""
        return bool(self.rest_of) and self.rest_of == self.part_id

    @property
    def is_local(self) -> bool:
        """Whether its id is our own, because its server names none."""
        return self.id.startswith(LOCAL_ID)

    # --- what comes in ---------------------------------------------------------------------------------

    def go_on(self, part_id: str) -> None:
        """Expect a message that continues this turn."""
        self.part_id, self.parts = part_id, self.parts + 1
        self.status, self.interrupted, self.error = "speaking", "", ""
        self._before, self._grows, self._grows_as = self.text, None, ""
        self.steps.go_on()

    def account(self, part_id: str, token_count: int, usage: Usage | None, seconds: float | None) -> None:
        """Count the usage and time of a part, once, however often it is sent."""
        tokens, earlier, time = self._used.get(part_id, (0, None, None))
        time = seconds if seconds is not None else time
        if usage is not None and earlier is not None and not usage.context:  # ``done`` says less than the end
            usage = replace(usage, context=earlier.context, context_limit=earlier.context_limit)
        self._used[part_id] = token_count or tokens, usage or earlier, time
        self.token_count = sum(tokens for tokens, _, _ in self._used.values())
        self._uncounted = sum(tokens for tokens, used, _ in self._used.values() if used is None)
        times = [seconds for _, _, seconds in self._used.values() if seconds is not None]
        self.seconds = sum(times) if times else None
        self.usage = None
        for _, used, _ in self._used.values():
            self.usage = sum_of(self.usage, used)

    def add(self, text: str, step_id: str = "") -> None:
        """Add a chunk to that text step; without an id, to the one that is growing, or to a new one."""
        if self._grows is not None and step_id in ("", self._grows_as):
            self.progress, self.waits = "", None
            self._grows.content.add(text)
            self.steps.changed.add(self._grows.id)
            return
        steps = self.steps
        step_id = step_id or (f"said-{len(steps)}" if steps.all else FIRST_STEP)
        step = steps.all.get(step_id)
        if (step is None or not step.content.length) and not steps.is_cut_off and self.length:
            text = text.removeprefix(BETWEEN_STEPS)
        self.apply(StepAdded(self.id, step_id, text))

    def apply(self, event: StepEvent) -> StepState:
        """Take an event about a step, and return the step."""
        self.is_loading, self.progress, self.waits, self.summarises = False, "", None, 0
        step = self.steps.apply(event)
        self._mark_summary()
        self._grows = step if step.type == "text" else None
        self._grows_as = event.step.id if isinstance(event, StepSet) else event.step_id
        return step

    def replace(self, text: str) -> None:
        """Take ``text`` as everything that the newest part said; if it begins with what is known, the rest is
        added. Several text steps say more than their joined words: they stay.
        """
        known, whole = self.text, self._before + text
        if whole.startswith(known):
            if len(whole) > len(known):
                self.add(whole[len(known) :])
        elif len(texts := self.steps.texts) == 1:
            texts[0].content.replace(whole)
            self.steps.changed.add(texts[0].id)

    def take(self, message: Message) -> None:
        """Take its stored form."""
        if message.steps:
            for step in message.steps:
                self.apply(StepSet(self.id, step))
        elif message.text:
            self.replace(message.text)
        self.trimmed = message.trimmed or self.trimmed
        for note in message.notes:
            noted = TurnNoted(message.id, note.note, note.count, about=note.about)
            if noted.lasting:
                self.note(noted)

    def compare_guide(self, known: Note | None) -> Note | None:
        """Note whether its model got another guide of its folder than ``known``; return the newest."""
        if self.guide is None:
            return known
        self.is_guide_news = self.is_guide_news or self.guide != known
        return self.guide

    def note(self, event: TurnNoted) -> None:
        """Take a note."""
        match event.note:
            case "loading":
                self.is_loading = not self.steps.all
            case "synthesis":
                self.is_synthesis = True
            case "no_tools":
                self.has_no_tools = True
            case "no_images":
                self.has_no_images = True
            case "servers_wait":
                self.waits_for = event.about
            case "server_missing":
                self.missing = _with(self.missing, event.about)
            case "form_declined":
                self.declined = _with(self.declined, event.about)
            case "guide" | "guide_cut" | "guide_unread":
                self.guide = event.lasting
            case "summarising":
                self.summarises = event.count
            case "summary":
                self.summary = event.lasting
                self._mark_summary()
            case "trimmed":
                self.trimmed = max(self.trimmed, event.count)
            case "shortened":
                self.shortened = max(self.shortened, event.count)
            case "rate_limit":
                self.waits = event
            case "progress":
                self.progress = ": ".join(filter(None, (event.agent_name, event.about)))
            case note if note.startswith("file_"):  # it belongs where it came
                place = len(self.steps)
                self.steps.apply(StepSet(self.id, Step(f"{note} {place}", place, note, name=event.about)))
            case _:
                pass  # from a newer server

    def _mark_summary(self) -> None:
        """Give the thought that is a summary a type of its own, and the number of messages as its name."""
        step = self.steps.all.get(self.summary.about) if self.summary is not None else None
        if step is not None and self.summary is not None and step.type == "thinking":
            step.type, step.name = "summary", str(self.summary.count)
            self.steps.changed.add(step.id)

    def close(self, status: TurnStatus, why: str = "") -> None:
        """End it; ``why`` it failed or was interrupted."""
        self.status = status
        self.error, self.interrupted = (why, "") if status == "failed" else ("", why)
        self.steps.close("unknown" if status == "said" or why == "crash" else "cut")


def _with(lines: tuple[str, ...], line: str) -> tuple[str, ...]:
    return (*(other for other in lines if other != line), line)
