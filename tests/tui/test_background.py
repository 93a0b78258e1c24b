"""What the terminal's background is, asked of terminals that know it, do not, or are slow to say."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fakes.terminal import Terminal, terminal
from tests.tui.programs import own_environ
from tui.background import ASKS, Query, begin, channels_luminance, named_backdrop

WHITE = b"\x1b]11;rgb:ffff/ffff/ffff\x1b\\"
IDENTITY = b"\x1b[?62;22c"

# A busy machine answers late: only who does not answer at all is given up after the usual moment.
PROGRAM = """
import os, sys
from tui import background
if "PATIENT" in os.environ:
    background.PATIENCE_SECONDS = 30.0
query = background.begin(os.environ)
print("asked", flush=True)
is_light = query.backdrop().is_light
print("light:", is_light, "typed:", query.sift(b""), "settled:", query.is_settled, "end", flush=True)
os.read(0, 1)
"""


# --- telling answers from keys ---


@given(st.data())
def test_answers_are_found_and_keys_are_kept_however_the_bytes_are_cut(data: st.DataObject) -> None:
    keys = [data.draw(st.sampled_from([b"", b"p", b"q\r", b"\x1b[A", b"\xc3\xa9", b"[?1"])) for _ in range(3)]
    end = data.draw(st.sampled_from([b"\x07", b"\x1b\\"]))
    sent = keys[0] + b"\x1b]11;rgb:12/ABCD/f" + end + keys[1] + IDENTITY + keys[2]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(sent)))))
    query = Query({}, [])
    pieces = [sent[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(sent)], strict=True)]
    typed = b"".join(query.sift(piece) for piece in pieces)
    assert typed + query.release() == b"".join(keys)
    assert query.is_settled
    assert query.luminance == pytest.approx(channels_luminance(b"12", b"ABCD", b"f"))


def test_a_lone_escape_is_a_key_when_nothing_comes_behind_it() -> None:
    query = Query({}, [])
    assert query.sift(b"a\x1b") == b"a"
    assert query.release() == b"\x1b"
    assert query.release() == b""


def test_an_answer_without_a_colour_is_taken_away_too() -> None:
    query = Query({}, [])
    assert query.sift(b"\x1b]11;#ffffff\x07q" + IDENTITY) == b"q"
    assert query.luminance is None
    assert query.is_answered
    assert not query.is_settled


def test_what_is_no_answer_is_not_kept_for_ever() -> None:
    query = Query({}, [])
    junk = b"\x1b]11;" + b"x" * 200
    assert query.sift(junk) == junk


@pytest.mark.parametrize(
    ("channels", "value"),
    [
        ((b"ffff", b"ffff", b"ffff"), 1.0),
        ((b"0", b"00", b"000"), 0.0),
        ((b"ff", b"00", b"00"), 0.2126),
        ((b"1e1e", b"1e1e", b"2e2e"), 0.0136),
    ],
)
def test_luminance_is_that_of_wcag(channels: tuple[bytes, ...], value: float) -> None:
    assert channels_luminance(*channels) == pytest.approx(value, abs=0.001)


@pytest.mark.parametrize(
    ("colors", "is_light"),
    [
        ("0;15", True),
        ("15;0", False),
        ("0;default;7", True),
        ("12;8", False),
        ("15;default", None),
        ("0;99", None),
        ("0;٣", None),
        ("", None),
    ],
)
def test_a_variable_can_name_the_background(colors: str, is_light: bool | None) -> None:
    assert named_backdrop({"COLORFGBG": colors}).is_light is is_light


def test_the_console_of_linux_is_black() -> None:
    assert named_backdrop({"TERM": "linux"}).is_light is False


def test_nothing_is_asked_where_there_is_no_terminal(capfd: pytest.CaptureFixture[str]) -> None:
    query = begin({"TERM": "xterm", "COLORFGBG": "0;15"})
    assert query.backdrop().is_light is True
    assert query.is_settled
    assert capfd.readouterr().out == ""


def test_where_nothing_was_asked_nobody_knows() -> None:
    assert Query({}, None).backdrop().is_light is None


# --- in a terminal ---


class Answering(Terminal):
    """A terminal that answers our question with ``words``."""

    words = b""

    def answer(self, data: bytes) -> None:
        if ASKS in data:
            os.write(self._terminal, self.words)


def said(folder: Path, answer: bytes, **environ: str) -> str:
    """Return the program's last line on a terminal that answers ``answer``; its modes must be as before."""
    command = [sys.executable, "-P", "-c", PROGRAM]
    patient = {"PATIENT": "1"} if answer else {}
    opened = Answering(command, own_environ(folder) | environ | patient, 100, 10, folder)
    opened.words = answer
    try:
        opened.wait_for(" end")
        assert opened.is_as_before()
        line = next(line for line in opened.text.splitlines() if "light:" in line).partition(" end")[0]
        opened.send("\r")
        assert opened.wait_for_end() == 0
        assert bytes(opened.raw).count(ASKS) == 1
        assert "11;rgb" not in opened.text  # no echo
    finally:
        opened.close()
    return line


def test_a_light_terminal_says_so(tmp_path: Path) -> None:
    assert said(tmp_path, WHITE + IDENTITY) == "light: True typed: b'' settled: True"


def test_a_dark_terminal_says_so_whatever_the_variable_says(tmp_path: Path) -> None:
    dark = b"\x1b]11;rgb:1e1e/1e1e/2e2e\x07"
    line = said(tmp_path, dark + IDENTITY, COLORFGBG="0;15")
    assert line == "light: False typed: b'' settled: True"


def test_a_terminal_that_does_not_know_its_colour_is_not_waited_for(tmp_path: Path) -> None:
    assert said(tmp_path, IDENTITY, COLORFGBG="0;15") == "light: True typed: b'' settled: False"


def test_a_terminal_that_answers_nothing_is_dark_after_a_moment(tmp_path: Path) -> None:
    assert said(tmp_path, b"") == "light: None typed: b'' settled: False"


def test_what_is_typed_meanwhile_is_kept(tmp_path: Path) -> None:
    line = said(tmp_path, b"p\x1b[A" + WHITE + "é".encode() + IDENTITY)
    assert line == r"light: True typed: b'p\x1b[A\xc3\xa9' settled: True"


def test_an_error_in_between_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    program = (
        "import os\nfrom tui.background import begin\nfrom tui.terminal import restoring\n"
        "with restoring():\n    begin(os.environ)\n    raise SystemExit(7)\n"
    )
    with terminal([sys.executable, "-P", "-c", program], own_environ(tmp_path), tmp_path) as view:
        assert view.wait_for_end() == 7
        assert view.is_as_before()
        assert ASKS in view.raw
