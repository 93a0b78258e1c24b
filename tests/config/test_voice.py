"""``[voice]`` and ``[voice.agent]`` of the config file, LiveKit's variables, and which of them counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_tui.config.file import Config, load, read_table
from agent_tui.config.voice import LiveKit, VoiceAgentConfig, VoiceConfig, named_livekit
from agent_tui.model.errors import ConfigError
from agent_tui.redaction import HIDDEN, hide_secrets, redacted

GOOD = """
[voice]
url = "wss://voice.example.org"
key_env = "VOICE_KEY"
secret_env = "VOICE_SECRET"
token_url = "https://voice.example.org/token"
room = "den"
input = "USB Audio"
output = "Headphones"
locale = "de"
[voice.agent]
name = "inbound"
stt = "deepgram:nova-3"
llm = "openai:gpt-x"
tts = "cartesia:sonic-3"
hearing = "small"
voice = "de_DE-x"
turn_detection = "vad"
end_of_turn = 1
pass_env = ["MY_PROXY_LOGIN"]
"""
KEYS = {"LIVEKIT_API_KEY": "k", "LIVEKIT_API_SECRET": "s"}
FILE = VoiceConfig(url="wss://file", key_env="FILE_KEY", secret_env="FILE_SECRET")
FILE_KEYS = {"FILE_KEY": "fk", "FILE_SECRET": "fs"}


def read(tmp_path: Path, text: str, mode: int = 0o600) -> Config:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
    return load(path)


def test_voice_is_read_whole(tmp_path: Path) -> None:
    config = read(tmp_path, GOOD)
    assert config.voice == VoiceConfig(
        url="wss://voice.example.org",
        key_env="VOICE_KEY",
        secret_env="VOICE_SECRET",
        token_url="https://voice.example.org/token",
        room="den",
        input="USB Audio",
        output="Headphones",
        locale="de",
        agent=VoiceAgentConfig(
            name="inbound",
            stt="deepgram:nova-3",
            llm="openai:gpt-x",
            tts="cartesia:sonic-3",
            hearing="small",
            voice="de_DE-x",
            turn_detection="vad",
            end_of_turn=1,
            pass_env=("MY_PROXY_LOGIN",),
        ),
    )
    assert config.warnings == ()
    assert read(tmp_path, "").voice == VoiceConfig()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("[voice]\nurl = 1", "voice.url"),
        ('[voice]\nurl = "voice.example.org"', "voice.url"),
        ('[voice]\ntoken_url = "wss://voice.example.org"', "voice.token_url"),
        ('[voice]\nkey_env = "no name"', "voice.key_env"),
        ('[voice]\nsecret_env = "1X"', "voice.secret_env"),
        (f'[voice]\nroom = "{"x" * 101}"', "voice.room"),
        ("[voice]\nagent = 1", "voice.agent"),
        ('[voice.agent]\nstt = "Not a plugin:x"', "voice.agent.stt"),
        ('[voice.agent]\nturn_detection = "guess"', "voice.agent.turn_detection"),
        ("[voice.agent]\nend_of_turn = 0.1", "voice.agent.end_of_turn"),
        ("[voice.agent]\nend_of_turn = true", "voice.agent.end_of_turn"),
        ("[voice.agent]\nend_of_turn = nan", "voice.agent.end_of_turn"),
        ('[voice.agent]\npass_env = "A"', "voice.agent.pass_env"),
        ('[voice.agent]\npass_env = ["a b"]', "voice.agent.pass_env"),
    ],
)
def test_what_is_wrong_is_named_with_its_key(tmp_path: Path, text: str, named: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert caught.value.title.endswith(f": {named}")


def test_unknown_settings_and_secrets_others_can_read_are_warned_about(tmp_path: Path) -> None:
    text = '[voice]\nkey = "APIx"\nsecret = "hush-hush"\nvolume = 3\n[voice.agent]\nmood = "good"\n'
    warnings = read(tmp_path, text, mode=0o644).warnings
    assert "voice.volume: unknown setting, ignored" in warnings
    assert "voice.agent.mood: unknown setting, ignored" in warnings
    assert any("holds a secret" in warning for warning in warnings)
    assert not any("holds a secret" in warning for warning in read(tmp_path, GOOD, mode=0o644).warnings)
    shown = hide_secrets(read_table(tmp_path / "config.toml"))
    assert "secret_env" in shown["voice"]
    read(tmp_path, text)
    voice = hide_secrets(read_table(tmp_path / "config.toml"))["voice"]
    assert (voice["key"], voice["secret"]) == (HIDDEN, HIDDEN)
    assert "hush-hush" not in repr(read(tmp_path, text))


def test_nobody_names_a_server_so_the_backend_is_asked() -> None:
    assert named_livekit(VoiceConfig(), environ={}) is None
    assert named_livekit(VoiceConfig(), environ=KEYS) is None
    ours = {"AGENT_TUI_URL": "http://127.0.0.1:1", "AGENT_TUI_TOKEN": "t"}
    assert named_livekit(VoiceConfig(), environ=ours) is None  # they name a backend of ours


def test_the_command_line_counts_before_the_variables_and_they_before_the_file() -> None:
    variables = {**KEYS, **FILE_KEYS, "LIVEKIT_URL": "wss://variable"}
    assert named_livekit(FILE, environ=FILE_KEYS) == LiveKit("wss://file", key="fk", secret="fs")
    assert named_livekit(FILE, environ=variables) == LiveKit("wss://variable", key="k", secret="s")
    assert named_livekit(FILE, url="wss://line", environ=variables) == LiveKit(
        "wss://line", key="k", secret="s"
    )
    with_token = {**variables, "LIVEKIT_TOKEN": "tv"}
    assert named_livekit(FILE, environ=with_token) == LiveKit("wss://variable", token="tv")
    assert named_livekit(FILE, token="tl", environ=with_token) == LiveKit("wss://variable", token="tl")
    assert named_livekit(FILE, url="ws://line", environ=FILE_KEYS) == LiveKit(
        "ws://line", key="fk", secret="fs"
    )


def test_a_token_endpoint_of_the_file_counts_unless_something_above_the_file_names_a_way() -> None:
    file = VoiceConfig(token_url="https://file/token")
    assert named_livekit(file, environ={}) == LiveKit(token_url="https://file/token")
    variables = {**KEYS, "LIVEKIT_URL": "wss://variable"}
    assert named_livekit(file, environ=variables) == LiveKit("wss://variable", key="k", secret="s")
    both = VoiceConfig(url="wss://file", token_url="https://file/token", key="k", secret="s")
    assert named_livekit(both, environ={}) == LiveKit("wss://file", token_url="https://file/token")


def test_the_key_and_the_secret_of_the_file_count_where_their_variables_are_not_set() -> None:
    file = VoiceConfig(url="wss://file", key="k", secret="s", key_env="FILE_KEY", secret_env="FILE_SECRET")
    assert named_livekit(file, environ={}) == LiveKit("wss://file", key="k", secret="s")
    assert named_livekit(file, environ=FILE_KEYS) == LiveKit("wss://file", key="fk", secret="fs")


@pytest.mark.parametrize(
    ("voice", "given", "environ", "named"),
    [
        (VoiceConfig(), {"token": "t"}, {}, "address"),
        (VoiceConfig(), {}, {"LIVEKIT_TOKEN": "t"}, "address"),
        (VoiceConfig(), {"url": "wss://line"}, {}, "--url"),
        (VoiceConfig(), {}, {"LIVEKIT_URL": "wss://variable"}, "LIVEKIT_URL"),
        (FILE, {}, {"FILE_KEY": "only"}, "[voice] url"),
        (VoiceConfig(), {"url": "line:7880"}, KEYS, "--url"),
    ],
)
def test_a_server_without_a_way_to_a_token_is_refused_by_name(
    voice: VoiceConfig, given: dict[str, str], environ: dict[str, str], named: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        named_livekit(voice, **given, environ=environ)
    assert named in caught.value.title


def test_the_agent_gets_the_variables_of_the_plugins_it_uses_and_no_others() -> None:
    agent = VoiceAgentConfig(stt="deepgram:nova-3", tts="elevenlabs:x", llm="offline", pass_env=("EXTRA",))
    passed = ["DEEPGRAM_API_KEY", "ELEVEN_API_KEY", "EXTRA"]
    kept = ["OPENAI_API_KEY", "LIVEKIT_API_SECRET", "OFFLINE_KEY", "EXTRA_MORE", "AWS_SECRET_ACCESS_KEY"]
    assert [name for name in (*passed, *kept) if agent.passes(name)] == passed
    assert not any(VoiceAgentConfig().passes(name) for name in (*passed, *kept))


def test_an_agent_service_gets_its_own_variable_and_no_other() -> None:
    agent = VoiceAgentConfig(llm="tasks:http://127.0.0.1:3002")
    assert agent.passes("AGENT_SERVICE_AUTHORIZATION")
    assert not agent.passes("TASKS_KEY")


def test_signed_tokens_are_cut_out_of_every_text() -> None:
    token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4ifQ.c2lnbmF0dXJl"
    assert redacted(f"401 - invalid token: {token}") == f"401 - invalid token: {HIDDEN}"
    assert redacted(f"wss://h/rtc?access_token={token}&x=1").count(HIDDEN) >= 1
    assert token not in redacted(f"wss://h/rtc?access_token={token}&x=1")
    assert redacted(token[:30]) == HIDDEN
    assert redacted("the eyJ of it") == "the eyJ of it"


def test_the_values_behind_an_address_are_hidden_and_the_name_of_a_place_in_it_is_not() -> None:
    shown = redacted("https://h/?a=geheim#token=geheim&more=geheim and https://h/doc#limits")
    assert shown == f"https://h/?a={HIDDEN}#token={HIDDEN}&more={HIDDEN} and https://h/doc#limits"
