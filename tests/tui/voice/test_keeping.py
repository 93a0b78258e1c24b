"""What is said with an agent that is not ours is put on record, once."""

from __future__ import annotations

from datetime import date
from typing import Any, cast

from agent_tui.clients.chat import ChatClient
from agent_tui.model.errors import AgentTuiError, ConnectFailed
from agent_tui.model.events import ConversationInfo
from agent_tui.model.voice import SpokenItem, TurnTimes
from tests.settling import settle
from tui.voice.keeping import Keeper


class FakeCalls:
    """The calls of our backend that keep something."""

    def __init__(self) -> None:
        self.made: list[dict[str, Any]] = []
        self.kept: list[dict[str, Any]] = []
        self.refuse: AgentTuiError | None = None

    async def create(self, **fields: Any) -> ConversationInfo:
        if self.refuse is not None:
            raise self.refuse
        self.made.append(fields)
        return ConversationInfo("c")

    async def record(self, conversation_id: str, **fields: Any) -> str:
        assert conversation_id == "c"
        self.kept.append(fields)
        return "m"


def keeper(calls: FakeCalls) -> Keeper:
    async def opened() -> ChatClient:
        return cast("ChatClient", calls)

    return Keeper(opened, "demo", "livekit.example", today=lambda: date(2026, 11, 22))


async def test_items_of_both_sides_are_kept_once_and_the_rest_is_not() -> None:
    calls = FakeCalls()
    ours = keeper(calls)
    asked = SpokenItem("u", "user", "Hello", started_at=5.0, times=TurnTimes(hearing=0.4))
    answered = SpokenItem("a", "assistant", "Good", interrupted=True)
    typed = SpokenItem("t", "user", "Bye", created_at=6.0)
    ours.keep([asked])
    ours.keep(
        [asked, answered, typed, SpokenItem("s", "system", "Be kind"), SpokenItem("e", "user", " ")], "clerk"
    )
    await settle()
    await ours.aclose()
    assert calls.made == [
        {"kind": "voice", "title": "demo", "client_key": "voice livekit.example demo 2026-11-22"}
    ]
    assert calls.kept == [
        {
            "client_key": "u",
            "role": "user",
            "content": "Hello",
            "speaker": "",
            "interrupted": False,
            "spoken": {"hearing": 0.4, "started_at": 5.0},
        },
        {
            "client_key": "a",
            "role": "assistant",
            "content": "Good",
            "speaker": "clerk",
            "interrupted": True,
            "spoken": {},
        },
        {
            "client_key": "t",
            "role": "user",
            "content": "Bye",
            "speaker": "",
            "interrupted": False,
            "spoken": {"started_at": 6.0},
        },
    ]


async def test_the_answer_of_an_agent_without_a_name_is_not_kept_as_that_of_our_model() -> None:
    calls = FakeCalls()
    ours = keeper(calls)
    ours.keep([SpokenItem("a", "assistant", "Good")])
    await settle()
    await ours.aclose()
    assert [kept["speaker"] for kept in calls.kept] == ["agent"]


async def test_a_backend_that_keeps_nothing_is_asked_once() -> None:
    calls = FakeCalls()
    calls.refuse = ConnectFailed("nobody answers")
    ours = keeper(calls)
    ours.keep([SpokenItem("u", "user", "Hello"), SpokenItem("v", "user", "Again")])
    await settle()
    await ours.aclose()
    assert (calls.made, calls.kept, ours.problem) == ([], [], "nobody answers")


async def test_without_items_nothing_is_made() -> None:
    calls = FakeCalls()
    ours = keeper(calls)
    await ours.aclose()
    assert calls.made == []
