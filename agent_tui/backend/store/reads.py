"""What is read, each in one transaction: ``await store.read(reads.conversation, id)``."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    Select,
    bindparam,
    func,
    literal,
    literal_column,
    select,
    union_all,
)

from agent_tui.backend.store import schema, sqlite
from agent_tui.backend.store.damage import damaged, damaged_field, damaged_place, intact, names_in
from agent_tui.backend.store.messages import Page, as_heard, that_fit, turn_message, user_message
from agent_tui.backend.store.rows import (
    KINDS,
    ROOM,
    ConversationRow,
    FileChanged,
    Frame,
    Hit,
    Link,
    ToolRule,
    TurnRow,
    UserSaid,
)
from agent_tui.backend.store.steps import IDS_PER_QUERY, has_called, steps
from agent_tui.backend.store.words import excerpt, expression, marked
from agent_tui.model.chains import joined_steps, said_in
from agent_tui.model.errors import NotFound
from agent_tui.model.events import AgentInfo, Message, QueuedMessage, Step, TextAdded
from agent_tui.wire.log import event_name

# What is stored of an agent, in the order of ``AgentInfo``; the rest of it is computed.
AGENT_COLUMNS = ("id", "name", "color", "model", "turn_order", "system_prompt", "provider_id", "skip_next")
# A turn that was cut for one of these is over: what it said stands.
FINAL_REASONS = ("stop", "skip", "length")
FEW = 100  # of more conversations than so many the agents are read with those of all others
MESSAGES_PER_READ = 50  # with their files each may be as large as a page

_ROW, _TURN, _USER, _EVENT = schema.conversation.c, schema.turn.c, schema.user_message.c, schema.event.c
_ID: BindParameter[Any] = bindparam("id")
_SOME: BindParameter[Any] = bindparam("ids", expanding=True)
_NO_STATUS: ColumnElement[str] = literal_column("''")
# What is read at every step is put together once: that takes longer than to read it.
_ROWS = select(
    *(column for column in _ROW if column.name != "number"),
    func.coalesce(_TURN.reason, "").label("cut"),
    func.coalesce(_TURN.error, "").label("error"),
).outerjoin_from(schema.conversation, schema.turn, _TURN.message_id == _ROW.head)
_ONE = _ROWS.where(_ROW.id == _ID)
_AGENTS = (
    # In the order of ``AgentInfo``: a list of a thousand rooms has thousands of agents.
    select(
        *(schema.agent.c[name] for name in ("conversation_id", *AGENT_COLUMNS)),
        _NO_STATUS,
        schema.agent.c.tokens,
    )
    .where(~schema.agent.c.removed)
    .order_by(schema.agent.c.turn_order)
)
_THEIR_AGENTS = _AGENTS.where(schema.agent.c.conversation_id.in_(_SOME))
_QUEUE = (
    select(
        *(schema.inbox.c[name] for name in ("conversation_id", "id", "content")),
        schema.inbox.c.to_agent.label("to"),
        schema.inbox.c.when_.label("when"),
        *(schema.inbox.c[name] for name in ("sender_name", "created_at")),
    )
    .where(schema.inbox.c.state == "queued")
    .order_by(schema.inbox.c.number)
)
_THEIR_QUEUE = _QUEUE.where(schema.inbox.c.conversation_id.in_(_SOME))
_NEWEST = (
    select(_TURN.agent_id, _TURN.status)
    .join_from(
        schema.conversation,
        schema.turn,
        (_TURN.conversation_id == _ROW.id) & (_TURN.round == _ROW.round_open),
    )
    .where(_ROW.kind.in_(ROOM))
    .order_by(_TURN.attempt)
)
_THEIR_NEWEST = _NEWEST.where(_ROW.id.in_(_SOME))
_TURNS = select(*(column for column in _TURN if column.name != "conversation_id"))
_ONE_TURN = _TURNS.where(_TURN.conversation_id == _ID, _TURN.message_id == bindparam("message"))
# Where the turns of a round stand: closed texts may be long and do not matter for that.
_NEWEST_TURNS = (
    select(*(column for column in _TURN if column.name not in ("conversation_id", "text")))
    .where(_TURN.conversation_id == _ID, _TURN.round >= bindparam("round"))
    .order_by(_TURN.first_seq)
)
_SAID_BY_PEOPLE = select(
    _USER.id, _USER.round, _USER.first_seq, _USER.sender_name, _USER.text, _USER.to_agent
).where(_USER.conversation_id == _ID, _USER.round >= bindparam("round"))
_LATER = schema.turn.alias()
_STANDS = (_TURN.status == "completed") | ((_TURN.status == "interrupted") & _TURN.reason.in_(FINAL_REASONS))
_IS_CONTINUED = (
    select(_LATER.c.message_id)
    .where(_LATER.c.conversation_id == _TURN.conversation_id, _LATER.c.continues == _TURN.message_id)
    .exists()
)
_SAID_BY_AGENTS = (
    select(_TURN.continues, _STANDS, _TURN.message_id, _TURN.round, _TURN.first_seq, _TURN.agent_id)
    .add_columns(schema.agent.c.turn_order, _TURN.sender_name, _TURN.text)
    .join(
        schema.agent,
        (schema.agent.c.conversation_id == _TURN.conversation_id) & (schema.agent.c.id == _TURN.agent_id),
    )
    .where(_TURN.conversation_id == _ID, _TURN.round >= bindparam("round"), _TURN.status != "superseded")
    .where(_STANDS | _IS_CONTINUED)
    .order_by(_TURN.first_seq.desc())
)
_SAID = select(*(_USER[field.name] for field in fields(UserSaid) if field.name != "event"))
_FRAMES = select(*(_EVENT[name] for name in ("conversation_id", "seq", "name", "data", "message_id")))
_CHUNKS = (
    select(_EVENT.message_id, _EVENT.data)
    .where(
        _EVENT.conversation_id == _ID,
        _EVENT.seq > bindparam("after"),
        _EVENT.name == event_name(TextAdded),
        _EVENT.message_id.in_(bindparam("turns", expanding=True)),
    )
    .order_by(_EVENT.seq)
)


@dataclass(frozen=True, slots=True)
class Said:
    """Words that are part of a room's talk; ``agent_id`` is empty for a person's.

    ``place`` is the agent's in the turn order, ``seq`` says when they were begun, ``to`` who alone is told.
    A turn that was continued is one of these, in the place of its beginning.
    """

    id: str
    round: int
    seq: int
    agent_id: str
    place: int
    name: str
    text: str
    to: str = ""


# --- conversations ------------------------------------------------------------------------------------


def conversation(
    connection: Connection, id_: str, kinds: Collection[str] = KINDS, *, or_damaged: bool = False
) -> ConversationRow:
    """Return the conversation if it is of one of these kinds; raises ``NotFound`` also while it is being
    deleted, and ``StoreError`` for a damaged one unless ``or_damaged``.
    """
    found = _conversations(connection, _ONE, {"id": id_})
    if not found or found[0].desired == "deleted" or found[0].kind not in kinds:
        word = "room" if kinds == ROOM else "conversation"
        raise NotFound(f"There is no {word} {id_[:100]}", status=404)
    if found[0].damaged and not or_damaged:
        raise damaged(found[0].kind, id_, found[0].damaged)
    return found[0]


def exists(connection: Connection, id_: str) -> bool:
    """Return whether there is a conversation of that id, and it is not being deleted."""
    return connection.execute(select(_ROW.desired).where(_ROW.id == id_)).scalar() not in (None, "deleted")


def conversations(
    connection: Connection,
    kinds: Collection[str] = KINDS,
    *,
    deleted: bool = False,
    ids: Collection[str] | None = None,
) -> list[ConversationRow]:
    """Return all of these kinds, or those of ``ids`` that there are, in the order they were made.

    With ``deleted`` those that are being deleted, and only them.
    """
    condition = (_ROW.desired == "deleted") if deleted else (_ROW.desired != "deleted")
    query = _ROWS.where(condition, _ROW.kind.in_(kinds)).order_by(_ROW.number)
    return _conversations(connection, query if ids is None else query.where(_ROW.id.in_(ids)))


def stands(connection: Connection, ids: Collection[str] | None = None) -> dict[str, str]:
    """Return agent id → the status of its newest attempt in its room's newest round, of all rooms or some."""
    found = (
        connection.execute(_NEWEST) if ids is None else connection.execute(_THEIR_NEWEST, {"ids": list(ids)})
    )
    return {row.agent_id: row.status for row in found}


