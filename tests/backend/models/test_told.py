"""What four kinds of provider are told: whose turn it is, calls, results, and what they alone understand."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import pytest

from agent_tui.backend.models.model import ChatMessage, Image, ModelRequest, NotePiece, ToolCall
from agent_tui.backend.models.remote_history import GO_ON
from agent_tui.model.errors import ModelError
from tests.backend.models.calls import OFFERED, REQUEST, after, calls_of, provider_of, text, told_to
from tests.fakes.models.dialects import KINDS, SIGNATURE, Kind, event
from tests.fakes.models.model_server import Answer, AskedCall, FakeModelServer, fails, raw
from tests.fakes.models.pictures import GIF

OPENAI, OLLAMA, ANTHROPIC, GOOGLE = KINDS
of_each_kind = pytest.mark.parametrize("kind", KINDS, ids=str)
FIRST = AskedCall("call_1", "calculator", ('{"expr', 'ession": "17', '*23 会话"}'))
CALLS = (ToolCall("call_1", "calculator", '{"expression": "1"}'), ToolCall("call_2", "calculator", '{"x"'))
ASKED = after(OFFERED, "Let me see.", CALLS, '{"result": "1"}', '{"success": false, "error": "no JSON"}')


def history(kind: Kind, body: Any) -> list[Any]:
    """Return the messages of a request, without the ones before the calls."""
    return list(body["contents" if kind is GOOGLE else "messages"][4 if kind in (OPENAI, OLLAMA) else 3 :])


@pytest.mark.parametrize("kind", [OPENAI, OLLAMA], ids=str)
async def test_calls_and_results_go_back_in_the_form_of_chat_completions(kind: Kind) -> None:
    answer, *results = history(kind, await told_to(kind, ASKED))
    assert answer["content"] == "Let me see."
    assert [(call["id"], call["function"]["name"]) for call in answer["tool_calls"]] == [
        ("call_1", "calculator"),
        ("call_2", "calculator"),
    ]
    arguments = [json.loads(call["function"]["arguments"]) for call in answer["tool_calls"]]
    assert arguments == [{"expression": "1"}, {"INVALID_JSON": '{"x"'}]
    assert results == [
        {"role": "tool", "tool_call_id": "call_1", "content": '{"result": "1"}'},
        {"role": "tool", "tool_call_id": "call_2", "content": '{"success": false, "error": "no JSON"}'},
    ]


async def test_calls_and_results_go_back_in_the_form_of_the_messages_api() -> None:
    answer, results = history(ANTHROPIC, await told_to(ANTHROPIC, ASKED))
    words, *calls = answer["content"]
    assert words["text"] == "Let me see."
    assert [(call["type"], call["id"], call["input"]) for call in calls] == [
        ("tool_use", "call_1", {"expression": "1"}),
        ("tool_use", "call_2", {"INVALID_JSON": '{"x"'}),
    ]
    assert results["role"] == "user"
    assert [(one["type"], one["tool_use_id"]) for one in results["content"]] == [
        ("tool_result", "call_1"),
        ("tool_result", "call_2"),
    ]
    assert results["content"][1]["content"][0]["text"] == ASKED.messages[-1].content


async def test_calls_and_results_go_back_in_the_form_of_gemini() -> None:
    answer, results = history(GOOGLE, await told_to(GOOGLE, ASKED))
    calls = [part["functionCall"] for part in answer["parts"] if "functionCall" in part]
    assert [(call["id"], call["args"]) for call in calls] == [
        ("call_1", {"expression": "1"}),
        ("call_2", {"INVALID_JSON": '{"x"'}),
    ]
    assert (answer["role"], results["role"]) == ("model", "user")
    named = [(part["functionResponse"]["id"], part["functionResponse"]["name"]) for part in results["parts"]]
    assert named == [("call_1", "calculator"), ("call_2", "calculator")]
    assert "no JSON" in json.dumps(results["parts"][1])


PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\nno more").decode()


def with_picture() -> ModelRequest:
    *before, result = after(OFFERED, "", CALLS[:1], "[image, image/png, 15 bytes]").messages
    shown = replace(result, images=(Image("image/png", base64.b64decode(PICTURE)),))
    return replace(OFFERED, messages=(*before, shown))


@of_each_kind
async def test_an_image_is_shown_beside_the_result_that_it_came_with(kind: Kind) -> None:
    told = json.dumps(history(kind, await told_to(kind, with_picture())))
    assert told.count("[image, image/png, 15 bytes]") == 1
    assert told.count(PICTURE) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        fails(400, "Failed to deserialize: messages[3]: unknown variant `image_url`, expected `text`"),
        fails(500, "image input is not supported - hint: you may need to provide the mmproj"),
        fails(404, "No endpoints found that support image input"),
        fails(400, "some-model is not a multimodal model"),
        fails(422, "messages.3.content: Input should be a valid string"),
    ],
    ids=["DeepSeek", "llama.cpp", "OpenRouter", "vLLM", "others"],
)
async def test_a_model_that_refuses_images_is_told_of_them_in_words_from_then_on(refusal: Answer) -> None:
    async with FakeModelServer() as server, provider_of(server, OPENAI) as opened:
        server.will(refusal)
        for calls in (2, 3):
            said = [piece async for piece in opened.model("some-model").stream(with_picture())]
            assert text(said) == "Hello there."
            assert NotePiece("no_images") in said
            assert len([one for one in server.requests if one.method == "POST"]) == calls
            told = json.dumps(server.requests[-1].body)
            assert "[image, image/png, 15 bytes]" in told
            assert PICTURE not in told
            assert "images" in opened.refuses("some-model")


SEEN = replace(
    REQUEST, messages=(*REQUEST.messages[:2], ChatMessage("user", "See.", images=(Image("image/gif", GIF),)))
)
IN_BASE64 = base64.b64encode(GIF).decode()


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        (OPENAI, {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{IN_BASE64}"}}),
        (OLLAMA, {"type": "image_url", "image_url": {"url": f"data:image/gif;base64,{IN_BASE64}"}}),
        (
            ANTHROPIC,
            {"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": IN_BASE64}},
        ),
        (GOOGLE, {"inlineData": {"mime_type": "image/gif", "data": IN_BASE64}}),
    ],
    ids=str,
)
async def test_an_image_of_a_person_is_shown_beside_their_words(kind: Kind, part: dict[str, Any]) -> None:
    body = await told_to(kind, SEEN)
    last = body["contents" if kind is GOOGLE else "messages"][-1]
    parts = last["parts" if kind is GOOGLE else "content"]
    assert last["role"] == "user"
    assert part in [{name: one[name] for name in part} for one in parts if part.keys() <= one.keys()]
    words = [one["text"] for one in parts if "text" in one]
    assert words == ["Should sessions live in Redis?", "See."]  # neighbours are one message


async def test_who_sends_an_image_that_is_too_large_for_a_model_is_told_why() -> None:
    refusal = fails(400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum")
    async with FakeModelServer() as server, provider_of(server, OPENAI) as opened:
        server.will(refusal)
        with pytest.raises(ModelError, match="image exceeds"):
            _ = [piece async for piece in opened.model("some-model").stream(SEEN)]
        said = [piece async for piece in opened.model("some-model").stream(SEEN)]
        assert NotePiece("no_images") not in said
        assert IN_BASE64 in json.dumps(server.requests[-1].body)


@of_each_kind
async def test_a_name_that_providers_refuse_goes_back_in_letters_they_take(kind: Kind) -> None:
    odd = (ToolCall("a", "", "{}"), ToolCall("b", "no such.tool 会话" + "x" * 80, "{}"))
    told = json.dumps(history(kind, await told_to(kind, after(OFFERED, "", odd, "no", "no"))))
    assert '"nameless"' in told
    assert f'"{("no_such_tool___" + "x" * 80)[:64]}"' in told


async def test_an_id_that_anthropic_refuses_goes_back_in_letters_it_takes() -> None:
    odd = (ToolCall("functions.calculator:0", "calculator", "{}"),)
    asked = after(OFFERED, "", odd, "1")
    told = history(ANTHROPIC, await told_to(ANTHROPIC, asked))
    assert told[0]["content"][0]["id"] == told[1]["content"][0]["tool_use_id"] == "functions_calculator_0"
    assert history(OPENAI, await told_to(OPENAI, asked))[1]["tool_call_id"] == "functions.calculator:0"


@of_each_kind
async def test_without_tools_old_calls_are_told_in_words(kind: Kind) -> None:
    told = json.dumps(history(kind, await told_to(kind, replace(ASKED, tools=()))))
    assert "Let me see." in told
    assert "[called calculator" in told
    assert "[calculator gave:" in told
    for form in ("tool_calls", "tool_call_id", "tool_use", "functionCall"):
        assert form not in told


async def second_round(kind: Kind, model: str, *, asked: ModelRequest = OFFERED) -> Any:
    """Return what arrives in the round after a call that was thought about."""
    request = replace(asked, thinking=True)
    async with FakeModelServer() as server, provider_of(server, kind) as opened:
        server.will(kind.says("I see.", thinking=("Hm", "m."), calls=(FIRST,)), kind.says("391."))
        said = [piece async for piece in opened.model(model).stream(request)]
        calls = [replace(call, id="ours") for call in calls_of(said)]  # as where two had the same one
        more = after(request, "I see.", calls, '{"result": "391"}')
        _ = [piece async for piece in opened.model(model).stream(more)]
        return server.requests[1].body


@pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")
@pytest.mark.parametrize(
    ("kind", "model", "thought"),
    [
        (OPENAI, "some-model", '"reasoning_content": "Hmm."'),
        (ANTHROPIC, "claude-haiku-4-5", f'"signature": "{SIGNATURE}"'),
        (GOOGLE, "gemini-2.5-flash", f'"thoughtSignature": "{SIGNATURE}"'),
    ],
)
async def test_thoughts_before_a_call_go_back_with_it(kind: Kind, model: str, thought: str) -> None:
    body = await second_round(kind, model)
    told = json.dumps(history(kind, body))
    assert thought in told
    assert told.count("I see.") == 1
    assert body.get("thinking", {}).get("type", "enabled") == "enabled"


async def test_thoughts_of_older_questions_do_not_go_back() -> None:
    async with FakeModelServer() as server, provider_of(server, OPENAI) as opened:
        server.will(OPENAI.says(thinking=("Hm",), calls=(FIRST,)), OPENAI.says("Well."))
        said = [piece async for piece in opened.model("m").stream(OFFERED)]
        more = after(OFFERED, "", calls_of(said), "391")
        later = replace(more, messages=(*more.messages, ChatMessage("user", "And now?")))
        _ = [piece async for piece in opened.model("m").stream(later)]
        assert "reasoning_content" not in json.dumps(server.requests[1].body)


@pytest.mark.filterwarnings("ignore:The model 'claude:DeprecationWarning")
async def test_claude_does_not_think_on_where_its_thoughts_were_lost() -> None:
    """The Messages API refuses calls without the thoughts before them while thinking is on."""
    body = await told_to(ANTHROPIC, replace(ASKED, thinking=True), model="claude-haiku-4-5")
    assert "thinking" not in body


# Claude thinks between words and calls, and takes the whole back in that order alone.
INTERLEAVED: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "one", "signature": "c2lnMQ=="},
    {"type": "redacted_thinking", "data": "c2VjcmV0"},
    {"type": "text", "text": "Let me see."},
    {"type": "thinking", "thinking": "two", "signature": "c2lnMg=="},
    {"type": "tool_use", "id": "toolu_1", "name": "calculator", "input": {"expression": "1"}},
]
DELTAS = ("thinking", "text", "signature")


def interleaved() -> Answer:
    usage = {"input_tokens": 25, "output_tokens": 1}
    message = {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [], "usage": usage}
    frames = [event("message_start", message=message), event("ping")]
    for place, block in enumerate(INTERLEAVED):
        begun = {key: "" if key in DELTAS else value for key, value in block.items()}
        steps = [{"type": f"{key}_delta", key: block[key]} for key in block if key in DELTAS]
        if "input" in block:
            begun["input"] = {}
            steps = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        frames.append(event("content_block_start", index=place, content_block=begun))
        frames += [event("content_block_delta", index=place, delta=step) for step in steps]
        frames.append(event("content_block_stop", index=place))
    end = {"stop_reason": "tool_use", "stop_sequence": None}
    frames += [event("message_delta", delta=end, usage={"output_tokens": 15}), event("message_stop")]
    return raw(*frames)


async def test_thoughts_between_words_and_calls_go_back_where_they_were() -> None:
    asked = replace(OFFERED, thinking=True)
    async with FakeModelServer() as server, provider_of(server, ANTHROPIC) as opened:
        server.will(interleaved(), ANTHROPIC.says("1."))
        said = [piece async for piece in opened.model("claude-opus-4-7").stream(asked)]
        more = after(asked, text(said), calls_of(said), "1")
        _ = [piece async for piece in opened.model("claude-opus-4-7").stream(more)]
        answer, _ = history(ANTHROPIC, server.requests[1].body)
    assert answer["content"] == INTERLEAVED


def turns(kind: Kind, body: Any) -> list[tuple[str, str]]:
    """Return who says what, without the system prompt."""
    told = [one for one in body["contents" if kind is GOOGLE else "messages"] if one["role"] != "system"]
    parts = [one.get("parts") or one["content"] for one in told]
    words = [part if isinstance(part, str) else "|".join(each["text"] for each in part) for part in parts]
    return [
        ("user" if one["role"] == "user" else "agent", said) for one, said in zip(told, words, strict=True)
    ]


@of_each_kind
async def test_users_and_agent_take_turns_and_a_user_is_last(kind: Kind) -> None:
    """A room of three in which all speak at once: the last of them heard itself last."""
    heard = (
        ChatMessage("user", "Redis?"),
        ChatMessage("user", "[Ada]: Yes."),
        ChatMessage("user", "[Noor]: No."),
        ChatMessage("assistant", "Perhaps."),
        ChatMessage("assistant", "Or not."),
    )
    body = await told_to(kind, replace(REQUEST, messages=(*REQUEST.messages[:1], *heard)))
    assert turns(kind, body) == [
        ("user", "Redis?\n\n[Ada]: Yes.\n\n[Noor]: No."),
        ("agent", "Perhaps.\n\nOr not."),
        ("user", GO_ON),
    ]


@of_each_kind
async def test_words_that_are_only_space_before_a_call_are_not_told(kind: Kind) -> None:
    """The Messages API refuses them."""
    told = json.dumps(history(kind, await told_to(kind, after(OFFERED, "\n\n", CALLS[:1], "1"))))
    assert '"calculator"' in told
    assert "\\n\\n" not in told


@pytest.mark.parametrize("name", ["vision-1", "Lab/image-vision:8b"])
async def test_an_error_of_a_server_does_not_make_a_model_blind_that_is_named_after_images(name: str) -> None:
    async with FakeModelServer() as server, provider_of(server, OPENAI) as opened:
        for refusal in (fails(500, "exploded"), fails(400, f"{name} is busy"), fails(500, "no image today")):
            server.will(refusal)
            with pytest.raises(ModelError):
                _ = [piece async for piece in opened.model(name).stream(SEEN)]
        said = [piece async for piece in opened.model(name).stream(SEEN)]
        assert NotePiece("no_images") not in said
        assert IN_BASE64 in json.dumps(server.requests[-1].body)


async def test_what_did_not_help_a_call_is_not_remembered() -> None:
    async with FakeModelServer() as server, provider_of(server, OPENAI) as opened:
        server.will(fails(400, "the image service is down"), fails(400, "the service is down"))
        with pytest.raises(ModelError):
            _ = [piece async for piece in opened.model("some-model").stream(SEEN)]
        said = [piece async for piece in opened.model("some-model").stream(SEEN)]
        assert NotePiece("no_images") not in said


async def test_an_error_does_not_take_thinking_from_a_model_that_is_named_after_it() -> None:
    name = "kimi-k2-thinking"
    async with FakeModelServer() as server, provider_of(server, OPENAI) as opened:
        server.will(fails(400, f"The request of {name} is not valid"))
        with pytest.raises(ModelError):
            _ = [piece async for piece in opened.model(name).stream(replace(REQUEST, thinking=True))]
        assert len([one for one in server.requests if one.method == "POST"]) == 1
