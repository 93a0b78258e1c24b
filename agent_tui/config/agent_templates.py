"""Agents to choose from: the shipped templates, and the user's own beside the config file.

One file is one agent: ``color``, ``model`` and ``provider`` at the top, and its texts in ``[en]``, ``[zh]``
and ``[ru]`` (``name``, ``prompt``, ``summary``). The file's name is the template's id; a user's file replaces
a shipped one with the same id. A file is hostile: sizes are capped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from agent_tui import voice_instructions
from agent_tui.config.file import config_path
from agent_tui.config.table import Table, parsed_toml, read_toml
from agent_tui.config.toml_string import toml_string
from agent_tui.model.colors import hex_color
from agent_tui.model.errors import ConfigError
from agent_tui.model.inert import inert_line
from agent_tui.model.records import AGENT_NAME, NAME, WORDS
from agent_tui.whole_file import write_whole

LANGUAGES: Final = ("en", "zh", "ru")
SHIPPED: Final = Path(__file__).parent / "templates"
FOLDER: Final = "agents"  # beside the config file
SUFFIX: Final = ".toml"
MAX_FILE_BYTES: Final = 256 * 1024
MAX_FILES: Final = 500
MAX_SUMMARY_CHARACTERS: Final = 200

_ID = re.compile(r"[^\W_][\w.-]{0,63}")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff\uac00-\ud7af]")  # a text with these and ideographs is not Chinese
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_KNOWN_KEYS = ("color", "model", "provider", *LANGUAGES)


@dataclass(frozen=True, slots=True)
class Template:
    """A template of an agent; ``names``, ``prompts`` and ``summaries`` are by language ("en", "zh", "ru")."""

    id: str
    names: Mapping[str, str]
    prompts: Mapping[str, str] = field(repr=False)
    summaries: Mapping[str, str]
    color: str = ""
    model: str = ""
    provider: str = ""
    path: Path = Path()
    is_own: bool = False

    def in_language(self, language: str) -> tuple[str, str, str]:
        """Return (name, prompt, summary) in ``language``, else in English, else in the only language it
        has.
        """
        chosen = next(tag for tag in (language, *LANGUAGES) if tag in self.names)
        return self.names[chosen], self.prompts[chosen], self.summaries.get(chosen, "")


def language_of(text: str) -> str:
    """Return the language of ``text``, from its script: "zh", "ru", else "en".

    An ideograph counts as four Latin letters, a Cyrillic letter as three, so that a few foreign names do not
    change the language of a text. Japanese and Korean do not count as Chinese. A text without letters, such
    as a sum, is in the language of this process.
    """
    start = text[:2000]
    han, cyrillic = 4 * len(_HAN.findall(start)), 3 * len(_CYRILLIC.findall(start))
    latin = len(_LATIN.findall(start))
    if not (han or cyrillic or latin):
        return voice_instructions.language_of(voice_instructions.own_locale())
    han = 0 if _KANA.search(start) else han
    if max(han, cyrillic) < max(latin, 1):
        return "en"
    return "zh" if han >= cyrillic else "ru"


def own_folder() -> Path:
    """Return the folder of the user's own templates; it may not exist."""
    return config_path().parent / FOLDER


def templates(own: Path | None = None) -> list[Template]:
    """Return every usable template, shipped ones first, each id once (the user's own wins)."""
    return load(own)[0]


def load(own: Path | None = None) -> tuple[list[Template], list[str]]:
    """Return the templates, and one line for each of the user's files that has an error.

    ``own`` is another folder than ``own_folder()``.
    """
    shipped = (read_template(path)[0] for path in _files(SHIPPED))
    templates_by_id = {template.id: template for template in shipped}
    warnings: list[str] = []
    for path in _files(own_folder() if own is None else own):
        try:
            template, complaints = read_template(path, is_own=True)
        except ConfigError as error:
            warnings.append(inert_line(str(error), 500))
            continue
        templates_by_id[template.id] = template
        warnings += complaints
    return list(templates_by_id.values()), warnings


def _files(folder: Path) -> Iterator[Path]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
    except OSError:  # most people have no templates of their own
        return
    yield from paths[:MAX_FILES]


def read_template(path: Path, *, is_own: bool = False) -> tuple[Template, list[str]]:
    """Return the template in ``path`` and a line for each unknown key.

    Raises ``ConfigError`` with one line that names the file, the key and the error.
    """
    template_id = path.name.removesuffix(SUFFIX)
    if not _ID.fullmatch(template_id):
        raise ConfigError(f"{path}", "the name of the file must be letters, digits, - and _")
    table = Table(path, read_toml(path, MAX_FILE_BYTES))
    color, model, provider = (table.text(key, NAME).strip() for key in ("color", "model", "provider"))
    if color and not hex_color(color):
        raise table.fail("color", "must be like #4c9be8")
    table.warn_of_unknown(_KNOWN_KEYS, "unknown key, ignored")
    texts = _languages(table)
    if not texts:
        raise table.fail("", "needs [en], [zh] or [ru] with name and prompt")
    template = Template(
        template_id,
        {tag: entry["name"] for tag, entry in texts.items()},
        {tag: entry["prompt"] for tag, entry in texts.items()},
        {tag: entry["summary"] for tag, entry in texts.items() if entry["summary"]},
        hex_color(color),
        model,
        provider,
        path,
        is_own,
    )
    return template, [f"{path}: {line}" for line in table.warnings]


def save_template(template: Template, folder: Path | None = None) -> Path:
    """Write ``template`` as the user's own file and return its path; replaces one with the same id.

    Raises ``ConfigError`` for an id or a text that could not be read back, or when it cannot be written.
    """
    folder = own_folder() if folder is None else folder
    path = folder / f"{template.id}{SUFFIX}"
    if not _ID.fullmatch(template.id):
        raise ConfigError(f'"{inert_line(template.id)}" is not an id', "an id has letters, digits, - and _")
    if not template.names or any(not name.strip() for name in template.names.values()):
        raise ConfigError("a template needs a name")
    content = template_text(template).encode()
    _languages(Table(path, parsed_toml(path, content, MAX_FILE_BYTES)))  # checks that it can be read back
    write_whole(path, content)
    return path


def template_text(template: Template) -> str:
    """Return the template as the text of its file."""
    top = {"color": template.color, "model": template.model, "provider": template.provider}
    blocks = ["\n".join(f"{key} = {toml_string(value)}" for key, value in top.items() if value)]
    for tag in (tag for tag in LANGUAGES if tag in template.names):
        name, prompt, summary = template.in_language(tag)
        fields = {"name": name, "summary": summary, "prompt": prompt}
        lines = [
            f"{key} = {toml_string(value)}" for key, value in fields.items() if value or key != "summary"
        ]
        blocks.append("\n".join([f"[{tag}]", *lines]))
    return "\n\n".join(block for block in blocks if block) + "\n"


def _of_language(table: Table) -> dict[str, str]:
    most = {"name": AGENT_NAME, "prompt": WORDS, "summary": MAX_SUMMARY_CHARACTERS}
    texts = {key: table.text(key, limit).strip() for key, limit in most.items()}
    for key in ("name", "prompt"):
        if not texts[key]:
            raise table.fail(key, "is missing")
    table.warn_of_unknown(most, "unknown key, ignored")
    return texts


def _languages(table: Table) -> dict[str, dict[str, str]]:
    texts = {}
    for tag in LANGUAGES:
        if (entry := table.values.get(tag)) is not None:
            if not isinstance(entry, Mapping):
                raise table.fail(tag, f"must be a table: [{tag}]")
            texts[tag] = _of_language(table.inner(tag, entry))
    return texts
