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
    Spoken,
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

# Why a turn was cut that counts as finished: whoever cut it wants no second attempt.
FINISHED_BY = frozenset({"stop", "skip", "length"})
FIRST_STEP = "step-0"  # where the words came before anybody named their step


@dataclass(slots=True, eq=False)
class Turn:
    """What an agent or a person contributed at one time; all that was said is in its ``steps``.

    Attempts that continue it are parts of it: ``part_id`` is the id of the newest, ``parts`` their number.
    """

    id: str
    agent_id: str = ""
    role: str = "assistant"
    sender_name: str = ""  # in a chat the model's
    sender_color: str = ""
    round_number: int = 0
    parent_id: str = ""  # the message it follows, where the server says so
    versions: tuple[str, ...] = ()
    attempt: int = 1
    status: TurnStatus = "speaking"
    interrupted: str = ""  # why it was cut
    error: str = ""  # why it failed
    token_count: int = 0
    usage: Usage | None = None
    seconds: float | None = None
    created_at: str = ""
    superseded: bool = False  # it was said again, by a newer turn
    to: str = ""  # id of the agent a whisper is for
    to_name: str = ""  # its name, or its id where nobody has that
    attachments: tuple[Attachment, ...] = ()
    spoken: Spoken | None = None  # in a voice session
    trimmed: int = 0  # how many older messages its model was not told
    is_loading: bool = False  # its model is being loaded, and has said nothing yet
    is_synthesis: bool = False  # it sums up its room
    has_no_tools: bool = False  # its model takes none, and was asked without
    has_no_images: bool = False  # its model sees none, and was told of them in words
    waits_for: str = ""  # the MCP servers that are waited for
    missing: tuple[str, ...] = ()  # MCP servers whose tools its model was not offered, and why
    guide: Note | None = None  # the file of its folder that its model was told, or not
    is_guide_news: bool = False  # the turn before was told another one, or none
    summarises: int = 0  # how many older messages are being summarised before it
    summary: Note | None = None  # the step that is the summary of so many
    progress: str = ""  # what its agent told of how far it is, outside of a tool
    waits: TurnNoted | None = None  # since it said its last words
    steps: Steps = field(default_factory=Steps)
    part_id: str = ""
    parts: int = 1
    _before: str = field(default="", repr=False)  # the words of the parts before the newest one
    _used: dict[str, tuple[int, Usage | None, float | None]] = field(default_factory=dict, repr=False)
    _grows: StepState | None = field(default=None, repr=False)  # the text step that words without an id go to
    _grows_as: str = ""  # the id that the server gave it

    def __post_init__(self) -> None:
        self.part_id = self.part_id or self.id

    # --- what can be asked -----------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """All that was said so far, thoughts and tools left out. Costs its length."""
        return self.steps.text_since()

    @property
    def length(self) -> int:
        """How many characters that are. Costs the number of steps."""
        return self.steps.text_length

    def since(self, length: int) -> str:
        """Return what follows the first ``length`` characters. Costs what it returns."""
        return self.steps.text_since(length)

    @property
    def revision(self) -> int:
        """How often the text was replaced instead of added to."""
        return sum(step.content.revision for step in self.steps.texts)

    @property
    def tokens(self) -> int:
        """What it said, in the provider's count, else in the server's; 0 where neither is known."""
        return self.usage.completion_tokens if self.usage is not None else self.token_count

    @property
    def estimated_tokens(self) -> int:
        """The same; where it is not known, or not all is said, as the protocol estimates: characters // 4."""
        if self.usage is not None and self.usage.completion_tokens and self.status != "speaking":
            return self.usage.completion_tokens
        return self.token_count if self.token_count and self.parts == 1 else self.length // 4

    @property
    def spent(self) -> int:
        """Tokens it cost: the provider's count of both sides where that is known, else ``token_count``."""
        if self.usage is not None:
            return self.usage.prompt_tokens + self.usage.completion_tokens
        return 0 if self.role == "user" else self.token_count

    @property
    def cost(self) -> float | None:
        """US dollars, ``None`` where no price is known."""
        return self.usage.cost if self.usage is not None else None

    @property
    def is_finished(self) -> bool:
        """Whether it is over and needs no second attempt."""
        if self.superseded or self.status == "speaking":
            return False
        return self.status != "cut" or self.interrupted in FINISHED_BY

    @property
    def is_local(self) -> bool:
        """Whether its id is our own, because its server names none."""
        return self.id.startswith(LOCAL_ID)

    # --- what comes in ---------------------------------------------------------------------------------

    def go_on(self, part_id: str) -> None:
        """A message begins that continues this one."""
        self.part_id, self.parts = part_id, self.parts + 1
        self.status, self.interrupted, self.error = "speaking", "", ""
        self._before, self._grows, self._grows_as = self.text, None, ""
        self.steps.go_on()

    def account(self, part_id: str, token_count: int, usage: Usage | None, seconds: float | None) -> None:
        """Take what a part has used and how long it took, once however often it is told."""
        count, known, took = self._used.get(part_id, (0, None, None))
        took = seconds if seconds is not None else took
        if usage is not None and known is not None and not usage.context:  # ``done`` says less than the end
            usage = replace(usage, context=known.context, context_limit=known.context_limit)
        self._used[part_id] = token_count or count, usage or known, took
        self.token_count = sum(count for count, _, _ in self._used.values())
        times = [seconds for _, _, seconds in self._used.values() if seconds is not None]
        self.seconds = sum(times) if times else None
        self.usage = None
        for _, used, _ in self._used.values():
            self.usage = sum_of(self.usage, used)

    def add(self, text: str, step_id: str = "") -> None:
        """Append a chunk of that text step; without an id of the one that grows, or of a new one."""
        if self._grows is not None and step_id in ("", self._grows_as):
            self.progress, self.waits = "", None
            self._grows.content.add(text)
            self.steps.changed.add(self._grows.id)
            return
        steps = self.steps
        step_id = step_id or (f"said-{len(steps)}" if steps.all else FIRST_STEP)
        known = steps.all.get(step_id)
        if (known is None or not known.content.length) and not steps.is_cut_off and self.length:
            text = text.removeprefix(BETWEEN_STEPS)
        self.apply(StepAdded(self.id, step_id, text))

    def apply(self, event: StepEvent) -> StepState:
        """Take what is told of a step, and return the step."""
        self.is_loading, self.progress, self.waits, self.summarises = False, "", None, 0
        step = self.steps.apply(event)
        self._mark_summary()
        self._grows = step if step.type == "text" else None
        self._grows_as = event.step.id if isinstance(event, StepSet) else event.step_id
        return step

    def replace(self, text: str) -> None:
        """Take ``text`` for all that the newest part said; where that begins with what is known, the rest is
        added. Several text steps are known better than by their words in a row: they stay.
        """
        known, whole = self.text, self._before + text
        if whole.startswith(known):
            if len(whole) > len(known):
                self.add(whole[len(known) :])
        elif len(texts := self.steps.texts) == 1:
            texts[0].content.replace(whole)
            self.steps.changed.add(texts[0].id)

    def take(self, message: Message) -> None:
        """Take what is stored of it."""
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

    def note(self, event: TurnNoted) -> None:
        """Take what happens to it besides words."""
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
            case "server_missing" | "form_declined":
                self.missing = (*(one for one in self.missing if one != event.about), event.about)
            case "guide" | "guide_cut" | "guide_unread":
                self.guide = event.lasting
            case "summarising":
                self.summarises = event.count
            case "summary":
                self.summary = event.lasting
                self._mark_summary()
            case "trimmed":
                self.trimmed = max(self.trimmed, event.count)
            case "rate_limit":
                self.waits = event
            case "progress":
                self.progress = ": ".join(filter(None, (event.agent_name, event.about)))
            case note if note.startswith("file_"):  # it stands where it was told
                place = len(self.steps)
                self.steps.apply(StepSet(self.id, Step(f"{note} {place}", place, note, name=event.about)))
            case _:
                pass  # of a newer server

    def _mark_summary(self) -> None:
        """Give the thought that is a summary a type of its own, and the number of messages as its name."""
        step = self.steps.all.get(self.summary.about) if self.summary is not None else None
        if step is not None and self.summary is not None and step.type == "thinking":
            step.type, step.name = "summary", str(self.summary.count)
            self.steps.changed.add(step.id)

    def close(self, status: TurnStatus, why: str = "") -> None:
        """End it; ``why`` it failed or was cut."""
        self.status = status
        self.error, self.interrupted = (why, "") if status == "failed" else ("", why)
        self.steps.close("unknown" if status == "said" or why == "crash" else "cut")
