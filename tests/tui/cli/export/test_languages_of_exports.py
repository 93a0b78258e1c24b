"""An export is in one language: that of the screens."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, Literal

import pytest

from agent_tui.model.events import (
    AgentInfo,
    Attachment,
    ConversationInfo,
    Message,
    Note,
    RoomInfo,
    SpeechRecord,
    Step,
    Usage,
)
from tui.cli.export.conversations import of_conversation
from tui.cli.export.document import of_room, rendered
from tui.language import speak

MADE: Final = "2026-03-01T12:00:00+00:00"
OF_NO_LANGUAGE: Final = {"UTC", "MCP", "token"}
NOTES: Final = (
    "synthesis",
    "file_offered",
    "orphan",
    "agent_left",
    "no_tools",
    "no_images",
    "server_missing",
)


@pytest.fixture(autouse=True)
def _english_again() -> Iterator[None]:
    yield
    speak("en")


def message(number: int, **fields: object) -> Message:
    known: dict[str, object] = {"id": f"m{number}", "room_id": "1", "role": "assistant", "content": "…"}
    known |= {"text": "…", "sender_name": "1", "sender_color": "", "round_number": 1, "token_count": 1200}
    return Message(**{**known, "created_at": MADE, **fields})  # type: ignore[arg-type]  # fields by name


STEPS = (
    Step("1", type="thinking", content="…"),
    Step("2", type="tool_call", name="9", arguments="{}", status="asks"),
    Step("3", type="tool_call", name="9", arguments="{}", status="denied"),
    Step("4", type="tool_call", name="9", arguments="{}", status="undone"),
    Step("5", type="text", content="![](1)"),
)
TALK = [
    message(0, role="user", sender_name="", to="1", attachments=(Attachment("", "…"), Attachment("1", ""))),
    message(1, interrupted="pause", versions=("m1", "m2"), spoken=SpeechRecord("…", whole=0.5)),
    message(2, superseded=True, status="streaming", steps=STEPS, sender_name="", role=""),
    message(3, error="…", trimmed=2, usage=Usage(1000, 20, 0.5, 0.01), round_number=2),
    message(4, notes=tuple(Note(note, "…") for note in NOTES)),
]
ROOM = RoomInfo(
    "1",
    "…",
    "…",
    "completed",
    agents=(AgentInfo("1", "1", provider_id="demo"),),
    tokens=4000,
    max_rounds=3,
    created_at=MADE,
    updated_at=MADE,
)
CHAT = ConversationInfo(
    "1", "…", status="idle", provider_id="demo", model="x", system_prompt="…", tokens=40, created_at=MADE
)


@pytest.mark.parametrize("form", ["md", "html"])
@pytest.mark.parametrize("language", ["zh-CN", "ru"])
def test_an_export_says_nothing_of_its_own_in_english(language: str, form: Literal["md", "html"]) -> None:
    speak(language)
    for document in (of_room(ROOM, TALK), of_conversation(CHAT, TALK)):
        text = rendered(document, form)
        if form == "html":
            text = re.sub(r"<[^>]*>", " ", text.partition("</style>")[2])
        assert set(re.findall(r"[A-Za-z][A-Za-z0-9]+", text)) - OF_NO_LANGUAGE == set(), text


def test_an_export_in_chinese_has_chinese_signs_and_a_page_says_its_language() -> None:
    agents = (AgentInfo("1", "Ada", provider_id="demo"), AgentInfo("2", "Ben", provider_id="demo"))
    speak("zh-CN")
    document = of_room(replace(ROOM, agents=agents), TALK)
    assert "- 智能体：Ada（演示模型）、Ben（演示模型）" in rendered(document, "md")
    assert '<html lang="zh-CN">' in rendered(document, "html")
    speak("en")
    assert '<html lang="en">' in rendered(document, "html")


def test_a_chat_with_the_demo_names_it_as_screens_do() -> None:
    talk = [message(0, role="user", sender_name=""), message(1, sender_name="demo")]
    speak("zh-CN")
    text = rendered(of_conversation(CHAT, talk), "md")
    assert "### 演示模型\n" in text
    assert "### demo" not in text


def test_a_denied_call_is_told_once_in_the_language() -> None:
    error = json.dumps({"success": False, "error": "denied by the user: 先别写"})
    call = Step("1", type="tool_call", name="9", arguments="{}", status="denied")
    steps = (call, Step("2", type="tool_result", id_ref="1", content=error, success=False))
    speak("zh-CN")
    text = rendered(of_room(ROOM, [message(1, steps=steps)]), "md")
    assert "**9** 已拒绝：先别写" in text
    assert "denied" not in text
