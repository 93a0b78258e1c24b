"""What is said where loopback is the only network interface: LiveKit cannot work there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from agent_tui.network import has_interface
from tests.backend.voice import on_loopback_alone

ROOT = Path(__file__).parents[3]
ALONE = ("unshare", "--map-root-user", "--net")


def can_be_alone() -> bool:
    """Say whether this machine lets us have a network of our own."""
    if shutil.which(ALONE[0]) is None:
        return False
    return subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not can_be_alone(), reason="this system gives us no network namespace")
def test_without_a_network_the_refusal_says_so_at_once_and_nothing_is_started(tmp_path: Path) -> None:
    done = subprocess.run(
        [*ALONE, sys.executable, "-m", on_loopback_alone.__name__, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    status, body = done.stdout.split("\n", 1)
    assert (status, json.loads(body)["code"]) == ("409", "voice.no_network")
    assert "loopback" in json.loads(body)["title"]
    assert not (tmp_path / "voice/servers").exists()


@pytest.mark.skipif(not Path("/proc/net/route").is_file(), reason="only Linux says so here")
def test_a_machine_with_a_default_route_has_a_network() -> None:
    routes = Path("/proc/net/route").read_text().splitlines()[1:]
    if any(line.split()[1] == "00000000" for line in routes):
        assert has_interface()
