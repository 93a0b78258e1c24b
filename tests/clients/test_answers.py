from __future__ import annotations

import json

import pytest

from agent_tui.clients.answers import first_line, parse_json, refusal, unexpected
from agent_tui.model.errors import (
    AgentTuiError,
    ConnectFailed,
    NotFound,
    NotOffered,
    Refused,
    TransportError,
    Unauthorized,
)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, Refused),
        (401, Unauthorized),
        (403, Unauthorized),
        (404, NotFound),
        (405, NotOffered),
        (407, ConnectFailed),
        (408, TransportError),
        (409, Refused),
        (410, Refused),
        (418, Refused),
        (422, Refused),
        (423, Refused),
        (425, TransportError),
        (429, TransportError),
        (500, TransportError),
        (501, NotOffered),
        (502, TransportError),
        (503, TransportError),
        (504, TransportError),
        (599, TransportError),
    ],
)
def test_each_status_means_one_error(status: int, kind: type[AgentTuiError]) -> None:
    error = refusal(status, {}, b"")
    assert type(error) is kind
    assert error.title
    if isinstance(error, Refused):
        assert error.status == status
    if isinstance(error, TransportError):
        assert error.retryable == (status != 407)


@pytest.mark.parametrize(
    ("body", "title", "detail"),
    [
        (
            {"title": "Room is done", "detail": "It cannot be resumed."},
            "Room is done",
            "It cannot be resumed.",
        ),
        ({"detail": "Not Found"}, "Not Found", ""),
        ({"error": "no such thing"}, "no such thing", ""),
        ({"error": {"message": "too late", "code": 7}}, "too late", ""),
        ({"message": "no", "detail": "because"}, "no", "because"),
        ({"error": "Bad Request", "message": "no prompt", "statusCode": 400}, "Bad Request", "no prompt"),
        ({"error": "no", "message": "no"}, "no", ""),
        ({"title": 5, "detail": [{"loc": 1}]}, "the server refused that (409)", ""),
        (
            {
                "detail": [
                    {"type": "missing", "loc": ["body", "content"], "msg": "Field required"},
                    {"loc": 1, "msg": "Value error"},
                    {"msg": None},
                    "text",
                ]
            },
            "content: Field required; Value error",
            "",
        ),
        (["a list"], "the server refused that (409)", '["a list"]'),
    ],
)
def test_the_servers_own_words_are_used(body: object, title: str, detail: str) -> None:
    error = refusal(409, {}, json.dumps(body).encode())
    assert (error.title, error.detail) == (title, detail)


def test_what_a_server_did_not_find_is_said_to_be_so_where_it_gives_no_reason() -> None:
    assert str(refusal(404, {}, b"")) == "the server did not find that (404)"
    assert str(refusal(404, {}, b'{"title": "There is no room x"}')) == "There is no room x"


def test_a_page_instead_of_json_is_quoted_with_its_first_line() -> None:
    error = refusal(503, {}, b"\n\n  <html>Bad gateway</html>\n more")
    assert error.detail == "<html>Bad gateway</html>"


def test_hostile_words_are_inert_and_short() -> None:
    body = json.dumps(
        {"title": "a\x1b]52;c;x\x07\nb\u202e" + "x" * 9999, "detail": "y\x9b2J" * 9999}
    ).encode()
    error = refusal(409, {}, body)
    assert len(error.title) <= 200
    assert len(error.detail) <= 400
    assert not set("\x1b\x07\n\u202e\x9b") & set(str(error))


def test_retry_after_goes_by_the_servers_own_clock() -> None:
    headers = {"date": "Sun, 01 Mar 2020 12:00:00 GMT", "retry-after": "Sun, 01 Mar 2020 12:00:09 GMT"}
    error = refusal(503, headers, b"")
    assert isinstance(error, TransportError)
    assert error.retry_after == 9


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3),
        ({"retry-after": "x"}, None),
        ({"date": "x", "retry-after": "3"}, 3),
    ],
)
def test_retry_after_is_read_where_it_makes_sense(headers: dict[str, str], expected: float | None) -> None:
    error = refusal(429, headers, b"")
    assert isinstance(error, TransportError)
    assert error.retry_after == expected


def test_an_unexpected_answer_shows_status_type_and_first_line() -> None:
    error = unexpected(200, "text/html; charset=x", b"<html>\x1b[2J Sign in\n</html>", "an event stream")
    assert error.title == "the server's answer is not an event stream"
    assert error.detail == "HTTP 200, text/html: <html>\u241b[2J Sign in"
    assert unexpected(200, "", b"", "JSON").detail == "HTTP 200, no content type: nothing"


@pytest.mark.parametrize("body", [b"", b"{", b"[" * 100_000, b"\xff", b"1" * 5000, b"nul"])
def test_what_is_not_json_is_a_value_error(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(body)


def test_the_first_line_of_anything_is_one_harmless_line() -> None:
    assert first_line(b"\xff\xfe\r\n") == "\ufffd\ufffd"
    assert first_line(b"\n \t\n\x00x") == "\u2400x"
