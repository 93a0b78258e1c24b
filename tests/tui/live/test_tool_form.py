"""An MCP server asks a person for values: what they see, fill in and send, in a chat."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from agent_tui.model import events as ev
from agent_tui.model.errors import ConnectFailed
from agent_tui.model.tool_forms import FormField, FormOption, ToolForm
from tests.state.chat_events import call, message, started, status
from tests.tui.chat.one_chat import Chat, opened
from tui.language import speak
from tui.live.tool_form import ToolFormScreen

FRIENDS = tuple(FormOption(name.lower(), name) for name in ("Monica", "Joey"))
FORM = ToolForm(
    "everything",
    "Tell me about you.\x1b[2J\u202e",
    (
        FormField("na me;", "text", "Your name", "As in your passport", required=True, minimum=2, maximum=9),
        FormField("mail", "text", "Mail", format="email"),
        FormField("age", "integer", "Age", minimum=1, maximum=100, default=42),
        FormField("agree", "boolean", "Agree"),
        FormField("friend", "choice", "Friend", options=FRIENDS, default="monica"),
        FormField("fish", "choices", "Fish", options=FRIENDS, default=("joey",), maximum=1),
    ),
)


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


async def asking(chat: Chat, form: ToolForm = FORM) -> str:
    ask = ev.ToolAsk(f"{form.server} asks you for {form.amount}", form=form)
    text = await chat.send(started("a1", "q1"), call(), status("running"), status("asks", ask=ask))
    chat.time += 1.0
    return text


async def write(chat: Chat, words: str) -> None:
    await chat.press(*("at" if sign == "@" else "full_stop" if sign == "." else sign for sign in words))


def sent(chat: Chat) -> object:
    [answer] = chat.asked
    assert answer.startswith("answer a1 step-1 answer ")
    return json.loads(answer.removeprefix("answer a1 step-1 answer "))


async def test_who_asks_what_is_seen_before_the_form_is_opened() -> None:
    async with opened(message("q1", "Look.")) as chat:
        text = await asking(chat)
        assert "‖ needs your input" in text
        assert "The MCP server everything asks you for 6 values:" in text
        assert "- Your name *" in text
        assert text.count("y fill in… · n decline") == 1
        assert "‖ needs your input" in text.splitlines()[0]
        assert "approval" not in text


async def test_what_a_server_asks_is_wrapped_between_words_and_shown_as_it_is() -> None:
    form = ToolForm(
        "shop", "1. Where shall *we* send it?\n\n  # not a heading " + "wonderful " * 20, FORM.fields[:1]
    )
    async with opened(message("q1", "Look."), size=(60, 30)) as chat:
        text = await asking(chat, form)
        assert "1. Where shall *we* send it?" in text
        assert "# not a heading" in text
        assert text.count("wonderful") == 20
        assert "- Your name *" in text


async def test_the_star_of_a_needed_value_never_stands_alone_in_a_row() -> None:
    field = replace(FORM.fields[0], title="What you are called by the others")
    async with opened(message("q1", "Look."), size=(42, 30)) as chat:
        text = await asking(chat, replace(FORM, fields=(field,)))
        assert "others *" in text
        text = await chat.press("y")
        assert "required" in text
        assert "*" not in text


async def test_a_form_is_filled_in_checked_and_sent() -> None:
    async with opened(message("q1", "Look."), size=(100, 60)) as chat:
        await asking(chat)
        text = await chat.press("y")
        assert isinstance(chat.app.screen, ToolFormScreen)
        assert "The MCP server everything asks you for 6 values" in text
        assert "Your answers are sent to everything." in text
        assert "Tell me about you.␛[2J<U+202E>" in text
        assert "As in your passport · from 2 to 9 characters · required" in text
        assert "password" not in text
        text = await chat.press("ctrl+s")
        assert "✗ a value is needed" in text
        assert chat.asked == []
        await write(chat, "ada")
        await chat.press("enter")  # goes on, sends nothing
        assert chat.asked == []
        await write(chat, "x")
        await chat.press("tab", "backspace", "backspace")
        await write(chat, "999")
        text = await chat.press("ctrl+s")
        assert "✗ it has to be an e-mail address" in text
        assert "✗ it has to be from 1 to 100" in text
        await write(chat, "@y.z")  # the first that is wrong has the focus
        await chat.press("tab", "backspace", "backspace", "tab", "right", "tab", "right", "tab", "space")
        assert "✗ choose at most 1 of them" in await chat.press("ctrl+s")
        assert chat.asked == []
        await chat.press("down", "space", "ctrl+s")
        told = {"na me;": "ada", "mail": "x@y.z", "age": 9, "agree": True, "friend": "joey"}
        assert sent(chat) == {**told, "fish": ["monica"]}
        text = await chat.send(status("running"))
        assert "needs your input" not in text


@pytest.mark.parametrize("language", ["zh-CN", "ru"])
async def test_a_form_says_what_may_be_filled_in_in_the_language_of_the_screens(language: str) -> None:
    form = replace(FORM, fields=tuple(replace(one, title="", description="") for one in FORM.fields))
    try:
        speak(language)
        async with opened(message("q1", "Look."), size=(100, 60)) as chat:
            seen = [await asking(chat, replace(form, message=""))]
            seen += [await chat.press(keys) for keys in ("y", "ctrl+s")]
    finally:
        speak("en")
    english = re.compile(r"\b(values?|asks?|from|to|characters|address|number|most|them|needed)\b")
    assert english.findall("\n".join(seen)) == []


@pytest.mark.parametrize(("keys", "decision"), [("ctrl+n", "decline"), ("ctrl+x", "cancel")])
async def test_a_form_is_declined_or_cancelled(keys: str, decision: str) -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("y", keys)
        assert chat.asked == [f"answer a1 step-1 {decision}"]


async def test_no_on_the_card_declines_without_a_reason() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("n")
        assert chat.asked == ["answer a1 step-1 decline"]


async def test_no_rule_answers_a_form() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        for key in ("c", "a", "d"):
            await chat.press(key)
            assert chat.asked == [], key


async def test_back_decides_nothing_and_asks_before_it_drops_what_was_written() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("y", "escape")
        assert not isinstance(chat.app.screen, ToolFormScreen)
        await chat.press("y", "x")
        assert "Discard changes?" in await chat.press("escape")
        await chat.press("n")
        assert isinstance(chat.app.screen, ToolFormScreen)
        assert chat.asked == []


async def test_what_did_not_arrive_is_still_filled_in_and_the_defaults_are_sent_as_they_are() -> None:
    async with opened(message("q1", "Look."), size=(100, 60)) as chat:
        await asking(chat)
        await chat.press("y")
        await write(chat, "ada")
        chat.link.calls.refuse = ConnectFailed("cannot connect")
        await chat.press("ctrl+s")
        chat.link.calls.refuse = None
        chat.link.calls.asked.clear()
        await chat.later()
        chat.time += 1.0
        assert "ada" in await chat.press("y")
        await chat.press("ctrl+s")
        assert sent(chat) == {"na me;": "ada", "age": 42, "friend": "monica", "fish": ["joey"]}


async def test_another_terminal_was_first() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat)
        await chat.press("y", "x")
        await chat.send(status("running"))
        assert not isinstance(chat.app.screen, ToolFormScreen)
        assert chat.told == ["already answered, or cut off"]
        assert chat.asked == []


async def test_what_looks_like_a_secret_is_warned_of() -> None:
    form = ToolForm("shop", "Log in", (FormField("a", "text", "your password"),))
    async with opened(message("q1", "Look.")) as chat:
        assert "ask for a password or another secret" in await asking(chat, form)
        assert "ask for a password or another secret" in await chat.press("y")


async def test_a_form_without_fields_is_a_confirmation() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await asking(chat, ToolForm("shop", "Really buy it?"))
        assert "asks you for a confirmation" in await chat.press("y")
        await chat.press("ctrl+s")
        assert sent(chat) == {}


async def test_on_a_low_terminal_a_field_is_seen_with_what_is_asked() -> None:
    async with opened(message("q1", "Look."), size=(40, 12)) as chat:
        await asking(chat)
        text = await chat.press("y")
        assert [words in text for words in ("Your name", "required", "ctrl+s send")] == [True] * 3
        text = await chat.press("tab", "tab", "tab", "tab", "tab")
        assert [words in text for words in ("☐ Monica", "☑ Joey", "at most 1 of", "ctrl+s send")] == [
            True
        ] * 4


async def test_a_long_form_is_read_on_a_small_terminal() -> None:
    fields = tuple(FormField(f"f{n}", "text", f"Field {n}", "x " * 200) for n in range(5))
    form = ToolForm("shop", "line\n" * 60, fields)
    async with opened(message("q1", "Look."), size=(60, 16), is_ascii=True) as chat:
        assert "y fill in" in await asking(chat, form)  # where the end of the card is out of sight, too
        text = await chat.press("y")
        assert "shop asks you for 5 values" in text
        assert "ctrl+s send" in text
