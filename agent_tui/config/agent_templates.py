"""Agents to choose from: the shipped templates, and the user's own beside the config file.

One file is one agent: ``color``, ``model`` and ``provider`` at the top, and what it is called and told in
``[en]``, ``[zh]`` and ``[ru]`` (``name``, ``prompt``, ``summary``). The file's name is the template's id; a
file of the user's replaces a shipped one of the same id. A file is hostile: sizes are capped.
"""

from __future__ import annotations

import contextlib
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from agent_tui.config.file import config_path
from agent_tui.config.toml_string import toml_string
from agent_tui.model.errors import ConfigError, not_written
from agent_tui.model.inert import inert_line
from agent_tui.model.records import AGENT_NAME, NAME, WORDS

LANGUAGES: Final = ("en", "zh", "ru")
SHIPPED: Final = Path(__file__).parent / "templates"
FOLDER: Final = "agents"  # beside the config file
SUFFIX: Final = ".toml"
MAX_FILE_BYTES: Final = 256 * 1024
MAX_FILES: Final = 500
MAX_SUMMARY_CHARACTERS: Final = 200

COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_ID = re.compile(r"[^\W_][\w.-]{0,63}")
_HAN = re.compile("[\u3400-\u4dbf\u4e00-\u9fff]")
_KANA = re.compile("[\u3040-\u30ff\uac00-\ud7af]")  # beside these the ideographs are not Chinese
_CYRILLIC = re.compile("[\u0400-\u04ff]")
_LATIN = re.compile("[A-Za-z\u00c0-\u024f]")
_KNOWN_KEYS = ("color", "model", "provider", *LANGUAGES)


@dataclass(frozen=True, slots=True)
class Template:
    """One agent to choose; ``names``, ``prompts`` and ``summaries`` are by language ("en", "zh", "ru")."""

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
        """Return (name, prompt, summary) in ``language``, else in English, else in the one there is."""
        chosen = next(tag for tag in (language, *LANGUAGES) if tag in self.names)
        return self.names[chosen], self.prompts[chosen], self.summaries.get(chosen, "")


def language_of(text: str) -> str:
    """Return the language to speak about ``text``, from its script: "zh", "ru", else "en".

    An ideograph counts for four Latin letters, a Cyrillic letter for three: a few foreign names in a text
    do not change its language. Japanese and Korean are not Chinese.
    """
    read = text[:2000]
    han, cyrillic = 4 * len(_HAN.findall(read)), 3 * len(_CYRILLIC.findall(read))
    latin = len(_LATIN.findall(read))
    han = 0 if _KANA.search(read) else han
    if max(han, cyrillic) < max(latin, 1):
        return "en"
    return "zh" if han >= cyrillic else "ru"


def own_folder() -> Path:
    """Return the folder of the user's own templates; it need not exist."""
    return config_path().parent / FOLDER


def templates(own: Path | None = None) -> list[Template]:
    """Return every template that can be used, shipped ones first, each id once (the user's own wins)."""
    return load(own)[0]


def load(own: Path | None = None) -> tuple[list[Template], list[str]]:
    """Return the templates, and one line for each file of the user's that cannot be used as it is.

    ``own`` is another folder than ``own_folder()``.
    """
    found = {template.id: template for template in map(_shipped, _files(SHIPPED))}
    warnings: list[str] = []
    for path in _files(own_folder() if own is None else own):
        try:
            template, complaints = read_template(path, is_own=True)
        except ConfigError as error:
            warnings.append(inert_line(str(error), 500))
            continue
        found[template.id] = template
        warnings += complaints
    return list(found.values()), warnings


def _shipped(path: Path) -> Template:
    return read_template(path)[0]


def _files(folder: Path) -> Iterator[Path]:
    try:
        paths = sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIX))
    except OSError:  # most people have no templates of their own
        return
    yield from paths[:MAX_FILES]


