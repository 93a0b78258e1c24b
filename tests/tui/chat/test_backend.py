"""The chat screen over a real backend on a socket: what it shows is what was stored."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from agent_tui.clients.chat import ChatClient
from agent_tui.clients.http import Net
from tests.backend.chat_backend import A_PATH, TOKEN, chat_backend
from tests.backend.engine.chat_house import call, speaks
from tests.fakes.scripted_model import Script, ScriptedModel
from tests.fakes.scripted_tools import ScriptedTool, writer
from tests.fakes.servers.chat_server import QUESTION, OriginalChatServer
from tests.tui.chat.one_chat import OneChat
from tests.tui.watched import Watched
from tui.link import ChatLink
from tui.request import Server

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


def held(*rounds: Script) -> ScriptedModel:
    """Return a model that says these, each piece when the test lets it."""
    model = speaks(*rounds)
    model.free = False
    return model


class Screen(Watched[OneChat]):
    """What a person sees of a server, and does to it."""

    async def ask(self, words: str) -> None:
        self.app.chat.composer.open()
        self.app.chat.composer.line.insert(words)
        await self.pilot.press("enter")
        await self.until(lambda: not self.app.chat.composer.line.text)  # the server has taken it


class Terminal(Screen):
    """A screen on our own backend, and a client beside it."""

    def __init__(self, app: OneChat, pilot: Pilot[int], client: ChatClient) -> None:
        super().__init__(app, pilot)
        self.client = client


@asynccontextmanager
async def terminal(folder: Path, model: ScriptedModel, tool: ScriptedTool) -> AsyncIterator[Terminal]:
    """Show a new chat of a backend."""
    async with chat_backend(folder, model, tool) as backend:
        path = await backend.chat(enabled_tools=["change"], title="Make")
        url = f"http://127.0.0.1:{backend.client.port}"
        link = ChatLink(Server(url, TOKEN))
        chat_id = path.removeprefix(f"{A_PATH}/")
        client = ChatClient(Net(url, token=TOKEN))
        app = OneChat(link, chat=chat_id)
        ticks = iter(range(1_000_000))
        app.chat.now = app.presses.now = lambda: float(next(ticks))  # every look is a second later
        try:
            async with app.run_test(size=(100, 40), notifications=True) as pilot:
                seen = Terminal(app, pilot, client)
                await seen.until("✓ ready")
                yield seen
        finally:
            await link.close()
            await client.aclose()


async def test_a_question_its_steps_and_a_tool_that_one_key_lets_run(tmp_path: Path) -> None:
    tool = writer()
    model = speaks(["I will.", call("change", {"text": "x"})], ["Done ", "now."])
    async with terminal(tmp_path, model, tool) as seen:
        await seen.ask("Do it.")
        text = await seen.until("‖ needs approval", "what would change", "y once")
        assert "I will." in text
        assert tool.ran == []
        await seen.pilot.press("y")
        text = await seen.until("Done now.", "✓ ready")
        assert tool.ran == [{"text": "x"}]
        assert "▸ change" in text
        stored, _ = await seen.client.messages(seen.app.chat.state.conversation.id)
        assert [message.text for message in stored] == ["Do it.", "I will.\n\nDone now."]


async def test_the_chat_is_written_as_the_server_keeps_it_where_the_file_is_json_and_by_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with terminal(tmp_path, speaks(["That."]), writer()) as seen:
        await seen.ask("What?")
        await seen.until("That.", "✓ ready")
        await seen.ask(f"/export {tmp_path}/out.json")
        await seen.until("saved to")
        chat_id = seen.app.chat.state.conversation.id
        assert json.loads((tmp_path / "out.json").read_text()) == {
            "conversation": await seen.client.show_raw(chat_id),
            "messages": await seen.client.messages_raw(chat_id),
        }
        monkeypatch.chdir(tmp_path)
        await seen.press("tab", "w")
        await seen.until("saved to Make.md")
        assert "That." in (tmp_path / "Make.md").read_text()


async def test_another_terminal_answers_first_and_this_one_goes_on(tmp_path: Path) -> None:
    tool = writer()
    async with terminal(tmp_path, speaks([call("change", {"text": "x"})], ["Done."]), tool) as seen:
        await seen.ask("Do it.")
        await seen.until("‖ needs approval")
        state = seen.app.chat.state
        await seen.client.answer(state.conversation.id, *state.asking[0], "once")
        await seen.until("Done.", "✓ ready")
        assert tool.ran == [{"text": "x"}]


async def test_no_with_a_reason_reaches_the_model_and_nothing_ran(tmp_path: Path) -> None:
    tool = writer()
    model = speaks([call("change", {"text": "x"})], ["As you wish."])
    async with terminal(tmp_path, model, tool) as seen:
        await seen.ask("Do it.")
        await seen.until("‖ needs approval", "n no, because…")
        await seen.pilot.press("n")
        await seen.until("Why not?")
        await seen.pilot.press(*"later", "enter")
        await seen.until("As you wish.", "✓ ready")
        assert tool.ran == []
        assert "denied by the user: later" in repr(model.calls[1].request.messages)


async def test_stop_keeps_the_words_and_the_next_question_knows_them(tmp_path: Path) -> None:
    model = held(["Half ", "of it."], ["Then this."])
    async with terminal(tmp_path, model, writer()) as seen:
        await seen.ask("Tell me.")
        spoken = await model.called(1)
        spoken.release()
        await seen.until("Half")
        await seen.pilot.press("escape")
        await seen.until("┄ stopped by you", "✓ ready")
        await seen.ask("Go on.")
        knowing = await model.called(2)
        assert any("Half" in told.content for told in knowing.request.messages)
        knowing.finish()
        await seen.until("Then this.", "✓ ready")


async def test_what_waits_is_asked_when_the_answer_is_whole(tmp_path: Path) -> None:
    model = held(["One."], ["Two."])
    async with terminal(tmp_path, model, writer()) as seen:
        await seen.ask("First?")
        spoken = await model.called(1)
        await seen.ask("Second?")
        await seen.until("queued: Second? (1)")
        spoken.finish()
        (await model.called(2)).finish()
        await seen.until("One.", "Two.", "✓ ready")


async def test_another_wording_is_another_version_and_both_can_be_read(tmp_path: Path) -> None:
    model = speaks(["One."], ["Two."], ["Three."])
    async with terminal(tmp_path, model, writer()) as seen:
        await seen.ask("First?")
        await seen.until("One.", "✓ ready")
        await seen.pilot.press("tab", "e")
        await seen.until("the old version is kept")
        await seen.pilot.press("exclamation_mark", "enter")
        text = await seen.until("Two.", "version 2 of 2", "✓ ready")
        assert "One." not in text
        await seen.pilot.press("tab", "left_square_bracket")
        text = await seen.until("One.", "version 1 of 2")
        assert "Two." not in text
        await seen.pilot.press("r")
        await seen.until("Three.", "✓ ready")


async def test_a_server_of_the_original_is_asked_and_read_and_its_words_stay() -> None:
    async with OriginalChatServer() as server:
        link = ChatLink(Server(server.url))
        app = OneChat(link, chat="c1")
        try:
            async with app.run_test(size=(100, 40), notifications=True) as pilot:
                seen = Screen(app, pilot)
                await seen.until("✓ ready")
                await seen.ask(QUESTION)
                text = await seen.until("It has one target: 目标", "✓ ready")
                assert "▸ thinking      I look." in text
                assert "▸ read_file     Makefile" in text
                await seen.ask("And again?")
                await seen.until("And again?", "✓ ready")
                assert server.posts == 2
                await seen.pilot.press("tab", "r")
                assert server.posts == 2  # it has no versions, and nothing is asked twice by itself
        finally:
            await link.close()
