"""Commands of a chat, behind a slash."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_tui.model import events as ev
from agent_tui.model.errors import Refused
from tests.state.chat_events import message, started
from tests.tui.chat.one_chat import opened, said
from tests.tui.chat.project import begin_project, composer_text
from tui.chat.first import NEW
from tui.cli.export.document import Document, Exported
from tui.live.commands import COMMANDS, Kind, completion, meant, typed_command
from tui.live.composer import Writing
from tui.live.exporting import export, path_for_export
from tui.screens.choose import ChooseScreen


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return begin_project(tmp_path, monkeypatch)


def _read(name: str) -> str:
    return Path(name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/model", ("model", "")),
        ("/title  A name ", ("title", "A name")),
        ("/compact keep\nthis", ("compact", "keep\nthis")),
        ("/modle x", ("modle", "x")),
        ("/etc/hosts is what?", None),
        ("what is /model", None),
        ("/", None),
        ("// comment", None),
    ],
)
def test_what_is_a_command(text: str, command: tuple[str, str] | None) -> None:
    assert typed_command(text) == command


def offered(text: str, kind: Kind = "chat") -> list[str]:
    return [choice.word for choice in completion(text, kind).choices]


def test_commands_are_completed() -> None:
    assert offered("/t")[:2] == ["/title", "/theme"]
    assert offered("/title o") == []
    assert offered("no /t") == []


def test_a_command_is_found_by_letters_in_its_order_and_by_what_others_call_it() -> None:
    assert offered("/mdl") == ["/model"]
    assert offered("/exit") == ["/quit"]
    assert completion("/mdl", "chat").choices[0].marks == (1, 3, 5)


def test_rooms_chats_and_voice_rooms_have_their_own_commands() -> None:
    assert "/pause" in offered("/", "room")
    assert "/pause" not in offered("/")
    assert {"/quit", "/new", "/model", "/help", "/export", "/copy"} <= set(offered("/")) & set(
        offered("/", "room")
    )
    assert {"/quit", "/mute", "/help", "/export", "/copy"} <= set(offered("/", "voice"))
    assert "/model" not in offered("/", "voice")
    names, others = [command.name for command in COMMANDS], [name for one in COMMANDS for name in one.also]
    assert len(names) == len(set(names))
    assert len(others) == len(set(others))


def test_a_file_to_export_to_is_named_by_the_title() -> None:
    assert path_for_export("", "Redis or PostgreSQL?") == Path("Redis-or-PostgreSQL.md")
    assert path_for_export("", "../..") == Path("export.md")
    assert path_for_export("x.html", "Redis") == Path("x.html")


async def test_a_command_is_run_while_an_answer_is_under_way() -> None:
    async with opened(message("q9", "x")) as chat:
        await chat.send(started("a9", "q9"))
        await chat.write("/title Another", "enter")
        assert chat.asked == ["change {'title': 'Another'}"]
        assert chat.app.chat.composer.queue == ()


async def test_a_command_does_what_it_says() -> None:
    async with opened() as chat:
        for command, asked, told in (
            ("/title A new name", ["change {'title': 'A new name'}"], ""),
            ("/export x.md", [], "nothing to export yet"),
            ("/model other", ["change {'model': 'other'}"], "other"),
            ("/nothing", [], "unknown command /nothing"),
            ("/stop", [], "nothing to stop"),
        ):
            chat.asked.clear()
            chat.app.chat.composer.line.put("")
            assert told in await chat.write(command, "enter"), command
            assert chat.asked == asked, command
            assert chat.link.questions == []


async def test_what_a_server_does_not_store_is_exported_as_it_is_on_the_screen(tmp_path: Path) -> None:
    async with opened(message("q1", "Look.")) as chat:
        chat.link.calls.stores_messages = False
        await chat.write(f"/export {tmp_path}/said.md", "enter")
        await chat.until(lambda: (tmp_path / "said.md").exists())
    assert "Look." in _read(f"{tmp_path}/said.md")


async def test_a_command_that_is_refused_stays_in_the_line() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.write("/export x.exe", "enter")
        assert composer_text(chat) == "/export x.exe"


async def test_a_command_that_is_refused_does_not_open_the_list_of_commands_again() -> None:
    async with opened() as chat:
        chat.link.calls.refuse = Refused("there is nothing new to summarise")
        text = await chat.write("/compact", "enter")
        assert composer_text(chat) == "/compact"
        assert "there is nothing new to summarise" in text
        assert "summarise the chat so far" not in text


async def test_a_command_that_the_server_refuses_stays_in_the_line_and_the_next_one_does_not() -> None:
    async with opened() as chat:
        chat.link.calls.refuse = Refused("no titles here")
        assert "no titles here" in await chat.write("/title Plan", "enter")
        assert composer_text(chat) == "/title Plan"
        chat.link.calls.refuse = None
        await chat.press("enter")
        assert composer_text(chat) == ""


async def test_what_other_programs_call_it_leads_to_the_settings_and_is_not_listed() -> None:
    for name in ("mcp", "permissions", "status", "tools", "temperature"):
        assert f"/{name}" not in offered("/")
        assert meant(name, "chat") == "settings"
    async with opened() as chat:
        await chat.write("/mcp", "escape", "enter")
        assert "Chat settings" in "\n".join((await chat.text()).splitlines()[:4])
        assert chat.app.screen is not chat.app.chat


async def test_enter_writes_a_command_that_needs_words_and_waits_for_them() -> None:
    async with opened() as chat:
        await chat.write("/ti", "enter")
        assert composer_text(chat) == "/title "


async def test_a_model_is_chosen_from_those_of_all_providers() -> None:
    async with opened() as chat:
        text = await chat.write("/model", "enter")
        assert "small · local" in text
        text = await chat.press(*"small", "enter")
        assert chat.asked[-1] == "change {'provider_id': 'local', 'model': 'small'}"
        assert "From the next question on: small · local" in text


async def test_a_key_opens_the_models_with_the_present_one_marked_and_what_is_known_of_each() -> None:
    async with opened(model="big") as chat:
        text = await chat.press("ctrl+l")
        row = next(line for line in text.splitlines() if "big · local" in line)
        assert "in use · 128k context · $2.50 in, $10.00 out" in row
        await chat.press("enter")
        assert not any(asked.startswith("change") for asked in chat.asked)  # it answers already


async def test_what_is_known_of_a_model_stands_in_one_row_at_80_columns() -> None:
    async with opened(model="big", size=(80, 24)) as chat:
        text = await chat.press("ctrl+l")
        row = next(line for line in text.splitlines() if "big · local" in line)
        assert "in use · 128k context · $2.50 in, $10.00 out" in row


async def test_letters_in_their_order_find_a_model_and_those_in_one_piece_come_first() -> None:
    async with opened() as chat:
        await chat.press("ctrl+l")
        text = await chat.press(*"sml")
        assert "small · local" in text
        assert "big · local" not in text
        await chat.press("enter")
        assert chat.asked[-1] == "change {'provider_id': 'local', 'model': 'small'}"


async def test_a_change_that_is_refused_says_why() -> None:
    async with opened() as chat:
        chat.link.calls.refuse = Refused("not while an answer is under way")
        await chat.write("/title X", "enter")
        assert chat.told == ["not while an answer is under way"]


async def test_resume_offers_the_chats_as_in_other_programs() -> None:
    async with opened() as chat:
        await chat.write("/resume", "enter")
        assert isinstance(chat.app.screen, ChooseScreen)


async def test_new_and_chats_open_another_one() -> None:
    async with opened(workspace="/srv/x") as chat:
        await chat.write("/new", "enter")
        like_this = {"model": "some-model", "provider_id": "local", "workspace": "/srv/x"}
        assert chat.app.opened == [(NEW, like_this)]
        assert chat.asked == []  # nothing is stored before a question is
        chat.link.calls.chats = [ev.ConversationInfo("other", title="Another")]
        home, hour_ago = Path.home(), (datetime.now(UTC) - timedelta(minutes=61)).isoformat()
        chat.link.calls.chats += [
            ev.ConversationInfo(
                "own", title="Mine", workspace=f"{home}/code", updated_at=hour_ago, last_words="So."
            ),
            ev.ConversationInfo("bad", title="Broken", error="no"),
        ]
        text = await chat.write("/chats", "enter")
        assert "◌ Another" in text
        assert "✓ Mine  1 h ago · ~/code" in text
        assert "✗ Broken" in text
        await chat.press("enter")
        assert chat.app.opened[1:] == [("other", {})]


async def test_the_chat_is_written_to_a_file_and_none_is_overwritten() -> None:
    async with opened(*said(1, "What?", "That.")) as chat:
        chat.link.calls.stored = said(1, "What?", "That.")
        assert "saved to out.md" in await chat.write("/export out.md", "enter")
        assert "That." in _read("out.md")
        assert "Makefile already exists" in await chat.write("/export Makefile", "enter")
        assert _read("Makefile") == "this is Makefile\n"


async def test_the_screen_goes_on_while_a_file_is_made_of_a_long_chat() -> None:
    threads: list[threading.Thread] = []

    class Messages(list[ev.Message]):
        def __iter__(self) -> Iterator[ev.Message]:
            threads.append(threading.current_thread())
            return super().__iter__()

    async def read() -> Exported:
        return Document("Tea", [], Messages()), {}

    async with opened() as chat:
        await export("long.md", "", read, chat.app.screen.query_one(Writing))
    assert _read("long.md").startswith("# Tea")
    assert threads
    assert threading.main_thread() not in threads


async def test_a_tilde_that_is_nobodys_home_is_a_name_like_any_other() -> None:
    async with opened(*said(1, "What?", "That.")) as chat:
        assert "~nobody-here/x.md" in await chat.write("/export ~nobody-here/x.md", "enter")
        assert chat.asked == ["messages"]


async def test_help_lists_the_commands() -> None:
    async with opened() as chat:
        text = await chat.write("/help", "enter")
        assert "/compact" in text
        assert "rename the chat" in text
