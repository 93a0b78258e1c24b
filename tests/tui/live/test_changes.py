"""The files that tools changed: listed with their diffs, and undone."""

from __future__ import annotations

from agent_tui.model import events as ev
from agent_tui.model.errors import Refused
from tests.state.chat_events import call, result
from tests.tui.chat.one_chat import Chat, opened, said

DIFF = "--- a/{path}\n+++ b/{path}\n@@ -1 +1,2 @@\n-old {path}\n+new {path}\n+more"


def change(step_id: str, path: str, status: str = "made", message_id: str = "a1") -> ev.ChangedFile:
    """Return a change of two lines added and one removed."""
    return ev.ChangedFile(message_id, step_id, path, "/srv/work", 2, 1, DIFF.format(path=path), status=status)


def changed(chat: Chat, *changes: ev.ChangedFile) -> None:
    """Let the server have these changes."""
    chat.link.calls.changed = list(changes)


def told(chat: Chat) -> str:
    """Return the newest line that was told."""
    return chat.told[-1]


async def test_changes_are_listed_below_their_question_with_the_diff_of_the_marked_one() -> None:
    async with opened(*said(1, "Mend it", "Done")) as chat:
        changed(chat, change("s2", "новый.txt"), change("s1", "a.txt", "changed"))
        text = await chat.write("/changes", "enter")
        assert "Changed files · 2 changed" in text
        assert "in /srv/work" in text
        assert "Mend it" in text
        assert "✓ новый.txt  +2 −1" in text
        assert "a.txt  +2 −1 · changed since" in text
        assert "+new новый.txt" in text
        assert "Changes made by commands are not tracked." in text
        assert not {"---", "+++", "@@"} & set(text.split())  # the path is above
        assert "+new a.txt" in await chat.press("down")
        assert "+new a.txt" not in await chat.press("k")  # the keys of vim, as in every list
        assert "+new a.txt" in await chat.press("j")
        assert "+new a.txt" in await chat.press("o")
        await chat.press("escape", "escape")
        assert "Changed files" not in await chat.text()


async def test_a_change_is_undone_with_a_key_and_one_that_cannot_be_says_why() -> None:
    async with opened(*said(1, "Mend it", "Done")) as chat:
        changed(chat, change("s2", "b.txt"), change("s1", "a.txt", "changed"))
        text = await chat.press("tab", "D", "u")
        assert chat.asked[-2:] == ["undo a1 s2", "changes"]
        assert told(chat) == "undone: b.txt"
        assert "┄ b.txt  +2 −1 · undone" in text
        assert "· 1 changed" in text
        await chat.press("down", "u")
        assert told(chat) == "can't undo: a.txt was changed since"
        assert chat.asked[-1] == "changes"


async def test_a_whole_answer_is_undone_once_that_is_confirmed() -> None:
    async with opened(*said(1, "Mend it", "Done")) as chat:
        changed(chat, change("s2", "b.txt"), change("s1", "a.txt"), change("s0", "c.txt", "gone"))
        await chat.write("/changes", "enter")
        assert "Undo all changes of this answer (3)?" in await chat.press("U")
        await chat.press("n")
        assert not any(one.startswith("undo") for one in chat.asked)
        await chat.press("U", "y")
        assert chat.asked[-2:] == ["undo a1", "changes"]
        assert chat.told == [
            "undone: b.txt, a.txt",
            "can't undo: c.txt was deleted since",
        ]


async def test_an_answer_that_is_undone_already_says_so() -> None:
    async with opened(*said(1, "Mend it", "Done")) as chat:
        changed(chat, change("s2", "b.txt", "undone"))
        await chat.write("/changes", "enter")
        await chat.press("U")
        assert told(chat) == "b.txt: already undone"


async def test_what_the_server_refuses_is_said() -> None:
    async with opened(*said(1, "Mend it", "Done")) as chat:
        changed(chat, change("s2", "b.txt"))
        await chat.write("/changes", "enter")
        chat.link.calls.refuse = Refused("b.txt was changed since", "Too late.", status=409)
        assert "b.txt was changed since" in await chat.press("u")


async def test_where_no_tool_changed_a_file_that_is_said() -> None:
    async with opened(*said(1, "Mend it", "Done")) as chat:
        text = await chat.write("/changes", "enter")
        assert "No tool has changed a file here yet. Changes made by commands are not tracked." in text


async def test_nothing_a_server_says_of_changes_is_obeyed() -> None:
    async with opened(*said(1, "Mend it", "Done")) as chat:
        evil = ev.ChangedFile("a1", "s", "a\x1b[2J\u202e.txt", "/srv\x1b[2J", diff="+\x1b[2J\u202eoh")
        changed(chat, evil)
        text = await chat.write("/changes", "enter")
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "<U+202E>" in text


async def test_a_call_whose_change_was_undone_says_so() -> None:
    async with opened(*said(1, "Mend it", "Done")) as chat:
        undone = ev.ToolStatusChanged("a2", "step-1", "undone")
        await chat.send(ev.TurnStarted("a2", "", "assistant", "demo", "", 0, parent_id="q1"))
        await chat.send(call(turn_id="a2"), result("step-1", turn_id="a2"), ev.TurnDone("a2", "a2"))
        assert "┄ undone by you" in await chat.send(undone)
