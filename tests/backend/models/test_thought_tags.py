"""Thoughts that a local server leaves among the words, in tags at their beginning."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.models.model import Piece, TextPiece, ThinkingPiece, UsagePiece
from agent_tui.backend.models.openai_model import ThoughtTags
from agent_tui.model.errors import ModelError
from tests.backend.models.calls import OFFERED, REQUEST, after, calls_of, provider, text
from tests.fakes.models.model_server import Answer, AskedCall, FakeModelServer, chunk, raw, says


def thoughts(said: list[Piece]) -> str:
    return "".join(piece.text for piece in said if isinstance(piece, ThinkingPiece))


async def failed_output(answer: Answer) -> tuple[list[Piece], ModelError]:
    """Return (what came, the error) of an answer that fails."""
    said: list[Piece] = []

    async def listen() -> None:
        async for piece in opened.model("qwen3").stream(REQUEST):
            said[len(said) :] = [piece]

    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(answer)
        with pytest.raises(ModelError) as caught:
            await listen()
    return said, caught.value


async def answer_of(answer: Answer) -> tuple[str, str]:
    """Return (thoughts, words) of an answer, and check that no thought comes after a word."""
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(answer)
        said = [piece async for piece in opened.model("qwen3").stream(REQUEST)]
    kinds = [type(piece) for piece in said if not isinstance(piece, UsagePiece)]
    assert kinds == sorted(kinds, key=lambda kind: kind is TextPiece)
    return thoughts(said), text(said)


@pytest.mark.parametrize(
    "pieces",
    [
        ("<think>", "Hm, 2 < 3", "</think>", "Yes."),
        ("<think>\nHm, 2 < 3</think>\n\nYes.",),
        ("\n", "<th", "ink>\n", "Hm, 2 ", "< 3</", "thi", "nk>", "\n\n", "Yes."),
        tuple("<think>Hm, 2 < 3</think>Yes."),
    ],
    ids=["tags alone", "one piece", "split tags", "letter by letter"],
)
async def test_a_block_of_thoughts_at_the_beginning_is_no_words(pieces: tuple[str, ...]) -> None:
    assert await answer_of(says(*pieces)) == ("Hm, 2 < 3", "Yes.")


@pytest.mark.parametrize(
    "pieces",
    [
        ("Use ", "<think>", " in a template, and ", "</think>", " after it."),
        ("```\n", "<think>", "\nx</think>\n```"),
        ("Hm", "</think>", "Yes."),  # the template had opened it, and "Hm" has been shown
        ("<", "thin", "k of it"),
        ("<thi",),
        ("\n", "\n", "Yes."),
    ],
)
async def test_everything_else_is_words(pieces: tuple[str, ...]) -> None:
    assert await answer_of(says(*pieces)) == ("", "".join(pieces))
    assert await answer_of(says(*pieces, finish=None)) == ("", "".join(pieces))


async def test_an_empty_block_leaves_nothing() -> None:
    assert await answer_of(says("<think>\n\n</think>\n\n", "Yes.")) == ("", "Yes.")


@pytest.mark.parametrize("end", ["", "</th"])
async def test_a_block_that_is_never_closed_is_thoughts_and_no_answer(end: str) -> None:
    said, error = await failed_output(says("<think>Hm", end))
    assert (thoughts(said), text(said)) == (f"Hm{end}", "")
    assert error.title == "the model said nothing"
    said, error = await failed_output(says("<think>Hm", finish="length"))
    assert "used all its tokens before the first word" in error.detail


async def test_a_connection_that_breaks_in_a_tag_loses_nothing() -> None:
    said, error = await failed_output(raw(chunk(content="<think>Hm </thi"), b"data: {\n\n"))
    assert thoughts(said) == "Hm </thi"
    assert error.title == "the answer broke off"


async def test_thoughts_in_tags_are_not_sent_back_with_a_call() -> None:
    async with FakeModelServer() as server, provider(server.url) as opened:
        server.will(says("<think>Hm</think>", calls=[AskedCall("c-1", "calculator")]))
        said = [piece async for piece in opened.model("qwen3").stream(OFFERED)]
        assert thoughts(said) == "Hm"
        _ = [piece async for piece in opened.model("qwen3").stream(after(OFFERED, "", calls_of(said), "2"))]
        assert "Hm" not in str(server.requests[-1].body)


@given(
    parts=st.lists(st.sampled_from(["<think>", "</think>", "<", "</", "th", "a", " ", "\n"]), max_size=12),
    cuts=st.sets(st.integers(0, 60)),
)
def test_wherever_it_is_split_only_the_tags_and_the_white_space_around_them_are_left_out(
    parts: list[str], cuts: set[int]
) -> None:
    whole, tags = "".join(parts), ThoughtTags()
    places = [0, *sorted(cut for cut in cuts if cut < len(whole)), len(whole)]
    both = [tags.take(whole[start:end]) for start, end in itertools.pairwise(places)]
    told = tuple(map("".join, zip(*both, tags.rest(), strict=True)))
    bare = whole.lstrip()
    if bare.startswith("<think>"):
        inner, _, rest = bare.removeprefix("<think>").partition("</think>")
        assert told == (inner.lstrip(), rest.lstrip())
    else:
        assert told == ("", whole)
