"""The files that tools changed in a conversation's folder: what was changed, and how people undo it.

Only changes by our own tools are known; those by commands or MCP servers are not recorded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from agent_tui.backend.engine.answer.steps import digest
from agent_tui.backend.engine.kinds import EngineKind, Info
from agent_tui.backend.engine.resources import Resources
from agent_tui.backend.engine.runs import Runs, shielded
from agent_tui.backend.engine.written import ChangeSet
from agent_tui.backend.store import reads
from agent_tui.backend.store.rows import ConversationRow, FileChanged, NewEvent, StepStatus
from agent_tui.backend.tools.tool import ToolError
from agent_tui.backend.tools.workspace import Workspace
from agent_tui.backend.tools.writing import MAX_FILE_BYTES
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import UNDONE, ChangedFile, Step, ToolStatusChanged

MAX_LISTED = 1_000
MAX_LISTED_CHARACTERS = 8_000_000  # of all diffs; older changes are listed without theirs
MADE = "made"
# Why a change cannot be undone, by its state.
WHY = {
    UNDONE: ("It was already undone", "The file is as it was before the change, or was changed since."),
    "changed": ("{path} was changed since", "Only what is as the tool left it can be undone."),
    "gone": ("{path} is gone", "Only what is as the tool left it can be undone."),
    "unreadable": (
        "{path} cannot be read",
        "It may be no ordinary file any more, or its folder may be gone.",
    ),
}


@dataclass(frozen=True, slots=True)
class Undone:
    """The changes of an answer that were undone, and those that were not, each in its current state."""

    undone: list[ChangedFile]
    left: list[ChangedFile]


class FileChanges:
    """Lists and undoes changes of files. Raises ``NotFound`` and ``StoreError`` as the engine does."""

    def __init__(self, resources: Resources, runs: Runs) -> None:
        self._resources = resources
        self._store = resources.store
        self.runs = runs

    async def list_changes(self, kind: EngineKind[Info], id_: str) -> list[ChangedFile]:
        """Return the changes, newest first, in their current state."""
        changes = await self._store.read(reads.file_changes, id_, kind.names)
        return await asyncio.to_thread(_with_status, changes[::-1][:MAX_LISTED])

    @shielded
    async def undo(self, kind: EngineKind[Info], id_: str, message_id: str, step_id: str = "") -> Undone:
        """Restore the file of one call or, without ``step_id``, the files of a whole answer, newest change
        first: each only if it is still as the tool left it.

        Raises ``Refused`` (409) if none of them is, and while an agent is speaking; ``NotFound``.
        """
        async with self.runs.lock(id_):
            row = await self.runs.settle(id_, kind.names)
            if row.status == "running":
                detail = "Wait until no one is speaking, or stop it first."
                raise Refused(f"The {kind.noun} is running", detail, status=409)
            changes = await self._store.read(reads.file_changes, id_, kind.names)
            chosen = [
                (change, call)
                for change, call in changes
                if change.message_id == message_id and step_id in ("", call.id)
            ]
            if not chosen:
                raise NotFound("There is no such change", "This call changed no file.", status=404)
            undone, left = [], []
            for change, call in chosen[::-1]:
                status = UNDONE if call.status == UNDONE else await asyncio.to_thread(_undo, change)
                changed_file = _changed_file(change, call, UNDONE if status == MADE else status)
                if status == MADE:
                    await self._resources.write(id_, _writes_of_undo(row, change, call))
                    undone.append(changed_file)
                else:
                    left.append(changed_file)
        if not undone:
            title, detail = WHY[left[0].status]
            raise Refused(title.format(path=left[0].path[:200]), detail, status=409)
        return Undone(undone, left)


def _writes_of_undo(row: ConversationRow, change: FileChanged, call: Step) -> ChangeSet:
    event = ToolStatusChanged(change.message_id, call.id, UNDONE, call.seconds)
    status = StepStatus(change.message_id, change.place, UNDONE, call.seconds, call.success)
    return ChangeSet([NewEvent.of(event, change.message_id)], [status])


def _undo(change: FileChanged) -> str:
    """Restore the file; return its state before that."""
    workspace = Workspace(Path(change.folder))
    with workspace.changing(change.path):
        status = _status_of(change)
        if status != MADE:
            return status
        try:
            if change.before is None:
                workspace.remove(change.path)
            else:
                workspace.write(change.path, change.before.encode())
        except ToolError:
            return "unreadable"
    return MADE


def _status_of(change: FileChanged) -> str:
    """Return the state of the file: see ``ChangedFile``."""
    try:
        data = Workspace(Path(change.folder)).read_if_there(change.path, MAX_FILE_BYTES)
    except (ToolError, OSError):
        return "unreadable"
    if data is None:
        return "gone"
    return MADE if digest(data) == change.after else "changed"


def _with_status(changes: Sequence[tuple[FileChanged, Step]]) -> list[ChangedFile]:
    """Return the changes in their current state. Of a file, only the newest can still be as it was left."""
    listed: list[ChangedFile] = []
    seen: set[tuple[str, str]] = set()
    characters_left = MAX_LISTED_CHARACTERS
    for change, call in changes:
        file = change.folder, change.path
        if call.status == UNDONE:
            status = UNDONE
        elif file in seen:
            status = "changed"
        else:
            seen.add(file)
            status = _status_of(change)
        characters_left -= len(change.diff)
        listed.append(_changed_file(change, call, status, has_diff=characters_left >= 0))
    return listed


def _changed_file(change: FileChanged, call: Step, status: str, *, has_diff: bool = True) -> ChangedFile:
    return ChangedFile(
        message_id=change.message_id,
        step_id=call.id,
        path=change.path,
        folder=change.folder,
        added=change.added,
        removed=change.removed,
        diff=change.diff if has_diff else "",
        is_new=change.before is None,
        created_at=change.created_at,
        status=status,
    )
