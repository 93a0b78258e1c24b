from __future__ import annotations

from dataclasses import asdict

import pytest
from hypothesis import given

from tests.widgets.markdown.test_splitter import TEXTS
from widgets.markdown.blocks import PackedBlocks
from widgets.markdown.splitter import Splitter


@given(TEXTS)
def test_what_comes_out_is_what_went_in(text: str) -> None:
    splitter = Splitter()
    blocks = [*splitter.feed(text), *splitter.finish()]
    packed = PackedBlocks()
    packed.extend(blocks[:2])
    packed.extend(blocks[2:])
    assert len(packed) == len(blocks)
    assert [asdict(block) for block in packed] == [asdict(block) for block in blocks]


def test_blocks_that_differ_only_in_where_they_stand_share_what_they_have_in_common() -> None:
    splitter, packed = Splitter(), PackedBlocks()
    packed.extend(splitter.feed("- one\n- two\n  - three\n\n> words\n\n" * 1000))
    assert len(packed) > 3900
    assert len(packed._forms) < 20


def test_an_index_beyond_the_end_is_an_error() -> None:
    packed = PackedBlocks()
    packed.extend(Splitter().feed("one\n\ntwo\n\n"))
    with pytest.raises(IndexError):
        packed[len(packed)]
