"""The data in events: messages and their steps, agents, rooms, chats. Plain frozen dataclasses.

A field that a person may set is ``Annotated`` with its ``Setting``: its limits, and where it can be set. The
wire, the command line, room files and forms all use that. Import records from ``agent_tui.model.events``.
Texts are as received: hostile until they went through ``agent_tui.model.inert``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

from agent_tui.model.settings import Setting
from agent_tui.model.tool_forms import ToolForm

NAME: Final = 200  # the most characters of a name, of a model, of a provider
WORDS: Final = 100_000  # of a task, of an agent's instructions
AGENT_NAME: Final = 100
MAX_AGENTS: Final = 64  # of a room
MOST_TOKENS: Final = 10**12  # a higher count of tokens is nonsense; it might not even fit the database

# Settings that rooms and chats have in common.
MaxTokens = Annotated[int, Setting(most=MOST_TOKENS, zero="none", noun="The budget", option="--max-tokens")]
MaxCost = Annotated[
    float, Setting(most=1e9, unit="US dollars", zero="none", noun="The budget", option="--max-cost")
]
AnswerTokens = Annotated[
    int, Setting(most=10_000_000, zero="what the provider allows", noun="The longest answer")
]
OnFull = Annotated[str, Setting(choices=("summarise", "leave_out"))]
OnResume = Annotated[str, Setting(choices=("continue", "again"), option="--on-resume")]
Guide = Annotated[str, Setting(choices=("tell", "ignore"), option="--guide")]
Workspace = Annotated[str, Setting(is_folder=True, option="--workspace")]
Archived = Annotated[bool, Setting(in_new=False, while_running=False, in_form=False)]
_TOOLS = Setting(most=500, key="tools", option="--tool")
_MODEL = Setting(most=NAME, is_name=True)
_PROVIDER = Setting(most=NAME, is_name=True, key="provider")


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of a turn in the provider's own tokens. ``first_token_seconds`` is the time to the first
    piece of its answer, ``cost`` is in US dollars, ``None`` if the price is unknown.

    ``context`` is how many tokens its model has in its context after the turn, of at most ``context_limit``;
    0 if unknown.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    first_token_seconds: float | None = None
    cost: float | None = None
    context: int = 0
    context_limit: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a turn as far as it is known (protocols.md §2); ``id`` is unique only in its turn.

    ``type`` is thinking, text, tool_call, tool_result or another server's own word. ``content`` is what was
    thought or said, or a result as text; ``arguments`` of a call is JSON text as the model wrote it.
    ``id_ref`` is a call's id at the provider, or the step id of a result's call.
    """

    id: str
    index: int = 0
    type: str = "text"
    content: str = ""
    name: str = ""
    arguments: str = ""
    id_ref: str = ""
    success: bool = True  # of a result
    status: str = ""  # of a call, as in ``ToolStatusChanged``; empty: it is unknown or over
    seconds: float | None = None  # how long it took
    ask: ToolAsk | None = None  # of a call that asks for permission


