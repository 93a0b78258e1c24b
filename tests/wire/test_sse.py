from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_tui.model.errors import ProtocolError
from agent_tui.wire.sse import MAX_RETRY_MS, Frame, SSEParser
from tests.wire.event_stream_reference import Reference

BOM = b"\xef\xbb\xbf"


def message(data: str, id_: str = "", event: str = "message") -> Frame:
    return Frame(event, data, id_)


# name: (bytes, frames they must give)
VECTORS: dict[str, tuple[bytes, list[Frame]]] = {
    "one event": (b"data: x\n\n", [message("x")]),
    "a named event": (b"event: go\ndata: x\n\n", [message("x", event="go")]),
    "the name after the data": (b"data: x\nevent: go\n\n", [message("x", event="go")]),
    "the name is for one event only": (
        b"event: go\ndata: x\n\ndata: y\n\n",
        [message("x", event="go"), message("y")],
    ),
    "the last of two names counts": (b"event: a\nevent: b\ndata\n\n", [message("", event="b")]),
    "an empty name is message": (b"event: a\nevent\ndata: x\n\n", [message("x")]),
    "a name without data is dropped": (b"event: a\n\ndata: x\n\n", [message("x")]),
    "data lines are joined": (b"data: a\ndata: b\ndata:\ndata: c\n\n", [message("a\nb\n\nc")]),
    "one space is taken off": (b"data:  a \ndata:b\ndata:\tc\n\n", [message(" a \nb\n\tc")]),
    "an empty data field is an event": (b"data\n\n", [message("")]),
    "an empty data with colon is an event": (b"data:\n\ndata: \n\n", [message(""), message("")]),
    "two empty data fields are one line feed": (b"data\ndata\n\n", [message("\n")]),
    "colons in the value stay": (b"data: a:b: c\n\n", [message("a:b: c")]),
    "field names are case-sensitive": (b"Data: x\nDATA: y\ndata: z\n\n", [message("z")]),
    "field names are not trimmed": (b" data: x\ndata : y\ndata: z\n\n", [message("z")]),
    "unknown fields are ignored": (b"foo: x\nbar\ndata: z\n\n", [message("z")]),
    "blank lines alone are nothing": (b"\n\n\n\ndata: x\n\n\n\n", [message("x")]),
    "comments are nothing": (b":\n: hello\n:data: x\ndata: y\n:\n\n", [message("y")]),
    "a comment inside data is no break": (b"data: a\n: c\ndata: b\n\n", [message("a\nb")]),
    "heartbeats after an id are no events": (
        b"id: 7\ndata: x\n\n: ping\n\n\n: ping\n\n",
        [message("x", "7")],
    ),
    "CRLF": (b"data: a\r\ndata: b\r\n\r\n", [message("a\nb")]),
    "CR": (b"data: a\rdata: b\r\r", [message("a\nb")]),
    "line ends mixed": (b"data: a\rdata: b\ndata: c\r\n\r\ndata: d\n\r", [message("a\nb\nc"), message("d")]),
    "LF CR is two ends": (b"data: a\n\rdata: b\n\n", [message("a"), message("b")]),
    "CR CR LF is two ends": (b"data: a\r\r\ndata: b\r\r\n", [message("a"), message("b")]),
    "a BOM at the start": (BOM + b"data: x\n\n", [message("x")]),
    "only one BOM is taken off": (BOM + BOM + b"data: x\n\ndata: y\n\n", [message("y")]),
    "a later BOM is data": (b"data: x\n\ndata: " + BOM + b"y\n\n", [message("x"), message("\ufeffy")]),
    "a BOM before a comment": (BOM + b": hi\ndata: x\n\n", [message("x")]),
    "half a BOM spoils the first name": (BOM[:2] + b"data: x\ndata: y\n\n", [message("y")]),
    "an id stays": (b"id: 1\ndata: a\n\ndata: b\n\n", [message("a", "1"), message("b", "1")]),
    "an id changes": (b"id: 1\ndata: a\n\nid: 2\ndata: b\n\n", [message("a", "1"), message("b", "2")]),
    "an empty id resets": (b"id: 1\ndata: a\n\nid\ndata: b\n\n", [message("a", "1"), message("b")]),
    "an id with NUL is ignored": (
        b"id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n",
        [message("a", "1"), message("b", "1")],
    ),
    "an id without data counts": (b"id: 1\n\ndata: b\n\n", [message("b", "1")]),
    "an id may be text": ("id: ☃ 1\ndata: a\n\n".encode(), [message("a", "☃ 1")]),
    "an event cut off by the end is dropped": (b"data: a\n\ndata: b\n", [message("a")]),
    "a line cut off by the end is dropped": (b"data: a\n\ndata: b", [message("a")]),
    "retry is no event": (b"retry: 10\n\n", []),
    "UTF-8 of every length": ("data: aÿ☃𝄞語\n\n".encode(), [message("aÿ☃𝄞語")]),
    "bad UTF-8 becomes U+FFFD": (
        b"data: a\xff\xe2\x98b\xc0\xaf\xed\xa0\x80\n\ndata: ok\n\n",
        [message("a\ufffd\ufffdb\ufffd\ufffd\ufffd\ufffd\ufffd"), message("ok")],
    ),
    "a sequence cut by a line end": (
        b"data: \xf0\x9d\x84\n\ndata: \x9e\n\n",
        [message("\ufffd"), message("\ufffd")],
    ),
    "other line separators are data": (
        "data: a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei\n\n".encode(),
        [message("a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\x1dh\x1ei")],
    ),
    "NUL is data": (b"data: a\0b\n\n", [message("a\0b")]),
    "a NUL in a field's name": (b"da\0ta: x\ndata: y\n\n", [message("y")]),
    "a long comment": (b":" + b"x" * 2100 + b"\ndata: y\n\n", [message("y")]),
    "nothing": (b"", []),
}


