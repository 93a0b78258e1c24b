from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.drawing import drawn, shown
from widgets.ink import LINK, LINK_SHIFT, MARK, URL, Row
from widgets.markdown.blocks import Block
from widgets.markdown.links import MAX_AUTHORITY, MAX_DEFINITIONS, SHOWN_CELLS, safe_target
from widgets.markdown.links import shown as shown_target
from widgets.markdown.rows import lay_out
from widgets.markdown.splitter import Splitter

LONG = "https://example.org/" + "path/" * 30 + "?q=1#the-end"


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "http://example.org:8080/a_b/(c)?d=e&f=%20#g",
        "https://127.0.0.1/x",
        "https://[::1]:80/x",
        "HTTPS://Example.org/",
    ],
)
def test_a_plain_web_address_may_be_opened(url: str) -> None:
    assert safe_target(url) == url


@pytest.mark.parametrize(
    "url",
    [
        "",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "mailto:a@example.org",
        "ftp://example.org",
        "//example.org",
        "example.org",
        "https://",
        "https:///path",
        "https://user@example.org",
        "https://user:word@example.org",
        "https://example.org@evil.example/",
        "https://example.org/\x1b]8;;",
        "https://example.org/\x07",
        "https://example.org/a b",
        'https://example.org/"',
        "https://example.org/'",
        "https://example.org/`id`",
        "https://example.org\\@evil.example",
        "https://пример.example/",
        "https://example.org/\u202egro",
        "https://example.org:port/",
        "https://-example.org/",
        "https://[::1/",
        "https://example.org/" + "x" * 2000,
    ],
)
def test_what_is_more_than_a_web_address_is_never_opened(url: str) -> None:
    assert safe_target(url) == ""


@given(st.text("htps:/.@[]\\\"'`<> abc\x1b\x00\x9b\u202eé1%#?&;|", max_size=30))
def test_whatever_may_be_opened_is_ascii_without_signs_that_mean_something_elsewhere(text: str) -> None:
    for url in (text, "https://" + text, "https://a.b/" + text):
        if safe_target(url):
            assert url.isascii()
            assert url.isprintable()
            assert not set(url) & set(" \"'`<>\\|^{}")
            assert "@" not in re.split("[/?#]", url.partition("//")[2])[0]


def test_a_long_target_keeps_its_host_and_its_end() -> None:
    assert shown_target(LONG).startswith("https://example.org/path/")
    assert shown_target(LONG).endswith("…1#the-end"[-9:])
    assert cell_len(shown_target(LONG)) <= SHOWN_CELLS


@given(st.from_regex(r"https?://[a-z0-9.@:中]{0,300}(/[a-z/中]{0,300})?", fullmatch=True))
def test_the_end_of_a_host_is_always_shown(url: str) -> None:
    host = url.partition("//")[2].partition("/")[0]
    assert host[-MAX_AUTHORITY // 2 :] in shown_target(url)
    assert cell_len(shown_target(url)) <= max(SHOWN_CELLS, cell_len(host) + 30)


def test_text_and_target_are_both_shown_and_belong_to_the_same_link() -> None:
    links: list[str] = []
    [block] = finished("see [docs](https://example.org/a)")
    first = LINK | 1 << LINK_SHIFT
    assert lay_out(block, "see [docs](https://example.org/a)", 60, links=links) == [
        (
            ("see ", 0),
            ("docs", first),
            (" (", URL),
            ("https://example.org/a", URL | 1 << LINK_SHIFT),
            (")", URL),
        )
    ]
    assert links == ["https://example.org/a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[example.org](https://example.org/)", "example.org"),
        ("[https://example.org](https://example.org)", "https://example.org"),
        ("[example.org](https://evil.example)", "example.org (https://evil.example)"),
        ("<https://example.org>", "https://example.org"),
        ("[](https://example.org)", "https://example.org"),
        ("[a](x/y.py 'title')", "a (x/y.py)"),
        ("[a](<b c>)", "a (b c)"),
        ("[a](https://x.y/?a=1&amp;b=\\_)", "a (https://x.y/?a=1&b=_)"),
        ("![alt](https://x.y/i.png)", "▣ alt (https://x.y/i.png)"),
        ("[![b](https://x.y)](https://z)", "▣ b (https://x.y) (https://z)"),
        ("[a [b](c) d](e)", "[a b (c) d](e)"),
        ("[a](https://x.y/&#27;&#x202e;&#10;z)", "a (https://x.y/&#27;\ufffd z)"),
    ],
)
def test_what_is_shown_of_a_link(text: str, expected: str) -> None:
    assert shown(text) == [expected]


