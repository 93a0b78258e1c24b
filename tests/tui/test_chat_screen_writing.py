"""Writing in a chat: files, pastes, commands, the editor, what was asked before."""

from __future__ import annotations

import base64
import stat
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.clients.records import ToolRule
from agent_tui.model import events as ev
from agent_tui.model.errors import Refused
from agent_tui.model.images import MAX_IMAGE_BYTES, image_data
from tests.fakes.pictures import PNG
from tests.state.chat_events import message, started, words
from tests.tui.one_chat import Chat, opened, said
from tui.chat.drafts import KeptDraft, Waiting, keep_draft, load_draft, moved
from tui.chat.files import Files, Unfit, begun_in, pasted_paths, read, with_named, written
from tui.chat.first import NEW
from tui.live.commands import COMMANDS, Kind, completion, typed
from tui.live.exporting import path_for_export
from widgets.choices import ChoiceList


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))
    project = tmp_path / "project"
    (project / "src").mkdir(parents=True)
    (project / "build").mkdir()
    (project / ".git").mkdir()
    (project / ".gitignore").write_text("build/\n*.log\n")
    for name in ("Makefile", "src/main.py", "build/out.txt", "noise.log", ".git/config", "a b.txt"):
        (project / name).write_text(f"this is {name}\n")
    monkeypatch.chdir(project)
    return project


def composer_text(chat: Chat) -> str:
    return chat.app.chat.composer.line.text


async def settled(chat: Chat) -> str:
    """The screen once the files were listed."""
    while not chat.app.chat.composer.files.is_listed:
        await chat.pilot.pause()
    return await chat.text()


def _write(name: str, data: bytes) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(data)


def _read(name: str) -> str:
    return Path(name).read_text(encoding="utf-8")


def _link_in_a_circle(name: str) -> None:
    path = Path(name)
    path.symlink_to(path.name)


# --- files -----------------------------------------------------------------------------------------------


async def test_a_path_behind_an_at_is_completed_and_its_file_goes_along() -> None:
    async with opened() as chat:
        await chat.write("What is in @Mak")
        assert "▸ Makefile" in await settled(chat)
        await chat.press("tab")
        assert composer_text(chat) == "What is in @Makefile "
        await chat.press("enter")
        (question,) = chat.link.questions
        assert question.content == "What is in @Makefile "
        assert [(file.name, file.content) for file in question.attachments] == [
            ("Makefile", "this is Makefile\n")
        ]


async def test_what_git_ignores_is_not_offered() -> None:
    files = Files(Path.cwd())
    files.look()
    assert files.fitting("", 50) == [".gitignore", "Makefile", "a b.txt", "src/main.py"]
    assert files.fitting("main", 5) == ["src/main.py"]
    assert files.fitting("OUT", 5) == []


def test_a_gitignore_that_would_take_forever_is_not_believed() -> None:
    Path(".gitignore").write_text("*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n" + "c*\n")
    _write("a" * 200, b"")
    _write("cat", b"")
    files = Files(Path.cwd())
    files.look()
    assert files.fitting("a" * 200, 5) == ["a" * 200]
    assert files.fitting("cat", 5) == []


def test_a_link_to_itself_is_offered_beside_the_others() -> None:
    _write("folder/below/a.txt", b"")
    _link_in_a_circle("folder/loop")
    files = Files(Path.cwd())
    here = Path.cwd() / "folder"
    assert files.fitting(f"{here}/", 5) == [f"{here}/below/", f"{here}/loop"]


def test_of_too_many_files_the_nearer_ones_are_offered() -> None:
    for path in ("a/deep/er/one.c", "a/deep/er/two.c", "b/near.c"):
        _write(path, b"")
    files = Files(Path.cwd(), most=6)
    files.look()
    assert files.fitting(".c", 5) == ["b/near.c", "a/deep/er/one.c"]


def test_a_path_with_a_space_is_quoted_and_found_again() -> None:
    files = Files(Path.cwd())
    assert written("a b.txt") == '@"a b.txt"'
    assert begun_in('see @"a b') == "a b"
    assert [name for name, _ in files.named_in('see @"a b.txt", and @Makefile.')] == ["a b.txt", "Makefile"]


def test_words_with_an_at_that_are_no_files_stay_words() -> None:
    assert with_named("mail me@host, @property and @nothing.py", [], Files(Path.cwd())) == []


