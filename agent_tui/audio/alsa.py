"""Keeps the sound libraries' own messages off the terminal.

ALSA, JACK and PortAudio print about a hundred lines when they look for missing devices, and more while sound
runs ("underrun occurred"). They print with C's ``stderr``, and the screen is drawn on the same descriptor.
Redirecting descriptor 2 would also swallow what the program itself writes there; redirecting C's ``stderr``
does not, since Python writes to the descriptor.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import suppress
from typing import Final

# void handler(const char *file, int line, const char *function, int err, const char *fmt, ...), alsa/error.h
_ALSA_HANDLER = ctypes.CFUNCTYPE(
    None, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p
)
_kept: Final[list[object]] = []  # C calls it as long as the process lives


def silence_libraries() -> None:
    """Make the C libraries of this process print nothing; calling it again is harmless.

    To be called before ``sounddevice`` is imported, which looks for devices at once.
    """
    if _kept or sys.platform == "win32":
        return
    handler = _ALSA_HANDLER(lambda *_: None)
    _kept.append(handler)
    with suppress(OSError, AttributeError):  # no ALSA here
        ctypes.CDLL("libasound.so.2").snd_lib_error_set_handler(handler)
    program = ctypes.CDLL(None)
    # ``stderr`` is a variable in glibc and macOS; in other libraries it is a constant.
    name = "__stderrp" if sys.platform == "darwin" else "stderr"
    if sys.platform != "darwin" and not hasattr(program, "gnu_get_libc_version"):
        return
    program.fopen.restype = ctypes.c_void_p
    nowhere = program.fopen(os.devnull.encode(), b"w")
    if nowhere:
        ctypes.c_void_p.in_dll(program, name).value = nowhere
