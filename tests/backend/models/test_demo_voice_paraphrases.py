"""The demo model of a voice conversation understands what people say, not only what was thought of."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agent_tui.backend.models.demo.voice import intent_of, voice_pieces
from agent_tui.backend.models.model import CallPiece, ChatMessage, ModelRequest, ToolCall, ToolSpec
from agent_tui.backend.tools.rooms import ACTING, LOOKING, room_meant
from agent_tui.model.events import RoomInfo
from tests.backend.models.voice_paraphrases import MEANT, NONE_OF_THEM

UNDERSTOOD = 0.9  # of what was meant
MISTAKEN = 2  # of what was none of the five


def understood_as(said: str) -> str:
    found = intent_of(said)
    return found.name if found else "none"


def test_nine_of_ten_are_understood_as_they_were_meant() -> None:
    said = [(intent, sentence) for intent, sentences in MEANT.items() for sentence in sentences]
    wrong = [
        f"{text!r} is {intent}, not {as_}" for intent, text in said if (as_ := understood_as(text)) != intent
    ]
    assert len(said) >= 100
    assert len(wrong) <= len(said) * (1 - UNDERSTOOD), "\n".join(wrong)


@pytest.mark.parametrize("intent", MEANT)
def test_no_intent_is_understood_much_worse_than_the_others(intent: str) -> None:
    wrong = [text for text in MEANT[intent] if understood_as(text) != intent]
    assert len(wrong) <= 3, wrong


def test_what_is_none_of_the_five_is_hardly_ever_taken_for_one() -> None:
    taken = [f"{text!r} is no {as_}" for text in NONE_OF_THEM if (as_ := understood_as(text)) != "none"]
    assert len(taken) <= MISTAKEN, "\n".join(taken)


@pytest.mark.parametrize(
    "said",
    [
        "Don't pause it.",
        "Don't you ever stop the first one.",
        "Why did the bus stop there?",
        "Start a new room about tea.",
        "Who stopped them?",
        "Stop.",
        "Okay, stop!",
        "Shut up.",
        "Quiet, please.",
        "Hold on.",
        "Hang on a second.",
        "Hold that thought.",
        "Cut it out.",
        "Give me a break.",
        "I want to stop smoking.",
        "Stop the music.",
        "Turn off the lights.",
        "End this conversation.",
        "Let's end the call.",
        "Continue.",
        "Please go on.",
        "Carry on.",
        "Keep going.",
        "Start over.",
        "Let's go.",
        "Let it go.",
        "Let me talk to a human.",
        "Wake me at seven.",
        "Continue the story.",
    ],
)
def test_what_is_no_command_never_pauses_or_resumes(said: str) -> None:
    assert understood_as(said) not in ("pause", "resume")


@pytest.mark.parametrize(
    "said",
    [
        "Help me write a mail.",
        "Can you help me with my homework?",
        "I need help with my taxes.",
        "Give me an example of a metaphor.",
        "Give me instructions for a cake.",
        "How do I stop a nosebleed?",
        "What is it about time?",
        "What about tomorrow?",
        "How about lunch?",
        "What do you think about that?",
        "Tell me something about yourself.",
        "How are you doing?",
        "What did you say?",
        "How do you say hello in French?",
        "Give me a list of fruits.",
        "List the planets.",
    ],
)
def test_what_people_say_of_anything_in_the_world_is_none_of_the_five(said: str) -> None:
    assert understood_as(said) == "none"


@pytest.mark.timeout(20)
def test_a_long_text_is_no_reason_to_think_long() -> None:
    for word in ("is ", "start ", "the ", "let ", "what "):
        assert understood_as(word * 200_000) in ("none", "about", "list")


NAMES = ("Redis or PostgreSQL?", "Rewrite the mail", "The budget for spring", "Tabs or spaces?")
ROOMS = [
    RoomInfo(
        id=f"room{at}",
        name=name,
        task=name,
        status="running" if at < 2 else "paused",
        created_at="2026-01-01T00:00:00Z",
        updated_at=f"2026-01-01T00:{59 - at}:00Z",
    )
    for at, name in enumerate(NAMES)
]


def result(tool: str, content: Any) -> tuple[ChatMessage, ...]:
    call = ChatMessage("assistant", "", calls=(ToolCall("c", tool, "{}"),))
    return call, ChatMessage("tool", json.dumps(content), call_id="c", name=tool)


LISTED = result("list_rooms", {"rooms": [{"id": room.id, "name": room.name} for room in ROOMS], "more": 0})
SPOKEN_OF = (*LISTED, *result("room_about", {"id": "room2", "name": NAMES[2]}))


@pytest.mark.parametrize(
    "before", [(), LISTED, SPOKEN_OF], ids=["at first", "after a list", "after one room"]
)
@pytest.mark.parametrize(
    ("said", "number"),
    [
        ("Pause the first one.", 0),
        ("What is the second one about?", 1),
        ("Could you carry on with number three please?", 2),
        ("Tell me more about the fourth.", 3),
        ("Stop the Redis room before it costs any more.", 0),
        ("How is the budget room coming along?", 2),
        ("Let's pause that mail debate until tomorrow.", 1),
        ("Resume the one about tabs.", 3),
        ("What are they saying in the PostgreSQL debate?", 0),
        ("Put the tabs or spaces room on hold for now.", 3),
        ("Give me a summary of the mail room, will you?", 1),
        ("Tell me about Redis or PostgreSQL.", 0),
        ("Get the budget room going again.", 2),
    ],
)
def test_the_room_that_is_named_or_counted_is_the_one_that_is_meant(
    said: str, number: int, before: tuple[ChatMessage, ...]
) -> None:
    assert room_meant(ROOMS, room_asked_for(said, before)).id == f"room{number}"


@pytest.mark.parametrize(
    "said",
    [
        "Pause it.",
        "Resume that one for me.",
        "What are they talking about in there?",
        "Let them go on.",
        "Stop it until tomorrow, would you?",
        "Who has the last word in that one?",
        "And how is it going?",
    ],
)
def test_it_is_the_room_that_was_spoken_of_last(said: str) -> None:
    assert room_asked_for(said, SPOKEN_OF) == "The budget for spring"


def room_asked_for(said: str, before: tuple[ChatMessage, ...]) -> str:
    tools = tuple(ToolSpec(name, "", {}) for name in (*LOOKING, *ACTING))
    request = ModelRequest((*before, ChatMessage("user", said)), "demo", "", said, 1, 1, tools=tools)
    (piece,) = voice_pieces(request)
    assert isinstance(piece, CallPiece), piece
    if piece.name == "list_rooms":  # it has to know the room's name before it asks to resume it
        (piece,) = voice_pieces(replace(request, messages=(*request.messages, *LISTED)))
        assert isinstance(piece, CallPiece), piece
    return str(json.loads(piece.arguments)["room"])
