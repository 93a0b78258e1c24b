"""Room files: what they may say, every mistake in one line, and rooms written as files."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.config.agent_templates import templates
from agent_tui.config.room_file import FileAgent, read_room_file, resolved, room_file_text
from agent_tui.model.errors import ConfigError
from agent_tui.model.events import AgentInfo, RoomInfo
from agent_tui.model.settings import settings_of

NOBODY = Path("/nonexistent/agents")
WHOLE = """
task = "Which queue?"
name = "queue"
mode = "parallel"
rounds = 4
max_tokens = 50000
max_cost = 0.5
answer_tokens = 900
on_error = "pause"
on_resume = "again"
keep_running = true
tools = ["read_file", "search_files"]
workspace = "work"
[[agents]]
template = "critic"
model = "m1"
[[agents]]
name = "Ada"
prompt = "Know it."
provider = "local"
color = "#4CE"
"""
MISTAKES = {
    "task = 1": "task: must be a string",
    f"task = '{'x' * 100_001}'": "task: has 100,001 of at most 100,000 characters",
    "name = []": "name: must be a string",
    "mode = 'sideways'": 'mode: is "sideways"; known: sequential, parallel',
    "rounds = 1.5": "rounds: must be a whole number from 1 to 1,000",
    "rounds = true": "rounds: must be a whole number from 1 to 1,000",
    "rounds = 0": "rounds: must be a whole number from 1 to 1,000",
    "max_tokens = -1": "max_tokens: must be a whole number from 0",
    "answer_tokens = 10_000_001": "answer_tokens: must be a whole number from 0 to 10,000,000",
    "max_cost = inf": "max_cost: must be US dollars, 0 or more",
    "max_cost = nan": "max_cost: must be US dollars, 0 or more",
    "max_cost = '1'": "max_cost: must be US dollars, 0 or more",
    "on_error = 'stop'": 'on_error: is "stop"; known: continue, pause',
    "on_resume = 'stop'": 'on_resume: is "stop"; known: continue, again',
    "keep_running = 1": "keep_running: must be true or false",
    "tools = 'read_file'": "tools: must be names",
    "tools = [1]": "tools: must be names",
    "tools = ['']": "tools: must be names",
    f"tools = ['{'x' * 101}']": "tools: at most 500 names of 100 characters",
    "workspace = 1": "workspace: must be a string",
    "workspace = '~nobody-is-called-so/x'": "workspace: there is no path ~nobody-is-called-so/x",
    "agents = 3": "agents: must be tables: [[agents]]",
    "agents = ['Ada']": "agents: must be tables: [[agents]]",
    "[[agents]]": "agents[1].name: is missing; an agent needs a name or a template",
    "[[agents]]\nname='A'\n[[agents]]\nname='B'\ncolor='red'": "agents[2].color: must be like #4c9be8",
    "[[agents]]\nname='A'\nprompt=1": "agents[1].prompt: must be a string",
    "[[agents]]\nname='A'\n" * 65: "agents: 65 of at most 64",
    "task = ": "not valid TOML",
    "x = " + "[" * 5000: "not valid TOML",
}


def written(folder: Path, text: str) -> Path:
    path = folder / "room.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_a_file_may_say_is_read(tmp_path: Path) -> None:
    file = read_room_file(written(tmp_path, WHOLE))
    assert file.values == {
        "task": "Which queue?",
        "name": "queue",
        "execution_mode": "parallel",
        "max_rounds": 4,
        "max_tokens": 50_000,
        "max_cost": 0.5,
        "answer_tokens": 900,
        "on_error": "pause",
        "on_resume": "again",
        "keep_running": True,
        "enabled_tools": ("read_file", "search_files"),
        "workspace": str(tmp_path.resolve() / "work"),
    }
    assert file.agents == (
        FileAgent(template="critic", model="m1"),
        FileAgent("Ada", "", "Know it.", "", "local", "#44ccee"),
    )
    assert file.warnings == ()


def test_what_a_file_leaves_out_is_left_to_the_server(tmp_path: Path) -> None:
    file = read_room_file(written(tmp_path, 'task = "T"'))
    assert (file.values, file.agents) == ({"task": "T"}, None)


@pytest.mark.parametrize("text", MISTAKES, ids=lambda text: text[:20])
def test_a_mistake_is_one_line_with_the_file_and_the_key(tmp_path: Path, text: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(ConfigError) as caught:
        read_room_file(path)
    assert str(caught.value).startswith(f"{path}: {MISTAKES[text]}")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_missing_too_large_or_no_text_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        read_room_file(tmp_path / "none.toml")
    large = written(tmp_path, "#" * (1024 * 1024 + 1))
    with pytest.raises(ConfigError, match="too large"):
        read_room_file(large)
    large.write_bytes(b"task = '\xff'")
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_room_file(large)


def test_unknown_keys_are_warned_about(tmp_path: Path) -> None:
    file = read_room_file(written(tmp_path, "task = 'T'\nodd = 1\n[[agents]]\nname = 'A'\nmood = 2\n"))
    assert [warning.split(": ", 1)[1] for warning in file.warnings] == [
        "odd: unknown key, ignored",
        "agents[1].mood: unknown key, ignored",
    ]


def test_a_template_fills_in_what_its_agent_leaves_out() -> None:
    agents = [FileAgent(template="critic", model="m1"), FileAgent("Ada"), FileAgent("Bo", "tester")]
    critic, ada, bo = resolved(agents, templates(NOBODY), "Какая очередь нужна?", None)
    assert (critic.name, critic.model, critic.color) == ("Критик", "m1", "#e8a33d")
    assert ada == FileAgent("Ada")
    assert (bo.name, bo.prompt[:15]) == ("Bo", "Ты тестировщик ")


def test_a_template_that_is_not_there_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"f: agents\[2\]\.template: there is no template"):
        resolved([FileAgent("A"), FileAgent(template="x")], templates(NOBODY), "T", Path("f"))
    with pytest.raises(ConfigError, match=r"^--template: there is no template \"x\""):
        resolved([FileAgent(template="x")], templates(NOBODY), "T", None)


WORDS = st.text(st.characters(codec="utf-8"), max_size=40)
SEEN = WORDS.filter(str.strip)
AGENTS = st.builds(
    AgentInfo,
    st.just("id"),
    SEEN,
    st.sampled_from(["", "#4c9be8"]),
    SEEN,
    system_prompt=SEEN,
    provider_id=SEEN,
)
ROOMS = st.builds(
    RoomInfo,
    st.just("r1"),
    name=SEEN,
    task=SEEN,
    execution_mode=st.sampled_from(["sequential", "parallel"]),
    max_rounds=st.integers(1, 1000),
    agents=st.lists(AGENTS.filter(lambda agent: agent.provider_id != "demo"), max_size=3).map(tuple),
    keep_running=st.booleans(),
    max_tokens=st.integers(0, 10**9),
    max_cost=st.floats(0, 1e6),
    answer_tokens=st.integers(0, 10_000_000),
    on_error=st.sampled_from(["continue", "pause"]),
    on_resume=st.sampled_from(["continue", "again"]),
    enabled_tools=st.lists(SEEN.map(lambda name: name[:100]), max_size=3).map(tuple),
    workspace=st.sampled_from(["", "/", '/code "one"/二']),
)


@given(ROOMS)
def test_a_room_written_as_a_file_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, room: RoomInfo
) -> None:
    file = read_room_file(written(tmp_path_factory.mktemp("round"), room_file_text(room)))
    assert file.warnings == ()
    for name, setting in settings_of(RoomInfo).items():
        if setting.in_new:
            assert file.values.get(name, type(getattr(room, name))()) == getattr(room, name)
    assert file.agents == tuple(
        FileAgent(agent.name, "", agent.system_prompt, agent.model, agent.provider_id, agent.color)
        for agent in room.agents
    )
