"""The backend as a process: what it says, which files it leaves, how it ends."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import stat
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent_tui import __version__
from agent_tui.backend import __main__ as program
from tests.backend.processes import TOKEN, running, serve, start
from tests.backend.wire_client import WireClient

pytestmark = pytest.mark.slow

ROOM = {"task": "Redis or PostgreSQL?", "agents": [{"name": "Mika"}, {"name": "Ada"}]}
IDLE_SECONDS = "3"  # a busy machine may take two until the first call


async def refused(*arguments: str, folder: Path, env: dict[str, str] | None = None) -> tuple[int, str]:
    """Return (exit code, stderr) of a backend that does not start; asserts that stdout stays empty."""
    process = await start(*arguments, folder=folder, env=env)
    complaints = await process.complaints()
    assert process.child.stdout is not None
    assert await process.child.stdout.read() == b""
    assert complaints.count("\n") == 1, complaints
    return await process.child.wait(), complaints


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# --- serve ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_serve_says_where_it_listens_and_ends_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        assert process.url == f"http://127.0.0.1:{process.port}"
        health = await WireClient(process.port).call("GET", "/health")
        assert health.json["version"] == __version__
        assert (await process.client.call("GET", "/api/rooms")).json["rooms"] == []
        assert await process.end(number) == 0
        assert process.child.stdout is not None
        assert await process.child.stdout.read() == b""
        assert await process.complaints() == ""


async def test_what_serve_leaves_behind_is_its_owners_alone(tmp_path: Path) -> None:
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        await process.client.call("POST", "/api/rooms", ROOM)
        assert {mode(tmp_path / name) for name in files(tmp_path)} == {0o600}
        await process.end()
    assert files(tmp_path) == {"rooms.db", "rooms.db.lock", "rooms.db.log"}
    assert "Redis" not in (tmp_path / "rooms.db.log").read_text()


async def test_serve_without_a_token_option_makes_one_and_says_where(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/x.db"
    async with running("serve", "--database", database, folder=tmp_path) as process:
        file = tmp_path / "x.db.token"
        assert mode(file) == 0o600
        token = file.read_text().strip()
        assert len(token) > 30
        assert (await WireClient(process.port, token).call("GET", "/api/rooms")).status == 200
        assert (await WireClient(process.port).call("GET", "/api/rooms")).status == 401
        assert await process.end() == 0
        assert str(file) in await process.complaints()
    assert not file.exists()


async def test_serve_takes_its_token_from_the_environment_or_asks_for_none(tmp_path: Path) -> None:
    arguments = ("serve", "--database", f"sqlite:///{tmp_path}/x.db")
    async with running(*arguments, folder=tmp_path, env={"AGENT_TUI_TOKEN": "from-env"}) as process:
        assert (await WireClient(process.port, "from-env").call("GET", "/api/rooms")).status == 200
        await process.end()
    async with running(*arguments, "--no-token", folder=tmp_path) as process:
        client = WireClient(process.port)
        assert (await client.call("GET", "/api/rooms")).status == 200
        assert (await client.call("GET", "/api/rooms", headers={"host": "evil.example"})).status == 403
        assert (
            await client.call("GET", "/api/rooms", headers={"origin": "http://evil.example"})
        ).status == 403
        assert (await client.call("POST", "/api/backend/stop")).status == 404
        assert "x.db.token" not in files(tmp_path)


async def test_another_address_is_warned_about_and_asks_for_a_token_too(tmp_path: Path) -> None:
    arguments = ("serve", "--database", f"sqlite:///{tmp_path}/x.db")
    async with running(*arguments, "--host", "0.0.0.0", folder=tmp_path) as process:
        assert process.url == f"http://0.0.0.0:{process.port}"
        token = (tmp_path / "x.db.token").read_text().strip()
        assert (await WireClient(process.port, token).call("GET", "/api/rooms")).status == 200
        assert (await WireClient(process.port).call("GET", "/api/rooms")).status == 401
        await process.end()
        assert "TLS" in await process.complaints()
    code, line = await refused(*arguments, "--host", "no..where", folder=tmp_path)
    assert (code, "--host no..where: there is no such address" in line) == (2, True)


async def test_what_cannot_be_used_is_one_line_and_exit_2(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("this is no database, whatever its name says\n" * 100)
    newer = tmp_path / "newer.db"
    async with running("serve", "--database", f"sqlite:///{newer}", folder=tmp_path) as process:
        port = str(process.port)
        taken = asyncio.create_task(refused(*serve(tmp_path, "--port", port), folder=tmp_path))
        text = asyncio.create_task(
            refused("serve", "--database", f"sqlite:///{tmp_path}/text.db", folder=tmp_path)
        )
        assert await taken == (
            2,
            f"agent-tui: Cannot listen on 127.0.0.1 port {port}: Address already in use\n",
        )
        code, line = await text
        assert (code, "text.db" in line) == (2, True)
        await process.end()
    with sqlite3.connect(newer) as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    code, line = await refused("serve", "--database", f"sqlite:///{newer}", folder=tmp_path)
    assert (code, "newer" in line) == (2, True)


# --- embedded ------------------------------------------------------------------------------------------


async def test_embedded_says_in_its_runtime_file_how_to_reach_it(tmp_path: Path) -> None:
    data = tmp_path / "new" / "data"
    async with running("embedded", "--data", str(data), folder=tmp_path) as process:
        file = data / "backend.json"
        told = json.loads(file.read_text())
        assert mode(file) == 0o600
        assert mode(data) == 0o700
        assert told.keys() == {"url", "port", "token", "pid", "version", "protocol", "instance", "config"}
        assert (told["url"], told["port"]) == (process.url, process.port)
        assert (told["pid"], told["version"]) == (process.child.pid, __version__)
        assert (data / "agent-tui.db.lock").read_text().split() == [str(process.child.pid), "embedded"]
        assert (await WireClient(process.port).call("GET", "/health")).json["instance"] == told["instance"]
        client = WireClient(process.port, told["token"])
        assert (await client.call("GET", "/api/rooms")).status == 200
        assert (await client.call("POST", "/api/presence")).status == 202  # a key was pressed
        assert (await WireClient(process.port).call("POST", "/api/presence")).status == 401
        process.child.send_signal(signal.SIGHUP)  # the terminal is gone, others may use it
        assert (await client.call("POST", "/api/backend/stop")).status == 202
        assert await process.child.wait() == 0
    assert files(data) == {"agent-tui.db", "agent-tui.db.lock", "backend.log"}


async def test_a_backend_whose_folder_was_made_anew_leaves_the_file_of_the_next_one(tmp_path: Path) -> None:
    async with running("embedded", "--data", str(tmp_path), folder=tmp_path) as process:
        (tmp_path / "backend.json").write_text("of the next one")
        assert await process.end() == 0
    assert (tmp_path / "backend.json").read_text() == "of the next one"


async def test_of_two_started_at_once_one_wins_and_the_other_says_who(tmp_path: Path) -> None:
    both = [await start("embedded", "--data", str(tmp_path), folder=tmp_path) for _ in range(2)]
    outputs = [
        asyncio.create_task(process.child.stdout.readline()) for process in both if process.child.stdout
    ]
    lines = [await output for output in outputs]
    loser, winner = sorted(range(2), key=lambda n: lines[n] != b"")
    assert lines[winner].startswith(b"listening on http://127.0.0.1:")
    assert await both[loser].child.wait() == 6
    complaint = await both[loser].complaints()
    assert complaint.count("\n") == 1
    assert f"process {both[winner].child.pid} (embedded)" in complaint
    assert json.loads((tmp_path / "backend.json").read_text())["pid"] == both[winner].child.pid
    assert await both[winner].end() == 0


async def test_a_newcomer_takes_over_from_one_that_was_killed(tmp_path: Path) -> None:
    async with running("embedded", "--data", str(tmp_path), folder=tmp_path) as first:
        await first.kill()
    async with running("embedded", "--data", str(tmp_path), folder=tmp_path) as second:
        assert json.loads((tmp_path / "backend.json").read_text())["pid"] == second.child.pid
        assert await second.end() == 0


async def test_embedded_ends_when_nobody_needs_it_any_more_and_not_before(tmp_path: Path) -> None:
    quick = ("embedded", "--data", str(tmp_path), "--idle-seconds", IDLE_SECONDS, "--demo-rate", "0")
    async with running(*quick, folder=tmp_path) as process:
        client = WireClient(process.port, json.loads((tmp_path / "backend.json").read_text())["token"])
        path = f"/api/rooms/{(await client.call('POST', '/api/rooms', ROOM)).json['id']}"
        async with client.open("GET", f"{path}/events"):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(asyncio.shield(process.child.wait()), 1.5 * float(IDLE_SECONDS))
        assert await process.child.wait() == 0
    assert not (tmp_path / "backend.json").exists()


async def test_a_room_that_nobody_watches_pauses_and_then_the_backend_ends(tmp_path: Path) -> None:
    quick = ("--idle-seconds", IDLE_SECONDS, "--unwatched-seconds", "0.2", "--demo-rate", "20")
    async with running("embedded", "--data", str(tmp_path), *quick, folder=tmp_path) as process:
        client = WireClient(process.port, json.loads((tmp_path / "backend.json").read_text())["token"])
        room_id = (await client.call("POST", "/api/rooms", ROOM)).json["id"]
        frames = await client.frames("POST", f"/api/rooms/{room_id}/run", until="message_chunk")
        assert frames[-1].name == "message_chunk"
        assert await process.child.wait() == 0
    async with running("embedded", "--data", str(tmp_path), folder=tmp_path) as process:
        client = WireClient(process.port, json.loads((tmp_path / "backend.json").read_text())["token"])
        room = (await client.call("GET", f"/api/rooms/{room_id}")).json
        assert (room["status"], room["interrupted"]) == ("paused", "unwatched")


@asynccontextmanager
async def silent_room(tmp_path: Path) -> AsyncIterator[tuple[WireClient, str]]:
    """Give a room that speaks for hours, in a backend that waits half a second for somebody to be there."""
    quick = ("--idle-seconds", "30", "--unwatched-seconds", "0.5", "--demo-rate", "1")
    async with running("embedded", "--data", str(tmp_path), *quick, folder=tmp_path) as process:
        client = WireClient(process.port, json.loads((tmp_path / "backend.json").read_text())["token"])
        yield client, (await client.call("POST", "/api/rooms", ROOM)).json["id"]


async def changes(client: WireClient, room_id: str) -> AsyncIterator[dict[str, Any]]:
    """Yield the room whenever the list of rooms has news of it: who waits for those reads no stream."""
    cursor = ""
    while True:
        news = (await client.call("GET", f"/api/rooms?after={cursor}&wait=20")).json
        cursor = news["cursor"]
        for room in news["rooms"]:
            if room["id"] == room_id:
                yield room


async def why_paused(client: WireClient, room_id: str) -> str:
    """Return why the room pauses, once it does."""
    async for room in changes(client, room_id):
        if room["status"] == "paused":
            return str(room["interrupted"])
    raise AssertionError("it never ends")


async def test_a_room_goes_on_while_a_program_is_attached_and_pauses_once_the_last_has_left(
    tmp_path: Path,
) -> None:
    async with silent_room(tmp_path) as (client, room_id):
        other = (await client.call("POST", "/api/rooms", ROOM)).json["id"]
        for there in ("/api/presence", f"/api/rooms/{other}/events"):
            async with client.open("GET", there) as program:
                assert program.status == 200
                started = await client.frames("POST", f"/api/rooms/{room_id}/run", until="message_chunk")
                async for room in changes(client, room_id):  # a word a second: more than half of one
                    assert room["status"] == "running", there
                    if room["last_event_id"] > started[-1].id + 2:
                        break
            assert await why_paused(client, room_id) == "unwatched", there


async def test_a_program_that_a_tool_started_keeps_nothing_running(tmp_path: Path) -> None:
    async with silent_room(tmp_path) as (client, room_id):
        from_a_tool = {"agent-tui-tool": "1"}
        assert (await client.call("GET", "/api/presence", headers=from_a_tool)).status == 204
        async with client.open("POST", f"/api/rooms/{room_id}/run", headers=from_a_tool) as stream:
            assert stream.status == 200
            assert await why_paused(client, room_id) == "unwatched"


# --- the end -------------------------------------------------------------------------------------------


async def test_100_open_streams_and_running_rooms_do_not_hold_the_process(tmp_path: Path) -> None:
    async with running(*serve(tmp_path, rate="30"), folder=tmp_path) as process:
        client = process.client
        rooms = [(await client.call("POST", "/api/rooms", ROOM)).json["id"] for _ in range(4)]

        async def read(room_id: str, started: asyncio.Event) -> list[str]:
            said = []
            async with client.open("GET", f"/api/rooms/{room_id}/events?accumulated=0") as stream:
                async for frame in stream.frames():
                    said.append(frame.data if frame.name == "room_paused" else frame.name)
                    if frame.name == "message_chunk":
                        started.set()
            return said

        watching = [asyncio.Event() for _ in range(100)]
        async with asyncio.TaskGroup() as tasks:
            readers = [tasks.create_task(read(rooms[n % 4], started)) for n, started in enumerate(watching)]
            for room_id in rooms:
                await client.frames("POST", f"/api/rooms/{room_id}/run", until="room_started")
            for started in watching:
                await started.wait()
            assert await process.end() == 0
        for reader in readers:
            assert json.loads(reader.result()[-1])["interrupted"] == "handover"
    async with running(*serve(tmp_path, "--no-resume"), folder=tmp_path) as process:
        for room in (await process.client.call("GET", "/api/rooms")).json["rooms"]:
            assert (room["status"], room["interrupted"]) == ("paused", "handover")


async def test_a_client_that_does_not_read_cannot_hold_the_process(tmp_path: Path) -> None:
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        room_id = (await process.client.call("POST", "/api/rooms", {**ROOM, "max_rounds": 30})).json["id"]
        reader, writer = await asyncio.open_connection("127.0.0.1", process.port, limit=1)
        writer.write(process.client.request("POST", f"/api/rooms/{room_id}/run"))
        assert (await reader.readexactly(15)).startswith(b"HTTP/1.1 200")
        assert await process.end() == 0
        assert await process.complaints() == ""
        writer.transport.abort()


async def test_rooms_that_ran_when_serve_ended_go_on_by_themselves_and_paused_ones_do_not(
    tmp_path: Path,
) -> None:
    async with running(*serve(tmp_path, rate="2000"), folder=tmp_path) as process:
        client = process.client
        ran, paused = [(await client.call("POST", "/api/rooms", ROOM)).json["id"] for _ in range(2)]
        for room_id in (ran, paused):
            await client.frames("POST", f"/api/rooms/{room_id}/run", until="message_chunk")
        await client.call("POST", f"/api/rooms/{paused}/pause")
        await client.frames("GET", f"/api/rooms/{paused}/events", until="room_paused")
        assert await process.end() == 0
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        client = process.client
        frames = await client.frames("GET", f"/api/rooms/{ran}/events", until="room_completed")
        cut = [frame.fields["interrupted"] for frame in frames if frame.name == "room_paused"]
        assert cut == ["handover"]
        assert [f.fields.get("resumed") for f in frames if f.name == "room_started"] == [None, True]
        assert (await client.call("GET", f"/api/rooms/{paused}")).json["status"] == "paused"


# --- how it is started ---------------------------------------------------------------------------------


async def test_a_file_in_the_working_folder_is_not_run_instead_of_a_module(tmp_path: Path) -> None:
    for name in ("starlette", "uvicorn", "json", "agent_tui"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong file was run')")
    async with running(*serve(tmp_path), folder=tmp_path) as process:
        assert (await process.client.call("GET", "/health")).status == 200


async def test_what_only_real_models_and_migrations_need_is_not_loaded_at_the_start() -> None:
    heavy = ("pydantic", "pydantic_ai", "openai", "httpx", "alembic", "rich", "typer", "textual", "numpy")
    code = f"import sys, agent_tui.backend.__main__; print([m for m in {heavy} if m in sys.modules])"
    child = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-c", code, stdout=asyncio.subprocess.PIPE, cwd=os.sep
    )
    out, _ = await child.communicate()
    assert out == b"[]\n"


def test_a_bug_is_one_line_on_stderr_and_exit_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    def broken(settings: object) -> None:
        raise RuntimeError("two\nlines \x1b[2J")

    monkeypatch.setattr(program, "run", broken)
    assert program.main(["serve", "--token", TOKEN]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == "agent-tui: internal error: RuntimeError\n"
    assert "RuntimeError" in caplog.text


@pytest.mark.parametrize("arguments", [["--help"], ["serve", "--help"], ["embedded", "--help"]])
def test_help_is_on_stdout(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(arguments)
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out
