"""A room's log as text a person can check against protocols.md §1: ids and times by name."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from agent_tui.backend.hub import StoredFrame
from agent_tui.model.events import RoomInfo

_TIME = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+\+00:00")


def story(frames: Sequence[StoredFrame], room: RoomInfo, first: int = 1) -> str:
    """Return one line for each frame from seq ``first`` on.

    Ids read as ROOM, an agent's name in capitals, and M0, M1, … for messages in the order they came.
    """
    names = {room.id: "ROOM", **{agent.id: agent.name.upper() for agent in room.agents}}
    messages = dict.fromkeys(frame.message_id for frame in frames if frame.message_id)
    names |= {message_id: f"M{number}" for number, message_id in enumerate(messages)}
    lines = [f"{frame.seq} {frame.name} {frame.data}" for frame in frames if frame.seq >= first]
    text = "\n".join(lines)
    for id_, name in names.items():
        text = text.replace(id_, name)
    return _TIME.sub("T", text).replace(json.dumps("#10b981"), '"GREEN"')
