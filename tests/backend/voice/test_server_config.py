"""What a livekit-server of ours is told, and what an agent may say."""

from __future__ import annotations

import pytest

from agent_tui.backend.voice.agent import state_in
from agent_tui.backend.voice.server import free_ports, is_old, server_config


def test_a_server_is_told_to_be_on_this_machine_alone() -> None:
    config = server_config(1, 2, "hush")
    assert (config["port"], config["bind_addresses"]) == (1, ["127.0.0.1"])
    assert config["rtc"] == {
        "tcp_port": 0,  # else media would listen on every interface
        "udp_port": 2,
        "ips": {"includes": ["127.0.0.1/32"]},
        "node_ip": "127.0.0.1",
        "use_external_ip": False,
        "stun_servers": ["127.0.0.1:9"],  # else clients would be sent to public ones
        "enable_loopback_candidate": True,
    }
    assert config["keys"] == {"agent-tui": "hush"}


def test_free_ports_are_different_each_time() -> None:
    assert len({free_ports() for _ in range(5)}) > 1


@pytest.mark.parametrize(
    ("line", "state", "detail"),
    [
        ('{"state": "warm"}', "warm", ""),
        ('{"state": "failed", "detail": "no model"}', "failed", "no model"),
        ('{"state": 1, "detail": []}', "", ""),
        ("[]", "", ""),
        ("", "", ""),
        ("INFO starting", "", ""),
        ("[" * 100_000, "", ""),
    ],
)
def test_a_line_of_the_agent_is_a_state_or_nothing(line: str, state: str, detail: str) -> None:
    assert state_in(line) == (state, detail)


@pytest.mark.parametrize(
    ("version", "old"),
    [("1.13.5", False), ("1.12.0", False), ("1.11.9", True), ("0.99", True), ("2", False), ("", False)],
)
def test_servers_before_1_12_are_old(version: str, old: bool) -> None:
    assert is_old(version) is old
