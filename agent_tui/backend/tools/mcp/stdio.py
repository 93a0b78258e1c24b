"""The transport to an MCP server that is a program: one JSON-RPC message a line, over its input and output.

Not the transport of the ``mcp`` package, which lacks three things: a limit for lines, ending the program with
everything it started (``child``), and its last words on stderr as the reason of its end. Imported with
``mcp`` itself, only when an MCP server is first needed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import mcp_types
from mcp.shared.message import SessionMessage

from agent_tui.backend.tools.programs.child import GRACE_SECONDS, PIPE_BYTES, Child, how_it_ended
from agent_tui.backend.tools.programs.environment import passed_environment
from agent_tui.backend.tools.texts import Spool
from agent_tui.config.tools import McpConfig
from agent_tui.model.inert import inert_line
from agent_tui.paths import folder_exists, home_folder, named_path

if TYPE_CHECKING:  # a name only for type checkers: the package does not export it
    from mcp.client._transport import TransportStreams

MAX_LINE_BYTES = 8 * 1024 * 1024
LAST_WORDS_BYTES = 2_000
UNREADABLE = "its answer is nested too deep, or no valid JSON"
# The id of an answer, which comes before its result.
_ANSWER = re.compile(
    rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2.0"\s*,\s*)?"id"\s*:\s*(?:(\d{1,15})|"([^"\\]*)")\s*,\s*"result"'
)
LEAVE_SECONDS = 0.5  # for a server to end after its input, before it is ended


@asynccontextmanager
async def stdio_transport(
    config: McpConfig, environ: Mapping[str, str], on_end: Callable[[str], None]
) -> AsyncGenerator[TransportStreams]:
    """Start the server and connect to it; ``on_end(why)`` is called once if it ends by itself."""
    command = config.command
    program = (str(named_path(command, "its program")) if command.startswith("~") else command, *config.args)
    variables = {**passed_environment(), **environ}
    home = home_folder()
    folder = home if home is not None and folder_exists(home) else Path("/")
    child = await Child.start(program, folder, variables, is_fed=True, errors=asyncio.subprocess.PIPE)
    words = Spool(LAST_WORDS_BYTES)  # what it wrote to stderr since the newest call
    async with child:
        to_us, read = anyio.create_memory_object_stream[SessionMessage | Exception](0)
        write, from_us = anyio.create_memory_object_stream[SessionMessage](0)
        async with to_us, read, write, from_us, anyio.create_task_group() as tasks:
            leaving = False

            async def receive() -> None:
                why = await _receive(child, to_us) or await _last_words(child, words)
                if not leaving:
                    on_end(why)
                await to_us.aclose()  # a waiting request learns that there is no answer

            async def send() -> None:
                nonlocal words
                async for message in from_us:
                    if getattr(message.message, "method", "") == "tools/call":
                        words = Spool(LAST_WORDS_BYTES)
                    line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    child.stdin.write(line.encode("utf-8", "replace") + b"\n")
                    with suppress(ConnectionError):  # it ended, which the reading side reports, too
                        await child.stdin.drain()

            async def listen() -> None:
                while data := await child.stderr.read(PIPE_BYTES):
                    words.add(data)

            for work in (receive, send, listen):
                tasks.start_soon(work)
            try:
                yield read, write
            finally:
                leaving = True
                with anyio.CancelScope(shield=True):
                    await _leave(child)
                tasks.cancel_scope.cancel()


async def _receive(child: Child, to_us: anyio.abc.ObjectSendStream[SessionMessage | Exception]) -> str:
    """Pass on messages until the output ends; return what was wrong with it, if anything."""
    pending = bytearray()
    while data := await child.stdout.read(PIPE_BYTES):
        *lines, rest = data.split(b"\n")
        for line in lines:
            pending += line
            if len(pending) > MAX_LINE_BYTES:
                break
            text = bytes(pending)
            pending.clear()
            if text.strip():
                try:
                    await to_us.send(_message(text))
                except (anyio.ClosedResourceError, anyio.BrokenResourceError):
                    return ""
        else:
            pending += rest
        if len(pending) > MAX_LINE_BYTES:
            child.let_go()
            return f"it sent a message of more than {MAX_LINE_BYTES:,} bytes"
    return ""


def _message(line: bytes) -> SessionMessage | Exception:
    """Return a line as a message, or as an error for the session, since some servers print what they should
    log. An unreadable answer becomes an error answer, so that its request ends.
    """
    try:
        return SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except (ValueError, RecursionError):
        if (match := _ANSWER.match(line)) is None:
            return ValueError("a line that is not a message")
    error = mcp_types.ErrorData(code=mcp_types.PARSE_ERROR, message=UNREADABLE)
    id_ = int(match[1]) if match[1] else match[2].decode("utf-8", "replace")
    return SessionMessage(mcp_types.JSONRPCError(jsonrpc="2.0", id=id_, error=error))


async def _last_words(child: Child, words: Spool) -> str:
    """Return how the program ended, with the last line of its stderr; end one that only became silent."""
    try:
        async with asyncio.timeout(GRACE_SECONDS):
            code = await child.wait()
    except TimeoutError:
        child.let_go()
        return "it closed its output"
    lines = [line for line in words.text().splitlines() if line.strip()]
    about = f": {inert_line(lines[-1], 300)}" if lines else ""
    return f"{how_it_ended(code)}{about}"


async def _leave(child: Child) -> None:
    """End the server as the protocol asks: close its input, wait a moment, then end it."""
    child.stdin.close()
    with suppress(TimeoutError):
        async with asyncio.timeout(LEAVE_SECONDS):
            await child.wait()
    child.let_go()
