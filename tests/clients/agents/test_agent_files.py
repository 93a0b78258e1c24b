"""Files that an agent shares (protocols.md §4): confined, whatever path it names and whatever lies there."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.clients.agents.files import MAX_FILE_BYTES, MAX_FILES, AgentFiles
from agent_tui.clients.agents.socket import AgentSocketClient
from agent_tui.model import events as ev
from agent_tui.model.errors import ConfigError, ConnectFailed
from tests.clients.agents.agent_socket.asking import ask
from tests.fakes.agents import agent_socket_server as fake
from tests.fakes.agents.agent_socket_server import AgentSocketServer, agent_socket_server

SECRET = "not for the agent"


@pytest.fixture
def files(tmp_path: Path) -> AgentFiles:
    (tmp_path / "workspace" / "out").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text(SECRET)
    return AgentFiles(tmp_path / "workspace", tmp_path / "downloads")


@pytest.fixture
async def server() -> AsyncIterator[AgentSocketServer]:
    async with agent_socket_server() as running:
        yield running


def save_file(files: AgentFiles) -> list[str]:
    return sorted(one.name for one in files.downloads.iterdir()) if files.downloads.is_dir() else []


# --- what the agent offers -----------------------------------------------------------------------------


def test_an_offered_file_is_copied_to_the_downloads_and_overwrites_nothing(files: AgentFiles) -> None:
    (files.workspace / "out" / "a.tar.gz").write_bytes(b"\x00new")
    first = files.take("out/a.tar.gz")
    files.answer()
    second = files.take("out/a.tar.gz")
    assert [first.name, second.name] == ["a.tar.gz", "a.tar (2).gz"]
    assert first.read_bytes() == second.read_bytes() == b"\x00new"
    assert first.parent == files.downloads


@pytest.mark.parametrize(
    "path",
    [
        "../secret.txt",
        "out/../../secret.txt",
        "/etc/passwd",
        "~/secret.txt",
        "\\\\server\\share",
        "",
        ".",
        "..",
        "a\0b",
        "x" * 5000,
        "d/" * 1000 + "f",
    ],
)
def test_a_path_that_leads_out_of_the_workspace_is_refused(files: AgentFiles, path: str) -> None:
    with pytest.raises(ConfigError, match="was not saved"):
        files.take(path)
    assert save_file(files) == []


def test_an_absolute_path_into_the_workspace_is_refused_too(files: AgentFiles) -> None:
    (files.workspace / "a.txt").write_text("a")
    with pytest.raises(ConfigError, match="not relative"):
        files.take(str(files.workspace / "a.txt"))


def test_no_link_is_followed_wherever_it_leads(files: AgentFiles, tmp_path: Path) -> None:
    (files.workspace / "file").symlink_to(tmp_path / "secret.txt")
    (files.workspace / "folder").symlink_to(tmp_path)
    (files.workspace / "inside").symlink_to(files.workspace / "out")
    for path in ("file", "folder/secret.txt", "inside/x"):
        with pytest.raises(ConfigError, match="leads over a link"):
            files.take(path)
    assert save_file(files) == []


def test_a_file_that_is_not_there_is_said(files: AgentFiles) -> None:
    for path in ("missing.txt", "missing/too.txt"):
        with pytest.raises(ConfigError, match="There is no such file"):
            files.take(path)


def test_a_workspace_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no such file"):
        AgentFiles(tmp_path / "none", tmp_path / "downloads").take("a")


def test_what_is_no_ordinary_file_is_refused_at_once(files: AgentFiles) -> None:
    os.mkfifo(files.workspace / "pipe")
    for path in ("pipe", "out"):
        with pytest.raises(ConfigError, match="not an ordinary file"):
            files.take(path)


def test_two_gigabytes_are_refused_and_nothing_is_left_of_them(files: AgentFiles) -> None:
    with (files.workspace / "big").open("wb") as big:
        big.truncate(2 * 1024**3)  # holes: takes no space
    with pytest.raises(ConfigError, match=f"larger than {MAX_FILE_BYTES:,} bytes"):
        files.take("big")
    assert not files.downloads.exists()  # not a byte was copied


def test_a_file_that_grows_while_it_is_copied_is_refused_and_nothing_is_left(tmp_path: Path) -> None:
    """What /proc tells has no size until it is read, as a file that grows."""
    growing = Path("/proc/self/status")
    if not growing.exists() or growing.stat().st_size:
        pytest.skip("no file here that says it is empty and is not")
    files = AgentFiles(growing.parent.resolve(), tmp_path / "downloads", max_bytes=10)
    with pytest.raises(ConfigError, match="larger than 10 bytes"):
        files.take("status")
    assert save_file(files) == []


def test_a_file_that_is_offered_again_and_again_is_copied_once_until_it_changes(files: AgentFiles) -> None:
    offered = files.workspace / "a"
    offered.write_text("one")
    assert {files.take("a") for _ in range(400)} == {files.downloads / "a"}
    offered.write_text("a second version")
    assert files.take("a").name == "a (2)"
    assert save_file(files) == ["a", "a (2)"]


def test_no_more_files_of_one_answer_are_saved_than_a_person_looks_through(files: AgentFiles) -> None:
    for number in range(MAX_FILES + 1):
        (files.workspace / f"{number}").write_text("x")
    for number in range(MAX_FILES):
        files.take(f"{number}")
    with pytest.raises(ConfigError, match=f"At most {MAX_FILES} files of one answer"):
        files.take(f"{MAX_FILES}")
    files.answer()
    files.take(f"{MAX_FILES}")
    assert len(save_file(files)) == MAX_FILES + 1


def test_the_files_of_one_answer_have_a_size_together(tmp_path: Path) -> None:
    files = AgentFiles(tmp_path, tmp_path / "downloads", max_answer_bytes=10)
    for name, size in (("a", 6), ("b", 5), ("c", 4)):
        (tmp_path / name).write_text("x" * size)
    files.take("a")
    with pytest.raises(ConfigError, match="At most 10 bytes of one answer"):
        files.take("b")
    files.take("c")
    assert save_file(files) == ["a", "c"]


def test_the_folders_for_offered_files_have_safe_names_and_are_no_links(
    files: AgentFiles, tmp_path: Path
) -> None:
    (files.workspace / "a").write_text("a")
    apart = AgentFiles(files.workspace, tmp_path / "project", ("received", "../A\nda"))
    assert apart.take("a") == tmp_path / "project" / "received" / "_A_da" / "a"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "received").symlink_to(tmp_path / "project")
    with pytest.raises(ConfigError, match="was not saved"):
        AgentFiles(files.workspace, tmp_path / "other", ("received", "Ada")).take("a")


@pytest.mark.parametrize(
    ("name", "saved_as"),
    [
        ("two\nlines", "two_lines"),
        ("\x1b[2Jclear", "_[2Jclear"),
        ("evil\u202etxt.exe", "evil_txt.exe"),
        (".bashrc", "bashrc"),
        ("...", "file"),
        ("-rf", "rf"),
        (".-. -x", "x"),
        ("a" * 240 + ".png", "a" * 196 + ".png"),
        ("日" * 80 + ".txt", "日" * 65 + ".txt"),
        ("back\\slash", "back_slash"),
    ],
)
def test_a_name_that_a_terminal_would_obey_is_made_harmless(
    files: AgentFiles, name: str, saved_as: str
) -> None:
    (files.workspace / name).write_text("x")
    assert files.take(name).name == saved_as
    assert save_file(files) == [saved_as]


@given(path=st.text(max_size=40) | st.lists(st.sampled_from(["..", ".", "a", "/", "out"])).map("/".join))
def test_no_path_brings_anything_from_elsewhere(path: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    base = tmp_path_factory.mktemp("files")
    for folder in ("workspace/out", "a", "out"):
        (base / folder).mkdir(parents=True)
    for place in ("a/a", "out/a", "a.txt"):
        (base / place).write_text(SECRET)
    (base / "workspace" / "a").write_text("shared")
    files = AgentFiles(base / "workspace", base / "downloads")
    try:
        found = files.take(path)
    except ConfigError:
        return
    assert found.parent == files.downloads
    assert found.read_text() == "shared"


# --- what the person attaches --------------------------------------------------------------------------


def test_an_attachment_is_copied_into_the_workspace_and_overwrites_nothing(
    files: AgentFiles, tmp_path: Path
) -> None:
    file = tmp_path / "notes.md"
    file.write_text("# Notes")
    assert [files.put(file), files.put(file)] == ["attachments/notes.md", "attachments/notes (2).md"]
    assert (files.workspace / "attachments" / "notes (2).md").read_text() == "# Notes"


def test_an_attachment_that_lies_in_the_workspace_is_named_where_it_is(files: AgentFiles) -> None:
    file = files.workspace / "out" / "a.txt"
    file.write_text("a")
    assert files.put(file) == "out/a.txt"
    assert sorted(one.name for one in files.workspace.iterdir()) == ["out"]


def test_an_attachment_goes_over_no_link_that_the_agent_made(files: AgentFiles, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (files.workspace / "attachments").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="cannot be attached"):
        files.put(tmp_path / "secret.txt")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_what_cannot_be_attached_is_said(files: AgentFiles, tmp_path: Path) -> None:
    with (tmp_path / "big").open("wb") as big:
        big.truncate(2 * 1024**3)
    for name in ("missing", "workspace", "big", "workspace/out"):
        with pytest.raises(ConfigError, match="cannot be attached"):
            files.put(tmp_path / name)


def test_links_in_a_circle_cannot_be_attached_or_attached_to(files: AgentFiles, tmp_path: Path) -> None:
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    (tmp_path / "file").write_text("x")
    for folder, file in ((circle, tmp_path / "file"), (files.workspace, circle)):
        with pytest.raises(ConfigError, match="cannot be attached"):
            AgentFiles(folder, tmp_path / "downloads").put(file)


# --- over the socket -----------------------------------------------------------------------------------


async def test_files_travel_both_ways_where_the_workspace_is_known(
    server: AgentSocketServer, files: AgentFiles, tmp_path: Path
) -> None:
    (files.workspace / "out" / "b.txt").write_text("from the agent")
    server.answers = [[fake.file("out/b.txt"), fake.file("../secret.txt"), fake.text("Done"), fake.end()]]
    client = AgentSocketClient(server.url, files=files, environ={})
    events = [event async for event in ask(client, "Hi", [tmp_path / "secret.txt"], turn_id="t1")]
    assert server.received[0]["attachments"] == ["attachments/secret.txt"]
    assert (files.workspace / "attachments" / "secret.txt").read_text() == SECRET
    notes = [(event.note, event.about) for event in events if isinstance(event, ev.TurnNoted)]
    assert notes[:3] == [
        ("file_offered", "out/b.txt"),
        ("file_saved", str(files.downloads / "b.txt")),
        ("file_offered", "../secret.txt"),
    ]
    assert notes[3][0] == "file_refused"
    assert "leads out of" in notes[3][1]
    assert (files.downloads / "b.txt").read_text() == "from the agent"
    assert events[-1] == ev.TurnDone("t1", "", 7)
    await client.aclose()


async def test_without_a_workspace_the_path_is_shown_and_attaching_says_why_it_cannot(
    server: AgentSocketServer, tmp_path: Path
) -> None:
    server.answers = [[fake.file("out/b.txt"), fake.end()]]
    client = AgentSocketClient(server.url, environ={})
    with pytest.raises(ConfigError, match="workspace = DIR"):
        await anext(ask(client, "Hi", [tmp_path / "a"]))
    assert server.paths == []
    events = [event async for event in ask(client, "Hi", turn_id="t1")]
    assert events[0] == ev.TurnNoted("t1", "file_offered", about="out/b.txt")
    assert len(events) == 2
    await client.aclose()


async def test_nothing_is_copied_for_an_agent_that_is_not_there(
    server: AgentSocketServer, files: AgentFiles, tmp_path: Path
) -> None:
    server.refusals = [503]
    client = AgentSocketClient(server.url, files=files, environ={})
    with pytest.raises(ConnectFailed):
        await anext(ask(client, "Hi", [tmp_path / "secret.txt"]))
    assert not (files.workspace / "attachments").exists()
    await client.aclose()
