"""A spoken conversation as a client tells it: the events of whole turns."""

from __future__ import annotations

from agent_tui.model import voice as vo

JOINED = (
    vo.LinkMoved("preparing"),
    vo.LinkMoved("connecting"),
    vo.LinkMoved("connected"),
    vo.PeopleChanged((vo.Person("me", "Ada", is_me=True, is_heard=True),)),
    vo.AgentJoined("agent-demo", "demo", has_session=True),
    vo.AgentStateChanged("listening"),
)


def turn(number: int, question: str, answer: str, *, cut_at: int = 0) -> list[vo.VoiceEvent]:
    """Return the events of one turn, in order; ``cut_at``: after so many characters somebody cuts in."""
    words = question.split(" ")
    said = answer[:cut_at] if cut_at else answer
    asked = vo.SpokenItem(f"u{number}", "user", question, created_at=1000.0 + number)
    told = vo.SpokenItem(
        f"a{number}", "assistant", said, interrupted=bool(cut_at), created_at=1000.5 + number
    )
    segment = f"SG_u{number}"
    return [
        vo.UserStateChanged("speaking"),
        vo.WordsHeard(segment, " ".join(words[:1]), identity="me"),
        vo.WordsHeard(segment, " ".join(words[:2]), identity="me"),
        vo.WordsHeard(segment, question, is_final=True, identity="me"),
        vo.UserStateChanged("listening"),
        vo.AgentStateChanged("thinking"),
        vo.ItemStored(asked),
        vo.AgentStateChanged("speaking"),
        *(
            vo.WordsSpoken(f"SG_a{number}", answer[at : at + 5], is_final=at + 5 >= len(answer))
            for at in range(0, len(answer), 5)
        ),
        vo.ItemStored(told),
        vo.AgentStateChanged("listening"),
    ]


def items_of(events: list[vo.VoiceEvent]) -> dict[str, vo.SpokenItem]:
    """Return the items that the events store, by id."""
    return {event.item.id: event.item for event in events if isinstance(event, vo.ItemStored)}
