"""An answer that was cut off goes on: by its provider itself where that can, else asked for in words."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.models.continuing import NewText, continuing_model, instruction
from agent_tui.backend.models.demo.pacer import DemoModel
from agent_tui.backend.models.model import ApartPiece, ChatMessage, ModelRequest, TextPiece
from tests.backend.models.calls import provider_of, text
from tests.fakes.models.dialects import KINDS, Kind
from tests.fakes.models.model_server import Answer, FakeModelServer, fails

OPENAI, OLLAMA, ANTHROPIC, GOOGLE = KINDS
BEFORE = "Redis loses a second of writes,\nPostgreSQL loses"
GOES_ON = ModelRequest(
    (ChatMessage("user", "Which?"), ChatMessage("assistant", BEFORE)),
    "m",
    "",
    "Which?",
    1,
    1,
    continues=BEFORE,
)


def owned_by(owner: str) -> Answer:
    body = json.dumps({"data": [{"id": "some-model", "owned_by": owner}]})
    return Answer((body.encode(),), content_type="application/json")


def last(kind: Kind, body: Any) -> tuple[str, str]:
    """Return role and words of the last message that was told."""
    message = (body["contents"] if kind is GOOGLE else body["messages"])[-1]
    content = message.get("content") or message["parts"]
    return message["role"], content if isinstance(content, str) else content[-1]["text"]


async def sent(kind: Kind, server: FakeModelServer, *said: str, model: str = "m") -> tuple[str, list[Any]]:
    """Go on with the answer; return what was new, and the bodies of the calls."""
    async with provider_of(server, kind) as opened:
        server.will(kind.says(*said))
        going = continuing_model(opened.model(model), GOES_ON)
        new = text([piece async for piece in going.stream(GOES_ON)])
    return new, [request.body for request in server.requests if request.method == "POST"]


@pytest.mark.parametrize("kind", [OLLAMA, ANTHROPIC], ids=str)
async def test_a_provider_that_can_goes_on_with_the_words_so_far(kind: Kind) -> None:
    async with FakeModelServer() as server:
        new, bodies = await sent(kind, server, " nothing.")
    assert new == " nothing."
    assert [last(kind, body) for body in bodies] == [("assistant", BEFORE)]


@pytest.mark.parametrize("kind", [OPENAI, GOOGLE], ids=str)
async def test_another_one_is_asked_in_words_and_its_repetition_is_dropped(kind: Kind) -> None:
    async with FakeModelServer() as server:
        new, bodies = await sent(kind, server, "Postgre", "SQL loses noth", "ing.")
    assert new == " nothing."
    assert [last(kind, body) for body in bodies] == [("user", instruction(BEFORE))]
    assert "PostgreSQL loses" in instruction(BEFORE)


@pytest.mark.parametrize("owner", ["llamacpp", "vllm", "library"])
async def test_local_servers_are_known_by_their_list_of_models(owner: str) -> None:
    async with FakeModelServer() as server:
        server.listing = owned_by(owner)
        _, (body,) = await sent(OPENAI, server, " nothing.")
    assert last(OPENAI, body) == ("assistant", BEFORE)
    assert body.get("continue_final_message") is (True if owner == "vllm" else None)
    assert body.get("add_generation_prompt") is (False if owner == "vllm" else None)


async def test_a_model_that_refuses_to_go_on_is_asked_in_words_from_then_on() -> None:
    refusal = fails(400, "This model does not support assistant message prefill.")
    async with FakeModelServer() as server, provider_of(server, ANTHROPIC) as opened:
        server.will(refusal, ANTHROPIC.says("so"), ANTHROPIC.says("so"))
        for _ in range(2):
            said = [piece async for piece in opened.model("new").stream(GOES_ON)]
            assert said[:2] == [ApartPiece(), TextPiece("so")]
        roles = [last(ANTHROPIC, request.body)[0] for request in server.requests]
        assert roles == ["assistant", "user", "user"]


async def test_a_claude_that_goes_on_is_not_asked_to_think_first() -> None:
    thinking = replace(GOES_ON, thinking=True)
    refusal = fails(400, "This model does not support assistant message prefill.")
    async with FakeModelServer() as server, provider_of(server, ANTHROPIC) as opened:
        server.will(refusal, ANTHROPIC.says("so"))
        _ = [piece async for piece in opened.model("claude-haiku-4-5").stream(thinking)]
        assert ["thinking" in request.body for request in server.requests] == [False, True]


@pytest.mark.parametrize("kind", KINDS, ids=str)
async def test_a_model_that_has_nothing_to_add_is_done(kind: Kind) -> None:
    async with FakeModelServer() as server:
        assert (await sent(kind, server))[0] == ""


async def test_white_space_at_the_end_is_not_sent_and_not_doubled() -> None:
    ends = "One.\n\n"
    request = replace(GOES_ON, continues=ends, messages=(GOES_ON.messages[0], ChatMessage("assistant", ends)))
    async with FakeModelServer() as server, provider_of(server, ANTHROPIC) as opened:
        server.will(ANTHROPIC.says("\n\n", "Two."))
        going = continuing_model(opened.model("m"), request)
        assert text([piece async for piece in going.stream(request)]) == "Two."
        assert last(ANTHROPIC, server.requests[0].body) == ("assistant", "One.")


async def test_the_demo_goes_on_with_its_own_words() -> None:
    demo = DemoModel(rate=0)
    begin = replace(GOES_ON, messages=GOES_ON.messages[:1], continues="", speaker="Ada", max_rounds=2)
    whole = text([piece async for piece in demo.stream(begin)])
    for at in (len(whole) // 2, whole.index("\n\n") + 1):  # also in white space
        cut = whole[:at]
        rest = replace(begin, messages=(*begin.messages, ChatMessage("assistant", cut)), continues=cut)
        going = continuing_model(demo, rest)
        assert cut + text([piece async for piece in going.stream(rest)]) == whole


async def test_the_demo_goes_on_with_its_own_words_whatever_people_said_since() -> None:
    demo = DemoModel(rate=0)
    begin = replace(GOES_ON, messages=GOES_ON.messages[:1], continues="", speaker="Ada", max_rounds=2)
    whole = text([piece async for piece in demo.stream(begin)])
    cut = whole[: len(whole) // 3]
    since = (ChatMessage("user", "Be brief."), ChatMessage("user", "And kind."))
    rest = replace(begin, messages=(*begin.messages, *since, ChatMessage("assistant", cut)), continues=cut)
    assert cut + text([piece async for piece in demo.stream(rest)]) == whole


def new(before: str, said: list[str], *, is_apart: bool = False) -> str:
    rest = NewText(before)
    rest.is_apart = is_apart
    return "".join(map(rest.take, said)) + rest.end()


@pytest.mark.parametrize(
    ("before", "said", "rest"),
    [
        ("A list:\n- one item", "- one item\n- another", "\n- another"),  # its last line over again
        ("The quick brown fox", "The quick brown fox jumps", " jumps"),  # all of it
        ("The quick brown fox", "The quick", ""),  # it began anew, and did not get as far
        ("The quick brown fox", "The quick brown hare runs", " The quick brown hare runs"),  # another answer
        ("今天我们讨论数据库", "我们讨论数据库的问题", "的问题"),
        ("It is so", "jumped", " jumped"),  # a message of its own begins without a space
        ("It is so", ", then", ", then"),
        ("def load(", "sid)", "sid)"),
        ("a a a a", "a", " a"),  # too little to tell
        ("Now the cache is cold", '"…the cache is cold" and a deploy runs', " and a deploy runs"),
        ("Now the cache is cold", "...the cache is cold and a deploy runs", " and a deploy runs"),
        ("Now the cache is cold", "«The cache is cold…» and so", " and so"),
        ("Now the cache is cold", '"Hot", they say', '"Hot", they say'),  # quotes of its own
        ("Now the cache is cold", "cold and a deploy runs", " and a deploy runs"),  # few words
        ("Now the cac", "cache is cold", "he is cold"),  # the word that was cut off, whole
        ("Hi th", "Hi there", "ere"),
        ("def load():\n}", "}\n\nThen", "\n\nThen"),
        ("We are in", "into it", " into it"),
        ("第一点。第二点是因为", "因为它更快", "它更快"),
        ("It ends here. The pool is drained.", "The pool is drained. Then it fails.", " Then it fails."),
    ],
)
def test_what_is_said_over_again_is_dropped(before: str, said: str, rest: str) -> None:
    assert new(before, [said], is_apart=True) == rest
    assert new(before, list(said), is_apart=True) == rest  # however it comes


def test_what_can_be_no_repetition_is_given_out_at_once() -> None:
    for is_apart in (False, True):
        rest = NewText("Ada says, ")
        rest.is_apart = is_apart
        assert rest.take("in round 1.").strip() == "in round 1."


@given(st.text("ab \n", max_size=40), st.text("cd \n", max_size=40))
def test_what_is_new_is_never_lost(before: str, said: str) -> None:
    assert new(before, list(said)).strip() == said.strip()


@pytest.mark.parametrize("said", ["Something else is said here", "the cache is cold and so it is slow"])
@pytest.mark.parametrize("is_apart", [True, False])
def test_words_are_given_out_as_they_come_once_it_is_clear_that_they_are_new(
    said: str, *, is_apart: bool
) -> None:
    rest = NewText("Now the cache is cold")
    rest.is_apart = is_apart
    for character in said:
        rest.take(character)
    assert rest.take(" and then more") == " and then more"