def test_a_target_that_is_wrapped_stays_one_link() -> None:
    text = "[a](https://example.org/one/two/three) [b](https://x.y)"
    rows = drawn([text], 12)
    numbers = [(part, ink >> LINK_SHIFT) for row in rows for part, ink in row if ink & (URL | LINK)]
    assert "".join(part for part, number in numbers if number == 1) == "ahttps://example.org/one/two/three"
    assert "".join(part for part, number in numbers if number == 2) == "bhttps://x.y"


# --- references ---


def finished(text: str) -> list[Block]:
    splitter = Splitter()
    return splitter.feed(text) + splitter.finish()


@pytest.mark.parametrize(
    "use", ["[Docs][ref]", "[ref][]", "[ref]", "![ref]", "> [Docs][REF]", "- [Docs][ ref ]"]
)
@pytest.mark.parametrize("is_before", [True, False])
def test_a_reference_finds_its_definition_wherever_it_stands(use: str, is_before: bool) -> None:
    definition = '[Ref]: https://example.org/r "Title"'
    text = f"{definition}\n\n{use}" if is_before else f"{use}\n\n{definition}"
    rows = shown(text)
    assert len(rows) == 1
    assert rows[0].endswith("(https://example.org/r)")
    assert "[" not in rows[0]


def test_the_first_definition_counts() -> None:
    assert shown("[a]\n\n[a]: https://one.example\n[a]: https://two.example") == ["a (https://one.example)"]


@pytest.mark.parametrize(
    "text", ["[Note]: yes", "[Note]: this is text", "[^1]: https://x.y", "[]: https://x.y", "a [b][c] [d]"]
)
def test_what_defines_nothing_is_text(text: str) -> None:
    assert shown(text) == [text]


def test_only_blocks_that_use_a_label_are_laid_out_again_when_its_definition_comes() -> None:
    text = "[one]\n\n[two]\n\nnothing\n\n[one] again\n\n"
    splitter = Splitter()
    blocks = splitter.feed(text)
    for block in blocks:
        lay_out(block, text[block.start : block.end], 40)
    assert splitter.take_outdated() == set()
    splitter.feed("[one]: https://x.y\n")
    assert splitter.take_outdated() == {blocks[0].start, blocks[3].start}
    assert splitter.take_outdated() == set()
    assert rows_of(blocks[0], text) == rows_of(finished("[one](https://x.y)")[0], "[one](https://x.y)")


def rows_of(block: Block, text: str) -> list[Row]:
    return lay_out(block, text[block.start : block.end], 40)


def test_an_unfinished_definition_defines_nothing() -> None:
    splitter = Splitter()
    text = "[a]\n\n[a]: https://exam"
    blocks = [*splitter.feed(text), *splitter.open_blocks()]
    assert [part for block in blocks for row in rows_of(block, text) for part, _ in row] == ["[a]"]


def test_too_many_definitions_are_shown_as_text() -> None:
    text = "".join(f"[n{number}]: https://x.y/{number}\n" for number in range(100_000))
    blocks = finished(text)
    assert text[blocks[0].start : blocks[0].end].startswith(f"[n{MAX_DEFINITIONS}]: ")
    assert sum(block.end - block.start for block in blocks) > len(text) * 0.95


def test_the_sign_of_an_image_is_ours() -> None:
    assert drawn(["![a](b)"])[0][0][1] & MARK