def conversation_and_stands(
    connection: Connection, id_: str, kinds: Collection[str]
) -> tuple[ConversationRow, dict[str, str]]:
    """Return the conversation, also a damaged one, and of a room its ``stands`` of one moment."""
    row = conversation(connection, id_, kinds, or_damaged=True)
    return row, stands(connection, [id_]) if row.kind in ROOM else {}


def conversations_and_stands(
    connection: Connection, kinds: Collection[str], ids: Collection[str] | None
) -> tuple[list[ConversationRow], dict[str, str]]:
    """Return all conversations of these kinds, or some, and of rooms their ``stands`` of one moment."""
    found = stands(connection, ids) if kinds == ROOM else {}
    return conversations(connection, kinds, ids=ids), found


def _conversations(
    connection: Connection, query: Select[Any], values: Mapping[str, object] = MappingProxyType({})
) -> list[ConversationRow]:
    found = connection.execute(query, values).mappings().all()
    agents: dict[str, list[AgentInfo]] = {row["id"]: [] for row in found}
    wrong: dict[str, str] = {}  # id → what cannot be read of what belongs to it
    all_agents, all_waiting, some = _AGENTS, _QUEUE, {}
    if len(agents) <= FEW:
        all_agents, all_waiting, some = _THEIR_AGENTS, _THEIR_QUEUE, {"ids": list(agents)}
    for id_, *of_agent in connection.execute(all_agents, some) if found else ():
        if field := damaged_place(AgentInfo, of_agent):
            wrong[id_] = f"{field} of an agent"
        elif id_ in agents:
            agents[id_].append(AgentInfo(*of_agent))
    queues: dict[str, list[QueuedMessage]] = {row["id"]: [] for row in found}
    for row in connection.execute(all_waiting, some).mappings() if found else ():
        words = dict(row)
        id_ = words.pop("conversation_id")
        if field := damaged_field(QueuedMessage, words):
            wrong[id_] = f"{field} of a queued message"
        elif id_ in queues:
            queues[id_].append(QueuedMessage(**words))
    return [
        _conversation(row, wrong.get(row["id"], ""), tuple(agents[row["id"]]), tuple(queues[row["id"]]))
        for row in found
    ]


