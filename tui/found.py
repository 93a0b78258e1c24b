"""Models that a person already has: keys in the environment, and servers on this machine.

They are offered, and not used until the person accepts. A key stays in its variable.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from textual.content import Content

from agent_tui.config.presets import LOOPBACK, PRESETS, Preset
from tui.forms.kept_providers import configured
from tui.live.key_hints import say_keys
from tui.screens.words import count, say, say_count


@dataclass(frozen=True, slots=True)
class FoundModels:
    """A provider that could be set up: a server with ``models`` at ``address``, or a key in ``variable``."""

    preset: Preset
    address: str
    variable: str = ""
    models: int = 0

    @property
    def text(self) -> str:
        """The text for a person: "Ollama (3 models)"."""
        if self.variable:
            return say("home.found.key", name=self.preset.label, variable=self.variable)
        return say_count("home.found.server", self.models, name=self.preset.label, models=count(self.models))


Finder = Callable[[], Awaitable[list[FoundModels]]]


def keys_in(environ: Mapping[str, str]) -> list[FoundModels]:
    """Return the providers whose keys are in the environment."""
    found = []
    for preset in PRESETS.values():
        variable = next((name for name in preset.variables if environ.get(name, "").strip()), "")
        if variable:
            found.append(FoundModels(preset, preset.base_url, variable))
    return found


async def find(config: Path, presets: Iterable[Preset] = tuple(PRESETS.values())) -> list[FoundModels]:
    """Return what is found here and is not yet in the config file, servers first."""
    nearby = await asyncio.to_thread(importlib.import_module, "agent_tui.clients.nearby")
    answered = await nearby.servers_at(presets)
    servers = [FoundModels(preset, address, models=models) for preset, address, models in answered]
    return await asyncio.to_thread(_new, [*servers, *keys_in(os.environ)], config)


def _new(found: list[FoundModels], config: Path) -> list[FoundModels]:
    kept = configured(config).values()
    addresses = {_place(provider.base_url) for provider in kept}
    variables = {provider.api_key_env for provider in kept if provider.api_key_env}
    return [
        models
        for models in found
        if models.variable not in variables and (models.variable or _place(models.address) not in addresses)
    ]


def _place(url: str) -> tuple[str, int | None]:
    """Return where a server is. All names of this machine count as one."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        return "", None
    return ("" if host in LOOPBACK else host), port


MAX_SHOWN: Final = 3


def found_line(found: list[FoundModels], press: str, cells: int) -> Content:
    """Return the line that offers what was found, the names that fit first; ``press`` is the key for it."""
    key = "home.found" if len(found) == 1 else "home.found.some"
    line = Content("")
    for shown in range(min(MAX_SHOWN, len(found)), 0, -1):
        names = [models.text for models in found[:shown]]
        if more := len(found) - shown:
            names.append(say("strip.more", count=count(more)))
        line = say_keys(key, {"press": press}, what=" · ".join(names))
        if line.cell_length <= cells:
            break
    return line
