"""The client of an agent service: what it sends, what it makes of frames, what it does when things fail."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from agent_tui.apologies import apology
from agent_tui.clients.agents.tasks import AgentTasksClient
from agent_tui.clients.announced import AnswerLeft, announced
from agent_tui.model.errors import (
    AgentTuiError,
    ConnectFailed,
    ModelError,
    ProtocolError,
    StreamLost,
    TimedOut,
    TransportError,
    Unauthorized,
)
from agent_tui.model.events import Attachment, Event, RunFailed, StepAdded, TurnDone
from agent_tui.state.conversation import ConversationState
from agent_tui.wire.agent_tasks import AgentTask
from tests.fakes.agents.agent_service import WORDS, AgentService, agent_service
from tests.fakes.clock import QuickClock

pytestmark = pytest.mark.timeout(60)
AUTHORIZATION = "Basic c2VjcmV0"


@pytest.fixture
async def service() -> AsyncIterator[AgentService]:
    async with agent_service() as running:
        yield running


@pytest.fixture
def clock() -> QuickClock:
    return QuickClock()


@pytest.fixture
async def client(service: AgentService, clock: QuickClock) -> AsyncIterator[AgentTasksClient]:
    made = AgentTasksClient(service.url, AUTHORIZATION, clock=clock, environ={})
    yield made
    await made.aclose()


async def asked(
    client: AgentTasksClient, task: AgentTask | str = "Hi", *, inject: bool = False
) -> list[Event]:
    task = AgentTask(task) if isinstance(task, str) else task
    answer = client.inject(task) if inject else client.ask(task)
    return [event async for event in answer]


def words(events: list[Event]) -> str:
    return "".join(event.content for event in events if isinstance(event, StepAdded))


async def test_after_the_patience_is_over_nothing_is_tried_again(
    service: AgentService, clock: QuickClock
) -> None:
    service.script = ["ws 503", "ok"]
    impatient = AgentTasksClient(service.url, clock=clock, environ={}, give_up_seconds=0)
    with pytest.raises(ConnectFailed):
        await asked(impatient)
    await impatient.aclose()
    assert (clock.slept, service.script) == ([], ["ok"])


async def test_a_left_answer_says_so_and_its_task_is_cancelled(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script = ["slow"]
    answer = client.answer(AgentTask("Hi"))
    told = [await anext(answer), await anext(answer)]
    assert [(one.name, one.data.get("content")) for one in told] == [("", None), ("text", "one ")]
    await client.leave()
    with pytest.raises(AnswerLeft):
        await anext(answer)
    await service.until(lambda one: one.cancelled == ["t1"])


async def test_a_client_that_has_read_the_last_event_closes_the_socket_as_usual(
    client: AgentTasksClient, service: AgentService
) -> None:
    async with aclosing(client.ask(AgentTask("Hi"))) as answer:
        async for event in answer:
            if isinstance(event, TurnDone):
                break
    await service.until(lambda one: "gone" in one.order)
    assert service.closed == [1000]


async def test_an_answer_is_its_own_words_and_the_next_task_is_of_the_same_session(
    client: AgentTasksClient, service: AgentService
) -> None:
    events = await asked(
        client, AgentTask("Hi", "claude_agent_sdk", True, "Be brief.", [Attachment("a", "b")])
    )
    assert words(events).split() == WORDS.split()
    assert events[-1] == TurnDone("t1", "t1")
    assert service.posts == [
        {
            "prompt": "Hi",
            "engineType": "claude_agent_sdk",
            "voiceMode": True,
            "systemPrompt": "Be brief.",
            "attachments": [{"name": "a", "type": "text/plain", "content": "b"}],
        }
    ]
    await asked(client, AgentTask("", attachments=[Attachment("a", "b")]))
    assert service.posts[1]["sessionId"] == "s1"
    assert service.posts[1]["prompt"] == "(see attachments)"
    sent = [frame["data"] for frame in service.frames]
    assert sent == [
        {"sessionId": "s1", "taskId": "t1"},
        {"sessionId": "s1"},
        {"sessionId": "s1", "taskId": "t2"},
    ]
    assert [step for step in service.order if step != "gone"] == ["post", "frame", "frame", "post", "frame"]
    assert set(service.headers) == {("post", AUTHORIZATION), ("socket", AUTHORIZATION)}


async def test_a_service_whose_ids_are_numbers_gets_them_back_as_numbers(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script = ["numbers", "numbers"]
    assert (await asked(client))[-1] == TurnDone("1", "1")
    await asked(client)
    sent = [frame["data"] for frame in service.frames]
    assert sent == [{"sessionId": 5, "taskId": 1}, {"sessionId": 5}, {"sessionId": 5, "taskId": 2}]
    assert (service.posts[1]["sessionId"], client.session_id) == (5, "5")


async def test_thoughts_and_tools_are_steps_of_the_answer(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script = ["tools"]
    state = ConversationState()
    for event in await asked(client):
        state.apply(event)
    (turn,) = state.turns.values()
    steps = [
        (step.type, step.name, step.content.text or step.arguments.text) for step in turn.steps.all.values()
    ]
    assert steps == [
        ("thinking", "", "Let me see"),
        ("tool_call", "look", '{"at":"it"}'),
        ("tool_result", "look", "blue"),
        ("text", "", "Blue."),
    ]
    assert (turn.status, turn.steps.all["step-1"].status) == ("said", "done")


@pytest.mark.parametrize("failing", [["ws 503"], ["ws 404", "ws 502"]])
async def test_a_refused_handshake_is_tried_again_after_one_and_three_seconds(
    client: AgentTasksClient, service: AgentService, clock: QuickClock, failing: list[str]
) -> None:
    service.script = [*failing, "ok"]
    assert words(await asked(client)).split() == WORDS.split()
    assert clock.slept == [1.0, 3.0][: len(failing)]
    assert len(service.posts) == 1


async def test_after_three_refused_handshakes_it_is_given_up(
    client: AgentTasksClient, service: AgentService, clock: QuickClock
) -> None:
    service.script = ["ws 503", "ws 503", "ws 503"]
    with pytest.raises(AgentTuiError, match="503"):
        await asked(client)
    assert (clock.slept, service.posts) == ([1.0, 3.0], [])


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_token_is_said_and_not_tried_again(
    client: AgentTasksClient, service: AgentService, clock: QuickClock, status: int
) -> None:
    service.script = [f"ws {status}"]
    with pytest.raises(Unauthorized):
        await asked(client)
    service.script = [str(status)]
    with pytest.raises(Unauthorized):
        await asked(client)
    assert clock.slept == []


@pytest.mark.parametrize("status", [400, 409, 500, 503])
async def test_an_http_error_is_an_answer_and_not_tried_again(
    client: AgentTasksClient, service: AgentService, clock: QuickClock, status: int
) -> None:
    service.script = [str(status)]
    with pytest.raises(AgentTuiError):
        await asked(client)
    assert (len(service.posts), clock.slept) == (1, [])


async def test_nobody_at_the_address_is_tried_three_times(clock: QuickClock) -> None:
    nobody = AgentTasksClient("http://127.0.0.1:9", clock=clock, environ={})
    with pytest.raises(ConnectFailed):
        await asked(nobody)
    assert clock.slept == [1.0, 3.0]
    await nobody.aclose()


@pytest.mark.parametrize(
    ("mode", "said"), [("drop", ""), ("cut", "one two "), ("drop 1008", ""), ("cut 1008", "one two ")]
)
async def test_a_stream_that_breaks_off_is_an_error_and_keeps_the_words(
    client: AgentTasksClient, service: AgentService, mode: str, said: str
) -> None:
    service.script = [mode]
    events: list[Event] = []

    async def read() -> None:
        async for event in client.ask(AgentTask("Hi")):
            events.append(event)  # noqa: PERF401 - what came before it failed counts

    with pytest.raises(StreamLost):
        await read()
    assert words(events) == said
    assert len(service.posts) == 1


async def test_a_task_that_takes_too_long_is_a_time_out_and_cancelled(service: AgentService) -> None:
    service.script = ["silent"]
    client = AgentTasksClient(service.url, total_seconds=0.3, environ={})
    with pytest.raises(TimedOut, match="too long"):
        await asked(client)
    await client.aclose()
    assert service.cancelled == ["t1"]


async def test_an_answer_that_nobody_wants_any_more_is_cancelled_and_not_heard_later(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script = ["slow"]
    async with aclosing(client.ask(AgentTask("Hi"))) as answer:
        async for event in answer:
            if isinstance(event, StepAdded):
                break
    assert words(await asked(client, "Next")).split() == WORDS.split()
    await service.until(lambda one: one.cancelled == ["t1"])


async def test_a_service_without_a_cancel_call_does_no_harm(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script, service.has_cancel = ["slow"], False
    async with aclosing(client.ask(AgentTask("Hi"))) as answer:
        await anext(answer)
    assert words(await asked(client, "Next")).split() == WORDS.split()


async def test_an_aborted_session_is_forgotten_but_not_while_something_is_injected(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script = ["ok", "error", "abort", "ok"]
    await asked(client)
    assert (await asked(client))[-1] == RunFailed("the model is gone")
    assert client.session_id == "s1"
    assert (await asked(client))[-1] == RunFailed("the session was Aborted")
    assert client.session_id == ""
    await asked(client)
    assert client.session_id == "s4"
    service.script = ["abort"]
    assert isinstance((await asked(client, inject=True))[-1], RunFailed)
    assert client.session_id == "s4"


async def test_tasks_of_one_session_come_one_after_the_other(
    client: AgentTasksClient, service: AgentService
) -> None:
    both = await asyncio.gather(asked(client), asked(client, "file", inject=True))
    assert [words(events).split() for events in both] == [WORDS.split()] * 2
    assert service.posts[1]["sessionId"] == "s1"


# --- chat and ask (protocols.md §3, "Ours") --------------------------------------------------------


async def test_chat_and_ask_send_no_voice_mode_and_no_system_prompt(
    client: AgentTasksClient, service: AgentService
) -> None:
    await asked(client, "Hi")
    assert service.posts == [{"prompt": "Hi", "engineType": "claude_api", "voiceMode": False}]


async def test_with_neither_words_nor_files_nothing_is_sent(
    client: AgentTasksClient, service: AgentService
) -> None:
    assert await asked(client, "") == []
    assert await asked(client, "", inject=True) == []
    assert (service.posts, service.headers) == ([], [])


async def test_a_client_goes_on_with_the_session_of_an_earlier_one(service: AgentService) -> None:
    client = AgentTasksClient(service.url, session_id="s9", environ={})
    await asked(client)
    assert service.frames[0]["data"] == {"sessionId": "s9"}
    assert service.order[0] == "frame"
    assert service.posts[0]["sessionId"] == "s9"
    await client.aclose()


async def test_an_exited_process_ends_the_session_too(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script = ["ok", "exit"]
    await asked(client)
    assert isinstance((await asked(client))[-1], RunFailed)
    assert client.session_id == ""


async def test_something_injected_with_files_returns_its_whole_text_in_the_same_session(
    client: AgentTasksClient, service: AgentService
) -> None:
    await asked(client)
    injected = AgentTask("", attachments=[Attachment("a.txt", "b")])
    said = words(await asked(client, injected, inject=True))
    assert said.split() == WORDS.split()
    assert service.posts[1] == {
        "prompt": "(see attachments)",
        "engineType": "claude_api",
        "voiceMode": False,
        "sessionId": "s1",
        "attachments": [{"name": "a.txt", "type": "text/plain", "content": "b"}],
    }


async def test_silence_longer_than_the_answer_to_the_post_may_take_is_no_error(
    service: AgentService,
) -> None:
    service.script = ["late"]
    client = AgentTasksClient(service.url, answer_seconds=0.2, environ={})
    asking = asyncio.create_task(asked(client))
    await service.until(lambda one: len(one.frames) == 1)
    asyncio.get_running_loop().call_later(0.4, service.go_on.set)
    assert words(await asking).split() == WORDS.split()
    await client.aclose()


async def test_a_post_that_is_not_answered_in_time_is_tried_again(
    service: AgentService, clock: QuickClock
) -> None:
    service.script = ["held", "ok"]
    client = AgentTasksClient(service.url, answer_seconds=0.3, clock=clock, environ={})
    assert words(await asked(client)).split() == WORDS.split()
    assert clock.slept == [1.0]
    service.go_on.set()
    await client.aclose()


async def test_a_post_that_was_taken_is_not_repeated_when_the_socket_closed_before(
    client: AgentTasksClient, service: AgentService, clock: QuickClock
) -> None:
    service.script = ["gone"]
    with pytest.raises(StreamLost):
        await asked(client)
    assert (len(service.posts), clock.slept) == (1, [])


async def test_a_post_whose_answer_breaks_off_was_taken_and_is_not_repeated(
    client: AgentTasksClient, service: AgentService, clock: QuickClock
) -> None:
    service.script = ["broken"]
    with pytest.raises(StreamLost):
        await asked(client)
    assert (len(service.posts), clock.slept) == (1, [])


async def test_an_answer_to_the_post_that_names_no_task_is_not_repeated(
    client: AgentTasksClient, service: AgentService, clock: QuickClock
) -> None:
    service.script = ["nameless"]
    with pytest.raises(ProtocolError, match="names no task"):
        await asked(client)
    assert (len(service.posts), clock.slept) == (1, [])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, ModelError) for status in (400, 404, 405, 409, 422)),
        *((status, TransportError) for status in (408, 429, 500, 503)),
        *((status, Unauthorized) for status in (401, 403)),
    ],
)
async def test_an_http_error_is_an_error_and_only_a_token_is_refused(
    client: AgentTasksClient, service: AgentService, status: int, kind: type[AgentTuiError]
) -> None:
    service.script = [str(status)]
    with pytest.raises(kind):
        await asked(client)


async def test_a_task_that_is_given_up_while_it_is_posted_is_cancelled_once_it_is_known(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script = ["held"]
    asking = asyncio.create_task(asked(client))
    await service.until(lambda one: one.posts)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    service.go_on.set()
    await service.until(lambda one: one.cancelled == ["t1"])


async def test_an_answer_that_breaks_off_is_in_the_state_with_its_words(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script = ["cut"]
    state = ConversationState()
    answer = announced(client.ask(AgentTask("Hi"), turn_id="local-1"), "local-1", "Hi")

    async def read() -> None:
        async for event in answer:
            state.apply(event)

    with pytest.raises(StreamLost):
        await read()
    question, turn = state.turns.values()
    assert (question.text, turn.id, turn.text) == ("Hi", "local-1", "one two ")
    assert (turn.status, turn.interrupted) == ("cut", "lost")


async def test_an_answer_that_never_begins_leaves_no_question(
    client: AgentTasksClient, service: AgentService
) -> None:
    service.script = ["400"]
    with pytest.raises(ModelError):
        await anext(announced(client.ask(AgentTask("Hi")), "local-1", "Hi"))


@pytest.mark.parametrize(
    ("script", "is_later"),
    [
        (["400"], False),
        (["503"], False),
        (["401"], False),
        (["cut"], False),
        (["ws 401"], False),
        (["ws 503", "400"], False),
        (["ws 503", "ws 503", "ws 503"], True),
    ],
)
async def test_the_apology_says_whether_it_was_tried_again(
    client: AgentTasksClient, service: AgentService, script: list[str], is_later: bool
) -> None:
    service.script = script
    with pytest.raises(AgentTuiError) as failed:
        await asked(client)
    now = {
        "zh": "抱歉,Agent服务暂时不可用。",
        "en": "Sorry, the agent service is not available at the moment.",
        "ru": "Извините, служба агента сейчас недоступна.",
    }
    later = "抱歉,Agent服务暂时不可用,请稍后再试。"
    assert (apology(failed.value, "zh") == later) is is_later
    for language, words_ in now.items():
        said = apology(failed.value, language)  # type: ignore[arg-type]
        assert (said == words_) is not is_later
        assert said
