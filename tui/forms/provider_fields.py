"""The fields of one provider of models, with the usual values of its kind or those of the config file."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalGroup
from textual.message import Message
from textual.widgets import Input

from agent_tui.config.file import DEMO_PROVIDER
from agent_tui.config.presets import PRESETS, Preset, name_at, preset_of
from tui.forms.fields import Choice, Field, Line
from tui.forms.setup_kept import KeptProvider, WantedProvider, configured, limit_of
from tui.found import FoundModels
from tui.screens.words import say

OPENAI: Final = PRESETS["openai"]
LINES: Final = ("address", "key", "variable", "name", "limit", "timeout")
HINTED: Final = ("variable", "limit", "timeout")
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,60}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")


class ProviderFields(VerticalGroup):
    """A new provider, or one of the config file; its key is never shown."""

    class Chosen(Message):
        """Posted when a person chose another provider or kind."""

    class Rewritten(Message):
        """Posted when a test would now ask something else."""

    def __init__(self, config: Path, found: FoundModels | None) -> None:
        """``config`` is the config file; ``found`` fills the fields at first."""
        super().__init__()
        self._config = config
        self._found = found
        self._configured: dict[str, KeptProvider] = {}
        self._usual = self._usual_of(OPENAI)  # the usual value of each line
        self._has_keyring: bool | None = None  # unknown
        self.kept: KeptProvider | None = None  # the provider that is being changed; ``None``: a new one
        kinds = [(preset.id, _called(preset)) for preset in PRESETS.values()]
        self._which = Choice([("", say("setup.which.new"))], "", id="which")
        self._kind = Choice(kinds, OPENAI.id, id="kind")
        self._lines = {name: self._line(name) for name in LINES}
        self._lines["key"].password = True
        inner: dict[str, Choice | Line] = {"which": self._which, "kind": self._kind, **self._lines}
        self._fields = {name: Field(name, say(f"setup.{name}"), widget) for name, widget in inner.items()}

    def _line(self, name: str) -> Line:
        placeholder = say(f"setup.{name}.hint") if name in HINTED else ""
        return Line(self._usual.get(name, ""), placeholder=placeholder, id=name)

    def compose(self) -> ComposeResult:
        yield from self._fields.values()

    def on_mount(self) -> None:
        """Fill the fields: with what was found, else with what is configured, else with the usual values."""
        self._offer()
        (self._which if self._configured and self._found is None else self._kind).focus()
        if (found := self._found) is not None:
            self._fields["kind"].begin(found.preset.id)
            self._prefill()
            for name, text in (("address", found.address), ("variable", found.variable)):
                self._fields[name].begin(text)
                self._usual[name] = text

    def _offer(self) -> None:
        """Offer the configured providers, if there are any."""
        self._configured = configured(self._config)
        self._fields["which"].display = bool(self._configured)
        named = [(name, say("setup.which.change", name=name)) for name in self._configured]
        self._which.offer([("", say("setup.which.new")), *named])

    def value(self, name: str) -> str:
        return self._fields[name].value.strip()

    def focus_address(self) -> None:
        self._lines["address"].focus()

    # --- what is shown ---------------------------------------------------------------------------------

    @on(Choice.Changed)
    def choose(self, event: Choice.Changed) -> None:
        """Show the provider, or the usual values of the kind, that was chosen."""
        event.stop()
        kept = self._configured.get(self._which.value)
        if kept is self.kept:
            self._prefill()
        else:
            self._show(kept)
        self.post_message(self.Chosen())
        self._fields[event.choice.id or ""].before = event.choice.value  # no change that could be lost

    def _show(self, kept: KeptProvider | None) -> None:
        """Show a configured provider, but never its key; ``None``: an empty form."""
        self.kept = kept
        self._fields["kind"].begin(preset_of(kept.kind, kept.address).id if kept else OPENAI.id)
        self._usual = self._usual_of(PRESETS[self._kind.value])
        filled = {"key": "", "limit": "", "timeout": "", **self._usual}
        if kept is not None:
            filled |= {"address": kept.address, "variable": kept.variable, "name": kept.name}
            filled |= {"limit": str(kept.limit or ""), "timeout": kept.timeout}
        for name, text in filled.items():
            self._fields[name].begin(text)
        self._lines["name"].disabled = kept is not None  # rooms refer to it by its name
        self._hint_at_key()

    def keep_keys(self, *, has_keyring: bool) -> None:
        """Keep keys in the keyring, else in the config file, and say so."""
        self._has_keyring = has_keyring
        self._hint_at_key()

    def _hint_at_key(self) -> None:
        """Say in the key's line where keys are kept, once that is known."""
        is_kept = self.kept is not None and self.kept.has_key
        hint = "key.kept" if is_kept else "key.hint" if self._has_keyring else "key.hint.file"
        self._lines["key"].placeholder = (
            say(f"setup.{hint}") if is_kept or self._has_keyring is not None else ""
        )

    @property
    def usually_has_key(self) -> bool:
        """Whether a person may want to type a key for this kind of provider."""
        return self._found is None and bool(PRESETS[self._kind.value].variables)

    def _usual_of(self, preset: Preset) -> dict[str, str]:
        """Return the usual values of a kind of provider."""
        name = self._free_name(preset.id)
        return {"address": preset.base_url, "variable": preset.variable, "name": name}

    def _prefill(self) -> None:
        """Fill in the usual values, except where a person typed something."""
        for name, text in self._usual_of(PRESETS[self._kind.value]).items():
            if not self._lines[name].disabled:
                self._suggest(name, text)

    def _expect(self, name: str, text: str) -> None:
        """Set the usual value of a line."""
        self._usual[name] = text
        if self.kept is None:
            self._fields[name].before = text

    @on(Input.Changed, "#address")
    def guess(self) -> None:
        """Name OpenAI-compatible servers after their hosts, without a variable: most need no key."""
        if self.kept is None and self._kind.value == "openai":
            address = self.value("address")
            self._suggest("name", self._free_name(name_at(address) or OPENAI.id))
            if not self.value("key"):
                self._suggest("variable", OPENAI.variable if address == OPENAI.base_url else "")

    def _suggest(self, name: str, text: str) -> None:
        """Write into a line unless a person did."""
        line, usual = self._lines[name], self._usual[name]
        self._expect(name, text)
        if line.value == usual:
            line.value = text

    @on(Input.Changed, "#key")
    def prefer_key(self, event: Input.Changed) -> None:
        """Remove a prefilled variable when a key is typed."""
        if event.value and self._lines["variable"].value == self._usual["variable"]:
            self._lines["variable"].value = ""

    @on(Input.Changed, "#address, #key, #variable")
    def tell_of_change(self) -> None:
        """Post that a test would now ask something else."""
        self.post_message(self.Rewritten())

    def forget_removed(self) -> None:
        """Show an empty form after the shown provider was removed."""
        self._offer()
        self._fields["which"].begin("")
        self._show(None)
        (self._which if self._configured else self._kind).focus()

    # --- what is read ----------------------------------------------------------------------------------

    def problems(self) -> dict[str, str]:
        return dict(self._problems())

    def _problems(self) -> Iterator[tuple[str, str]]:
        name, variable = self.value("name"), self.value("variable")
        if not self.value("address").startswith(("http://", "https://")):
            yield "address", say("setup.wrong_address")
        if variable and not _VARIABLE.fullmatch(variable):
            yield "variable", say("setup.wrong_variable")
        elif variable and self.value("key"):
            yield "variable", say("setup.two_keys")
        if self._seconds is None:
            yield "timeout", say("setup.wrong_timeout")
        if limit_of(self.value("limit")) is None:
            yield "limit", say("setup.wrong_limit")
        if self.kept is not None:
            return  # it has its name
        if not _NAME.fullmatch(name):
            yield "name", say("setup.no_name")
        elif name in self._taken():
            yield "name", say("setup.taken", name=name)

    @property
    def _seconds(self) -> float | None:
        """The timeout as typed, 0 for none, ``None`` if it is not valid."""
        try:
            seconds = float(self.value("timeout") or 0)
        except ValueError:
            return None
        if not math.isfinite(seconds) or seconds < 0:
            return None
        return int(seconds) if seconds.is_integer() else seconds

    def wanted(self, model: str = "") -> WantedProvider:
        """Return what the fields say."""
        value = self.value
        return WantedProvider(
            value("name"),
            PRESETS[value("kind")].kind,
            value("address"),
            value("variable"),
            value("key"),
            model,
            limit=limit_of(value("limit")) or 0,
            timeout=self._seconds or None,
            in_file=self._has_keyring is False,
        )

    def _taken(self) -> frozenset[str]:
        return frozenset((*configured(self._config), DEMO_PROVIDER))

    def _free_name(self, kind: str) -> str:
        taken = self._taken()
        tries = (kind, *(f"{kind}-{number}" for number in range(2, 1000)))
        return next(name for name in tries if name not in taken)


def _called(preset: Preset) -> str:
    """Return the name of a preset: its own, except for kinds that can be at several places."""
    if preset.id in ("openai", "ollama"):
        return say(f"setup.kind.{preset.id}")
    return say("setup.kind.here", name=preset.label) if preset.port else preset.label
