"""What only says yes or no, and what says more."""

from __future__ import annotations

import pytest

from agent_tui.yes_or_no import yes_or_no


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("Yes.", True),
        ("Yes, please.", True),
        ("Okay, go ahead, thanks.", True),
        ("do it", True),
        ("y", True),
        ("n", False),
        ("No.", False),
        ("Oh, don’t do that.", False),
        ("So don't do that.", False),
        ("No, thank you.", False),
        ("Да.", True),
        ("Хорошо, давай, спасибо", True),
        ("Не надо, пожалуйста!", False),
        ("Нет.", False),
        ("好的。", True),
        ("可以，谢谢！", True),
        ("不行", False),
        ("不要，谢谢", False),
        ("Yes, and list the rooms.", None),
        ("Да, но не всё.", None),
        ("Надо подумать", None),
        ("好像不对", None),
        ("不要改这个文件", None),
        ("Okay, what is running?", None),
        ("No more rooms, please.", None),
        ("Please.", None),
        ("", None),
        ("no " * 10_000, None),
    ],
)
def test_only_a_yes_or_a_no_is_one(text: str, meant: bool | None) -> None:
    assert yes_or_no(text) is meant
