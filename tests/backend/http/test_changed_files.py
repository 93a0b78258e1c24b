"""The files that tools changed, over HTTP: listed, undone, and followed by whoever reads the chat."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import pytest

from agent_tui.backend.tools.writing import WriteFile
from agent_tui.clients.chat import ChatClient
from agent_tui.clients.http import Net
from agent_tui.model.errors import NotFound, Refused
from agent_tui.model.events import ConversationLoaded, ToolStatusChanged
from agent_tui.state.conversation import ConversationState
from tests.backend.chat_backend import TOKEN, ChatBackend, chat_backend, refused
from tests.backend.engine.chat_house import call, speaks


@pytest.fixture
async def changed(tmp_path: Path) -> AsyncIterator[tuple[ChatBackend, str]]:
    """A backend, and the path of a chat whose tools changed two files in the folder "work"."""
    (tmp_path / "work").mkdir()
    calls = [
        call("write_file", {"path": f"{name}.txt", "content": "x\n"}, at) for at, name in enumerate("ab")
    ]
    model = speaks(calls, ["Done."])
    async with chat_backend(tmp_path, model, WriteFile(), allow=("write_file(*)",)) as running:
        path = await running.chat(workspace=str(tmp_path / "work"), enabled_tools=["write_file"])
        await running.ask(path)
        yield running, path


@pytest.fixture
async def client(changed: tuple[ChatBackend, str]) -> AsyncIterator[ChatClient]:
    """Our client of that backend."""
    ours = ChatClient(Net(f"http://127.0.0.1:{changed[0].client.port}", TOKEN))
    yield ours
    await ours.aclose()


async def test_our_client_lists_and_undoes_changes(
    changed: tuple[ChatBackend, str], client: ChatClient, tmp_path: Path
) -> None:
    chat_id = changed[1].rpartition("/")[2]
    newest, oldest = await client.changed_files(chat_id)
    assert (newest.path, newest.added, newest.removed, newest.is_new, newest.status) == (
        *("b.txt", 1, 0),
        *(True, "made"),
    )
    assert newest.diff.endswith("+x")
    assert newest.folder == str(tmp_path / "work")
    undone, left = await client.undo(chat_id, newest.message_id, newest.step_id)
    assert ([one.status for one in undone], left) == (["undone"], [])
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == ["a.txt"]
    undone, left = await client.undo(chat_id, oldest.message_id)
    assert [[one.path for one in some] for some in (undone, left)] == [["a.txt"], ["b.txt"]]
    with pytest.raises(Refused, match="already undone"):
        await client.undo(chat_id, newest.message_id)
    with pytest.raises(NotFound):
        await client.undo(chat_id, "nothing")


async def test_whoever_follows_the_chat_hears_that_a_change_was_undone(
    changed: tuple[ChatBackend, str], client: ChatClient
) -> None:
    chat_id = changed[1].rpartition("/")[2]
    state = ConversationState()
    (newest, _) = await client.changed_files(chat_id)
    async with aclosing(client.follow(chat_id)) as events:
        async for event in events:
            state.apply(event)
            if isinstance(event, ConversationLoaded):
                await client.undo(chat_id, newest.message_id, newest.step_id)
            if isinstance(event, ToolStatusChanged):
                break
    step = state.step(newest.message_id, newest.step_id)
    assert step is not None
    assert step.status == "undone"


async def test_bad_calls_are_refused_as_problems(changed: tuple[ChatBackend, str]) -> None:
    running, path = changed
    assert "message_id" in await refused(running, "POST", f"{path}/changes/undo", {}, 422)
    await refused(running, "POST", f"{path}/changes/undo", {"message_id": "m", "step_id": "s"}, 404)
    await refused(running, "GET", "/api/conversations/nobody/changes", None, 404)
    await refused(running, "GET", path.replace("conversations", "rooms") + "/changes", None, 404)
