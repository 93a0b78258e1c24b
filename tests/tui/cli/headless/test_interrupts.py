"""Signals that come while a command follows a run to its end."""

from __future__ import annotations

import asyncio
import signal

import pytest

from agent_tui.model.events import LinkChanged, LinkStatus
from tui.cli import output
from tui.cli.headless.formats import Ending
from tui.cli.headless.interrupts import Interrupts, LinkTelling, carried_out
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


@pytest.mark.parametrize(
    ("number", "reason"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "completed"), (signal.SIGHUP, "completed")],
)
def test_a_second_ctrl_c_ends_it_at_once_and_a_signal_that_is_sent_twice_does_not(
    number: signal.Signals, reason: str
) -> None:
    stops: list[str] = []

    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, None]:
        interrupts.on_first = lambda: stops.append("asked to stop")
        signal.raise_signal(number)
        signal.raise_signal(number)
        for _ in range(3):
            await asyncio.sleep(0)
        return Ending("completed"), None

    endings: list[Ending] = []
    carried_out(Server("http://127.0.0.1:9"), errand, None, lambda end, _: endings.append(end))
    assert (endings, stops) == ([Ending(reason)], ["asked to stop"])


def test_out_of_a_write_that_nobody_reads_there_is_no_other_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "is_writing", True)
    assert ended_by(signal.SIGINT) == (Ending("interrupted"), [KeyboardInterrupt])


@pytest.mark.parametrize(
    ("detail", "line"),
    [
        ("Interrupted: handover", "cut when the backend stopped"),
        ("Interrupted: crash", "cut when the backend crashed"),
        ("Interrupted: unwatched", "cut: nobody was watching"),
        ("the model failed", "the model failed"),
    ],
)
def test_a_person_reads_why_an_answer_was_cut_and_a_script_the_protocols_word(
    capsys: pytest.CaptureFixture[str], detail: str, line: str
) -> None:
    async def errand(server: Server, interrupts: Interrupts) -> tuple[Ending, None]:
        return Ending("error", detail), None

    endings: list[Ending] = []
    assert carried_out(Server("http://127.0.0.1:9"), errand, None, lambda end, _: endings.append(end)) == 4
    assert (capsys.readouterr().err, endings[0].detail) == (f"agent-tui: {line}\n", detail)


def test_a_lost_connection_is_said_once_and_that_it_is_there_again() -> None:
    told: list[str] = []
    link = LinkTelling(told.append)
    states: list[tuple[LinkStatus, int]] = [
        ("connecting", 0),
        ("live", 0),
        *(("waiting", number) for number in range(1, 10)),
        ("live", 0),
        ("waiting", 10),  # it came without news, and went
        ("live", 0),
        ("waiting", 1),
    ]
    for status, attempt in states:
        link.take(LinkChanged(status, "the stream ended", 1.0, attempt))
    assert told == ["reconnecting: the stream ended", "connected", "reconnecting: the stream ended"]
