"""Turns settings into fields of a form, and what was typed there into values for the server."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from agent_tui.model.records import WORDS
from agent_tui.model.settings import Setting, settings_of
from tui.forms.fields import MAX_LINE_CHARACTERS, Choice, Field, Line
from tui.screens.words import ENGLISH, count, say, text_if_any
from widgets.composer import Composer

MAX_DIGITS: Final = 12
_THOUSANDS: Final = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.|$)")  # else a comma is where a fraction begins
FLAGS: Final[Mapping[str, bool | None]] = {"own": None, "off": False, "on": True}


def settings_in(record: type) -> dict[str, Setting]:
    """Return the settings of ``record`` that have a field in a form; tools have a list of their own."""
    settings = settings_of(record).items()
    return {name: setting for name, setting in settings if setting.in_form and setting.type is not tuple}


def setting_field(setting: Setting, value: Any, *, name: str = "", words: str = "setting") -> Field:
    """Return the field of a setting with its ``value``; ``name`` is the field's name, if it is not the one on
    the wire.

    ``words`` is the first part of the keys of words that this form does not share with the others.
    """
    name = name or setting.name

    def word(more: str = "") -> str:
        key = f"{setting.name}{more}"
        return text_if_any(f"{words}.{key}") or say(f"setting.{key}")

    inner: Line | Choice | Composer
    empty = text_if_any(f"setting.{setting.name}.empty")
    if setting.most == WORDS:
        inner = Composer(id=name, may_be_empty=True, placeholder=empty)
    elif options := setting.choices or _flags(setting):
        texts = [(option, word(f".{option}")) for option in options]
        inner = Choice(texts, text_in_field(setting, value), id=name)
    else:
        most = int(setting.most) if setting.is_name else MAX_LINE_CHARACTERS
        inner = Line(text_in_field(setting, value), placeholder=empty, most=most, id=name)
    read = partial(read_value, setting)
    return Field(name, word(), inner, setting, text=text_in_field(setting, value), read=read)


def _flags(setting: Setting) -> tuple[str, ...]:
    """Return the options of a setting that is on or off; nothing for any other."""
    flags = FLAGS if setting.nullable else [name for name, flag in FLAGS.items() if flag is not None]
    return tuple(flags) if setting.type is bool else ()


def text_in_field(setting: Setting, value: Any) -> str:
    """Return a value as a field shows it; "" for ``None``."""
    if setting.type is bool:
        return next(name for name, flag in FLAGS.items() if flag is value)
    if value is None or (not value and not setting.nullable):
        return ""
    return f"{value:g}" if setting.type is float else str(value)


def read_value(setting: Setting, text: str) -> Any:
    """Return the value of a setting. Raises ``ValueError`` with a sentence for a person."""
    if setting.type is bool:
        return FLAGS[text]
    if setting.type is str:
        if not text and (needed := text_if_any(f"setting.{setting.name}.needed")):
            raise ValueError(needed)
        return folder_of(text) if text and setting.is_folder else text
    if not text and setting.least == 0:
        return setting.default
    return _whole(setting, text) if setting.type is int else _amount(setting, text)


def _whole(setting: Setting, text: str) -> int:
    digits = (text.replace(",", "") if _THOUSANDS.match(text) else text).replace(" ", "").replace("_", "")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) <= MAX_DIGITS
    key = f"setting.{setting.name}.wrong"
    if is_number and (key not in ENGLISH or setting.least <= int(digits) <= setting.most):
        return int(digits)  # without a sentence of its own the server says what it takes
    if key not in ENGLISH:
        raise ValueError(say("settings.whole_number"))
    raise ValueError(say(key, least=int(setting.least), most=count(int(setting.most))))


def _amount(setting: Setting, text: str) -> float:
    try:
        number = text.lstrip("$")
        amount = float(number.replace(",", "" if _THOUSANDS.match(number) else "."))
    except ValueError:
        amount = -1.0
    if not setting.least <= amount <= setting.most:  # nan is neither
        key = f"setting.{setting.name}.wrong"
        raise ValueError(say(key if key in ENGLISH else "settings.amount"))
    return amount


def folder_of(text: str) -> str:
    """Return the absolute path of a folder, "~" replaced. Raises ``ValueError`` as ``read_value`` does."""
    try:
        folder = Path(text).expanduser()
    except RuntimeError:  # there is no such user
        folder = Path(text)
    if not folder.is_absolute():
        raise ValueError(say("setting.workspace.wrong", root=os.sep))
    return str(folder)