def _conversation(
    row: Mapping[Any, Any], wrong: str, agents: tuple[AgentInfo, ...], queue: tuple[QueuedMessage, ...]
) -> ConversationRow:
    values = dict(row)
    tools: tuple[str, ...] | None = None
    try:
        stored = values.pop("tools")
        tools = None if stored is None else names_in(stored)
    except (TypeError, ValueError):
        wrong = wrong or "tools"
    wrong = damaged_field(ConversationRow, values) or wrong
    if not (wrong or agents or row["kind"] in ROOM):
        wrong = "agent"
    if not wrong:
        return ConversationRow(**values, tools=tools, agents=agents, queue=queue)
    told = f"damaged: {wrong}"
    values = {"name": "", **intact(ConversationRow, values), "status": "error", "error": told}
    return ConversationRow(**{**values, "last_speaker": "", "last_words": told}, agents=agents, damaged=wrong)


# --- turns --------------------------------------------------------------------------------------------


def state(connection: Connection, id_: str) -> tuple[ConversationRow, list[TurnRow]]:
    """Return the conversation and all attempts of its newest three rounds; only open ones with their text.

    A turn of the round before the newest may be said again, and a provider with one agent may have failed
    three times in a row.
    """
    row = conversation(connection, id_)
    return row, _turns(connection, id_, _NEWEST_TURNS, {"id": id_, "round": row.round_open - 2})


