"""How the tests run: quick enough for every day, thorough when asked to."""

from __future__ import annotations

import compileall
import gc
import importlib
import itertools
import os
import pwd
import re
import signal
import sys
import sysconfig
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest

# Workers and hundreds of child processes import the same modules. Where the environment forbids bytecode,
# each of them would compile everything anew, which is most of its time: here it is written all the same.
if sys.dont_write_bytecode:
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Only now: pytest rewrites the asserts of its modules, too.
from hypothesis import HealthCheck, settings

# What tests start would ignore SIGHUP under nohup, behind "&" SIGINT and SIGQUIT, too.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is slow, not wrong: nothing here is judged by time. Hypothesis has a profile "ci" of its own,
# which the variable CI makes the default: ours take nothing from it, so that they are the same everywhere.
_plain = settings.get_profile("default")
_unhurried = settings(_plain, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", _unhurried, max_examples=25)
settings.register_profile("thorough", _unhurried, max_examples=1000)
# Every day looks for new counter-examples; what judges a change tries the same ones before it and after it.
settings.register_profile("ci", _unhurried, max_examples=25, derandomize=True, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


# Looks for cycles among all that was loaded were a quarter of the time. What tests leave is looked for less
# often than Python would: (young, middle, full), as `gc.set_threshold` takes them.
GARBAGE_THRESHOLDS = (10_000, 20, 20)
gc.disable()  # while modules are imported and tests collected: all of that stays


def pytest_collection_finish() -> None:
    """Leave modules and classes out of every look for cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE_THRESHOLDS)
    gc.enable()


_folders = itertools.count()


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a new folder. To number it, pytest would look through the folders of all tests before it."""
    name = re.sub(r"\W", "_", request.node.name)[:25]
    return tmp_path_factory.mktemp(f"{name}-{next(_folders)}", numbered=False)


@pytest.fixture
def no_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """Be a user without a home folder, as in a container that was started with another user's number."""

    def unknown(number: int) -> NoReturn:
        raise KeyError(number)

    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_DOWNLOAD_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)


# What `make voice` runs; other runs have them only where somebody names them.
VOICE = ("audio", "backend/voice", "clients/voice", "tui/voice", "voice_agent")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the tests of voice to `make voice`: they need many libraries, and some of them minutes."""
    return True if _is_left_to_voice(collection_path, config) else None


def _is_left_to_voice(path: Path, config: pytest.Config) -> bool:
    asked = [(config.invocation_params.dir / arg.partition("::")[0]).resolve() for arg in config.args]
    folders = (Path(__file__).parent / name for name in VOICE)
    return any(
        path.is_relative_to(folder) and not any(arg.is_relative_to(folder) for arg in asked)
        for folder in folders
    )


# Libraries of which a plain run imports next to nothing: what it does import, it compiles then.
SELDOM_IMPORTED = re.compile(r"/site-packages/(mypyc?|numpy|livekit|cryptography|pyasn1\w*|pygments/lexers)/")


# Some tests of these files take up to forty seconds, and mostly wait: no worker should be left with one.
LONGEST = ("test_older_databases.py", "test_kill.py", "test_process.py", "test_chat_process.py")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest."""
    items.sort(key=lambda item: item.path.name not in LONGEST)


def pytest_configure(config: pytest.Config) -> None:
    """Compile all modules of a new clone at once, by all cores: workers would compile many of them twice."""
    if hasattr(config, "workerinput"):
        return
    libraries, done = Path(sysconfig.get_path("purelib")), config.rootpath / ".pytest_cache" / "compiled"
    stamp = f"{sys.version} {libraries} {libraries.stat().st_mtime_ns}"
    if done.is_file() and done.read_text(encoding="utf-8") == stamp:
        return
    for folder in (libraries, *(config.rootpath / name for name in ("agent_tui", "tui", "widgets"))):
        compileall.compile_dir(folder, quiet=2, workers=0, rx=SELDOM_IMPORTED)
    done.parent.mkdir(exist_ok=True)
    done.write_text(stamp, encoding="utf-8")


def pytest_collection(session: pytest.Session) -> None:
    """Have each worker begin with other tests to import.

    pytest compiles tests by itself. In a new clone workers that import them in the same order compile all of
    them, each for itself; so what comes second finds much of it done.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    root, asked = session.config.rootpath, [Path(arg.partition("::")[0]) for arg in session.config.args]
    paths = sorted(path for arg in asked for path in (arg.rglob("test_*.py") if arg.is_dir() else [arg]))
    paths = [path for path in paths if not _is_left_to_voice(path, session.config)]
    first = len(paths) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for path in paths[first:] + paths[:first]:
        with suppress(Exception, pytest.skip.Exception):  # comes again where tests are collected
            importlib.import_module(".".join(path.resolve().relative_to(root).with_suffix("").parts))


def pytest_xdist_auto_num_workers() -> int:
    """Return how many tests run side by side: more than there are cores, as many wait for processes."""
    return max(4, os.cpu_count() or 1)
