"""``conversations list|search|show|delete|rename`` and ``tools``, as a user or a script runs them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.servers.chat_server import LogChatServer, OriginalChatServer
from tests.fakes.servers.http_server import FakeServer, answers_json
from tests.fakes.servers.rooms_server import in_thread
from tests.fakes.terminal import terminal
from tests.tui.programs import PROGRAM, Home, home_at, one_line, own_environ

HOSTILE = "\x1b]52;c;aGk=\x07\x9b31m\u202e"
RULE = {
    "id": "3",
    "tool": "run_command",
    "pattern": "run_command(make *)",
    "created_at": "",
    "folder": "",
    "conversation_id": "",
}
EXACT = {**RULE, "id": "4", "pattern": "run_command(ls [*].py)", "folder": "/code/x"}
FILE = {**EXACT, "id": "6", "tool": "write_file", "pattern": "write_file(a)", "conversation_id": "c1"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """One backend for the whole module: tests make conversations of their own."""
    with home_at(tmp_path_factory.mktemp("conversations"), begun=True) as home:
        yield home


@pytest.fixture
def alone(tmp_path: Path) -> Home:
    return Home(tmp_path, own_environ(tmp_path))  # no command here starts a backend


def begin(home: Home, title: str, *asked: str) -> str:
    """Make a conversation in the backend, with what was asked in it, and return its id."""
    id_: str = home.api("POST", "/api/conversations", {"title": title})["id"]
    for words in asked:
        assert home.main("ask", words, "--conversation", id_).returncode == 0
    return id_


def titles(home: Home) -> list[str]:
    shown = home.api("GET", "/api/conversations?archived=1")["conversations"]
    return [one["title"] for one in shown]


# --- list ------------------------------------------------------------------------------------------------


def test_the_list_has_a_line_for_each_and_as_json_what_the_server_answered(home: Home) -> None:
    first, second = begin(home, "Listed first", "Hi"), begin(home, "Listed second")
    ran = home.main("conversations", "list")
    assert ran.returncode == 0
    head, *rows = ran.stdout.splitlines()
    assert head.split() == ["ID", "TITLE", "STATUS", "MODEL", "TOKENS", "CHANGED"]
    (line,) = [row for row in rows if row.startswith(first[:8])]
    assert "Listed first" in line
    assert "demo model" in line
    value = json.loads(home.main("conversations", "list", "--output", "json").stdout)
    assert value == home.api("GET", "/api/conversations")
    assert {first, second} <= {one["id"] for one in value["conversations"]}


def test_those_that_were_put_away_are_listed_only_when_asked_for(home: Home) -> None:
    id_ = begin(home, "Put away")
    home.api("PATCH", f"/api/conversations/{id_}", {"archived": True})
    assert id_[:8] not in home.main("conversations", "list").stdout
    (line,) = [
        row
        for row in home.main("conversations", "list", "--archived").stdout.splitlines()
        if row.startswith(id_[:8])
    ]
    assert "archived" in line


def test_a_conversation_in_which_a_tool_waits_says_so(alone: Home) -> None:
    asks = {"id": "c1", "title": "Make", "status": "running", "asks": True}
    with in_thread(LogChatServer()) as server:
        server.on("GET", "/api/conversations", answers_json({"conversations": [asks]}))
        ran = alone.main("conversations", "list", "--url", server.url)
    assert "needs approval" in ran.stdout.splitlines()[1]


def test_an_empty_list_says_how_to_begin(alone: Home) -> None:
    with in_thread(LogChatServer()) as server:
        server.on("GET", "/api/conversations", answers_json({"conversations": []}))
        ran = alone.main("conversations", "list", "--url", server.url)
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "agent-tui ask" in ran.stderr


# --- search ----------------------------------------------------------------------------------------------


def test_words_are_found_where_they_were_said(home: Home) -> None:
    id_ = begin(home, "About samovars", "What is a samovar made of?")
    ran = home.main("conversations", "search", "samovar", "made")
    assert ran.returncode == 0
    assert f"{id_[:8]}  About samovars  user" in ran.stdout
    assert id_ not in ran.stdout
    assert "What is a samovar made of?" in ran.stdout
    value = json.loads(home.main("conversations", "search", "samovar made", "--output", "json").stdout)
    assert "\2samovar\3" in value["hits"][-1]["snippet"]
    assert len(home.main("conversations", "search", "samovar", "--limit", "1").stdout.splitlines()) == 2


def test_a_room_that_is_found_has_the_id_of_the_list(alone: Home) -> None:
    room, chat = "0123456789abcdef" * 2, "0" * 32
    hit = {"conversation_id": room, "kind": "room", "title": "Tea", "role": "assistant", "snippet": "x"}
    with in_thread(LogChatServer(chat)) as server:
        server.on("GET", "/api/search", answers_json({"hits": [hit]}))
        where = ("--url", server.url)
        assert alone.main("conversations", "search", "x", *where).stdout.startswith(f"{room}  Tea")
        server.on("GET", "/api/rooms", answers_json({"rooms": [{"id": room, "name": "Tea"}]}))
        assert alone.main("conversations", "search", "x", *where).stdout.startswith(f"{room[:8]}  Tea")


def test_what_is_nowhere_is_said_on_stderr(home: Home) -> None:
    ran = home.main("conversations", "search", "zzyzx", '"(*')
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "nothing was found\n")


# --- show ------------------------------------------------------------------------------------------------


def test_one_is_shown_with_what_is_set_in_it_and_as_json_what_the_server_answered(home: Home) -> None:
    id_ = begin(home, "Shown alone", "What is 2 + 3?")
    assert "default (all except the tools for rooms" in home.main("conversations", "show", id_).stdout
    how = {"system_prompt": "Be brief.", "enabled_tools": ["calculator"], "max_cost": 1.5, "temperature": 0.5}
    home.api("PATCH", f"/api/conversations/{id_}", how)
    ran = home.main("conversations", "show", "Shown al")
    assert ran.returncode == 0
    facts = dict(line.split("  ", 1) for line in ran.stdout.splitlines())
    told = {label: text.strip() for label, text in facts.items()}
    assert (told["id"], told["title"], told["model"]) == (id_, "Shown alone", "demo model")
    assert (told["system prompt"], told["tools"], told["budget"]) == ("Be brief.", "calculator", "$1.50")
    assert (told["temperature"], told["used"].split()[-1]) == ("0.5", "tokens")
    value = json.loads(home.main("conversations", "show", id_, "--output", "json").stdout)
    assert value == home.api("GET", f"/api/conversations/{id_}")


@pytest.mark.slow
def test_a_question_that_is_not_taken_leaves_no_empty_conversation(home: Home) -> None:
    (home.folder / "long.txt").write_text("a" * 1_000_001)
    before = home.api("GET", "/api/conversations")
    with (home.folder / "long.txt").open() as long:
        ran = subprocess.run(
            [*PROGRAM, "ask"], stdin=long, env=home.environ, capture_output=True, text=True, check=False
        )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "1,000,000 characters" in ran.stderr
    assert home.api("GET", "/api/conversations") == before


# --- delete and rename -----------------------------------------------------------------------------------


def test_a_conversation_is_deleted_by_the_beginning_of_its_title(home: Home) -> None:
    id_ = begin(home, "Gone soon")
    asked = home.main("conversations", "delete", "Gone")
    assert (asked.returncode, "--yes" in one_line(asked.stderr)) == (2, True)
    ran = home.main("conversations", "delete", "Gone", "--yes")
    assert (ran.returncode, ran.stdout) == (0, f"deleted {id_} (Gone soon)\n")
    assert "Gone soon" not in titles(home)


@pytest.mark.slow
def test_a_person_is_asked_first(home: Home) -> None:
    begin(home, "Kept after all")
    command = [*PROGRAM, "conversations", "delete", "Kept after"]
    with terminal(command, dict(home.environ), home.folder) as screen:
        screen.wait_for_bytes(b"[y/N]")
        screen.send("n\r")
        assert screen.wait_for_end() == 0
        assert b"kept" in bytes(screen.raw)
    assert "Kept after all" in titles(home)


def test_a_conversation_gets_another_title(home: Home) -> None:
    id_ = begin(home, "Old title")
    ran = home.main("conversations", "rename", "Old", "New", "title")
    assert (ran.returncode, ran.stdout) == (0, f"renamed {id_} (New title)\n")
    told = json.loads(home.main("conversations", "rename", id_, "Newer", "--output", "json").stdout)
    assert (told["id"], told["title"]) == (id_, "Newer")


@pytest.mark.parametrize("command", ["show zzyzx", "delete zzyzx --yes", "rename zzyzx New", "export zzyzx"])
def test_one_that_is_not_there_is_code_4(home: Home, command: str) -> None:
    ran = home.main("conversations", *command.split())
    assert (ran.returncode, ran.stdout) == (4, "")
    assert "conversations list names them" in one_line(ran.stderr)


def test_a_beginning_that_fits_two_names_both(home: Home) -> None:
    ids = [begin(home, "Twin A"), begin(home, "Twin B")]
    ran = home.main("conversations", "rename", "Twin", "New")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert all(id_ in one_line(ran.stderr) for id_ in ids)


@pytest.mark.parametrize(
    "command",
    [
        "conversations",
        "conversations nonsense",
        "conversations list extra",
        "conversations list --output xml",
        "conversations search",
        "conversations search x --limit 0",
        "conversations delete",
        "conversations rename",
        "conversations rename x",
        "conversations show",
        "conversations export",
        "conversations export x --format toml",
        "tools",
        "tools nonsense",
        "tools forget",
    ],
)
def test_wrong_usage_is_one_line(alone: Home, command: str) -> None:
    ran = alone.main(*command.split())
    assert (ran.returncode, ran.stdout) == (2, "")
    assert one_line(ran.stderr)
    assert not alone.data.exists()


# --- tools -----------------------------------------------------------------------------------------------


def test_tools_are_listed_with_what_asks_first(home: Home) -> None:
    rows = home.main("tools", "list").stdout.splitlines()
    assert any(row.split()[:3] == ["calculator", "never", "asks"] for row in rows)
    assert any(row.split()[:3] == ["run_command", "asks", "first"] for row in rows)
    (pause,) = (row for row in rows if row.startswith("pause_room"))
    assert pause.endswith("pause a running room (only where you name it)")
    value = json.loads(home.main("tools", "list", "--output", "json").stdout)
    assert value == home.api("GET", "/api/tools")


def test_a_rule_is_listed_and_taken_back_by_its_pattern(alone: Home) -> None:
    with in_thread(LogChatServer()) as server:
        where = ("--url", server.url)
        listed = alone.main("tools", "rules", *where)
        assert "run_command(make *)" in listed.stdout
        told = json.loads(alone.main("tools", "rules", *where, "--output", "json").stdout)
        assert told == {"rules": [RULE]}
        ran = alone.main("tools", "forget", "run_command(make *)", *where)
        assert (ran.returncode, ran.stdout) == (0, "asks again: run_command(make *)\n")
        assert server.asked("DELETE", "/api/tools/rules/3")
        gone = alone.main("tools", "forget", "4", *where)
    assert (gone.returncode, gone.stdout) == (4, "")


def test_without_rules_stderr_says_so(home: Home) -> None:
    ran = home.main("tools", "rules")
    assert (ran.returncode, ran.stdout) == (0, "")
    assert "nothing was allowed" in ran.stderr


def test_rules_have_short_ids_and_name_a_conversation_by_its_short_one(alone: Home) -> None:
    long, other = "0123456789abcdef" * 2, "fedcba9876543210" * 2
    rules = [
        {**RULE, "id": long, "conversation_id": other},
        {**RULE, "id": "f" * 32, "conversation_id": "gone"},
    ]
    with in_thread(LogChatServer()) as server:
        server.on("GET", "/api/tools/rules", answers_json({"rules": rules}))
        server.on(
            "GET", "/api/conversations", answers_json({"conversations": [{"id": other, "title": "It"}]})
        )
        ran = alone.main("tools", "rules", "--url", server.url)
        first, second = [row.split() for row in ran.stdout.splitlines()[1:]]
        assert (first[0], first[4]) == (long[:8], other[:8])
        assert (second[0], second[4]) == ("f" * 8, "gone")
        told = json.loads(alone.main("tools", "rules", "--url", server.url, "--output", "json").stdout)
        assert told == {"rules": rules}
        server.on("DELETE", f"/api/tools/rules/{long}", answers_json({"rules": []}))
        assert alone.main("tools", "forget", first[0], "--url", server.url).returncode == 0


def test_rules_say_where_they_hold_and_are_forgotten_by_their_pattern(alone: Home) -> None:
    with in_thread(LogChatServer()) as server:
        server.on("GET", "/api/tools/rules", answers_json({"rules": [EXACT, FILE]}))
        where = ("--url", server.url)
        listed = alone.main("tools", "rules", *where)
        rows = [[cell for cell in row.split("  ") if cell] for row in listed.stdout.splitlines()[1:]]
        assert [[cell.strip() for cell in row[1:4]] for row in rows] == [
            ["run_command(ls *.py)", "/code/x", "this call alone"],
            ["write_file(a)", "/code/x, conversation c1", "this file, any content"],
        ]
        server.on("DELETE", "/api/tools/rules/4", answers_json({"rules": []}))
        ran = alone.main("tools", "forget", "run_command(ls *.py)", *where)
        assert ran.stdout == "asks again: run_command(ls *.py)\n"


# --- other servers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        "conversations list",
        "conversations search x",
        "conversations rename 7 New",
        "tools list",
        "tools rules",
    ],
)
def test_what_a_server_does_not_offer_is_one_line_and_code_6(alone: Home, command: str) -> None:
    with in_thread(OriginalChatServer()) as server:
        ran = alone.main(*command.split(), "--url", server.url)
    assert (ran.returncode, ran.stdout) == (6, "")
    assert "offer" in one_line(ran.stderr)


@pytest.mark.parametrize("command", ["conversations list", "rooms list"])
def test_an_answer_that_is_no_list_is_said_and_not_taken_for_an_empty_one(alone: Home, command: str) -> None:
    with in_thread(FakeServer()) as server:
        server.on("GET", f"/api/{command.split()[0]}", answers_json({"message": "welcome"}))
        ran = alone.main(*command.split(), "--url", server.url)
    assert (ran.returncode, ran.stdout) == (4, "")
    assert "not a list of " in one_line(ran.stderr)


def test_nothing_hostile_in_a_list_reaches_the_terminal(alone: Home) -> None:
    about: dict[str, Any] = {"id": f"c1{HOSTILE}", "title": HOSTILE, "model": HOSTILE, "status": HOSTILE}
    hit = {"conversation_id": f"c{HOSTILE}", "title": HOSTILE, "role": HOSTILE, "snippet": f"\2{HOSTILE}\3"}
    with in_thread(LogChatServer()) as server:
        server.on("GET", "/api/conversations", answers_json({"conversations": [about]}))
        server.on("GET", "/api/search", answers_json({"hits": [hit]}))
        server.on("GET", "/api/tools", answers_json({"tools": [{"name": HOSTILE, "description": HOSTILE}]}))
        server.on("GET", "/api/tools/rules", answers_json({"rules": [{**RULE, "pattern": HOSTILE}]}))
        for command in ("conversations list", "conversations search x", "tools list", "tools rules"):
            for form in ("text", "json"):
                ran = alone.main(*command.split(), "--url", server.url, "--output", form)
                assert ran.returncode == 0, ran
                assert "52;c;aGk=" in ran.stdout
                assert not set(ran.stdout + ran.stderr) & set("\x1b\x07\x9b\u202e\2\3")
