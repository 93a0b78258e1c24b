"""What an agent's model is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.backend.engine.context.history import model_messages
from agent_tui.backend.engine.kinds import ROOMS
from agent_tui.backend.models.model import ChatMessage, ModelRequest
from agent_tui.backend.store.reads.turns import Contribution
from agent_tui.backend.store.rows import ConversationRow, TurnRow
from agent_tui.model.errors import ModelError
from agent_tui.model.events import AgentInfo
from tests.backend.engine.house import open_house
from tests.fakes.scripted_model import FakeModels, Script, ScriptedModel

AGENTS = (
    AgentInfo("1", "Ada", turn_order=0, system_prompt="You are Ada."),
    AgentInfo("2", "Bob", turn_order=1),
    AgentInfo("3", "Ada", turn_order=2, system_prompt="You are the other Ada."),
)
SAID = [
    Contribution("m1", 0, 2, "", -1, "用户", "Which database?"),
    Contribution("m2", 1, 4, "1", 0, "Ada", "Postgres."),
    Contribution("m3", 1, 8, "2", 1, "Bob", "SQLite."),
    Contribution("m4", 1, 12, "3", 2, "Ada", ""),
    Contribution("m5", 2, 16, "1", 0, "Ada", "Still Postgres."),
]


def told(
    place: int, round_: int, mode: str, said: Sequence[Contribution] = SAID, supersedes: str = ""
) -> list[tuple[str, str]]:
    room = ConversationRow("room", "name", "Which database?", mode, 3, agents=AGENTS)
    agent = AGENTS[place]
    turn = TurnRow(round_, agent.id, 1, "m9", supersedes=supersedes)
    system, *messages = model_messages(room, agent, turn, said)
    assert system.role == "system"
    return [(message.role, message.content) for message in messages]


def prompt(place: int, round_: int, task: str = "Tea?", agents: Sequence[AgentInfo] = AGENTS) -> str:
    """Return the system prompt of one turn in a room of three rounds."""
    room = ConversationRow("room", "name", task, "sequential", 3, agents=tuple(agents))
    (system,) = model_messages(room, agents[place], TurnRow(round_, agents[place].id, 1, "m9"), ())
    assert system.role == "system"
    return system.content


def test_an_agent_is_told_its_name_the_others_the_marks_and_the_round_after_its_own_prompt() -> None:
    assert prompt(0, 2) == (
        "You are Ada.\n\n"
        "You are Ada. The other agents in this room: Bob, Ada.\n"
        "A message that begins with [Name]: is from the agent of that name; one without it is from a person. "
        "Do not begin your own messages with your name.\n"
        "This is round 2 of 3. Rounds left after it: 1."
    )


def test_only_the_last_line_changes_from_round_to_round_so_that_providers_can_cache_the_rest() -> None:
    first, second, last = (prompt(1, round_).rsplit("\n", 1) for round_ in (1, 2, 3))
    assert first[0] == second[0] == last[0]
    assert (first[1], last[1]) == (
        "This is round 1 of 3. Rounds left after it: 2.",
        "This is round 3 of 3, the last one.",
    )


def test_it_is_told_in_the_language_of_the_task() -> None:
    assert "现在是第2轮，共3轮。之后还剩1轮。" in prompt(0, 2, "喝什么茶?")
    assert "房间里的其他智能体：Bob、Ada。" in prompt(0, 2, "喝什么茶?")
    assert "这是最后一轮" in prompt(0, 3, "喝什么茶?")
    assert "Другие агенты в этой комнате: Bob, Ada." in prompt(0, 2, "Какой чай?")
    assert "Сейчас раунд 2 из 3. После него останется раундов: 1." in prompt(0, 2, "Какой чай?")


def test_who_is_alone_is_told_so_and_a_name_is_one_line_in_it() -> None:
    alone = (AgentInfo("1", "Ada\nLovelace"),)
    assert prompt(0, 3, agents=alone) == (
        "You are Ada Lovelace, the only agent in this room.\nThis is round 3 of 3, the last one."
    )


def test_the_demo_model_which_is_told_by_other_means_gets_its_prompt_alone() -> None:
    demo = tuple(replace(agent, provider_id="demo") for agent in AGENTS)
    assert prompt(0, 1, agents=demo) == "You are Ada."


@pytest.mark.parametrize(
    "written", ["[Bob]: SQLite.", "[Bob] :SQLite.", " [Bob]：SQLite.", "[Bob]:\nSQLite."]
)
def test_a_name_that_a_model_wrote_in_front_of_its_words_is_told_once(written: str) -> None:
    said = [SAID[0], replace(SAID[2], text=written)]
    assert told(0, 2, "sequential", said)[-1] == ("user", "[Bob]: SQLite.")
    assert told(1, 2, "sequential", said)[-1] == ("assistant", "SQLite.")


@pytest.mark.parametrize("written", ["[Bobby]: SQLite.", "Bob: SQLite.", "[Ada]: SQLite.", "[Bob] SQLite."])
def test_what_only_looks_like_it_is_told_as_it_was_said(written: str) -> None:
    said = [SAID[0], replace(SAID[2], text=written)]
    assert told(0, 2, "sequential", said)[-1] == ("user", f"[Bob]: {written}")


def test_own_words_are_the_assistants_and_others_carry_their_name() -> None:
    assert told(0, 3, "sequential") == [
        ("user", "Which database?"),
        ("assistant", "Postgres."),
        ("user", "[Bob]: SQLite."),
        ("assistant", "Still Postgres."),
    ]


def test_an_agent_without_a_system_prompt_is_told_of_its_room_alone() -> None:
    assert prompt(1, 1).startswith("You are Bob. The other agents in this room: Ada, Ada.\n")
    assert told(1, 2, "sequential") == [
        ("user", "Which database?"),
        ("user", "[Ada]: Postgres."),
        ("assistant", "SQLite."),
        ("user", "[Ada]: Still Postgres."),
    ]


def test_two_agents_of_one_name_are_not_taken_for_each_other() -> None:
    assert ("user", "[Ada]: Postgres.") in told(2, 2, "sequential")


def test_in_parallel_a_round_hears_only_the_rounds_before_it() -> None:
    assert told(1, 2, "parallel") == [
        ("user", "Which database?"),
        ("user", "[Ada]: Postgres."),
        ("assistant", "SQLite."),
    ]
    assert told(1, 1, "parallel") == [("user", "Which database?")]


def test_a_whisper_is_told_to_its_agent_alone() -> None:
    whisper = Contribution("m6", 2, 18, "", -1, "用户", "Be brief.", "2")
    assert told(1, 2, "sequential", [*SAID, whisper])[-1] == ("user", "Be brief.")
    assert ("user", "Be brief.") in told(1, 2, "parallel", [*SAID, whisper])
    for place, mode in ((0, "sequential"), (2, "sequential"), (0, "parallel")):
        assert ("user", "Be brief.") not in told(place, 2, mode, [*SAID, whisper])


def test_what_is_said_again_is_not_told_its_old_words() -> None:
    assert told(0, 2, "sequential", supersedes="m5")[-1] == ("user", "[Bob]: SQLite.")


def test_peoples_words_stand_where_they_were_said_and_in_parallel_before_those_of_their_round() -> None:
    words = Contribution("m6", 1, 10, "", -1, "用户", "And Mongo?")
    said = sorted([*SAID, words], key=lambda one: one.seq)
    assert [text for _, text in told(2, 2, "sequential", said)][1:4] == [
        "[Ada]: Postgres.",
        "[Bob]: SQLite.",
        "And Mongo?",
    ]
    assert [text for _, text in told(2, 2, "parallel", said)][1:] == [
        "And Mongo?",
        "[Ada]: Postgres.",
        "[Bob]: SQLite.",
    ]


def says(request: ModelRequest) -> Script:
    if request.speaker == "Bob" and request.round == 1:
        return ["Lost ", ModelError("gone")]
    return [f"{request.speaker}{request.round}"]


async def asked(tmp_path: Path, mode: str) -> dict[tuple[str, int], list[str]]:
    """Run two rounds of Ada, Bob and Cyd; return what each was told in each round."""
    model = ScriptedModel(says, free=True)
    async with open_house(tmp_path / "rooms.db", FakeModels(model, max_tokens=77)) as house:
        agents = tuple({"name": name, "model": "big"} for name in ("Ada", "Bob", "Cyd"))
        room = await house.engine.create(
            ROOMS, {"task": "Talk", "name": "", "execution_mode": mode, "max_rounds": 2, "agents": agents}
        )
        await house.engine.rooms.run(room.id)
        assert await house.log.ended(room.id) == "room_completed"
    request = model.calls[0].request
    assert (request.speaker, request.task, request.round, request.max_rounds) == ("Ada", "Talk", 1, 2)
    assert (request.model, request.max_tokens, request.temperature) == ("big", 77, None)
    requests = [call.request for call in model.calls]
    return {(r.speaker, r.round): [message.content for message in r.messages[1:]] for r in requests}


async def test_in_sequence_each_agent_is_told_all_that_was_said_in_whole(tmp_path: Path) -> None:
    assert await asked(tmp_path, "sequential") == {
        ("Ada", 1): ["Talk"],
        ("Bob", 1): ["Talk", "[Ada]: Ada1"],
        ("Cyd", 1): ["Talk", "[Ada]: Ada1"],
        ("Ada", 2): ["Talk", "Ada1", "[Cyd]: Cyd1"],
        ("Bob", 2): ["Talk", "[Ada]: Ada1", "[Cyd]: Cyd1", "[Ada]: Ada2"],
        ("Cyd", 2): ["Talk", "[Ada]: Ada1", "Cyd1", "[Ada]: Ada2", "[Bob]: Bob2"],
    }


async def test_later_parallel_rounds_hear_what_earlier_ones_said(tmp_path: Path) -> None:
    assert await asked(tmp_path, "parallel") == {
        ("Ada", 1): ["Talk"],
        ("Bob", 1): ["Talk"],
        ("Cyd", 1): ["Talk"],
        ("Ada", 2): ["Talk", "Ada1", "[Cyd]: Cyd1"],
        ("Bob", 2): ["Talk", "[Ada]: Ada1", "[Cyd]: Cyd1"],
        ("Cyd", 2): ["Talk", "[Ada]: Ada1", "Cyd1"],
    }


@pytest.mark.parametrize("mode", ["sequential", "parallel"])
async def test_the_words_of_a_cut_attempt_that_is_said_again_are_told_to_nobody(
    tmp_path: Path, mode: str
) -> None:
    model = ScriptedModel(lambda request: ["half ", "whole"])
    async with open_house(tmp_path / "rooms.db", FakeModels(model)) as house:
        agents = ({"name": "Ada"}, {"name": "Bob"})
        room = await house.engine.create(
            ROOMS,
            {
                "task": "Talk",
                "name": "",
                "execution_mode": mode,
                "max_rounds": 2,
                "agents": agents,
                "on_resume": "again",
            },
        )
        await house.engine.rooms.run(room.id)
        (await model.called(1)).release()
        await house.log.seen(room.id, "message_chunk")
        await house.engine.pause(ROOMS, room.id)
        await house.log.ended(room.id)
        before, model.free = len(model.calls), True
        await house.engine.rooms.resume(room.id)
        assert await house.log.ended(room.id) == "room_completed"
    told_later = {message for call in model.calls[before:] for message in call.request.messages}
    assert ChatMessage("assistant", "half whole") in told_later
    assert not any(message.content.endswith("half ") for message in told_later)
