"""The addresses of an agent socket, and what is tried where one does not answer."""

from __future__ import annotations

import pytest

from agent_tui.clients.agents.socket import socket_urls
from agent_tui.model.errors import ConfigError


@pytest.mark.parametrize(
    ("base", "chat", "url"),
    [
        ("http://h:1/", "0", "ws://h:1/v1/agent_ws/0/"),
        ("http://h:1", "0", "ws://h:1/v1/agent_ws/0/"),
        ("https://h/agents/", "7", "wss://h/agents/v1/agent_ws/7/"),
        ("https://h/agents", "7", "wss://h/v1/agent_ws/7/"),  # as urljoin does: the last part is lost
        ("ws://h:1/a/b?token=1#x", "0", "ws://h:1/a/v1/agent_ws/0/"),
        ("wss://h/", "a/../b ?", "wss://h/v1/agent_ws/a%2F..%2Fb%20%3F/"),
    ],
)
def test_the_address_of_a_chat_is_joined_as_urljoin_does(base: str, chat: str, url: str) -> None:
    assert socket_urls(base, chat)[0] == url


def test_the_fixed_address_of_an_older_server_is_used_as_given() -> None:
    assert socket_urls("http://h:1/old/ws?v=2", "3", "") == ("ws://h:1/old/ws?v=2",)
    assert socket_urls("http://h:1/old/ws?v=2")[1] == "ws://h:1/old/ws?v=2"


def test_a_path_of_ones_own_and_the_announcement_of_client_tools() -> None:
    assert socket_urls("http://h/", "3", "chats/{chat_id}")[0] == "ws://h/chats/3"
    assert socket_urls("http://h/", client_tools=True) == (
        "ws://h/v1/agent_ws/0/?client_tools=1",
        "ws://h/",
    )
    assert socket_urls("http://h/", "3", "c?id={chat_id}", client_tools=True)[0].endswith(
        "?id=3&client_tools=1"
    )


@pytest.mark.parametrize("base", ["", "h:1", "ftp://h/", "http://", "ws://me:secret@h/"])
def test_what_is_no_address_is_a_mistake_in_the_configuration(base: str) -> None:
    with pytest.raises(ConfigError) as raised:
        socket_urls(base)
    assert "secret" not in str(raised.value)
