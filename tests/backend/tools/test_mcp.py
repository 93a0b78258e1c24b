"""Servers of tools that do what they should, that die, hang, flood and lie."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCResponse

from agent_tui.backend.models.model import Image
from agent_tui.backend.tools.calling import run_tool
from agent_tui.backend.tools.mcp.listing import with_valid_tools
from agent_tui.backend.tools.mcp.results import MAX_IMAGES
from agent_tui.backend.tools.mcp.server import MAX_LISTED, McpServer
from agent_tui.backend.tools.mcp.tools import McpTool, how_many, tools_of_server
from agent_tui.backend.tools.tool import ToolError, ToolOutput, ToolPlace
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.config.file import Config
from agent_tui.config.tools import McpConfig
from tests.backend.tools.calls import called, refused, run_text
from tests.backend.tools.test_shell import LINUX, is_alive, until
from tests.fakes import mcp_server
from tests.fakes.servers.http_server import FakeServer, Reply, Request, Responder
from tests.fakes.servers.tls_server import CA, tls_server

FAKE = str(Path(mcp_server.__file__).resolve())


def config(mode: str = "", **fields: Any) -> McpConfig:
    return McpConfig("fake", sys.executable, (FAKE, mode), **fields)


@asynccontextmanager
async def running(
    one: McpConfig | None = None, **times: float
) -> AsyncGenerator[tuple[McpServer, dict[str, McpTool]]]:
    """Give a started server and its tools by their own names."""
    server = McpServer(one or config(), **times)
    try:
        await server.start()
        yield server, {tool.spec.name.removeprefix("fake__"): tool for tool in tools_of_server(server)}
    finally:
        await server.aclose()


async def test_a_server_offers_its_tools_and_answers() -> None:
    async with running(config(read_only=("look",))) as (_, tools):
        assert list(tools)[:3] == ["add", "look", "fail"]
        assert tools["add"].spec.name == "fake__add"
        assert tools["add"].spec.description == "Adds two numbers.␛[31m\ufffd"
        assert (tools["look"].permission, tools["add"].permission) == ("read", "ask")
        assert [tools[name].changes for name in ("look", "add", "photo")] == [False, True, False]
        assert tools["photo"].permission == "ask"  # what its server claims gives it no permission
        assert (await called(tools["add"], a=1, b=2)).content == "3"
        assert (await called(tools["picture"])).content == "[image, image/png, 3 bytes]\nseen"
        assert await refused(tools["fail"]) == "there is no more paper␛[2J"
        assert "a: 'x' is not of type 'number'" in await refused(tools["add"], a="x")
        ask = tools["add"].ask({"a": 1, "b": "\x1b[2J"}, ToolPlace())
        assert ask.call == 'fake__add {"a": 1, "b": "\\u001b[2J"}'
        long = {"a": "x" * 40_000 + " " * 3_000 + "\u202eend"}
        shown = tools["add"].ask(long, ToolPlace()).preview
        assert shown == '{\n  "a": "' + "x" * 40_000 + '␣×3000<U+202E>end"\n}'


async def test_images_and_resources_come_with_the_answer() -> None:
    async with running() as (_, tools):
        photo = await called(tools["photo"])
        assert photo.content == "a dot:\n[image, text/odd, 70 bytes]"
        png = base64.b64decode(mcp_server.PNG)
        assert photo.images == (Image("image/png", png),)
        assert (await called(tools["picture"])).images == ()  # it only says that it is one
        many = await called(tools["many-photos"])
        assert len(many.images) == MAX_IMAGES
        assert many.content.count("[image, image/png, 70 bytes]") == MAX_IMAGES
        assert many.content.endswith("[image, image/png, 70 bytes, left out: too many or too large]")
        links = await called(tools["links"])
        assert links.images == (Image("image/png", png),)
        assert links.content.splitlines() == [
            "[notes: file:///notes]",
            "tea at four",
            "[dot: file:///dot]",
            "[image, image/png, 70 bytes]",
            "[packed: file:///packed]",
            "[data, application/zip, 3 bytes]",
            "[gone: file:///gone, not read: there is no such method]",
            "[file:///within]",
            "inside",
        ]


async def test_a_call_tells_how_far_it_is(tmp_path: Path) -> None:
    told: list[str] = []
    async with running(config(env={"GO_ON": str(tmp_path / "go-on")})) as (_, tools):
        call = asyncio.create_task(run_tool(tools["working"], {}, ToolPlace(tell=told.append)))
        files = [tmp_path / f"go-on{stage}" for stage in (1, 2, 3)]
        for at, file in enumerate(files, 1):
            await until(partial(lambda at: len(told) == at, at))
            file.write_bytes(b"")
        assert (await call).content == "worked"
    assert told == [f"{stage} of 3: stage {stage}␛[2J\ufffd" for stage in (1, 2, 3)]


async def test_an_answer_that_is_too_large_is_cut() -> None:
    async with running() as (_, tools):
        output = await called(tools["large"])
        assert output.size == mcp_server.LARGE_CHARACTERS
        assert len(output.content) < 101_000


async def test_an_answer_that_is_nested_too_deep_ends_the_call() -> None:
    async with running() as (_, tools):
        assert "nested too deep" in await refused(tools["deep"])
        assert (await called(tools["look"])).content == "looked"


async def test_a_server_none_of_whose_tools_is_valid_says_so() -> None:
    async with running(config("wrong")) as (server, tools):
        assert tools == {}
        assert how_many(server, 0).startswith("1 of 1 tools cannot be used")


async def test_a_server_that_dies_in_mid_call_is_told_and_started_again_not_too_soon() -> None:
    async with running(pause_seconds=600) as (_, tools):
        said = await refused(tools["die"])
        assert "it ended with exit code 3: out of memory␛[2J" in said
        assert "not known whether it carried this out" in said
        said = await refused(tools["look"])
        assert "does not run (it ended with exit code 3: out of memory␛[2J)" in said
        assert "started again in" in said
    async with running(pause_seconds=0) as (_, tools):
        calls = await asyncio.gather(called(tools["die"]), called(tools["die"]))
        assert [call.success for call in calls] == [False, False]
        assert (await called(tools["look"])).content == "looked"


async def test_a_server_that_dies_is_not_told_with_words_from_before_the_call() -> None:
    async with running(pause_seconds=600) as (_, tools):
        assert await refused(tools["fail"]) == "there is no more paper␛[2J"
        assert "it ended with exit code 3; it is not known" in await refused(tools["die"], words="")


async def test_a_server_that_hangs_is_told_and_started_again() -> None:
    async with running(call_seconds=0.3, check_seconds=0.3, pause_seconds=0) as (server, tools):
        said = await refused(tools["hang"])
        assert "did not answer within 0.3 s" in said
        server.call_seconds = 60.0
        assert (await called(tools["look"])).content == "looked"


async def test_a_server_that_never_stops_talking_is_ended() -> None:
    async with running(pause_seconds=0) as (_, tools):
        assert "a message of more than 8,388,608 bytes" in await refused(tools["flood"])
        assert (await called(tools["look"])).content == "looked"


async def test_cancelling_a_call_leaves_the_server_running() -> None:
    async with running() as (_, tools):
        before = await called(tools["environment"])
        call = asyncio.create_task(called(tools["large"]))
        await asyncio.sleep(0)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert (await called(tools["look"])).content == "looked"
        assert (await called(tools["environment"])).content == before.content


@LINUX
async def test_a_server_is_closed_with_its_children() -> None:
    async with running() as (_, tools):
        pids = [int(pid) for pid in (await called(tools["family"])).content.split()]
        assert len(pids) == 3
        assert all(is_alive(pid) for pid in pids)
    assert not [pid for pid in pids if is_alive(pid)]


@LINUX
async def test_a_server_that_is_killed_takes_its_children_with_it() -> None:
    async with running(pause_seconds=600) as (_, tools):
        pids = [int(pid) for pid in (await called(tools["family"])).content.split()]
        os.kill(pids[0], 9)
        await until(lambda: not any(is_alive(pid) for pid in pids))
        assert "exit code 137" in await refused(tools["look"])


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (config("dies"), "it ended with exit code 4: no such database"),
        (
            McpConfig(
                "fake", "/bin/sh", ("-c", 'echo "bad $1" >&2; exit 3', "sh", "--api-key=geheim-geheim")
            ),
            "it ended with exit code 3: bad --api-key=********",
        ),
        (McpConfig("fake", "/no/such/program"), "exit code 127: /no/such/program: No such file or directory"),
        (McpConfig("fake", "~no-such-user/x"), "its program: there is no path ~no-such-user/x"),
        (McpConfig("fake", url="http://127.0.0.1:9/mcp"), "Connection refused"),
        (config("silent"), "did not start within 0.5 s"),
    ],
)
async def test_a_server_that_cannot_be_started_says_why_and_offers_nothing(one: McpConfig, why: str) -> None:
    server = McpServer(one, start_seconds=0.5 if "silent" in one.args else 60.0)
    with pytest.raises(ToolError, match="cannot be started") as error:
        await server.start()
    assert why in str(error.value)
    with pytest.raises(ToolError, match="does not run"):
        await server.start()
    assert tools_of_server(server) == ()
    await server.aclose()
    with pytest.raises(ToolError, match="is closed"):
        await server.start()


async def test_descriptions_and_schemas_are_not_believed() -> None:
    async with running(config("rude")) as (_, tools):
        assert not {"wrong", "wide", "typeless"} & tools.keys()
        assert len(tools["long"].spec.description) == 2_000
        assert tools["noted"].spec.description == "Notes."  # only its annotations are wrong
        assert (await called(tools["noted"])).content == "this is noted"
        output = await called(tools["slow"], text="a" * 100 + "!", far=1, round={"text": 1})
        assert output.content == "looked"


async def test_a_name_that_models_may_not_use_is_told_in_letters_and_called_as_it_is() -> None:
    async with running(config("rude", read_only=("look.up",))) as (_, tools):
        assert {tool.spec.name: tool.permission for tool in tools.values()} == {
            "fake__a_name__rm_-rf": "ask",
            f"fake__{'x' * 58}": "ask",
            f"fake__{'x' * 56}_2": "ask",
            "fake__look_up_2": "read",
            "fake__look_up_3": "ask",
            "fake__look_up": "ask",  # which has that name itself
            "fake____0_title_": "ask",
            "fake__slow": "ask",
            "fake__long": "ask",
            "fake__noted": "ask",
            "fake__shaped": "ask",
            "fake__mute": "ask",
        }
        assert (await called(tools["look_up_2"])).content == "this is look.up"
        assert (await called(tools["look_up_3"])).content == "this is look/up"
        assert (await called(tools["look_up"])).content == "this is look_up"
        assert (await called(tools["x" * 56 + "_2"])).content == f"this is {'x' * 90}"


async def test_of_a_thousand_tools_the_first_are_used_and_it_is_said_how_to_choose() -> None:
    async with running(config("many")) as (server, tools):
        assert list(tools) == [f"tool-{number}" for number in range(200)]
        assert how_many(server, len(tools)) == (
            "only the first 200 of 1000 tools are used; name those you need in mcp.fake.tools"
        )
    async with running(config("many", tools=("tool-99?", "tool-3"))) as (server, tools):
        assert list(tools) == ["tool-3", *(f"tool-{number}" for number in range(990, 1000))]
        assert how_many(server, len(tools)) == ""


async def test_of_tools_with_large_schemas_no_more_are_checked_than_is_quick() -> None:
    async with running(config("heavy")) as (_, tools):
        assert list(tools) == [f"tool-{number}" for number in range(52)]


async def test_of_a_list_of_tools_no_more_are_looked_at_than_are_kept() -> None:
    wrong = [{"name": "wrong", "inputSchema": {"type": "no object"}}] * (MAX_LISTED + 500)
    to_us, read = anyio.create_memory_object_stream[SessionMessage | Exception](1)
    write, from_us = anyio.create_memory_object_stream[SessionMessage](1)
    message = JSONRPCResponse(jsonrpc="2.0", id=1, result={"tools": wrong})
    async with to_us, write, from_us, with_valid_tools(nullcontext((read, write))) as (valid, _), valid:
        await to_us.send(SessionMessage(message))
        received = await valid.receive()
    assert isinstance(received, SessionMessage)
    assert isinstance(received.message, JSONRPCResponse)
    assert len(received.message.result["tools"]) == MAX_LISTED


async def test_tools_that_a_server_learns_later_are_offered_then() -> None:
    box = Toolbox(lambda: Config(Path("/nowhere/config.toml"), mcp={"fake": config("grows")}))
    try:
        assert "fake__learned-0" not in {one.spec.name for one in await box.list_tools()}
        tool = box.tool("fake__grow")
        assert tool is not None
        assert (await called(tool)).content == "grown"
        async with asyncio.timeout(30):
            while "fake__learned-0" not in {one.spec.name for one in await box.list_tools()}:
                assert (await called(tool)).content == "grown"  # a round trip
    finally:
        await box.aclose()


async def test_a_server_whose_tools_change_all_the_time_is_not_asked_for_them_all_the_time() -> None:
    async with running(config("restless"), list_seconds=3600) as (_, tools):
        for _ in range(20):  # round trips: each would be one more list
            said = await called(tools["count"])
        assert said.content in ("listed 1 times", "listed 2 times")


async def test_a_server_gets_only_the_environment_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("SOME_KEY", "SOME_TOKEN", "HARMLESS", "HANDED_ON"):
        monkeypatch.setenv(name, f"value of {name}")
    async with running(config(env={"GIVEN": "yes"}, env_from=("HANDED_ON", "NOT_THERE"))) as (_, tools):
        environ = json.loads((await called(tools["environment"])).content)
    assert environ["GIVEN"] == "yes"
    assert environ["HANDED_ON"] == "value of HANDED_ON"
    assert not {"SOME_KEY", "SOME_TOKEN", "HARMLESS", "NOT_THERE"} & environ.keys()


@pytest.mark.usefixtures("no_home")
@pytest.mark.parametrize("home", ["", "/not/there"])
async def test_a_server_runs_for_a_user_without_a_home_folder(
    home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if home:
        monkeypatch.setenv("HOME", home)
    async with running() as (_, tools):
        assert (await called(tools["add"], a=1, b=2)).content == "3"


OFFICIAL = """
from mcp.server import MCPServer
server = MCPServer("official")

