"""A room or chat as one document; ``agent-tui rooms export``, and what all exports share."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Literal, TypeVar

from agent_tui.clients.conversations import Conversations
from agent_tui.clients.records import text_of
from agent_tui.clients.rooms import RoomsClient
from agent_tui.config.room_file import room_file_text
from agent_tui.model.chains import join_chains
from agent_tui.model.errors import AgentTuiError, ConfigError, NotFound, NotOffered, not_written
from agent_tui.model.events import ConversationInfo, Message, RoomInfo, TurnNoted
from agent_tui.model.inert import inert
from agent_tui.whole_file import write_whole
from agent_tui.wire.rooms import decode_messages
from agent_tui.wire.rooms_encode import room_fields
from tui.cli import output
from tui.cli.commands.asking import note_line, status_of
from tui.cli.commands.rooms import ROOMS
from tui.live.texts import dollars, model_name, why_cut
from tui.request import Source
from tui.room.texts import NAMELESS
from tui.screens.localised import localised
from tui.screens.words import count, list_of, say, say_count, text_if_any
from widgets.units import duration

Info = TypeVar("Info", RoomInfo, ConversationInfo)
Own = TypeVar("Own", Literal["toml"], Literal["srt"])

# What a file does not keep of a text: control characters, and what makes a line read as another one.
_UNWANTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAKS: Final = {"\x0b": "\n", "\x0c": "\n", "\x85": "\n", "\u2028": "\n", "\u2029": "\n", "\r": ""}


@dataclass(frozen=True, slots=True)
class Document:
    """The contents of Markdown and HTML; ``facts`` are (label, text), ``names`` those of agents by id,
    ``task`` is the task if no message says it.
    """

    title: str
    facts: Sequence[tuple[str, str]]
    messages: Sequence[Message]
    task: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


Exported = tuple[Document, dict[str, object]]  # for Markdown and pages, and for JSON


@dataclass(frozen=True, slots=True)
class FoldedPart:
    """A part of a message that is folded at first; ``body`` is Markdown that leaves nothing open."""

    name: str
    about: str
    summary: str
    body: str


def export_room(
    source: Source, wanted: str, form: Literal["md", "json", "html", "toml"] | None, out: Path | None
) -> None:
    """Write the room that ``wanted`` means to ``out`` or stdout; raises ``ConfigError`` if the file cannot be
    written, and what the client raises.
    """
    form = form or form_of(out, "toml")
    if form == "toml":
        room = ROOMS.of_one(source, wanted, lambda client, room_id: client.as_known(room_id))
        deliver(room_file_text(room), out)
    else:
        export(ROOMS.of_one(source, wanted, fetch), form, out)


def form_of(out: Path | None, own: Own) -> Literal["md", "json", "html"] | Own:
    """Return the format that the ending of a file names: Markdown for all others. ``own`` is the one that
    only this kind of conversation has.
    """
    ending = "" if out is None else out.suffix.lower()
    if ending == f".{own}":
        return own
    return "json" if ending == ".json" else "html" if ending in (".html", ".htm") else "md"


def export(exported: Exported, form: Literal["md", "json", "html", "srt"], out: Path | None) -> None:
    """Write a room or chat to ``out`` or stdout; raises ``ConfigError`` if it cannot be written."""
    document, fields = exported
    if form != "json":
        deliver(rendered(document, form), out)
    elif out is not None:
        deliver(output.json_line(fields) + "\n", out)
    else:
        output.write_json(fields)


def of_room(room: RoomInfo, messages: Sequence[Message]) -> Document:
    names = {message.agent_id: message.sender_name for message in messages if message.agent_id}
    names |= {agent.id: agent.name for agent in room.agents}  # the others left the room
    is_said = any(message.text.strip() == room.task.strip() for message in messages[:1])
    return Document(
        room.name or room.id,
        _facts(room, messages),
        join_chains(messages),
        "" if is_said else room.task,
        names,
    )


async def fetch(client: RoomsClient, room_id: str) -> Exported:
    """Return the document of a room; raises as ``on_record``."""
    refusal = "this server does not offer the messages of a room"
    room, fields = await on_record(client, room_id, "room", room_fields, refusal)
    return of_room(room, decode_messages(fields["messages"])[0]), fields


async def on_record(
    client: Conversations[Info], id_: str, name: str, fields_of: Callable[[Info], object], refusal: str
) -> tuple[Info, dict[str, object]]:
    """Return a room or chat, and its answer with messages: ``{name: …, "messages": […]}``.

    From a server that does not show single ones, return the entry in its list. Raises ``NotOffered`` with
    ``refusal`` for one that stores no messages.
    """
    try:
        messages = await client.messages_raw(id_)
    except (NotFound, NotOffered) as error:
        await client.as_known(id_)
        raise NotOffered(refusal, str(error)) from error
    info = await client.as_known(id_)
    raw = fields_of(info)
    with contextlib.suppress(AgentTuiError):
        raw = await client.show_raw(id_)
    return info, {name: raw, "messages": messages}


def check_spoken(exported: Exported, advice: str = "") -> None:
    """Raise ``ConfigError`` for something that was not spoken: it has no subtitles."""
    document, fields = exported
    is_voice = text_of(fields.get("conversation"), "kind") == "voice"
    if not is_voice and all(message.spoken is None for message in document.messages):
        raise ConfigError("srt is for voice sessions", advice)


def rendered(document: Document, form: Literal["md", "html", "srt"]) -> str:
    """Return a document as Markdown, as a page or as subtitles."""
    # Lazy: each format needs other modules.
    if form == "md":
        from tui.cli.export.markdown import markdown

        return clean(markdown(document))
    if form == "srt":
        from tui.cli.export.srt import subtitles

        return subtitles(document.messages)
    from tui.cli.export.html import page

    return page(document)


def deliver(text: str, out: Path | None) -> None:
    """Write a document to ``out`` or stdout; raises ``ConfigError`` if it cannot be written."""
    if out is None:
        output.write(inert(text))
    else:
        write_file(out, text)
        output.notice(localised(f"written: {out}"))


def clean(text: str) -> str:
    """Return ``text`` for a file: without control characters and bidi overrides, otherwise unchanged."""
    return _UNWANTED.sub(lambda match: _BREAKS.get(match.group(), "\ufffd"), text)


def write_file(path: Path, text: str) -> None:
    """Write all of ``text`` or leave ``path`` as it was; a link stays a link. Raises ``ConfigError``."""
    try:
        if path.exists() and not path.is_file():  # a pipe, a terminal: it cannot be replaced
            path.write_text(inert(text), encoding="utf-8")
        else:
            write_whole(path, text.encode(), is_chosen=True)
    except OSError as error:
        raise not_written(f"{path}: cannot be written", error) from error
    except ValueError as error:
        raise ConfigError(f"{path}: cannot be written", str(error)) from error


# --- what all formats say ----------------------------------------------------------------------------------


def marks(message: Message, names: Mapping[str, str]) -> list[str]:
    """Return what is said about a message besides its words; ``names`` are agents' by id."""
    found = []
    if message.to:
        name = names.get(message.to)
        found.append(say("export.whispered", name=name) if name else say("export.whispered.gone"))
    if message.superseded:
        found.append(say("export.superseded"))
    if message.id in message.versions and len(message.versions) > 1:
        number = message.versions.index(message.id) + 1
        found.append(say("export.version", number=number, most=len(message.versions)))
    if message.status == "streaming":
        found.append(say("export.streaming"))
    if message.interrupted and not message.error:
        found.append(why_cut(message.interrupted))
    if (spoken := message.spoken) is not None:
        if spoken.text and message.role != "user":
            found.append(say("export.heard", text=spoken.text))
        if spoken.whole is not None:
            found.append(say("export.answered", time=duration(spoken.whole)))
    if message.error:
        found.append(say("export.failed", error=localised(message.error)))
    if message.trimmed:
        found.append(say_count("export.untold", message.trimmed))
    found += [say("export.synthesis")] if any(note.note == "synthesis" for note in message.notes) else []
    note_lines = (
        note_line(TurnNoted(message.id, note.note, note.count, about=note.about)) for note in message.notes
    )
    found += [line for line in note_lines if line]
    return found