@dataclass(frozen=True, slots=True)
class SpeechRecord:
    """How a message of a voice session was spoken; times are in seconds, ``None`` if unknown.

    ``text`` is what was really said of it, if the person cut in; empty if all of it was. ``started_at`` and
    ``ended_at`` are seconds of the Unix clock. ``hearing``: from the end of the speech to its text,
    ``end_of_turn``: until the turn counted as over, ``model``: to the model's first token, ``voice``: to the
    first sound of the voice, ``whole``: from the end of the speech to that sound.
    """

    text: str = ""
    started_at: float | None = None
    ended_at: float | None = None
    hearing: float | None = None
    end_of_turn: float | None = None
    model: float | None = None
    voice: float | None = None
    whole: float | None = None


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file that came with a person's message; ``content`` is its text, or base64 for an image
    (``images``).
    """

    name: str
    content: str = ""
    type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class FileChange:
    """What a call did to the text file at ``path``, which contains no links: the text ``before`` (``None``:
    there was no file) and ``after`` (stored as its SHA-256), and the numbers of lines that were added and
    removed.
    """

    path: str
    before: str | None
    after: str
    diff: str
    added: int
    removed: int


@dataclass(frozen=True, slots=True)
class ChangedFile:
    """A file of the working folder that a tool call changed: ``path`` in that ``folder``, the numbers of
    lines, and the ``diff``. ``is_new``: the call created it.

    ``status`` is "made" if the file is as the call left it, so that this can be undone; else "undone", or why
    it cannot be: "changed" since, "gone", or "unreadable".
    """

    message_id: str
    step_id: str
    path: str
    folder: str = ""
    added: int = 0
    removed: int = 0
    diff: str = ""
    is_new: bool = False
    created_at: str = ""
    status: str = "made"


@dataclass(frozen=True, slots=True)
class Note:
    """What is stored about how a turn's model was asked, in the words of ``events.TurnNoted``."""

    note: str
    about: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Message:
    """A stored chat message. ``text`` is what a person reads; ``content`` is a dialect's JSON text of it and
    of its steps, which our own full form does not have.
    """

    id: str
    room_id: str
    role: str
    content: str = field(metadata={"of_dialect": True})
    text: str
    sender_name: str
    sender_color: str
    round_number: int
    token_count: int
    created_at: str
    agent_id: str = ""
    # Why it was interrupted: pause crash stop skip interject handover budget unwatched error length
    # (protocols.md §1, point 8), or another server's own word; empty if it is whole. All fields of that name
    # mean this.
    interrupted: str = ""
    status: str = ""  # "streaming" while the turn is under way (answers of GET messages only)
    error: str = ""  # why the turn failed, when it did after words were said
    to: str = ""  # id of the one agent that a whisper is for; empty: everyone
    superseded: bool = False  # the turn was said again: this is what it was before
    trimmed: int = 0  # how many older messages were not sent to its model, for lack of room
    usage: Usage | None = None
    steps: tuple[Step, ...] = ()  # of an agent's message that is more than one text
    attachments: tuple[Attachment, ...] = ()  # of a person's message
    parent_id: str = ""  # chat: the message it follows; messages with one parent are versions of each other
    versions: tuple[str, ...] = ()  # chat: ids of all versions of this message, oldest first, if several
    seconds: float | None = None  # how long the answer took
    continues: str = ""  # id of the attempt before it, whose text precedes its own
    spoken: SpeechRecord | None = None  # of a voice session
    notes: tuple[Note, ...] = ()  # those of ``events.LASTING_NOTES``


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """One agent of a room as the server describes it. ``status`` is what it is doing now, in the words of
    ``state.turn.AgentWord``; ``tokens`` is the usage of its turns.
    """

    id: str
    name: Annotated[str, Setting(most=AGENT_NAME, is_name=True, required=True, noun="The name of an agent")]
    color: Annotated[str, Setting(is_color=True)] = ""
    model: Annotated[str, _MODEL] = ""
    turn_order: int = 0
    system_prompt: Annotated[str, Setting(most=WORDS, noun="A system_prompt", key="prompt")] = ""
    provider_id: Annotated[str, _PROVIDER] = ""
    skip_next: bool = False  # its next turn will be skipped
    status: str = ""
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A person's message that waits for the next turn; ``to`` is the agent that a whisper is for."""

    id: str
    content: str
    to: str = ""
    when: str = "next"  # "now" only while a paused room keeps them
    sender_name: str = ""
    created_at: str = ""


