"""Voice rooms: tokens, the agent of each room, the server they share, and when all of that ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from agent_tui.backend.engine.chats.fields import RecordedSpeech
from agent_tui.backend.engine.kinds import CHATS
from agent_tui.backend.tools.programs.keeper import processes
from agent_tui.config.voice import VoiceAgentConfig, VoiceConfig
from agent_tui.model.records import SpeechRecord
from agent_tui.voice_instructions import SPOKEN
from tests.backend.voice.voice_backend import BACKEND_TOKEN, claims, until, voice_backend
from tests.backend.wire_client import PATIENCE_SECONDS

# With make voice: what is tested takes its time as it is.
pytestmark = pytest.mark.voice

TEN_MINUTES = 600
SIGNED = re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]+")


async def test_the_first_token_starts_a_server_and_an_agent_that_knows_all_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEEPGRAM_API_KEY", "for-the-agent")
    monkeypatch.setenv("SOMEBODYS_SECRET", "not-for-the-agent")
    agent = VoiceAgentConfig(stt="deepgram:nova-3", turn_detection="stt")
    config = VoiceConfig(locale="en", agent=agent)
    async with voice_backend(tmp_path, monkeypatch, config=config) as backend:
        before = await backend.about()
        assert (before["server"]["state"], before["server"]["version"]) == ("stopped", "1.13.5")
        joined = await backend.join("den", participant_name="Ann")
        assert joined["room_name"] == "den"
        assert joined["agent_identity"] == "agent-den"
        assert joined["owner"] is True
        assert re.fullmatch(r"ws://127\.0\.0\.1:\d+", joined["server_url"])
        assert re.fullmatch(r"owner-Ann-[0-9a-f]{6}", joined["participant_identity"])
        conversation = await backend.engine.show(CHATS, joined["conversation_id"])
        assert "den" in conversation.title
        assert conversation.system_prompt == SPOKEN["en"]
        await backend.until_agent("den", "running")
        (orders,) = backend.orders()
    assert orders["arguments"] == ["-P", "-m", "agent_tui.voice_agent", "room"]
    assert (orders["url"], orders["room"], orders["identity"]) == (joined["server_url"], "den", "agent-den")
    assert (orders["backend_url"], orders["backend_token"]) == ("http://127.0.0.1:1", BACKEND_TOKEN)
    assert orders["conversation_id"] == joined["conversation_id"]
    assert joined["participant_identity"].startswith(tuple(orders["owners"]))
    assert (orders["locale"], orders["greets"]) == ("en", True)
    assert (orders["agent"]["stt"], orders["agent"]["turn_detection"]) == ("deepgram:nova-3", "stt")
    assert orders["environment"]["DEEPGRAM_API_KEY"] == "for-the-agent"
    assert "SOMEBODYS_SECRET" not in orders["environment"]
    assert claims(orders["token"])["video"]["agent"] is True
    assert claims(orders["token"])["kind"] == "agent"


async def test_the_model_of_a_voice_room_is_told_in_the_spoken_language_that_it_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "ru_RU.UTF-8")
    async with voice_backend(tmp_path, monkeypatch) as backend:
        joined = await backend.join("den")
        conversation = await backend.engine.show(CHATS, joined["conversation_id"])
    assert conversation.system_prompt == SPOKEN["ru"]


async def test_an_owner_goes_on_with_an_earlier_conversation_of_a_room_that_is_not_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        before = await backend.engine.create(CHATS, {"title": "den", "kind": "voice"})
        chat = await backend.engine.create(CHATS, {"title": "den"})
        wanted = {"attic": {"guest": True}, "den": {}}
        joined = {room: await backend.join(room, conversation_id=before.id, **more)
                  for room, more in wanted.items()}  # fmt: skip
        assert joined["den"]["conversation_id"] == before.id
        assert joined["attic"]["conversation_id"] != before.id
        for unknown in (chat.id, "no-such-conversation"):
            assert (await backend.join("den", conversation_id=unknown))["conversation_id"] == before.id
            assert (await backend.join(unknown, conversation_id=unknown))["conversation_id"] != unknown


async def test_the_tools_of_a_voice_room_work_in_the_folder_that_an_owner_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        joined = [
            await backend.join("den", workspace=str(tmp_path)),
            await backend.join("attic", workspace=str(tmp_path), guest=True),
        ]
        conversations = [await backend.engine.show(CHATS, one["conversation_id"]) for one in joined]
        refused = await backend.ask(room_name="cellar", workspace=str(tmp_path / "no-such-folder"))
    assert [conversation.workspace for conversation in conversations] == [str(tmp_path), ""]
    assert refused.status == 422


async def test_an_agent_greets_only_where_nothing_was_said_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        joined = await backend.join("den")
        await backend.until_agent("den", "running")
        words = RecordedSpeech(SpeechRecord(), client_key="hers", role="user", content="Hello.")
        await backend.engine.chats.record(joined["conversation_id"], words)
        os.kill(backend.orders()[0]["pid"], signal.SIGKILL)
        await until(lambda: len(backend.orders()) == 2)
    assert [orders["greets"] for orders in backend.orders()] == [True, False]


async def test_a_room_that_began_without_a_model_uses_the_one_that_is_connected_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch, default="demo") as backend:
        joined = await backend.join("den")
        backend.models.default = "scripts"
        conversation_id = joined["conversation_id"]
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (await backend.engine.show(CHATS, conversation_id)).provider_id != "scripts":  # noqa: ASYNC110
                await asyncio.sleep(0.02)


async def test_a_token_is_given_out_as_livekits_standard_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        answer = await backend.ask(room_name="den", participant_identity="ann", room_config={"unknown": 1})
    assert answer.status == 201
    assert {"server_url", "participant_token"} <= answer.json.keys()


async def test_a_token_says_little_and_not_for_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        owner = claims((await backend.join("den", participant_name="Ann"))["participant_token"])
        guest_answer = await backend.join("den", participant_name="Bob", guest=True)
        guest = claims(guest_answer["participant_token"])
    for joined in (owner, guest):
        assert joined["exp"] - joined["nbf"] == TEN_MINUTES
        grants = {name: value for name, value in joined["video"].items() if value}
        grants.pop("canManageAgentSession", None)
        assert grants == {
            "roomJoin": True,
            "room": "den",
            "canPublish": True,
            "canPublishSources": ["microphone"],
            "canPublishData": True,
            "canSubscribe": True,
        }
    assert owner["attributes"] == {"agent-tui.owner": "1"}
    assert owner["video"]["canManageAgentSession"] is True
    assert "attributes" not in guest
    assert guest["video"]["canManageAgentSession"] is False
    assert guest_answer["owner"] is False


@pytest.mark.parametrize("wanted", ["owner-Ann-123456", "agent-den", "", "x" * 300, "a\u202eb"])
async def test_no_guest_has_the_identity_of_an_owner(
    wanted: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        asked = {"participant_identity": wanted, "participant_attributes": {"agent-tui.owner": "1"}}
        answer = await backend.join("den", guest=True, **asked)
    assert answer["participant_identity"].startswith("guest-")
    token = claims(answer["participant_token"])
    assert (token["sub"], token.get("attributes")) == (answer["participant_identity"], None)


@pytest.mark.parametrize("guest", [False, True])
async def test_a_token_has_the_metadata_and_attributes_that_were_asked_for_but_none_that_decide_who_is_what(
    guest: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"team": "blue", "agent-tui.owner": "1", "lk.agent.name": "Mika", "lk.publish_on_behalf": "x"}
    more: dict[str, Any] = {"participant_metadata": "{}", "participant_attributes": asked}
    async with voice_backend(tmp_path, monkeypatch) as backend:
        token = claims((await backend.join("den", guest=guest, **more))["participant_token"])
        odd = await backend.ask(room_name="den", participant_attributes={"team": 7})
    assert token["metadata"] == "{}"
    assert token["attributes"] == {"team": "blue"} | ({} if guest else {"agent-tui.owner": "1"})
    assert (odd.status, "participant_attributes.team" in str(odd.json)) == (422, True)


async def test_a_guest_cannot_set_up_a_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        answer = await backend.ask(room_name="den", guest=True, room_config={"agents": [{"agent_name": "x"}]})
        assert (answer.status, answer.json["code"]) == (403, "voice.guest")
        assert (await backend.about())["rooms"] == []


async def test_whoever_comes_back_keeps_the_identity(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        first = (await backend.join("den", participant_name="Ann"))["participant_identity"]
        again = await backend.join("den", participant_identity=first)
        assert again["participant_identity"] == first
        assert (await backend.join("den", participant_name="Ann"))["participant_identity"] != first


async def test_an_owner_may_have_other_agents_dispatched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        agents = [{"agentName": "theirs", "metadata": "{}"}]
        answer = await backend.join("den", room_config={"agents": agents})
        assert answer["agent_identity"] is None
        assert claims(answer["participant_token"])["roomConfig"]["agents"] == agents
        assert (await backend.about_room("den"))["agent"] is None
        wrong = await backend.ask(room_name="den", room_config={"agents": "all"})
        assert wrong.status == 422
    assert backend.orders() == []


async def test_blanks_do_not_tell_rooms_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        one, two = await backend.join("the den"), await backend.join(" the  den ")
        assert (one["room_name"], two["room_name"]) == ("the den", "the den")
        assert one["conversation_id"] == two["conversation_id"]


async def test_a_second_terminal_stands_in_the_same_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        one, two = await asyncio.gather(backend.join("den"), backend.join("den"))
        same = ("server_url", "room_name", "conversation_id", "agent_identity")
        assert [one[name] for name in same] == [two[name] for name in same]
        assert one["participant_identity"] != two["participant_identity"]
        await backend.until_agent("den", "running")
        assert len(backend.orders()) == 1


async def test_a_conversation_that_was_deleted_meanwhile_is_begun_anew_for_who_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        first = (await backend.join("den"))["conversation_id"]
        await backend.until_agent("den", "running")
        await backend.engine.delete(CHATS, first)
        second = (await backend.join("den"))["conversation_id"]
        assert second != first
        await until(lambda: len(backend.orders()) == 2)
        assert backend.orders()[1]["conversation_id"] == second
        await backend.until_agent("den", "running")


async def test_two_rooms_have_an_agent_and_a_conversation_each_and_one_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        one, two = await backend.join("den"), await backend.join("attic")
        assert one["server_url"] == two["server_url"]
        assert one["conversation_id"] != two["conversation_id"]
        for room in ("den", "attic"):
            await backend.until_agent(room, "running")
        assert sorted(orders["identity"] for orders in backend.orders()) == ["agent-attic", "agent-den"]
        assert [room["name"] for room in (await backend.about())["rooms"]] == ["attic", "den"]


@pytest.mark.parametrize("fields", [{"room_name": "a\x07b"}, {"room_name": "x" * 101}, {"room_name": " "}])
async def test_a_name_that_cannot_be_is_refused(
    fields: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        for more in ({}, {"participant_name": "a\x1bb"}):
            answer = await backend.ask(**{"room_name": "den", **more, **({} if more else fields)})
            assert answer.status == 422
        assert (await backend.ask(room_name=1)).status == 422
        assert (await backend.about())["server"]["state"] == "stopped"


async def test_without_a_server_or_an_agent_the_refusal_says_which(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch, server="") as backend:
        answer = await backend.ask(room_name="den")
        assert answer.status == 409
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json["code"] == "voice.no_server"
        assert "voice setup" in answer.json["detail"]
        about = await backend.about()
        assert [missing["code"] for missing in about["missing"]] == ["voice.no_server"]
        assert "server" in about["missing_parts"]
        assert "agent" not in about["missing_parts"]


async def test_a_backend_that_others_can_reach_has_no_voice_rooms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch, is_near=False) as backend:
        answer = await backend.ask(room_name="den")
        assert (answer.status, answer.json["code"]) == (409, "voice.no_server")


async def test_a_server_that_does_not_start_is_explained_by_its_last_lines_without_the_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch, server="broken") as backend:
        answer = await backend.ask(room_name="den")
        assert (answer.status, answer.json["code"]) == (409, "voice.server_failed")
        assert answer.json["detail"].count("could not parse config: secret ********") == 3
        about = await backend.about()
        assert (about["server"]["state"], about["rooms"]) == ("failed", [])
        assert await backend.engine.list_all(CHATS) == []
        assert (await backend.ask(room_name="den")).json["code"] == "voice.server_failed"  # tried again


async def test_an_agent_that_dies_comes_back_as_the_same_and_its_ghost_is_sent_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        await backend.join("den")
        await backend.until_agent("den", "running")
        os.kill(backend.orders()[0]["pid"], signal.SIGKILL)
        await until(lambda: len(backend.orders()) == 2)
        await backend.until_agent("den", "running")
        first, second = backend.orders()
        assert (first["identity"], first["conversation_id"]) == (
            second["identity"],
            second["conversation_id"],
        )
        assert not (tmp_path / "voice/doubles").exists()


async def test_an_agent_that_dies_again_and_again_is_left_alone_until_somebody_comes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        await backend.join("crash")
        agent = await backend.until_agent("crash", "failed")
        assert agent["detail"].splitlines()[0] == "it ended with exit code 1"
        assert agent["detail"].count("the last words of ******** here") == 3
        assert len(backend.orders()) == 3
        log = (tmp_path / "voice/agent.log").read_text()
        assert "the last words of ******** here" in log
        assert not SIGNED.search(log)
        await backend.join("crash")
        await until(lambda: len(backend.orders()) == 6)
        await backend.until_agent("crash", "failed")


async def test_an_agent_whose_end_is_unknown_is_said_to_be_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        await backend.join("den")
        await backend.until_agent("den", "running")
        os.kill(processes()[backend.orders()[0]["pid"]], signal.SIGKILL)  # who would have told its exit code
        await until(lambda: len(backend.orders()) == 2)
    assert any(line.endswith(" ended: it was killed") for line in caplog.messages)


async def test_an_agent_that_cannot_work_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        await backend.join("broken")
        assert (await backend.until_agent("broken", "failed"))["detail"] == "there is no model"
        assert len(backend.orders()) == 1  # it would fail again


async def test_an_agent_that_never_joins_is_ended_and_said_to_be_late(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch, join_seconds=1.0) as backend:
        await backend.join("hangs")
        agent = await backend.until_agent("hangs", "failed")
        assert agent["detail"].splitlines()[0] == "it did not join within 1 seconds"
        for orders in backend.orders():
            await until(lambda pid=orders["pid"]: not Path(f"/proc/{pid}").exists())  # type: ignore[misc]


async def test_what_an_agent_prints_beside_its_states_is_kept_and_does_no_harm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        await backend.join("chatty")
        agent = await backend.until_agent("chatty", "running")
        assert agent["notices"] == ["I hear English only\u241b[31m"]
        assert "agent of chatty: not json" in (tmp_path / "voice/agent.log").read_text()


async def test_a_room_that_everybody_has_left_is_over_and_so_is_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch, left_seconds=1.0) as backend:
        joined = await backend.join("den")
        me = joined["participant_identity"]
        await backend.play("join", room="den", identity=me)
        await backend.until_agent("den", "running")
        orders = backend.orders()[0]
        await backend.until_people(1)
        assert (await backend.about_room("den"))["people"] == [{"identity": me, "name": "", "owner": False}]
        await backend.play("leave", room="den", identity=me)
        await until(lambda: backend.rooms.rooms == 0)
        await until(lambda: not Path(f"/proc/{orders['pid']}").exists())
        await backend.until_server("stopped")
        assert await backend.engine.list_all(CHATS) == []  # nobody has said anything
        again = await backend.join("den")
        assert again["conversation_id"] != joined["conversation_id"]


async def test_a_room_is_not_over_as_long_as_somebody_is_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch, left_seconds=3.0) as backend:
        joined = await backend.join("den", participant_name="Ann")
        await backend.play("join", room="den", identity=joined["participant_identity"])
        await backend.join("attic")
        await until(lambda: backend.rooms.rooms == 1)  # nobody has come to the other one
        assert (await backend.about_room("den"))["agent"]["state"] in ("starting", "running")


async def test_an_agent_that_left_an_empty_room_comes_again_with_the_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        joined = await backend.join("leaves")
        await backend.until_agent("leaves", "stopped")
        assert len(backend.orders()) == 1
        await backend.play("join", room="leaves", identity=joined["participant_identity"])
        await until(lambda: len(backend.orders()) >= 2)


async def test_a_server_that_dies_comes_back_on_the_same_port_with_the_same_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        joined = await backend.join("den")
        os.kill(backend.servers()[-1], signal.SIGKILL)
        await until(lambda: len(backend.servers()) == 2)
        await backend.until_server("running")
        assert (await backend.join("den"))["server_url"] == joined["server_url"]
        await backend.play("join", room="den", identity="x")
        await backend.until_people(1)  # it believes the tokens of before


async def test_a_server_that_dies_three_times_in_a_minute_ends_its_rooms_and_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        await backend.join("den")
        for times in (1, 2, 3):
            await until(lambda times=times: len(backend.servers()) == times)  # type: ignore[misc]
            os.kill(backend.servers()[-1], signal.SIGKILL)
        await until(lambda: backend.rooms.rooms == 0)
        server = (await backend.about())["server"]
        assert server["state"] == "failed"
        assert "a line with the secret ********" in server["detail"]


async def test_an_owner_in_a_voice_room_counts_as_an_open_program_and_a_guest_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        await backend.join("den")
        await backend.play("join", room="den", identity="guest-1")
        await backend.until_people(1)
        assert backend.presence.programs == 0
        await backend.play("join", room="den", identity="owner-1", attributes={"agent-tui.owner": "1"})
        await until(lambda: backend.presence.programs == 1)
        await backend.play("leave", room="den", identity="owner-1")
        await until(lambda: backend.presence.programs == 0)


async def test_what_is_said_about_voice_holds_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        await backend.join("den")
        await backend.until_agent("den", "running")
        about = json.dumps(await backend.about())
    orders = backend.orders()[0]
    assert BACKEND_TOKEN not in about
    assert not SIGNED.search(about)
    for log in (tmp_path / "voice").glob("*.log*"):
        assert not SIGNED.search(log.read_text())
        assert orders["token"] not in log.read_text()


@pytest.mark.parametrize(
    ("livekit", "why"),
    [
        ({"url": "ftp://host", "key": "k", "secret": "s"}, "livekit.url"),
        ({"url": "wss://host", "key": "k"}, "livekit.secret"),
        ("wss://host", "livekit"),
    ],
)
async def test_somebody_elses_server_needs_an_address_a_key_and_a_secret(
    livekit: object, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch) as backend:
        answer = await backend.ask(room_name="den", livekit=livekit)
        assert (answer.status, why in answer.json["title"]) == (422, True), answer.body
        assert (await backend.about())["rooms"] == []


async def test_a_backend_that_others_reach_sends_no_agent_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with voice_backend(tmp_path, monkeypatch, is_near=False) as backend:
        answer = await backend.ask(
            room_name="den", livekit={"url": "wss://host", "key": "k", "secret": "a-secret"}
        )
        assert (answer.status, answer.json["code"]) == (409, "voice.no_server")
        assert b"a-secret" not in answer.body
