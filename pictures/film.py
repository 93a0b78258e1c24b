"""One SVG file that moves, made of the screenshots of single moments.

Rows that look the same are written once; a moment is a list of rows, all moments lie side by side, and one
CSS animation jumps from each to the next. No script, no font, nothing to load.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape, unescape
from typing import Final

from rich.cells import cell_len

ROW: Final = 24.4  # pixels, as Rich draws terminals
CELL: Final = 12.2
LEFT, TOP, RIGHT = 9, 41, 9
BOTTOM: Final = 9
_STYLE: Final = re.compile(r"\.[\w-]+-(r\d+) { (.*?) }")
_RECT: Final = re.compile(r'<rect fill="([^"]+)" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="24.65"')
_TEXT: Final = re.compile(
    r'<text class="[\w-]+-(r\d+)" x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)"[^>]*>([^<]*)<'
)
_PLACE: Final = re.compile(
    r'<text class="([\w-]+)" x="([\d.]+)" y="([\d.]+)" textLength="[\d.]+"([^>]*)>([^<]*)</text>'
)
_WORDS: Final = re.compile("(?:[^\u00a0]|\u00a0(?!\u00a0|$))+")  # up to two blanks
BLANK: Final = "\u00a0"  # what Rich draws for a space


def placed(svg: str) -> str:
    """Return a screenshot with each text in the cells that it takes (Rich counts characters) and without rows
    of blanks: some viewers drop those, or make them narrower, and show the rest in the wrong place.
    """
    return _PLACE.sub(_in_its_cells, svg)


def _in_its_cells(text: re.Match[str]) -> str:
    style, left, y, more, words = text.groups()
    words, parts = unescape(words), ""
    for found in _WORDS.finditer(words):
        bare = found[0].lstrip(BLANK)
        x = float(left) + CELL * cell_len(words[: found.end() - len(bare)])
        parts += f'<text class="{style}" x="{x:g}" y="{y}" textLength="{CELL * cell_len(bare):g}"{more}>'
        parts += f"{escape(bare)}</text>"
    return parts


@dataclass(frozen=True, slots=True)
class Moment:
    """A screenshot as an SVG file, how long it is shown, and which key is pressed then."""

    svg: str
    seconds: float
    key: str = ""


@dataclass(slots=True)
class _Run:
    """Cells of one row that stand on one ground, in pixels."""

    fill: str
    x: float
    y: float
    width: float


def _runs(svg: str) -> list[_Run]:
    found: list[_Run] = []
    for fill, *numbers in _RECT.findall(svg):
        x, y, width = map(float, numbers)
        last = found[-1] if found else None
        if last and (last.fill, last.y) == (fill, y) and abs(last.x + last.width - x) < 1:
            last.width = x + width - last.x
        else:
            found.append(_Run(fill, x, y, width))
    return found


class Film:
    """Collects what the moments have in common."""

    def __init__(self, columns: int, rows: int) -> None:
        self._rows = rows
        self.width, self.height = columns * CELL + LEFT + RIGHT, rows * ROW + TOP + BOTTOM
        self._styles: dict[str, str] = {}
        self._known: dict[str, str] = {}
        self._ground = ""  # of most cells

    def svg(self, moments: Sequence[Moment], title: str, still: int) -> str:
        """Return the file; ``still`` is the moment for those who do not want anything to move."""
        cells: Counter[str] = Counter()
        for run in _runs(moments[0].svg):
            cells[run.fill] += round(run.width)
        self._ground = max(cells, key=cells.__getitem__, default="#000")
        shown = "".join(self._moment(moment, number) for number, moment in enumerate(moments))
        rows = "".join(f'<g id="{name}">{row}</g>' for row, name in self._known.items())
        styles = "".join(f".{name}{{{style}}}" for style, name in self._styles.items())
        return f"""\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width:g} {self.height:g}">
<style>text{{font:20px "Fira Code",Menlo,Consolas,"DejaVu Sans Mono",monospace;white-space:pre}}{styles}
.film{{animation:film {sum(moment.seconds for moment in moments):g}s steps(1,end) infinite}}
@keyframes film{{{self._steps(moments)}}}
@media (prefers-reduced-motion:reduce){{.film{{animation:none;transform:translateX({self._at(-still)}px)}}}}
</style>
<defs><clipPath id="c"><rect width="{self.width:g}" height="{self.height:g}" rx="8"/></clipPath>{rows}</defs>
<g clip-path="url(#c)"><rect width="100%" height="100%" fill="#292929"/>
<circle cx="26" cy="22" r="7" fill="#ff5f57"/><circle cx="48" cy="22" r="7" fill="#febc2e"/>\
<circle cx="70" cy="22" r="7" fill="#28c840"/>
<text x="{self.width / 2:g}" y="28" text-anchor="middle" fill="#c5c8c6">{escape(title)}</text>
<rect x="{LEFT}" y="{TOP}" width="{self.width - LEFT - RIGHT:g}" height="{self._rows * ROW:g}" \
fill="{self._ground}"/>
<g class="film">{shown}</g></g></svg>
"""

    def _at(self, moment: int) -> str:
        return f"{moment * self.width:g}"

    def _steps(self, moments: Sequence[Moment]) -> str:
        whole, past, steps = sum(moment.seconds for moment in moments), 0.0, []
        for number, moment in enumerate(moments):
            steps.append(f"{100 * past / whole:.3f}%{{transform:translateX({self._at(-number)}px)}}")
            past += moment.seconds
        return "".join(steps)

    def _moment(self, moment: Moment, number: int) -> str:
        names = dict(_STYLE.findall(moment.svg))
        rows = [""] * self._rows
        for y, part in (*self._grounds(moment.svg), *self._texts(placed(moment.svg), names)):
            rows[min(self._rows - 1, round(y // ROW))] += part
        uses = "".join(
            f'<use href="#{self._known.setdefault(row, f"r{len(self._known)}")}" y="{at * ROW:g}"/>'
            for at, row in enumerate(rows)
            if row
        )
        key = self._key(moment.key) if moment.key else ""
        return f'<g transform="translate({number * self.width + LEFT:g},{TOP})">{uses}{key}</g>'

    def _key(self, key: str) -> str:
        """Return a key that is pressed, beside the title."""
        x = self.width - 70
        cap = f'<rect x="{x:g}" y="-34" width="34" height="28" rx="5" fill="#d5d9e6"/>'
        words = f'<text x="{x + 17:g}" y="-13" text-anchor="middle" font-weight="bold">{escape(key)}</text>'
        return cap + words

    def _grounds(self, svg: str) -> list[tuple[float, str]]:
        """Return each run of cells on another ground than most, with where its row is."""
        return [
            (run.y, f'<rect x="{run.x:g}" width="{run.width:g}" height="24.65" fill="{run.fill}"/>')
            for run in _runs(svg)
            if run.fill != self._ground
        ]

    def _texts(self, svg: str, names: dict[str, str]) -> list[tuple[float, str]]:
        """Return each text, with where its row is; what is blank is left out."""
        found = []
        for name, x, y, length, words in _TEXT.findall(svg):
            if words:
                style = self._styles.setdefault(names[name], f"s{len(self._styles)}")
                part = f'<text class="{style}" x="{x}" y="18.5" textLength="{length}">{words}</text>'
                found.append((float(y) - 18.5, part))
        return found
