"""Programs that are open say so over HTTP, and hear of what is about to pause: our client and our backend."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

import pytest
from starlette.applications import Starlette

from agent_tui.backend.engine.unwatched import OpenPrograms, PauseNotice
from agent_tui.backend.http.presence import Attendance
from agent_tui.clients.http import Net
from agent_tui.clients.records import PausesSoon
from agent_tui.clients.rooms import RoomsClient
from agent_tui.model.errors import NotFound
from tests.backend.served import served


@asynccontextmanager
async def client(
    presence: OpenPrograms, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[RoomsClient]:
    async with served(Starlette(routes=Attendance(presence).routes())) as port:
        try:
            async with Net(f"http://127.0.0.1:{port}", environ=environ) as net:
                yield RoomsClient(net)
        finally:
            presence.close()


def warn_all(presence: OpenPrograms) -> None:
    if presence.programs:
        presence.warn(PauseNotice("r1", "Stores", 120.0))


async def test_a_program_is_there_as_long_as_it_attends_and_hears_what_pauses_soon() -> None:
    presence, presses = OpenPrograms(), list[int]()
    presence.on_key.append(lambda: presses.append(presence.programs))
    presence.on_change.append(lambda: warn_all(presence))
    async with client(presence) as program:
        async with aclosing(program.backend.attend()) as told:
            assert await anext(told) == PausesSoon("r1", "Stores", 120.0)
            assert presence.programs == 1
            await program.backend.press()
            assert await anext(told) is None
        assert presses == [0, 1]  # who comes pressed a key too


async def test_a_program_that_left_is_there_no_more() -> None:
    presence, counts = OpenPrograms(), list[int]()
    presence.on_change.append(lambda: counts.append(presence.programs))
    presence.on_change.append(lambda: warn_all(presence))
    async with client(presence) as program:
        async with aclosing(program.backend.attend()) as told:
            await anext(told)
        async with aclosing(program.backend.attend()) as told:
            await anext(told)
    assert counts[0] == 1
    assert counts[-1] == 0


async def test_a_program_in_a_tool_of_ours_is_nobody() -> None:
    presence, presses = OpenPrograms(), list[int]()
    presence.on_key.append(lambda: presses.append(1))
    async with client(presence, {**os.environ, "CALL_OF_A_TOOL": "x"}) as program:
        async with aclosing(program.backend.attend()) as told:
            assert [one async for one in told] == []
        await program.backend.press()
    assert (presence.programs, presses) == (0, [])


async def test_a_server_that_counts_nobody_says_so() -> None:
    async with served(Starlette()) as port, Net(f"http://127.0.0.1:{port}") as net:
        with pytest.raises(NotFound):
            await anext(aiter(one async for one in RoomsClient(net).backend.attend() if one))