@server.tool()
def twice(text: str, times: int = 2) -> str:
    "Says it again."
    return text * times

@server.tool()
def crash() -> dict[str, int]:
    raise RuntimeError("on purpose")

server.run()
"""


@pytest.mark.slow
async def test_a_server_of_the_official_package_is_understood() -> None:
    one = McpConfig("fake", sys.executable, ("-c", OFFICIAL))
    async with running(one, start_seconds=60.0) as (_, tools):
        assert (await called(tools["twice"], text="ab")).content == "abab"
        assert "'text' is a required property" in await refused(tools["twice"])
        assert "crash" in await refused(tools["crash"])


class HttpMcp(FakeServer):
    """The same server behind an address; asks for a token."""

    def __init__(self) -> None:
        super().__init__()
        self.is_gone = False

    def responder(self, request: Request) -> Responder:
        return self._answer

    async def _answer(self, request: Request, reply: Reply) -> None:
        if request.headers.get("authorization") != "Bearer open sesame":
            await reply.head(401)
            await reply.end()
            return
        message = json.loads(request.body) if request.method == "POST" else {}
        name = (message.get("params") or {}).get("name")
        if self.is_gone or name == "die":
            await reply.reset()
        elif name == "hang":
            await asyncio.Event().wait()
        elif name == "picture":
            await reply.head(200, {"Content-Type": "application/json", "Content-Encoding": "gzip"})
            await reply.send(gzip.compress(json.dumps(mcp_server.answer(message)).encode()))
            await reply.end()
        elif name == "flood":
            await reply.head(200, {"Content-Type": "application/json"})
            while True:
                await reply.send(b" " * 1_000_000)
        elif (said := mcp_server.answer(message)) is None:
            await reply.head(202 if request.method == "POST" else 405)
            await reply.end()
        else:
            await reply.head(200, {"Content-Type": "application/json"})
            await reply.send(json.dumps(said).encode())
            await reply.end()


async def test_a_server_behind_an_address_answers_and_may_die(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESAME", "open sesame")
    async with HttpMcp() as http:
        one = McpConfig("fake", url=f"{http.url}/mcp", token_env="SESAME")
        async with running(one, pause_seconds=0, call_seconds=60.0) as (server, tools):
            assert (await called(tools["add"], a=1, b=2)).content == "3"
            assert "MCP server fake" in await refused(tools["die"])
            assert (await called(tools["look"])).content == "looked"
            assert "MCP server fake" in await refused(tools["flood"])
            assert (await called(tools["look"])).content == "looked"
            assert "MCP server fake" in await refused(tools["picture"])  # it comes packed
            assert (await called(tools["look"])).content == "looked"
            server.call_seconds = 0.3
            assert "did not answer within 0.3 s" in await refused(tools["hang"])
            server.call_seconds = 60.0
            assert (await called(tools["look"])).content == "looked"
            http.is_gone = True
            assert "MCP server fake" in await refused(tools["look"])
            http.is_gone = False
            assert (await called(tools["look"])).content == "looked"


async def test_a_server_that_refuses_the_token_is_told_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESAME", "wrong secret")
    async with HttpMcp() as http:
        server = McpServer(McpConfig("fake", url=f"{http.url}/mcp", token_env="SESAME"))
        with pytest.raises(ToolError, match="cannot be started") as error:
            await server.start()
        assert "(status 401: is the token right?)" in str(error.value)
        assert "secret" not in str(error.value)
        await server.aclose()


async def test_a_server_on_this_machine_is_not_asked_through_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESAME", "open sesame")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    async with (
        HttpMcp() as http,
        running(McpConfig("fake", url=f"{http.url}/mcp", token_env="SESAME")) as one,
    ):
        assert (await called(one[1]["look"])).content == "looked"


async def test_a_certificate_that_is_not_trusted_is_told_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(CA))
    async with tls_server("selfsigned") as http:
        server = McpServer(McpConfig("fake", url=f"{http.url}/mcp"))
        with pytest.raises(ToolError, match="the certificate of the server is self-signed"):
            await server.start()
        await server.aclose()


async def test_many_calls_at_once_get_their_own_answers() -> None:
    async with running() as (_, tools):
        add = tools["add"]
        calls = (run_text(add, json.dumps({"a": n, "b": 1}), ToolPlace()) for n in range(30))
        said: list[ToolOutput] = await asyncio.gather(*calls)
    assert [one.content for one in said] == [str(n + 1) for n in range(30)]