@dataclass(frozen=True, slots=True)
class RoomInfo:
    """A room as ``GET /api/rooms/{id}`` answers it (cli.md)."""

    id: str
    name: Annotated[
        str,
        Setting(
            most=NAME,
            is_name=True,
            empty="A room needs a name that can be read.",
            option="--name",
            of_made=False,
        ),
    ] = ""
    task: Annotated[
        str,
        Setting(
            most=WORDS,
            required=True,
            empty="A room needs something to talk about.",
            option="--task",
            of_made=False,
        ),
    ] = ""
    status: str = "idle"
    execution_mode: Annotated[
        str,
        Setting(
            choices=("sequential", "parallel"),
            default_in_form="parallel",
            key="mode",
            option="--mode",
            of_made=False,
        ),
    ] = "sequential"
    current_round: int = 0
    max_rounds: Annotated[
        int,
        Setting(
            least=1,
            most=1_000,
            default=3,
            noun="The number of rounds",
            key="rounds",
            option="--rounds",
            of_made=False,
        ),
    ] = 0
    agents: tuple[AgentInfo, ...] = ()
    last_event_id: int = 0
    created_at: str = ""
    updated_at: str = ""
    keep_running: Annotated[bool, Setting(in_form=False, option="--keep-running")] = False
    interrupted: str = ""  # why it is paused, when it is
    max_tokens: MaxTokens = 0  # the budget; 0: none
    max_cost: MaxCost = 0.0  # the same in the currency of the prices (US dollars); 0: none
    answer_tokens: AnswerTokens = 0  # the most tokens of one answer; 0: the provider's setting
    tokens: int = 0  # used so far by all turns, in the providers' own count where they say it
    cost: float | None = None  # ``None`` if a price is unknown
    on_error: Annotated[str, Setting(choices=("continue", "pause"), option="--on-error")] = "continue"
    on_resume: OnResume = "continue"  # what happens to an interrupted turn when the room is resumed
    synthesis: Annotated[bool, Setting(option="--synthesis", default_in_form=True)] = (
        False  # the last to speak in the last round sums up: decision, reasons, what stays open
    )
    archived: Archived = False
    last_speaker: str = ""
    last_words: str = ""  # the end of what was said last, one short line
    queue: tuple[QueuedMessage, ...] = ()
    enabled_tools: Annotated[tuple[str, ...], _TOOLS] = ()  # the tools that its agents may use
    workspace: Workspace = ""  # the folder in which these work, empty for none
    guide: Guide = "tell"  # whether models get the AGENTS.md of that folder
    # What a screen shows first; "auto" is the timeline of a sequential room, and the panes of a parallel one.
    view: Annotated[str, Setting(choices=("auto", "timeline", "panes"))] = "auto"
    asks: bool = False  # a tool waits for approval
    # Models that the budget in dollars does not limit: their price is unknown. Not in lists.
    unpriced: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConversationInfo:
    """A chat as ``GET /api/conversations/{id}`` answers it (protocols.md §2; most fields are ours).

    ``enabled_tools`` ``None``: read-only tools and, while a person is present who can be asked, all others,
    but in a chat none of those for rooms. ``workspace`` is the folder in which its tools work, empty for
    none. ``head`` is the last message of the shown branch. ``kind`` is "chat", or "voice" for a spoken one.
    """

    id: str
    title: Annotated[
        str,
        Setting(most=NAME, is_name=True, empty="A conversation needs a title that can be read.", key="name"),
    ] = ""
    status: str = "idle"  # or "running"
    system_prompt: Annotated[str, Setting(most=WORDS, key="prompt")] = ""
    model: Annotated[str, _MODEL] = ""
    provider_id: Annotated[str, _PROVIDER] = ""
    temperature: Annotated[float | None, Setting(most=2.0)] = None
    thinking_enabled: Annotated[bool | None, Setting(key="thinking")] = (
        None  # ``None``: the model's own default
    )
    enabled_tools: Annotated[tuple[str, ...] | None, _TOOLS] = None
    workspace: Workspace = ""
    guide: Guide = "tell"  # as a room's
    on_full: OnFull = "summarise"  # what happens to older messages that do not fit into the model's context
    head: Annotated[str, Setting(in_new=False, while_running=False, in_form=False)] = ""
    archived: Archived = False
    max_tokens: MaxTokens = 0  # the budget, as a room's
    max_cost: MaxCost = 0.0
    answer_tokens: AnswerTokens = 0  # as a room's
    on_resume: OnResume = "continue"  # as a room's
    tokens: int = 0
    cost: float | None = None
    last_words: str = ""
    asks: bool = False  # a tool of the current answer is waiting for permission
    interrupted: str = ""  # why the newest answer of the shown branch was interrupted, if it was
    error: str = ""  # why it failed, if it did
    last_event_id: int = 0
    created_at: str = ""
    updated_at: str = ""
    kind: str = "chat"
    unpriced: tuple[str, ...] = ()  # as a room's


@dataclass(frozen=True, slots=True)
class ToolAsk:
    """What a person is asked before a tool runs: exactly what it would do.

    ``call`` is one line; ``preview`` is what would be changed (a diff, if ``preview_type`` is "diff") or more
    of the call. ``pattern`` is the rule that "conversation" and "always" keep, only for calls in ``folder``
    if there is one. With a ``form`` the call is running already: the MCP server asks for values, which
    ``call`` says; the answer is the filled-in form.
    """

    call: str
    preview: str = ""
    preview_type: str = "text"
    pattern: str = ""
    folder: str = ""
    form: ToolForm | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A question. ``parent_id``: the message it follows, "" for the beginning, ``None`` for the newest.

    ``again``: id of a question to answer again, ``continues``: of an answer to be finished. ``client_key``:
    sent twice, it is one question.
    """

    content: str
    attachments: Sequence[Attachment] = ()
    thinking_enabled: bool | None = None
    enabled_tools: Sequence[str] | None = None
    parent_id: str | None = None
    again: str = ""
    client_key: str = ""
    continues: str = ""

    @property
    def is_anew(self) -> bool:
        """Whether it has no new words."""
        return bool(self.again or self.continues)
