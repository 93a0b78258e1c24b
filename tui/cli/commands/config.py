"""``agent-tui config``: the config file, for people."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from agent_tui.config.file import Config, config_path, load, read_table
from agent_tui.config.tool_rules import PATTERN_FORM, is_pattern
from agent_tui.model.inert import inert_json, inert_line
from agent_tui.redaction import hide_secrets
from tui.cli import output
from tui.cli.output import MAX_LINE_CHARACTERS, OutputFormat
from tui.language import KEY, translated
from tui.screens.localised import localised

NO_KEY = "–"
_TAG = re.compile("[\U000e0000-\U000e007f]")  # hostile, and too large for the four digits of a JSON escape


def path() -> None:
    """Print the config file's absolute path, whether it exists or not."""
    output.write(f"{config_path()}\n")


def show() -> None:
    """Print the file's settings, secrets hidden; raises ``ConfigError`` for an unusable file."""
    load()
    table = read_table(config_path())
    if not table:
        output.say(localised(f"# {config_path()}: no settings, the defaults hold"))
        return
    output.say(f"# {config_path()}")
    output.say(toml_text(hide_secrets(table)))


def toml_text(table: Mapping[str, object]) -> str:
    """Return ``table`` as TOML that reads back to the same values, without control characters."""
    import tomlkit  # lazy: only this needs it

    text = _TAG.sub(lambda match: f"\\U{ord(match.group()):08x}", tomlkit.dumps(table))
    return inert_json(text).rstrip("\n")


def check() -> None:
    """Print one line for each problem, or "ok", code 0; raises ``ConfigError`` for an unusable file."""
    config = load()
    warnings = problems(config)
    for warning in warnings:
        output.say(localised(warning).replace("\n", " "))
    if not warnings:
        there = config.path if config.path.exists() else f"{config.path} (no such file: the defaults hold)"
        output.say(localised(f"ok: {there}"))


def problems(config: Config) -> list[str]:
    """Return one line for each problem in the file, and in the files beside it."""
    # Lazy: keys and themes need Textual, which other commands do not.
    from tui import themes
    from tui.keys.keymap import resolve

    folder = config.path.parent / themes.FOLDER
    _, unusable = themes.first(config.theme, folder, themes.UNKNOWN)
    found = [*config.warnings, *_missing_variables(config), *_idle_patterns(config)]
    found += resolve(config.keys).problems
    found += [inert_line(unusable, MAX_LINE_CHARACTERS)] if unusable else []
    return list(dict.fromkeys([*found, *themes.problems(folder)]))


def keys(output_format: OutputFormat) -> None:
    """Print every action with its id and its current keys; raises ``ConfigError`` for an unusable file.

    As json: ``{"keys": [{"id", "keys", "default", "does", "where"}…]}``, keys as the config file takes them.
    """
    from tui.keys.keymap import catalogue, resolve  # lazy: the screens, and with them Textual
    from tui.keys.names import names_of

    keymap = resolve(load().keys)
    if output_format == "json":
        fields = [
            {
                "id": entry.id,
                "keys": names_of(keymap.keys[entry.id]),
                "default": names_of(entry.keys),
                "does": entry.description,
                "where": entry.scope,
            }
            for entry in catalogue()
        ]
        output.write_json({"keys": fields})
        return
    rows = [
        (entry.id, keymap.keys_of(entry.id) or NO_KEY, translated(KEY, entry.description))
        for entry in catalogue()
    ]
    output.write(output.table(rows) + "\n")
    for problem in keymap.problems:
        output.notice(localised(problem))


def _idle_patterns(config: Config) -> list[str]:
    return [
        f"tools.allow: {inert_line(pattern, 60)!r} fits no call; {PATTERN_FORM}"
        for pattern in config.tools.allow
        if not is_pattern(pattern)
    ]


def _missing_variables(config: Config) -> list[str]:
    named = [(f"backends.{one.name}.token_env", one.token_env) for one in config.backends.values()]
    named += [(f"providers.{one.name}.api_key_env", one.api_key_env) for one in config.providers.values()]
    for server in config.mcp.values():
        named += [(f"mcp.{server.name}.token_env", server.token_env)]
        named += [(f"mcp.{server.name}.env_from", variable) for variable in server.env_from]
    named += [("voice.key_env", config.voice.key_env), ("voice.secret_env", config.voice.secret_env)]
    named += [("voice.agent.pass_env", variable) for variable in config.voice.agent.pass_env]
    named += [("tools.pass_env", variable) for variable in config.tools.pass_env]
    return [
        f"{where}: {variable} is not set in this environment"
        for where, variable in named
        if variable and not os.environ.get(variable)
    ]
