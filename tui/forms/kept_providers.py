"""The providers of the config file, as the set-up screen reads and writes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from agent_tui.config.file import PROVIDER_URLS, ProviderConfig, load
from agent_tui.config.keys import forget_key, read_key, store_key
from agent_tui.model.errors import ConfigError
from agent_tui.redaction import shown_url
from tui.setting import Value, add_table, change_table, remove_table


@dataclass(frozen=True, slots=True)
class WantedProvider:
    """What a person wants for a provider; an empty ``key`` leaves the configured one. ``in_file``: the key is
    kept in the config file, not in the keyring.
    """

    name: str
    kind: str
    address: str
    variable: str
    key: str = field(repr=False)
    max_tokens: int | None  # of one answer
    in_file: bool = field(compare=False)

    def url(self, kept: ProviderConfig | None) -> str:
        """Return the address to ask: the file's, with login and query, unless a person typed another."""
        is_kept = kept is not None and shown_url(kept.base_url) == self.address
        return kept.base_url if kept is not None and is_kept else self.address


def configured(path: Path) -> Mapping[str, ProviderConfig]:
    """Return the configured providers by name, in the file's order; none if it cannot be read."""
    try:
        return load(path).providers
    except ConfigError:
        return {}  # the error is shown when the file is written


def key_of(kept: ProviderConfig) -> str:
    """Return the key in the keyring or the file; call it in a thread. Raises ``ConfigError``."""
    return (read_key(kept.name) if kept.keyring else "") or kept.api_key


def keep(path: Path, wanted: WantedProvider, model: str, kept: ProviderConfig | None) -> None:
    """Write a provider, with its ``model`` if there is one, and its key; call it in a thread.

    A file with a key can be read only by its owner from then on. Raises ``ConfigError``.
    """
    url, is_private = wanted.url(kept), bool(wanted.key and wanted.in_file)
    fields: dict[str, Value | None] = {"kind": wanted.kind}
    if kept is None or (kept.kind, kept.base_url) != (wanted.kind, url):
        fields["base_url"] = None if url == PROVIDER_URLS[wanted.kind] else url
    if wanted.key and wanted.in_file:
        fields |= {"keyring": None, "api_key": wanted.key, "api_key_env": None}
    elif wanted.key:
        fields |= {"keyring": True, "api_key": None, "api_key_env": None}
    else:
        fields["api_key_env"] = wanted.variable or None
    fields["max_tokens"] = wanted.max_tokens
    if model:
        fields["model"] = model
    if wanted.key and not wanted.in_file:
        store_key(wanted.name, wanted.key)
    name = f"providers.{wanted.name}"
    if kept is None:
        values = {key: value for key, value in fields.items() if value is not None}
        add_table(path, name, values, is_private=is_private)
    else:
        change_table(path, name, fields, is_private=is_private)


def remove(path: Path, kept: ProviderConfig) -> None:
    """Remove a provider from the file, and its key from the keyring; call it in a thread.

    Raises ``ConfigError``. The file is written first, since an unused key does no harm.
    """
    remove_table(path, f"providers.{kept.name}")
    if kept.keyring:
        forget_key(kept.name)