def said(connection: Connection, id_: str, from_round: int = 0) -> list[Said]:
    """Return what was said for good from that round on: people's words and turns that nobody says again.

    In the order it was begun in.
    """
    found = connection.execute(_SAID_BY_PEOPLE, {"id": id_, "round": from_round})
    words = [Said(one, round_, seq, "", -1, name, text, to) for one, round_, seq, name, text, to in found]
    words += _said_by_agents(connection, id_, from_round)
    return sorted(words, key=lambda word: word.seq)


def _said_by_agents(connection: Connection, id_: str, from_round: int) -> list[Said]:
    found: dict[str, Said] = {}
    rests: dict[str, str] = {}  # id → the words that stand behind that message's own
    values = {"id": id_, "round": from_round}
    for continues, is_final, *of_turn in connection.execute(_SAID_BY_AGENTS, values):
        said = Said(*of_turn)
        if not (is_final or said.id in rests):
            continue
        whole = said.text + rests.get(said.id, "")
        if continues:
            rests[continues] = whole
        else:
            found[said.id] = replace(said, text=whole)
    return list(found.values())


def chain(connection: Connection, id_: str, message_id: str) -> list[tuple[TurnRow, tuple[Step, ...]]]:
    """Return the attempts that one with this id continues, oldest first, and at last itself, each with its
    steps, if it has any besides its text. Those that said and called nothing are left out.
    """
    rows: list[TurnRow] = []
    while message_id:
        row = connection.execute(_ONE_TURN, {"id": id_, "message": message_id}).mappings().first()
        if row is None:
            break
        rows.insert(0, TurnRow(**row))
        message_id = rows[0].continues
    taken = steps(connection, id_, rows)
    parts = [(row, taken.get(row.message_id, ())) for row in rows]
    return [(row, of) for row, of in parts if row.text or of]


def whole_text(parts: Sequence[tuple[TurnRow, tuple[Step, ...]]]) -> str:
    """Return what the attempts of a ``chain`` say as one message."""
    whole: tuple[Step, ...] = ()
    for row, of in parts:
        whole = joined_steps(whole, of or (Step("step-0", content=row.text),))
    return said_in(whole)


def continuable(
    connection: Connection, id_: str, message_id: str
) -> tuple[list[tuple[TurnRow, tuple[Step, ...]]], bool]:
    """Return ``chain`` of a turn or answer that is over, and whether it may be continued: it is not whole,
    and nobody has gone on with it. Raises ``NotFound``.
    """
    status = connection.execute(select(_TURN.status).where(_is_turn(id_, message_id))).scalar()
    if status is None:
        raise NotFound(f"There is no answer {message_id[:100]}", status=404)
    parts = chain(connection, id_, message_id)
    last = parts[-1][0].message_id if parts else message_id
    going_on = (_TURN.continues == last) & _TURN.status.in_(("streaming", "completed"))
    rest = connection.execute(
        select(_TURN.message_id).where((_TURN.conversation_id == id_) & going_on)
    ).first()
    return parts, rest is None and status in ("interrupted", "failed")


def first_event(connection: Connection, id_: str, message_id: str) -> int | None:
    """Return the seq of the event with which this turn began, None where there is no such turn."""
    found: int | None = connection.execute(select(_TURN.first_seq).where(_is_turn(id_, message_id))).scalar()
    return found


def answer_start(connection: Connection, id_: str, seq: int) -> int:
    """Return the first seq of the newest turn that had begun by ``seq``; 0 where none had."""
    query = select(func.max(_TURN.first_seq)).where(_TURN.conversation_id == id_, _TURN.first_seq <= seq)
    return connection.execute(query).scalar() or 0


