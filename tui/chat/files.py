"""Attachments: files found by the beginning of a path, read as text or as an image."""

from __future__ import annotations

import os
import re
import shlex
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from agent_tui.ignored import MAX_IGNORE_BYTES, IgnoreRules
from agent_tui.model.events import Attachment
from agent_tui.model.images import (
    MAX_IMAGE_BYTES,
    attached_image,
    bytes_of,
    is_image,
)
from agent_tui.model.inert import inert, inert_line
from agent_tui.paths import folder_exists
from tui.screens.words import count, say
from widgets.fuzzy import has_letters, match
from widgets.units import size

MOST: Final = 20  # attachments of one question (our server takes no more)
MAX_BYTES: Final = 4_000_000  # of all of them; as JSON that is well within the limit
MAX_LISTED: Final = 100_000  # files of a folder that are offered
MAX_DEPTH: Final = 20
MAX_RANKED: Final = 1_000  # files that match, of which the best are offered
LISTING_SECONDS: Final = 5.0  # how long a listing is used
LONG_LINES: Final = 30  # a longer pasted text becomes an attachment
LONG_CHARACTERS: Final = 2_000
MAX_NAME_CHARACTERS: Final = 200
MAX_PASTED_CHARACTERS: Final = 20_000  # of paths
_NAMED: Final = re.compile(r'(?<!\S)@(?:"([^"\n]+)"|(\S+))')
_BEGUN: Final = re.compile(r'(?<!\S)@(?:"([^"\n]*)|([^\s"]*))$')
_TRAILING: Final = ".,;:!?)]}'\""


class Unfit(Exception):
    """A file cannot be attached; the text says why, one line for a person."""


@dataclass(slots=True)
class Files:
    """The files that a question may name: those below ``folder``, and any other by its absolute path."""

    folder: Path
    most: int = MAX_LISTED
    _listed: list[str] = field(default_factory=list)
    _listed_at: float = 0.0

    @property
    def is_listed(self) -> bool:
        """Whether there is a recent listing."""
        return bool(self._listed_at) and time.monotonic() - self._listed_at < LISTING_SECONDS

    def look(self) -> None:
        """List the files, the nearer ones if there are too many; takes a moment."""
        self._listed = list(islice(_below(self.folder), self.most))
        self._listed_at = time.monotonic()

    def fitting(self, begun: str, most: int) -> list[str]:
        """Return paths for the typed text ``begun``, the best first: those that begin so, then those in which
        a word does, then those that contain it, then those with its letters in that order.
        """
        if begun.startswith(("/", "~", "..")):
            return _in_folder(begun, most)
        begun = begun.removeprefix("./").casefold()
        if not begun:
            return self._listed[:most]
        found = [path for path in self._listed if has_letters(begun, path.casefold())]
        found.sort(key=lambda path: begun not in path.casefold())
        ranked = [(fits.rank, path) for path in found[:MAX_RANKED] if (fits := match(begun, path))]
        return [path for _, path in sorted(ranked)[:most]]

    def path_of(self, named: str) -> Path | None:
        """Return the named file, ``None`` if there is none."""
        try:
            path = self.folder / Path(named).expanduser()
            return path if path.is_file() else None
        except (OSError, ValueError, RuntimeError):
            return None

    def named_in(self, text: str) -> list[tuple[str, Path]]:
        """Return the files that ``text`` names after an ``@``; other words with ``@`` are ignored."""
        found = {named[0]: named[1] for match in _NAMED.finditer(text) if (named := self._file_named(match))}
        return list(found.items())

    def _file_named(self, match: re.Match[str]) -> tuple[str, Path] | None:
        name = match[1] or match[2]
        for path_text in (name, name.rstrip(_TRAILING)):
            if path_text and (path := self.path_of(path_text)) is not None:
                return path_text, path
        return None


def begun_in(text: str) -> str | None:
    """Return the path that is being written after an ``@`` at the end of ``text``, or ``None``."""
    match = _BEGUN.search(text)
    if match is None:
        return None
    return match[1] if match[1] is not None else match[2]


def path_in_question(path: str) -> str:
    """Return a path as it is written into a question."""
    return f'@"{path}"' if any(char.isspace() for char in path) else f"@{path}"


def pasted_paths(text: str, files: Files) -> list[tuple[str, Path]]:
    """Return the files whose paths were pasted (as when files are dropped); none beside other words."""
    text = text.strip()
    if len(text) > MAX_PASTED_CHARACTERS:
        return []
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    if found := _all_dropped(lines, files):
        return found
    with suppress(ValueError):
        return _all_dropped(shlex.split(text), files)
    return []


def _all_dropped(paths: list[str], files: Files) -> list[tuple[str, Path]]:
    """Return the files at these paths; none if one of them is not a file."""
    found = [file for path in paths if (file := _dropped(path, files)) is not None]
    return found if len(found) == len(paths) else []


