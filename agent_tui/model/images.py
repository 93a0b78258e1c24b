"""Images that people attach: recognised by their first bytes, kept as base64 in an attachment of their
type.
"""

from __future__ import annotations

import base64
import binascii
from typing import Final

from agent_tui.model.records import Attachment

# Types that all providers accept.
IMAGE_TYPES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
# The strictest provider accepts 5 MiB of base64.
MAX_IMAGE_BYTES: Final = 3_700_000


def image_type(data: bytes) -> str:
    """Return the image type of ``data`` by its first bytes, "" if it is none of ``IMAGE_TYPES``."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if data.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else ""


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
