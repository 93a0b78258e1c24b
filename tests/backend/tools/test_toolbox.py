"""All tools together: what there is, what it may do without asking, and how soon one knows."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from agent_tui.backend.tools.simple import CurrentTime
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.config.file import Config
from agent_tui.config.tools import McpConfig, ToolsConfig
from tests.backend.tools.calls import called, refused
from tests.backend.tools.test_mcp import config

NOWHERE = Config(Path("/nowhere/config.toml"))
READING = ("current_time", "calculator", "list_files", "read_file", "search_files")
ASKING = ("write_file", "patch_file", "fetch_url", "run_command")


async def test_the_tools_are_there_and_those_that_change_or_reach_something_ask() -> None:
    box = Toolbox(lambda: NOWHERE)
    listed = await box.list_tools()
    assert {one.spec.name: one.permission for one in listed} == (
        dict.fromkeys(READING, "read") | dict.fromkeys(ASKING, "ask")
    )
    assert {one.source for one in listed} == {"built-in"}
    assert await box.specs() == tuple(one.spec for one in listed)
    for one in listed:
        tool = box.tool(one.spec.name)
        assert tool is not None
        assert tool.spec is one.spec
        json.dumps(one.spec.parameters)
    assert box.tool("nothing") is None
    await box.aclose()


async def test_a_server_that_cannot_be_started_takes_nothing_from_the_others() -> None:
    broken = McpConfig("broken", "/no/such/program")
    box = Toolbox(lambda: Config(NOWHERE.path, mcp={"broken": broken, "fake": config(read_only=("look",))}))
    try:
        listed = {one.spec.name: one for one in await box.list_tools()}
        assert (listed["fake__look"].permission, listed["fake__look"].source) == ("read", "fake")
        assert listed["fake__add"].permission == "ask"
        assert not [name for name in listed if name.startswith("broken")]
        tool = box.tool("fake__look")
        assert tool is not None
        assert (await called(tool)).content == "looked"
        assert await box.list_tools() == tuple(listed.values())
    finally:
        await box.aclose()


async def test_the_tools_are_those_that_the_file_names_now() -> None:
    said = Config(NOWHERE.path, mcp={"fake": config(), "other": replace(config(), name="other")})
    box = Toolbox(lambda: said)
    try:
        names = {one.spec.name for one in await box.list_tools()}
        assert {"fake__look", "other__look"} <= names
        gone, kept = box.tool("fake__look"), box.tool("other__look")
        assert gone is not None
        allow = ToolsConfig(allow=("run_command(make)",))
        said = replace(said, tools=allow, mcp={"other": replace(config(), name="other")})
        assert {one.spec.name for one in await box.list_tools()} == {
            name for name in names if not name.startswith("fake")
        }
        assert (box.allow, box.tool("fake__look"), box.tool("other__look")) == (allow.allow, None, kept)
        assert "is closed" in await refused(gone)
        said = replace(said, mcp={"other": replace(config(read_only=("look",)), name="other")})
        assert {one.spec.name: one.permission for one in await box.list_tools()}["other__look"] == "read"
    finally:
        await box.aclose()


def test_making_a_toolbox_loads_nothing_heavy() -> None:
    code = (
        "import sys; from pathlib import Path; from agent_tui.config.file import Config;"
        "from agent_tui.backend.tools.toolbox import Toolbox; Toolbox(lambda: Config(Path('/nowhere')));"
        "print(' '.join({'mcp', 'httpx', 'httpx2', 'jsonschema', 'pydantic', 'anyio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("zone", "time", "weekday"),
    [
        ("Europe/Berlin", "2025-07-01T01:30:00+02:00", "Tuesday"),
        ("Asia/Kathmandu", "2025-07-01T05:15:00+05:45", "Tuesday"),
        ("UTC", "2025-06-30T23:30:00+00:00", "Monday"),
    ],
)
async def test_the_time_is_told_in_the_zone_that_was_named(zone: str, time: str, weekday: str) -> None:
    tool = CurrentTime(lambda: datetime(2025, 6, 30, 23, 30, tzinfo=UTC))
    output = await called(tool, zone=zone)
    assert json.loads(output.content) == {"time": time, "weekday": weekday, "zone": zone}
    assert "zone" in (await called(tool)).content


@pytest.mark.parametrize(
    "zone", ["Berlin", "../../etc/passwd", "/etc/passwd", "a\0b", "Europe", "\x1b[2J", "x" * 200]
)
async def test_a_zone_that_is_none_is_refused(zone: str) -> None:
    said = await refused(CurrentTime(), zone=zone)
    assert "time zone" in said or "too long" in said
    assert "\x1b" not in said
