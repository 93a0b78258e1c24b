"""Values of settings, made from what ``records`` declares of them: tests walk over all that there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from agent_tui.model.settings import Setting

OF_MODELS = {"model": "big", "provider_id": "local"}  # what ``FakeModels`` has


def another(setting: Setting, folder: Path) -> Any:
    """Return a value that the setting can have, as JSON, which is not its default."""
    if setting.name in OF_MODELS:
        return OF_MODELS[setting.name]
    if setting.is_folder:
        return str(folder)
    if setting.choices:
        return next(choice for choice in setting.choices if choice != setting.default)
    if setting.type is bool:
        return not setting.default
    if setting.type is tuple:
        return ["calculator"]
    if setting.type is str:
        return f"Another {setting.name}"
    return setting.type(setting.least + 1)


def too_much(setting: Setting) -> Any:
    """Return what is out of the declared bounds, None for a setting without any."""
    if setting.is_folder:
        return "relative"
    if setting.choices:
        return "neither"
    if setting.type is bool or setting.most == float("inf"):
        return None
    if setting.type is tuple:
        return ["x"] * (int(setting.most) + 1)
    if setting.type is str:
        return "x" * (int(setting.most) + 1)
    return setting.type(setting.most + 1)


def of_another_type(setting: Setting) -> Any:
    """Return what is of no type that the setting has."""
    return "1" if setting.type in (int, float, bool) else 1
