"""The program's log."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui.logs import log_crash, start_logging


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    root = logging.getLogger()
    before = list(root.handlers)
    yield tmp_path / "data"
    for handler in [handler for handler in root.handlers if handler not in before]:
        root.removeHandler(handler)
        handler.close()


def test_nothing_is_made_before_there_is_something_to_log(data: Path) -> None:
    start_logging()
    logging.getLogger("some.library").info("not worth a line")
    assert not data.exists()


def test_warnings_of_libraries_and_our_own_words_go_to_a_private_file(data: Path) -> None:
    start_logging()
    logging.getLogger("some.library").warning("careful")
    logging.getLogger("agent_tui.clients.http").info("connected")
    log = data / "agent-tui.log"
    text = log.read_text(encoding="utf-8")
    assert "WARNING some.library: careful" in text
    assert "INFO agent_tui.clients.http: connected" in text
    assert log.stat().st_mode & 0o777 == 0o600


WORDS = "the words of a conversation"


def crash() -> Path | None:
    try:
        raise RuntimeError(WORDS)
    except RuntimeError:
        return log_crash()


def test_a_crash_is_logged_with_its_place_and_without_its_words(data: Path) -> None:
    path = crash()
    assert path == data / "agent-tui.log"
    text = path.read_text(encoding="utf-8")
    assert "builtins.RuntimeError" in text
    assert f"{__file__}:{crash.__code__.co_firstlineno + 2} in crash" in text
    assert WORDS not in text


def test_what_asyncio_says_of_a_forgotten_task_is_logged_without_words(data: Path) -> None:
    async def fail() -> None:
        raise ValueError(WORDS)

    async def forget() -> None:
        task = asyncio.create_task(fail())
        await asyncio.wait([task])

    start_logging()
    asyncio.run(forget())
    gc.collect()
    text = (data / "agent-tui.log").read_text(encoding="utf-8")
    assert "Task exception was never retrieved" in text
    assert "builtins.ValueError" in text
    assert WORDS not in text


def test_a_log_that_cannot_be_written_is_left_out_without_a_word(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data.write_text("in the way", encoding="utf-8")
    start_logging()
    logging.getLogger("some.library").warning("lost")
    assert crash() is None
    assert capsys.readouterr() == ("", "")