def test_a_file_that_is_no_text_or_too_large_says_so(tmp_path: Path) -> None:
    binary = tmp_path / "x.bin"
    binary.write_bytes(b"\0\1\2")
    large = tmp_path / "large.txt"
    large.write_text("x" * 101)
    with pytest.raises(Unfit, match=r"x\.bin is not text"):
        read("x.bin", binary)
    with pytest.raises(Unfit, match=r"large\.txt is too large: 101 B, and only 100 B are left"):
        read("large.txt", large, room=100)
    with pytest.raises(Unfit, match="cannot be read: No such file"):
        read("gone", tmp_path / "gone")


async def test_a_file_that_cannot_go_along_keeps_the_question_here() -> None:
    _write("x.bin", b"\0\1")
    async with opened() as chat:
        text = await chat.write("see @x.bin", "enter")
        assert "x.bin is not text" in text
        assert chat.link.questions == []
        assert composer_text(chat) == "see @x.bin"


async def test_a_pasted_path_is_attached_and_backspace_drops_it() -> None:
    async with opened() as chat:
        text = await chat.paste(f"{Path.cwd()}/Makefile")
        assert "attaches" in text
        assert "17 B" in text
        assert composer_text(chat) == ""
        assert "17 B" not in await chat.press("backspace")


@pytest.mark.parametrize("form", ["'{}'", "file://{}", '"{}"'])
def test_paths_are_taken_as_terminals_write_them(form: str) -> None:
    path = Path.cwd() / "a b.txt"
    files = Files(Path.cwd())
    assert pasted_paths(form.format(path), files) == [("a b.txt", path)]
    assert pasted_paths(str(path).replace(" ", "\\ "), files) == [("a b.txt", path)]
    assert pasted_paths("Makefile", files) == []  # a word
    _write("it's.txt", b"so")
    of_two_lines = f"{path}\n{Path.cwd()}/it's.txt\n"
    assert [name for name, _ in pasted_paths(of_two_lines, files)] == ["a b.txt", "it's.txt"]


async def test_several_files_dropped_at_once_are_all_attached_or_stay_words() -> None:
    _write("x.bin", b"\0")
    here = Path.cwd()
    async with opened() as chat:
        text = await chat.paste(f"'{here}/a b.txt' {here}/Makefile ")
        assert "attached: a b.txt 16 B · Makefile 17 B" in text
        assert composer_text(chat) == ""
        text = await chat.paste(f"{here}/src/main.py {here}/x.bin")
        assert "x.bin is not text" in text
        assert composer_text(chat).endswith("x.bin")
        assert [file.name for file in chat.app.chat.composer.attachments] == ["a b.txt", "Makefile"]
        await chat.paste(f" and {here}/Makefile or {here}/Makefile")
        assert composer_text(chat).endswith(f"or {here}/Makefile")


async def test_a_file_that_there_is_not_is_told_once_before_the_question_is_sent() -> None:
    async with opened() as chat:
        text = await chat.write("See @nothere.txt, @src and @Makefile", "enter")
        assert "no such file: @nothere.txt, @src – enter sends it as words" in text
        assert chat.link.questions == []
        await chat.press("enter")
        (question,) = chat.link.questions
        assert [file.name for file in question.attachments] == ["Makefile"]
        assert composer_text(chat) == ""


@pytest.mark.parametrize(
    "text",
    ["to a@b.com", "ask @alice", '@app.get("/x") def f()', "@3.5 @v1.2", "@https://a.org/b.txt", "@ @..."],
)
def test_an_at_that_names_no_path_is_not_taken_for_a_missing_file(text: str) -> None:
    assert Files(Path.cwd()).missing_in(text) == []


async def test_a_long_paste_becomes_an_attachment_and_a_short_one_is_written() -> None:
    async with opened() as chat:
        await chat.paste("a short\rtext")
        assert composer_text(chat) == "a short\ntext"
        await chat.paste("line\r" * 31)  # as terminals send the ends of lines
        text = await chat.paste("x" * 2001)
        assert "pasted text 1 155 B · pasted text 2 2.0 kB" in text
        await chat.press("enter")
        (question,) = chat.link.questions
        assert [file.name for file in question.attachments] == ["pasted text 1", "pasted text 2"]
        assert "pasted text" not in await chat.text()


async def test_attachments_wait_with_their_question_and_with_the_draft() -> None:
    async with opened(message("q9", "x")) as chat:
        await chat.send(started("a9", "q9"))
        await chat.paste("line\n" * 31)
        await chat.write("What is that?", "enter")
        await chat.paste("y" * 2001)
    async with opened(message("q9", "x")) as chat:
        text = await chat.text()
        assert "on hold: What is that? (1)" in text
        assert "attached: pasted text" in text
        (waits,) = chat.app.chat.composer.queue
        assert waits.attachments[0].content == "line\n" * 31


