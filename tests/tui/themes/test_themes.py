"""Theme files: those that ship are complete, the user's own are read kindly, and what is wrong is named."""

from __future__ import annotations

import os
from itertools import product
from math import dist
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.color import Color
from textual.theme import Theme

from agent_tui.model.errors import ConfigError
from tests.tui.themes.terminal_palettes import DARK
from tests.widgets.test_color import place, rgb
from tui import themes
from tui.theme_styles import SECTIONS
from tui.themes import (
    AUTO,
    BLACK,
    MAX_FILE_BYTES,
    MAX_FILES,
    SHIPPED,
    TERMINAL,
    UNKNOWN,
    WHITE,
    available,
    first,
    load,
)
from widgets.color import (
    LEAST_CONTRAST,
    PALETTE,
    PALETTE_ON_LIGHT,
    Ground,
    contrast,
    ground_of,
    oklch,
    readable,
)
from widgets.palettes import DEFAULT, MIN_CONTRAST, Backdrop, Rgb, luminance

COLOURED = [name for name in SHIPPED if name != TERMINAL]
CODE = ("keyword", "string", "number", "name", "builtin", "comment")


def own(folder: Path, name: str, text: str) -> Path:
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


def complaint(folder: Path, name: str) -> str:
    with pytest.raises(ConfigError) as raised:
        load(name, folder)
    assert "\n" not in str(raised.value)
    return str(raised.value)


def test_25_themes_ship_dark_and_light_ones_and_one_of_the_terminals_own_colours() -> None:
    assert list(available()) == list(SHIPPED)
    assert len(SHIPPED) == 25
    assert {load(name).dark for name in COLOURED} == {True, False}
    assert [name for name in SHIPPED if load(name).ansi] == [TERMINAL]


def test_every_file_that_ships_is_listed() -> None:
    assert sorted(path.stem for path in Path("themes").glob("*.toml")) == sorted(SHIPPED)


