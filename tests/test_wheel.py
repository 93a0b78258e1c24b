"""What people install: the wheel, in an environment of its own, away from the checkout."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

import agent_tui
from tests.tui.programs import own_environ

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent
BUILD_SECONDS = 100
NO_WAY_TO_BUILD = ("hatchling", "network", "offline", "connect", "dns", "resolve", "fetch", "download")


def uv() -> str:
    found = shutil.which("uv") or shutil.which("uv", path=str(ROOT / ".uv" / "bin"))
    if found is None:
        pytest.skip("no uv to build with")
    return found


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Give the folder of an environment that has our wheel, and our dependencies by reference."""
    folder = tmp_path_factory.mktemp("wheel")
    built = subprocess.run(
        [uv(), "build", "--wheel", "--quiet", "--out-dir", folder / "dist", ROOT],
        capture_output=True,
        text=True,
        timeout=BUILD_SECONDS,
        check=False,
    )
    if built.returncode != 0:
        if any(word in built.stderr.lower() for word in NO_WAY_TO_BUILD):
            pytest.skip(f"the build backend cannot be had here: {built.stderr.strip().splitlines()[-1]}")
        pytest.fail(built.stderr)
    (wheel,) = (folder / "dist").glob("agent_tui_rooms-*.whl")
    environment = folder / "env"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"
    subprocess.run(
        [uv(), "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, wheel], check=True
    )
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    references = environment / "lib" / version / "site-packages" / "dependencies.pth"
    references.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    yield environment
    subprocess.run(
        [environment / "bin" / "agent-tui", "backend", "stop"],
        env=own_environ(folder / "home"),
        check=True,
        capture_output=True,
    )


def run(environment: Path, program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [environment / "bin" / program, *arguments],
        cwd=environment,
        env=own_environ(environment.parent / "home"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_installed_program_says_its_version(installed: Path) -> None:
    done = run(installed, "agent-tui", "--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"agent-tui {agent_tui.__version__}\n"


def test_it_runs_from_the_wheel_and_brings_its_themes(installed: Path) -> None:
    code = (
        "import tui.screens, widgets, agent_tui.wire; from tui import themes; "
        "print(themes.__file__, *themes.available())"
    )
    done = run(installed, "python", "-P", "-c", code)
    assert done.returncode == 0, done.stderr
    where, *themes = done.stdout.split()
    assert Path(where).is_relative_to(installed)
    assert {"dark", "light"} <= set(themes)


def test_every_style_sheet_of_the_screens_is_in_it(installed: Path) -> None:
    shipped = {path.name for path in installed.rglob("site-packages/tui/**/*.tcss")}
    assert shipped == {path.name for path in (ROOT / "tui").rglob("*.tcss")}
    assert shipped


def test_every_agent_template_is_in_it(installed: Path) -> None:
    done = run(installed, "agent-tui", "rooms", "templates")
    assert (done.returncode, done.stderr) == (0, "")
    listed = [line.split()[0] for line in done.stdout.splitlines()[1:]]
    assert listed == sorted(
        path.stem for path in (ROOT / "agent_tui" / "config" / "templates").glob("*.toml")
    )


def test_it_starts_its_backend_and_lists_rooms(installed: Path) -> None:
    done = run(installed, "agent-tui", "rooms", "list", "--output", "json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["rooms"] == []