def _dropped(written: str, files: Files) -> tuple[str, Path] | None:
    if written.startswith("file://"):
        written = unquote(urlsplit(written).path)
    elif not written.startswith(("/", "~", "./", "../")):
        return None  # a single word does not count as a path
    path = files.path_of(written)
    if path is None:
        return None
    return str(path.relative_to(files.folder)) if path.is_relative_to(files.folder) else written, path


def is_long(text: str) -> bool:
    """Whether a pasted text is better attached than written."""
    return len(text) > LONG_CHARACTERS or text.count("\n") >= LONG_LINES


def read(name: str, path: Path, room: int = MAX_BYTES) -> Attachment:
    """Return the file, a text or an image, as an attachment of at most ``room`` bytes; raises ``Unfit``."""
    shown = inert_line(name, MAX_NAME_CHARACTERS)
    try:
        with path.open("rb") as file:
            data = file.read(room + 1)
            length = os.fstat(file.fileno()).st_size
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise Unfit(say("chat.attach.unreadable", name=shown, reason=reason)) from error
    if len(data) > room:
        raise Unfit(say("chat.attach.large", name=shown, size=size(length), most=size(room)))
    if (image := attached_image(shown, data)) is not None:
        if len(data) > MAX_IMAGE_BYTES:
            raise Unfit(say("chat.attach.large", name=shown, size=size(length), most=size(MAX_IMAGE_BYTES)))
        return image
    if b"\0" in data[:8192]:
        raise Unfit(say("chat.attach.binary", name=shown))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unfit(say("chat.attach.binary", name=shown)) from error
    return Attachment(shown, text)


def room_beside(attached: Iterable[Attachment]) -> int:
    """Return how many bytes may be attached beside these."""
    return max(0, MAX_BYTES - sum(map(bytes_of, attached)))


def read_all(paths: Iterable[tuple[str, Path]], attached: Iterable[Attachment]) -> list[Attachment]:
    """Return all these files as attachments that fit beside those ``attached``; raises ``Unfit``."""
    room, found = room_beside(attached), []
    for name, path in paths:
        found.append(read(name, path, max(0, room)))
        room -= bytes_of(found[-1])
    return found


def facts(file: Attachment) -> str:
    """Return the size of an attached file; for an image also its kind."""
    kind = [file.type.removeprefix("image/").upper()] if is_image(file) else []
    return " · ".join([*kind, size(bytes_of(file))])


def with_named(text: str, attached: list[Attachment], files: Files) -> list[Attachment]:
    """Return ``attached`` with the files that ``text`` names; raises ``Unfit``, also if it is too much."""
    named = {inert_line(name, MAX_NAME_CHARACTERS): (name, path) for name, path in files.named_in(text)}
    for file in attached:
        named.pop(file.name, None)
    found = [*attached, *read_all(named.values(), attached)]
    if len(found) > MOST:
        raise Unfit(say("chat.attach.many", most=count(MOST)))
    return found


# --- folders ---


def _in_folder(begun: str, most: int) -> list[str]:
    """Return the contents of a path's folder, folders with a slash at their end."""
    before, slash, name = begun.rpartition("/")
    if not slash:
        before, name = begun, ""
    try:
        folder = Path(before + "/").expanduser()
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except (OSError, RuntimeError, ValueError):
        return []
    low = name.casefold()
    return [
        f"{before}/{entry.name}{'/' if folder_exists(entry) else ''}"
        for entry in entries
        if entry.name.casefold().startswith(low)
        and _can_be_named(entry.name)
        and (low or not entry.name.startswith("."))
    ][:most]


def _below(top: Path) -> Iterator[str]:
    """Yield the files below a folder, nearer ones first, without those that .gitignore excludes."""
    waiting: deque[tuple[str, IgnoreRules]] = deque([("", IgnoreRules())])
    while waiting:
        path, ignored = waiting.popleft()
        ignored = _with_rules_of(top / path, path, ignored)
        for where, is_folder in _in(top / path, path, ignored):
            if not is_folder:
                yield where
            elif where.count("/") < MAX_DEPTH:
                waiting.append((where, ignored))


def _in(folder: Path, path: str, ignored: IgnoreRules) -> Iterator[tuple[str, bool]]:
    """Yield the files and folders of a folder that are not ignored, and whether each is a folder."""
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        where = f"{path}/{entry.name}" if path else entry.name
        try:
            is_folder = entry.is_dir(follow_symlinks=False)
            is_file = entry.is_file()
        except OSError:
            continue
        if entry.name == ".git" or not _can_be_named(entry.name):
            continue
        if ignored.leave_out(where, is_folder=is_folder):
            continue
        if is_folder or is_file:
            yield where, is_folder


def _can_be_named(name: str) -> bool:
    return inert(name) == name and "\n" not in name and '"' not in name


def _with_rules_of(folder: Path, path: str, ignored: IgnoreRules) -> IgnoreRules:
    rules = folder / ".gitignore"
    try:
        if not rules.is_file():  # a pipe would never be read to its end
            return ignored
        with rules.open("rb") as file:
            return ignored.below(path, file.read(MAX_IGNORE_BYTES))
    except OSError:
        return ignored
