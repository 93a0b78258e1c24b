"""The messages for models: in a room (protocols.md §1) the agent's prompt, the room, then what was said; in a
chat its system prompt and the branch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from agent_tui.backend.engine.agents import is_synthesis, room_prompt, synthesizer, without_own_mark
from agent_tui.backend.engine.answer.steps import tool_calls
from agent_tui.backend.engine.chats.fields import QuestionFields
from agent_tui.backend.engine.context.compacting import Past, summary_in, summary_message
from agent_tui.backend.models.model import ChatMessage, Image, Member, ModelRequest
from agent_tui.backend.store.reads.turns import Contribution
from agent_tui.backend.store.rows import VOICE, ConversationRow, TurnRow
from agent_tui.backend.tools.calling import failed_output
from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.model.chains import join_chains, joined_steps
from agent_tui.model.events import UNDONE, AgentInfo, Attachment, Message, Step
from agent_tui.model.images import bytes_of, image_data, is_image

ROOM_FAILED = "LLM stream failed"  # protocols.md §1
CHAT_FAILED = "API Error"  # protocols.md §2

# What an attempt continues: the attempts before it, oldest first, each with its steps, if any.
Chain = Sequence[tuple[TurnRow, tuple[Step, ...]]]
_FENCES = re.compile("`{3,}")
UNDONE_SINCE = "\n[The user has undone this change since: the file is as it was before.]"
NO_RESULT = failed_output(
    "unknown: nothing is known of what became of this call; it was not run again"
).content


@dataclass(frozen=True, slots=True)
class Brief:
    """Everything that an attempt needs. ``request`` has the whole history, oldest first; its tools and the
    limit of the answer are added later. ``failed`` begins the text of an error.

    ``before`` are the steps of what it continues, as one message has them, ``continued`` the messages they
    belong to. ``tools`` may be used; ``None``: read-only tools, and those that could be allowed. Without
    ``keeps_steps`` an agent has only words and thoughts: it calls nothing. With ``is_alone`` nobody is asked
    what a tool may do. The ``past`` may be summarised first; with ``compacts`` nothing else is done.
    """

    request: ModelRequest
    failed: str
    before: tuple[Step, ...] = ()
    continued: Collection[str] = ()
    tools: tuple[str, ...] | None = ()
    keeps_steps: bool = True
    is_alone: bool = False
    past: Past | None = None
    compacts: bool = False


# --- of rooms -----------------------------------------------------------------------------------------


def room_brief(
    room: ConversationRow, turn: TurnRow, contributions: Sequence[Contribution], chain: Chain
) -> Brief:
    """Return the brief for the ``turn`` of an agent; ``contributions``: see ``model_messages``."""
    agent = next(agent for agent in room.agents if agent.id == turn.agent_id)
    before: tuple[Step, ...] = ()
    for row, steps in chain:
        before = joined_steps(before, steps or (Step("step-0", content=row.text),))
    request = ModelRequest(
        messages=model_messages(room, agent, turn, contributions, chain[0][0].first_seq if chain else None),
        model=agent.model,
        speaker=agent.name,
        task=room.task,
        round=turn.round,
        max_rounds=room.max_rounds,
        member=Member(room.id, agent.id, room.workspace),
        agents=room.agents,
        synthesizer=synthesizer(room),
    )
    continued = frozenset(row.message_id for row, _ in chain)
    return Brief(request, ROOM_FAILED, before, continued, room.tools, keeps_steps=bool(room.tools))


def model_messages(
    room: ConversationRow,
    agent: AgentInfo,
    turn: TurnRow,
    contributions: Sequence[Contribution],
    until: int | None = None,
) -> tuple[ChatMessage, ...]:
    """Return the messages for the ``turn`` of ``agent``.

    ``contributions`` are what was said, in the order of its beginning, without interrupted, skipped and
    failed attempts. What the agent said in this very turn is left out. ``until`` is where a continued turn
    began: what other agents said since then is left out, what people said since then is not.

    The agent's own words are the assistant's, those of other agents a user's with ``[name]: `` in front (the
    speaker is found by the id, since names change), a person's are as they are. If a model put that mark in
    front of its words itself, it is removed there. In a parallel room an agent gets what agents said before
    the round began, otherwise everything; the synthesis gets everything. Nobody gets what was whispered to
    another agent.
    """
    prompt = _prompt(room, agent, turn)
    messages = [ChatMessage("system", prompt)] if prompt else []
    sums_up = is_synthesis(room, turn.round, agent.id)
    for contribution in _in_order(room, contributions):
        if not contribution.text or contribution.to not in ("", agent.id):
            continue
        if contribution.agent_id == agent.id and contribution.round == turn.round:
            continue
        if until is not None and contribution.agent_id and contribution.seq >= until:
            continue
        if room.parallel and contribution.agent_id and contribution.round >= turn.round + sums_up:
            continue
        if not contribution.agent_id:
            messages.append(ChatMessage("user", contribution.text))
            continue
        text = without_own_mark(contribution.text, contribution.name)
        if contribution.agent_id == agent.id:
            messages.append(ChatMessage("assistant", text))
        else:
            messages.append(ChatMessage("user", f"[{contribution.name}]: {text}"))
    if (first := int(bool(prompt))) < len(messages):
        messages[first] = replace(messages[first], stays=True)
    return tuple(messages)


def _prompt(room: ConversationRow, agent: AgentInfo, turn: TurnRow) -> str:
    """Return the agent's own prompt and the text about the room; the demo model needs none of that."""
    if agent.provider_id == DEMO_PROVIDER:
        return agent.system_prompt
    about_room = room_prompt(room, agent, turn.round)
    return f"{agent.system_prompt}\n\n{about_room}" if agent.system_prompt else about_room


