"""Without a language model a voice conversation understands five intents about rooms, and says so."""

from __future__ import annotations

import json
from dataclasses import replace
from string import Formatter
from typing import Any

import pytest

from agent_tui.backend.models.demo.pacer import DemoModel
from agent_tui.backend.models.demo.scripts import read
from agent_tui.backend.models.demo.voice import intent_of, voice_pieces
from agent_tui.backend.models.model import CallPiece, ChatMessage, ModelRequest, TextPiece, ToolCall, ToolSpec
from agent_tui.backend.tools.rooms import ACTING, LOOKING
from agent_tui.config.agent_templates import language_of
from agent_tui.voice_instructions import spoken_prompt

ROOMS: dict[str, Any] = {
    "rooms": [
        {"id": "a1", "name": "Redis or PostgreSQL?", "status": "running", "round": 2, "rounds": 3},
        {"id": "b2", "name": "Rewrite the mail", "status": "paused", "round": 1, "rounds": 4},
    ],
    "more": 0,
}


def asked(task: str, *before: ChatMessage, tools: tuple[str, ...] = (*LOOKING, *ACTING)) -> ModelRequest:
    messages = (*before, ChatMessage("user", task))
    return ModelRequest(
        messages, "demo", "", task, 1, 1, tools=tuple(ToolSpec(name, "", {}) for name in tools)
    )


def result(tool: str, content: Any) -> tuple[ChatMessage, ChatMessage]:
    text = content if isinstance(content, str) else json.dumps(content)
    call = ChatMessage("assistant", "", calls=(ToolCall(tool, tool, "{}"),))
    return call, ChatMessage("tool", text, call_id=tool, name=tool)


def told(tool: str, content: Any) -> str:
    request = asked("And?")
    (piece,) = voice_pieces(
        ModelRequest(
            (*request.messages, *result(tool, content)), "demo", "", "And?", 1, 1, tools=request.tools
        )
    )
    assert isinstance(piece, TextPiece)
    return piece.text


def call_of(request: ModelRequest) -> tuple[str, dict[str, Any]]:
    (piece,) = voice_pieces(request)
    assert isinstance(piece, CallPiece), piece
    return piece.name, json.loads(piece.arguments)


@pytest.mark.parametrize(
    ("said", "intent"),
    [
        ("What rooms are running?", "list"),
        ("How many rooms are there", "list"),
        ("What's going on?", "list"),
        ("What is the second one about?", "about"),
        ("Tell me about Redis or PostgreSQL.", "about"),
        ("Pause the first one, please.", "pause"),
        ("Paws the first one.", "pause"),
        ("Could you hold the Redis room for a minute?", "pause"),
        ("Resume it.", "resume"),
        ("Start the first one again.", "resume"),
        ("Help!", "help"),
        ("What can you do?", "help"),
        ("暂停第一个", "pause"),
        ("Приостанови первую комнату", "pause"),
        ("какие комнаты есть", "list"),
        ("现在有几个房间？", "list"),
        ("您会做什么？", "help"),
        ("Что вы умеете?", "help"),
        ("What is the weather in Paris?", None),
        ("Tell me a joke.", None),
        ("", None),
    ],
)
def test_what_is_said_is_one_of_five_intents_or_none(said: str, intent: str | None) -> None:
    found = intent_of(said)
    assert (found.name if found else None) == intent


def test_the_first_one_is_that_of_the_list_told_last_and_it_the_room_spoken_of_last() -> None:
    before = (ChatMessage("user", "What rooms?"), *result("list_rooms", ROOMS))
    assert call_of(asked("Pause the second one", *before)) == ("pause_room", {"room": "Rewrite the mail"})
    assert call_of(asked("Pause the first one")) == ("pause_room", {"room": "1"})
    paused = (*before, ChatMessage("user", "Pause it"), *result("pause_room", {"id": "b2", "name": "Mail"}))
    assert call_of(asked("What is it about?", *paused)) == ("room_about", {"room": "Mail"})
    assert call_of(asked("resume the redis room", *paused)) == ("resume_room", {"room": "redis"})


def test_a_room_to_be_resumed_by_its_place_is_looked_up_first_so_that_the_approval_shows_its_name() -> None:
    unknown = asked("Resume the second one")
    assert call_of(unknown) == ("list_rooms", {})
    listed = replace(unknown, messages=(*unknown.messages, *result("list_rooms", ROOMS)))
    assert call_of(listed) == ("resume_room", {"room": "Rewrite the mail"})
    done = {"id": "b2", "name": "Rewrite the mail", "changed": True}
    resumed = replace(listed, messages=(*listed.messages, *result("resume_room", done)))
    assert voice_pieces(resumed) == [TextPiece("Done. Rewrite the mail goes on.")]
    none = replace(unknown, messages=(*unknown.messages, *result("list_rooms", {"rooms": []})))
    assert voice_pieces(none) == [TextPiece("There are no rooms yet.")]


