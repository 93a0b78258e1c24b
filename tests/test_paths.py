"""Paths that people name, and the folder in which the program was started."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agent_tui.model.errors import ConfigError
from agent_tui.paths import current_folder, folder_exists, home_folder, named_path


def test_a_folder_that_was_deleted_or_that_no_text_can_name_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert current_folder() is not None
    for name in ("gone", os.fsdecode(b"\xff")):
        folder = tmp_path / name
        folder.mkdir()
        monkeypatch.chdir(folder)
        if name == "gone":
            folder.rmdir()
            with pytest.raises(ConfigError, match="--workspace: there is no path below"):
                named_path("below", "--workspace")
        assert current_folder() is None


def test_a_path_that_cannot_be_is_one_error_that_begins_with_who_named_it(tmp_path: Path) -> None:
    for wrong in ("~nobody-is-called-so/x", "a\0b"):
        with pytest.raises(ConfigError, match="--workspace: there is no path"):
            named_path(wrong, "--workspace", resolves=True)
    link = tmp_path / "link"
    link.symlink_to(tmp_path)
    assert named_path(link, "--workspace") == link
    assert named_path(f"{link}", "--workspace", resolves=True) == tmp_path.resolve()


def test_what_cannot_be_looked_at_is_no_folder(tmp_path: Path) -> None:
    assert folder_exists(tmp_path)
    assert not folder_exists(tmp_path / ("x" * 300))


@pytest.mark.usefixtures("no_home")
def test_a_user_without_a_home_folder_has_none() -> None:
    assert home_folder() is None
