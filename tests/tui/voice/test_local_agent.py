"""Which session ``l`` (a local agent) opens: what our backend is told of somebody else's server."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui import __version__
from agent_tui.model.errors import Refused
from agent_tui.voice_parts import STAMP_FILE, voice_folder
from tests.fakes.servers.http_server import FakeServer, answers_json
from tui.request import Server
from tui.runtime import Endpoint, Starting
from tui.voice.opening import VoiceOpening
from tui.voice.request import VoiceRequest
from tui.voice.session import VoiceSession

TOKEN_PATH = "/api/voice/token"
CONVERSATIONS_PATH = "/api/conversations"
SECRET = "a-secret-of-somebody-elses-server"
KEYS = {"LIVEKIT_API_KEY": "key", "LIVEKIT_API_SECRET": SECRET}
LOCAL = VoiceRequest(room="den", text_only=True, url="wss://voice.example.org", local_agent=True)
TICKET = {
    "server_url": "wss://voice.example.org",
    "participant_token": "token",
    "conversation_id": "c1",
    "agent_identity": "agent-den-1",
    "owner": True,
}


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path))
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(tmp_path / "config.toml"))


class OwnBackend(Starting):
    """A backend that this program has started at ``url``."""

    def __init__(self, url: str) -> None:
        self.url = url

    def wait(self, tell: Callable[[str], object] = lambda line: None) -> Endpoint:
        return Endpoint(self.url, "token", "", 0)


async def opened(request: VoiceRequest, url: str, *, is_own: bool = False) -> VoiceSession:
    opening = VoiceOpening(OwnBackend(url) if is_own else Server(url))
    try:
        session = await opening.open(request, lambda _: None)
        await session.aclose()
        return session
    finally:
        await opening.aclose()


def write_agent_python(data: Path) -> None:
    folder = voice_folder(data) / "env"
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    (folder / STAMP_FILE).write_text(__version__)


async def test_without_it_a_given_token_says_which_room_is_joined() -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbGljZSIsInZpZGVvIjp7InJvb20iOiJkZW1vIn19.c2ln"
    session = await opened(replace(LOCAL, local_agent=False, token=token), "http://127.0.0.1:9")
    assert session.room == "demo"


async def test_with_its_key_and_secret_our_agent_is_sent_into_the_room_on_that_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    async with FakeServer() as backend:
        backend.on("POST", TOKEN_PATH, answers_json(TICKET))
        session = await opened(LOCAL, backend.url)
        (asked,) = backend.asked("POST", TOKEN_PATH)
        fields = json.loads(asked.body)
        assert fields["livekit"] == {"url": "wss://voice.example.org", "key": "key", "secret": SECRET}
        assert fields["room_name"] == "den"
        assert (session.conversation_id, session.is_owner) == ("c1", True)
        assert "voice.example.org" in session.place
        assert SECRET not in repr(session)
        await opened(replace(LOCAL, local_agent=False), backend.url)  # as long as theirs may come
        assert len(backend.asked("POST", TOKEN_PATH)) == 1


async def test_the_backend_is_told_the_language_of_this_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "ru_RU.UTF-8")
    async with FakeServer() as backend:
        backend.on("POST", TOKEN_PATH, answers_json(TICKET))
        await opened(VoiceRequest(room="den", text_only=True), backend.url)
        (asked,) = backend.asked("POST", TOKEN_PATH)
    assert json.loads(asked.body)["locale"] == "ru_RU.UTF-8"


@pytest.mark.parametrize("is_own", [True, False])
async def test_the_tools_of_a_new_session_work_in_the_programs_folder_if_the_backend_is_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_own: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    write_agent_python(tmp_path)
    folder = str(tmp_path) if is_own else None
    async with FakeServer() as backend:
        no_server = answers_json({"error": "no server", "code": "voice.no_server"}, 409)
        backend.on("POST", TOKEN_PATH, answers_json(TICKET), no_server)
        backend.on("POST", CONVERSATIONS_PATH, answers_json({"id": "c1", "kind": "voice"}))
        backend.on("GET", f"{CONVERSATIONS_PATH}/c1/messages", answers_json({"messages": []}))
        for _ in range(2):  # in a room, and without a server
            await opened(VoiceRequest(room="den", text_only=True), backend.url, is_own=is_own)
        asked = [*backend.asked("POST", TOKEN_PATH), *backend.asked("POST", CONVERSATIONS_PATH)]
    assert [json.loads(request.body).get("workspace") for request in asked] == [folder] * 3


async def test_a_session_that_begins_again_in_its_room_goes_on_with_its_conversation() -> None:
    async with FakeServer() as backend:
        backend.on("POST", TOKEN_PATH, answers_json(TICKET))
        opening = VoiceOpening(Server(backend.url))
        for _ in range(2):
            session = await opening.open(VoiceRequest(room="den", text_only=True), lambda _: None)
            await session.aclose()
        await opening.aclose()
        first, again = (json.loads(request.body) for request in backend.asked("POST", TOKEN_PATH))
    assert again == {**first, "conversation_id": "c1"}


async def test_with_a_token_alone_it_is_a_room_of_this_machine() -> None:
    async with FakeServer() as backend:
        backend.on("POST", TOKEN_PATH, answers_json({**TICKET, "server_url": "ws://127.0.0.1:7880"}))
        await opened(replace(LOCAL, token="a-token"), backend.url)
        (asked,) = backend.asked("POST", TOKEN_PATH)
        assert "livekit" not in json.loads(asked.body)


@pytest.mark.parametrize("messages", [[], [{"id": "m", "role": "user", "content": "Hello"}]])
async def test_without_a_server_a_session_in_which_nothing_was_said_leaves_no_conversation(
    tmp_path: Path, messages: list[dict[str, str]]
) -> None:
    write_agent_python(tmp_path)
    async with FakeServer() as backend:
        no_server = {"error": "no server", "code": "voice.no_server"}
        backend.on("POST", TOKEN_PATH, answers_json(no_server, 409))
        backend.on("POST", CONVERSATIONS_PATH, answers_json({"id": "c1", "kind": "voice"}))
        backend.on("GET", f"{CONVERSATIONS_PATH}/c1/messages", answers_json({"messages": messages}))
        backend.on("DELETE", f"{CONVERSATIONS_PATH}/c1", answers_json({}))
        session = await opened(VoiceRequest(room="den", text_only=True), backend.url)
        assert session.conversation_id == "c1"
        assert len(backend.asked("DELETE", f"{CONVERSATIONS_PATH}/c1")) == (0 if messages else 1)


async def test_a_backend_on_another_machine_is_not_told_the_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(Refused, match="Only a backend on this machine"):
        await opened(LOCAL, "http://192.0.2.1:1")