def test_a_room_is_named_by_its_name_and_by_its_id_where_that_says_too_little() -> None:
    rooms = [{"id": "a1", "name": "Mail"}, {"id": "b2", "name": "Mail"}, {"id": "c3", "name": "?"}]
    before = (ChatMessage("user", "What rooms?"), *result("list_rooms", {"rooms": rooms}))
    assert call_of(asked("Resume the first one", *before)) == ("resume_room", {"room": "a1"})
    assert call_of(asked("Pause the third one", *before)) == ("pause_room", {"room": "c3"})


def test_what_came_of_a_call_is_said_in_sentences() -> None:
    assert told("list_rooms", ROOMS) == (
        "Two rooms. Redis or PostgreSQL is running in round 2 of 3."
        " Rewrite the mail is paused in round 1 of 4."
    )
    assert told("list_rooms", {"rooms": [], "more": 0}) == "There are no rooms yet."
    paused = {"id": "a1", "name": "Redis or PostgreSQL?", "status": "paused", "changed": True}
    assert told("pause_room", paused) == "Done. Redis or PostgreSQL is paused."
    assert told("pause_room", {**paused, "changed": False}) == "Redis or PostgreSQL is not running."
    about = {**ROOMS["rooms"][0], "task": "Where do sessions live?", "agents": ["Mika", "Ada", "Noor"]}
    assert told("room_about", about) == (
        "It is about this: Where do sessions live. Mika, Ada and Noor talk in it."
        " It is running in round 2 of 3."
    )
    assert told("resume_room", {"success": False, "error": "denied by the user"}) == (
        "All right, I leave it as it is."
    )
    assert told("pause_room", {"success": False, "error": "there is no such room"}).startswith("That did not")
    about_paris = told(
        "room_about", {"success": False, "error": "there is no such room: paris; there are no rooms yet"}
    )
    assert about_paris.startswith("There is no room like that. Without a language model")
    assert told("pause_room", "not json") == "That did not work."


def test_a_guest_is_told_that_only_the_owner_may_act() -> None:
    (piece,) = voice_pieces(asked("Pause the first one", tools=LOOKING))
    assert piece == TextPiece("Only the owner of this session may do that.")
    assert call_of(asked("What rooms are there?", tools=LOOKING)) == ("list_rooms", {})


def test_anything_else_is_one_sentence_on_how_to_connect_a_model() -> None:
    (piece,) = voice_pieces(asked("What is the capital of France?"))
    assert isinstance(piece, TextPiece)
    assert "connect a model" in piece.text
    assert piece.text.count(".") == 1


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (
            "现在有哪些房间在运行？",
            [
                "两个房间。",
                "Redis or PostgreSQL正在运行，第 2 轮，共 3 轮。",
                "Rewrite the mail已暂停，第 1 轮，共 4 轮。",
            ],
        ),
        (
            "Какие комнаты сейчас работают?",
            [
                "Две комнаты. ",
                "Redis or PostgreSQL: работает, раунд 2 из 3. ",
                "Rewrite the mail: пауза, раунд 1 из 4.",
            ],
        ),
    ],
)
def test_a_question_is_answered_in_its_language(question: str, answer: list[str]) -> None:
    request = asked(question)
    results = (*request.messages, *result("list_rooms", ROOMS))
    assert voice_pieces(replace(request, messages=results)) == [TextPiece("".join(answer))]


@pytest.mark.parametrize(("locale", "language"), [("zh_CN", "zh"), ("ru_RU", "ru"), ("de_DE", "en")])
def test_words_of_no_language_are_answered_in_the_session_s(locale: str, language: str) -> None:
    request = asked("OK?", ChatMessage("system", spoken_prompt(locale)))
    (piece,) = voice_pieces(request)
    assert isinstance(piece, TextPiece)
    assert language_of(piece.text) == language


@pytest.mark.parametrize("language", ["zh", "ru"])
def test_each_sentence_of_the_demo_is_there_in_each_language(language: str) -> None:
    english, other = read("en/voice.toml"), read(f"{language}/voice.toml")

    def slots(texts: Any) -> Any:
        if isinstance(texts, str):
            return {name for _, name, _, _ in Formatter().parse(texts) if name}
        return {key: slots(text) for key, text in texts.items()} if isinstance(texts, dict) else len(texts)

    assert slots(english) == slots(other)


async def test_the_demo_model_speaks_so_at_once_in_a_voice_session_and_only_there() -> None:
    async def no_pause(_seconds: float) -> None:
        raise AssertionError("what is spoken is paced by its voice")

    model, request = DemoModel(20.0, sleep=no_pause), replace(asked("help"), is_spoken=True)
    assert [piece async for piece in model.stream(request)] == voice_pieces(request)
    written = [piece async for piece in DemoModel(0).stream(asked("help"))]  # a chat with the same tools
    assert not set(written) & set(voice_pieces(request))
