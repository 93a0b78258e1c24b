"""``agent-tui config``: the config file, for people."""

from __future__ import annotations

import os
import re

from agent_tui.config import Config, config_path, hide_secrets, load, read_table
from tui import exits, output
from tui.toml_text import toml_text

_CREDENTIALS = re.compile(r"(?<=://)[^/\s\"@]+@")  # user:password@ of an address


def path() -> int:
    """Print the config file's absolute path, whether it exists or not."""
    output.write(f"{config_path()}\n")
    return exits.DONE


def show() -> int:
    """Print the file's settings, secrets hidden; raises ``ConfigError`` when it is no TOML."""
    table = read_table(config_path())
    if not table:
        output.say(f"# {config_path()}: no settings, the defaults hold")
        return exits.DONE
    output.say(f"# {config_path()}")
    output.say(_CREDENTIALS.sub("********@", toml_text(hide_secrets(table))))
    return exits.DONE


def check() -> int:
    """Print one line for each thing that looks wrong, or "ok"; raises ``ConfigError`` for an error."""
    config = load()
    warnings = [*config.warnings, *_missing_variables(config)]
    for warning in warnings:
        output.say(warning.replace("\n", " "))
    if not warnings:
        there = config.path if config.path.exists() else f"{config.path} (no such file: the defaults hold)"
        output.say(f"ok: {there}")
    return exits.DONE


def _missing_variables(config: Config) -> list[str]:
    named = [
        (f"backends.{backend.name}.token_env", backend.token_env) for backend in config.backends.values()
    ] + [
        (f"providers.{provider.name}.api_key_env", provider.api_key_env)
        for provider in config.providers.values()
    ]
    return [
        f"{where}: {variable} is not set in this environment"
        for where, variable in named
        if variable and not os.environ.get(variable)
    ]
