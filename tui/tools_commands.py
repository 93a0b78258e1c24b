"""``agent-tui tools list|rules|forget``: what agents may use, and what is always allowed."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final, Literal

from agent_tui.clients.chat import ChatClient
from agent_tui.clients.chat_answers import ToolRule
from agent_tui.errors import ConfigError, NotFound
from agent_tui.inert import inert_line
from tui import exits, output
from tui.conversations_commands import ask_server
from tui.request import Source
from tui.rooms_commands import age

OutputFormat = Literal["text", "json"]
MAX_DESCRIPTION_CHARACTERS: Final = 80
RUNS: Final = {"read": "runs", "ask": "asks first"}  # permission → what it means
NO_TOOLS: Final = "no tools"
NO_RULES: Final = "nothing is always allowed: every tool that changes or reaches something asks first"


def list_tools(source: Source, output_format: OutputFormat) -> int:
    """Print the tools that agents may use here; as JSON ``{"tools": […]}`` with their parameters."""
    tools = ask_server(source, lambda client: client.tools())
    if output_format == "json":
        output.write_json({"tools": [asdict(tool) for tool in tools]})
    elif tools:
        head = ("TOOL", "PERMISSION", "FROM", "WHAT IT DOES")
        rows = [
            (
                tool.name,
                RUNS.get(tool.permission, tool.permission),
                tool.source,
                inert_line(tool.description, MAX_DESCRIPTION_CHARACTERS),
            )
            for tool in tools
        ]
        output.say(output.table([head, *rows]))
    else:
        output.notice(NO_TOOLS)
    return exits.DONE


def list_rules(source: Source, output_format: OutputFormat) -> int:
    """Print what is always allowed, but for what the config file allows; as JSON ``{"rules": […]}``."""
    rules = ask_server(source, lambda client: client.rules())
    if output_format == "json":
        output.write_json({"rules": [asdict(rule) for rule in rules]})
    elif rules:
        now = datetime.now(UTC)
        rows = [(rule.id, rule.pattern or rule.tool, age(rule.created_at, now)) for rule in rules]
        output.say(output.table([("ID", "ALWAYS ALLOWED", "SINCE"), *rows]))
    else:
        output.notice(NO_RULES)
    return exits.DONE


def forget_rule(source: Source, wanted: str, output_format: OutputFormat) -> int:
    """Let it be asked again what the rule ``wanted`` allows: its id, its pattern, or the only beginning of
    an id. Raises ``NotFound`` when there is no such rule.
    """

    async def forget(client: ChatClient) -> ToolRule:
        rule = _find(await client.rules(), wanted)
        await client.drop_rule(rule.id)
        return rule

    rule = ask_server(source, forget)
    if output_format == "json":
        output.write_json(asdict(rule))
    else:
        output.say(f"asks again: {inert_line(rule.pattern or rule.tool)}")
    return exits.DONE


def _find(rules: list[ToolRule], wanted: str) -> ToolRule:
    exact = [rule for rule in rules if wanted in (rule.id, rule.pattern)]
    found = exact or [rule for rule in rules if rule.id.startswith(wanted)]
    if not found:
        raise NotFound(f'there is no rule "{inert_line(wanted)}"', "agent-tui tools rules lists them")
    if len(found) > 1:
        raise ConfigError(f'"{inert_line(wanted)}" fits {len(found)} rules', "give more of its id")
    return found[0]
