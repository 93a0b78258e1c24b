"""However a model cuts its answer into pieces, the log and the rows say the same, and nothing is lost."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.engine.answer.call import Heard
from agent_tui.backend.engine.answer.steps import MAX_CALLS, StepLog
from agent_tui.backend.engine.context.history import NO_RESULT, step_messages
from agent_tui.backend.engine.written import MAX_PIECE_CHARACTERS, ChangeSet
from agent_tui.backend.models.model import CallPiece, TextPiece, ThinkingPiece
from agent_tui.backend.store.rows import StepPut
from agent_tui.model.errors import ModelError
from agent_tui.model.events import Step, StepAdded, StepSet

words = st.text(max_size=6)
calls = st.builds(CallPiece, st.integers(0, 3), st.sampled_from(["", "a", "b"]), st.just(""), words)
named = st.builds(
    CallPiece, st.integers(0, 3), st.sampled_from(["", "a"]), st.sampled_from(["f", "g"]), words
)
pieces = st.one_of(st.builds(TextPiece, words), st.builds(ThinkingPiece, words), calls, named)


def heard(batches: list[list[Heard]]) -> tuple[StepLog, ChangeSet, list[Step]]:
    """Return what becomes of pieces that are taken so, all of it written."""
    steps, written = StepLog("m", "now"), ChangeSet()
    for batch in batches:
        steps.hear(batch, written)
    steps.close_words(written)
    made = steps.close_calls(written)
    for call in made:
        steps.put_call(call, "running", None, written)
    return steps, written, made


def logged(written: ChangeSet) -> dict[str, tuple[str, str]]:
    """Return (content, arguments) of each step as the events add them up."""
    content: dict[str, str] = defaultdict(str)
    arguments: dict[str, str] = defaultdict(str)
    for new in written.events:
        match new.event:
            case StepSet(_, step):
                content[step.id], arguments[step.id] = step.content, step.arguments
            case StepAdded(_, step_id, more, more_arguments):
                content[step_id] += more
                arguments[step_id] += more_arguments
            case _:
                pass
    return {id_: (content[id_], arguments[id_]) for id_ in content}


@given(st.lists(st.lists(pieces, max_size=8), max_size=5))
def test_the_log_and_the_rows_hold_what_was_heard(batches: list[list[Heard]]) -> None:
    _, written, made = heard(batches)
    rows = {change.step.id: change.step for change in written.changes if isinstance(change, StepPut)}
    assert {id_: (step.content, step.arguments) for id_, step in rows.items()} == logged(written)
    told = [new.event.step for new in written.events if isinstance(new.event, StepSet)]
    for step in made:  # each call is told of twice: as it begins, and once it is whole
        assert [one.arguments for one in told if one.id == step.id] == ["", step.arguments]
    assert sorted(rows, key=lambda id_: int(id_[5:])) == [f"step-{number}" for number in range(len(rows))]
    for kind, type_ in ((TextPiece, "text"), (ThinkingPiece, "thinking")):
        said = "".join(piece.text for batch in batches for piece in batch if isinstance(piece, kind))
        in_order = sorted((step for step in rows.values() if step.type == type_), key=lambda step: step.index)
        assert "".join(step.content for step in in_order) == said
    asked: dict[int, tuple[str, str]] = defaultdict(lambda: ("", ""))
    for batch in batches:
        for piece in batch:
            if isinstance(piece, CallPiece):
                name, arguments = asked[piece.index]
                asked[piece.index] = name + piece.name, arguments + piece.arguments
    assert sorted((step.name, step.arguments) for step in made) == sorted(asked.values())
    assert all(rows[step.id].name == step.name for step in made)
    assert len({step.id_ref for step in made}) == len(made)


@given(st.data())
def test_arguments_that_come_byte_by_byte_are_whole_in_the_end(data: st.DataObject) -> None:
    texts = ['{"path": "Über/文件.txt"}', '{"n": [1, 2, {"deep": null}]}']
    left = [list(text) for text in texts]
    stream: list[Heard] = [CallPiece(index, f"c{index}", "f", "") for index in (0, 1)]
    while any(left):
        index = data.draw(st.sampled_from([number for number, rest in enumerate(left) if rest]))
        stream.append(CallPiece(index, "", "", left[index].pop(0)))
    cut = data.draw(st.integers(0, len(stream)))
    _, _, made = heard([stream[:cut], stream[cut:]])
    assert [step.arguments for step in made] == texts


def test_long_words_become_several_events_and_one_row() -> None:
    _, written, _ = heard([[TextPiece("x" * (2 * MAX_PIECE_CHARACTERS + 1))]])
    assert [event.name for event in written.events] == ["step_set", *["step_added"] * 3]
    assert len(written.changes) == 1


def test_a_model_that_calls_without_end_is_stopped() -> None:
    with pytest.raises(ModelError, match="called more than"):
        heard([[CallPiece(number, "", "f", "") for number in range(MAX_CALLS + 1)]])


def test_a_call_without_a_result_is_told_as_unknown() -> None:
    steps = (
        Step("step-0", 0, "thinking", "secret"),
        Step("step-1", 1, "text", "I look."),
        Step("step-2", 2, "tool_call", name="f", arguments="{}", id_ref="a"),
        Step("step-3", 3, "tool_call", name="g", arguments="{}", id_ref="b"),
        Step("step-4", 4, "tool_result", "found", name="g", id_ref="step-3"),
        Step("step-5", 5, "text", "So."),
    )
    told = step_messages(steps)
    assert [(one.role, one.content, one.call_id) for one in told] == [
        ("assistant", "I look.", ""),
        ("tool", NO_RESULT, "a"),
        ("tool", "found", "b"),
        ("assistant", "So.", ""),
    ]
    assert [call.id for call in told[0].calls] == ["a", "b"]
