"""The people and agents in a voice room, from the participants of ``livekit.rtc``."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from livekit import rtc

from agent_tui.model.voice import Person
from agent_tui.wire import voice as wire

MAX_PEOPLE = 200


def is_agent(participant: rtc.Participant, expected: str = "") -> bool:
    """Return whether a participant is an agent to talk with; an avatar only shows another agent.

    ``expected``: the identity of our own agent, if we know it.
    """
    if participant.attributes.get(wire.ON_BEHALF):
        return False
    return participant.kind == rtc.ParticipantKind.PARTICIPANT_KIND_AGENT or (
        bool(expected) and participant.identity == expected
    )


def joined_order(participants: Iterable[rtc.RemoteParticipant]) -> list[rtc.RemoteParticipant]:
    """Return participants in the order they came."""
    return sorted(participants, key=_join_order)


def listened_to(room: rtc.Room, agent: str, last_heard: str, left: str = "") -> str:
    """Return the identity to which the agent listens, empty if it listens to nobody.

    Ours says so itself. For other agents: whose words came last, else the participant who was there first, as
    livekit-agents chooses. ``left``: to whom such an agent listened when they left. It waits for that
    participant.
    """
    participants = {**room.remote_participants, room.local_participant.identity: room.local_participant}
    agent_here = participants.get(agent)
    identity = agent_here.attributes.get(wire.LISTENS_TO, "") if agent_here is not None else ""
    if identity or last_heard in participants:
        return identity or last_heard
    if left:
        return left if left in participants else ""
    others = sorted(
        (who for who in participants.values() if who.identity != agent and not is_agent(who)), key=_join_order
    )
    return others[0].identity if agent and others else ""


def persons(
    room: rtc.Room, agent: str, heard: str, speaking: Collection[str], *, i_am_muted: bool
) -> tuple[Person, ...]:
    """Return everyone in the room in the order in which they came."""
    me = room.local_participant
    everybody = sorted((me, *room.remote_participants.values()), key=_join_order)
    return tuple(
        Person(
            identity=who.identity,
            name=who.name[: wire.MAX_NAME_CHARACTERS],
            is_agent=who.identity == agent or is_agent(who),
            is_me=who is me,
            is_muted=i_am_muted if who is me else _is_muted(who),
            is_speaking=who.identity in speaking,
            is_heard=who.identity == heard,
        )
        for who in everybody[:MAX_PEOPLE]
    )


def _join_order(participant: rtc.Participant) -> tuple[float, str]:
    at = participant.joined_at
    return (at.timestamp() if at is not None else 0.0, participant.identity)


def _is_muted(participant: rtc.Participant) -> bool:
    tracks = participant.track_publications.values()
    muted = [track.muted for track in tracks if track.kind == rtc.TrackKind.KIND_AUDIO]
    return bool(muted) and all(muted)
