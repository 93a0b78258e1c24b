"""A chat is stored with its first question; what is typed behind a slash works in the whole program."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from textual.message import Message
from textual.message_pump import MessagePump

import tui
import widgets
from agent_tui.model.errors import Refused
from tests.backend.engine.chat_house import speaks
from tests.fakes.chat_link import FakeChatClient, FakeChatLink
from tests.state.chat_events import loaded
from tests.tui.chat.one_chat import LIVE, Chat, OneChat
from tests.tui.lists.chats_listed import Real, real_list
from tests.tui.watched import LOOKS
from tui.chat.first import NEW, NewChat, fields_here
from tui.chat.screen import ChatScreen
from tui.forms.values import folder_of
from tui.live.commands import of_kind

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


async def stored(seen: Real) -> list[dict[str, Any]]:
    """Return the chats that the server has."""
    answer = await seen.backend.client.call("GET", "/api/conversations")
    listed: list[dict[str, Any]] = answer.json["conversations"]
    return listed


async def begin(seen: Real) -> None:
    """Open a new chat from the list."""
    await seen.pilot.press("n")
    await seen.until("untitled chat", "Ask something")


async def submit(seen: Real, words: str) -> None:
    for letter in words:
        await seen.pilot.press("space" if letter == " " else letter)
    await seen.pilot.press("enter")


# --- commands, as a person types them ----------------------------------------------------------------------


async def test_new_opens_another_chat_and_stores_nothing(tmp_path: Path) -> None:
    async with real_list(tmp_path, speaks(["Yes."]), size=(100, 30)) as seen:
        await seen.pilot.press("enter")
        await seen.until("First", "✓ ready")
        for _ in range(3):
            before = seen.app.screen
            await submit(seen, "/new")
            while seen.app.screen is before:
                await seen.look()
            assert "/new" not in await seen.until("untitled chat", "Ask something")
        assert [chat["title"] for chat in await stored(seen)] == ["First"]
        await submit(seen, "Why?")
        await seen.until("Yes.", "✓ ready")
        assert [chat["title"] for chat in await stored(seen)] == ["Why?", "First"]


async def test_chats_goes_to_the_one_that_is_chosen(tmp_path: Path) -> None:
    async with real_list(tmp_path, speaks(["Yes."]), size=(100, 30)) as seen:
        await seen.made("Second")
        await begin(seen)
        await submit(seen, "/chats")
        await seen.until("First", "Second")
        await seen.pilot.press(*"Sec", "enter")
        await seen.until("Second", "✓ ready")
        assert seen.app.places.chat is not None
        assert seen.app.places.chat.state.conversation.title == "Second"
        assert sum(isinstance(one, ChatScreen) for one in seen.app.screen_stack) == 1


@pytest.mark.parametrize("command", [command.name for command in of_kind("chat")])
async def test_every_command_does_something_that_is_seen(tmp_path: Path, command: str) -> None:
    async with real_list(tmp_path, speaks(["Yes."]), size=(100, 30)) as seen:
        await seen.pilot.press("enter")
        await seen.until("First", "✓ ready")
        before, screen = await seen.text(), seen.app.screen
        await submit(seen, f"/{command}")
        for _ in range(LOOKS):
            await seen.look()
            if not seen.app.is_running or seen.app.screen is not screen or seen.now != before:
                break
        else:
            raise AssertionError(f"/{command} does nothing that is seen")
        await seen.app.places.link.close()  # of the list of rooms


def test_every_message_of_ours_is_heard_by_the_name_it_calls() -> None:
    for package in (tui, widgets):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    ours = [one for one in _below(Message) if one.__module__.split(".")[0] in ("tui", "widgets")]
    hearing = [one for one in _below(MessagePump) if one.__module__.split(".")[0] in ("tui", "widgets")]
    assert len(ours) > 20
    for message in [one for one in ours if not one.__subclasses__()]:
        by_name = any(hasattr(one, message.handler_name) for one in hearing)
        decorated = any(message in getattr(one, "_decorated_handlers", {}) for one in hearing)
        assert by_name or decorated, f"{message.__qualname__} calls {message.handler_name}: nobody has that"


def _below(kind: type[Any]) -> list[type[Any]]:
    return [kind for below in kind.__subclasses__() for kind in (below, *_below(below))]


# --- a chat that is not stored yet -------------------------------------------------------------------------


async def test_the_form_of_a_new_chat_keeps_what_is_entered_for_its_first_question(tmp_path: Path) -> None:
    async with real_list(tmp_path, speaks(["Yes."]), size=(100, 40)) as seen:
        await begin(seen)
        await seen.pilot.press("tab", "ctrl+o")
        await seen.until("title")
        await seen.pilot.press(*"Plan", "tab", *"Brief", "ctrl+s")
        await seen.until("Plan", "Ask something")
        assert len(await stored(seen)) == 1
        await seen.pilot.press("i")
        await submit(seen, "Why?")
        await seen.until("Yes.", "✓ ready")
        chat = (await stored(seen))[0]
        assert (chat["title"], chat["system_prompt"]) == ("Plan", "Brief")
        assert "Brief" in repr(seen.backend.model.calls[0].request.messages)


async def test_what_a_new_chat_cannot_do_yet_is_said(tmp_path: Path) -> None:
    async with real_list(tmp_path, speaks([]), size=(100, 30)) as seen:
        await begin(seen)
        await submit(seen, "/export out.md")
        await seen.until("nothing to export yet")


def new_chat(**fields: Any) -> tuple[OneChat, FakeChatLink]:
    link = FakeChatLink()
    return OneChat(link, chat=NewChat(link, fields)), link  # type: ignore[arg-type]  # stands for a ChatLink


async def test_a_question_that_cannot_be_stored_stays_and_goes_with_the_next_try() -> None:
    app, link = new_chat(workspace="/srv/x")
    link.calls.refuse = Refused("no room left")
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        chat = Chat(app, link, pilot)
        assert "no room left" in await chat.write("Why?", "enter")
        assert app.chat.composer.line.text == "Why?"
        link.calls.refuse = None
        await chat.press("enter")
        await chat.send(loaded(), LIVE)
        assert chat.asked[-1] == "create {'workspace': '/srv/x'}"
        assert [question.content for question in link.questions] == ["Why?"]
        assert app.chat.state.conversation.id != NEW


async def test_the_draft_of_a_new_chat_is_kept_until_the_next_one_and_ends_with_its_question() -> None:
    app, link = new_chat()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        await Chat(app, link, pilot).write("Half a though")
    app, link = new_chat()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        chat = Chat(app, link, pilot)
        assert "Half a though" in await chat.text()
        await chat.press("t", "enter")
        await chat.send(loaded(), LIVE)
        assert link.questions[0].content == "Half a thought"
    app, link = new_chat()
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        assert "Half" not in await Chat(app, link, pilot).text()


async def test_a_chat_that_begins_in_a_deleted_folder_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    app, link = new_chat(**fields_here(FakeChatLink()))  # type: ignore[arg-type]  # stands for a ChatLink
    async with app.run_test(size=(100, 30), notifications=True) as pilot:
        chat = Chat(app, link, pilot)
        await chat.write("Why?", "enter")
        await chat.send(loaded(), LIVE)
        assert chat.asked[-1] == "create {}"
        assert [question.content for question in link.questions] == ["Why?"]
    with pytest.raises(ValueError, match="/"):
        folder_of("here")


class LateClient(FakeChatClient):
    """Changes are chosen while it stores the chat."""

    chat: NewChat | None = None

    async def create(self, **fields: Any) -> Any:
        assert self.chat is not None
        self.chat.change({"temperature": 0.5})
        return await super().create(**fields)


async def test_what_is_chosen_while_the_chat_is_being_stored_is_not_lost() -> None:
    link = FakeChatLink()
    link.calls = LateClient()
    link.calls.chat = NewChat(link, {})  # type: ignore[arg-type]  # stands for a ChatLink
    await link.calls.chat.store()
    assert link.calls.asked == ["create {}", "change {'temperature': 0.5}"]
