"""The arrows of architecture.md §3: by import-linter where they are static, by what a fresh interpreter has
loaded where they are about time.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

from agent_tui.backend.engine.answer.asks import Asks
from agent_tui.backend.engine.answer.attempt import Attempt
from agent_tui.backend.engine.answer.steps import StepLog
from agent_tui.backend.engine.chats.acts import ChatActs
from agent_tui.backend.engine.engine import Engine
from agent_tui.backend.engine.rooms.acts import RoomActs
from agent_tui.backend.engine.runner import Runner
from agent_tui.backend.engine.runs import Runs
from agent_tui.clients.announced import AnswerLeft
from agent_tui.clients.backend import BackendClient
from agent_tui.clients.calls import Calls
from agent_tui.clients.chat import ChatClient
from agent_tui.clients.http import Net
from agent_tui.clients.log_stream import LogStream
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model import errors
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn

ERRORS = (AnswerLeft, *(one for one in vars(errors).values() if isinstance(one, type)))
OF_THE_CLIENT = (RoomsClient, ChatClient, BackendClient, Calls, ConversationState, Turn, Net, LogStream)
OF_THE_ENGINE = (Engine, RoomActs, ChatActs, Runs, Runner, Attempt, StepLog, Asks)
ROOT = Path(__file__).parent.parent
DISTRIBUTION = "agent-tui-rooms"
BEFORE_FIRST_FRAME = ("pydantic", "httpx", "websockets", "numpy", "sounddevice", "livekit", "sqlalchemy")
SCREEN = ("textual", "typer")
HELP = "import sys; from tui.__main__ import main; sys.argv = ['agent-tui', {words}]; main()"
WITHOUT_PARSER = (
    "'--help'",
    "'rooms', 'run', '--help'",
    "'ask', '--help'",
    "'voice', '--help'",
    "'conversations', 'list', '--help'",
    "'--version'",
)


def loaded_after(code: str, folder: Path) -> set[str]:
    """Return the names of all modules that a fresh interpreter has loaded after ``code``."""
    ending = "import json, sys; sys.stderr.write('\\n' + json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{code}\n{ending}"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


@pytest.mark.parametrize("class_", [*OF_THE_CLIENT, *OF_THE_ENGINE])
def test_a_class_inherits_at_most_once_and_has_at_most_forty_methods_in_all(class_: type) -> None:
    ours = [one for one in class_.__mro__ if one.__module__.startswith("agent_tui.")]
    methods = {name for one in ours for name, value in vars(one).items() if callable(value)}
    methods |= {name for one in ours for name, value in vars(one).items() if isinstance(value, property)}
    assert len(ours) <= 2
    of_all = {*dir(object), "__replace__"}  # the latter are dataclasses', from Python 3.13 on
    assert len(methods - of_all) <= 40, sorted(methods)


@pytest.mark.parametrize("class_", ERRORS)
def test_an_error_inherits_at_most_twice(class_: type) -> None:
    assert len([one for one in class_.__mro__ if one.__module__.startswith("agent_tui.")]) <= 3


def test_the_contracts_of_import_linter_hold() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "0 broken" in done.stdout


def test_help_and_version_load_nothing_heavy(tmp_path: Path) -> None:
    loaded = loaded_after("\n".join(HELP.format(words=words) for words in WITHOUT_PARSER), tmp_path)
    assert not loaded & {*BEFORE_FIRST_FRAME, *SCREEN, "rich", "asyncio", "click", "agent_tui.wire"}


def test_help_by_the_parser_needs_no_rich(tmp_path: Path) -> None:
    loaded = loaded_after(HELP.format(words="'rooms', 'a-room', '--help'"), tmp_path)
    assert "typer" in loaded
    assert not loaded & {"textual", "rich", "httpx"}


def test_a_question_without_a_screen_needs_no_screen(tmp_path: Path) -> None:
    loaded = loaded_after(
        "import tui.cli.headless.ask, tui.cli.export.conversations, tui.cli.commands.tools", tmp_path
    )
    assert not loaded & {"textual", "agent_tui.backend"}


def test_the_backend_is_spawned_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    loaded = loaded_after("import tui.__main__, tui.startup", tmp_path)
    assert "tui.runtime" in loaded
    assert not loaded & {*BEFORE_FIRST_FRAME, *SCREEN, "rich", "asyncio"}


def test_a_command_line_is_read_before_anything_heavy_is_loaded(tmp_path: Path) -> None:
    loaded = loaded_after("import tui.cli.tree", tmp_path)
    assert "typer" in loaded
    assert not loaded & {*BEFORE_FIRST_FRAME, "textual", "rich", "asyncio"}


def test_the_first_frame_needs_no_client_and_no_wire(tmp_path: Path) -> None:
    loaded = loaded_after("import tui.app", tmp_path)
    assert "textual" in loaded
    assert not loaded & {*BEFORE_FIRST_FRAME, "typer"}


def test_the_program_never_loads_the_backend(tmp_path: Path) -> None:
    loaded = loaded_after(
        "import tui.app, tui.cli.tree, tui.cli.headless.rooms, tui.cli.commands.rooms, tui.cli.headless.ask,"
        " tui.cli.export.conversations",
        tmp_path,
    )
    assert not [name for name in loaded if name.startswith("agent_tui.backend")]


def test_state_and_events_are_plain_python(tmp_path: Path) -> None:
    loaded = loaded_after(
        "import agent_tui.state.conversation, agent_tui.model.errors, agent_tui.model.inert", tmp_path
    )
    assert not loaded & {*BEFORE_FIRST_FRAME, *SCREEN, "rich", "asyncio", "socket"}


def test_widgets_see_no_socket(tmp_path: Path) -> None:
    modules = ", ".join(f"widgets.{path.stem}" for path in sorted((ROOT / "widgets").glob("[a-z]*.py")))
    loaded = loaded_after(f"import widgets, {modules}".rstrip(", "), tmp_path)
    forbidden = ("agent_tui.clients", "agent_tui.wire", "httpx", "websockets")
    assert not [name for name in loaded if name.startswith(forbidden)]


def test_clients_and_backend_need_no_screen(tmp_path: Path) -> None:
    loaded = loaded_after("import agent_tui.clients.rooms, agent_tui.backend.__main__", tmp_path)
    assert not loaded & {"textual", "typer"}


def test_a_backend_that_starts_loads_no_real_model_and_no_migrations(tmp_path: Path) -> None:
    loaded = loaded_after("import agent_tui.backend.process", tmp_path)
    assert "sqlalchemy" in loaded
    assert not loaded & {"pydantic", "pydantic_ai", "openai", "alembic", "httpx"}
    assert not loaded & {"livekit", "aiohttp", "jwt", "websockets"}  # before anybody talks


def test_no_other_installed_distribution_ships_our_import_names() -> None:
    ships = packages_distributions()
    shipped = {name: set(ships.get(name, [])) for name in ("tui", "widgets", "themes", "agent_tui")}
    assert {name: by for name, by in shipped.items() if not by <= {DISTRIBUTION}} == {}
