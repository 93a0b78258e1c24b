"""The folder in which tools work, without a way out of it.

Every path is opened part by part from the folder's own descriptor, and each step refuses to follow a link
(``O_NOFOLLOW``); links are read and resolved the same way. So what was checked is what is opened: a part that
is swapped for a link in between is refused, not followed.
"""

from __future__ import annotations

import errno
import os
import secrets
import stat
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from agent_tui.backend.tools.programs.environment import UMASK
from agent_tui.backend.tools.tool import ToolError, ToolPlace
from agent_tui.model.inert import inert, inert_line

MAX_PATH_CHARACTERS = 4_000
MAX_LINKS = 20
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# What git would run or trust. Compared without case, since some file systems ignore it.
_NEVER_WRITTEN = (".git",)
# Of files that are being changed: shared by all workspaces, since one may be inside another.
_LOCKS = tuple(threading.Lock() for _ in range(64))


@dataclass(frozen=True, slots=True)
class Location:
    """Where a path leads; ``folder`` is open."""

    folder: int
    name: str  # in the folder; "" for the workspace itself
    path: str  # relative to the workspace, with all links resolved
    status: os.stat_result | None  # ``None`` if nothing is there


class MissingFolder(ToolError):
    """A folder of the path does not exist."""


class Workspace:
    """The files of one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def of(cls, place: ToolPlace) -> Workspace:
        """Return the workspace of a call; raises ``ToolError`` if it has none."""
        if place.workspace is None:
            raise ToolError("this conversation has no workspace: a person must choose a folder for it first")
        return cls(place.workspace)

    def checked_root(self) -> Path:
        """Return the folder; raises ``ToolError`` if it does not exist."""
        os.close(self._open_root())
        return self.root

    @contextmanager
    def folder(self, path: str) -> Iterator[tuple[int, str]]:
        """Open a folder: its descriptor and its path without links ("" for the workspace itself)."""
        with self.find(path) as location:
            if location.name == "":
                yield location.folder, ""
                return
            if location.status is None:
                raise ToolError(f"{_path_shown(path)}: there is no such folder")
            if not stat.S_ISDIR(location.status.st_mode):
                raise ToolError(f"{_path_shown(path)}: is not a folder")
            with _closing(_open(location.name, _FOLDER, location.folder, path)) as folder:
                yield folder, location.path

    @contextmanager
    def file(self, path: str) -> Iterator[int]:
        """Open a regular file for reading; return its descriptor."""
        with self.find(path) as location, _closing(self._regular(location, path)) as file:
            yield file

    def _regular(self, location: Location, path: str) -> int:
        if location.status is None:
            raise ToolError(f"{_path_shown(path)}: there is no such file")
        _refuse_special(location.status, path)  # opening a device may do something
        file = _open(location.name, _READ, location.folder, path)
        if not stat.S_ISREG(os.fstat(file).st_mode):
            os.close(file)
            raise ToolError(f"{_path_shown(path)}: is not an ordinary file")
        return file

    def read(self, path: str, most_bytes: int) -> bytes:
        """Return a whole file; raises ``ToolError`` if it has more than ``most_bytes``."""
        with self.file(path) as file, os.fdopen(file, "rb", closefd=False) as reader:
            data = reader.read(most_bytes + 1)
        if len(data) > most_bytes:
            raise ToolError(f"{_path_shown(path)}: is larger than {most_bytes:,} bytes")
        return data

    def read_if_there(self, path: str, most_bytes: int) -> bytes | None:
        """Return a whole file as ``read``, ``None`` if there is none yet."""
        try:
            with self.find(path, is_written=True) as location:
                if location.status is None:
                    return None
        except MissingFolder:
            return None
        return self.read(path, most_bytes)

    @contextmanager
    def changing(self, path: str) -> Iterator[None]:
        """Hold the lock of the file to which ``path`` leads: nothing else changes it meanwhile."""
        try:
            real = os.path.realpath(self.root / path)
        except ValueError:  # not a path: it will be refused
            real = path
        with _LOCKS[hash(real.casefold()) % len(_LOCKS)]:
            yield

    def write(self, path: str, data: bytes) -> str:
        """Write ``data`` into the file, all or nothing, keeping its mode; make missing folders.

        Returns the path without links. Other programs' open files and hard links elsewhere stay as they were.
        """
        with self.find(path, is_written=True, makes_folders=True) as location:
            mode = 0o666 & ~UMASK
            if location.status is not None:
                _refuse_special(location.status, path)
                mode = stat.S_IMODE(location.status.st_mode) & 0o777
            try:
                _replace(location, data, mode)
            except OSError as error:
                raise _refusal(path, error) from error
            return location.path

    def remove(self, path: str) -> None:
        """Remove a regular file."""
        with self.find(path, is_written=True) as location:
            os.close(self._regular(location, path))
            try:
                os.unlink(location.name, dir_fd=location.folder)
            except OSError as error:
                raise _refusal(path, error) from error

    @contextmanager
    def find(self, path: str, *, is_written: bool = False, makes_folders: bool = False) -> Iterator[Location]:
        """Walk to where ``path`` leads; the last part may not exist.

        Raises ``ToolError`` for anything that leads out of the workspace or cannot be a path.
        """
        with closing(_Walk(self, path, makes_folders)) as walk:
            location = walk.walk()
            if is_written:
                _refuse_protected(location.path, path)
            yield location

    def _open_root(self) -> int:
        try:
            return os.open(self.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            why = error.strerror or str(error)
            raise ToolError(f"the workspace {_path_shown(str(self.root))} cannot be used: {why}") from error


class _Walk:
    """One walk through the workspace: a stack of open folders, and the parts that are left."""

    def __init__(self, workspace: Workspace, path: str, makes_folders: bool) -> None:
        self._workspace = workspace
        self._path = path
        self._makes_folders = makes_folders
        self._parts = deque(self._parts_of(path))
        self._folders = [workspace._open_root()]
        self._names: list[str] = []
        self._links = 0

    def close(self) -> None:
        for folder in self._folders:
            os.close(folder)

    def walk(self) -> Location:
        while self._parts:
            part = self._parts.popleft()
            if part in ("", "."):
                continue
            if part == "..":
                self._up()
                continue
            status = self._status(part)
            if status is not None and stat.S_ISLNK(status.st_mode):
                self._follow(part)
            elif not any(rest not in ("", ".") for rest in self._parts):
                return Location(self._folders[-1], part, "/".join([*self._names, part]), status)
            else:
                self._down(part, status)
        if not self._names:
            return Location(self._folders[-1], "", "", os.fstat(self._folders[-1]))
        name = self._names[-1]
        path, status = "/".join(self._names), os.fstat(self._folders[-1])
        return Location(self._folders[-2], name, path, status)

    def _parts_of(self, path: str) -> list[str]:
        if len(path) > MAX_PATH_CHARACTERS:
            raise ToolError(f"a path has at most {MAX_PATH_CHARACTERS:,} characters")
        if inert(path) != path or "\n" in path or "\t" in path:
            raise ToolError(f"{_path_shown(path)}: a path cannot hold control or invisible characters")
        return self._inside(path) if path.startswith("/") else path.split("/")

    def _inside(self, path: str) -> list[str]:
        """Return the parts of an absolute path that are below the workspace."""
        for root in {str(self._workspace.root), os.path.realpath(self._workspace.root)}:
            if path == root or path.startswith(root.rstrip("/") + "/"):
                return path[len(root) :].split("/")
        raise self._outside()

    def _outside(self) -> ToolError:
        return ToolError(f"{_path_shown(self._path)}: is outside the workspace; give a path relative to it")

    def _up(self) -> None:
        if not self._names:
            raise self._outside()
        self._names.pop()
        os.close(self._folders.pop())

    def _status(self, part: str) -> os.stat_result | None:
        try:
            return os.stat(part, dir_fd=self._folders[-1], follow_symlinks=False)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _refusal(self._path, error) from error

    def _follow(self, part: str) -> None:
        self._links += 1
        if self._links > MAX_LINKS:
            raise ToolError(f"{_path_shown(self._path)}: goes round in links")
        try:
            target = os.readlink(part, dir_fd=self._folders[-1])
        except OSError as error:
            raise _refusal(self._path, error) from error
        if target.startswith("/"):
            parts = self._inside(target)
            while self._names:
                self._up()
        else:
            parts = target.split("/")
        self._parts.extendleft(reversed(parts))

    def _down(self, part: str, status: os.stat_result | None) -> None:
        is_made = False
        if status is None:
            rest = [part for part in self._parts if part not in ("", ".")]
            # Nothing below a missing folder is a link: it is already clear where the rest leads.
            if not self._makes_folders or ".." in rest:
                raise MissingFolder(f"{_path_shown(self._path)}: there is no such file or folder")
            _refuse_protected("/".join([*self._names, part, *rest]), self._path)
            try:
                os.mkdir(part, dir_fd=self._folders[-1])
                is_made = True
            except FileExistsError:
                pass  # another process has just made it
            except OSError as error:
                raise _refusal(self._path, error) from error
        self._folders.append(_open(part, _FOLDER, self._folders[-1], self._path))
        if is_made:
            os.fchmod(self._folders[-1], 0o777 & ~UMASK)
        self._names.append(part)


def _open(name: str, flags: int, folder: int, path: str) -> int:
    try:
        return os.open(name, flags, dir_fd=folder)
    except OSError as error:
        raise _refusal(path, error) from error


@contextmanager
def _closing(descriptor: int) -> Iterator[int]:
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _replace(location: Location, data: bytes, mode: int) -> None:
    """Write the new file beside the old one, then put it in its place."""
    name = f".{secrets.token_hex(8)}.new"
    with _closing(os.open(name, _NEW, 0o600, dir_fd=location.folder)) as file:
        try:
            with os.fdopen(file, "wb", closefd=False) as writer:
                writer.write(data)
            os.fchmod(file, mode)
            os.fsync(file)
            os.rename(name, location.name, src_dir_fd=location.folder, dst_dir_fd=location.folder)
        except BaseException:
            with suppress(OSError):
                os.unlink(name, dir_fd=location.folder)
            raise


def _refuse_special(status: os.stat_result, path: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError(f"{_path_shown(path)}: is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError(f"{_path_shown(path)}: is not an ordinary file")


def _refuse_protected(real: str, path: str) -> None:
    if any(part.casefold() in _NEVER_WRITTEN for part in real.split("/")):
        raise ToolError(f"{_path_shown(path)}: what git keeps for itself is not written")


def _refusal(path: str, error: OSError) -> ToolError:
    if error.errno in (errno.ELOOP, errno.ENOTDIR):
        return ToolError(f"{_path_shown(path)}: something on the way is not a folder")
    return ToolError(f"{_path_shown(path)}: {error.strerror or error}")


def _path_shown(path: str) -> str:
    return inert_line(path, 200) or '""'
