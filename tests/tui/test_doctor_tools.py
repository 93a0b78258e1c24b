"""What ``agent-tui doctor`` says about the servers of tools in the config file."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from agent_tui.tool_config import McpConfig
from tests.fakes import mcp_server
from tests.tui.programs import home_at
from tui.doctor import lines
from tui.doctor_servers import tools_check

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
    assert found["mcp.dead"]["detail"] == "it does not answer, or offers no tools"
    assert str(home.data / "backend.log") in found["mcp.dead"]["fix"]
    assert found["mcp.nowhere"]["detail"] == "there is no command no-such-command"
    assert found["mcp.keyless"]["detail"] == "NOT_SET_HERE is not set in this environment"
    assert all(found[f"mcp.{name}"]["fix"] for name in ("dead", "nowhere", "keyless"))


def test_where_the_backend_names_no_tools_nothing_is_said_to_have_failed(tmp_path: Path) -> None:
    server = McpConfig("far", url="http://127.0.0.1:1/")
    (line,) = lines(tools_check({}, server, None, tmp_path))
    assert line == "skipped tools far: the backend does not say which tools it has"
