"""An MCP server asks its person for values while its tool runs: in chats and in rooms."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp_types import TextContent

from agent_tui.backend.engine.answer.asks import AskDecision
from agent_tui.backend.engine.kinds import CHATS, ROOMS
from agent_tui.backend.engine.timing import Timing
from agent_tui.backend.tools.mcp.server import McpServer
from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.backend.tools.toolbox import Toolbox
from agent_tui.config.file import Config
from agent_tui.config.tools import McpConfig
from agent_tui.model.errors import Refused
from agent_tui.model.tool_forms import FormAnswer, ToolForm
from tests.backend.engine.chat_house import ChatHouse, call, open_chats, results, speaks, statuses
from tests.backend.engine.house import House, crash_copy, open_house
from tests.backend.engine.rooms.test_tools import a_room, models, said, stands
from tests.backend.tools.test_shell import until
from tests.fakes import mcp_server
from tests.fakes.scripted_tools import writer

FAKE = str(Path(mcp_server.__file__).resolve())
SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Your name", "minLength": 2, "maxLength": 10},
        "age": {"type": "integer", "minimum": 1, "maximum": 100, "default": 42},
        "pets": {
            "type": "array",
            "maxItems": 1,
            "items": {"anyOf": [{"const": "c", "title": "Cats"}, {"const": "d", "title": "Dogs"}]},
        },
    },
    "required": ["name"],
}
QUESTION = {"message": "Who are you?\x1b[2J", "requestedSchema": SCHEMA}
VALUES = {"name": "Ada", "age": 36, "pets": ["c"]}


def fake(folder: Path) -> McpConfig:
    """Return the fake server, whose tools run unasked; it writes what it is answered into a file."""
    answered = {"ANSWERED": str(folder / "answered")}
    tools = ("question", "two-questions")
    return McpConfig("fake", sys.executable, (FAKE,), env=answered, read_only=tools)


def box_of(folder: Path) -> Toolbox:
    return Toolbox(lambda: Config(folder / "config.toml", mcp={"fake": fake(folder)}))


@asynccontextmanager
async def chats(folder: Path, *rounds: Any, timing: Timing | None = None) -> AsyncIterator[ChatHouse]:
    async with AsyncExitStack() as stack:
        box = box_of(folder)
        stack.push_async_callback(box.aclose)
        quick = timing or Timing(progress=0.01, tool_grace=0.5)
        yield await stack.enter_async_context(
            open_chats(folder / "a.db", speaks(*rounds), box=box, timing=quick, enabled=None)
        )


def asks(question: object = QUESTION, tool: str = "question") -> list[Any]:
    return [call(f"fake__{tool}", question)]


def answers(house: ChatHouse) -> list[str]:
    """Return what was noted of declined forms."""
    return [fields["about"] for name, fields in house.events() if fields.get("note") == "form_declined"]


async def test_a_person_fills_the_form_in_and_the_server_gets_the_values(tmp_path: Path) -> None:
    async with chats(tmp_path, asks(), ["Done."]) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            assert asking["ask"]["call"] == "fake asks you for 3 values"
            form = asking["ask"]["form"]
            assert (form["server"], form["message"]) == ("fake", "Who are you?␛[2J")
            assert [(one["name"], one["type"], one["required"]) for one in form["fields"]] == [
                ("name", "text", True),
                ("age", "integer", False),
                ("pets", "choices", False),
            ]
            assert form["fields"][2]["options"][0] == {"value": "c", "title": "Cats"}
            step = (await house.last()).steps[0]  # who opens the chat now is asked, too
            assert step.status == "asks"
            assert step.ask is not None
            assert step.ask.form is not None
            assert [field.name for field in step.ask.form.fields] == ["name", "age", "pets"]
            assert (await house.engine.show(CHATS, house.id)).asks
            for word in (
                AskDecision("answer", values={"age": 36}),
                AskDecision("answer", values={"name": "A"}),
                AskDecision("answer", values={**VALUES, "age": 101}),
                AskDecision("answer", values={**VALUES, "age": 3.5}),
                AskDecision("answer", values={**VALUES, "pets": ["c", "d"]}),
                AskDecision("answer", values={**VALUES, "pets": ["x"]}),
                AskDecision("answer", values={**VALUES, "more": 1}),
                AskDecision("once"),
                AskDecision("always"),
            ):
                with pytest.raises(Refused) as refused:
                    await house.engine.answer(CHATS, house.id, answer_id, asking["id"], word)
                assert refused.value.status == 422, word
            await house.engine.answer(
                CHATS, house.id, answer_id, asking["id"], AskDecision("answer", values=VALUES)
            )
            with pytest.raises(Refused) as late:
                await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("decline"))
            assert late.value.status == 409
            await house.ended(answer_id)
        answer = await house.last()
        stood = [fields["status"] for name, fields in house.events() if name == "tool_status"]
    assert stood == ["running", "asks", "running", "done"]
    assert json.loads(results(answer)[0][0]) == [{"action": "accept", "content": VALUES}]
    assert answer.steps[0].ask is None


@pytest.mark.parametrize("decision", ["decline", "cancel"])
async def test_a_person_may_decline_or_cancel(tmp_path: Path, decision: str) -> None:
    async with chats(tmp_path, asks(), ["Done."]) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision(decision))
            await house.ended(answer_id)
        assert json.loads(results(await house.last())[0][0]) == [{"action": decision}]


async def test_questions_of_one_call_are_asked_one_after_the_other(tmp_path: Path) -> None:
    async with chats(tmp_path, asks(tool="two-questions"), ["Done."]) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("decline"))
            await house.log.until(house.id, lambda: forms(house) == 2)
            await house.engine.answer(
                CHATS, house.id, answer_id, asking["id"], AskDecision("answer", values=VALUES)
            )
            await house.ended(answer_id)
        answered = json.loads(results(await house.last())[0][0])
    assert sorted(one["action"] for one in answered) == ["accept", "decline"]


def forms(house: ChatHouse) -> int:
    return sum("form" in fields.get("ask", {}) for _, fields in house.events())


async def test_where_nobody_can_answer_it_is_declined_and_said(tmp_path: Path) -> None:
    async with chats(tmp_path, asks(), ["Done."]) as house:
        await house.ask()
        assert json.loads(results(await house.last())[0][0]) == [{"action": "decline"}]
        assert answers(house) == ["fake: it asked you for 3 values: declined, nobody was there to answer"]
        assert forms(house) == 0


async def test_who_does_not_come_back_in_time_declines(tmp_path: Path) -> None:
    over = asyncio.Event()

    async def sleep(_: float) -> None:
        await over.wait()

    timing = Timing(progress=0.01, sleep=sleep)
    async with chats(tmp_path, asks(), ["Done."], timing=timing) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            await house.asks()
        over.set()
        await house.ended(answer_id)
        assert json.loads(results(await house.last())[0][0]) == [{"action": "decline"}]
        assert answers(house) == ["fake: it asked you for 3 values: declined, nobody was there to answer"]


@pytest.mark.parametrize("reason", ["stop", "handover"])
async def test_a_stop_ends_the_form_and_the_server_is_told(tmp_path: Path, reason: str) -> None:
    async with chats(tmp_path, asks(), ["Done."]) as house:
        with house.engine.chats.attend(house.id):
            answer_id = await house.begin()
            asking = await house.asks()
            if reason == "stop":
                await house.engine.pause(CHATS, house.id)
                await house.ended(answer_id)
            else:
                await house.engine.stop_all(reason)
            with pytest.raises(Refused) as late:
                await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("decline"))
            assert late.value.status == 409
        await until((tmp_path / "answered").exists)
        assert statuses(await house.last()) == ["cut"]
        assert not (await house.engine.show(CHATS, house.id)).asks
    assert json.loads((tmp_path / "answered").read_text()) == [{"action": "cancel"}]


@pytest.mark.parametrize(
    ("question", "why"),
    [
        (
            {"mode": "url", "message": "Log in", "url": "https://example.org/\u202e", "elicitationId": "1"},
            "it wants a page opened, https://example.org/<U+202E>: declined, this is not supported",
        ),
        (
            {"message": "?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "object"}}}},
            "it asks you for something: declined, the field a of its form is of a kind that is not supported",
        ),
        (
            {
                "message": "?",
                "requestedSchema": {
                    "type": "object",
                    "properties": {f"f{n}": {"type": "string"} for n in range(60)},
                },
            },
            "it asks you for something: declined, its form has more than 50 fields",
        ),
    ],
)
async def test_what_cannot_be_asked_is_declined_and_said(tmp_path: Path, question: object, why: str) -> None:
    async with chats(tmp_path, asks(question), ["Done."]) as house:
        with house.engine.chats.attend(house.id):
            await house.ask()
        assert json.loads(results(await house.last())[0][0]) == [{"action": "decline"}]
        assert answers(house) == [f"fake: {why}"]


async def test_the_time_that_a_person_needs_is_not_the_servers(tmp_path: Path) -> None:
    server = McpServer(fake(tmp_path), call_seconds=0.5)

    async def slowly(form: ToolForm) -> FormAnswer:
        late = asyncio.get_running_loop().time() + 2 * server.call_seconds
        await until(lambda: asyncio.get_running_loop().time() > late)
        return FormAnswer("accept", VALUES)

    try:
        await server.start()
        said = await server.call("question", QUESTION, ToolPlace(fill_in=slowly))
    finally:
        await server.aclose()
    assert isinstance(said.content[0], TextContent)
    assert json.loads(said.content[0].text) == [{"action": "accept", "content": VALUES}]


async def test_in_a_room_a_pause_ends_the_form_and_it_is_asked_again_and_answered(tmp_path: Path) -> None:
    box = box_of(tmp_path)
    source = models(lambda request: ["So it is."] if "accept" in request.messages[-1].content else asks())
    async with AsyncExitStack() as stack:
        stack.push_async_callback(box.aclose)
        house = await stack.enter_async_context(
            open_house(tmp_path / "a.db", source, box=box, timing=Timing(progress=0.01, tool_grace=0.5))
        )
        room = await house.engine.create(ROOMS, a_room(names="Ada", enabled_tools=("fake__question",)))
        stack.enter_context(house.engine.asks.attend(room.id))
        await house.engine.rooms.run(room.id)
        message_id, step_id = await stands(house, room.id, "asks")
        assert (await house.engine.show(ROOMS, room.id)).asks
        with pytest.raises(Refused) as refused:
            await house.engine.answer(ROOMS, room.id, message_id, step_id, AskDecision("answer"))
        assert "name: a value is needed" in refused.value.detail
        await house.engine.pause(ROOMS, room.id)
        assert await house.log.ended(room.id) == "room_paused"
        await until((tmp_path / "answered").exists)
        assert json.loads((tmp_path / "answered").read_text()) == [{"action": "cancel"}]
        (cut,) = await said(house, room.id)
        assert statuses(cut) == ["cut"]
        assert not (await house.engine.show(ROOMS, room.id)).asks
        await house.engine.rooms.resume(room.id)
        await house.log.until(room.id, lambda: len(forms_of(house, room.id)) == 2)
        await house.engine.answer(
            ROOMS, *(room.id, *await stands(house, room.id, "asks")), AskDecision("answer", values=VALUES)
        )
        assert await house.log.ended(room.id) == "room_completed"
        assert (await said(house, room.id))[-1].text == "So it is."


def forms_of(house: House, room_id: str) -> list[str]:
    """Return the messages whose calls asked for values, in their order."""
    return [frame.message_id for frame in house.log.of(room_id) if '"form"' in frame.data]


async def test_a_form_that_was_open_when_the_program_died_is_a_call_whose_end_is_unknown(
    tmp_path: Path,
) -> None:
    async with chats(tmp_path, asks(), ["Done."]) as house:
        with house.engine.chats.attend(house.id):
            await house.begin()
            await house.asks()
            copy = crash_copy(tmp_path / "a.db", tmp_path / "b.db")
            chat_id = house.id
    async with open_chats(copy, speaks(["x"]), new=False) as later:
        answer = (await later.engine.messages(CHATS, chat_id, None, None)).messages[-1]
    assert statuses(answer) == ["unknown"]


async def test_a_call_waits_on_while_a_program_of_the_person_is_open(tmp_path: Path) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    tool, timing = writer(), Timing(sleep=sleep)
    async with open_chats(
        tmp_path / "a.db", speaks([call("change")], ["Oh."], [call("change")], ["Oh."]), tool, timing=timing
    ) as house:
        async with aclosing(house.presence.attend()) as there:
            is_there = asyncio.ensure_future(anext(there))
            await until(lambda: house.presence.programs == 1)
            with house.engine.chats.attend(house.id):
                answer_id = await house.begin()
                asking = await house.asks()
            # Its person is in the list now: nobody reads the chat.
            await house.engine.answer(CHATS, house.id, answer_id, asking["id"], AskDecision("once"))
            await house.ended(answer_id)
            second = await house.begin()
            await house.log.until(house.id, lambda: asked_by(house, second))  # it is asked from the list, too
            assert slept == []  # nobody has to come back
            is_there.cancel()
            await asyncio.wait([is_there])
        await house.ended(second)  # the program was left: then it is denied
        assert statuses(await house.last()) == ["denied"]
    assert slept == [timing.unattended]


def asked_by(house: ChatHouse, message_id: str) -> bool:
    """Return whether a call of that answer asked."""
    return any(frame.message_id == message_id and '"asks"' in frame.data for frame in house.log.of(house.id))