def asked(connection: Connection, id_: str, client_key: str) -> tuple[str, int] | None:
    """Return (id of its answer, seq before its first event) of the question that was called so before."""
    query = select(_TURN.message_id, _TURN.first_seq, _USER.first_seq).select_from(schema.turn)
    query = query.outerjoin(schema.user_message, _USER.id == _TURN.parent)
    query = query.where(_TURN.conversation_id == id_, _TURN.client_key == client_key)
    found = connection.execute(query).first() if client_key else None
    if found is None:
        return None
    # A question is put on record just before its first answer begins.
    return found[0], found[1] - (2 if found[2] == found[1] - 1 else 1)


def inbox(connection: Connection, id_: str, message_id: str = "", client_key: str = "") -> tuple[str, str]:
    """Return (id, state) of words that were put into the inbox; raises ``NotFound``."""
    column, value = (schema.inbox.c.id, message_id) if message_id else (schema.inbox.c.client_key, client_key)
    query = select(schema.inbox.c.id, schema.inbox.c.state).where(schema.inbox.c.conversation_id == id_)
    found = connection.execute(query.where(column == value)).first() if value else None
    if found is None:
        raise NotFound(f"There is no message {message_id[:100]} in the queue", status=404)
    return found.id, found.state


def _is_turn(id_: str, message_id: str) -> ColumnElement[bool]:
    return (_TURN.conversation_id == id_) & (_TURN.message_id == message_id)


def _turns(
    connection: Connection, id_: str, query: Select[Any], values: Mapping[str, object] = MappingProxyType({})
) -> list[TurnRow]:
    rows = [TurnRow(**row) for row in connection.execute(query, values).mappings()]
    open_turns = {row.message_id: row.first_seq for row in rows if row.status == "streaming"}
    texts = _texts(connection, id_, open_turns)
    return [replace(row, text=texts[row.message_id]) if row.message_id in texts else row for row in rows]


def _texts(
    connection: Connection, id_: str, turns: dict[str, int], before: int | None = None
) -> dict[str, str]:
    """Return the joined committed chunks of each of ``turns`` (message id → first seq)."""
    if not turns:
        return {}
    query = _CHUNKS if before is None else _CHUNKS.where(_EVENT.seq < before)
    values = {"id": id_, "after": min(turns.values()), "turns": list(turns)}
    pieces: dict[str, list[str]] = {message_id: [] for message_id in turns}
    for message_id, data in connection.execute(query, values):
        pieces[message_id].append(json.loads(data)["text"])
    return {message_id: "".join(texts) for message_id, texts in pieces.items()}


# --- the log ------------------------------------------------------------------------------------------


def frames(connection: Connection, id_: str, after: int, limit: int) -> list[Frame]:
    """Return at most ``limit`` stored events with a greater seq, in order."""
    query = _FRAMES.where(_EVENT.conversation_id == id_, _EVENT.seq > after).order_by(_EVENT.seq)
    return [Frame(*row) for row in connection.execute(query.limit(limit))]


def last_seq(connection: Connection, id_: str) -> int:
    """Return the seq of the newest stored event; 0 where there is none."""
    return connection.execute(select(func.max(_EVENT.seq)).where(_EVENT.conversation_id == id_)).scalar() or 0


def text_before(connection: Connection, id_: str, message_id: str, seq: int) -> str:
    """Return the joined chunks of that message with a smaller seq; empty if there is no such message."""
    first_seq = first_event(connection, id_, message_id)
    return _texts(connection, id_, {message_id: first_seq}, seq)[message_id] if first_seq else ""


# --- messages -----------------------------------------------------------------------------------------


