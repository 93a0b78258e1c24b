"""What stands in the backend's log: what went wrong and where, never what somebody said."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.logs import start_logging
from agent_tui.tracebacks import log_unhandled
from tests.backend.engine.chat_house import call, open_chats, results, speaks
from tests.backend.in_process import backend
from tests.fakes.scripted_model import FakeModels, ScriptedModel
from tests.fakes.scripted_tools import reader

SECRET = "the words of a conversation"


@pytest.fixture
def log_file(tmp_path: Path) -> Iterator[Path]:
    """The log of a backend, as its process has it."""
    root = logging.getLogger()
    before, level, raises = root.handlers[:], root.level, logging.raiseExceptions
    start_logging(tmp_path / "backend.log", stderr=False)
    yield tmp_path / "backend.log"
    for handler in [one for one in root.handlers if one not in before]:
        root.removeHandler(handler)
        handler.close()
    root.setLevel(level)
    logging.raiseExceptions = raises
    logging.captureWarnings(False)


def checked(log_file: Path, *wanted: str) -> None:
    """Assert that the log says all that is ``wanted``, and no word."""
    text = log_file.read_text()
    assert [one for one in wanted if one not in text] == [], text
    assert SECRET not in text


async def crashes(arguments: Mapping[str, Any]) -> str:
    try:
        raise KeyError(arguments["text"])
    except KeyError as error:
        raise ExceptionGroup(arguments["text"], [ValueError(arguments["text"])]) from error


async def test_a_tool_that_crashes_is_logged_without_its_arguments(tmp_path: Path, log_file: Path) -> None:
    model = speaks([call("look", {"text": SECRET})], ["Oh."])
    async with open_chats(tmp_path / "a.db", model, reader(does=crashes)) as house:
        await house.ask("Well?")
        (content, success), *_ = results(await house.last())
    assert (SECRET in content, success) == (True, False)  # the model may know
    place = f"{__file__}:{crashes.__code__.co_firstlineno + 4} in crashes"
    checked(log_file, "the tool look crashed", "ExceptionGroup", "KeyError", "ValueError", place)


async def test_a_bug_behind_a_call_is_logged_without_what_was_sent(tmp_path: Path, log_file: Path) -> None:
    class Broken(FakeModels):
        def default_provider(self) -> str:
            raise LookupError(SECRET)

    model = ScriptedModel(lambda _: [])
    async with backend(tmp_path, model, models=Broken(model)) as running:
        made = await running.client.call("POST", "/api/rooms", {"task": SECRET})
    assert made.status == 500
    checked(log_file, "LookupError", "in test_a_bug_behind_a_call_is_logged_without_what_was_sent")


async def test_an_exception_that_nobody_waited_for_is_logged_without_what_it_says(log_file: Path) -> None:
    async def fails() -> None:
        raise OSError(SECRET)

    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_unhandled)
    try:
        task = loop.create_task(fails())
        await asyncio.wait({task})
        del task
    finally:
        loop.set_exception_handler(None)
    checked(log_file, "never retrieved", "OSError")
