"""Images of people: checked by their bytes, stored as files are, shown to the model with their question."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.models.model import Image
from agent_tui.model.events import Attachment, Note
from agent_tui.model.images import MAX_IMAGE_BYTES
from tests.backend.chat_backend import chat_backend, refused
from tests.backend.engine.chat_house import open_chats, speaks
from tests.fakes.models.pictures import EACH, GIF, PNG


def file(data: bytes, name: str = "a.png", type_: str = "image/png") -> dict[str, Any]:
    """Return an attachment as a request has it."""
    return {"name": name, "type": type_, "content": base64.b64encode(data).decode()}


async def test_a_model_is_shown_the_image_with_its_question_also_later(tmp_path: Path) -> None:
    model = speaks(["A dot."], ["Still."])
    async with chat_backend(tmp_path, model) as running:
        path = await running.chat()
        await running.ask(path, "What is it?", attachments=[file(PNG), {"name": "b.txt", "content": "text"}])
        await running.ask(path, "Sure?")
        stored = (await running.client.call("GET", f"{path}/messages")).json["messages"]
    for asked in model.calls:
        question = next(one for one in asked.request.messages if one.role == "user")
        assert question.images == (Image("image/png", PNG),)
        assert (
            question.content
            == f"What is it?\n\n[image a.png, image/png, {len(PNG)} bytes]\n\nb.txt:\n```\ntext\n```"
        )
    assert base64.b64encode(PNG).decode() in stored[0]["content"]
    assert '"type":"image/png"' in stored[0]["content"]


@pytest.mark.parametrize(("type_", "data"), EACH)
async def test_the_bytes_say_which_kind_an_image_is(tmp_path: Path, type_: str, data: bytes) -> None:
    model = speaks(["A dot."])
    async with open_chats(tmp_path / "a.db", model) as house:
        image = Attachment("a", base64.b64encode(data).decode(), "image/png")
        await house.ask("", attachments=(image,))
        assert model.calls[0].request.messages[-1].images == (Image(type_, data),)
        assert [one.type for one in (await house.messages())[0].attachments] == [type_]


async def test_what_only_says_that_it_is_an_image_is_refused(tmp_path: Path) -> None:
    async with chat_backend(tmp_path, speaks(["So"])) as running:
        path = f"{await running.chat()}/messages"
        for wrong in (file(b"text"), {**file(b""), "content": "no base64"}, {**file(b""), "content": ""}):
            body = {"content": "See.", "attachments": [wrong]}
            assert "a.png is not an image" in await refused(running, "POST", path, body, 422)
        large = file(GIF + b"\0" * MAX_IMAGE_BYTES)
        told = await refused(running, "POST", path, {"content": "See.", "attachments": [large]}, 422)
        assert "The image a.png is too large" in told


async def test_a_text_that_is_called_an_image_of_another_kind_stays_a_text(tmp_path: Path) -> None:
    model = speaks(["A dot."])
    async with open_chats(tmp_path / "a.db", model) as house:
        await house.ask("", attachments=(Attachment("a.svg", "<svg/>", "image/svg+xml"),))
        assert "<svg/>" in model.calls[0].request.messages[-1].content
        assert not model.calls[0].request.messages[-1].images


async def test_the_demo_model_says_that_it_sees_no_images(tmp_path: Path) -> None:
    async with open_chats(tmp_path / "a.db", speaks(["A dot."])) as house:
        await house.engine.change(CHATS, house.id, {"provider_id": "demo", "model": "m"})
        await house.ask("See.", attachments=(Attachment("a", base64.b64encode(PNG).decode(), "image/png"),))
        assert (await house.last()).notes == (Note("no_images"),)