async def test_attachments_of_a_stored_question_are_rows_that_unfold() -> None:
    files = (ev.Attachment("Makefile", "all: build"), ev.Attachment("b.txt", "more"))
    async with opened(message("q1", "See.", attachments=files)) as chat:
        text = await chat.text()
        assert "▸ attached      Makefile" in text
        await chat.press("tab", "space")
        assert "│ all: build" in await chat.text()
        text = await chat.press("shift+up", "shift+down", "o")
        assert text.splitlines()[0].strip() == "b.txt"
        assert "more" in text


async def test_an_image_is_attached_by_its_bytes_and_shown_as_a_row() -> None:
    (Path.cwd() / "снимок.png").write_bytes(PNG)
    async with opened() as chat:
        text = await chat.paste(f"{Path.cwd()}/снимок.png")
        assert f"снимок.png {len(PNG)} B" in text
        await chat.write("See @снимок.png.", "enter")
        (question,) = chat.link.questions
        assert [(file.name, file.type, image_data(file)) for file in question.attachments] == [
            ("снимок.png", "image/png", PNG)
        ]
    async with opened(message("q1", "See.", attachments=question.attachments)) as chat:
        text = await chat.text()
        assert "▸ attached      снимок.png" in text
        assert f"PNG · 3 × 2 · {len(PNG)} B" in text
        assert base64.b64encode(PNG).decode() not in await chat.press("tab", "space")


async def test_an_image_that_is_too_large_is_not_attached() -> None:
    (Path.cwd() / "big.png").write_bytes(PNG + b"\0" * MAX_IMAGE_BYTES)
    async with opened() as chat:
        assert "big.png is too large" in await chat.paste(f"{Path.cwd()}/big.png")


async def test_a_model_that_cannot_see_images_says_so() -> None:
    async with opened(message("q1", "x")) as chat:
        text = await chat.send(started("a1", "q1"), ev.TurnNoted("a1", "no_images"), words("So"))
        assert "this model cannot see images" in text


def test_what_is_kept_on_disk_is_the_owners_alone_and_survives_rubbish(tmp_path: Path) -> None:
    name = "../../evil\n\ud800"
    kept = KeptDraft((ev.Attachment("a", "b"),), (Waiting("q", (ev.Attachment("c", "d"),), "k"),))
    assert keep_draft(name, kept)
    (path,) = (tmp_path / "data" / "drafts").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert load_draft(name) == kept
    for rubbish in ("", "[", "7", '{"queue": [7, {}], "attachments": {"a": 1}}', "\0"):
        path.write_text(rubbish)
        assert load_draft(name) == KeptDraft()
    assert keep_draft(name, KeptDraft())
    assert list((tmp_path / "data" / "drafts").iterdir()) == []


def test_an_order_changes_one_place_at_a_time() -> None:
    one, two = Waiting("1"), Waiting("2")
    assert moved((one, two), 0, 1) == (two, one)
    assert moved((one, two), 0, -1) == (one, two)
    assert moved((one, two), 1, 1) == (one, two)


# --- commands --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("/model", ("model", "")),
        ("/title  A name ", ("title", "A name")),
        ("/system be\nbrief", ("system", "be\nbrief")),
        ("/modle x", ("modle", "x")),
        ("/etc/hosts is what?", None),
        ("what is /model", None),
        ("/", None),
        ("// comment", None),
    ],
)
def test_what_is_a_command(text: str, command: tuple[str, str] | None) -> None:
    assert typed(text) == command


def offered(text: str, kind: Kind = "chat") -> list[str]:
    tools = {"tools": ["read_file", "run_command"]}
    return [choice.word for choice in completion(text, kind, tools).choices]


def test_commands_and_their_words_are_completed() -> None:
    assert offered("/t")[:5] == ["/tools", "/title", "/theme", "/thinking", "/temperature"]
    assert offered("/thinking o") == ["on", "off"]
    assert offered("/tools read_file ru") == ["run_command"]
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
    assert {"/quit", "/new", "/mute", "/help", "/export", "/copy"} <= set(offered("/", "voice"))
    assert "/model" not in offered("/", "voice")
    names = [name for command in COMMANDS for name in (command.name, *command.also)]
    assert len(names) == len(set(names))


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


# --- the list of what may be written ---------------------------------------------------------------------


