"""Files that an agent shares (protocols.md §4), from its ``/workspace`` as seen on this machine; no path
leads out of it.

Every path is opened part by part from the folder's own descriptor, and no link is followed: the file that was
checked is the file that is opened.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from typing import Final

from agent_tui.model.errors import ConfigError, DiskFull, not_written
from agent_tui.model.inert import inert_line
from agent_tui.paths import file_exists, named_path

ATTACHMENTS: Final = "attachments"  # the folder of the workspace for copied files
MAX_FILE_BYTES: Final = 1024 * 1024 * 1024
MAX_FILES: Final = 50  # that are saved of one answer
MAX_ANSWER_BYTES: Final = 1024 * 1024 * 1024  # of these together
MAX_PATH_CHARACTERS: Final = 4_000
MAX_FOLDERS: Final = 64  # of a path
_MAX_NAME_BYTES: Final = 200
_PIECE_BYTES: Final = 1024 * 1024
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# What no file name of ours contains: separators, and whatever confuses a terminal or a shell's user.
_ODD_IN_NAMES = re.compile(r"[\x00-\x1f\x7f-\x9f/\\:\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


class AgentFiles:
    """Copies files into an agent's workspace, and offered files into ``subfolders`` of ``base``, each below
    the one before it: they are made where they are missing, under safe names.

    All calls block; none overwrites a file. ``max_bytes`` limits the size of a copied file, and ``answer``
    begins an answer, of which only so many files and bytes are saved.
    """

    def __init__(
        self,
        workspace: Path,
        base: Path,
        subfolders: Sequence[str] = (),
        *,
        max_bytes: int = MAX_FILE_BYTES,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
    ) -> None:
        self.workspace = workspace
        self._base = base
        self._subfolders = [_file_name(name) for name in subfolders]
        self.downloads = base.joinpath(*self._subfolders)
        self._max_bytes = max_bytes
        self._max_answer_bytes = max_answer_bytes
        self._taken: dict[tuple[object, ...], Path] = {}  # copies of this answer, by path and state of a file
        self._taken_bytes = 0

    def answer(self) -> None:
        """Begin an answer: nothing of it was saved."""
        self._taken.clear()
        self._taken_bytes = 0

    def put(self, file: Path) -> str:
        """Return the path of ``file`` relative to the workspace, after copying it there if it is elsewhere.

        Raises ``ConfigError`` for a file that cannot be read or copied, ``DiskFull`` if there is no space.
        """
        shown = inert_line(str(file))
        title = f"{shown} cannot be attached"
        real, workspace = (named_path(path, title, resolves=True) for path in (file, self.workspace))
        if real.is_relative_to(workspace) and file_exists(real):
            return real.relative_to(workspace).as_posix()
        try:
            with _Descriptors() as opened:
                source = opened.open(file, _READ & ~os.O_NOFOLLOW)
                self._check(source)
                folder = opened.ensure_folder(opened.open(self.workspace, _FOLDER), ATTACHMENTS)
                name, _ = _copy(source, folder, _file_name(file.name), self._max_bytes)
                return f"{ATTACHMENTS}/{name}"
        except _Refusal as error:
            raise ConfigError(title, str(error)) from error
        except OSError as error:
            raise _failure(title, error) from error

    def take(self, path: str) -> Path:
        """Return the path of a copy of an offered file; ``path`` is relative to the workspace. A file that
        did not change since it was offered in the same answer is not copied again.

        Raises ``ConfigError`` for a path that leads out of the workspace or through a link, for anything that
        is not an ordinary file, is too large, or cannot be copied, and for more than an answer may bring.
        """
        title = f"{inert_line(path)} was not saved"
        try:
            parts = _parts(path)
            with _Descriptors() as opened:
                source = opened.open_file(opened.open(self.workspace, _FOLDER), parts)
                self._check(source)
                status = os.fstat(source)
                version = (*parts, status.st_ino, status.st_mtime_ns, status.st_size)
                if version not in self._taken:
                    self._taken[version] = self._copy_offered(source, status.st_size, _file_name(parts[-1]))
                return self._taken[version]
        except _Refusal as error:
            raise ConfigError(title, str(error)) from error
        except OSError as error:
            raise _failure(title, error) from error

    def _copy_offered(self, source: int, size: int, name: str) -> Path:
        if len(self._taken) >= MAX_FILES:
            raise _Refusal(f"At most {MAX_FILES} files of one answer are saved.")
        bytes_left = self._max_answer_bytes - self._taken_bytes
        if size > bytes_left:
            raise _Refusal(f"At most {self._max_answer_bytes:,} bytes of one answer are saved.")
        self._base.mkdir(parents=True, exist_ok=True)
        with _Descriptors() as opened:
            base = opened.open(self._base, _FOLDER & ~os.O_NOFOLLOW)
            folder = opened.ensure_folder(base, *self._subfolders)
            name, copied = _copy(source, folder, name, min(self._max_bytes, bytes_left))
        self._taken_bytes += copied
        return self.downloads / name

    def _check(self, source: int) -> None:
        status = os.fstat(source)
        if not stat.S_ISREG(status.st_mode):
            raise _Refusal("It is not an ordinary file.")
        if status.st_size > self._max_bytes:
            raise _Refusal(f"It is larger than {self._max_bytes:,} bytes.")


class _Refusal(Exception):
    """Why a file is refused."""


def _parts(path: str) -> list[str]:
    """Return the parts of a path; raises ``_Refusal`` if it may lead out of the workspace."""
    if not path or len(path) > MAX_PATH_CHARACTERS or "\0" in path:
        raise _Refusal("That is not a path.")
    if path.startswith(("/", "\\", "~")):
        raise _Refusal("The path is not relative to the agent's workspace.")
    parts = list(PurePosixPath(path).parts)
    if len(parts) > MAX_FOLDERS:
        raise _Refusal("The path has too many folders.")
    if not parts or ".." in parts:
        raise _Refusal("The path leads out of the agent's workspace.")
    return parts


class _Descriptors(ExitStack):
    """What is open until the ``with`` ends."""

    def open(self, path: Path | str, flags: int, folder: int | None = None) -> int:
        descriptor = os.open(path, flags, dir_fd=folder)
        self.callback(os.close, descriptor)
        return descriptor

    def ensure_folder(self, folder: int, *names: str) -> int:
        """Open the folder ``names`` below ``folder``; missing ones are made, and none may be a link."""
        for name in names:
            with suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=folder)
            folder = self.open(name, _FOLDER, folder)
        return folder

    def open_file(self, folder: int, parts: list[str]) -> int:
        """Open the file at ``parts`` below ``folder``; no part may be a link."""
        for place, name in enumerate(parts, 1):
            try:
                folder = self.open(name, _FOLDER if place < len(parts) else _READ, folder)
            except OSError as error:
                is_link = error.errno in (errno.ELOOP, errno.ENOTDIR) and _is_link(name, folder)
                raise _Refusal("The path leads over a link." if is_link else _why_not(error)) from error
        return folder


def _copy(source: int, folder: int, name: str, max_bytes: int) -> tuple[str, int]:
    """Copy all of ``source`` to a new file; return its name, which is new there, and its size."""
    target, name = _new_file(folder, name)
    copied = 0
    try:
        with os.fdopen(target, "wb") as file:
            while piece := os.read(source, _PIECE_BYTES):
                copied += len(piece)
                if copied > max_bytes:  # it grew
                    raise _Refusal(f"It is larger than {max_bytes:,} bytes.")
                file.write(piece)
    except BaseException:
        os.unlink(name, dir_fd=folder)
        raise
    return name, copied


def _is_link(name: str, folder: int) -> bool:
    return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)


def _why_not(error: OSError) -> str:
    return "There is no such file." if error.errno == errno.ENOENT else error.strerror or str(error)


def _new_file(folder: int, name: str) -> tuple[int, str]:
    """Return a new file's descriptor and its name: ``name``, or with a number before its suffix."""
    stem, ending = PurePosixPath(name).stem, PurePosixPath(name).suffix
    number = 1
    while True:
        try:
            return os.open(name, _NEW, 0o644, dir_fd=folder), name
        except FileExistsError:
            number += 1
            name = f"{stem} ({number}){ending}"


def _file_name(name: str) -> str:
    """Return a name that is valid on any file system and safe on a terminal, and no option of a command."""
    name = _ODD_IN_NAMES.sub("_", name).strip().lstrip(".- ") or "file"
    stem, ending = PurePosixPath(name).stem, PurePosixPath(name).suffix
    while len(f"{stem}{ending}".encode()) > _MAX_NAME_BYTES:
        stem, ending = (stem[:-1], ending) if len(stem) > 1 else (stem, ending[:-1])
    return f"{stem}{ending}"


def _failure(title: str, error: OSError) -> ConfigError:
    written = not_written(title, error)
    return written if isinstance(written, DiskFull) else ConfigError(title, _why_not(error))
