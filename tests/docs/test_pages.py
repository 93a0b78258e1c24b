"""README and docs/: what is computed is as it would be computed now, what is written by hand is true."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.made import FOLDER, MADE, MAKERS, pages, written
from tui import themes
from tui.keys.keymap import catalogue
from tui.keys.names import parse
from tui.themes import load

ROOT = FOLDER.parent
README = ROOT / "README.md"
EVERY = [README, *pages()]
MAX_README_LINES = 250
LINK = re.compile(r"\]\(([^)\s]+)\)")
CODE = re.compile(r"```.*?```", re.S)
EMPTY_WORDS = re.compile(r"^\| `(\S+)` \|.*\|  \|$", re.M)


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    """Return what links to headings of a page end in."""
    heads = re.findall(r"^#+ (.+)$", CODE.sub("", text_of(page)), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_what_is_computed_is_up_to_date(page: Path) -> None:
    assert text_of(page) == written(text_of(page)), "make docs writes it"


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_every_setting_has_words(page: Path) -> None:
    missing = EMPTY_WORDS.findall(text_of(page))
    assert not missing, f"write what they mean into the last column of {page.name}: {missing}"


def test_all_that_can_be_computed_stands_on_a_page() -> None:
    assert {part[1] for page in pages() for part in MADE.findall(text_of(page))} == {*MAKERS}


def test_words_that_people_wrote_are_kept_and_a_new_setting_waits_for_some() -> None:
    page = (
        "<!-- made: config-screen -->\n| `mouse` | `false` | mine \\| yours |\n| `gone` | | x |\n<!-- end -->"
    )
    made = written(page)
    assert "| `mouse` | `true` | mine \\| yours |\n" in made
    assert "motion" in EMPTY_WORDS.findall(made)
    assert "gone" not in made


@pytest.mark.parametrize("page", EVERY, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for link in LINK.findall(CODE.sub("", text_of(page))):
        if link.startswith(("http://", "https://")):
            continue
        path, _, anchor = link.partition("#")
        to = (page.parent / path).resolve() if path else page
        assert to.is_file(), link
        assert not anchor or anchor in anchors(to), link


def test_every_file_that_agents_md_names_is_there() -> None:
    named = set(re.findall(r"`([a-z_/]+/[a-z_]+\.(?:py|toml|tcss|md))`", text_of(ROOT / "AGENTS.md")))
    roots = [ROOT, ROOT / "agent_tui", ROOT / "agent_tui/backend"]
    assert {"tui/places.py", "wire/rooms.py", "http/websocket.py"} <= named
    assert not [name for name in sorted(named) if not any((root / name).is_file() for root in roots)]


def test_every_picture_is_shown_somewhere() -> None:
    shown = {Path(link).name for page in EVERY for link in LINK.findall(text_of(page))}
    assert {picture.name for picture in (ROOT / "pictures").glob("*.svg")} <= shown


def test_a_newcomer_gets_to_the_end_of_the_readme() -> None:
    assert len(text_of(README).splitlines()) <= MAX_README_LINES


def test_the_keys_that_the_readme_names_are_keys() -> None:
    ours = {key for entry in catalogue() for key in entry.keys}
    rows = re.findall(r"^\| (`[^|]+`) \| (?!.*\|.*\|)", text_of(README), re.M)
    named = {key for row in rows for name in re.findall(r"`([^`]+)`", row) for key in parse(name)[0]}
    assert named - {"at", "slash"} <= ours  # @ and / are also the beginning of what is written
    assert len(named) > 20


def test_the_theme_that_is_shown_is_one(tmp_path: Path) -> None:
    example = text_of(FOLDER / "config.md").split("```toml\n# themes/mine.toml")[1].split("```")[0]
    (tmp_path / "mine.toml").write_text(example.partition("\n")[2], encoding="utf-8")
    assert themes.problems(tmp_path) == []
    assert load("mine", tmp_path).background == "#101418"