async def test_enter_runs_the_command_that_is_marked_and_tab_only_writes_it() -> None:
    async with opened() as chat:
        assert "▸ /help" in await chat.write("/he")
        assert composer_text(chat) == "/he"
        await chat.press("tab")
        assert composer_text(chat) == "/help "
        await chat.press("backspace", "backspace")
        assert "Commands" in await chat.press("enter")


async def test_arrows_and_ctrl_n_mark_another_one_and_esc_closes_the_list_until_another_word() -> None:
    async with opened() as chat:
        assert "▸ /help" in await chat.write("/")
        assert "▸ /model" in await chat.press("down")
        assert "▸ /new" in await chat.press("ctrl+n")
        assert "▸ /model" in await chat.press("up")
        assert "▸ /help" in await chat.press("up")
        text = await chat.press("escape")
        assert "/model" not in text
        assert composer_text(chat) == "/"
        assert "/model" not in await chat.write("m")
        await chat.press("backspace", "backspace")
        assert "▸ /model" in await chat.write("/m")


async def test_a_list_is_clicked() -> None:
    async with opened() as chat:
        await chat.write("/")
        await chat.pilot.click(ChoiceList, offset=(5, 1))
        await chat.text()
        assert composer_text(chat) == "/model "


async def test_what_is_listed_lies_above_the_line_on_a_small_screen_too() -> None:
    async with opened(size=(40, 8)) as chat:
        lines = (await chat.write("/")).splitlines()
        assert [line[1:7] for line in lines if "/" in line][:2] == ["▸ /hel", "  /mod"]
        assert lines[-2].startswith(" › /")


@pytest.mark.parametrize(
    ("command", "asked", "told"),
    [
        ("/title A new name", ["change {'title': 'A new name'}"], ""),
        ("/thinking on", ["change {'thinking_enabled': True}"], "thinking on"),
        ("/thinking maybe", [], "Use /thinking on, off or default"),
        ("/export x.md", [], "nothing to export yet"),
        ("/temperature 0.7", ["change {'temperature': 0.7}"], "temperature: 0.7"),
        ("/temperature default", ["change {'temperature': None}"], "default"),
        ("/temperature 3", [], "a number from 0 to 2"),
        ("/temperature nan", [], "a number from 0 to 2"),
        ("/system Be brief.", ["change {'system_prompt': 'Be brief.'}"], "system prompt: Be brief."),
        ("/system -", ["change {'system_prompt': ''}"], "No system prompt"),
        ("/model other", ["change {'model': 'other'}"], "other"),
        ("/tools ", ["tools"], "MCP server slow: it ended␛[2J"),
        ("/tools none", ["tools", "change {'enabled_tools': []}"], "tools: none"),
        ("/tools all", ["tools", "change {'enabled_tools': ['read_file', 'run_command']}"], "run_command"),
        ("/tools rm", ["tools"], "no tool called rm"),
        ("/nothing", [], "unknown command /nothing"),
        ("/stop", [], "nothing to stop"),
    ],
)
async def test_a_command_does_what_it_says(command: str, asked: list[str], told: str) -> None:
    async with opened() as chat:
        text = await chat.write(command, "enter")
        assert chat.asked == asked
        assert told in text
        assert chat.link.questions == []


@pytest.mark.parametrize(
    "command",
    ["/temperature 9", "/thinking maybe", "/tools rm", "/workspace /no/such/folder", "/export x.exe"],
)
async def test_a_command_that_is_refused_stays_in_the_line(command: str) -> None:
    async with opened(message("q1", "Look.")) as chat:
        chat.link.is_embedded = True
        await chat.write(command, "enter")
        assert composer_text(chat) == command


@pytest.mark.parametrize(("folder", "is_embedded"), [("~nobody-is-called-so", False), ("x" * 300, True)])
async def test_a_folder_that_cannot_be_looked_at_is_not_found(folder: str, is_embedded: bool) -> None:
    async with opened() as chat:
        chat.link.is_embedded = is_embedded
        chat.app.chat.composer.line.put(f"/workspace {folder}")
        assert "folder not found" in await chat.press("enter")
        assert chat.asked == []


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="there such a path is one that does not exist")
async def test_links_in_a_circle_are_no_folder_of_another_machine() -> None:
    _link_in_a_circle("loop")
    async with opened() as chat:
        chat.link.is_embedded = False
        assert "folder not found" in await chat.write("/workspace loop", "enter")


async def test_a_command_that_the_server_refuses_stays_in_the_line_and_the_next_one_does_not() -> None:
    async with opened() as chat:
        chat.link.calls.refuse = Refused("no titles here")
        assert "no titles here" in await chat.write("/title Plan", "enter")
        assert composer_text(chat) == "/title Plan"
        chat.link.calls.refuse = None
        await chat.press("enter")
        assert composer_text(chat) == ""


