"""Files and pastes that go along with a question in a chat."""

from __future__ import annotations

import base64
import os
import stat
import threading
from pathlib import Path

import pytest

from agent_tui.model import events as ev
from agent_tui.model.images import MAX_IMAGE_BYTES, image_data
from tests.fakes.models.pictures import PNG
from tests.state.chat_events import message, started, words
from tests.tui.chat.one_chat import opened
from tests.tui.chat.project import begin_project, composer_text, link_in_a_circle, settled
from tests.tui.watched import PATIENCE_SECONDS
from tui.chat.drafts import KeptDraft, Waiting, keep_draft, load_draft
from tui.chat.files import Files, Unfit, begun_in, pasted_paths, path_in_question, read, with_named


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return begin_project(tmp_path, monkeypatch)


def _write(name: str, data: bytes) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_bytes(data)


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


def test_a_gitignore_that_is_a_pipe_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "piped"
    folder.mkdir()
    os.mkfifo(folder / ".gitignore")
    (folder / "Makefile").touch()
    files = Files(folder)
    looking = threading.Thread(target=files.look, daemon=True)
    looking.start()
    looking.join(PATIENCE_SECONDS)
    assert files.fitting("", 50) == ["Makefile"]


def test_a_link_to_itself_is_offered_beside_the_others() -> None:
    _write("folder/below/a.txt", b"")
    link_in_a_circle("folder/loop")
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
    assert path_in_question("a b.txt") == '@"a b.txt"'
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
        assert f"PNG · {len(PNG)} B" in text
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
