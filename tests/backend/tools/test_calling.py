"""One call: whatever the model writes and whatever the tool does, a result that both can read."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from agent_tui.backend.models.model import ToolSpec
from agent_tui.backend.tools.calling import MAX_ARGUMENT_CHARACTERS
from agent_tui.backend.tools.schema import checkable
from agent_tui.backend.tools.texts import MAX_OUTPUT_CHARACTERS, Spool, cut, structure
from agent_tui.backend.tools.tool import Permission, ToolError, ToolOutput, ToolPlace
from agent_tui.model.events import ToolAsk
from agent_tui.wire.content import content_success
from tests.backend.tools.calls import run_text

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "lines": {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
    },
    "required": ["path"],
    "additionalProperties": False,
}


class ScriptedTool:
    """A tool that does what a test says."""

    permission: Permission = "read"
    changes = False

    def __init__(
        self,
        does: Callable[[Mapping[str, Any]], Awaitable[ToolOutput]],
        schema: Mapping[str, Any] = SCHEMA,
        seconds: float = 60.0,
    ) -> None:
        self.spec = ToolSpec("scripted", "does what a test says", schema)
        self.seconds = seconds
        self._does = does

    def ask(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolAsk:
        return ToolAsk("scripted")

    async def run(self, arguments: Mapping[str, Any], place: ToolPlace) -> ToolOutput:
        return await self._does(arguments)


async def says_path(arguments: Mapping[str, Any]) -> ToolOutput:
    return ToolOutput(arguments["path"])


async def run(text: str, tool: ScriptedTool | None = None) -> ToolOutput:
    return await run_text(tool or ScriptedTool(says_path), text, ToolPlace())


def error_of(output: ToolOutput) -> str:
    said = json.loads(output.content)
    assert said["success"] is False
    assert output.success is False
    return str(said["error"])


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "'path' is a required property"),
        ("{", "not valid JSON"),
        ('{"path": "a"', "not valid JSON"),
        ('{"path": NaN}', "not valid JSON"),
        ("[1]", "must be a JSON object"),
        ("null", "must be a JSON object"),
        ('"text"', "must be a JSON object"),
        ('{"path": 1}', "path: 1 is not of type 'string'"),
        ('{"path": "a", "lines": [1, "x"]}', "lines.1: 'x' is not of type 'integer'"),
        ('{"path": "a", "lines": [1, 2, 3, 4]}', "lines: [1, 2, 3, 4] is too long"),
        ('{"path": "a", "more": 1}', "'more' was unexpected"),
        ("[" * 100_000, "not valid JSON"),
        ('{"path": ' + "[" * 5_000 + "]" * 5_000 + "}", ""),
        ('{"path": "' + "x" * MAX_ARGUMENT_CHARACTERS + '"}', "more than 2,000,000 characters"),
    ],
)
async def test_arguments_that_do_not_fit_say_what_to_mend(text: str, why: str) -> None:
    said = error_of(await run(text))
    assert why in said
    assert len(said) < 2_000
    if "do not fit" in said:
        assert said.endswith("scripted takes path, lines")


async def test_a_complaint_for_every_item_of_a_long_list_is_not_looked_for() -> None:
    started = time.process_time()
    said = error_of(await run(json.dumps({"path": "a", "lines": ["x"] * 150_000})))
    assert "lines.0: 'x' is not of type 'integer'" in said
    assert time.process_time() - started < 3  # all of them take a quarter of a minute, and a gigabyte


async def test_many_items_are_looked_through_while_others_go_on() -> None:
    checking = asyncio.create_task(run(json.dumps({"path": "a", "lines": [1] * 10_000})))
    turns = 0
    while not checking.done():
        await asyncio.sleep(0)
        turns += 1
    assert "too long" in error_of(checking.result())
    assert turns > 20


async def test_arguments_that_fit_reach_the_tool() -> None:
    assert (await run('{"path": "a", "lines": [1]}')).content == "a"
    assert (
        await run("", ScriptedTool(lambda _: says_path({"path": "none"}), {"type": "object"}))
    ).content == "none"


async def test_an_error_a_crash_and_a_time_out_are_failed_results(caplog: pytest.LogCaptureFixture) -> None:
    async def errs(_: Mapping[str, Any]) -> ToolOutput:
        raise ToolError("there is\nno paper")

    async def crashes(_: Mapping[str, Any]) -> ToolOutput:
        raise KeyError("\x1b[2Jinside")

    async def hangs(_: Mapping[str, Any]) -> ToolOutput:
        await asyncio.Event().wait()
        raise AssertionError

    async def many(_: Mapping[str, Any]) -> ToolOutput:
        raise ExceptionGroup("two", [ValueError("a"), OSError("b")])

    good = '{"path": "a"}'
    assert error_of(await run(good, ScriptedTool(errs))) == "there is no paper"
    with caplog.at_level(logging.ERROR):
        assert "scripted crashed: KeyError" in error_of(await run(good, ScriptedTool(crashes)))
        assert "scripted crashed: ExceptionGroup" in error_of(await run(good, ScriptedTool(many)))
    assert "ended after 0.01 s" in error_of(await run(good, ScriptedTool(hangs, seconds=0.01)))


async def test_cancelling_a_call_cancels_the_tool_and_is_not_a_result() -> None:
    began, ended = asyncio.Event(), asyncio.Event()

    async def hangs(_: Mapping[str, Any]) -> ToolOutput:
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        raise AssertionError

    call = asyncio.create_task(run('{"path": "a"}', ScriptedTool(hangs)))
    await began.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert ended.is_set()


async def test_an_output_that_is_too_large_is_cut_in_the_middle_and_its_size_is_told() -> None:
    async def large(_: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput("a" * 5_000_000 + "ü" * 5_000_000)

    output = await run('{"path": "a"}', ScriptedTool(large))
    assert len(output.content) <= MAX_OUTPUT_CHARACTERS + 100
    assert output.content.startswith("aaa")
    assert output.content.endswith("üüü")
    assert "characters left out" in output.content
    assert output.size == 15_000_000
    assert output.success


async def test_a_large_failure_is_still_a_failure() -> None:
    async def fails(_: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput(json.dumps({"success": False, "why": "x" * 1_000_000}), success=True)

    output = await run('{"path": "a"}', ScriptedTool(fails))
    assert not output.success
    assert json.loads(output.content)["success"] is False
    assert len(output.content) <= MAX_OUTPUT_CHARACTERS


@pytest.mark.parametrize(
    ("content", "is_success"),
    [
        *(
            ("text", True),
            ("", True),
            ("{", True),
            ("[1]", True),
            ('{"a": 1}', True),
            ('{"success": true}', True),
        ),
        *(('{"success": false}', False), (' {"success": 0}', False), ('{"success": null}', False)),
        *(('{"success": "no"}', True), ('["success", false]', True), ("{" * 100_000, True)),
    ],
)
def test_success_is_what_the_content_says(content: str, is_success: bool) -> None:
    assert content_success(content) is is_success


def test_structures_keep_their_form_when_they_are_cut() -> None:
    for text in ("x" * 300_000, "\x1b" * 300_000, "\n\"'\\" * 90_000, "😀" * 150_000):
        made = structure({"exit_code": 0, "output": text}, "output")
        assert len(made) <= MAX_OUTPUT_CHARACTERS
        said = json.loads(made)
        assert said["exit_code"] == 0
        assert "left out" in said["output"]
    assert cut("abc", 3) == "abc"


def test_a_spool_keeps_the_beginning_and_the_end_and_counts_the_rest() -> None:
    spool = Spool(4)
    for n in range(100):
        spool.add(b"%02d" % n)
    assert spool.text() == "0001\n[… 192 bytes left out …]\n9899"
    assert spool.size == 200
    small = Spool(4)
    small.add(b"abcdefg")
    assert small.text() == "abcdefg"
    large = Spool(4)
    large.add(b"x" * 1_000 + b"1234")
    assert large.text().endswith("\n1234")


def test_of_a_foreign_schema_only_what_is_harmless_is_checked() -> None:
    hostile = {
        "type": "object",
        "properties": {
            "pattern": {"type": "string", "pattern": "^(a+)+$", "minLength": 2},
            "far": {"$ref": "http://127.0.0.1:9/never"},
            "not": {"not": {"type": "string"}},
            "one": {"oneOf": [{"$ref": "#/a"}, {"$ref": "#/b"}]},
            "any": {"anyOf": [{"type": "string"}, {"$ref": "#"}]},
            "list": {"type": "array", "items": {"type": "integer"}},
        },
        "patternProperties": {"^(x+x+)+y$": {"type": "null"}},
        "additionalProperties": False,
        "required": ["pattern"],
    }
    assert checkable(hostile) == {
        "type": "object",
        "required": ["pattern"],
        "properties": {
            "pattern": {"type": "string", "minLength": 2},
            "far": {},
            "not": {},
            "one": {},
            "any": {"anyOf": [{"type": "string"}, {}]},
            "list": {"type": "array", "items": {"type": "integer"}},
        },
    }


async def test_a_schema_that_never_ends_or_fetches_does_not_hold_up_a_call() -> None:
    levels = {f"l{n}": {"allOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(60)}
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/$defs/l0"},
            "b": {"pattern": "^(a+)+$"},
            "c": {"$ref": "http://127.0.0.1:9"},
        },
        "$defs": levels,
    }

    async def does(_: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput("done")

    arguments = json.dumps({"a": 1, "b": "a" * 200 + "!", "c": 1})
    assert (await run(arguments, ScriptedTool(does, schema))).content == "done"


async def test_half_characters_do_not_reach_the_log() -> None:
    async def halves(_: Mapping[str, Any]) -> ToolOutput:
        return ToolOutput("a\ud800b")

    output = await run('{"path": "a"}', ScriptedTool(halves))
    assert output.content.encode() == b"a?b"