def _in_order(room: ConversationRow, contributions: Sequence[Contribution]) -> Sequence[Contribution]:
    if not room.parallel:
        return contributions
    # Not by time: what models get must not depend on who was faster. People's words open a round.
    return sorted(
        contributions,
        key=lambda contribution: (contribution.round, contribution.agent_id != "", contribution.place),
    )


# --- of chats ---------------------------------------------------------------------------------------


def chat_brief(
    row: ConversationRow,
    history: Sequence[Message],
    question: QuestionFields,
    continued: Message | None = None,
) -> Brief:
    """Return the brief for an answer: ``history`` is the branch with the question at its end, ``continued``
    the answer that it continues.
    """
    prompt = row.agent.system_prompt if question.system_prompt is None else question.system_prompt
    messages = branch_messages(prompt, history, continued)
    messages[-1] = replace(messages[-1], stays=True)  # the question
    thinking = row.thinking if question.thinking is None else question.thinking
    tools = row.tools if question.tools is None else question.tools
    return Brief(
        replace(_chat_request(row, messages, history[-1].text), thinking=thinking),
        CHAT_FAILED,
        continued.steps if continued is not None else (),
        tools=tools,
        is_alone=question.is_alone,
        past=Past(tuple(messages[bool(prompt) : -1]), _count(history[:-1])),
    )


def compacting_brief(row: ConversationRow, history: Sequence[Message], keep: str) -> Brief:
    """Return the brief for a summary of the branch ``history``; ``keep`` is what it should keep."""
    prompt = row.agent.system_prompt
    messages = branch_messages(prompt, history)
    past = Past(tuple(messages[bool(prompt) :]), _count(history), keep)
    return Brief(_chat_request(row, messages, ""), CHAT_FAILED, tools=row.tools, past=past, compacts=True)


def _chat_request(row: ConversationRow, messages: Sequence[ChatMessage], task: str) -> ModelRequest:
    return ModelRequest(
        messages=tuple(messages),
        model=row.agent.model,
        speaker="",
        task=task,
        round=1,
        max_rounds=1,
        temperature=row.temperature,
        member=Member(row.id, row.id, row.workspace),
        is_spoken=row.kind == VOICE,
    )


def branch_messages(
    system_prompt: str, history: Sequence[Message], continued: Message | None = None
) -> list[ChatMessage]:
    """Return the branch ``history`` for a model that continues after it, or with ``continued``.

    Interrupted and failed answers are included as far as they went, with a mark. One that failed before it
    said or called anything is left out with its question, so that the next question stands alone. The newest
    summary replaces everything before the question that it was made for.
    """
    messages = [ChatMessage("system", system_prompt)] if system_prompt else []
    branch = join_chains(history)
    begin, summary = _summarised(branch, continued)
    messages += [summary_message(*summary)] if summary is not None else []
    for place, message in enumerate(branch[begin:], begin):
        if message.role == "user":
            files = message.attachments
            images = tuple(Image(file.type, image_data(file)) for file in files if is_image(file))
            messages.append(ChatMessage("user", question_text(message.text, files), images=images))
        elif _only_compacts(branch, place):
            continue
        elif answer := _answer_messages(message):
            messages += answer
        elif message.error and messages and messages[-1].role == "user":
            messages.pop()
    return messages


