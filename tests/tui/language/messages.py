"""All texts that are translated, and the catalogues of them. ``make messages`` updates these by this."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from pathlib import Path
from typing import Final, NamedTuple

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

from tests.tui.language.raised import raised
from tui.cli import pages
from tui.cli.declared import COMMANDS
from tui.keys.keymap import catalogue
from tui.language import CLI, DOMAIN, FOLDER, KEY, LANGUAGES, WIDGET
from tui.screens.localised import BELOW, PATTERNS
from tui.screens.words import ENGLISH
from widgets import meter
from widgets.composer import TOO_LONG
from widgets.transcript import canvas, step_body

COLUMNS: Final = 110
BEGAN: Final = datetime(2026, 11, 23, tzinfo=UTC)  # of all catalogues: only their texts are news
FOLDERS: Final = [folder for folder in LANGUAGES.values() if folder]


class Text(NamedTuple):
    """A text and its context; ``many`` is its plural, "" where it has none."""

    context: str
    one: str
    many: str = ""


def texts() -> list[Text]:
    """Return everything that is translated, each once, in the order of the code."""
    return list(dict.fromkeys([*_of_screens(), *_of_keys(), *_of_commands(), *_of_widgets(), *_below()]))


def _of_screens() -> Iterator[Text]:
    for key, text in ENGLISH.items():
        if not key.endswith(".one"):
            one = ENGLISH.get(f"{key}.one", "")
            yield Text(key, one or text, text if one else "")


def _of_keys() -> Iterator[Text]:
    for entry in catalogue():
        yield Text(KEY, entry.description)


def _of_commands() -> Iterator[Text]:
    for text in pages.TEXTS:
        yield Text(CLI, text)
    for command in COMMANDS.values():
        said = [command.brief, command.about, command.after]
        said += [argument.text for argument in command.arguments]
        said += [option.text for option in command.options]
        yield from (Text(CLI, text) for text in said if text)


def _of_widgets() -> Iterator[Text]:
    yield from (
        Text(WIDGET, word) for word in (*step_body.WORDS, canvas.NEW, meter.QUIET, meter.CLIPPING, TOO_LONG)
    )
    yield from (Text(WIDGET, one, many) for one, many in step_body.COUNTED)


def _below() -> Iterator[Text]:
    for text in raised():
        yield Text(BELOW, text)


def path_of(folder: str, ending: str) -> Path:
    """Return the file of a catalogue: ``ending`` is "po" or "mo"."""
    return FOLDER / folder / "LC_MESSAGES" / f"{DOMAIN}.{ending}"


def read(folder: str) -> Catalog:
    """Return a catalogue as its .po file has it; an empty one where there is none."""
    path = path_of(folder, "po")
    if not path.exists():
        return Catalog(folder, DOMAIN)
    with path.open("rb") as file:
        return read_po(file, folder, DOMAIN)


def updated(folder: str) -> Catalog:
    """Return a catalogue of all texts, with the translations that its .po file has of them."""
    known = read(folder)
    about = {"project": "agent-tui", "version": "1", "msgid_bugs_address": "-", "last_translator": "-"}
    about |= {
        "language_team": "-",
        "header_comment": "# The texts of agent-tui; make messages updates this file.",
    }
    made = Catalog(folder, DOMAIN, fuzzy=False, creation_date=BEGAN, revision_date=BEGAN, **about)
    for text in texts():
        said = known.get((text.one, text.many) if text.many else text.one, text.context)
        made.add(
            (text.one, text.many) if text.many else text.one,
            said.string if said is not None else None,
            context=text.context,
        )
    return made


def compiled(catalog: Catalog) -> bytes:
    """Return what stands in the .mo file of a catalogue."""
    file = BytesIO()
    write_mo(file, catalog)
    return file.getvalue()


def patterns() -> str:
    """Return the texts with places that are said below the screens, a line each."""
    return "".join(f"{text}\n" for text in raised() if "{" in text)


def update() -> int:
    """Write all catalogues; return how many texts lack a translation."""
    lacking = 0
    PATTERNS.write_text(patterns(), encoding="utf-8")
    for folder in FOLDERS:
        path = path_of(folder, "po")
        path.parent.mkdir(parents=True, exist_ok=True)
        catalog = updated(folder)
        with path.open("wb") as file:
            write_po(file, catalog, width=COLUMNS, omit_header=False)
        path_of(folder, "mo").write_bytes(compiled(catalog))
        for message in catalog:
            if message.id and not all(
                message.string if isinstance(message.string, tuple) else [message.string]
            ):
                sys.stdout.write(f"{folder}: {message.context}: {message.id!r}\n")
                lacking += 1
    return lacking


if __name__ == "__main__":
    sys.exit(1 if update() else 0)
