from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.model.inert import inert
from tests.widgets.drawing import drawn, shown
from widgets.ink import ADDED, CODE, FENCE, LINK, MARK, REMOVED, STRONG, text_of
from widgets.transcript.step_body import (
    MAX_LINES,
    diff_body,
    escaped,
    fenced,
    result_body,
    step_body,
    step_head,
)
from widgets.units import duration, size, tokens

NASTY = st.text(alphabet=st.sampled_from("`~|\\*_[]()<>#-+=\n\t \x1b\u200b\u2028\x85ab1:/漢"), max_size=80)


class StepText(NamedTuple):
    title: str
    summary: str
    body: str


def step_text(kind: str, **fields: Any) -> StepText:
    """Return all that a step of these ``fields`` shows."""
    names = "arguments", "content", "result", "success", "limit"
    body = {name: fields[name] for name in names if name in fields}
    head = {name: value for name, value in fields.items() if name != "limit"}
    return StepText(*step_head(kind, **head), step_body(kind, **body))


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0, "0 ms"),
        (0.0031, "3 ms"),
        (0.9996, "1.0 s"),
        (1.24, "1.2 s"),
        (9.96, "10 s"),
        (59.6, "1 min"),
        (125, "2 min 5 s"),
        (3_780, "1 h 3 min"),
        (float("nan"), "0 ms"),
        (-1, "0 ms"),
    ],
)
def test_durations_are_said_in_a_persons_units(seconds: float, expected: str) -> None:
    assert duration(seconds) == expected


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, "0 B"), (999, "999 B"), (1_234, "1.2 kB"), (34_400, "34 kB"), (999_600, "1.0 MB"), (-1, "0 B")],
)
def test_sizes_are_said_in_a_persons_units(count: int, expected: str) -> None:
    assert size(count) == expected


def test_a_call_says_what_it_is_about_and_how_it_went() -> None:
    arguments = json.dumps({"path": "Makefile"})
    step = step_text("tool_call", name="read_file", arguments=arguments, result="x" * 1_234, seconds=0.003)
    assert (step.title, step.summary) == ("read_file  Makefile", "3 ms · 1.2 kB")
    assert step.body == "```\n" + "x" * 1_234 + "\n```"


def test_a_search_says_for_what_and_where() -> None:
    arguments = json.dumps({"pattern": "clean", "glob": "*.mk"})
    step = step_text("tool_call", name="search", arguments=arguments, result="a.mk:1: clean")
    assert step.title == 'search  "clean" in *.mk'
    assert shown(step.body) == ["│ a.mk:1: clean"]


@pytest.mark.parametrize(
    ("command", "title", "body"),
    [
        ("echo safe" + "\n" * 54 + "touch X", "echo safe⏎×54touch X", "⏎×54"),
        ("echo a\rrm -rf /", "echo a␍rm -rf /", "\\r"),
        ("echo a\n\rrm -rf /", "echo a⏎␍rm -rf /", "␍rm"),
        ("echo \u200b\u202ex", "echo <U+200B><U+202E>x", "<U+202E>"),
        ("echo" + " " * 500 + "; rm", "echo␣×500; rm", "␣×500"),
    ],
)
def test_nothing_that_a_call_would_do_is_hidden_in_its_row(command: str, title: str, body: str) -> None:
    step = step_text("tool_call", name="run_command", arguments=json.dumps({"command": command}), result="")
    assert step.title == f"run_command  {title}"
    assert body in step.body


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a/" * 40},
        {"path": "a", "limit": 3},
        {"pattern": "a", "path": "b/" * 40},
        {"path": "a\nb"},
        {"n": 1},
    ],
)
def test_what_the_head_row_says_only_in_part_stands_in_the_body_too(arguments: dict[str, object]) -> None:
    body = step_text("tool_call", name="x", arguments=json.dumps(arguments), result="done").body
    assert all(f"{name}:" in body for name in arguments)


def test_arguments_that_the_head_row_does_not_say_stand_in_the_body() -> None:
    arguments = json.dumps({"path": "a", "content": "one\ntwo"})
    step = step_text("tool_call", name="write_file", arguments=arguments, result="done")
    assert shown(step.body) == [
        "│ path: \"a\"", "│ content:", "│   one", "│   two", "", "│ done",
    ]  # fmt: skip


@pytest.mark.parametrize("end", range(40))
def test_at_every_moment_of_its_arguments_a_call_can_be_drawn(end: int) -> None:
    whole = json.dumps({"path": "Makefile", "content": "a\n```\nb"})
    step = step_text("tool_call", name="write_file", arguments=whole[:end])
    assert step.title.startswith("write_file")
    assert all(row.startswith("│ ") for row in shown(step.body))