def read_template(path: Path, *, is_own: bool = False) -> tuple[Template, list[str]]:
    """Return the template in ``path`` and a line for each key that means nothing.

    Raises ``ConfigError`` whose one line names the file, the key and what is wrong with it.
    """
    template_id = path.name.removesuffix(SUFFIX)
    if not _ID.fullmatch(template_id):
        raise ConfigError(f"{path}", "the name of the file must be letters, digits, - and _")
    table = read_toml(path, MAX_FILE_BYTES)
    reader = _Reader(path)
    color = reader.text(table, "color", "color", NAME)
    if color and not COLOR.fullmatch(color):
        raise ConfigError(f"{path}: color", "must be like #4c9be8")
    texts = {tag: reader.texts(tag, table[tag]) for tag in LANGUAGES if tag in table}
    if not texts:
        raise ConfigError(f"{path}", "needs [en], [zh] or [ru] with name and prompt")
    warnings = [f"{path}: {inert_line(key)}: unknown key, ignored" for key in table if key not in _KNOWN_KEYS]
    template = Template(
        template_id,
        {tag: entry["name"] for tag, entry in texts.items()},
        {tag: entry["prompt"] for tag, entry in texts.items()},
        {tag: entry["summary"] for tag, entry in texts.items() if entry["summary"]},
        color,
        reader.text(table, "model", "model", NAME),
        reader.text(table, "provider", "provider", NAME),
        path,
        is_own,
    )
    return template, warnings + reader.warnings


def save_template(template: Template, folder: Path | None = None) -> Path:
    """Write ``template`` as a file of the user's own and return its path; one of the same id is replaced.

    Raises ``ConfigError`` for an id or a text that could not be read back, or when it cannot be written.
    """
    folder = own_folder() if folder is None else folder
    path = folder / f"{template.id}{SUFFIX}"
    if not _ID.fullmatch(template.id):
        raise ConfigError(f'"{inert_line(template.id)}" is no id', "letters, digits, - and _ make one")
    if not template.names or any(not name.strip() for name in template.names.values()):
        raise ConfigError("a template needs a name")
    beside = folder / f".{template.id}.{os.getpid()}.new"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        beside.write_text(template_text(template), encoding="utf-8")
        _check_readable(beside, path)
        beside.replace(path)
    except OSError as error:
        raise not_written(f"{path}: cannot be written", error) from error
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
    return path


def _check_readable(written: Path, path: Path) -> None:
    """Check that what was ``written`` for ``path`` can be read again; raises ``ConfigError``."""
    reader = _Reader(path)
    for tag, entry in read_toml(written, MAX_FILE_BYTES).items():
        if tag in LANGUAGES:
            reader.texts(tag, entry)


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


def read_toml(path: Path, most_bytes: int) -> dict[str, Any]:
    """Return the tables of a file of at most ``most_bytes``; raises ``ConfigError`` in one line."""
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        raise ConfigError(f"{path}: cannot be read", error.strerror or str(error)) from error
    if len(data) > most_bytes:
        raise ConfigError(f"{path}: is too large", f"at most {most_bytes // 1024} KiB")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: is no UTF-8", f"byte {error.start + 1}") from error
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits are plain ValueErrors
        why = inert_line(str(error)) if isinstance(error, ValueError) else "nested too deeply"
        raise ConfigError(f"{path}: not valid TOML", why) from error


class _Reader:
    """Reads one template; every complaint names the file and the key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.warnings: list[str] = []

    def text(self, table: Mapping[str, Any], key: str, where: str, most: int) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise ConfigError(f"{self._path}: {where}", "must be a string")
        if len(value) > most:
            raise ConfigError(f"{self._path}: {where}", f"has {len(value):,} of at most {most:,} characters")
        return value.strip()

    def texts(self, tag: str, entry: object) -> dict[str, str]:
        """Return name, prompt and summary of one language."""
        if not isinstance(entry, Mapping):
            raise ConfigError(f"{self._path}: {tag}", f"must be a table: [{tag}]")
        most = {
            "name": AGENT_NAME,
            "prompt": WORDS,
            "summary": MAX_SUMMARY_CHARACTERS,
        }
        texts = {key: self.text(entry, key, f"{tag}.{key}", limit) for key, limit in most.items()}
        for key in ("name", "prompt"):
            if not texts[key]:
                raise ConfigError(f"{self._path}: {tag}.{key}", "is missing")
        self.warnings += [
            f"{self._path}: {tag}.{inert_line(key)}: unknown key, ignored" for key in entry if key not in most
        ]
        return texts
