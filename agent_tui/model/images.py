"""Images that people attach: recognised by their first bytes, kept as base64 in an attachment of their
type.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from typing import Final

from agent_tui.model.records import Attachment

# Types that all providers accept.
IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
# The strictest provider accepts 5 MiB of base64.
MAX_IMAGE_BYTES: Final = 3_700_000
_PNG: Final = re.compile(rb"\x89PNG\r\n\x1a\n....IHDR(.{4})(.{4})", re.DOTALL)
_GIF: Final = re.compile(rb"GIF8[79]a(..)(..)", re.DOTALL)
_JPEG_FRAMES: Final = frozenset(
    (*range(0xC0, 0xC4), *range(0xC5, 0xC8), *range(0xC9, 0xCC), *range(0xCD, 0xD0))
)


def image_type(data: bytes) -> str:
    """Return the image type of ``data`` by its first bytes, "" if it is none of ``IMAGE_TYPES``."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else ""


def dimensions(data: bytes) -> tuple[int, int] | None:
    """Return (width, height) from an image's own header, ``None`` if it does not say."""
    found = _SIZES[type_](data) if (type_ := image_type(data)) else None
    return found if found is not None and all(found) else None


def is_image(file: Attachment) -> bool:
    """Whether an attachment's type is that of an image."""
    return file.type in IMAGE_TYPES


def attached_image(name: str, data: bytes) -> Attachment | None:
    """Return the attachment for an image, ``None`` if it is not one."""
    type_ = image_type(data)
    return Attachment(name, base64.b64encode(data).decode("ascii"), type_) if type_ else None


def image_data(file: Attachment) -> bytes:
    """Return the bytes of an attached image, empty if its content is not base64."""
    try:
        return base64.b64decode(file.content, validate=True)
    except (binascii.Error, ValueError):
        return b""


def bytes_of(file: Attachment) -> int:
    """Return how many bytes an attached file has; an image is not decoded for that."""
    if is_image(file):
        return len(file.content) * 3 // 4 - file.content[-2:].count("=")
    return len(file.content.encode(errors="replace"))


def _size_of_png(data: bytes) -> tuple[int, int] | None:
    """Return (width, height) of a PNG."""
    match = _PNG.match(data)
    return None if match is None else (int.from_bytes(match[1]), int.from_bytes(match[2]))


def _size_of_gif(data: bytes) -> tuple[int, int] | None:
    """Return (width, height) of a GIF."""
    match = _GIF.match(data)
    return None if match is None else (int.from_bytes(match[1], "little"), int.from_bytes(match[2], "little"))


def _size_of_jpeg(data: bytes) -> tuple[int, int] | None:
    """Return (width, height) of a JPEG's first frame, which is found from segment to segment."""
    at = 2
    while at + 9 <= len(data) and data[at] == 0xFF:
        marker, length = data[at + 1], int.from_bytes(data[at + 2 : at + 4])
        if marker in _JPEG_FRAMES:
            return int.from_bytes(data[at + 7 : at + 9]), int.from_bytes(data[at + 5 : at + 7])
        if length < 2:
            return None
        at += 2 + length
    return None


def _size_of_webp(data: bytes) -> tuple[int, int] | None:
    """Return (width, height) of a WebP of any of the three kinds."""
    match data[12:16]:
        case b"VP8 " if data[23:26] == b"\x9d\x01\x2a":
            width, height = (int.from_bytes(data[at : at + 2], "little") & 0x3FFF for at in (26, 28))
            return width, height
        case b"VP8L" if data[20:21] == b"\x2f":
            bits = int.from_bytes(data[21:25], "little")
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8X" if len(data) >= 30:
            width, height = (int.from_bytes(data[at : at + 3], "little") + 1 for at in (24, 27))
            return width, height
        case _:
            return None


_SIZES: Final[dict[str, Callable[[bytes], tuple[int, int] | None]]] = {
    "image/png": _size_of_png,
    "image/jpeg": _size_of_jpeg,
    "image/gif": _size_of_gif,
    "image/webp": _size_of_webp,
}
