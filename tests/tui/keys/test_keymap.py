"""Keys of the user's own: what is taken, what is refused, and who keeps a key that two want."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.widgets import Input

import tui
import widgets
from tests.settling import settle
from tests.tui.whole_app import opened_app
from tui.keys.keymap import ALWAYS, KeymapEntry, catalogue, live_together, resolve
from tui.keys.names import parse
from tui.places import AGAIN_SECONDS
from tui.screens.help import HelpScreen

ENTRIES = {entry.id: entry for entry in catalogue()}
# Of one press the innermost that can act takes it; everything else that shares a key is a mistake of ours.
# Enter opens the composer, then sends; c answers what asks, and continues an answer that is over. A list of
# what may be written has its keys only while it is open.
SHARED_ON_PURPOSE = {"escape", "ctrl+c", "ctrl+q", "enter", "c", "tab", "ctrl+p"}


def declared_ids() -> set[str]:
    """Return every ``id=`` of a ``Binding(…)`` in our sources."""
    found: set[str] = set()
    for package in (tui, widgets):
        for file in Path(package.__path__[0]).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Binding":
                    ids = [word.value for word in node.keywords if word.arg == "id"]
                    found |= {str(value.value) for value in ids if isinstance(value, ast.Constant)}
    return found


def keys(written: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """Return what differs from the defaults."""
    now = resolve(written).keys
    return {entry.id: now[entry.id] for entry in catalogue() if now[entry.id] != entry.keys}


def problem(written: Mapping[str, str]) -> str:
    (line,) = resolve(written).problems
    return line


# --- the catalogue ---------------------------------------------------------------------------------------


def test_every_binding_of_ours_is_in_the_catalogue_with_words_for_a_person() -> None:
    assert declared_ids() <= set(ENTRIES)
    assert [entry.id for entry in catalogue() if not entry.description] == []
    assert [entry.id for entry in catalogue() if "." not in entry.id] == []


def test_our_own_keys_do_not_clash() -> None:
    clashes = {
        (one.id, other.id): shared
        for one, other in combinations(catalogue(), 2)
        if live_together(one, other) and (shared := set(one.keys) & set(other.keys) - SHARED_ON_PURPOSE)
    }
    assert clashes == {}


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("app.help", "room.pause", True),  # one inside the other
        ("app.help", "pane.follow", True),
        ("room.pause", "pane.follow", True),
        ("pane.up", "pane.follow", True),
        ("help.close", "app.quit.quick", False),  # a dialog covers what is below
        ("help.close", "app.quit", True),  # but for what goes before everything
        ("help.close", "room.pause", False),
        ("help.close", "quit.stay", False),
        ("form.next", "settings.save", True),  # a field and its form
        ("form.pick", "setup.back", False),  # where there is no such field
    ],
)
def test_which_bindings_one_press_could_mean(one: str, other: str, together: bool) -> None:
    assert live_together(ENTRIES[one], ENTRIES[other]) is together
    assert live_together(ENTRIES[other], ENTRIES[one]) is together


# --- what is written -------------------------------------------------------------------------------------


def test_nothing_written_changes_nothing() -> None:
    assert keys({}) == {}
    assert resolve({}).for_textual() == {}
    assert resolve({}).problems == ()


def test_keys_are_replaced_added_and_taken_away() -> None:
    assert keys({"room.continue": "f5"}) == {"room.continue": ("f5",)}
    assert keys({"room.continue": "ctrl+x, f5"}) == {"room.continue": ("ctrl+x", "f5")}
    assert keys({"room.continue": ""}) == {"room.continue": ()}
    assert resolve({"room.continue": ""}).problems == ()


def test_two_actions_can_change_keys_with_each_other() -> None:
    written = {"room.pause": "c", "room.continue": "p,space"}
    assert keys(written) == {"room.pause": ("c",), "room.continue": ("p", "space")}
    assert resolve(written).problems == ()


def test_a_default_loses_its_key_to_what_is_written_and_the_line_says_so() -> None:
    written = {"app.help": "z"}
    assert keys(written) == {"app.help": ("z",), "room.zoom": ()}
    assert problem(written) == "keys.app.help: takes z from room.zoom, which has no key now"
    assert resolve({"app.help": "space"}).problems == (
        "keys.app.help: takes space from room.pause, which has p left",
        "keys.app.help: takes space from chat.fold, which has enter left",
        "keys.app.help: takes space from voice.talk, which has no key now",
    )


def test_of_two_that_are_written_the_first_keeps_the_key() -> None:
    written = {"room.pause": "f5", "pane.follow": "f5,f10"}
    assert keys(written) == {"room.pause": ("f5",), "pane.follow": ("f10",)}
    assert problem(written) == "keys.pane.follow: 'f5' was given to room.pause already, which keeps it"
    assert keys({"room.pause": "f5", "pane.follow": "f5"}) == {"room.pause": ("f5",)}


def test_the_same_key_in_a_dialog_and_below_it_is_no_clash() -> None:
    assert resolve({"app.help": "f5", "help.close": "f5"}).problems == ()


def test_what_takes_turns_with_a_key_by_default_still_does_when_that_is_written() -> None:
    assert keys({"room.back": "esc"}) == {}
    assert keys({"room.back": "esc,f5"}) == {"room.back": ("escape", "f5")}
    assert resolve({"pane.clear_selection": "esc", "room.back": "esc"}).problems == ()


@pytest.mark.parametrize("key", ALWAYS)
def test_keys_that_scripts_rely_on_cannot_be_taken(key: str) -> None:
    assert keys({"room.continue": key}) == {}
    assert "always stays what it is" in problem({"room.continue": key})


@pytest.mark.parametrize("written", ["f8", "", "ctrl+q,f8", "ctrl+s,f8"])
def test_keys_that_scripts_rely_on_stay_when_others_are_written(written: str) -> None:
    assert "ctrl+q" in resolve({"app.quit": written}).keys["app.quit"]
    assert "ctrl+s" in resolve({"room.pause.anywhere": written}).keys["room.pause.anywhere"]
    assert "ctrl+q" in resolve({"app.quit": written}).keys["quit.stay"]


def test_a_letter_that_could_then_never_be_typed_is_refused() -> None:
    assert keys({"app.quit": "x"}) == {}
    assert "'x' could not be typed" in problem({"app.quit": "x"})


def test_an_unknown_id_names_the_nearest_one() -> None:
    assert problem({"room.puase": "f5"}) == "keys.room.puase: no such action; did you mean room.pause?"
    assert "agent-tui config keys lists them" in problem({"xyzzy": "f5"})
    assert len(problem({"x" * 1000: "f5"})) < 200


def test_an_unknown_key_is_named_and_the_others_hold() -> None:
    assert problem({"room.continue": "ctrl+zz"}).startswith("keys.room.continue: no key named 'ctrl+zz'; ")
    assert keys({"room.continue": "ctrl+zz"}) == {}
    assert keys({"room.continue": "ctrl+zz,f5"}) == {"room.continue": ("f5",)}


KEYS = st.sampled_from(
    ["f5", "f6", "p", "r", "q", "tab", "ctrl+q", "ctrl+s", "nonsense", "?", "up", "esc", ""]
)


@given(st.dictionaries(st.sampled_from(sorted(ENTRIES)), st.lists(KEYS, max_size=3).map(",".join)))
def test_whatever_is_written_no_key_means_two_things_and_the_ones_of_scripts_hold(
    written: dict[str, str],
) -> None:
    keymap = resolve(written)
    changed = [entry for entry in catalogue() if keymap.keys[entry.id] != entry.keys]

    def clash(one: KeymapEntry, other: KeymapEntry) -> set[str]:
        return set(keymap.keys[one.id]) & set(keymap.keys[other.id]) - set(ALWAYS)

    for one in changed:
        own = set(keymap.keys[one.id]) - set(one.keys)
        for other in catalogue():
            if other.id != one.id and live_together(one, other):
                assert not own & clash(one, other)
    assert "ctrl+s" in keymap.keys["room.pause.anywhere"]
    assert "ctrl+q" in keymap.keys["app.quit"]
    asked = {key for text in written.values() for key in parse(text)[0]}
    assert asked or all(set(keymap.keys[entry.id]) <= set(entry.keys) for entry in changed)


@pytest.mark.parametrize(
    ("written", "default", "now"),
    [
        ({}, "z", "z"),
        ({"room.zoom": "f5"}, "z", "f5"),
        ({"room.zoom": ""}, "z", ""),
        ({"room.pause": "f5, p"}, "p", "p"),
        ({"app.help": "p"}, "p", "space"),
        ({"app.help": "p"}, "?", "p"),
        ({"room.zoom": "t"}, "t", ""),
        ({"room.back": ""}, "esc", "esc"),  # it still ends a selection
    ],
)
def test_a_hint_knows_what_a_default_key_is_now(written: dict[str, str], default: str, now: str) -> None:
    assert resolve(written).now("room", default) == now


# --- in the app ------------------------------------------------------------------------------------------


async def test_a_key_of_the_users_own_acts_and_the_old_one_does_not(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys={"app.help": "f1", "room.pause": "x"}) as seen:
        await seen.press("question_mark")
        assert not isinstance(seen.app.screen, HelpScreen)
        await seen.press("p", "space")
        assert seen.link.calls.asked == []
        await seen.press("escape", "x")  # the letter began a text
        assert seen.link.calls.asked == [("pause", "r0")]
        await seen.press("f1")
        assert isinstance(seen.app.screen, HelpScreen)


async def test_the_hints_name_the_keys_of_now(tmp_path: Path) -> None:
    keys = {"room.zoom": "f5", "room.timeline": "", "app.help": "f1"}
    async with opened_app(tmp_path, keys=keys, size=(160, 30)) as seen:
        hints = (await seen.text()).splitlines()[-1]
        assert "f5 zoom" in hints
        assert "f1 help" in hints
        assert "timeline" not in hints


async def test_no_key_means_no_key(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys={"room.pause": "", "app.help": ""}) as seen:
        await seen.press("p", "space", "question_mark")
        assert seen.link.calls.asked == []
        assert not isinstance(seen.app.screen, HelpScreen)


async def test_a_default_that_lost_its_key_does_nothing_by_it(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys={"app.help": "p"}) as seen:
        await seen.press("p")
        assert isinstance(seen.app.screen, HelpScreen)
        await seen.press("escape", "space")
        assert seen.link.calls.asked == [("pause", "r0")]


async def test_ctrl_s_pauses_and_ctrl_q_asks_whatever_is_written(tmp_path: Path) -> None:
    keys = {"room.pause.anywhere": "", "app.quit": "f9", "room.continue": "ctrl+s,ctrl+q"}
    async with opened_app(tmp_path, keys=keys) as seen:
        await seen.press("ctrl+s")
        assert seen.link.calls.asked == [("pause", "r0")]
        assert "Agents are still running" in await seen.press("ctrl+q")
        assert "Agents are still running" not in await seen.press("ctrl+q")
        assert "Agents are still running" in await seen.press("f9")


async def test_quitting_asks_above_the_help_too(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("question_mark")
        assert "Agents are still running" in await seen.press("ctrl+q")


async def test_what_cannot_hold_is_one_notice_at_the_start(tmp_path: Path) -> None:
    async with opened_app(tmp_path, keys={"a.b": "f5", "app.help": "z"}) as seen:
        assert "2 lines cannot be used" in await seen.text()
    async with opened_app(tmp_path, keys={"a.b": "f5"}) as seen:
        assert "1 line cannot be used" in await seen.text()


async def test_ctrl_c_twice_quits_and_the_first_press_names_the_key_that_pauses(
    tmp_path: Path,
) -> None:
    async with opened_app(tmp_path) as seen:
        assert "press ctrl+c again to quit · p pauses the room" in told(await seen.press("ctrl+c"))
        assert "Agents are still running" in await seen.press("ctrl+c")
        await seen.press("ctrl+c")
        assert seen.link.calls.asked == [("pause", "r0")]
        assert seen.app.return_value == 0
    async with opened_app(tmp_path, keys={"room.pause": ""}) as seen:
        assert "again to quit · ctrl+s pauses the room" in told(await seen.press("ctrl+c"))
    async with opened_app(tmp_path, rooms=2) as seen:
        assert "pauses" not in await seen.press("ctrl+c")
        await seen.press("ctrl+c")
        assert seen.app.return_value == 0


async def test_a_second_ctrl_c_long_after_the_first_asks_again(tmp_path: Path) -> None:
    async with opened_app(tmp_path, rooms=2) as seen:
        await seen.press("ctrl+c")
        await settle(AGAIN_SECONDS + 0.1)
        assert "press ctrl+c again to quit" in await seen.press("ctrl+c")
        assert seen.app.is_running


async def test_ctrl_c_clears_what_is_typed_in_dialogs_and_bars_before_it_quits(tmp_path: Path) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("question_mark", *"zoom")
        assert seen.app.screen.query_one(Input).value == "zoom"
        assert "again to quit" not in await seen.press("ctrl+c")
        assert seen.app.screen.query_one(Input).value == ""
        assert "again to quit" in await seen.press("ctrl+c")
        await seen.press("escape", "i", *"some words", "ctrl+a", "ctrl+shift+right")
        assert "copied 1 line" in await seen.press("ctrl+c")


async def test_ctrl_d_quits_where_nothing_is_written_and_question_mark_opens_the_help_there(
    tmp_path: Path,
) -> None:
    async with opened_app(tmp_path) as seen:
        await seen.press("i", "question_mark")
        assert isinstance(seen.app.screen, HelpScreen)
        await seen.press("escape", *"ab", "left", "ctrl+d")
        assert "Agents are still running" not in seen.now
        assert "Agents are still running" in await seen.press("backspace", "ctrl+d")


def told(text: str) -> str:
    return " ".join(text.split())
