"""``agent-tui tools list|rules|forget``: what agents may use, and what is always allowed."""

from __future__ import annotations

from dataclasses import asdict
from typing import Final

from agent_tui.clients.chat import ChatClient
from agent_tui.clients.chat_answers import ToolInfo, ToolRule
from agent_tui.errors import ConfigError, NotFound
from agent_tui.inert import inert_line
from tui import connect, exits, output
from tui.commands import age, asked, listed, server_line, told
from tui.output import OutputFormat
from tui.request import Source

MAX_DESCRIPTION_CHARACTERS: Final = 80
RUNS: Final = {"read": "only reads", "ask": "asks first"}  # permission → what it means
NO_TOOLS: Final = "no tools"
NO_RULES: Final = "nothing is always allowed: every tool that changes or reaches something asks first"


def list_tools(source: Source, output_format: OutputFormat) -> int:
    """Print the tools that agents may use here, and on stderr what is wrong with MCP servers; as JSON
    ``{"tools": […], "servers": […]}`` with their parameters.
    """
    tools, servers = asked(source, connect.chat_client, lambda client: client.tools())
    if output_format == "json":
        output.write_json(
            {"tools": [asdict(tool) for tool in tools], "servers": [asdict(server) for server in servers]}
        )
        return exits.DONE
    for server in servers:
        if server.problem:
            output.notice(server_line(server))
    return listed(("TOOL", "PERMISSION", "FROM", "WHAT IT DOES"), map(_tool_row, tools), NO_TOOLS)


def list_rules(source: Source, output_format: OutputFormat) -> int:
    """Print what is always allowed, but for what the config file allows; as JSON ``{"rules": […]}``."""
    rules = asked(source, connect.chat_client, lambda client: client.rules())
    if output_format == "json":
        output.write_json({"rules": [asdict(rule) for rule in rules]})
        return exits.DONE
    rows = ((rule.id, rule.pattern or rule.tool, age(rule.created_at)) for rule in rules)
    return listed(("ID", "ALWAYS ALLOWED", "SINCE"), rows, NO_RULES)


def forget_rule(source: Source, wanted: str, output_format: OutputFormat) -> int:
    """Let it be asked again what the rule ``wanted`` allows: its id, its pattern, or the only beginning of
    an id. Raises ``NotFound`` when there is no such rule.
    """

    async def forget(client: ChatClient) -> ToolRule:
        rule = _find(await client.rules(), wanted)
        await client.drop_rule(rule.id)
        return rule

    rule = asked(source, connect.chat_client, forget)
    return told(f"asks again: {inert_line(rule.pattern or rule.tool)}", asdict(rule), output_format)


def _tool_row(tool: ToolInfo) -> tuple[str, ...]:
    runs = RUNS.get(tool.permission, tool.permission)
    return tool.name, runs, tool.source, inert_line(tool.description, MAX_DESCRIPTION_CHARACTERS)


def _find(rules: list[ToolRule], wanted: str) -> ToolRule:
    exact = [rule for rule in rules if wanted in (rule.id, rule.pattern)]
    found = exact or [rule for rule in rules if rule.id.startswith(wanted)]
    if not found:
        raise NotFound(f'there is no rule "{inert_line(wanted)}"', "agent-tui tools rules lists them")
    if len(found) > 1:
        raise ConfigError(f'"{inert_line(wanted)}" fits {len(found)} rules', "give more of its id")
    return found[0]
