from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from tests.widgets.drawing import drawn, shown
from widgets.ink import LINK, LINK_SHIFT, MARK, URL
from widgets.markdown.blocks import Block
from widgets.markdown.links import MAX_AUTHORITY, SHOWN_CELLS, safe_target
from widgets.markdown.links import url_shown as shown_target
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


def finished(text: str) -> list[Block]:
    splitter = Splitter()
    return splitter.feed(text) + splitter.finish()


def test_a_reference_and_its_definition_stay_as_they_are() -> None:
    assert shown("[Docs][1]\n\n[1]: https://example.org/r") == ["[Docs][1]", "", "[1]: https://example.org/r"]


def test_the_sign_of_an_image_is_ours() -> None:
    assert drawn(["![a](b)"])[0][0][1] & MARK
