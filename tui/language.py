"""The language of the user, of those that we have texts for agents in."""

from __future__ import annotations

from collections.abc import Mapping


def language_of_locale(environ: Mapping[str, str]) -> str:
    """Return "en", "zh" or "ru", as the locale variables of ``environ`` say."""
    locale = next((environ[key] for key in ("LC_ALL", "LC_MESSAGES", "LANG") if environ.get(key)), "")
    language = locale[:2].lower()
    return language if language in ("zh", "ru") else "en"
