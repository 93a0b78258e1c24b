"""A project in whose folder a chat is opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.tui.chat.one_chat import Chat


def begin_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go into a project with files, some of which git ignores; everything else is kept beside it."""
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "build").mkdir()
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("build/\n*.log\n")
    for name in ("Makefile", "src/main.py", "build/out.txt", "noise.log", ".git/config", "a b.txt"):
        (project / name).write_text(f"this is {name}\n")
    monkeypatch.chdir(project)
    return project


def composer_text(chat: Chat) -> str:
    return chat.app.chat.composer.line.text


async def settled(chat: Chat) -> str:
    """The screen once the files were listed."""
    while not chat.app.chat.composer.files.is_listed:
        await chat.pilot.pause()
    return await chat.text()


def link_in_a_circle(name: str) -> None:
    path = Path(name)
    path.symlink_to(path.name)
