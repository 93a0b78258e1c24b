"""The next step follows from what is stored, and from nothing else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent_tui.backend.engine.plan import (
    CloseRound,
    CloseTurns,
    Complete,
    DueTurn,
    Fail,
    OpenRound,
    Pause,
    Rest,
    Say,
    Skip,
    Speak,
    StartRun,
    Step,
    Wait,
    plan,
    plan_answer,
)
from agent_tui.backend.store.rows import ConversationRow, TurnRow
from agent_tui.model.events import AgentInfo, QueuedMessage

AGENTS = tuple(AgentInfo(f"id-{place}", name, turn_order=place) for place, name in enumerate("ABC"))
ROOM = ConversationRow("room", "name", "task", "sequential", 2, status="running", run_seq=1, agents=AGENTS)


def room(opened: int = 0, done: int = 0, mode: str = "sequential") -> ConversationRow:
    return replace(ROOM, round_open=opened, round_done=done, execution_mode=mode)


def turn(place: int, status: str, attempt: int = 1, round_: int = 1, reason: str = "") -> TurnRow:
    return TurnRow(round_, f"id-{place}", attempt, f"m{round_}{place}{attempt}", status, reason)


AGAIN = replace(room(1), on_resume="again")
DONE = [turn(0, "completed"), turn(1, "completed"), turn(2, "completed")]
CASES: dict[str, tuple[ConversationRow, list[TurnRow], str, Step]] = {
    "a new room starts": (replace(ROOM, status="idle", run_seq=0), [], "", StartRun(resumed=False)),
    "a paused room resumes": (replace(ROOM, status="paused"), [], "", StartRun(resumed=True)),
    "a failed room resumes": (replace(ROOM, status="error"), [], "", StartRun(resumed=True)),
    "a room without agents fails": (replace(ROOM, agents=()), [], "", Fail("No agents in room")),
    "the first round opens": (room(), [], "", OpenRound(1)),
    "the first agent speaks": (room(1), [], "", Speak((DueTurn(1, "id-0", 1),))),
    "then the second": (room(1), DONE[:1], "", Speak((DueTurn(1, "id-1", 1),))),
    "a failed turn is over": (room(1), [turn(0, "failed")], "", Speak((DueTurn(1, "id-1", 1),))),
    "a cut turn is continued": (
        room(1),
        [turn(0, "completed"), turn(1, "interrupted")],
        "",
        Speak((DueTurn(1, "id-1", 2, continues="m111"),)),
    ),
    "and once more": (
        room(1),
        [turn(0, "interrupted"), replace(turn(0, "interrupted", 2), continues="m101")],
        "",
        Speak((DueTurn(1, "id-0", 3, continues="m102"),)),
    ),
    "where the room wants that it is said anew": (
        AGAIN,
        [turn(0, "interrupted"), replace(turn(0, "interrupted", 2), continues="m101")],
        "",
        Speak((DueTurn(1, "id-0", 3),)),
    ),
    "but not one that was over, and whose rest was asked for": (
        AGAIN,
        [turn(0, "interrupted", reason="length"), replace(turn(0, "interrupted", 2), continues="m101")],
        "",
        Speak((DueTurn(1, "id-0", 3, continues="m102"),)),
    ),
    "a cut turn that is asked for again is said anew": (
        room(1),
        [replace(turn(0, "interrupted"), again=True)],
        "",
        Speak((DueTurn(1, "id-0", 2, "m101"),)),
    ),
    "and goes on where that was cut": (
        room(1),
        [turn(0, "superseded"), replace(turn(0, "interrupted", 2), supersedes="m101")],
        "",
        Speak((DueTurn(1, "id-0", 3, continues="m102"),)),
    ),
    "a turn that was cut and then completed is over": (
        room(1),
        [turn(0, "interrupted"), turn(0, "completed", 2)],
        "",
        Speak((DueTurn(1, "id-1", 1),)),
    ),
    "in parallel all speak at once": (
        room(1, mode="parallel"),
        [],
        "",
        Speak((DueTurn(1, "id-0", 1), DueTurn(1, "id-1", 1), DueTurn(1, "id-2", 1))),
    ),
    "in parallel only the unfinished go on": (
        room(1, mode="parallel"),
        [turn(0, "interrupted"), turn(1, "completed"), turn(2, "interrupted")],
        "",
        Speak((DueTurn(1, "id-0", 2, continues="m101"), DueTurn(1, "id-2", 2, continues="m121"))),
    ),
    "a round whose turns are finished closes": (room(1), DONE, "", CloseRound(1)),
    "also when it is to pause": (room(1), DONE, "pause", CloseRound(1)),
    "the next round opens": (room(1, 1), DONE, "", OpenRound(2)),
    "no round opens when it is to pause": (room(1, 1), DONE, "unwatched", Pause("unwatched")),
    "nobody speaks when it is to pause": (room(1), DONE[:1], "pause", Pause("pause")),
    "after the last round it is completed": (room(2, 2), [], "", Complete()),
    "also when it is to pause: nothing is left to say": (room(2, 2), [], "pause", Complete()),
    "turns that a dead process left open are closed": (
        room(1, mode="parallel"),
        [turn(0, "completed"), turn(1, "streaming"), turn(2, "streaming")],
        "crash",
        CloseTurns((turn(1, "streaming"), turn(2, "streaming")), "crash"),
    ),
    "with the reason of the pause that was under way": (
        room(1),
        [turn(0, "streaming")],
        "pause",
        CloseTurns((turn(0, "streaming"),), "pause"),
    ),
}


SKIPPING = (replace(AGENTS[0], skip_next=True), *AGENTS[1:])
NEXT, NOW = QueuedMessage("n", "Hm."), QueuedMessage("w", "Stop!", when="now")
TURN = {place: DueTurn(1, f"id-{place}", 1) for place in range(3)}
# (room, attempts, reason to stop, who speaks) → the step
ACTS: dict[str, tuple[ConversationRow, list[TurnRow], str, set[str], Step]] = {
    "a stopped turn is over": (
        room(1),
        [turn(0, "interrupted", reason="stop")],
        "",
        set(),
        Speak((TURN[1],)),
    ),
    "so is one that was skipped while it spoke": (
        room(1),
        [turn(0, "interrupted", reason="skip")],
        "",
        set(),
        Speak((TURN[1],)),
    ),
    "so is one that was passed over": (room(1), [turn(0, "skipped")], "", set(), Speak((TURN[1],))),
    "one that was cut by words is said anew": (
        room(1),
        [turn(0, "interrupted", reason="interject")],
        "",
        set(),
        Speak((DueTurn(1, "id-0", 2),)),
    ),
    "who is to be skipped is": (replace(room(1), agents=SKIPPING), [], "", set(), Skip(TURN[0])),
    "but not while the room is to pause": (
        replace(room(1), agents=SKIPPING),
        [],
        "pause",
        set(),
        Pause("pause"),
    ),
    "words are said before the next turn": (
        replace(room(1), queue=(NEXT, NOW)),
        [],
        "",
        set(),
        Say((NEXT, NOW)),
    ),
    "not while the room is to pause": (replace(room(1), queue=(NEXT,)), [], "pause", set(), Pause("pause")),
    "before the room completes": (replace(room(2, 2), queue=(NEXT,)), [], "", set(), Say((NEXT,))),
    "even when it is to pause": (replace(room(2, 2), queue=(NEXT,)), [], "pause", set(), Say((NEXT,))),
    "while somebody speaks only what is for now": (
        replace(room(1), queue=(NEXT, NOW)),
        [turn(0, "streaming")],
        "",
        {"id-0"},
        Say((NOW,)),
    ),
    "while somebody speaks all wait": (room(1), [turn(0, "streaming")], "", {"id-0"}, Wait()),
    "in parallel who was cut speaks beside the others": (
        room(1, mode="parallel"),
        [turn(0, "streaming"), turn(1, "interrupted", reason="interject"), turn(2, "completed")],
        "",
        {"id-0"},
        Speak((DueTurn(1, "id-1", 2),)),
    ),
    "a turn that is asked for again is said again, first": (
        room(1),
        [replace(turn(1, "completed"), again=True), turn(2, "interrupted")],
        "",
        set(),
        Speak((DueTurn(1, "id-1", 2, "m111"),)),
    ),
    "also after its round is over": (
        room(2, 2),
        [
            *(turn(place, "completed", round_=2) for place in (0, 1)),
            replace(turn(2, "completed", round_=2), again=True),
        ],
        "",
        set(),
        Speak((DueTurn(2, "id-2", 2, "m221"),)),
    ),
    "what is said again is not skipped": (
        replace(room(1), agents=SKIPPING),
        [replace(turn(0, "completed"), again=True)],
        "",
        set(),
        Speak((DueTurn(1, "id-0", 2, "m101"),)),
    ),
    "a failed turn pauses a room that wants it": (
        replace(room(1), on_error="pause"),
        [turn(0, "failed")],
        "",
        set(),
        Pause("error", ("m101",)),
    ),
    "after the others have ended": (
        replace(room(1, mode="parallel"), on_error="pause"),
        [turn(0, "failed"), turn(1, "streaming")],
        "",
        {"id-1"},
        Wait(),
    ),
    "and is said again when the room goes on": (
        replace(room(1), on_error="pause"),
        [replace(turn(0, "failed"), again=True)],
        "",
        set(),
        Speak((DueTurn(1, "id-0", 2, "m101"),)),
    ),
    "or continued, as it was cut off": (
        replace(room(1), on_error="pause"),
        [replace(turn(0, "failed"), to_continue=True)],
        "",
        set(),
        Speak((DueTurn(1, "id-0", 2, "m101", "m101"),)),
    ),
    "a rest that failed pauses it again": (
        replace(room(1), on_error="pause"),
        [turn(0, "failed"), replace(turn(0, "failed", 2), continues="m101")],
        "",
        set(),
        Pause("error", ("m102",)),
    ),
    "one failed turn does not pause a room that goes on": (
        room(1),
        [turn(0, "failed"), turn(1, "failed"), turn(2, "completed")],
        "",
        set(),
        CloseRound(1),
    ),
    "a round in which every turn failed does": (
        room(1, mode="parallel"),
        [turn(0, "failed"), turn(1, "failed"), turn(2, "failed")],
        "",
        set(),
        Pause("error", ("m101", "m111", "m121")),
    ),
    "also when the others were skipped": (
        room(1),
        [turn(0, "skipped"), turn(1, "failed"), turn(2, "skipped")],
        "",
        set(),
        Pause("error", ("m111",)),
    ),
    "not when nobody was asked": (
        room(1),
        [turn(0, "skipped"), turn(1, "skipped"), turn(2, "skipped")],
        "",
        set(),
        CloseRound(1),
    ),
    "its turns are tried again when the room goes on": (
        room(1),
        [replace(turn(place, "failed"), again=True) for place in range(3)],
        "",
        set(),
        Speak((DueTurn(1, "id-0", 2, "m101"),)),
    ),
    "an agent that was taken out is not waited for": (
        replace(room(1), agents=AGENTS[1:]),
        [turn(0, "interrupted")],
        "",
        set(),
        Speak((TURN[1],)),
    ),
    "agents speak in their order of now": (
        replace(room(1), agents=AGENTS[::-1]),
        [turn(0, "completed")],
        "",
        set(),
        Speak((TURN[2],)),
    ),
}


FIVE = tuple(
    AgentInfo(f"id-{place}", "ABCDE"[place], turn_order=place, provider_id="dead" if place != 1 else "well")
    for place in range(5)
)
ALONE = (replace(FIVE[0], name="A"), replace(FIVE[1], name="B"))


def in_order(*rows: TurnRow, after: int = 1) -> list[TurnRow]:
    """Return attempts that began in this order, the first one after the event ``after``."""
    return [replace(row, first_seq=after + place) for place, row in enumerate(rows, 1)]


# (room, attempts, the step)
PROVIDERS: dict[str, tuple[ConversationRow, list[TurnRow], Step]] = {
    "two failures of one provider are not enough": (
        replace(room(1), agents=FIVE),
        in_order(turn(0, "failed"), turn(1, "completed"), turn(2, "failed")),
        Speak((DueTurn(1, "id-3", 1),)),
    ),
    "three in a row are, whoever spoke between them": (
        replace(room(1), agents=FIVE),
        in_order(turn(0, "failed"), turn(1, "completed"), turn(2, "failed"), turn(3, "failed")),
        Pause("error", ("m101", "m121", "m131")),
    ),
    "not when the provider answered once": (
        replace(room(1), agents=FIVE),
        in_order(turn(0, "failed"), turn(2, "completed"), turn(1, "failed"), turn(3, "failed")),
        Speak((DueTurn(1, "id-4", 1),)),
    ),
    "one agent fails in three rounds": (
        replace(room(3, 2), agents=ALONE, max_rounds=9),
        in_order(
            *(
                turn(place, end, round_=round_)
                for round_ in (1, 2)
                for place, end in enumerate(("failed", "completed"))
            ),
            turn(0, "failed", round_=3),
        ),
        Pause("error", ("m301",)),
    ),
    "failures before the room was resumed do not count": (
        replace(room(3, 2), agents=ALONE, max_rounds=9, run_seq=6),
        in_order(
            *(
                turn(place, end, round_=round_)
                for round_ in (1, 2)
                for place, end in enumerate(("failed", "completed"))
            ),
            replace(turn(0, "superseded", round_=3)),
        )
        + in_order(turn(0, "failed", 2, round_=3), after=6),
        Speak((DueTurn(3, "id-1", 1),)),
    ),
    "in a parallel room only a whole round counts": (
        replace(room(1, mode="parallel"), agents=FIVE),
        in_order(*(turn(place, "completed" if place == 1 else "failed") for place in range(5))),
        CloseRound(1),
    ),
}


@pytest.mark.parametrize("case", PROVIDERS)
def test_a_sequential_room_pauses_when_a_provider_failed_three_times_in_a_row(case: str) -> None:
    stored, turns, step = PROVIDERS[case]
    assert plan(stored, turns, "") == step


@pytest.mark.parametrize("case", ACTS)
def test_what_people_did_decides_who_speaks_next(case: str) -> None:
    stored, turns, cut, speaking, step = ACTS[case]
    assert plan(stored, turns, cut, speaking) == step


@pytest.mark.parametrize("case", CASES)
def test_the_next_step_follows_from_the_rows(case: str) -> None:
    stored, turns, cut, step = CASES[case]
    assert plan(stored, turns, cut) == step


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
def test_carrying_out_step_after_step_speaks_every_turn_once_and_ends(mode: str) -> None:
    stored, turns, spoken = room(mode=mode), list[TurnRow](), list[tuple[int, str]]()
    for _ in range(100):
        match plan(stored, turns, ""):
            case OpenRound(round_):
                stored, turns = replace(stored, round_open=round_), []
            case Speak(due):
                spoken += [(turn_.round, turn_.agent_id) for turn_ in due]
                turns += [
                    TurnRow(turn_.round, turn_.agent_id, 1, turn_.agent_id, "completed") for turn_ in due
                ]
            case CloseRound(round_):
                stored = replace(stored, round_done=round_)
            case Complete():
                break
            case step:
                pytest.fail(f"unexpected {step}")
    assert spoken == [(round_, f"id-{place}") for round_ in (1, 2) for place in range(3)]


@pytest.mark.parametrize(
    ("rows", "speaking", "step"),
    [
        ([turn(0, "streaming")], {"id-0"}, Wait()),
        ([turn(0, "completed")], {"id-0"}, Wait()),  # its end is on record, its task is not gathered yet
        ([turn(0, "streaming")], set(), CloseTurns((turn(0, "streaming"),), "crash")),
        ([turn(0, "interrupted", reason="crash")], set(), Rest()),
        ([turn(0, "completed")], set(), Rest()),
        ([], set(), Rest()),
    ],
)
def test_a_chat_waits_for_its_answer_and_then_rests(
    rows: list[TurnRow], speaking: set[str], step: Step
) -> None:
    assert plan_answer(replace(ROOM, kind="chat"), rows, "", speaking) == step