@pytest.mark.parametrize(
    ("result", "why"),
    [
        ('{"success": false, "error": "no such file: a\\nlook"}', "no such file: a look"),
        ('{"success": false, "exit_code": 2, "output": ""}', "exit 2"),
        ('{"success": false}', "failed"),
        ("it broke", "it broke"),
        ("", "failed"),
    ],
)
def test_a_failure_says_why_in_its_head_row(result: str, why: str) -> None:
    assert (
        step_text("tool_call", name="x", result=result, success=False, seconds=1).summary == f"{why} · 1.0 s"
    )


def test_thinking_is_shown_as_it_was_written() -> None:
    step = step_text("thinking", content="\n## **The** Makefile\n\n- probably", seconds=4.2)
    assert step == ("thinking  The Makefile", "4.2 s", "\n## **The** Makefile\n\n- probably")


def test_a_step_of_an_unknown_kind_shows_what_it_holds() -> None:
    assert step_text("citation", name="a", content="b").body == "```\nb\n```"
    assert step_text("", content="").title == "step"


def test_a_list_of_like_objects_is_a_table() -> None:
    step = step_text(
        "tool_call",
        name="list",
        result=json.dumps([{"name": "a|b", "size": 1}, {"name": "*c*", "size": None}]),
    )
    assert step.summary == "2 rows"
    assert shown(step.body) == ["name │ size", "─────┼─────", "a|b  │ 1", "*c*  │ null"]


def test_other_json_is_indented() -> None:
    assert shown(result_body('[1, {"a": []}]'))[1:] == [
        "│ [", "│   1,", "│   {", '│     "a": []', "│   }", "│ ]",
    ]  # fmt: skip


def test_an_object_is_read_name_by_name_and_its_text_line_by_line() -> None:
    for output in ("one\ntwo", "one\ntwo\n"):  # as programs end their output
        result = json.dumps({"success": True, "exit_code": 0, "output": output})
        assert shown(result_body(result)) == ["│ exit_code: 0", "│ output:", "│   one", "│   two"]
    assert shown(result_body('{"success": false, "error": "no"}')) == ["│ no"]


def test_a_diff_is_coloured_as_one() -> None:
    rows = drawn([result_body("--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n")])
    inks = {text_of(row): row[-1][1] for row in rows}
    assert inks["│   1 -old"] & REMOVED
    assert inks["│   1 +new"] & ADDED


def test_a_diff_names_its_file_only_where_the_heading_does_not() -> None:
    change = "@@ -1 +1 @@\n-old\n+new"
    named = f"--- a/src/a.py\n+++ b/src/a.py\n{change}"
    told = step_text("tool_call", name="patch_file", arguments='{"path": "src/a.py"}', result=named)
    assert told.title == "patch_file  src/a.py"
    assert shown(told.body) == ["│   1 -old", "│   1 +new"]
    other = step_text("tool_call", name="run_command", arguments='{"command": "git diff"}', result=named)
    assert shown(other.body)[:2] == ["│ --- a/src/a.py", "│ +++ b/src/a.py"]
    assert len(shown(diff_body(named, "patch_file other-src/a.py"))) == 4
    assert len(shown(diff_body(named, "patch_file /srv/work/src/a.py, a link"))) == 2
    removed = f"--- a/old.py\n+++ /dev/null\n{change}"
    assert shown(diff_body(removed, "rm old.py")) == ["│   1 -old", "│   1 +new"]
    two = f"{named}\n--- a/b.py\n+++ b/b.py\n{change}"
    assert len(shown(diff_body(two, "src/a.py, b.py"))) == 8  # which of them was changed how


def test_long_results_end_with_how_much_is_missing() -> None:
    text = "\n".join(f"line {number}" for number in range(MAX_LINES + 1_234))
    rows = shown(result_body(text))
    assert rows[-1] == "… 1,234 more lines"
    assert rows[-3] == f"│ line {MAX_LINES - 1}"
    whole = step_text("tool_call", name="x", result=text, limit=None)
    assert len(shown(whole.body)) == MAX_LINES + 1_234


def test_a_long_failure_is_shown_from_its_beginning_and_to_its_end() -> None:
    lines = [f"line {number}" for number in range(MAX_LINES + 308)]
    result = json.dumps({"success": False, "exit_code": 1, "output": "\n".join(lines)})
    for kind in ("tool_call", "tool_result"):
        rows = shown(step_text(kind, name="run_command", result=result, success=False).body)
        assert "exit_code" in rows[0]
        assert "line 507" in rows[-1]
        assert rows[20:23] == ["", "… 310 more lines", ""]
        assert len(rows) == MAX_LINES + 3
    endless = step_text("tool_result", content="x" * 50_000 + "the end", success=False)
    assert shown(endless.body, 200)[-1].endswith("the end")
    assert any("30 kB more" in row for row in shown(endless.body, 200))


def test_one_endless_line_is_cut_too() -> None:
    assert shown(result_body("x" * 50_000))[-1] == "… 30 kB more"