async def test_tools_are_listed_on_a_page_by_the_names_that_the_command_takes() -> None:
    async with opened(enabled_tools=("run_command", "gone")) as chat:
        text = await chat.write("/tools", "enter")
        assert "Tools" in text.splitlines()[0]
        rows = [" ".join(line.split()) for line in text.splitlines()]
        assert "☐ read_file read a text file of the working folder" in rows
        assert "☑ run_command asks first" in rows
        assert "☑ gone not available now" in rows
        assert "tools: run_command gone" in text
        assert "/tools choose the tools: all, none, default, or their names" in text


async def test_the_tools_say_that_rules_of_an_earlier_version_are_suspended() -> None:
    async with opened() as chat:
        assert "suspended" not in await chat.write("/tools ", "enter")
        old = ToolRule("1", "run_command", "run_command(make -n *)", scope="suspended")
        chat.link.calls.known_rules = old, replace(old, id="2", conversation_id="elsewhere")
        await chat.press("escape")
        text = await chat.write("/tools ", "enter")
        assert "suspended rules from an earlier version: 1, listed in the settings" in text


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
        assert "in use · 128k context · $2.50 in, $10.00 out per million tokens" in row
        await chat.press("enter")
        assert not any(asked.startswith("change") for asked in chat.asked)  # it answers already


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


async def test_new_and_chats_open_another_one() -> None:
    async with opened(workspace="/srv/x") as chat:
        await chat.write("/new", "enter")
        like_this = {"model": "some-model", "provider_id": "local", "workspace": "/srv/x"}
        assert chat.app.opened == [(NEW, like_this)]
        assert chat.asked == []  # nothing is stored before a question is
        chat.link.calls.chats = [ev.ConversationInfo("other", title="Another")]
        assert "Another" in await chat.write("/chats", "enter")
        await chat.press("enter")
        assert chat.app.opened[1:] == [("other", {})]


async def test_the_chat_is_written_to_a_file_and_none_is_overwritten() -> None:
    async with opened(*said(1, "What?", "That.")) as chat:
        chat.link.calls.stored = said(1, "What?", "That.")
        assert "saved to out.md" in await chat.write("/export out.md", "enter")
        assert "That." in _read("out.md")
        assert "Makefile already exists" in await chat.write("/export Makefile", "enter")
        assert _read("Makefile") == "this is Makefile\n"


async def test_a_tilde_that_is_nobodys_home_is_a_name_like_any_other() -> None:
    async with opened(*said(1, "What?", "That.")) as chat:
        assert "~nobody-here/x.md" in await chat.write("/export ~nobody-here/x.md", "enter")
        assert chat.asked == ["messages"]


async def test_help_lists_the_commands() -> None:
    async with opened() as chat:
        text = await chat.write("/help", "enter")
        assert "/temperature" in text
        assert "rename the chat" in text


# --- words from elsewhere --------------------------------------------------------------------------------


async def test_what_was_asked_before_comes_back_by_arrow_and_by_search() -> None:
    async with opened() as chat:
        await chat.write("first thing", "enter")
        await chat.send(started("a1"), ev.TurnDone("a1", "a1"))
        await chat.write("second thing", "enter")
        await chat.send(started("a2"), ev.TurnDone("a2", "a2"))
        await chat.press("up", "up")
        assert composer_text(chat) == "first thing"
        await chat.press("down", "down")
        text = await chat.press("ctrl+r")
        assert text.index("second thing") < text.rindex("first thing")
        await chat.press(*"first", "enter")
        assert composer_text(chat) == "first thing"


async def test_without_an_editor_or_a_terminal_of_its_own_that_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with opened() as chat:
        assert "set EDITOR" in await chat.press("ctrl+e")
        monkeypatch.setenv("EDITOR", "true")
        assert "a terminal of its own" in await chat.press("ctrl+e")


async def test_on_a_low_screen_the_line_makes_room_once_it_is_left() -> None:
    async with opened(*said(1, "What?", "That."), size=(60, 9)) as chat:
        assert " › " in await chat.press("i")
        assert " › " not in await chat.press("tab")
        assert " › " in await chat.press("i")


async def test_on_a_small_screen_the_line_is_as_high_as_in_a_room() -> None:
    async with opened(size=(80, 24)) as chat:
        await chat.press(*"one", *["ctrl+j", "x"] * 9)
        assert chat.app.chat.composer.line.size.height == 4
        await chat.press("tab")
        assert chat.app.chat.composer.line.size.height == 1
