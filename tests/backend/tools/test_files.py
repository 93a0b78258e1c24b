"""Looking at files: lists, texts with line numbers, searches."""

from __future__ import annotations

import asyncio
import os
import threading
from pathlib import Path

import pytest

from agent_tui.backend.tools.files import MAX_ENTRIES, MAX_LINES, ListFiles, ReadFile
from agent_tui.backend.tools.searching import MAX_HITS, SearchFiles
from agent_tui.backend.tools.tool import Tool, ToolError, ToolOutput, ToolPlace
from tests.backend.tools.calls import called, refused


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A small project with things that are not to be seen."""
    for path, text in {
        "main.py": "def main() -> None:\n    print('Straße')\n",
        "src/one.py": "needle = 1\n\n# Needle two\n",
        "src/two.txt": "no such thing\n",
        "build/out.py": "needle\n",
        "src/cache/x.tmp": "needle\n",
        "src/cache/keep.tmp": "needle\n",
        ".git/config": "needle\n",
        ".gitignore": "build/\n*.tmp\n",
        "src/.gitignore": "!keep.tmp\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    return tmp_path


async def listed(folder: Path, **arguments: object) -> list[str]:
    output = await called(ListFiles(), folder, **arguments)
    assert output.success, output
    return [line.split("  ")[0] for line in output.content.splitlines()]


async def test_a_list_leaves_out_what_gitignore_names_and_takes_back_in_what_a_nearer_one_names(
    project: Path,
) -> None:
    assert await listed(project) == [
        *(".gitignore", "main.py", "src/", "src/.gitignore", "src/cache/", "src/cache/keep.tmp"),
        *("src/one.py", "src/two.txt"),
    ]
    assert await listed(project, path="src/cache") == ["src/cache/keep.tmp"]
    assert await listed(project, glob="*.py") == ["main.py", "src/one.py"]
    assert await listed(project, depth=1) == [".gitignore", "main.py", "src/"]


@pytest.mark.parametrize("tool", [ListFiles(), SearchFiles()])
async def test_a_walk_that_nobody_waits_for_any_more_goes_no_further(
    tool: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in "abc":
        (tmp_path / name).mkdir()
    loop, walking, gate, seen = asyncio.get_running_loop(), asyncio.Event(), threading.Event(), list[str]()
    really = os.listdir

    def listdir(folder: int) -> list[str]:
        seen.append(Path(f"/proc/self/fd/{folder}").readlink().name)
        if len(seen) == 2:  # the workspace itself, and the first folder in it
            loop.call_soon_threadsafe(walking.set)
            gate.wait()
        return really(folder)

    monkeypatch.setattr(os, "listdir", listdir)
    run = asyncio.create_task(tool.run({"pattern": "x"}, ToolPlace(tmp_path)))
    await walking.wait()
    run.cancel()
    await asyncio.wait({run})
    gate.set()
    await loop.shutdown_default_executor()  # waits for its threads
    assert seen == [tmp_path.name, "a"]


async def test_a_list_names_links_and_does_not_follow_them(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to("/etc")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "odd\nname\x1b[2J").write_text("x")
    output = await called(ListFiles(), tmp_path)
    assert output.content == "out  [link]\npipe  [no ordinary file]"


async def test_a_list_has_an_end(tmp_path: Path) -> None:
    for n in range(MAX_ENTRIES + 5):
        (tmp_path / f"{n:05}").touch()
    lines = await listed(tmp_path)
    assert len(lines) == MAX_ENTRIES + 1
    assert lines[-1].startswith("[… more than 1,000")


async def test_a_gitignore_that_would_take_forever_is_not_believed(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*a*a*a*a*a*a*a*a*a*a*a*a*a*b\n" + "[z-a\n" + "c*\n")
    (tmp_path / ("a" * 200)).touch()
    (tmp_path / "cat").touch()
    assert await listed(tmp_path) == [".gitignore", "a" * 200]


@pytest.mark.parametrize("tool", [ListFiles(), SearchFiles()])
async def test_a_glob_that_would_take_forever_is_refused(
    tmp_path: Path, tool: ListFiles | SearchFiles
) -> None:
    (tmp_path / ("a" * 200)).touch()
    arguments = {"glob": "*a*a*a*a*a*a*b"} | ({"pattern": "x"} if isinstance(tool, SearchFiles) else {})
    assert "glob" in await refused(tool, tmp_path, **arguments)


async def test_no_list_or_search_leads_out(project: Path) -> None:
    for path in ("..", "/etc", "src/../.."):
        assert "outside the workspace" in await refused(ListFiles(), project, path=path)
        assert "outside the workspace" in await refused(SearchFiles(), project, path=path, pattern="x")
    assert "no such folder" in await refused(ListFiles(), project, path="nothing")
    assert "not a folder" in await refused(ListFiles(), project, path="main.py")


async def test_a_file_is_read_with_line_numbers_from_anywhere(project: Path) -> None:
    output = await called(ReadFile(), project, path="src/one.py")
    assert output.content == "     1  needle = 1\n     2  \n     3  # Needle two"
    output = await called(ReadFile(), project, path="src/one.py", offset=2, limit=1)
    assert output.content == "     2  \n[… the file goes on; offset 3 reads from there]"
    output = await called(ReadFile(), project, path="src/one.py", offset=9)
    assert output.content == "[it has only 3 lines]"


async def test_long_files_long_lines_and_binary_files_have_an_end(tmp_path: Path) -> None:
    (tmp_path / "long").write_text("line\n" * (MAX_LINES + 10))
    output = await called(ReadFile(), tmp_path, path="long")
    assert output.content.endswith(f"[… the file goes on; offset {MAX_LINES + 1} reads from there]")
    (tmp_path / "wide").write_bytes(b"w" * 5_000_000)
    output = await called(ReadFile(), tmp_path, path="wide")
    assert len(output.content) < 3_000
    assert "the line has 5,000,000 bytes" in output.content
    (tmp_path / "binary").write_bytes(b"PNG\0\1")
    assert "binary" in await refused(ReadFile(), tmp_path, path="binary")
    (tmp_path / "empty").touch()
    assert (await called(ReadFile(), tmp_path, path="empty")).content == "[the file is empty]"
    (tmp_path / "latin").write_bytes(b"caf\xe9\r\n")
    assert (await called(ReadFile(), tmp_path, path="latin")).content == "     1  caf\ufffd"


async def test_a_search_says_path_and_line(project: Path) -> None:
    output = await called(SearchFiles(), project, pattern="needle")
    assert output.content == ("src/cache/keep.tmp:1: needle\nsrc/one.py:1: needle = 1\n[2 hits in 2 files]")
    output = await called(SearchFiles(), project, pattern="^# need", ignore_case=True, glob="*.py")
    assert output.content == "src/one.py:3: # Needle two\n[1 hits in 1 files]"
    output = await called(SearchFiles(), project, pattern="STRASSE", path="main.py")
    assert output.content == "[no hits in 1 files]"
    output = await called(SearchFiles(), project, pattern="Straße", path="main.py")
    assert output.content.startswith("main.py:2: print('Straße')")


async def test_a_search_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "many").write_text("hit\n" * (MAX_HITS * 3))
    (tmp_path / "wide").write_text("hit" * 100_000)
    lines = (await called(SearchFiles(), tmp_path, pattern="hit")).content.splitlines()
    assert len(lines) == MAX_HITS + 2
    assert "more than 200" in lines[-2]
    output = await called(SearchFiles(), tmp_path, pattern="hit", path="wide")
    assert len(output.content) < 400


@pytest.mark.parametrize("pattern", [r"(a+)+$", r"(a|aa)+$", r"(.*a){25}b", r"(x+x+)+y"])
async def test_a_pattern_that_never_ends_is_ended(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "text").write_text("a" * 5_000 + "x" * 5_000 + "!")
    search = SearchFiles(seconds=0.1)
    why_or_hits = await called(search, tmp_path, pattern=pattern)
    assert is_given_up(search, why_or_hits) or "no hits" in why_or_hits.content


def is_given_up(search: SearchFiles, output: ToolOutput) -> bool:
    """Whether a search took too long: by the engine, which counts what the process computes, or where a busy
    machine lets it compute little, by the clock.
    """
    return "took longer than" in output.content or f"ended after {search.seconds:g} s" in output.content


async def test_a_catastrophe_is_told_and_others_go_on_meanwhile(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("a" * 200 + "!")
    search = SearchFiles(seconds=1.0)
    task = asyncio.create_task(called(search, tmp_path, pattern=r"^(a|a)*$|(a|aa|a.)+b"))
    turns = 0
    while not task.done():
        await asyncio.sleep(0)
        turns += 1
    assert is_given_up(search, task.result())
    assert turns > 100


@pytest.mark.parametrize("pattern", ["(a{1000}){1000}", "a{1000000}", "a{99999999999999}", "(?x)a{ 1000000}"])
async def test_a_pattern_that_would_take_all_memory_is_refused(tmp_path: Path, pattern: str) -> None:
    assert "repeats too much" in await refused(SearchFiles(), tmp_path, pattern=pattern)


async def test_a_pattern_may_count_what_people_count(tmp_path: Path) -> None:
    (tmp_path / "ids").write_text("123e4567-e89b-12d3-a456-426614174000\n10.0.0.1\n")
    for pattern in (
        r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}",
        r"^(\d{1,3}\.){3}\d{1,3}$",
        r"[0-9a-f]{2,999999}",
    ):
        assert "ids:" in (await called(SearchFiles(), tmp_path, pattern=pattern)).content


@pytest.mark.parametrize("pattern", ["(", "[", "(?P<1>x)", "\\", "*"])
async def test_a_pattern_that_is_none_is_refused(tmp_path: Path, pattern: str) -> None:
    assert "not a regular expression" in await refused(SearchFiles(), tmp_path, pattern=pattern)


def test_the_approval_of_a_look_shows_all_of_it_and_refuses_what_is_outside(project: Path) -> None:
    place = ToolPlace(project)
    assert ReadFile().ask({"path": "src/one.py", "offset": 3}, place).call == "read_file src/one.py 3"
    assert ListFiles().ask({}, place).call == "list_files ."
    hidden = SearchFiles().ask({"pattern": "needle" + " " * 400 + "secret" * 50}, place)
    assert "secret" * 50 in hidden.preview
    with pytest.raises(ToolError, match="outside"):
        ReadFile().ask({"path": "../other"}, place)
