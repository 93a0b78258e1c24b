from __future__ import annotations

import asyncio

import pytest

from agent_tui.clients.clock import Breakable, Naps, SystemClock
from tests.fakes.clock import FakeClock, settle


async def test_the_system_clock_goes_forward() -> None:
    clock = SystemClock()
    before = clock.time()
    await clock.sleep(0)
    assert clock.time() >= before


async def test_a_nap_lasts_as_long_as_asked() -> None:
    clock = FakeClock()
    nap = asyncio.create_task(Naps(clock).nap(2.5))
    await clock.advance(2.4)
    assert not nap.done()
    await clock.advance(0.2)
    assert nap.done()
    await nap


async def test_a_nap_ends_when_somebody_wakes_it() -> None:
    clock = FakeClock()
    naps = Naps(clock)
    both = [asyncio.create_task(naps.nap(30)) for _ in range(2)]
    await settle()
    naps.wake()
    naps.wake()
    await asyncio.gather(*both)
    assert clock.time() == 1000.0


async def test_a_nap_ends_soon_after_the_machine_slept_through_it() -> None:
    clock = FakeClock()
    nap = asyncio.create_task(Naps(clock).nap(30))
    await settle()
    clock.jump(3600)
    await nap
    assert clock.sleepers == 0


async def test_waking_nobody_does_nothing_to_the_next_nap() -> None:
    clock = FakeClock()
    naps = Naps(clock)
    naps.wake()
    nap = asyncio.create_task(naps.nap(1))
    await settle()
    assert not nap.done()
    await clock.advance(1)
    await nap


async def test_cancelling_a_broken_off_await_stays_a_cancellation() -> None:
    breakable = Breakable()
    task = asyncio.create_task(breakable.run(asyncio.Event().wait()))
    await settle()
    breakable.break_off()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_await_that_ends_by_itself_gives_its_result() -> None:
    assert await Breakable().run(asyncio.sleep(0, "done")) == "done"


async def test_breaking_off_what_is_already_breaking_off_is_harmless() -> None:
    loop = asyncio.get_running_loop()
    complaints: list[object] = []
    loop.set_exception_handler(lambda _, context: complaints.append(context))
    breakable = Breakable()
    task = asyncio.create_task(breakable.run(asyncio.Event().wait()))
    await settle()
    breakable.break_off()
    loop.call_soon(breakable.break_off)  # runs between the break and the task that feels it
    with pytest.raises(TimeoutError):
        await task
    assert complaints == []
