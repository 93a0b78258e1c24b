"""A server's answer for a model: text, and the images in it. Resources that it links to are read.

The caller limits the size of the text; only image types that all providers know are taken, whatever the
server calls them.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from agent_tui.backend.models.model import Image
from agent_tui.backend.tools.texts import MAX_OUTPUT_CHARACTERS, cut, failure
from agent_tui.backend.tools.tool import ToolError, ToolOutput
from agent_tui.model.images import image_type
from agent_tui.model.inert import inert_line

if TYPE_CHECKING:
    from mcp_types import BlobResourceContents, CallToolResult, ContentBlock, TextResourceContents

    Contents = Sequence[TextResourceContents | BlobResourceContents]
    Read = Callable[[str], Awaitable[Contents]]

MAX_IMAGES = 8
MAX_IMAGE_BYTES = 3_750_000  # 5 MB as base64, Anthropic's limit, the strictest
MAX_LINKS = 8  # that are read
MAX_RESOURCE_CHARACTERS = 50_000


async def output(result: CallToolResult, read: Read) -> ToolOutput:
    """Return the answer as text, with its images; ``read`` reads a resource of the server, or raises
    ``ToolError``.
    """
    blocks = _Blocks(read)
    for block in result.content:
        await blocks.add(block)
    if not blocks.texts and result.structured_content is not None:
        blocks.texts.append(json.dumps(result.structured_content, ensure_ascii=False))
    text = "\n".join(blocks.texts)
    if result.is_error:
        why = failure(text or "the tool failed and does not say why")
        return ToolOutput(why, success=False, size=len(text.encode("utf-8", "replace")))
    return ToolOutput(text or "[nothing]", images=tuple(blocks.images))


class _Blocks:
    """Collects the texts and images of an answer's blocks."""

    def __init__(self, read: Read) -> None:
        self.texts: list[str] = []
        self.images: list[Image] = []
        self._read = read
        self._links = 0

    async def add(self, block: ContentBlock) -> None:
        match block.type:
            case "text":
                self.texts.append(block.text)
            case "image":
                self._add_data("image", block.mime_type, block.data)
            case "audio":
                self.texts.append(_line("audio", block.mime_type, block.data))
            case "resource_link":
                await self._follow(block.name, block.uri)
            case "resource":
                self._add_contents(str(block.resource.uri), [block.resource])

    async def _follow(self, name: str, uri: str) -> None:
        named = f"{inert_line(name, 100)}: {inert_line(uri, 500)}"
        self._links += 1
        if self._links > MAX_LINKS or sum(map(len, self.texts)) > MAX_OUTPUT_CHARACTERS:
            self.texts.append(f"[{named}, not read: too many or too long]")
            return
        try:
            contents = await self._read(uri)
        except ToolError as error:
            self.texts.append(f"[{named}, not read: {error}]")
        else:
            self._add_contents(named, contents)

    def _add_contents(self, named: str, contents: Contents) -> None:
        named = inert_line(named, 700)
        self.texts.append(f"[{named}]" if contents else f"[{named}, empty]")
        for content in contents:
            text, kind = getattr(content, "text", None), content.mime_type or "unknown type"
            if isinstance(text, str):
                self.texts.append(cut(text, MAX_RESOURCE_CHARACTERS))
            elif isinstance(blob := getattr(content, "blob", None), str):
                self._add_data("image" if kind.startswith("image/") else "data", kind, blob)

    def _add_data(self, what: str, kind: str, encoded: str) -> None:
        line = _line(what, kind, encoded)
        if what == "image" and (len(self.images) >= MAX_IMAGES or len(encoded) * 3 // 4 > MAX_IMAGE_BYTES):
            line = f"{line[:-1]}, left out: too many or too large]"
        elif what == "image" and (image := _image(encoded)) is not None:
            self.images.append(image)
        self.texts.append(line)


def _line(what: str, kind: str, encoded: str) -> str:
    size = len(encoded) * 3 // 4 - encoded[-2:].count("=")
    return f"[{what}, {inert_line(kind, 60)}, {size:,} bytes]"


def _image(encoded: str) -> Image | None:
    """Return the image, ``None`` if providers do not take it."""
    try:
        data = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    kind = image_type(data)
    return Image(kind, data) if kind else None
