"""Checks what callers send as settings of rooms, chats and agents against what ``records`` declares."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from agent_tui.backend.engine.resources import ModelSource
from agent_tui.backend.engine.words import storable
from agent_tui.model.colors import hex_color
from agent_tui.model.errors import ModelError, Refused
from agent_tui.model.settings import Setting, Values, settings_of
from agent_tui.paths import folder_exists

MAX_TOOL_NAME_CHARACTERS = 100
# Settings with another name in the store.
_COLUMNS: Final = {"title": "name", "thinking_enabled": "thinking", "enabled_tools": "tools"}


def refuse(title: str, detail: str = "") -> NoReturn:
    """Raise the ``Refused`` for an invalid value (422)."""
    raise Refused(title, detail, status=422)


def check_settings(record: type, values: Values) -> dict[str, Any]:
    """Return the settings of ``record`` in ``values``; raises ``Refused`` (422)."""
    settings = settings_of(record)
    return {name: checked_value(settings[name], value) for name, value in values.items() if name in settings}


def settings_of_new(record: type, values: Values) -> dict[str, Any]:
    """Return all settings of a new ``record``: missing or empty ones get their defaults. Raises ``Refused``
    (422).
    """
    settings = {name: setting for name, setting in settings_of(record).items() if setting.in_new}
    sent = {
        name: value
        for name, setting in settings.items()
        if (value := values.get(name)) not in (None, "") or setting.required
    }
    return {name: setting.default for name, setting in settings.items()} | check_settings(record, sent)


def needs_idle(record: type, change: Values) -> bool:
    """Return whether ``change`` sets something that cannot be changed while an agent is running."""
    settings = settings_of(record).values()
    return any(change.get(setting.name) for setting in settings if not setting.while_running)


def columns(values: Values) -> dict[str, Any]:
    """Return settings by their names in the store."""
    return {_COLUMNS.get(name, name): value for name, value in values.items()}


def stored_settings(record: type, row: object, agent: object = None) -> dict[str, Any]:
    """Return the settings of ``record`` from ``row``; those that it does not have, from its one ``agent``."""
    names = {name: _COLUMNS.get(name, name) for name in settings_of(record)}
    return {name: getattr(row if hasattr(row, column) else agent, column) for name, column in names.items()}


def checked_value(setting: Setting, value: Any) -> Any:
    """Return a value, safe to store; raises ``Refused`` (422) for an invalid one."""
    match value:
        case None | bool():
            return value
        case str():
            return _checked_text(setting, value)
        case int() | float():
            return _checked_number(setting, value)
        case _:
            return _checked_names(setting, value)


def _checked_number(setting: Setting, value: float) -> float:
    if not (setting.least <= value <= setting.most and value < math.inf):
        subject = setting.name if setting.noun else "It"
        refuse(f"{_noun(setting)} is out of bounds", f"{subject} is {setting.bounds}.")
    return value


def _checked_text(setting: Setting, value: str) -> str:
    if setting.is_folder:
        return _checked_folder(setting, value)
    if setting.is_color and value and not hex_color(value):
        refuse("That is not a colour", f"{setting.name} is #rgb or #rrggbb, such as #4c9be8.")
    if setting.is_color:
        return hex_color(value)
    if setting.choices and value not in setting.choices:
        refuse(f"{_noun(setting)} is unknown", f"It is one of: {', '.join(setting.choices)}.")
    if len(value) > setting.most:
        length = f"It has {len(value):,} of at most {setting.most:,} characters."
        refuse(f"{_noun(setting)} is too long", length)
    text = storable(value).strip() if setting.is_name else storable(value)
    if setting.empty and not text.strip():
        refuse(f"{_noun(setting)} is empty", setting.empty)
    return text


def _checked_names(setting: Setting, names: tuple[str, ...]) -> tuple[str, ...]:
    if len(names) > setting.most or any(not 0 < len(name) <= MAX_TOOL_NAME_CHARACTERS for name in names):
        detail = f"At most {setting.most} names of tools, each of 1 to {MAX_TOOL_NAME_CHARACTERS} characters."
        refuse(f"{_noun(setting)} are out of bounds", detail)
    return tuple(dict.fromkeys(map(storable, names)))


def _checked_folder(setting: Setting, name: str) -> str:
    if not name:
        return ""
    folder = Path(name)
    if "\0" in name or not folder.is_absolute() or not folder_exists(folder):
        refuse(f"{_noun(setting)} is not a folder", "Name one that exists, by its absolute path.")
    return storable(name)


def _noun(setting: Setting) -> str:
    return setting.noun or f"The {setting.name}"


def with_model(
    values: Mapping[str, Any], models: ModelSource, *, provider: str = "", model: str = ""
) -> tuple[str, str]:
    """Return (provider_id, model) that ``values`` ask for, if it was ``provider`` and ``model`` before: the
    default ones if nothing is set.

    Raises ``Refused`` (422) for a provider that is not configured, unless it was so before, and while the
    config file is broken.
    """
    provider_id = values.get("provider_id", provider)
    try:
        provider_id = provider_id or models.default_provider()
        if provider_id != provider:
            models.check(provider_id)
    except ModelError as error:
        raise Refused("The provider is not configured", str(error), status=422) from error
    # Another provider has other models: the old name would mean nothing there.
    model_name = values.get("model", model if provider_id == provider else "")
    return provider_id, model_name or models.default_model(provider_id)
