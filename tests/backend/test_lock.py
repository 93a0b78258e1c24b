"""The lock of a database."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import pytest

from agent_tui.backend.lock import DatabaseLock
from agent_tui.model.errors import AgentBusy, ConfigError, DiskFull


def test_a_database_has_one_process_and_the_next_is_told_which(tmp_path: Path) -> None:
    path = tmp_path / "x.db.lock"
    with DatabaseLock(path, "serve"):
        with pytest.raises(AgentBusy) as busy, DatabaseLock(path, "embedded"):
            pass
        assert str(os.getpid()) in str(busy.value)
        assert "serve" in str(busy.value)
        assert path.read_text().split() == [str(os.getpid()), "serve"]
    with DatabaseLock(path, "embedded"):
        assert path.read_text().split() == [str(os.getpid()), "embedded"]


def test_a_newcomer_waits_for_a_process_that_is_stopping(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    with ExitStack() as newcomer:
        with DatabaseLock(path, "serve") as old:
            old.say_stopping()
            waiting = threading.Thread(target=newcomer.enter_context, args=[DatabaseLock(path, "embedded")])
            waiting.start()
        waiting.join(timeout=60)
        assert not waiting.is_alive()
        assert path.read_text().split() == [str(os.getpid()), "embedded"]


def test_one_that_has_just_taken_the_lock_is_given_time_to_say_who_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.lock"
    with DatabaseLock(path, "embedded"):
        path.write_text("")  # as between taking the lock and saying so
        monkeypatch.setattr("agent_tui.backend.lock.time.sleep", lambda _: path.write_text("77 embedded\n"))
        with (
            pytest.raises(AgentBusy, match=r"process 77 \(embedded\)"),
            DatabaseLock(path, "embedded"),
        ):
            pass


def test_the_lock_of_a_process_that_died_is_free(tmp_path: Path) -> None:
    path = tmp_path / "x.lock"
    path.write_text("1 serve stopping\n")
    with DatabaseLock(path, "embedded"):
        assert path.read_text().split() == [str(os.getpid()), "embedded"]


def test_a_full_disk_is_called_that(tmp_path: Path) -> None:
    (tmp_path / "x.lock").symlink_to("/dev/full")
    with (
        pytest.raises(DiskFull, match=r"x\.lock cannot be written: No space left"),
        DatabaseLock(tmp_path / "x.lock", "serve"),
    ):
        pass


def test_a_full_disk_is_known_by_the_exit_code_where_nothing_can_be_said(tmp_path: Path) -> None:
    (tmp_path / "agent-tui.db.lock").symlink_to("/dev/full")
    command = [sys.executable, "-P", "-m", "agent_tui.backend", "embedded", "--data", str(tmp_path)]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(command, stderr=full, check=False).returncode == 4


def test_a_folder_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    with (
        pytest.raises(ConfigError, match="cannot be written"),
        DatabaseLock(tmp_path / "no" / "x.lock", "serve"),
    ):
        pass
