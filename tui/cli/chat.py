"""The commands about chats and their options: ``ask``, ``conversations``, ``tools``.

They import what they need themselves, after the backend was started: the two load side by side.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from agent_tui.config.file import CHAT, SOCKET
from agent_tui.model.errors import ConfigError
from tui.cli import completion
from tui.cli.output import PROGRAM
from tui.cli.parts import (
    STRICT_VARIABLE,
    Command,
    Group,
    OutFile,
    Output,
    RunOutput,
    Yes,
    connection_of,
    given,
)
from tui.request import ANSWERING, other_server, wants_embedded
from tui.startup import choose_source, open_chat

NO_TOOLS = "none"
_NAMED = ("CONVERSATION", "conversations")

Conversation = Annotated[str, typer.Argument(autocompletion=completion.conversations)]
ExportFormat = Annotated[Literal["md", "json", "html", "srt"], typer.Option("--format")]

conversations = typer.Typer(cls=Group, rich_markup_mode=None)
tools = typer.Typer(cls=Group, rich_markup_mode=None)


def add_chat_commands(app: typer.Typer) -> None:
    """Give the program the commands of this module."""
    app.command("chat", cls=Command)(_chat)
    app.command("ask", cls=Command)(_ask)
    app.add_typer(conversations, name="conversations")
    app.add_typer(tools, name="tools")


# --- on a screen -----------------------------------------------------------------------------------------


def _chat(
    context: typer.Context,
    conversation: Annotated[str | None, typer.Argument(autocompletion=completion.conversations)] = None,
    new: Annotated[bool, typer.Option("--new")] = False,
) -> int:
    wanted = "" if conversation is None else given(conversation, "CONVERSATION", "chat")
    if wanted and new:
        raise ConfigError("--new makes a conversation", f"see {PROGRAM} chat --help")
    return open_chat(connection_of(context), wanted, is_new=new)


# --- ask -------------------------------------------------------------------------------------------------


def _ask(
    context: typer.Context,
    text: Annotated[list[str] | None, typer.Argument()] = None,
    files: Annotated[list[Path] | None, typer.Option("--file", "-f")] = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", autocompletion=completion.conversations)
    ] = None,
    chat_id: Annotated[int | None, typer.Option("--chat-id")] = None,
    model: Annotated[str | None, typer.Option("--model")] = None,
    provider: Annotated[str | None, typer.Option("--provider", autocompletion=completion.providers)] = None,
    tool_names: Annotated[str | None, typer.Option("--tools")] = None,
    allow: Annotated[list[str] | None, typer.Option("--allow")] = None,
    workspace: Annotated[Path | None, typer.Option("--workspace")] = None,
    thinking: Annotated[bool, typer.Option("--thinking")] = False,
    strict: Annotated[bool, typer.Option("--strict", envvar=STRICT_VARIABLE)] = False,
    output_format: RunOutput = "text",
) -> int:
    if conversation is not None:
        conversation = given(conversation, "CONVERSATION", "ask")
    from tui.cli.headless.ask_input import AskOptions, read_question

    options = AskOptions(
        conversation,
        model,
        provider,
        tool_list(tool_names),
        tuple(allow or ()),
        thinking or None,
        workspace,
        chat_id,
        strict,
    )
    connection = connection_of(context)
    other = None if wants_embedded(connection) else other_server(connection, *ANSWERING)
    agent = other.agent if other is not None else None
    is_socket = agent is not None and agent.kind == SOCKET
    if chat_id is not None and not is_socket:
        raise ConfigError(
            "--chat-id is for backends of kind socket", "a conversation is named by --conversation"
        )
    asked = read_question(text or (), files or (), not is_socket)
    source = other or choose_source(connection, CHAT)
    from tui.cli.headless import ask

    return ask.ask(source, asked, options, output_format)


def tool_list(names: str | None) -> tuple[str, ...] | None:
    """Return the tools that ``--tools`` names, none for "none"; ``None`` where it says nothing."""
    if names is None:
        return None
    listed = tuple(name.strip() for name in names.split(",") if name.strip())
    if not listed:
        raise ConfigError("--tools names none", f'give names with commas between them, or "{NO_TOOLS}"')
    return () if listed == (NO_TOOLS,) else listed


# --- conversations ---------------------------------------------------------------------------------------


@conversations.command("list", cls=Command)
def _list(
    context: typer.Context,
    archived: Annotated[bool, typer.Option("--archived")] = False,
    output_format: Output = "text",
) -> int:
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.commands import conversations as conversations_commands

    return conversations_commands.list_conversations(source, archived, output_format)


@conversations.command("search", cls=Command)
def _search(
    context: typer.Context,
    words: Annotated[list[str], typer.Argument()],
    limit: Annotated[int, typer.Option("--limit", min=1)] = 20,
    output_format: Output = "text",
) -> int:
    wanted = " ".join(words).strip()
    if not wanted:
        raise ConfigError("nothing to search for", f"see {PROGRAM} conversations search --help")
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.commands import conversations as conversations_commands

    return conversations_commands.search(source, wanted, limit, output_format)


@conversations.command("show", cls=Command)
def _show(context: typer.Context, conversation: Conversation, output_format: Output = "text") -> int:
    wanted = given(conversation, *_NAMED)
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.commands import conversations as conversations_commands

    return conversations_commands.show(source, wanted, output_format)


@conversations.command("export", cls=Command)
def _export(
    context: typer.Context, conversation: Conversation, form: ExportFormat = "md", out: OutFile = None
) -> int:
    wanted = given(conversation, *_NAMED)
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.export import conversations as conversations_export

    return conversations_export.export_conversation(source, wanted, form, out)


@conversations.command("delete", cls=Command)
def _delete(
    context: typer.Context, conversation: Conversation, yes: Yes = False, output_format: Output = "text"
) -> int:
    wanted = given(conversation, *_NAMED)
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.commands import conversations as conversations_commands

    return conversations_commands.delete(source, wanted, yes, output_format)


@conversations.command("rename", cls=Command)
def _rename(
    context: typer.Context,
    conversation: Conversation,
    title: Annotated[list[str], typer.Argument()],
    output_format: Output = "text",
) -> int:
    wanted = given(conversation, *_NAMED)
    new = given(" ".join(title).strip(), "TITLE", "conversations rename")
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.commands import conversations as conversations_commands

    return conversations_commands.rename(source, wanted, new, output_format)


# --- tools -----------------------------------------------------------------------------------------------


@tools.command("list", cls=Command)
def _tools(context: typer.Context, output_format: Output = "text") -> int:
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.commands import tools as tools_commands

    return tools_commands.list_tools(source, output_format)


@tools.command("rules", cls=Command)
def _rules(context: typer.Context, output_format: Output = "text") -> int:
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.commands import tools as tools_commands

    return tools_commands.list_rules(source, output_format)


@tools.command("confirm", cls=Command)
def _confirm(
    context: typer.Context, rule: Annotated[str, typer.Argument()], output_format: Output = "text"
) -> int:
    wanted = given(rule, "RULE", "tools")
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.commands import tools as tools_commands

    return tools_commands.confirm_rule(source, wanted, output_format)


@tools.command("forget", cls=Command)
def _forget(
    context: typer.Context, rule: Annotated[str, typer.Argument()], output_format: Output = "text"
) -> int:
    wanted = given(rule, "RULE", "tools")
    source = choose_source(connection_of(context), CHAT)
    from tui.cli.commands import tools as tools_commands

    return tools_commands.forget_rule(source, wanted, output_format)
