"""The language of the screens, the help and the commands: English, or that of a gettext catalogue.

The code has the English texts. A catalogue (``locale``) has each of them under its context: the key of a
table, ``KEY`` for what a key does, or ``CLI`` for the command line. What scripts read is never translated.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from agent_tui.model.errors import AgentTuiError
from widgets import units

if TYPE_CHECKING:
    from gettext import NullTranslations

ENGLISH: Final = "en"
AUTO: Final = "auto"  # the language of the locale
LANGUAGES: Final = {ENGLISH: "", "zh-CN": "zh_CN", "ru": "ru"}  # as the config file names them: their folders
FOLDER: Final = Path(__file__).parent / "locale"
DOMAIN: Final = "agent_tui"
KEY: Final = "key"
CLI: Final = "cli"
WIDGET: Final = "widget"
_THOUSANDS: Final = {"ru": "\u00a0"}  # between the digits of large numbers, where it is not a comma
_POINTS: Final = {"ru": ","}  # between a whole number and its fraction


class LanguageTexts:
    """The current language with its texts; English has none of its own."""

    language: str = ENGLISH
    texts: NullTranslations | None = None


def written_language(environ: Mapping[str, str]) -> str:
    """Return ``[screen] language`` of the config file; "" if it is not there or cannot be read.

    Errors in the file are reported by the code that reads all of it. TOML is parsed only if the file may name
    a language.
    """
    folder = environ.get("XDG_CONFIG_HOME") or f"{environ.get('HOME', '')}/.config"
    try:
        path = Path(environ.get("AGENT_TUI_CONFIG") or f"{folder}/agent-tui/config.toml").expanduser()
        if path.is_fifo() or b"language" not in path.read_bytes():
            return ""
        from agent_tui.config.file import load  # lazy: most commands do not load it this early

        return load(path).screen.language
    except (OSError, RuntimeError, ValueError, AgentTuiError):
        return ""


def wanted_language(written: str, environ: Mapping[str, str]) -> str:
    """Return the language that the config file names, else that of the locale."""
    if written in LANGUAGES:
        return written
    locale = next((environ[key] for key in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(key)), "")
    return {"zh": "zh-CN", "ru": "ru"}.get(locale[:2].lower(), ENGLISH)


def speak(language: str) -> None:
    """Use one of ``LANGUAGES`` from now on."""
    if language == ENGLISH:
        texts = None
        units.UnitWords.told = str
    else:
        from gettext import translation  # lazy: English does not need it

        from tui.screens.localised import localised  # lazy: it needs this module

        texts = translation(DOMAIN, FOLDER, [LANGUAGES[language]])
        units.UnitWords.told = localised
    LanguageTexts.language, LanguageTexts.texts = language, texts
    units.UnitWords.word = partial(translated, WIDGET)
    units.UnitWords.form = partial(translated_count, WIDGET)
    separators = {",": _THOUSANDS.get(language, ","), ".": _POINTS.get(language, ".")}
    units.UnitWords.separators = str.maketrans(separators)
    units.UnitWords.units = {unit: translated(f"unit.{unit}", unit) for unit in units.ENGLISH}


def current_language() -> str:
    return LanguageTexts.language


def short_language() -> str:
    """Return the current language as templates and the demo name it: "en", "zh" or "ru"."""
    return LanguageTexts.language.partition("-")[0]


def translated(context: str, text: str) -> str:
    """Return an English text in the current language, or unchanged if the catalogue lacks it."""
    return text if LanguageTexts.texts is None else LanguageTexts.texts.pgettext(context, text)


def translated_count(context: str, one: str, many: str, number: int) -> str:
    """Return the text for a count: ``one`` or ``many`` in English."""
    if LanguageTexts.texts is None:
        return one if number == 1 else many
    return LanguageTexts.texts.npgettext(context, one, many, number)