def pieces_of(stream: bytes) -> Iterator[list[bytes]]:
    """Yield the stream whole, byte by byte, and cut in two at every place (an empty piece among them)."""
    yield [stream]
    yield [stream[n : n + 1] for n in range(len(stream))]
    for cut in range(min(len(stream), 200) + 1):
        yield [stream[:cut], b"", stream[cut:]]


def parse(pieces: Iterable[bytes], parser: SSEParser | None = None) -> list[Frame]:
    parser = parser or SSEParser()
    return [frame for piece in pieces for frame in parser.feed(piece)]


@pytest.mark.parametrize("name", VECTORS)
def test_each_rule_holds_however_the_bytes_are_cut(name: str) -> None:
    stream, expected = VECTORS[name]
    for pieces in pieces_of(stream):
        assert parse(pieces) == expected, pieces


@pytest.mark.parametrize("name", VECTORS)
def test_the_reference_agrees_with_each_vector(name: str) -> None:
    stream, expected = VECTORS[name]
    assert Reference().interpret(stream) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"3000", 3000),
        (b"0", 0),
        (b"007", 7),
        (b"0" * 30 + b"9", 9),
        (b"9" * 20, MAX_RETRY_MS),
        (b"9" * 9999, MAX_RETRY_MS),
        (b"", None),
        (b"+5", None),
        (b"-5", None),
        (b" 7", None),
        (b"7 ", None),
        (b"1_0", None),
        (b"1.5", None),
        (b"0x10", None),
        ("٣".encode(), None),
    ],
)
def test_retry_is_ascii_digits_or_nothing(value: bytes, expected: int | None) -> None:
    parser = SSEParser()
    assert parse([b"retry: " + value + b"\n"], parser) == []
    assert parser.retry == expected


def test_a_bad_retry_leaves_the_good_one() -> None:
    parser = SSEParser()
    parse([b"retry:20\nretry: x\n"], parser)
    assert parser.retry == 20


def test_an_event_ended_by_carriage_returns_needs_no_further_byte() -> None:
    parser = SSEParser()
    assert parser.feed(b"data: x\r\r") == [message("x")]
    assert parser.feed(b"\n") == []  # the other half of CR LF is no blank line of its own
    assert parser.feed(b"data: y\r\n\r") == [message("y")]


def test_the_last_id_moves_at_the_blank_line_even_without_an_event() -> None:
    parser = SSEParser()
    parser.feed(b"id: 5\n")
    assert parser.last_event_id == ""
    parser.feed(b"\n")
    assert parser.last_event_id == "5"
    parser.feed(b"id: 6\ndata: cut o")
    assert parser.last_event_id == "5"


