from __future__ import annotations

import pytest

from agent_tui.clients.paths import ROOM_PATHS, Paths
from agent_tui.model.errors import ConfigError, NotFound


@pytest.mark.parametrize(
    ("room_id", "path"),
    [
        ("r1", "/api/rooms/r1/run"),
        ("a/b ?#%", "/api/rooms/a%2Fb%20%3F%23%25/run"),
        ("..", "/api/rooms/%2E%2E/run"),
        (".", "/api/rooms/%2E/run"),
        ("a..b", "/api/rooms/a..b/run"),
        ("会话", "/api/rooms/%E4%BC%9A%E8%AF%9D/run"),
        ("\ud800\n", "/api/rooms/%3F%0A/run"),
        ("{id}", "/api/rooms/%7Bid%7D/run"),
    ],
)
def test_ids_are_encoded_into_the_path(room_id: str, path: str) -> None:
    assert Paths(ROOM_PATHS, {}).of("run", room_id) == path


def test_a_path_may_lie_elsewhere() -> None:
    paths = Paths(ROOM_PATHS, {"run": "/v2/room-runs/{id}/stream?x=1", "rooms": "/v2/rooms"})
    assert paths.of("run", "a b") == "/v2/room-runs/a%20b/stream?x=1"
    assert paths.of("rooms") == "/v2/rooms"
    assert paths.of("room", "r") == "/api/rooms/r"


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        ({"runs": "/x/{id}"}, "paths.runs is not a path we use"),
        ({"run": "x/{id}"}, "paths.run must begin with /"),
        ({"run": "http://elsewhere.test/{id}"}, "paths.run must begin with /"),
        ({"run": "/x"}, "paths.run must have {id} for the room's id"),
        ({"queued": "/x/{id}"}, "paths.queued must have {message_id} for the message's id"),
    ],
)
def test_an_unusable_path_is_one_line(paths: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Paths(ROOM_PATHS, paths)
    assert words in str(caught.value)


@pytest.mark.parametrize(("name", "ids"), [("room", ("",)), ("stop", ("r", "")), ("queued", ("", "m"))])
def test_an_empty_id_names_no_other_call(name: str, ids: tuple[str, ...]) -> None:
    with pytest.raises(NotFound):
        Paths(ROOM_PATHS, {}).of(name, *ids)


def test_each_id_goes_to_its_own_place() -> None:
    assert (
        Paths(ROOM_PATHS, {}).of("stop", "{agent_id}", "a/b") == "/api/rooms/%7Bagent_id%7D/agents/a%2Fb/stop"
    )
    moved = Paths(ROOM_PATHS, {"queued": "/q/{message_id}/of/{id}"})
    assert moved.of("queued", "r", "m") == "/q/m/of/r"
    assert [moved.places(name) for name in ("rooms", "room", "queued")] == [0, 1, 2]
