"""The three output formats of a run."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model import events as ev
from agent_tui.state.conversation import ConversationState
from agent_tui.state.steps import Steps
from tui.cli import output
from tui.cli.headless.formats import (
    Ending,
    Record,
    TextFormat,
    as_told,
    end_data,
    event_data,
    format_named,
)
from tui.cli.headless.telling import Telling
from tui.cli.output import json_line, table

ESC = "\x1b"


def telling() -> Telling:
    return Telling(TextFormat(has_names=True), ConversationState(ev.RoomInfo("r")))


def text_of(capsys: pytest.CaptureFixture[str], *events: ev.Event) -> str:
    room = telling()
    for event in events:
        room.take(event)
    room.form.end(Ending("completed"), "", Record())
    return capsys.readouterr().out


def started(turn_id: str, name: str) -> ev.TurnStarted:
    return ev.TurnStarted(turn_id, "r", "assistant", name, "", 1, name)


def test_a_name_stands_before_its_words(capsys: pytest.CaptureFixture[str]) -> None:
    out = text_of(
        capsys,
        started("a", "Ada"),
        ev.TextAdded("a", "one "),
        ev.TextAdded("a", "two"),
        ev.TurnEnded("a", "one two", 1),
        started("b", "Bo"),
        ev.TextAdded("b", "three\n"),
        ev.TurnEnded("b", "three\n", 1),
    )
    assert out == "Ada:\none two\n\nBo:\nthree\n"


def test_words_are_written_as_they_come(capsys: pytest.CaptureFixture[str]) -> None:
    room = telling()
    room.take(started("a", "Ada"))
    assert capsys.readouterr().out == ""
    room.take(ev.TextAdded("a", "one "))
    assert capsys.readouterr().out == "Ada:\none "
    room.take(ev.TextAdded("a", "two"))
    assert capsys.readouterr().out == "two"


def test_words_of_agents_who_speak_at_once_are_not_mixed(capsys: pytest.CaptureFixture[str]) -> None:
    out = text_of(
        capsys,
        started("a", "Ada"),
        started("b", "Bo"),
        started("c", "Cy"),
        ev.TextAdded("b", "b1 "),
        ev.TextAdded("a", "a1 "),
        ev.TextAdded("c", "c1"),
        ev.TurnEnded("c", "c1", 1),
        ev.TextAdded("b", "b2"),
        ev.TurnEnded("b", "b1 b2", 1),
        ev.TextAdded("a", "a2"),
        ev.TurnEnded("a", "a1 a2", 1),
    )
    assert out == "Bo:\nb1 b2\n\nCy:\nc1\n\nAda:\na1 a2\n"


def test_what_was_still_open_at_the_end_is_written(capsys: pytest.CaptureFixture[str]) -> None:
    out = text_of(
        capsys, started("a", "Ada"), started("b", "Bo"), ev.TextAdded("a", "x"), ev.TextAdded("b", "y")
    )
    assert out == "Ada:\nx\n\nBo:\ny\n"


def test_a_turn_that_said_nothing_leaves_no_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert text_of(capsys, started("a", "Ada"), ev.TurnFailed("no", "Ada", "Ada")) == ""


def test_a_repaired_text_is_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    out = text_of(
        capsys, started("a", "Ada"), ev.TextAdded("a", "wrong"), ev.TextAdded("a", "!", "right from here!")
    )
    assert out == "Ada:\nwrong\n\nright from here!\n"


def test_hostile_words_and_names_are_inert(capsys: pytest.CaptureFixture[str]) -> None:
    out = text_of(
        capsys,
        started("a", f"A{ESC}[31m\nda\u202e"),
        ev.TextAdded("a", f"{ESC}]52;c;aGk=\x07\x9b\u202e\ud800\r\x7f"),
    )
    assert not set(out) & set("\x1b\x07\x9b\u202e\ud800\r\x7f")
    assert out.startswith("A␛[31m da")


def test_what_continues_a_message_is_written_under_its_name_and_is_part_of_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    room = telling()
    for event in (
        started("a", "Ada"),
        ev.TextAdded("a", "So far"),
        ev.TurnEnded("a", "So far", 1, interrupted="length"),
        started("b", "Bo"),
        ev.TurnEnded("b", "Well.", 1),
        ev.TurnStarted("c", "r", "assistant", "Ada", "", 1, "Ada", 2, continues="a"),
        ev.TextAdded("c", " and on."),
    ):
        room.take(event)
    room.form.end(Ending("completed"), "", Record())
    assert capsys.readouterr().out == "Ada:\nSo far\n\nBo:\nWell.\n\nAda:\n and on.\n"
    assert room.state.whole_text() == "So far and on.\n\nWell."


def test_words_that_look_like_json_stay_as_they_came(capsys: pytest.CaptureFixture[str]) -> None:
    words = '{"text": "not the text"}'
    said = (started("a", "Ada"), ev.TextAdded("a", words), ev.TurnEnded("a", "not the text", 1))
    assert text_of(capsys, *said) == f"Ada:\n{words}\n"


SPEAKERS = ("Ada", "Bo", "Cy")


@given(st.lists(st.tuples(st.sampled_from(SPEAKERS), st.integers(0, 3)), max_size=30))
def test_however_agents_take_turns_every_word_is_written_under_its_name(
    steps: list[tuple[str, int]],
) -> None:
    room = telling()
    written: list[str] = []
    said = dict.fromkeys(SPEAKERS, "")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(output, "write", written.append)
        for number, (name, length) in enumerate(steps):
            room.take(started(name, name))
            word = f"{name.lower()}{number}," * length
            room.take(ev.TextAdded(name, word))
            said[name] += word
        room.form.end(Ending("completed"), "", Record())
    blocks = [block for block in "".join(written).split("\n\n") if block]
    assert {block.split(":\n")[0]: block.split(":\n")[1].rstrip("\n") for block in blocks} == {
        name: words for name, words in said.items() if words
    }


# --- json ------------------------------------------------------------------------------------------------


def test_a_line_is_the_event_as_on_the_wire(capsys: pytest.CaptureFixture[str]) -> None:
    form = format_named("stream-json")
    form.frame("7", "message_chunk", '{"id":"a","content":"x","accumulated":"xx","more":[1]}')
    form.frame("", "room_started", '{"room_id":"r"}')
    form.end(Ending("paused", "pause"), "", Record())
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        {"id": "7", "event": "message_chunk", "data": {"id": "a", "content": "x", "more": [1]}},
        {"id": None, "event": "room_started", "data": {"room_id": "r"}},
        {"id": None, "event": "end", "data": {"reason": "paused", "text": "", "detail": "pause"}},
    ]


def test_the_json_object_has_the_room_and_the_messages(capsys: pytest.CaptureFixture[str]) -> None:
    form = format_named("json")
    form.frame("1", "message", '{"id":"streamed"}')
    form.end(Ending("completed"), "", Record({"room": {"id": "r"}}, [{"id": "m"}]))
    value = json.loads(capsys.readouterr().out)
    assert (value["reason"], value["detail"], value["text"]) == ("completed", None, "")
    assert (value["room"], value["messages"]) == ({"id": "r"}, [{"id": "m"}])


def test_a_server_without_a_record_gives_the_messages_it_streamed(capsys: pytest.CaptureFixture[str]) -> None:
    form = format_named("json")
    form.frame("", "message", '{"id":"streamed"}')
    form.end(Ending("completed"), "", Record({"room": {"id": "r"}}))
    assert json.loads(capsys.readouterr().out)["messages"] == [{"id": "streamed"}]


@pytest.mark.parametrize("data", ["", "no json", "[1]", "3", '"text"', "[" * 100_000])
def test_data_that_is_no_object_is_kept_raw(data: str) -> None:
    value = event_data(data)
    assert isinstance(value, dict)
    assert set(value) == {"raw"}


def test_a_line_of_json_is_harmless_and_means_the_same() -> None:
    value = {"a": f"{ESC}[31m\x7f\x9b\u202e\u2028\r\n\U000e0041", "名": "会话"}
    line = json_line(value)
    assert line.isprintable()
    assert "会话" in line
    assert json.loads(line) == value


def test_lone_surrogates_become_replacement_characters() -> None:
    assert json.loads(json_line(json.loads('{"a":"\\ud800x\\udfff","b":"\\ud83d\\ude00"}'))) == {
        "a": "\ufffdx\ufffd",
        "b": "😀",
    }


def test_numbers_that_json_does_not_know_become_null() -> None:
    assert json_line(json.loads("[1e999, NaN, -Infinity, 1.5]")) == "[null,null,null,1.5]"


@given(st.text())
def test_any_text_survives_a_line_of_json(text: str) -> None:
    line = json_line(text)
    assert "\n" not in line
    assert json.loads(line) == text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") or any(
        "\ud800" <= char <= "\udfff" for char in text
    )


@pytest.mark.parametrize(
    ("ending", "code"),
    [
        (Ending("completed"), 0),
        (Ending("paused"), 3),
        (Ending("interrupted"), 3),
        (Ending("error", "x"), 4),
        (Ending("lost", "x"), 4),
        (Ending("timeout", "x"), 4),
        (Ending("lost", "x", gave_up=True), 5),
        (Ending("busy", "x"), 6),
        (Ending("refused", "x"), 6),
    ],
)
def test_every_reason_has_its_exit_code(ending: Ending, code: int) -> None:
    assert ending.code == code
    assert set(end_data(ending, "")) == {"reason", "text", "detail"}


def test_columns_are_aligned_by_cells() -> None:
    assert table([("a", "会话", "x"), ("bbb", "ab", f"y{ESC}")]) == "a    会话  x\nbbb  ab    y␛"


def test_a_result_names_its_call_also_where_a_server_uses_one_id_for_two_steps() -> None:
    steps = Steps()
    for step in (
        ev.Step("step-0", 0, "thinking", "Hm"),
        ev.Step("step-0", 0, "tool_call", name="sum", arguments="{}"),
        ev.Step("step-1", 1, "tool_result", "2", id_ref="step-0"),
    ):
        steps.apply(ev.StepSet("t", step))
    thought, call, result = map(as_told, steps.all.values())
    assert result.id_ref == call.id != thought.id
