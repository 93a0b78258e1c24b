"""What the room screen says, for every state it can be in."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from agent_tui.state.turn import Turn
from tui.chat import texts as chat_texts
from tui.live.signs import wants_ascii
from tui.live.texts import ending, model_name, unpriced_text
from tui.room import texts
from tui.room.panes import TokenRate
from tui.screens.words import ENGLISH, ordinal_try

AGENTS = (
    ev.AgentInfo("a", "Mika", model="some-model"),
    ev.AgentInfo("b", "Ada", model="x", provider_id="demo", turn_order=1),
)
LIVE = ev.LinkChanged("live")


def room(link: ev.LinkChanged = LIVE, **fields: Any) -> ConversationState:
    state = ConversationState(ev.RoomInfo(""))
    state.apply(ev.RoomLoaded(ev.RoomInfo("r", agents=AGENTS, max_rounds=3, **fields), ()))
    state.apply(link)
    return state


@pytest.mark.parametrize(
    ("state", "asked", "expected"),
    [
        (room(status="running"), texts.PendingRequests(), "● live"),
        (room(status="running"), texts.PendingRequests("pausing"), "◌ pausing…"),
        (room(status="paused", interrupted="pause"), texts.PendingRequests(by_us=True), "‖ paused by you"),
        (room(status="paused", interrupted="pause"), texts.PendingRequests(), "‖ paused by you"),
        (room(status="paused"), texts.PendingRequests(by_us=True), "‖ paused by you"),
        (room(status="paused"), texts.PendingRequests(), "‖ paused"),
        (
            room(status="paused", interrupted="crash"),
            texts.PendingRequests(),
            "‖ paused – the backend crashed, nothing was lost",
        ),
        (
            room(status="paused", interrupted="unwatched"),
            texts.PendingRequests(),
            "‖ paused – nobody was watching",
        ),
        (room(status="paused", interrupted="lunch"), texts.PendingRequests(), "‖ paused – lunch"),
        (room(status="paused", interrupted="other"), texts.PendingRequests(), "‖ paused – other"),
        (room(status="completed"), texts.PendingRequests(), "✓ done"),
        (room(status="idle"), texts.PendingRequests(), "◌ not started – p to start"),
        (room(ev.LinkChanged("connecting")), texts.PendingRequests(), "◌ connecting…"),
        (
            room(ev.LinkChanged("waiting", "", 2.0, 3)),
            texts.PendingRequests(),
            "◌ reconnecting in 2 s (3rd try)",
        ),
        (room(ev.LinkChanged("lost")), texts.PendingRequests(), "┄ interrupted – c to continue"),
        (room(ev.LinkChanged("refused", "no token")), texts.PendingRequests(), "✗ refused: no token"),
    ],
)
def test_the_status_says_what_is_really_going_on(
    state: ConversationState, asked: texts.PendingRequests, expected: str
) -> None:
    assert texts.status(state, asked, seconds_left=2) == expected


def test_the_word_paused_is_never_said_before_the_room_is() -> None:
    said_when_not_paused = [
        text
        for key, text in ENGLISH.items()
        if not key.startswith(("room.paused", "list.", "cut.", "plain.stands", "export.is."))
    ]
    assert not [text for text in said_when_not_paused if "paused" in text.lower()]


def test_the_hint_names_who_goes_on() -> None:
    assert texts.hints(room(status="paused", current_round=1))[0].text == "resume – Mika goes on"
    parallel = room(status="paused", current_round=1, execution_mode="parallel")
    assert texts.hints(parallel)[0].text == "resume – 2 agents go on"


def test_hints_are_what_is_possible_now() -> None:
    def keys(shown: texts.RoomShown) -> list[str]:
        return [hint.key for hint in texts.hints(room(status="running"), shown)]

    assert keys(texts.RoomShown()) == ["p", "ctrl+p", "?", "q"]
    assert keys(texts.RoomShown(panes=1)) == ["p", "t", "/", "ctrl+p", "?", "q"]
    assert keys(texts.RoomShown(panes=3)) == ["p", "tab", "z", "t", "/", "ctrl+p", "?", "q"]
    assert keys(texts.RoomShown(panes=3, is_timeline=True)) == ["p", "t", "/", "ctrl+p", "?", "q"]
    assert keys(texts.RoomShown(panes=3, is_following=False))[1] == "end"
    assert keys(texts.RoomShown(panes=3, has_selection=True)) == ["y", "esc"]
    assert keys(texts.RoomShown(panes=3, looking="found")) == ["n", "N", "esc"]
    assert keys(texts.RoomShown(panes=3, looking="find")) == ["↓", "↑", "enter", "esc"]
    assert keys(texts.RoomShown(panes=3, looking="go_to")) == ["enter", "esc"]
    assert keys(texts.RoomShown(panes=3, looking="found", is_writing=True))[0] == "enter"


def test_the_hints_name_what_can_be_done_with_the_agent() -> None:
    running = room(status="running")
    can = texts.RoomShown(panes=3, can=frozenset({"say", "stop", "skip", "retry"}))
    assert [hint.key for hint in texts.hints(running, can)][:5] == ["p", "i", "s", "x", "r"]
    skipped = replace(can, can=frozenset({"skip"}), is_skipped=True)
    assert [(hint.key, hint.text) for hint in texts.hints(running, skipped)][1] == ("x", "don't skip")
    in_timeline = [hint.key for hint in texts.hints(running, replace(can, is_timeline=True))]
    assert in_timeline[:5] == ["p", "i", "s", "x", "r"]


def test_a_room_that_begins_in_the_timeline_names_the_panes_as_the_other_view() -> None:
    begins = texts.RoomShown(panes=3, is_timeline=True, begins_in_timeline=True)
    assert [hint.text for hint in texts.hints(room(), begins) if hint.key == "t"] == ["panes"]
    panes = replace(begins, is_timeline=False)
    assert [hint.text for hint in texts.hints(room(), panes) if hint.key == "t"] == ["back"]


def test_while_writing_the_hints_are_those_of_the_line() -> None:
    writing = texts.RoomShown(panes=3, is_writing=True, can=frozenset({"say", "stop"}))
    found = [hint.key for hint in texts.hints(room(status="running"), writing)]
    assert found == ["enter", "ctrl+n", "alt+enter", "", "ctrl+s", "esc"]


def test_a_spent_budget_is_raised_before_the_room_can_go_on() -> None:
    spent = ev.RoomInfo("r", status="paused", interrupted="budget", max_tokens=300, tokens=300)
    state = ConversationState(ev.RoomInfo("r"))
    state.apply(ev.RoomLoaded(spent, ()))
    assert texts.hints(state)[0].key == "e"
    state.apply(ev.RoomChanged(replace(spent, max_tokens=900, task="T")))
    state.apply(ev.LinkChanged("live"))
    assert texts.hints(state)[0].key == "p"
    assert texts.status(state, texts.PendingRequests()) == "‖ paused"


def test_who_pauses_for_the_budget_is_believed_whatever_is_counted_here() -> None:
    state = room(status="running", max_tokens=300)
    state.apply(ev.RunPaused("r", 1, "budget"))
    assert "the budget is used up" in texts.status(state, texts.PendingRequests())
    assert texts.hints(state)[0].key == "e"


def test_lines_name_the_keys_that_hold_now() -> None:
    idle = room(status="idle")
    assert texts.status(idle, texts.PendingRequests(), key_now={"p": "space"}.__getitem__) == (
        "◌ not started – space to start"
    )
    assert texts.status(idle, texts.PendingRequests(), key_now=lambda key: "") == "◌ not started"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("First.\n\nThe **last** `line` of ~~it~~", "The last line of it"),
        ("## A heading\n", "A heading"),
        ("> quoted words\n\n---\n", "quoted words"),
        ("- an item", "an item"),
        ("```python\ndef load(sid: str) -> Session:\n```", "def load(sid: str) -> Session:"),
        ("| store | p95 |\n|---|---|", "store | p95"),
        ("snake_case and 2 * 3", "snake_case and 2 * 3"),
        ("\x1b[2Jwords\u202e", "␛[2Jwords�"),
        ("", ""),
        ("\n\n", ""),
    ],
)
def test_the_last_words_are_read_without_their_markup(text: str, expected: str) -> None:
    whole, streamed = Turn("whole"), Turn("streamed")
    whole.add(text)
    for character in text:
        streamed.add(character)
    assert texts.last_words(whole) == texts.last_words(streamed) == expected


def test_the_last_words_of_a_long_text_cost_no_look_at_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at: list[int] = []
    turn = Turn("1")
    turn.add("word " * 100_000)
    since = Turn.since

    def counting(turn: Turn, length: int) -> str:
        text = since(turn, length)
        looked_at.append(len(text))
        return text

    monkeypatch.setattr(Turn, "since", counting)
    monkeypatch.setattr(Turn, "text", property(lambda _: pytest.fail("all of it was read")))
    assert texts.last_words(turn).endswith("word word")
    assert sum(looked_at) <= 400


def test_a_summary_says_what_an_agent_does_in_its_own_words() -> None:
    state = room(status="running", execution_mode="parallel")
    mika, ada = state.members.ordered
    assert texts.summary(ada, state, 0)[:2] == ("◌", "waiting")
    state.apply(ev.TurnStarted("1", "r", "assistant", "Mika", "", 1, "a"))
    assert texts.summary(mika, state, 4)[:2] == ("◔", "thinking 4 s")
    state.apply(ev.TextAdded("1", "Well,\n**I doubt** it"))
    assert texts.summary(mika, state, 0) == ("●", "I doubt it", "", True)
    state.apply(ev.TurnEnded("1", "", 1, "a"))
    assert texts.summary(mika, state, 0) == ("✓", "I doubt it", "", False)
    state.apply(ev.TurnStarted("2", "r", "assistant", "Ada", "", 1, "b"))
    state.apply(ev.TurnFailed("quota exceeded", "b", "Ada"))
    assert texts.summary(ada, state, 0)[:2] == ("✗", "quota exceeded")


def test_every_pane_can_say_which_model_speaks() -> None:
    agents = room().members.ordered
    assert [texts.model(agent) for agent in agents] == ["some-model", "demo model"]


def test_a_model_that_is_a_file_is_called_like_the_file() -> None:
    assert model_name("/home/me/models/Qwen3-8B.Q4.gguf", "llamacpp") == "Qwen3-8B.Q4.gguf"
    assert model_name("anthropic/claude-sonnet-4", "openrouter") == "anthropic/claude-sonnet-4"


def test_an_agent_whose_first_step_is_a_call_says_that_it_needs_approval() -> None:
    state = room(status="running")
    state.apply(ev.TurnStarted("1", "r", "assistant", "Mika", "", 1))
    call = ev.Step("s", 0, "tool_call", name="run_command")
    for event in (ev.StepSet("1", call), ev.ToolStatusChanged("1", "s", "asks", ask=ev.ToolAsk("make"))):
        state.apply(event)
    mika = state.members.ordered[0]
    assert texts.doing(mika, state, 0, 26) == "‖ needs approval"
    assert texts.summary(mika, state, 26)[:2] == ("‖", "needs approval")
    state.apply(ev.ToolStatusChanged("1", "s", "running"))
    assert texts.doing(mika, state, 0, 26) == "● running run_command"


def test_an_agent_without_a_new_word_says_for_how_long_it_is_silent() -> None:
    state, pace = room(status="running"), TokenRate()
    state.apply(ev.TurnStarted("1", "r", "assistant", "Mika", "", 1))
    mika = state.members.ordered[0]

    def said(now: float) -> tuple[str, str]:
        pace.look(now, mika.tokens, mika.word if mika.word == "thinking" else texts.characters_received(mika))
        since = pace.seconds(now)
        return texts.doing(mika, state, pace.rate, since), texts.summary(mika, state, since)[1]

    assert said(0) == ("◔ thinking 0 s", "thinking 0 s")
    assert said(9) == ("◔ thinking 9 s", "thinking 9 s")
    state.apply(ev.TextAdded("1", "Hello"))
    assert said(10) == ("● 1 tok/s", "Hello")
    assert said(14)[1] == "Hello"
    assert said(22) == ("◌ silent for 12 s", "silent for 12 s")
    state.apply(ev.StepAdded("1", "thoughts", "Hm", ""))  # it is heard, though it says nothing
    assert "silent" not in said(23)[0]
    call = ev.Step("call", 2, "tool_call", name="run_command")
    for event in (ev.StepSet("1", call), ev.ToolStatusChanged("1", "call", "running")):
        state.apply(event)
    assert said(40)[0] == "● running run_command"
    state.apply(ev.ToolStatusChanged("1", "call", "done"))
    assert "silent" not in said(41)[0]
    assert said(49)[0] == "◌ silent for 8 s"


def test_a_waiting_agent_says_for_whom() -> None:
    state = room(status="running")
    state.apply(ev.TurnStarted("1", "r", "assistant", "Mika", "", 1))
    mika, ada = state.members.ordered
    assert texts.doing(mika, state, 0, 4) == "◔ thinking 4 s"
    assert texts.doing(ada, state, 0, 0) == "◌ waits for Mika"
    state.apply(ev.TextAdded("1", "Hello"))
    assert texts.doing(mika, state, 41, 0) == "● 41 tok/s"
    state.apply(ev.LinkChanged("waiting", "", 2.0, 1))
    assert texts.doing(mika, state, 0, 0) == "◌ disconnected"  # how fast it speaks nobody knows
    state.apply(ev.LinkChanged("live"))
    assert texts.doing(mika, state, 41, 0) == "● 41 tok/s"
    state.apply(ev.TurnEnded("1", "Hello", 1, "", "crash"))
    assert texts.doing(mika, state, 0, 0) == "‖ cut when the backend crashed"
    assert ending(mika.turns[0]) == "┄ cut when the backend crashed"


def test_an_agent_whose_provider_limits_the_rate_counts_down_honestly() -> None:
    state = room(status="running")
    state.apply(ev.TurnStarted("1", "r", "assistant", "Mika", "", 1))
    mika, _ = state.members.ordered

    def waits(until: str, seconds: float) -> str:
        state.apply(ev.TurnNoted("1", "rate_limit", 0, "a", "Mika", until, seconds))
        return texts.doing(mika, state, 0, 4)

    def after(seconds: float) -> str:
        return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat()

    assert waits(after(8.9), 20.0) == "◌ rate limited, 9 s"
    assert waits(after(3600), 9.0) == "◌ rate limited, 9 s"  # a server whose clock is ahead
    assert waits(after(-1), 9.0) == "◔ thinking 4 s"
    assert waits("soon", 9.0) == "◔ thinking 4 s"
    assert waits("2999-01-01T00:00:00", 9.0) == "◔ thinking 4 s"  # whose time?
    assert waits(after(9), 9.0) == "◌ rate limited, 9 s"
    assert texts.summary(mika, state, 0)[:2] == ("◌", "rate limited, 9 s")
    state.apply(ev.TextAdded("1", "Hello"))
    assert texts.doing(mika, state, 41, 0) == "● 41 tok/s"


def test_a_chat_says_what_was_used_as_a_room_does() -> None:
    used: dict[str, Any] = {"tokens": 12_345, "cost": 0.5, "max_tokens": 50_000, "max_cost": 1.0}
    chat = ConversationState()
    chat.apply(ev.ConversationLoaded(ev.ConversationInfo("c", **used), ()))
    said = "12,345 of 50,000 tokens", "", "$0.5000 of $1.00"
    assert chat_texts.usage_text(chat) == texts.usage_text(room(**used), 0) == said


def test_what_is_being_said_counts_beside_what_was_counted_with_prompts() -> None:
    state = room(status="running", tokens=5_000)
    state.apply(ev.TurnStarted("1", "r", "assistant", "Mika", "", 2, "a"))
    state.apply(ev.TextAdded("1", "x" * 400))
    assert texts.usage_text(state, 100).tokens == "5,100 tokens"
    state.apply(ev.TurnEnded("1", "x" * 400, 100, "a", usage=ev.Usage(900, 120)))
    assert texts.usage_text(state, 220).tokens == "6,020 tokens"


def test_a_budget_that_limits_nothing_does_not_pass_for_one() -> None:
    state = room(max_cost=2.0, unpriced=("some-model", "x"))
    assert unpriced_text(state.room) == "the budget of $2.00 does not limit some-model, x: no price is known"
    assert texts.usage_text(state, 0).cost == "price unknown"
    limited = room(max_cost=2.0)
    assert (unpriced_text(limited.room), texts.usage_text(limited, 0).cost) == ("", "")


@pytest.mark.parametrize(
    ("context", "cells", "header"),
    [
        (10_000, 90, "round 1 · ✓ said"),
        (60_000, 90, "round 1 · 60% of context · ✓ said"),
        (60_000, 40, "✓ said"),  # the model's name needs the room
        (80_000, 40, "! 80% of context · ✓ said"),  # which is said before the model's name
    ],
)
def test_a_header_says_how_full_a_context_is_once_that_matters(context: int, cells: int, header: str) -> None:
    state = room(status="running")
    mika = state.members.ordered[0]
    usage = ev.Usage(context, 0, context=context, context_limit=100_000)
    for event in (
        ev.TurnStarted("1", "r", "assistant", "Mika", "", 1),
        ev.TurnEnded("1", "", 0, usage=usage),
    ):
        state.apply(event)
    what = texts.doing(mika, state, 0, 0)
    assert texts.header(mika, what, cells, 0) == header
    beside_timeline = texts.summary(mika, state, 0, 0)[1]
    assert ("of context" in beside_timeline) is (context >= 60_000)


def test_hostile_names_and_errors_are_one_harmless_line() -> None:
    state = room(status="error")
    state.apply(ev.RunFailed("bad\x1b[2J\nnews" * 100))
    assert re.fullmatch(r"[^\x00-\x1f]*", texts.status(state, texts.PendingRequests()))
    state.apply(ev.RunStarted("r", "\x1b]0;x\x07\n" + "long " * 1000))
    assert "\x1b" not in texts.title(state)
    assert len(texts.title(state)) <= texts.MAX_TITLE_CHARACTERS


def test_the_tries_are_counted_in_english() -> None:
    assert [ordinal_try(n).split()[0] for n in (1, 2, 3, 4, 11, 12, 13, 21, 102)] == [
        "1st",
        "2nd",
        "3rd",
        "4th",
        "11th",
        "12th",
        "13th",
        "21st",
        "102nd",
    ]


def test_speed_is_tokens_over_the_last_seconds() -> None:
    pace, rates = TokenRate(), []
    for now, tokens in ((10, 100), (11, 140), (12, 140), (13, 140), (14, 140), (15, 140), (20, 5)):
        pace.look(now, tokens)  # a count that is less starts over
        rates.append(pace.rate)
    assert rates == [0, 40, 20, 13, 0, 0, 0]


def test_ascii_signs_are_chosen_where_the_terminal_needs_them() -> None:
    assert wants_ascii({"TERM": "linux"})
    assert wants_ascii({"AGENT_TUI_ASCII": "1"})
