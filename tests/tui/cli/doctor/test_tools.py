"""What ``agent-tui doctor`` says about the servers of tools in the config file."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from agent_tui.backend.tools.mcp.server import McpServer
from agent_tui.backend.tools.tool import ToolError
from agent_tui.clients.records import ToolServer
from agent_tui.config.tools import McpConfig
from tests.fakes import mcp_server
from tests.fakes.servers.http_server import FakeServer, Reply, Request, Responder
from tests.tui.programs import home_at
from tui.cli.doctor.checks import lines
from tui.cli.doctor.servers import tools_check

SETTINGS = """
[mcp.good]
command = {python}
args = [{program}]
[mcp.dead]
command = {python}
args = ["-c", ""]
[mcp.nowhere]
command = "no-such-command"
[mcp.keyless]
url = "http://127.0.0.1:1/"
token_env = "NOT_SET_HERE"
"""


def test_each_server_of_tools_is_asked_for_them_and_told_what_it_lacks(tmp_path: Path) -> None:
    with home_at(tmp_path) as home:
        paths = {"python": json.dumps(sys.executable), "program": json.dumps(mcp_server.__file__)}
        home.config.write_text(SETTINGS.format(**paths), encoding="utf-8")
        done = home.main("doctor", "--json")
    found = {check["id"]: check for check in json.loads(done.stdout)["checks"]}
    assert done.returncode == 4
    assert (found["mcp.good"]["status"], found["mcp.good"]["detail"].split()[1]) == ("ok", "tools")
    assert found["mcp.dead"]["detail"] == "it ended with exit code 0"
    assert found["mcp.dead"]["fix"] == "run its command by hand, or correct mcp.dead.command and .args"
    assert found["mcp.nowhere"]["detail"] == "there is no command no-such-command"
    assert found["mcp.keyless"]["detail"] == "NOT_SET_HERE is not set in this environment"
    assert all(found[f"mcp.{name}"]["fix"] for name in ("dead", "nowhere", "keyless"))


class Odd(FakeServer):
    """Answers 404 at /missing, speaks the older transport at /sse, and says nothing at all at /silent."""

    def responder(self, request: Request) -> Responder:
        return {"/sse": self._older, "/silent": self._silent}.get(request.path, self._missing)

    async def _missing(self, request: Request, reply: Reply) -> None:
        await reply.head(404)
        await reply.end()

    async def _older(self, request: Request, reply: Reply) -> None:
        if request.method != "GET":
            await reply.head(405)
            await reply.end()
            return
        await reply.head(200, {"Content-Type": "text/event-stream"})
        await reply.send(b"event: endpoint\r\ndata: /messages?session=1\r\n\r\n")
        await asyncio.Event().wait()

    async def _silent(self, request: Request, reply: Reply) -> None:
        await asyncio.Event().wait()


async def test_what_is_wrong_with_a_server_is_told_apart_and_what_helps_is_said() -> None:
    async with Odd() as odd:
        urls = {
            "missing": f"{odd.url}/missing",
            "older": f"{odd.url}/sse",
            "silent": f"{odd.url}/silent",
            "refused": "http://127.0.0.1:9/mcp",
        }
        said = {name: await _said(McpConfig(name, url=url)) for name, url in urls.items()}
    assert "(status 404)" in said["missing"][0]
    assert said["missing"][1] == (
        "correct the path of mcp.missing.url: there is nothing at this one; often it is /mcp"
    )
    assert said["older"] == (
        "it speaks the older transport of MCP (HTTP with SSE), which is not supported",
        "give mcp.older.url its streamable HTTP address, often with /mcp in place of /sse",
    )
    assert said["silent"] == ("it did not answer within 1 s", "start the server, or correct mcp.silent.url")
    assert "Connection refused" in said["refused"][0]
    assert said["refused"][1] == "start the server, or correct mcp.refused.url"


async def _said(one: McpConfig) -> tuple[str, str]:
    server = McpServer(one, start_seconds=1 if one.name == "silent" else 60)
    with pytest.raises(ToolError):
        await server.start()
    state = server.as_listed(0)
    await server.aclose()
    assert (state.name, state.status) == (one.name, "failed")
    listed = ToolServer(state.name, state.status, problem=state.problem, fix=state.fix)
    check = tools_check({}, one, [listed])
    assert (check.status, check.detail, check.fix) == ("failed", state.problem, state.fix)
    return state.problem, state.fix


def test_tools_that_are_left_out_are_a_warning_with_the_way_to_choose() -> None:
    many = ToolServer("many", "ready", 200, 312, "only the first 200 of 312 tools are used; name them", "")
    check = tools_check({}, McpConfig("many", url="http://127.0.0.1:1/"), [many])
    assert (check.status, check.detail) == ("warning", many.problem)


def test_where_the_backend_says_nothing_of_a_server_nothing_is_said_to_have_failed() -> None:
    server = McpConfig("far", url="http://127.0.0.1:1/")
    (line,) = lines(tools_check({}, server, None))
    assert line == "skipped tools far: the backend does not say how it stands"