def test_a_long_table_ends_with_how_many_rows_are_missing() -> None:
    body = result_body(json.dumps([{"a": number} for number in range(MAX_LINES + 1)]))
    assert shown(body)[-1] == "… 1 more row"


def test_a_table_without_a_limit_has_each_cell_whole() -> None:
    words = "many words " * 30
    table = result_body(json.dumps([{"a": words, "b": 1}]), None)
    assert words.strip() in table


def test_nothing_is_said_to_be_nothing() -> None:
    assert shown(result_body("")) == ["nothing"]
    assert shown(result_body("\n \n")) == ["nothing"]


@pytest.mark.parametrize(
    "text", ["```\n# x", "a\n  `````\n**b**", "~~~\nx", "``\u200b`\n- x", "```py\u2028```\n> x"]
)
def test_a_fence_is_longer_than_those_within(text: str) -> None:
    rows = shown(fenced(text) + "\n\nafter")
    assert rows[-2:] == ["", "after"]
    assert [row[2:] for row in rows[:-2]] == inert(text).split("\n")


@given(NASTY)
def test_nothing_in_a_result_gets_out_of_its_fence(text: str) -> None:
    rows = drawn([fenced(text, limit=None) + "\n\nafter"], 400)
    assert text_of(rows[-1]) == "after"
    if inert(text).strip("\n").strip():
        assert all(row[0][1] & FENCE and row[0][1] & MARK for row in rows[:-2])
        lines = [text_of(row)[2:].rstrip() for row in rows[:-2]]
        assert len(lines) == len(inert(text).strip("\n").split("\n"))


@given(NASTY)
def test_nothing_in_a_table_is_taken_for_markup(text: str) -> None:
    word = re.sub(r"\s+", " ", inert(text)).strip()
    body = result_body(json.dumps([{"a": text.replace("\n", " "), "b": 1}]))
    rows = drawn([body], 400)
    assert len(rows) == 3
    assert not any(ink & (LINK | CODE | STRONG) for _, ink in rows[-1])
    assert text_of(rows[-1]).startswith(word[:100])


@given(NASTY)
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    line = re.sub(r"\s+", " ", inert(text)).strip()
    assert "".join(shown("x" + escaped(line), 400)) == "x" + line


@given(
    NASTY,
    NASTY,
    NASTY,
    st.sampled_from(["thinking", "text", "tool_call", "tool_result", "odd"]),
    st.booleans(),
)
def test_whatever_comes_a_step_is_a_title_and_markdown(
    name: str, arguments: str, result: str, kind: str, success: bool
) -> None:
    step = step_text(
        kind, name=name, arguments=arguments, content=arguments, result=result, success=success, seconds=1
    )
    assert "\n" not in step.title
    assert "\n" not in step.summary
    assert inert(step.title) == step.title


def test_names_in_the_first_words_of_a_thought_keep_their_underscores() -> None:
    text = step_text("thinking", content="**So** `current_time` of _a_ place")
    assert text.title == "thinking  So current_time of a place"


@pytest.mark.parametrize(
    ("thought", "words"),
    [
        ("17 * 23 + 4, that is for the calculator", "17 * 23 + 4, that is for the calculator"),
        ("17*23 is 391", "17*23 is 391"),
        ("- all of *.mk and *.py", "all of *.mk and *.py"),
        ("-5 is below zero", "-5 is below zero"),
        ("---\n\n***\n> **`init`** and *a* ***b***", "init and a b"),
        ("a ** b, __name__ and `a_b * c`", "a ** b, __name__ and a_b * c"),
        ("**So it begins", "**So it begins"),
        ("…", ""),
    ],
)
def test_signs_that_are_no_markup_stay_in_the_first_words_of_a_thought(thought: str, words: str) -> None:
    assert step_text("thinking", content=thought).title == f"thinking  {words}".rstrip()


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1_000, "1k"),
        (1_250, "1.2k"),
        (19_500, "20k"),
        (999_499, "999k"),
        (1_050_000, "1.05M"),
    ],
)
def test_tokens_are_short(count: int, text: str) -> None:
    assert tokens(count) == text


def test_an_edit_says_how_many_lines_it_changed() -> None:
    result = "src/main.py: +12 -3 lines, 1,024 bytes now"
    assert step_text("tool_call", name="patch_file", result=result, seconds=0.009).summary == "9 ms · +12 −3"
    assert step_text("tool_call", name="other", result=result, seconds=0.009).summary == "9 ms · 42 B"


def test_a_short_failure_is_said_in_the_head_row_alone() -> None:
    def denied(why: str) -> StepText:
        result = json.dumps({"success": False, "error": why})
        return step_text("tool_call", arguments='{"command": "ls"}', result=result, success=False)

    short, longer = denied("denied by the user"), denied("denied by the user: not in this folder, please")
    assert (short.summary, short.body) == ("denied by the user", "")
    assert "not in this folder" in longer.body
