"""The fields of one provider of models: a new one, or one of the config file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.message import Message
from textual.widgets import Input

from agent_tui.config.file import DEMO_PROVIDER, ProviderConfig
from agent_tui.config.presets import PRESETS, name_at, preset_of
from agent_tui.redaction import shown_url
from tui.forms.fields import Choice, Field, Line
from tui.forms.kept_providers import WantedProvider, configured
from tui.found import FoundModels
from tui.screens.words import say

OPENAI: Final = PRESETS["openai"]
LINES: Final = ("address", "key", "variable", "name", "limit")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")
_LIMIT: Final = re.compile("0*[1-9][0-9]{0,7}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class ProviderFields(VerticalGroup):
    """A line that is empty shows its usual value, and means it. A key that is kept is never shown."""

    class Changed(Message):
        """Posted when something else is chosen or typed."""

    def __init__(self, config: Path, found: FoundModels | None) -> None:
        """``config`` is the config file; ``found`` fills the fields at first."""
        super().__init__()
        self._config = config
        self._configured = configured(config)
        self.kept: ProviderConfig | None = None  # the provider that is being changed; ``None``: a new one
        self._has_keyring: bool | None = None  # unknown
        preset, filled = OPENAI, dict.fromkeys(LINES, "")
        if found is not None:
            preset = found.preset
            name = self._free_name(preset.id)
            filled |= {"address": found.address, "variable": found.variable, "name": name}
        self._which = Choice([], "", id="which")
        kinds = {kind.id: kind.label for kind in PRESETS.values()} | {OPENAI.id: say("setup.kind.openai")}
        self._kind = Choice(list(kinds.items()), preset.id, id="kind")
        self._lines = {name: Line(text, id=name) for name, text in filled.items()}
        self._lines["key"].password = True
        inner: dict[str, Choice | Line] = {"which": self._which, "kind": self._kind, **self._lines}
        self._fields = {name: Field(name, say(f"setup.{name}"), widget) for name, widget in inner.items()}

    def compose(self) -> ComposeResult:
        yield from self._fields.values()

    def on_mount(self) -> None:
        self._offer()
        self._show_usual()

    def _offer(self) -> None:
        """Offer the configured providers, if there are any."""
        self._fields["which"].display = bool(self._configured)
        named = [(name, say("setup.which.change", name=name)) for name in self._configured]
        self._which.offer([("", say("setup.which.new")), *named])
        (self._which if self._configured else self._kind).focus()

    def value(self, name: str) -> str:
        """Return what was typed or chosen, else the usual value."""
        return self._fields[name].value.strip() or self._usual().get(name, "")

    # --- what is shown ---------------------------------------------------------------------------------

    @on(Choice.Changed)
    def choose(self, event: Choice.Changed) -> None:
        """Show the provider, or the usual values of the kind, that was chosen."""
        event.stop()
        if (kept := self._configured.get(self._which.value)) is not self.kept:
            self._show(kept)
        self._fields[event.choice.id or ""].before = event.choice.value  # no change that could be lost
        self.tell_of_change()

    def _show(self, kept: ProviderConfig | None) -> None:
        """Show a configured provider, but never its key; ``None``: an empty form."""
        self.kept, preset = kept, OPENAI
        filled = dict.fromkeys(LINES, "")
        if kept is not None:
            address = shown_url(kept.base_url)
            preset = preset_of(kept.kind, address)
            limit = str(kept.max_tokens or "")
            filled |= {"address": address, "variable": kept.api_key_env, "name": kept.name, "limit": limit}
        for name, text in {"kind": preset.id, **filled}.items():
            self._fields[name].begin(text)
        self._lines["name"].disabled = kept is not None  # rooms refer to it by its name

    @on(Input.Changed)
    def tell_of_change(self) -> None:
        """Post that something else is chosen or typed."""
        self._show_usual()
        self.post_message(self.Changed())

    def keep_keys(self, *, has_keyring: bool) -> None:
        """Keep keys in the keyring, else in the config file, and say so."""
        self._has_keyring = has_keyring
        self._show_usual()

    def _show_usual(self) -> None:
        """Show in each line what it means while it is empty, and where a key is kept, once that is known."""
        usual = {name: say("setup.usual", value=text) for name, text in self._usual().items() if text}
        usual.setdefault("variable", say("setup.variable.hint"))
        usual["limit"] = say("setup.limit.hint")
        if self.kept is not None and (self.kept.keyring or self.kept.api_key):
            usual["key"] = say("setup.key.kept")
        elif self._has_keyring is not None:
            usual["key"] = say("setup.key.hint" if self._has_keyring else "setup.key.hint.file")
        for name, line in self._lines.items():
            line.placeholder = usual.get(name, "")

    def _usual(self) -> dict[str, str]:
        """Return the usual values; a variable only at the usual address: no other server gets that key."""
        preset, address = PRESETS[self._kind.value], self._lines["address"].value.strip()
        is_there = address in ("", preset.base_url)
        name = preset.id if is_there or preset.kind != OPENAI.kind else name_at(address) or preset.id
        has_variable = self.kept is None and is_there and not self._lines["key"].value
        return {
            "address": preset.base_url,
            "variable": preset.variable if has_variable else "",
            "name": self._free_name(name),
        }

    def _free_name(self, name: str) -> str:
        tries = (name, *(f"{name}-{number}" for number in range(2, 1000)))
        return next(name for name in tries if name not in (*self._configured, DEMO_PROVIDER))

    def forget_removed(self) -> None:
        """Show an empty form after the shown provider was removed."""
        self._configured = configured(self._config)
        self._fields["which"].begin("")
        self._offer()
        self._show(None)
        self.tell_of_change()

    # --- what is read ----------------------------------------------------------------------------------

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield what is wrong, each with the name of its field."""
        name, variable = self.value("name"), self.value("variable")
        if not self.value("address").startswith(("http://", "https://")):
            yield "address", say("setup.wrong_address")
        if variable and not _VARIABLE.fullmatch(variable):
            yield "variable", say("setup.wrong_variable")
        elif variable and self.value("key"):
            yield "variable", say("setup.two_keys")
        if not _NAME.fullmatch(name):
            yield "name", say("setup.no_name")
        elif self.kept is None and (name in self._configured or name == DEMO_PROVIDER):
            yield "name", say("setup.taken", name=name)
        if self.value("limit") and not _LIMIT.fullmatch(self.value("limit")):
            yield "limit", say("setup.wrong_limit")

    def wanted(self) -> WantedProvider:
        """Return what the fields say."""
        kind, in_file = PRESETS[self._kind.value].kind, self._has_keyring is False
        limit = self.value("limit")
        return WantedProvider(
            self.value("name"),
            kind,
            self.value("address"),
            self.value("variable"),
            self.value("key"),
            int(limit) if _LIMIT.fullmatch(limit) else None,
            in_file=in_file,
        )
