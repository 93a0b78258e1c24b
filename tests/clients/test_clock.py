from __future__ import annotations

import asyncio

import pytest

from agent_tui.clients.clock import SystemClock, Watch
from agent_tui.clients.clock import nap as clock_nap
from tests.fakes.clock import FakeClock, settle


async def test_the_system_clock_goes_forward() -> None:
    clock = SystemClock()
    before = clock.time()
    await clock.sleep(0)
    assert clock.time() >= before


async def test_a_nap_lasts_as_long_as_asked() -> None:
    clock = FakeClock()
    nap = asyncio.create_task(clock_nap(clock, 2.5))
    await clock.advance(2.4)
    assert not nap.done()
    await clock.advance(0.2)
    assert nap.done()
    await nap


async def test_a_nap_ends_soon_after_the_machine_slept_through_it() -> None:
    clock = FakeClock()
    nap = asyncio.create_task(clock_nap(clock, 30))
    await settle()
    clock.jump(3600)
    await nap
    assert clock.sleepers == 0


async def test_cancelling_a_watched_await_that_breaks_off_stays_a_cancellation() -> None:
    clock = FakeClock()
    async with Watch(clock, notice_sleep=True) as watch:
        task = asyncio.create_task(watch.run(asyncio.Event().wait()))
        await settle()
        clock.jump(3600)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_watched_await_that_ends_by_itself_gives_its_result() -> None:
    async with Watch(FakeClock(), notice_sleep=True) as watch:
        assert await watch.run(asyncio.sleep(0, "done")) == "done"