@pytest.mark.parametrize("name", COLOURED)
def test_agents_stand_out_from_the_words_of_code(name: str) -> None:
    theme = load(name)
    palette = PALETTE if theme.dark else PALETTE_ON_LIGHT
    agents = [rgb(readable(color, Ground(theme.background or ""))) for color in palette]
    words = [rgb(theme.variables[f"code-{word}"]) for word in CODE]
    assert min(dist(place(agent), place(word)) for agent, word in product(agents, words)) > 0.02
    # Code whispers: on the whole its hues are weaker than those of agents.
    strengths = [sorted(oklch(color)[1] for color in group) for group in (agents, words)]
    assert strengths[0][len(agents) // 2] > 1.2 * strengths[1][len(words) // 2]


@pytest.mark.parametrize("name", COLOURED)
def test_every_colour_of_words_can_be_read_on_every_surface(name: str) -> None:
    theme, found = load(name), load(name).variables
    least = float(found[LEAST_CONTRAST])
    surfaces = [theme.background, theme.panel, found["code-background"], found["band-background"]]
    words = [theme.foreground, theme.error, theme.warning, theme.success, theme.accent]
    words += [found[f"text-{key}"] for key in SECTIONS["text"]]
    for word, surface in product(words, surfaces):
        assert contrast(rgb(word or ""), rgb(surface or "")) >= least, (word, surface)
    code = [found[f"code-{key}"] for key in (*CODE, "plain", "added", "removed")]
    assert min(contrast(rgb(word), rgb(found["code-background"])) for word in code) >= least
    for mark in ("selection", "found", "current", "cursor", "focus"):
        assert contrast(rgb(found[f"marks-{mark}"]), rgb(found[f"marks-{mark}-background"])) >= least
    assert contrast(rgb(found["ask"]), rgb(found["ask-background"])) >= least


@pytest.mark.parametrize("name", COLOURED)
def test_muted_words_are_weaker_than_others_as_far_as_they_can_be_read(name: str) -> None:
    theme, found = load(name), load(name).variables
    least = float(found[LEAST_CONTRAST])
    for word, surface in product(("muted", "dim"), (theme.background, theme.panel)):
        muted = contrast(rgb(found[f"text-{word}"]), rgb(surface or ""))
        plain = contrast(rgb(theme.foreground or ""), rgb(surface or ""))
        assert muted < plain
        assert plain > 1.15 * muted or muted < 1.3 * least, (word, surface, plain, muted)


@pytest.mark.parametrize("name", COLOURED)
def test_failure_is_red_and_the_focus_is_not(name: str) -> None:
    theme = load(name)
    red, green, blue = rgb(theme.error or "")
    assert red > max(green, blue)
    assert dist(place(rgb(theme.accent or "")), place((red, green, blue))) > 0.05


def test_without_a_wish_the_theme_is_dark_or_light_as_the_terminal_is() -> None:
    backdrops = (UNKNOWN, BLACK, WHITE)
    assert [themes.resolve("", backdrop) for backdrop in backdrops] == ["dark", "dark", "light"]
    assert themes.resolve(AUTO, WHITE) == "light"
    assert themes.resolve("ember", WHITE) == "ember"


def test_without_colours_it_is_the_terminals_own() -> None:
    assert themes.resolve("ember", UNKNOWN, has_colors=False) == TERMINAL


def test_the_terminals_own_colours_are_others_on_light() -> None:
    dark, light = load(TERMINAL, backdrop=BLACK), load(TERMINAL, backdrop=WHITE)
    assert (dark.dark, light.dark) == (True, False)
    assert (dark.error, light.error) == ("ansi_bright_red", "ansi_red")
    agents = [{readable("", own_ground(theme), str(n)) for n in range(99)} for theme in (dark, light)]
    assert agents == [{"bright_cyan", "bright_yellow", "bright_green", "cyan", "green"}, {"blue", "magenta"}]


def test_where_the_background_is_unknown_there_is_no_colour() -> None:
    theme = load(TERMINAL)
    assert own_colors(theme) == {DEFAULT}
    assert readable("#ffff00", own_ground(theme), "Mika") == DEFAULT


def own_ground(theme: Theme) -> Ground:
    return ground_of(Color.parse("ansi_default"), theme)


def own_colors(theme: Theme) -> set[str]:
    """The names of the terminal's colours in which a theme writes."""
    said = [theme.error, theme.success, theme.warning, theme.accent, *theme.variables.values()]
    return {value.removeprefix("ansi_") for value in said if value and value.startswith("ansi_")}


GREYS = st.integers(0, 255).map(lambda value: (value, value, value))


@given(st.one_of(GREYS, st.tuples(*[st.integers(0, 255)] * 3)), st.from_regex("#[0-9a-f]{6}", fullmatch=True))
def test_on_a_known_background_every_own_colour_stands_out_under_every_palette(
    background: Rgb, color: str
) -> None:
    theme = load(TERMINAL, backdrop=Backdrop.of(luminance(background)))
    for palette in DARK:
        for name in own_colors(theme) | {readable(color, own_ground(theme), "Mika")}:
            assert name == DEFAULT or contrast(palette.color(name), background) >= MIN_CONTRAST


@pytest.mark.parametrize("number", range(16))
def test_on_one_of_the_sixteen_colours_every_own_colour_stands_out_under_every_palette(number: int) -> None:
    theme = load(TERMINAL, backdrop=Backdrop.numbered(number))
    for palette in DARK:
        for name in own_colors(theme) | {readable(color, own_ground(theme)) for color in PALETTE}:
            assert name == DEFAULT or contrast(palette.color(name), palette.colors[number]) >= MIN_CONTRAST


def test_what_a_persons_own_theme_names_stays(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text('extends = "terminal"\nerror = "ansi_yellow"\n', encoding="utf-8")
    assert load("mine", tmp_path).error == "ansi_yellow"


def test_an_unknown_theme_is_refused_with_the_known_names() -> None:
    with pytest.raises(ConfigError, match="not known: use one of auto, dark, light"):
        load("neon")


def test_an_unknown_name_is_shown_inert() -> None:
    with pytest.raises(ConfigError) as raised:
        load("\x1b]52;c;aGk=\x07")
    assert "\x1b" not in str(raised.value)


def test_a_users_theme_changes_some_of_another(tmp_path: Path) -> None:
    own(tmp_path, "sea", 'extends = "fjord"\naccent = "#abc"\n[code]\nkeyword = "bold italic #112233"\n')
    sea, fjord = load("sea", tmp_path), load("fjord")
    assert list(available(tmp_path)) == [*SHIPPED, "sea"]
    assert (sea.accent, sea.background) == ("#abc", fjord.background)
    assert (sea.variables["code-keyword"], sea.variables["code-keyword-style"]) == ("#112233", "bold italic")
    assert sea.variables["code-string"] == fjord.variables["code-string"]
    assert themes.problems(tmp_path) == []


def test_what_extends_nothing_is_filled_in_by_its_kind(tmp_path: Path) -> None:
    own(own(tmp_path, "day", "dark = false"), "bare", "ansi = true")
    assert load("day", tmp_path).background == load("light").background
    assert load("bare", tmp_path).background == "ansi_default"


def test_a_users_theme_wins_over_one_of_the_same_name_and_may_build_on_it(tmp_path: Path) -> None:
    own(tmp_path, "dark", 'extends = "dark"\nforeground = "#ffffff"')
    own(tmp_path, "mine", 'extends = "dark"')
    assert load("dark", tmp_path).foreground == load("mine", tmp_path).foreground == "#ffffff"
    assert load("dark", tmp_path).background == load("dark").background
    assert [name for name, theme in available(tmp_path).items() if theme.is_own] == ["dark", "mine"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("= 3", "not valid TOML"),
        ('foreground = "blurple"', "foreground: 'blurple' is not a colour: #rgb or #rrggbb"),
        ('foreground = "ansi_red"', "foreground: 'ansi_red' is not a colour: #rgb or #rrggbb"),
        ('ansi = true\nforeground = "ansi_pink"', "ansi_bright_white"),
        ("foreground = 3", "foreground: must be a text"),
        (f'foreground = "{"#" * 101}"', "foreground: must be a text of 100 characters"),
        ('foreground = "bold #fff"', "foreground: must be one colour"),
        ('[code]\nkeyword = "#fff #000"', "code.keyword: has one colour too many"),
        ('[code]\nkeyword = "#fff on"', "code.keyword: 'on' is not a colour"),
        ("code = 3", "code: must be a table: [code]"),
        ("dark = 1", "dark: must be true or false"),
        ('contrast = "much"', "contrast: must be a number from 1 to 21"),
        ('extends = "nowhere"', "extends: there is no theme 'nowhere'; known: dark"),
        ('extends = "other"', "extends: goes round in a circle"),
        ("#" * (MAX_FILE_BYTES + 1), "longer than 65,536 bytes"),
        ('foreground = "\\u001b[31m\\n"', "is not a colour"),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(tmp_path: Path, text: str, said: str) -> None:
    own(own(tmp_path, "mine", text), "other", 'extends = "mine"')
    line = complaint(tmp_path, "mine")
    assert line.startswith(f"{tmp_path / 'mine.toml'}: ")
    assert said in line
    assert "\x1b" not in line
    assert line in themes.problems(tmp_path)


def test_a_theme_that_is_wrong_gives_the_automatic_one_and_a_line(tmp_path: Path) -> None:
    own(tmp_path, "mine", 'accent = "blurple"')
    theme, problem = first("mine", tmp_path, WHITE)
    assert (theme.name, "blurple" in problem) == ("light", True)
    assert first("ember", tmp_path, UNKNOWN)[1] == ""


def test_an_own_theme_that_is_wrong_under_the_name_of_the_automatic_one_stops_nothing(tmp_path: Path) -> None:
    own(tmp_path, "dark", 'accent = "blurple"')
    theme, problem = first("", tmp_path, UNKNOWN)
    assert (theme.background, bool(problem)) == (load("dark").background, True)


def test_unknown_settings_and_unusable_names_are_told_and_stop_nothing(tmp_path: Path) -> None:
    own(tmp_path, "mine", 'colour = "#fff"\n[code]\nverb = "#fff"')
    own(tmp_path, "auto", "")
    assert themes.problems(tmp_path) == [
        f"{tmp_path / 'auto.toml'}: a theme's name is letters, digits, - and _, 40 at most, and not auto",
        f"{tmp_path / 'mine.toml'}: colour: unknown setting, ignored",
        f"{tmp_path / 'mine.toml'}: code.verb: unknown setting, ignored",
    ]
    assert load("mine", tmp_path).foreground == load("dark").foreground


def test_only_plain_files_are_read_and_not_too_many(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    assert list(available(tmp_path)) == list(SHIPPED)
    for number in range(MAX_FILES + 3):
        own(tmp_path, f"t{number:03}", "")
    assert len(available(tmp_path)) == len(SHIPPED) + MAX_FILES
    assert themes.problems(tmp_path)[-1].endswith(f"only the first {MAX_FILES} themes are read")


def test_one_file_that_cannot_be_looked_at_hides_no_other(tmp_path: Path) -> None:
    (tmp_path / "lost.toml").symlink_to("x" * 300)
    own(tmp_path, "mine", "")
    assert list(available(tmp_path)) == [*SHIPPED, "mine"]


def test_no_folder_is_no_problem(tmp_path: Path) -> None:
    assert list(available(tmp_path / "nothing")) == list(available(None)) == list(SHIPPED)
    assert themes.problems(tmp_path / "nothing") == []


@pytest.mark.parametrize("backdrop", [UNKNOWN, BLACK, WHITE])
def test_every_theme_has_every_variable(backdrop: Backdrop) -> None:
    every = {frozenset(load(name, backdrop=backdrop).variables) for name in SHIPPED}
    assert len(every) == 1
    plain = set(load("dark").to_color_system().generate())
    assert plain <= set(load(TERMINAL, backdrop=backdrop).to_color_system().generate())
