"""The folder that tools work in: no path leads out of it, whatever it is made of."""

from __future__ import annotations

import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tui.backend.tools.tool import ToolError, ToolPlace
from agent_tui.backend.tools.workspace import Workspace

SECRET = b"the secret outside"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A workspace with a file and a folder, and a secret beside it."""
    (tmp_path / "secret").write_bytes(SECRET)
    root = tmp_path / "work"
    (root / "inner").mkdir(parents=True)
    (root / "file").write_bytes(b"inside")
    (root / "inner" / "deep").write_bytes(b"deep inside")
    return root


def read(root: Path, path: str) -> bytes:
    return Workspace(root).read(path, 1_000)


@pytest.mark.parametrize("path", ["file", "./file", "inner/../file", "inner//deep", "inner/./deep", "/file"])
def test_paths_inside_are_read(root: Path, path: str) -> None:
    path = f"{root}{path}" if path.startswith("/") else path
    assert read(root, path) in (b"inside", b"deep inside")


@pytest.mark.parametrize(
    "path",
    [
        "../secret",
        "inner/../../secret",
        "./../secret",
        "..",
        "/etc/passwd",
        "inner/../../work/../secret",
        "//etc",
    ],
)
def test_no_path_of_dots_or_from_the_root_leads_out(root: Path, path: str) -> None:
    with pytest.raises(ToolError, match="outside the workspace"):
        read(root, path)
    with pytest.raises(ToolError, match="outside the workspace"):
        Workspace(root).write(path, b"x")
    assert (root.parent / "secret").read_bytes() == SECRET


def test_an_absolute_path_beside_the_workspace_with_its_name_in_front_is_outside(root: Path) -> None:
    beside = root.with_name("work-of-others")
    beside.mkdir()
    (beside / "file").write_bytes(SECRET)
    with pytest.raises(ToolError, match="outside the workspace"):
        read(root, str(beside / "file"))


@pytest.mark.parametrize("target", ["../secret", "{root}/../secret", "/etc/passwd", "inner/../../secret"])
def test_a_link_that_leads_out_is_not_followed(root: Path, target: str) -> None:
    (root / "link").symlink_to(target.format(root=root))
    (root / "folder").symlink_to(target.format(root=root).rpartition("/")[0])
    name = target.rpartition("/")[2]
    for path in ("link", f"folder/{name}"):
        with pytest.raises(ToolError, match="outside the workspace"):
            read(root, path)
        with pytest.raises(ToolError, match="outside the workspace"):
            Workspace(root).write(path, b"x")
    assert (root.parent / "secret").read_bytes() == SECRET


def test_links_that_stay_inside_are_followed(root: Path) -> None:
    (root / "one").symlink_to("inner")
    (root / "inner" / "two").symlink_to("../file")
    (root / "three").symlink_to(root / "inner" / "deep")
    assert read(root, "one/two") == b"inside"
    assert read(root, "three") == b"deep inside"
    assert Workspace(root).write("one/new", b"n") == "inner/new"


def test_links_in_a_circle_end(root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    with pytest.raises(ToolError, match="round in links"):
        read(root, "a")


@pytest.mark.parametrize("place", ["inner", "deep"])
def test_a_part_that_is_swapped_for_a_link_between_check_and_use_is_refused(
    root: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    outside = root.parent / "elsewhere"
    outside.mkdir()
    (outside / "deep").write_bytes(SECRET)
    real_open = os.open
    swapped: list[str] = []

    def swapping(path: str | Path, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == place and not swapped:
            swapped.append(place)
            (root / "inner").rename(root / "gone") if place == "inner" else (root / "inner/deep").unlink()
            where, target = (
                (root / "inner", outside) if place == "inner" else (root / "inner/deep", outside / "deep")
            )
            where.symlink_to(target)
        return real_open(path, flags, mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", swapping)  # the moment between the look and the step
    with pytest.raises(ToolError):
        read(root, "inner/deep")
    assert swapped


def test_devices_fifos_sockets_and_folders_are_not_opened(root: Path) -> None:
    os.mkfifo(root / "fifo")
    (root / "null").symlink_to("/dev/null")
    for path, why in (
        ("fifo", "not an ordinary file"),
        ("null", "outside"),
        ("inner", "is a folder"),
        (".", "folder"),
    ):
        with pytest.raises(ToolError, match=why):
            read(root, path)
    with pytest.raises(ToolError, match="not an ordinary file"):
        Workspace(root).write("fifo", b"x")
    assert stat.S_ISFIFO((root / "fifo").stat().st_mode)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_in_the_workspace_is_not_opened(root: Path) -> None:
    try:
        os.mknod(root / "zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this system makes no devices")
    with pytest.raises(ToolError, match="not an ordinary file"):
        read(root, "zero")


@pytest.mark.parametrize(
    "path", ["a\0b", "a\nb", "a\tb", "a\x1b[2J", "a\u202eb", "x" * 10_000, "a" * 300, "\udcff"]
)
def test_names_that_are_none_are_refused_in_one_line(root: Path, path: str) -> None:
    with pytest.raises(ToolError) as refusal:
        read(root, path)
    assert "\n" not in str(refusal.value)
    assert "\x1b" not in str(refusal.value)
    with pytest.raises(ToolError):
        Workspace(root).write(path, b"x")
    assert sorted(entry.name for entry in root.iterdir()) == ["file", "inner"]


@pytest.mark.parametrize(
    "path", [".git/hooks/pre-commit", ".GIT/config", "sub/.Git/config", ".git", "link/config"]
)
def test_what_git_runs_is_not_written_in_any_case(root: Path, path: str) -> None:
    (root / ".git").mkdir()
    (root / ".git" / "config").write_text("old")
    (root / "link").symlink_to(".git")
    with pytest.raises(ToolError, match="git keeps"):
        Workspace(root).write(path, b"x")
    assert (root / ".git" / "config").read_text() == "old"
    assert not (root / ".git" / "hooks").exists()


def test_a_write_is_whole_or_nothing_and_keeps_the_mode(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "file").chmod(0o751)
    Workspace(root).write("file", b"new")
    assert (root / "file").read_bytes() == b"new"
    assert stat.S_IMODE((root / "file").stat().st_mode) == 0o751

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ToolError, match="No space left"):
        Workspace(root).write("file", b"newer")
    assert (root / "file").read_bytes() == b"new"
    assert sorted(entry.name for entry in root.iterdir()) == ["file", "inner"]


def test_a_write_leaves_a_hard_link_from_elsewhere_as_it_was(root: Path) -> None:
    os.link(root.parent / "secret", root / "linked")
    Workspace(root).write("linked", b"mine")
    assert (root.parent / "secret").read_bytes() == SECRET
    assert (root / "linked").read_bytes() == b"mine"


def test_folders_are_made_as_needed(root: Path) -> None:
    assert Workspace(root).write("a/b/c.txt", b"x") == "a/b/c.txt"
    assert (root / "a/b/c.txt").read_bytes() == b"x"
    with pytest.raises(ToolError, match="not a folder"):
        Workspace(root).write("file/c.txt", b"x")


def test_a_file_that_is_too_large_is_not_read(root: Path) -> None:
    (root / "large").write_bytes(b"x" * 1_001)
    with pytest.raises(ToolError, match="larger than 1,000 bytes"):
        read(root, "large")


def test_no_workspace_and_one_that_is_gone_say_so(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="has no workspace"):
        Workspace.of(ToolPlace())
    with pytest.raises(ToolError, match="cannot be used"):
        Workspace(tmp_path / "gone").read("file", 10)


def test_no_descriptor_is_left_open(root: Path) -> None:
    before = len(list(Path("/dev/fd").iterdir()))
    for path in ("file", "../secret", "inner/deep", "nothing/there", "inner", "a\nb"):
        with suppress(ToolError):
            read(root, path)
    assert len(list(Path("/dev/fd").iterdir())) == before


PARTS = st.lists(
    st.sampled_from(["..", ".", "", "inner", "deep", "file", "out", "up", "round", "secret", "new", "/"]),
    max_size=9,
)


@given(parts=PARTS, starts_at_root=st.booleans())
def test_whatever_the_parts_nothing_outside_is_read_or_written(
    parts: list[str], *, starts_at_root: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        top = Path(folder)
        (top / "secret").write_bytes(SECRET)
        root = top / "work"
        (root / "inner").mkdir(parents=True)
        (root / "inner" / "deep").write_bytes(b"in")
        (root / "out").symlink_to("..")
        (root / "up").symlink_to(top)
        (root / "inner" / "round").symlink_to("../inner")
        path = ("/" if starts_at_root else "") + "/".join(parts)
        with suppress(ToolError):
            assert read(root, path) != SECRET
        with suppress(ToolError):
            Workspace(root).write(path, b"written")
        assert sorted(entry.name for entry in top.iterdir()) == ["secret", "work"]
        assert (top / "secret").read_bytes() == SECRET


@pytest.mark.parametrize(
    "path", ["new/up/../../../outside", "new/../inner/x", "new/.git/hooks/x", "inner/new/.GIT/config"]
)
def test_a_refused_write_leaves_no_folder_behind(root: Path, path: str) -> None:
    before = sorted(root.rglob("*"))
    with pytest.raises(ToolError):
        Workspace(root).write(path, b"x")
    assert sorted(root.rglob("*")) == before
    assert not (root.parent / "outside").exists()
