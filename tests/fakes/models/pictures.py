"""Small images of each kind that models take, of 3 × 2 pixels as far as their headers say."""

from __future__ import annotations

from typing import Final

PNG: Final = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x06\0\0\0"
GIF: Final = b"GIF89a\x03\0\x02\0\x80\0\0"
JPEG: Final = b"\xff\xd8\xff\xe0\0\x04JF\xff\xc0\0\x11\x08\0\x02\0\x03\x03\x01"
WEBP_LOSSY: Final = b"RIFF\x1e\0\0\0WEBPVP8 \x12\0\0\0\x30\x01\0\x9d\x01\x2a\x03\0\x02\0"
WEBP_LOSSLESS: Final = b"RIFF\x1e\0\0\0WEBPVP8L\x0d\0\0\0\x2f\x02\x40\0\0\0"
WEBP_EXTENDED: Final = b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x02\0\0\x01\0\0"
KINDS: Final = {
    "image/png": (PNG,),
    "image/gif": (GIF,),
    "image/jpeg": (JPEG,),
    "image/webp": (WEBP_LOSSY, WEBP_LOSSLESS, WEBP_EXTENDED),
}
EACH: Final = [(type_, data) for type_, some in KINDS.items() for data in some]
