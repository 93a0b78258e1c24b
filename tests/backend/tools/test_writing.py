"""Changing files: what is shown beforehand is what happens, all of it or nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.tools.patching import counts, diff, patched
from agent_tui.backend.tools.tool import ToolError, ToolPlace
from agent_tui.backend.tools.workspace import Workspace
from agent_tui.backend.tools.writing import PatchFile, WriteFile
from agent_tui.model.records import FileChange
from tests.backend.tools.calls import called, refused


async def test_a_write_shows_a_diff_and_then_does_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree")
    arguments = {"path": "a.txt", "content": "one\n2\nthree\n"}
    ask = WriteFile().ask(arguments, ToolPlace(tmp_path))
    assert (ask.call, ask.preview_type) == ("write_file a.txt", "diff")
    assert ask.preview == (
        "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n"
        " one\n-two\n-three\n\\ No newline at end of file\n+2\n+three"
    )
    assert (tmp_path / "a.txt").read_text() == "one\ntwo\nthree"
    output = await called(WriteFile(), tmp_path, **arguments)
    assert output.content == "a.txt: +2 -2 lines, 12 bytes now"
    assert (tmp_path / "a.txt").read_text() == "one\n2\nthree\n"


async def test_a_new_file_in_a_new_folder_is_shown_whole(tmp_path: Path) -> None:
    arguments = {"path": "new/deep/a.py", "content": "x = 1\n"}
    ask = WriteFile().ask(arguments, ToolPlace(tmp_path))
    assert ask.preview == "--- /dev/null\n+++ b/new/deep/a.py\n@@ -0,0 +1 @@\n+x = 1"
    assert not (tmp_path / "new").exists()
    assert (await called(WriteFile(), tmp_path, **arguments)).content == "new/deep/a.py: created, 6 bytes"
    assert (await called(WriteFile(), tmp_path, **arguments)).content.endswith("nothing to change")


def test_a_write_through_a_link_names_the_file_that_changes(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("all:\n")
    (tmp_path / "notes.txt").symlink_to("Makefile")
    ask = WriteFile().ask({"path": "notes.txt", "content": "x\n"}, ToolPlace(tmp_path))
    assert ask.call == "write_file notes.txt, a link to Makefile"
    assert "-all:" in ask.preview


async def test_what_was_done_to_a_file_is_told_also_when_the_call_is_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    (tmp_path / "link").symlink_to("a.txt")
    changes: list[FileChange] = []
    begun = threading.Event()

    def told(change: FileChange) -> None:
        changes.append(change)

    place = ToolPlace(tmp_path, changed=told)
    arguments = {"path": "link", "content": "two\n"}
    work = asyncio.create_task(_Slow(begun).run(arguments, place))
    await asyncio.sleep(0)
    work.cancel()
    begun.set()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert [(one.path, one.before, one.after, one.added, one.removed) for one in changes] == [
        ("a.txt", "one\n", "two\n", 1, 1)
    ]


class _Slow(WriteFile):
    """Writes once it may."""

    def __init__(self, begun: threading.Event) -> None:
        self._begun = begun

    def _both(self, arguments: Mapping[str, Any], workspace: Workspace) -> tuple[str | None, str]:
        self._begun.wait(10)
        return super()._both(arguments, workspace)


def test_nothing_hides_in_what_a_write_shows(tmp_path: Path) -> None:
    arguments = {"path": "a.sh", "content": f"ls{' ' * 3000}; rm x\nls \u200b\u202e\r\n"}
    preview = WriteFile().ask(arguments, ToolPlace(tmp_path)).preview
    assert "+ls␣×3000; rm x\n+ls <U+200B><U+202E>␍" in preview


@pytest.mark.parametrize("path", ["../out", "/etc/passwd", "link", ".git/hooks/x", "a\nb"])
async def test_asking_and_writing_refuse_the_same_paths(tmp_path: Path, path: str) -> None:
    root = tmp_path / "work"
    root.mkdir()
    (root / "link").symlink_to("../secret")
    (tmp_path / "secret").write_text("outside")
    arguments = {"path": path, "content": "x"}
    await refused(WriteFile(), root, **arguments)
    if not path.startswith(".git"):
        with pytest.raises(ToolError):
            WriteFile().ask(arguments, ToolPlace(root))
    assert (tmp_path / "secret").read_text() == "outside"
    assert not (tmp_path / "out").exists()


async def test_binary_and_foreign_encodings_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(b"\0\1")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    assert "binary" in await refused(WriteFile(), tmp_path, path="image", content="x")
    assert "UTF-8" in await refused(WriteFile(), tmp_path, path="latin", content="x")
    assert "half a character" in await refused(WriteFile(), tmp_path, path="half", content="\ud800")
    assert (tmp_path / "latin").read_bytes() == b"caf\xe9"
    assert not (tmp_path / "half").exists()


async def test_a_patch_is_made_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("one two two")
    good, missing = {"search": "one", "replace": "1"}, {"search": "three", "replace": "3"}
    assert "edit 2" in await refused(PatchFile(), tmp_path, path="a", edits=[good, missing])
    assert (tmp_path / "a").read_text() == "one two two"
    twice: dict[str, Any] = {"search": "two", "replace": "2"}
    assert "there 2 times" in await refused(PatchFile(), tmp_path, path="a", edits=[good, twice])
    assert (tmp_path / "a").read_text() == "one two two"
    await called(PatchFile(), tmp_path, path="a", edits=[good, twice | {"all": True}])
    assert (tmp_path / "a").read_text() == "1 2 2"
    assert "no such file" in await refused(PatchFile(), tmp_path, path="b", edits=[good])


async def test_line_ends_of_the_file_are_kept(tmp_path: Path) -> None:
    (tmp_path / "dos").write_bytes(b"one\r\ntwo\r\n")
    edit = {"search": "one\ntwo", "replace": "1\n2\n3"}
    await called(PatchFile(), tmp_path, path="dos", edits=[edit])
    assert (tmp_path / "dos").read_bytes() == b"1\r\n2\r\n3\r\n"


def test_a_search_text_that_only_differs_in_spaces_is_told_so() -> None:
    with pytest.raises(ToolError, match="spaces and line ends"):
        patched("def f():\n\treturn 1\n", [{"search": "def f():\n    return 1", "replace": ""}])


def test_edits_that_make_more_and_more_of_a_file_are_refused_before_they_are_made() -> None:
    edits = [{"search": "a", "replace": "a" * 100_000, "all": True}] * 3  # a petabyte
    with pytest.raises(ToolError, match="edit 2: the file would have more than 5,242,880 characters"):
        patched("a", edits)


def test_what_changes_is_counted_also_in_a_long_file() -> None:
    old, new = ("".join(f"{word} {number}\n" for number in range(5_000)) for word in ("old", "new"))
    assert counts(old, new) == (5000, 5000)
    assert counts(f"{old}same\n", f"{old}same\nmore\n") == (1, 0)


def test_a_diff_of_something_huge_is_quick_and_leaves_nothing_out() -> None:
    old, new = ("\n".join(f"{n % 97}" for n in range(start, start + 20_000)) for start in (0, 13))
    shown = diff(f"same\n{old}", f"same\n{new}", "a")
    assert shown.count("\n") > 40_000
    assert "characters left out" not in shown
    assert shown.startswith("--- a/a\n+++ b/a\n@@ -1,")


@given(old=st.text("ab\n", max_size=60), new=st.text("ab\n", max_size=60))
def test_a_diff_holds_every_line_that_goes_and_comes(old: str, new: str) -> None:
    lines = diff(old, new, "f").split("\n")
    gone = [line[1:] for line in lines if line.startswith("-") and not line.startswith("---")]
    come = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++")]
    both = [line[1:] for line in lines if line.startswith(" ")]
    assert sorted(gone + both) == sorted(old.split("\n")[: len(gone + both)]) or set(gone) <= set(
        old.split("\n")
    )
    assert set(come) <= set(new.split("\n"))
    assert bool(lines != [""]) == (old != new)


async def test_edits_of_one_file_by_several_conversations_at_once_are_all_made(tmp_path: Path) -> None:
    folder = tmp_path / "inner"
    folder.mkdir()
    (folder / "a.txt").write_text("".join(f"<{at}>\n" for at in range(40)))
    (folder / "link.txt").symlink_to("a.txt")
    places = [(tmp_path, "inner/a.txt"), (folder, "a.txt"), (folder, "link.txt")]
    edits = (
        called(PatchFile(), place, path=path, edits=[{"search": f"<{at}>", "replace": f"done {at}"}])
        for at, (place, path) in zip(range(40), places * 14, strict=False)
    )
    await asyncio.gather(*edits)
    assert (folder / "a.txt").read_text() == "".join(f"done {at}\n" for at in range(40))
