"""Writes a file in one step: whoever reads it finds all of the old content or all of the new."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final

from agent_tui.model.errors import not_written

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_whole(
    path: Path, content: bytes, *, is_private: bool = False, is_chosen: bool = False, is_durable: bool = True
) -> None:
    """Write a file, which keeps its mode; a new one, and with ``is_private`` any, is for its owner alone.

    Its folder is made, and a link is replaced. But if the person chose the path (``is_chosen``), its folder
    must exist, a link is followed, and a new file has the usual mode. If it ``is_durable``, it is on the disk
    when this returns. Raises ``ConfigError``, and leaves the old file.
    """
    real = Path(os.path.realpath(path)) if is_chosen else path
    draft = real.with_name(f".{os.urandom(8).hex()}.new")
    try:
        if not is_chosen:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        old_mode = stat.S_IMODE(real.stat().st_mode) if not is_private and real.exists() else None
        descriptor = os.open(draft, _NEW, 0o666 if is_chosen and old_mode is None else 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            if old_mode is not None:
                os.fchmod(descriptor, old_mode)
            if is_durable:
                os.fsync(descriptor)
        draft.replace(real)
    except OSError as error:
        raise not_written(f"{path}: cannot be written", error) from error
    finally:
        with suppress(OSError):
            draft.unlink()
