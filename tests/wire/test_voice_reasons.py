"""Every way a voice session ends or does not begin has a word, a line, a way out, and no token."""

from __future__ import annotations

import pytest
from livekit import rtc

from agent_tui.wire import voice_reasons as why

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2ln"


def test_every_number_that_livekit_has_is_explained() -> None:
    words = set()
    for number in rtc.DisconnectReason.values():
        reason = why.of_disconnect(number)
        assert reason.word != "unknown"
        assert reason.line.endswith(".")
        words.add(reason.word)
    assert len(words) == len(rtc.DisconnectReason.values())
    assert "99" in why.of_disconnect(99).line


def test_only_what_a_new_try_can_mend_is_tried_again() -> None:
    numbers = [number for number in rtc.DisconnectReason.values() if why.of_disconnect(number).is_retryable]
    assert numbers == [0, 3, 9, 14, 15]


@pytest.mark.parametrize(
    ("text", "word", "is_retryable"),
    [
        ("signal failure: IO error: Connection refused (os error 111)", "refused", True),
        (f"401 Unauthorized - invalid token: {TOKEN}, error: go-jose: signature", "token_refused", False),
        ("401 Unauthorized - invalid API key: APIxyz", "unknown_key", False),
        ("401 Unauthorized - invalid authorization token", "bad_token", False),
        ("401 Unauthorized - permissions denied", "no_permission", False),
        ("signal failure: handshake error: 500 Internal Server Error", "room_full", False),
        ("503 Service Unavailable - node has exceeded its configured limit", "server_full", False),
        ("404 Not Found - requested room does not exist", "no_room", False),
        ("wait_pc_connection timed out", "no_media", True),
        ("failed to lookup address information: Name or service not known", "no_such_host", True),
        ("503 Service Unavailable", "not_ready", True),
        ("signal failure: timed out", "timed_out", True),
    ],
)
def test_each_error_of_connecting_is_told_apart(text: str, word: str, is_retryable: bool) -> None:
    reason = why.of_connect_error(text)
    assert (reason.word, reason.is_retryable) == (word, is_retryable)
    assert reason.line
    assert reason.advice


def test_a_token_whose_time_is_over_is_told_from_one_with_a_wrong_secret() -> None:
    said = f"401 Unauthorized - invalid token: {TOKEN}"
    assert why.of_connect_error(said, is_expired=True).word == "token_expired"
    assert why.of_connect_error("401 … invalid API key: K", is_expired=True).word == "unknown_key"


def test_an_error_that_nobody_knows_is_quoted_without_its_token_and_without_control_characters() -> None:
    reason = why.of_connect_error(f"something \x1b[31m new with {TOKEN} in it")
    assert reason.word == "connect_failed"
    assert "something" in reason.advice
    assert "eyJ" not in reason.detail
    assert "\x1b" not in reason.detail


def test_a_detail_is_one_line() -> None:
    assert why.AGENT_ABSENT.detail == (
        "The agent did not join the room. Check that one is running for this server."
    )
    assert why.LEFT.detail == "You left the voice room."
