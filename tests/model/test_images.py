"""Images are known by their first bytes, whatever they are called."""

from __future__ import annotations

import pytest

from agent_tui.model.images import attached_image, bytes_of, image_data, image_type, is_image
from agent_tui.model.records import Attachment
from tests.fakes.models.pictures import EACH, PNG


@pytest.mark.parametrize(("type_", "data"), EACH)
def test_each_kind_is_known(type_: str, data: bytes) -> None:
    assert image_type(data) == type_
    image = attached_image("a.txt", data)
    assert image is not None
    assert (image.name, image.type, is_image(image)) == ("a.txt", type_, True)
    assert (image_data(image), bytes_of(image)) == (data, len(data))


@pytest.mark.parametrize(
    "data", [b"", b"GIF", b"<svg/>", b"%PDF", b"RIFF\0\0\0\0WAVE", b"\x89PNG", b"\xff\xd8"]
)
def test_what_is_no_image_of_these_kinds_is_none(data: bytes) -> None:
    assert image_type(data) == ""
    assert attached_image("a.png", data) is None


def test_a_text_is_as_large_as_its_bytes_and_bad_base64_is_empty() -> None:
    assert bytes_of(Attachment("a", "жж")) == 4
    assert image_data(Attachment("a", "no base64", "image/png")) == b""
    assert [
        bytes_of(image) for data in (PNG, PNG + b"1", PNG + b"12") if (image := attached_image("", data))
    ] == [len(PNG) + more for more in range(3)]