def page(connection: Connection, id_: str, kinds: Collection[str], after: str | None, limit: int) -> Page:
    """Return a page of the messages that follow ``after``: of a room by the seq of their first event, of a
    chat those of the shown branch. It is shorter where its messages are large.

    In a room, an attempt that ended without words and called no tool is no message, except a completed one.
    Raises ``NotFound`` for an unknown conversation or ``after``.
    """
    row = conversation(connection, id_, kinds)
    siblings: Mapping[str, tuple[str, ...]] = {}
    if row.kind in ROOM:
        path = _listed(connection, id_, after, limit + 1)
    else:
        tree = links(connection, id_)
        path, siblings = branch(tree, row.head), versions(tree)
        if after is not None:
            if after not in path:
                raise NotFound(f"There is no message {after[:100]} in this branch", status=404)
            path = path[path.index(after) + 1 :]
    read: list[Message] = []
    found: list[Message] = []
    for at in range(0, min(limit, len(path)), MESSAGES_PER_READ):
        read += messages(connection, row, path[at : min(at + MESSAGES_PER_READ, limit)], siblings)
        found = that_fit(read)
        if len(found) < len(read):
            break
    return Page(found, len(path) > len(found), row.last_seq)


def _listed(connection: Connection, id_: str, after: str | None, limit: int) -> list[str]:
    """Return the ids of messages in the order they were begun."""
    start = 0
    if after is not None:
        known = union_all(
            select(_TURN.first_seq).where(_is_turn(id_, after)),
            select(_USER.first_seq).where(_USER.conversation_id == id_, _USER.id == after),
        )
        start = connection.execute(known).scalar() or 0
        if not start:
            raise NotFound(f"There is no message {after[:100]} in this room", status=404)
    is_good = (_TURN.reason == "") & (_TURN.error == "")
    listed = (
        (_TURN.status.in_(["streaming", "completed", "superseded"]) & is_good)
        | (_TURN.text != "")
        | has_called
    )
    people = select(_USER.id, _USER.first_seq).where(_USER.conversation_id == id_, _USER.first_seq > start)
    agents = select(_TURN.message_id, _TURN.first_seq).where(
        _TURN.conversation_id == id_, _TURN.first_seq > start, listed
    )
    both = union_all(people, agents).order_by(literal_column("first_seq"))
    return list(connection.scalars(both.limit(limit)))


def messages(
    connection: Connection,
    row: ConversationRow,
    ids: Sequence[str],
    versions: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
) -> list[Message]:
    """Return these messages in this order; what is under way as far as it has come."""
    found: dict[str, Message] = {}
    for at in range(0, len(ids), IDS_PER_QUERY):
        some = ids[at : at + IDS_PER_QUERY]
        for values in connection.execute(_SAID.where(_USER.conversation_id == row.id, _USER.id.in_(some))):
            said = UserSaid(*values)
            found[said.id] = user_message(row.id, said, versions.get(said.id, ()), kind=row.kind)
        query = _TURNS.where(_TURN.conversation_id == row.id, _TURN.message_id.in_(some))
        turns = _turns(connection, row.id, query)
        taken = steps(connection, row.id, turns)
        for turn in turns:
            of, others = taken.get(turn.message_id, ()), versions.get(turn.message_id, ())
            found[turn.message_id] = turn_message(row.id, turn, of, others, kind=row.kind)
    return [found[id_] for id_ in ids if id_ in found]


def told(connection: Connection, row: ConversationRow, last: str) -> list[Message]:
    """Return the messages up to ``last``: what a model is told of a chat, answers as far as a person heard
    them.
    """
    path = branch(links(connection, row.id), last)
    return [as_heard(message) for message in messages(connection, row, path)]


# --- branches -----------------------------------------------------------------------------------------


def links(connection: Connection, id_: str) -> dict[str, Link]:
    """Return every message by its id, as it stands in the tree, in the order they were begun."""
    people = select(_USER.id, _USER.parent, literal("user").label("role"), _USER.first_seq)
    answers = select(_TURN.message_id, _TURN.parent, literal("assistant"), _TURN.first_seq)
    both = union_all(people.where(_USER.conversation_id == id_), answers.where(_TURN.conversation_id == id_))
    found = connection.execute(both.order_by(literal_column("first_seq")))
    return {row.id: Link(*row) for row in found}