def _summarised(branch: Sequence[Message], continued: Message | None) -> tuple[int, tuple[str, int] | None]:
    """Return where the messages of a branch begin, and the summary of what is before that."""
    if summary := summary_in(continued):
        return len(branch) - 1, summary  # the summary was made for the question at the end
    for place in range(len(branch) - 1, -1, -1):
        if summary := summary_in(branch[place]):
            return place - (not _only_compacts(branch, place)), summary
    return 0, None


def _only_compacts(branch: Sequence[Message], place: int) -> bool:
    """Return whether the message is only a turn for a summary: it answers nobody and says nothing."""
    answers = place > 0 and branch[place - 1].role == "user"
    return branch[place].role != "user" and not answers and not step_messages(branch[place].steps)


def _count(messages: Sequence[Message]) -> int:
    """Return how many messages these are for a person."""
    branch = join_chains(messages)
    return sum(not _only_compacts(branch, place) for place in range(len(branch)))


def question_text(text: str, attachments: Sequence[Attachment]) -> str:
    """Return a person's words with the attached files, each in a fence under its name; of images only the
    names.
    """
    return "\n\n".join([*([text] if text else []), *map(_fenced, attachments)])


def step_messages(
    steps: Sequence[Step], images: Mapping[str, tuple[Image, ...]] | None = None
) -> list[ChatMessage]:
    """Return the steps of one answer, in their order, as messages, in which each call has its result.
    Thoughts are left out. ``images`` came with results, by the ids of their calls.
    """
    images_by_call = images or {}
    messages: list[ChatMessage] = []
    words: list[str] = []
    calls: list[Step] = []
    results = {step.id_ref: step for step in steps if step.type == "tool_result"}
    answered = False
    for step in steps:
        if answered and step.type != "tool_result":
            messages += _round_messages(words, calls, results, images_by_call)
            words, calls, answered = [], [], False
        if step.type == "text" and step.content:
            words.append(step.content)
        elif step.type == "tool_call":
            calls.append(step)
        elif step.type == "tool_result":
            answered = True
    return messages + _round_messages(words, calls, results, images_by_call)


def without_unrun(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps of an interrupted answer without the newest round of calls, if none of them ever ran:
    a model that continues makes them again, complete.
    """
    end = len(steps)
    for type_ in ("tool_result", "tool_call"):
        while end and steps[end - 1].type == type_:
            end -= 1
    calls = [step for step in steps[end:] if step.type == "tool_call"]
    has_run = any(call.status != "cut" or call.seconds is not None for call in calls)
    return tuple(steps if has_run else steps[:end])


def last_words_of(messages: Sequence[ChatMessage]) -> str:
    """Return the words at which an answer was interrupted: those of its last message, "" if that ends with a
    call.
    """
    last = messages[-1] if messages else None
    return last.content if last is not None and last.role == "assistant" and not last.calls else ""


def _round_messages(
    words: Sequence[str],
    calls: Sequence[Step],
    results: Mapping[str, Step],
    images: Mapping[str, tuple[Image, ...]],
) -> list[ChatMessage]:
    if not (words or calls):
        return []
    messages = [ChatMessage("assistant", "\n\n".join(words), calls=tool_calls(calls))]
    for call in calls:
        result = results.get(call.id)
        content = NO_RESULT if result is None else result.content
        if call.status == UNDONE:
            content += UNDONE_SINCE
        shown = images.get(call.id, ())
        messages.append(ChatMessage("tool", content, call_id=call.id_ref, name=call.name, images=shown))
    return messages


def _answer_messages(message: Message) -> list[ChatMessage]:
    messages = step_messages(message.steps)
    if not (message.error or message.interrupted) or (message.error and not messages):
        return messages
    mark = ChatMessage("assistant", f"[cut off here: {message.error or message.interrupted}]")
    if text := last_words_of(messages):
        return [*messages[:-1], ChatMessage("assistant", f"{text}\n\n{mark.content}")]
    return [*messages, mark]


def _fenced(attachment: Attachment) -> str:
    if is_image(attachment):
        return f"[image {attachment.name}, {attachment.type}, {bytes_of(attachment):,} bytes]"
    longest = max((len(fence) for fence in _FENCES.findall(attachment.content)), default=2)
    fence = "`" * (longest + 1)
    end = "" if attachment.content.endswith("\n") else "\n"
    return f"{attachment.name}:\n{fence}\n{attachment.content}{end}{fence}"
