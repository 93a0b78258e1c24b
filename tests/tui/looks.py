"""Screens that stand still and are compared with the files of how they were looked at.

``--snapshot-update`` writes the files anew; look at what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from rich.segment import Segment
from rich.style import Style
from syrupy.assertion import SnapshotAssertion
from textual.app import App

from tests.settling import settle
from tests.tui.screen_text import screen_as_text
from tests.tui.watched import Watched
from tui.lists import row_list
from tui.live.screen import CALM_LOOK_SECONDS

NOON = 1_795_176_000.0  # 2026-11-20T12:00:00+00:00
SIZES = ((120, 40), (80, 24), (50, 20))  # one after another, as a person resizes


def stand_still(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No time passes while a list is looked at, and nothing of this user's is seen."""
    monkeypatch.setattr(row_list, "time", SimpleNamespace(time=lambda: NOON))
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    monkeypatch.setenv("AGENT_TUI_CONFIG", str(folder / "config.toml"))
    monkeypatch.setenv("AGENT_TUI_DATA", str(folder / "data"))


async def same(
    seen: Watched[Any], snapshot: SnapshotAssertion, sizes: Sequence[tuple[int, int]] = SIZES
) -> None:
    """Compare at every size, once the lines that count seconds have been told as it is now."""
    await settle(CALM_LOOK_SECONDS)
    for columns, rows in sizes:
        await seen.resize(columns, rows)
        assert screen_as_text(seen.app) == snapshot(name=f"{columns}x{rows}")


def signs(text: str) -> set[str]:
    """Return what is beyond ASCII, but for words that people and agents wrote."""
    return {letter for letter in text if ord(letter) > 0x7F and not letter.isalpha()}


def colours(app: App[int]) -> set[str]:
    """Return every colour on the screen but the terminal's own."""
    styles = [
        segment.style or Style.null()
        for strip in app.screen._compositor.render_strips(app.size)
        for segment in strip
    ]
    inks = [ink for style in styles for ink in (style.color, style.bgcolor) if ink is not None]
    return {ink.name for ink in inks if not ink.is_default}


def bold(app: App[int]) -> list[str]:
    """Return what stands on the screen in bold letters, without the blanks around it."""
    pieces = [
        (segment.text, bool(segment.style and segment.style.bold))
        for strip in app.screen._compositor.render_strips(app.size)
        for segment in [*strip, Segment("\n")]
    ]
    runs = groupby(pieces, key=lambda piece: piece[1])
    return ["".join(text for text, _ in run).strip() for is_bold, run in runs if is_bold]