def test_the_last_id_of_the_connection_before_goes_on() -> None:
    parser = SSEParser(last_event_id="41")
    assert parser.feed(b"data: x\n\nid\ndata: y\n\n") == [message("x", "41"), message("y")]
    assert parser.last_event_id == ""


def test_comments_are_told_as_they_come() -> None:
    heard: list[str] = []
    parser = SSEParser(on_comment=heard.append)
    parse([b": keep", b"-alive\n\n:\n:\xff\r\n"], parser)
    assert heard == [" keep-alive", "", "\ufffd"]


LINES = st.sampled_from(
    [
        b"data",
        b"data:",
        b"data: ",
        b"event",
        b"event: go",
        b"id",
        b"id: 1",
        b"id: \0",
        b"retry: 5",
        b":",
        b": c",
        b"x: y",
    ]
)
SCRAPS = st.one_of(
    LINES,
    st.sampled_from(
        [b"\n", b"\r", b"\r\n", b"\n\n", b"\r\r", BOM, b" ", b":", b"\0", b"\xe2\x98\x83", b"\xe2\x80\xa8"]
    ),
    st.binary(max_size=4),
)
STREAMS = st.lists(SCRAPS, max_size=40).map(b"".join)


@settings(max_examples=400, deadline=None)
@given(stream=STREAMS, cuts=st.lists(st.integers(0, 200), max_size=8), known=st.sampled_from(["", "9"]))
def test_any_stream_in_any_pieces_equals_the_standard(stream: bytes, cuts: list[int], known: str) -> None:
    reference = Reference(known)
    heard: list[str] = []
    parser = SSEParser(known, on_comment=heard.append)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    pieces = [stream[a:b] for a, b in itertools.pairwise(places)]
    assert parse(pieces, parser) == reference.interpret(stream)
    assert heard == reference.comments
    assert parser.last_event_id == reference.last_event_id_string
    expected = reference.reconnection_time
    assert parser.retry == (None if expected is None else min(expected, MAX_RETRY_MS))


LIMIT = 1000


@pytest.mark.parametrize(
    "stream",
    [
        b"data: " + b"x" * 2000 + b"\n\n",
        b"x" * 2000,
        b": " + b"x" * 2000,
        b"data: x\n" * 600,
        b"data: xy\n" * 100,
        b"data\n" * 1100,
        b"data: " + b"x" * 900 + b"\ndata: " + b"x" * 900,
    ],
    ids=[
        "one line",
        "no line end",
        "a comment",
        "many lines",
        "short lines, which take more memory than bytes",
        "empty lines",
        "line by line",
    ],
)
@pytest.mark.parametrize("size", [1, 64, 100_000])
def test_an_event_over_the_limit_is_one_clear_error(stream: bytes, size: int) -> None:
    parser = SSEParser(max_event_bytes=LIMIT)
    with pytest.raises(ProtocolError, match="more than 1,000 bytes"):
        parse((stream[n : n + size] for n in range(0, len(stream), size)), parser)


def test_the_limit_is_for_one_event_and_not_for_the_stream() -> None:
    parser = SSEParser(max_event_bytes=LIMIT)
    stream = (b": " + b"c" * 900 + b"\ndata: " + b"x" * 900 + b"\n\n") * 20
    assert len(parse((stream[n : n + 7] for n in range(0, len(stream), 7)), parser)) == 20


def test_sixteen_megabytes_in_small_chunks_take_linear_time() -> None:
    data = b"x" * 16_000_000
    stream = b"data: " + data + b"\n\n"
    started = time.process_time()
    frames = parse(stream[n : n + 1024] for n in range(0, len(stream), 1024))
    assert len(frames[0].data) == len(data)
    assert time.process_time() - started < 5  # quadratic takes minutes


@pytest.mark.parametrize(
    "stream", [b"data: x\n\n" * 80_000, b"data: x\n" * 80_000 + b"\n"], ids=["events", "lines"]
)
def test_eighty_thousand_pieces_in_one_chunk_take_linear_time(stream: bytes) -> None:
    started = time.process_time()
    frames = parse([stream])
    assert sum(len(frame.data.split("\n")) for frame in frames) == 80_000
    assert time.process_time() - started < 5