def branch(links: Mapping[str, Link], head: str) -> list[str]:
    """Return the ids of the messages from the first one to ``head``."""
    path: list[str] = []
    at = head
    while at in links:
        path.append(at)
        at = links[at].parent
    return path[::-1]


def leaf(links: Mapping[str, Link], message_id: str) -> str:
    """Return the last message of the newest branch that goes through ``message_id``."""
    newest = {link.parent: link.id for link in links.values()}  # in their order: the newest child stays
    while message_id in newest:
        message_id = newest[message_id]
    return message_id


def versions(links: Mapping[str, Link]) -> dict[str, tuple[str, ...]]:
    """Return of each message with siblings all of them, itself too, oldest first."""
    children: dict[tuple[str, str], list[str]] = {}
    for link in links.values():
        children.setdefault((link.parent, link.role), []).append(link.id)
    return {id_: tuple(ids) for ids in children.values() if len(ids) > 1 for id_ in ids}


# --- files that calls changed -------------------------------------------------------------------------


def file_changes(
    connection: Connection, id_: str, kinds: Collection[str] = KINDS
) -> list[tuple[FileChanged, Step]]:
    """Return what calls did to files, each with its call, in their order. Raises ``NotFound``."""
    conversation(connection, id_, kinds)
    changes, calls = schema.file_change.c, schema.step.c
    mine = (calls.conversation_id == changes.conversation_id) & (calls.message_id == changes.message_id)
    query = (
        select(
            *(changes[field.name] for field in fields(FileChanged)),
            *(calls[name].label(f"call_{name}") for name in ("id", "status", "seconds", "success")),
        )
        .join_from(schema.file_change, schema.step, mine & (calls.place == changes.place))
        .join(schema.turn, _TURN.message_id == changes.message_id)
        .where(changes.conversation_id == id_)
        .order_by(_TURN.first_seq, changes.place)
    )
    return [
        (
            FileChanged(*values),
            Step(call_id, values[1], "tool_call", status=status, seconds=seconds, success=success),
        )
        for *values, call_id, status, seconds, success in connection.execute(query)
    ]


# --- rules and searching ------------------------------------------------------------------------------


def rules(connection: Connection) -> list[ToolRule]:
    """Return all rules, those of single conversations too, the oldest first."""
    rule = schema.tool_rule.c
    query = select(*(rule[field.name] for field in fields(ToolRule))).order_by(rule.created_at, rule.id)
    return [ToolRule(*row) for row in connection.execute(query)]


def is_searchable(connection: Connection, id_: str) -> bool:
    """Return whether a search may find messages of this conversation."""
    mine = schema.searched.c.conversation_id == id_
    return connection.execute(select(schema.searched.c.number).where(mine).limit(1)).first() is not None


def search(connection: Connection, words: str, limit: int, kinds: Collection[str] = KINDS) -> list[Hit]:
    """Return the conversations whose titles hold all of ``words``, then the messages that do, the newest
    first of both. ``words`` may have any characters in them.
    """
    wanted = expression(words)
    if not wanted:
        return []
    # A name that nobody gave is the beginning of what was said first: that is found itself, once it is said.
    is_said = select(schema.searched.c.number).where(schema.searched.c.conversation_id == _ROW.id).exists()
    named = (
        select(_ROW.id, _ROW.name, _ROW.updated_at, _ROW.kind)
        .where(_ROW.desired != "deleted", _ROW.kind.in_(kinds), _ROW.is_named | ~is_said)
        .order_by(_ROW.updated_at.desc(), _ROW.number.desc())
    )
    titles = [
        Hit(id_, name, "", "", snippet, at, kind)
        for id_, name, at, kind in connection.execute(named)
        if (snippet := marked(name, words))
    ][:limit]
    said = [
        Hit(id_, name, message, role, excerpt(text, words), at, kind)
        for id_, name, message, role, text, at, kind in sqlite.found(
            connection, wanted, kinds, limit - len(titles)
        )
    ]
    return titles + said
