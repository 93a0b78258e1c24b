"""Signals that come while a command follows a run to its end."""

from __future__ import annotations

import asyncio
import signal

import pytest

from tui.cli import output
from tui.cli.headless.formats import Ending
from tui.cli.headless.interrupts import Interrupts, carried_out
from tui.request import Server


def ended_by(number: signal.Signals) -> tuple[Ending, list[type[BaseException]]]:
    """Return how an errand ends that gets a signal, and what was thrown into it meanwhile."""
    thrown: list[type[BaseException]] = []

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, None]:
        try:
            signal.raise_signal(number)
            await asyncio.Event().wait()
        except BaseException as error:
            thrown.append(type(error))
            raise
        return Ending("completed"), None

    endings: list[Ending] = []
    assert carried_out(Server("http://127.0.0.1:9"), errand, None, lambda end, _: endings.append(end)) == 3
    (ending,) = endings
    return ending, thrown


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_errand_is_cancelled_where_it_waits_and_not_in_the_middle_of_a_step(
    number: signal.Signals,
) -> None:
    assert ended_by(number) == (Ending("interrupted"), [asyncio.CancelledError])


def test_out_of_a_write_that_nobody_reads_there_is_no_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "is_writing", True)
    assert ended_by(signal.SIGINT) == (Ending("interrupted"), [KeyboardInterrupt])
