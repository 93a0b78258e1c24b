"""The providers of the config file, as the set-up screen shows and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.config.file import PROVIDER_URLS, read_table
from agent_tui.config.keys import forget_key, read_key, store_key
from agent_tui.model.errors import ConfigError
from agent_tui.redaction import shown_url
from tui.forms.values import MAX_DIGITS
from tui.setting import Value, add_table, change_table, remove_table


@dataclass(frozen=True, slots=True)
class KeptProvider:
    """One ``[providers.NAME]``; ``address`` is the file's without login and query."""

    name: str
    kind: str
    address: str
    variable: str
    model: str
    in_keyring: bool
    limit: int  # tokens of an answer, 0 for the model's own limit
    url: str = field(repr=False)  # as in the file
    file_key: str = field(repr=False)
    timeout: str = ""  # for a person

    @property
    def has_key(self) -> bool:
        """Whether a key is kept for it, in the keyring or in the file."""
        return self.in_keyring or bool(self.file_key)

    def key(self) -> str:
        """Return its key; asks the keyring, so call it in a thread. Raises ``ConfigError`` if it has none."""
        return (read_key(self.name) if self.in_keyring else "") or self.file_key


@dataclass(frozen=True, slots=True)
class WantedProvider:
    """What a person wants for a provider; an empty ``key`` or ``model`` leaves the configured one."""

    name: str
    kind: str
    address: str
    variable: str
    key: str = field(repr=False)
    model: str = ""
    limit: int = 0  # tokens of an answer, 0 for the model's own limit
    timeout: float | None = None  # seconds without a token; ``None``: the usual time
    in_file: bool = False  # keep the key in the config file, if there is no keyring

    def url(self, kept: KeptProvider | None) -> str:
        """Return the address to ask: the file's, with login and query, unless a person typed another."""
        return kept.url if kept is not None and kept.url and kept.address == self.address else self.address

    def fields(self, kept: KeptProvider | None) -> dict[str, Value | None]:
        """Return the lines of the config file; ``None`` for those to be removed."""
        fields: dict[str, Value | None] = {"kind": self.kind}
        usual = self.address == PROVIDER_URLS[self.kind]
        if kept is None or kept.address != self.address or (kept.kind != self.kind and not kept.url):
            fields["base_url"] = None if usual else self.address
        if self.key and self.in_file:
            fields |= {"keyring": None, "api_key": self.key, "api_key_env": None}
        elif self.key:
            fields |= {"keyring": True, "api_key": None, "api_key_env": None}
        else:
            fields["api_key_env"] = self.variable or None
        if self.model:
            fields["model"] = self.model
        if self.timeout is not None or (kept is not None and kept.timeout):
            fields["timeout"] = self.timeout
        if self.limit != (kept.limit if kept is not None else 0):
            fields["max_tokens"] = self.limit or None
        return fields


def limit_of(text: str) -> int | None:
    """Return a limit of tokens as people write it, 0 for none; ``None`` if it is not a number."""
    digits = text.replace(",", "").replace(" ", "") or "0"
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS else None


def configured(path: Path) -> dict[str, KeptProvider]:
    """Return the configured providers by name, in the file's order; none if it cannot be read."""
    try:
        tables = read_table(path).get("providers", {})
    except ConfigError:
        return {}  # the error is shown when the file is written
    if not isinstance(tables, Mapping):
        return {}
    return {name: _kept(name, table) for name, table in tables.items() if isinstance(table, Mapping)}


def _kept(name: str, table: Mapping[str, object]) -> KeptProvider:
    def text(key: str) -> str:
        value = table.get(key)
        return value if isinstance(value, str) else ""

    kind = text("kind") if text("kind") in PROVIDER_URLS else "openai"
    return KeptProvider(
        name,
        kind,
        shown_url(text("base_url") or PROVIDER_URLS[kind]),
        text("api_key_env"),
        text("model"),
        table.get("keyring") is True,
        limit if type(limit := table.get("max_tokens")) is int and limit > 0 else 0,
        text("base_url"),
        text("api_key"),
        f"{seconds:g}" if isinstance(seconds := table.get("timeout"), int | float) else "",
    )


def keep(path: Path, wanted: WantedProvider, kept: KeptProvider | None) -> None:
    """Write a provider, and its key to the keyring or into the file; call it in a thread.

    A file with a key can be read only by its owner from then on. Raises ``ConfigError``.
    """
    if wanted.key and not wanted.in_file:
        store_key(wanted.name, wanted.key)
    fields, name = wanted.fields(kept), f"providers.{wanted.name}"
    is_private = bool(wanted.key and wanted.in_file)
    if kept is None:
        said = {key: value for key, value in fields.items() if value is not None}
        add_table(path, name, said, is_private=is_private)
    else:
        change_table(path, name, fields, is_private=is_private)


def remove(path: Path, kept: KeptProvider) -> None:
    """Remove a provider from the file, and its key from the keyring; call it in a thread.

    Raises ``ConfigError``. The file is written first, since an unused key does no harm.
    """
    remove_table(path, f"providers.{kept.name}")
    if kept.in_keyring:
        forget_key(kept.name)
