"""What differs between a room and a chat, as a value. Everything else is the same for both."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from agent_tui.backend.engine.answer.chunks import TurnChunks
from agent_tui.backend.engine.answer.steps import Encode
from agent_tui.backend.engine.chats.fields import chat_row, conversation_info
from agent_tui.backend.engine.chats.record import answer_ended, changed_chat
from agent_tui.backend.engine.ending import TurnEnding
from agent_tui.backend.engine.plan import Step, plan, plan_answer
from agent_tui.backend.engine.record import turn_ended
from agent_tui.backend.engine.resources import ModelSource
from agent_tui.backend.engine.rooms.fields import changed_room, room_info, room_row
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.store import rows
from agent_tui.backend.store.rows import ConversationRow, TurnRow, Value
from agent_tui.model import events as ev
from agent_tui.model.errors import Refused
from agent_tui.model.events import ConversationInfo, RoomInfo
from agent_tui.model.settings import Values

ANSWER_RUNNING = "conversation.answering"  # error code when a chat is already answering

Info = TypeVar("Info")  # RoomInfo or ConversationInfo
Info_co = TypeVar("Info_co", covariant=True)


class ShowsInfo(Protocol[Info_co]):
    """Return a conversation as callers see it. ``turn_states``: ``reads.turn_states``; ``asks``: a tool
    is waiting for a person.
    """

    def __call__(
        self, row: ConversationRow, turn_states: Mapping[str, str], /, *, running: bool, asks: bool
    ) -> Info_co: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineKind(Generic[Info_co]):
    """The differences between rooms and chats (voice sessions are chats here). Functions of rows are pure."""

    names: Collection[str]  # of rows of this kind
    noun: str  # used in error messages
    newest_first: bool  # the order of lists
    settings: type  # the record that declares the settings
    new: Callable[[Values, ModelSource, str], ConversationRow]  # the row of a new one
    changed: Callable[[ConversationRow, Values, ModelSource, str], ChangeSet]  # what a change writes
    info: ShowsInfo[Info_co]
    busy: Callable[[], Refused]  # the refusal of a change that cannot be made while an agent is running
    run_again: str  # what to do when the backend is back
    interrupt: str  # the reason when a person pauses it
    interrupted: Mapping[str, Value]  # what is stored, besides the reason, before that
    plan: Callable[[ConversationRow, Sequence[TurnRow], str, Collection[str]], Step]
    encode: Callable[[ConversationRow, TurnRow, bool], Encode | None]  # how steps are written to the log
    ended: Callable[[ConversationRow, TurnRow, TurnEnding, Sequence[ev.Step]], ChangeSet]
    tells_info: bool  # the end of a turn includes the conversation's state


def answering() -> Refused:
    """Return the error for starting something in a chat that is already answering."""
    detail = "Wait for its end, or stop it first."
    return Refused("An answer is under way in this conversation", detail, status=409, code=ANSWER_RUNNING)


ROOMS: EngineKind[RoomInfo] = EngineKind(
    names=rows.ROOM,
    noun="room",
    newest_first=False,
    settings=RoomInfo,
    new=room_row,
    changed=changed_room,
    info=room_info,
    busy=lambda: Refused("The room is running", "Pause it, then it can be archived.", status=409),
    run_again="Run the room again when it is back.",
    interrupt="pause",
    interrupted={"desired": "paused"},
    plan=plan,
    encode=lambda row, turn, words_only: TurnChunks(row, turn, words_only=words_only),
    ended=turn_ended,
    tells_info=False,
)
CHATS: EngineKind[ConversationInfo] = EngineKind(
    names=rows.CHATS,
    noun="conversation",
    newest_first=True,
    settings=ConversationInfo,
    new=chat_row,
    changed=changed_chat,
    info=conversation_info,
    busy=answering,
    run_again="Ask again when it is back.",
    interrupt="stop",
    interrupted={},
    plan=plan_answer,
    encode=lambda row, turn, words_only: None,
    ended=answer_ended,
    tells_info=True,
)


def kind_of(row: ConversationRow) -> EngineKind[Any]:
    """Return the kind of a stored conversation."""
    return ROOMS if row.kind in rows.ROOM else CHATS
