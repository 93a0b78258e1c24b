"""``agent-tui tools list|rules|forget``: the tools of agents, and the rules for calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from agent_tui.clients.chat import ChatClient
from agent_tui.clients.records import ToolInfo, ToolRule
from agent_tui.config.tool_rules import WRITING_TOOLS, spelled_out
from agent_tui.model.errors import ConfigError, NotFound
from agent_tui.model.inert import inert_line, visible_line
from tui.cli import output
from tui.cli.commands import connect
from tui.cli.commands.asking import ask_server, print_one, print_table, server_line, short_ids
from tui.cli.commands.conversations import ids_of_conversations
from tui.cli.output import OutputFormat
from tui.lists.order import ago
from tui.live.texts import BUILT_IN, about_tool
from tui.request import Source
from tui.screens.words import list_of, say

MAX_DESCRIPTION_CHARACTERS: Final = 80
RUNS: Final = {"read": "chat_form.tools.reads", "ask": "chat_form.tools.asks"}  # permission → its text
NO_TOOLS: Final = "no tools"
NO_RULES: Final = "nothing was allowed: every tool that changes or reaches something asks first"


def list_tools(source: Source, output_format: OutputFormat) -> None:
    """Print the tools that agents may use here, and on stderr problems of MCP servers; as JSON ``{"tools":
    […], "servers": […]}`` with their parameters.
    """
    tools, servers = ask_server(source, connect.chat_client, lambda client: client.backend.tools())
    if output_format == "json":
        output.write_json(
            {"tools": [asdict(tool) for tool in tools], "servers": [asdict(server) for server in servers]}
        )
        return
    for server in servers:
        if server.problem:
            output.notice(server_line(server))
    print_table(("TOOL", "PERMISSION", "FROM", "WHAT IT DOES"), map(_tool_row, tools), NO_TOOLS)


def list_rules(source: Source, output_format: OutputFormat) -> None:
    """Print the rules, except the config file's; as JSON ``{"rules": […]}``."""
    is_text = output_format != "json"

    async def look(client: ChatClient) -> tuple[list[ToolRule], Mapping[str, str]]:
        rules = await client.backend.rules()
        has_places = is_text and any(rule.conversation_id for rule in rules)
        return rules, await ids_of_conversations(client) if has_places else {}

    rules, places = ask_server(source, connect.chat_client, look)
    if not is_text:
        output.write_json({"rules": [asdict(rule) for rule in rules]})
        return
    short = short_ids([(rule.id, rule.pattern) for rule in rules])
    rows = [(short[rule.id], *_rule_cells(rule, places)) for rule in rules]
    print_table(("ID", "ALLOWED", "IN", "HOLDS FOR", "SINCE"), rows, NO_RULES)


def forget_rule(source: Source, wanted: str, output_format: OutputFormat) -> None:
    """Delete the rule with that id, beginning of an id, or pattern; raises ``NotFound`` if there is none."""

    async def forget(client: ChatClient) -> ToolRule:
        rule = _find(await client.backend.rules(), wanted)
        await client.backend.drop_rule(rule.id)
        return rule

    rule = ask_server(source, connect.chat_client, forget)
    print_one(f"asks again: {_rule_text(rule)}", asdict(rule), output_format)


def _rule_text(rule: ToolRule) -> str:
    return visible_line(spelled_out(rule.pattern or rule.tool), output.MAX_LINE_CHARACTERS)


def _rule_cells(rule: ToolRule, places: Mapping[str, str]) -> tuple[str, ...]:
    where = [visible_line(rule.folder)] if rule.folder else []
    if rule.conversation_id:
        name = inert_line(places.get(rule.conversation_id, rule.conversation_id))
        where.append(say("rules.in.chat", name=name))
    holds = say("rules.file" if rule.tool in WRITING_TOOLS else "rules.exact")
    return _rule_text(rule), list_of(where) or say("rules.in.all"), holds, ago(rule.created_at)


def _tool_row(tool: ToolInfo) -> tuple[str, ...]:
    runs = say(RUNS[tool.permission]) if tool.permission in RUNS else tool.permission
    source = say("tools.built_in") if tool.source == BUILT_IN else tool.source
    about = about_tool(tool.name, tool.source, tool.description)
    about = inert_line(about, MAX_DESCRIPTION_CHARACTERS)
    return tool.name, runs, source, say("tools.only_if_named", about=about) if tool.only_if_named else about


def _find(rules: list[ToolRule], wanted: str) -> ToolRule:
    exact = [rule for rule in rules if wanted in (rule.id, rule.pattern, spelled_out(rule.pattern))]
    found = exact or [rule for rule in rules if rule.id.startswith(wanted)]
    if not found:
        raise NotFound(f'there is no rule "{inert_line(wanted)}"', "agent-tui tools rules lists them")
    if len(found) > 1:
        raise ConfigError(f'"{inert_line(wanted)}" fits {len(found)} rules', "give more of its id")
    return found[0]
