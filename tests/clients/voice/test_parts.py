"""Parts of the voice clients that need no server: mixing, the recording before the join, the native log."""

from __future__ import annotations

import asyncio
import logging
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from livekit.protocol.agent_pb import agent_session as pb

from agent_tui.clients.voice.microphone import Microphone
from agent_tui.clients.voice.native_log import keep_native_log
from agent_tui.clients.voice.playback import mixed
from agent_tui.clients.voice.requests import SessionRequests
from agent_tui.clients.voice.room import RoomClient
from agent_tui.clients.voice.tokens import Ticket
from agent_tui.model.errors import (
    AgentTuiError,
    ConnectFailed,
    ProtocolError,
    Refused,
    StreamLost,
    TimedOut,
    TransportError,
    Unauthorized,
)
from agent_tui.network import has_interface
from tests.clients.voice.following import following
from tests.fakes.voice.sound import FedSound
from tests.fakes.voice.tones import phrase_of

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSJ9.c2ln"
_SAMPLES = st.lists(st.integers(-32768, 32767), min_size=1, max_size=20)


def sound(*samples: int) -> bytes:
    return np.array(samples, np.int16).tobytes()


@given(_SAMPLES, st.lists(_SAMPLES, max_size=3))
def test_mixed_sound_is_as_long_as_the_first_and_never_wraps_around(
    first: list[int], others: list[list[int]]
) -> None:
    total = np.frombuffer(mixed(sound(*first), [sound(*other) for other in others]), np.int16)
    assert len(total) == len(first)
    for at, sample in enumerate(first):
        added = sample + sum(other[at] for other in others if at < len(other))
        assert total[at] == max(-32768, min(32767, added))


async def test_what_is_said_while_joining_is_kept_and_what_is_said_muted_is_not() -> None:
    microphone = FedSound()
    mic = Microphone(microphone)
    reading = asyncio.create_task(mic.run())
    await microphone.say("who are you", 0.2)
    mic.is_muted = True
    await microphone.say("stop talking", 0.2)
    mic.is_muted = False
    mic.stop_recording()
    await microphone.say("what time is it", 0.2)
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    early = mic.take_early()
    assert phrase_of(early, 48_000) == "who are you"
    assert len(early) < 96_000 * 0.3
    assert mic.take_early() == bytes(960)  # an agent that was promised a recording gets one


@pytest.fixture
def native_log(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / "voice.log"
    keep_native_log(path)
    return path


def test_the_native_log_goes_to_a_file_of_its_owner_without_tokens(
    native_log: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    logging.getLogger("livekit").warning("connecting to ws://h?access_token=%s&x=1", TOKEN)
    try:
        raise ValueError(f"words and {TOKEN}")
    except ValueError:
        logging.getLogger("livekit").exception("failed with %s", TOKEN)
    text = native_log.read_text()
    assert "connecting to" in text
    assert "eyJ" not in text
    assert "words and" not in text
    assert native_log.stat().st_mode & 0o777 == 0o600
    assert capfd.readouterr() == ("", "")


def test_what_the_library_logs_with_the_root_logger_has_no_tokens_either(
    native_log: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    logging.error("error running user callback for %s", TOKEN)
    assert TOKEN not in caplog.text
    assert capfd.readouterr() == ("", "")


def test_a_log_that_cannot_be_written_is_left_out(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    keep_native_log(tmp_path / "file" / "voice.log")
    logging.getLogger("livekit").warning("something")
    assert capfd.readouterr() == ("", "")


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare")
def test_a_machine_with_loopback_only_is_told_from_others() -> None:
    code = "from agent_tui.network import has_interface; print(has_interface())"
    alone = subprocess.run(
        ["unshare", "-rn", sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False
    )
    if alone.returncode:
        pytest.skip(f"no network namespace can be made here: {alone.stderr.strip()}")
    assert alone.stdout == "False\n"
    assert isinstance(has_interface(), bool)


async def test_requests_get_their_own_answers_and_fail_in_time() -> None:
    sent: list[pb.AgentSessionMessage] = []

    async def send(message: pb.AgentSessionMessage) -> None:
        sent.append(message)
        if message.request.WhichOneof("request") == "run_input":
            requests.answered(
                pb.SessionResponse(request_id=message.request.request_id, error="no \x1b model")
            )
        if message.request.WhichOneof("request") == "get_session_state":
            requests.close()

    requests = SessionRequests(send)
    requests.answered(pb.SessionResponse(request_id="late"))
    with pytest.raises(TimedOut):
        await requests.ask("ping", 0.01)
    with pytest.raises(Refused, match="no ␛ model"):
        await requests.run_input("hello", 5.0)
    with pytest.raises(StreamLost):
        await requests.ask("get_session_state", 5.0)
    assert len({message.request.request_id for message in sent}) == 3


ADVICE = ("There is no token", "Run voice setup.")
TOLD = "There is no token. Run voice setup."


class NoToken:
    """Gives no token, and says why."""

    def __init__(self, error: AgentTuiError) -> None:
        self._error = error

    async def ticket(self) -> Ticket:
        raise self._error

    async def call_agent(self) -> bool:
        raise AssertionError

    async def aclose(self) -> None:
        raise AssertionError


@pytest.mark.skipif(not has_interface(), reason="without one no token is asked for")
@pytest.mark.parametrize(
    ("error", "word", "told"),
    [
        (Refused(*ADVICE, code="voice.no_server"), "voice.no_server", TOLD),
        (Unauthorized(*ADVICE, status=401), "no_token", TOLD),
        (ConnectFailed(*ADVICE), "unreachable", TOLD),
        (TransportError(*ADVICE), "endpoint_failed", TOLD),
        # Without a detail it has no full stop: other languages know the title alone.
        (
            ProtocolError("the server's answer is not a token"),
            "endpoint_failed",
            "the server's answer is not a token",
        ),
    ],
)
async def test_a_token_source_without_a_token_hands_on_why(
    error: AgentTuiError, word: str, told: str
) -> None:
    async with following(RoomClient(NoToken(error), FedSound())) as session:
        failed = await session.link("failed")
        assert (failed.reason, failed.detail) == (word, told)