def said_by(message: Message) -> str:
    """Return who said a message."""
    if message.role == "user" and message.sender_name in NAMELESS:
        return say("room.you")
    return message.sender_name or message.role or say("export.agent")


def usage_text(message: Message) -> str:
    """Return the usage of a message in words; "" if unknown."""
    usage = message.usage
    if message.role == "user":
        return ""
    if usage is None:
        return say("export.tokens.about", count=count(message.token_count)) if message.token_count else ""
    parts = [say("export.tokens.both", read=count(usage.prompt_tokens), said=count(usage.completion_tokens))]
    if usage.cost is not None:
        parts.append(dollars(usage.cost))
    if usage.first_token_seconds is not None:
        parts.append(say("agent.first_token", time=duration(usage.first_token_seconds)))
    return " · ".join(parts)


def spent(of: RoomInfo | ConversationInfo, messages: Sequence[Message]) -> str:
    """Return the usage of a room or chat in words, with prompts if ``messages`` say; "" for none."""
    found = [say("export.tokens", count=count(of.tokens))] if of.tokens else []
    if found and any(message.usage is not None and message.usage.prompt_tokens for message in messages):
        found = [say("tokens.prompts", tokens=found[0])]
    return " · ".join([*found, *([] if of.cost is None else [dollars(of.cost)])])


def state_named(state: str) -> str:
    """Return a server's state or mode in words; an unknown one as it came."""
    return text_if_any(f"export.is.{state}") or state


def moment(written: str) -> str:
    """Return an ISO 8601 time to the second, "2026-03-01 12:00:00 UTC"; any other text unchanged."""
    try:
        when = datetime.fromisoformat(written)
    except ValueError:
        return written
    return when.strftime("%Y-%m-%d %H:%M:%S %Z").strip()


def _facts(room: RoomInfo, messages: Sequence[Message]) -> list[tuple[str, str]]:
    spoken = [(agent.name, model_name(agent.model, agent.provider_id)) for agent in room.agents]
    agents = [say("export.agents.with", name=name, model=model) if model else name for name, model in spoken]
    rounds = say("export.round.of", round=room.current_round, most=room.max_rounds)
    found = [
        (say("export.room"), room.id),
        (say("export.status"), state_named(status_of(room))),
        (say("export.mode"), state_named(room.execution_mode)),
        (say("export.round.label"), rounds if room.max_rounds else ""),
        (say("export.agents"), list_of(agents)),
        (say("export.used"), spent(room, messages)),
        (say("export.made"), moment(room.created_at)),
        (say("export.changed"), moment(room.updated_at)),
    ]
    return [(label, text) for label, text in found if text]
