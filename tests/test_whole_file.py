"""A file is written in one step, or stays as it was."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from agent_tui.model.errors import ConfigError, DiskFull
from agent_tui.whole_file import write_whole


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_keeps_its_mode_unless_it_is_private_now(tmp_path: Path) -> None:
    path = tmp_path / "new" / "x"
    write_whole(path, b"first, and longer")
    assert mode(path) == 0o600
    path.chmod(0o644)
    write_whole(path, b"second")
    assert (path.read_bytes(), mode(path)) == (b"second", 0o644)
    write_whole(path, b"third", is_private=True, is_durable=False)
    assert (path.read_bytes(), mode(path)) == (b"third", 0o600)
    assert list(path.parent.iterdir()) == [path]


def test_a_link_is_replaced_but_for_a_path_that_the_person_chose(tmp_path: Path) -> None:
    real, link, usual = tmp_path / "real", tmp_path / "link", tmp_path / "usual"
    real.touch(0o640)
    usual.touch()
    link.symlink_to(real)
    write_whole(link, b"chosen", is_chosen=True)
    assert link.is_symlink()
    write_whole(link, b"ours")
    assert not link.is_symlink()
    assert (real.read_bytes(), mode(real)) == (b"chosen", 0o640)
    write_whole(tmp_path / "new", b"chosen", is_chosen=True)
    assert mode(tmp_path / "new") == mode(usual)
    with pytest.raises(ConfigError, match="cannot be written"):
        write_whole(tmp_path / "none" / "x", b"chosen", is_chosen=True)


def test_after_an_error_the_file_is_as_it_was_and_nothing_is_left_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(descriptor: int) -> None:
        assert os.fstat(descriptor).st_size == len(b"new")  # all of it was handed to the system
        raise OSError(errno.ENOSPC, "no space")

    path = tmp_path / "x"
    path.write_text("old")
    with pytest.raises(ConfigError, match="cannot be written"):
        write_whole(path / "y", b"new")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DiskFull, match="no space"):
        write_whole(path, b"new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
