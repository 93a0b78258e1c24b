"""Which room ROOM means, and which conversation CONVERSATION."""

from __future__ import annotations

import pytest

from agent_tui.model.errors import ConfigError, NotFound
from agent_tui.model.events import ConversationInfo, RoomInfo
from tui.cli.commands.pick import find_conversation, find_room

ROOMS = [
    RoomInfo("aa11", "sessions"),
    RoomInfo("aa22", "bb33"),
    RoomInfo("bb33", "other"),
    RoomInfo("cc44", "aa"),
    RoomInfo("dd55", "twin"),
    RoomInfo("dd66", "twin"),
]


@pytest.mark.parametrize(
    ("wanted", "room_id"),
    [
        ("aa11", "aa11"),
        ("bb33", "bb33"),  # an id comes before a name
        ("aa", "cc44"),  # a whole name comes before a beginning
        ("sess", "aa11"),
        ("aa1", "aa11"),
        ("oth", "bb33"),
    ],
)
def test_an_id_comes_before_a_name_before_a_beginning(wanted: str, room_id: str) -> None:
    assert find_room(ROOMS, wanted) == room_id


def test_an_archived_room_is_meant_only_if_no_other_is() -> None:
    rooms = [RoomInfo("ee77", "weekly", archived=True), RoomInfo("ff88", "weekly"), *ROOMS]
    assert find_room(rooms, "weekly") == "ff88"
    assert find_room(rooms, "ee") == "ee77"


def test_what_fits_nothing_is_not_found() -> None:
    with pytest.raises(NotFound, match="nothing-like-it"):
        find_room(ROOMS, "nothing-like-it")
    with pytest.raises(NotFound) as raised:
        find_room(ROOMS, "Plan the launch of our app")
    assert "agent-tui rooms run --task TEXT makes a new one" in str(raised.value)


@pytest.mark.parametrize(("wanted", "ids"), [("twin", ("dd55", "dd66")), ("b", ("aa22", "bb33"))])
def test_what_fits_several_names_them(wanted: str, ids: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError) as caught:
        find_room(ROOMS, wanted)
    assert all(room_id in caught.value.detail for room_id in ids)


def test_hostile_names_are_harmless_in_the_complaint() -> None:
    rooms = [RoomInfo("a1", "x\x1b]0;title\x07"), RoomInfo("a2", "y\u202e")]
    with pytest.raises(ConfigError) as caught:
        find_room(rooms, "a")
    assert caught.value.detail.isprintable()


def test_a_conversation_is_found_as_a_room_is() -> None:
    chats = [ConversationInfo("aa11", "Which tea?"), ConversationInfo("aa22", "aa1"), ConversationInfo("bb3")]
    assert [find_conversation(chats, wanted) for wanted in ("aa11", "aa1", "Which", "bb")] == [
        "aa11",
        "aa22",
        "aa11",
        "bb3",
    ]
    with pytest.raises(NotFound, match="conversations list"):
        find_conversation(chats, "tea")
    with pytest.raises(ConfigError, match="fits 2 conversations"):
        find_conversation(chats, "aa")
