"""``conversations export``: words, thoughts, tools and files of a chat, and nothing that a reader obeys."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent_tui.model.events import Attachment, ConversationInfo, Message, Step, Usage
from agent_tui.model.images import attached_image
from agent_tui.wire.chat_encode import answer_content, stored_message_fields
from tests.fakes.models.pictures import PNG
from tests.fakes.servers.chat_server import LogChatServer, OriginalChatServer, user_message
from tests.fakes.servers.rooms_server import in_thread
from tests.tui.programs import Home, home_at, one_line, own_environ
from tui.cli.export.conversations import of_conversation
from tui.cli.export.document import rendered

HOSTILE = "\x1b]52;c;aGk=\x07\x9b31m\u202e<script>alert(1)</script>"
FORMATS = ("md", "json", "html")
# What a page may be made of; a script, a form, a frame or a picture is not among it.
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "h5", "h6", "p", "div"),
    *("article", "dl", "dt", "dd", "pre", "code", "blockquote", "ul", "ol", "li", "em", "strong", "s"),
    *("a", "br", "hr", "table", "thead", "tbody", "tr", "th", "td", "details", "summary"),
}
CHAT = ConversationInfo("c1", "Tea", model="some-model", system_prompt="Be brief.", tokens=40)


class Page(HTMLParser):
    """Notes every element with its attributes, and the words outside of what is folded."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open_words: list[str] = []
        self._folds = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._folds += tag == "details"

    def handle_endtag(self, tag: str) -> None:
        self._folds -= tag == "details"

    def handle_data(self, data: str) -> None:
        if not self._folds:
            self.open_words.append(data)


def message(role: str, text: str = "", *steps: Step, **fields: object) -> Message:
    known: dict[str, object] = {
        "id": "m1",
        "room_id": "c1",
        "content": answer_content(text, steps) if role == "assistant" else text,
        "sender_name": "some-model" if role == "assistant" else "",
        "sender_color": "",
        "round_number": 0,
        "token_count": 12,
        "created_at": "2026-03-01T12:00:00+00:00",
        "steps": steps,
    }
    return Message(role=role, text=text, **{**known, **fields})  # type: ignore[arg-type]  # by name


STEPS = (
    Step("step-0", 0, "thinking", "I should\n# look."),
    Step("step-1", 1, "text", "I look."),
    Step("step-2", 2, "tool_call", name="read_file", arguments='{"path": "tea.md"}', seconds=0.003),
    Step("step-3", 3, "tool_result", "```\n# green\n```", "read_file", id_ref="step-2"),
    Step("step-4", 4, "tool_call", name="run_command", arguments='{"command": "rm *"}', status="denied"),
    Step("step-5", 5, "text", "Green, *of course*."),
)
TALK = [
    message("user", "Which tea?", attachments=(Attachment("a`b.txt", "x\n```\n# y"),)),
    message("assistant", "I look.\n\nGreen, *of course*.", *STEPS, usage=Usage(30, 10), interrupted="stop"),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with home_at(tmp_path_factory.mktemp("export"), begun=True) as home:
        yield home


# --- the documents ---------------------------------------------------------------------------------------


def test_markdown_has_words_as_they_were_and_everything_else_in_fences() -> None:
    assert rendered(of_conversation(CHAT, TALK), "md") == (
        "# Tea\n\n- Conversation: c1\n- Status: idle\n- Model: some-model\n- System prompt: Be brief.\n"
        "- Used: 40 tokens, prompts included\n"
        "\n### You\n\nWhich tea?\n"
        "\n**a\\`b.txt** 9 B\n\n````\nx\n```\n# y\n````\n"
        "\n### some-model\n\n*stopped by you · 30 tokens read, 10 written*\n"
        "\n**thinking**\n\n```\nI should\n# look.\n```\n"
        "\nI look.\n"
        "\n**read\\_file** tea.md · 3 ms · 15 B\n\n````\n```\n# green\n```\n````\n"
        '\n**run\\_command** rm \\* · denied\n\n```\ncommand: "rm *"\n```\n'
        "\nGreen, *of course*.\n"
    )


@pytest.mark.parametrize("form", ["md", "html"])
def test_a_long_prompt_and_a_long_error_are_there_to_their_ends(form: Literal["md", "html"]) -> None:
    prompt, error = "Be brief. " * 100 + "Thanks!", "no answer, " * 100 + "sorry"
    chat = of_conversation(replace(CHAT, system_prompt=prompt), [message("assistant", "", error=error)])
    text = rendered(chat, form)
    assert prompt.replace("!", "\\!" if form == "md" else "!") in text
    assert error in text


def test_a_page_folds_thoughts_tools_and_files_and_shows_the_words() -> None:
    page = Page(rendered(of_conversation(CHAT, TALK), "html"))
    tags = [tag for tag, _ in page.found]
    assert tags.count("details") == tags.count("summary") == 4
    assert not any("open" in attributes for tag, attributes in page.found if tag == "details")
    shown = " ".join(page.open_words)
    places = [shown.index(words) for words in ("Tea", "Which tea?", "stopped by you", "I look.", "Green,")]
    assert places == sorted(places)
    assert "I should" not in shown
    assert "# green" not in shown


def test_the_facts_of_an_image_are_said_once() -> None:
    image = attached_image("tea.png", PNG)
    assert image is not None
    chat = of_conversation(CHAT, [message("user", "Which?", attachments=(image,))])
    for format_ in ("md", "html"):
        assert rendered(chat, format_).count("PNG · ") == 1


def test_what_a_sub_agent_leaves_open_takes_nothing_in() -> None:
    step = Step("step-0", 0, "sub_agent", "# Found\n```\nopen", "scout")
    text = rendered(of_conversation(CHAT, [message("assistant", "", step), message("user", "end")]), "md")
    assert "<h3>You</h3>" in MarkdownIt().render(text)


def test_a_call_whose_end_nobody_knows_says_so() -> None:
    unknown = Step("step-0", 0, "tool_call", name="run_command", arguments="{", status="unknown")
    assert "**run\\_command** unknown" in rendered(
        of_conversation(CHAT, [message("assistant", "", unknown)]), "md"
    )


PIECES = st.lists(
    st.sampled_from(
        (
            *("<script>", "</details>", "</div>", "<img src=x onerror=y>", "![p](http://x/y.png)", "~~~\n"),
            *("[a](javascript:alert(1))", "[b](http://x 't')", "<style>", "| a |", "|---|\n", "{", '{"a":'),
            *(
                '"',
                "'",
                "&",
                "`",
                "```\n",
                "````",
                "# ",
                "\n",
                "\u202e",
                "-->",
                "<!--",
                "\x00",
                "\x1b[31m",
                "a",
            ),
        )
    ),
    max_size=12,
).map("".join)
KINDS = st.sampled_from(("thinking", "text", "tool_call", "tool_result", "sub_agent", "made_up"))


@given(text=PIECES, name=PIECES, kind=KINDS, of=st.sampled_from(("", "s1")))
def test_nothing_in_a_step_runs_loads_or_takes_in_what_follows(
    text: str, name: str, kind: str, of: str
) -> None:
    steps = (
        Step("s1", 0, "tool_call", name=name, arguments=text),
        Step("s2", 1, kind, text, name, text, id_ref=of),
    )
    said = [
        message("assistant", text, *steps, sender_name=name, error=text),
        message("user", "end", attachments=(Attachment(name, text),)),
    ]
    document = of_conversation(ConversationInfo("c1", name, system_prompt=text), said)
    page = rendered(document, "html")
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    for tag, attributes in Page(page).found:
        assert tag in TAGS
        assert not {"src", "srcset", "onclick", "onerror", "background"} & set(attributes)
        assert re.match(r"https?:|$", attributes.get("href") or "")
    assert "end" in " ".join(Page(page).open_words)
    assert "<h3>You</h3>" in MarkdownIt().render(rendered(document, "md"))


# --- the command -----------------------------------------------------------------------------------------


def test_every_format_of_a_conversation_that_was_had(home: Home) -> None:
    assert home.main("ask", "What about tea?").returncode == 0
    done = {form: home.main("conversations", "export", "What about", "--format", form) for form in FORMATS}
    assert {(one.returncode, one.stderr) for one in done.values()} == {(0, "")}
    value = json.loads(done["json"].stdout)
    path = f"/api/conversations/{value['conversation']['id']}"
    assert value["conversation"] == home.api("GET", path)
    assert value["messages"] == home.api("GET", f"{path}/messages")["messages"]
    assert done["md"].stdout.startswith("# What about tea?\n")
    assert done["html"].stdout.startswith("<!doctype html>")
    assert home.main("conversations", "export", "What about").stdout == done["md"].stdout


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_words_reach_neither_stdout_nor_a_file(tmp_path: Path, form: str) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    steps = (
        Step("s0", 0, "thinking", HOSTILE),
        Step("s1", 1, "tool_call", name=HOSTILE, arguments=json.dumps({"path": HOSTILE})),
        Step("s2", 2, "tool_result", HOSTILE, id_ref="s1"),
        Step("s3", 3, "text", HOSTILE),
    )
    answer = message("assistant", HOSTILE, *steps, id="m2", sender_name=HOSTILE, interrupted=HOSTILE)
    file = tmp_path / "out"
    with in_thread(LogChatServer("c1")) as server:
        server.messages = [user_message("m1", HOSTILE), stored_message_fields(answer)]
        where = ("conversations", "export", "c1", "--url", server.url, "--format", form)
        shown, kept = home.main(*where), home.main(*where, "--out", str(file))
    assert (shown.returncode, kept.returncode, kept.stdout) == (0, 0, "")
    text = file.read_text(encoding="utf-8")
    assert not set(shown.stdout + kept.stderr + text) & set("\x1b\x07\x9b\u202e")
    assert "52;c;aGk=" in text
    if form == "html":
        assert "<script" not in text


def test_subtitles_are_for_what_was_spoken(tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    with in_thread(LogChatServer("c1")) as server:
        said = user_message("m1", "Hello") | {"created_at": "2026-03-01T12:00:00+00:00"}
        server.messages = [said]
        export = ("conversations", "export", "c1", "--format", "srt", "--url", server.url)
        ran = home.main(*export)
        assert (ran.returncode, ran.stdout) == (2, "")
        assert one_line(ran.stderr).startswith("srt is for voice sessions")
        server.fields = {"kind": "voice"}  # in which everything was typed
        ran = home.main(*export)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.startswith("1\n00:00:00,000 -->")


def test_a_server_that_keeps_nothing_is_one_line_and_code_6(tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    file = tmp_path / "kept.md"
    file.write_text("kept", encoding="utf-8")
    with in_thread(OriginalChatServer()) as server:
        ran = home.main("conversations", "export", "7", "--url", server.url, "--out", str(file))
    assert (ran.returncode, ran.stdout) == (6, "")
    assert "does not offer the messages of a" in one_line(ran.stderr)
    assert file.read_text(encoding="utf-8") == "kept"


def test_of_other_versions_it_is_said_that_they_are_not_in_the_document() -> None:
    asked = [
        message("user", "Why?", id="q1", versions=("q0", "q1", "q2")),
        message("assistant", "", Step("s", content="So."), id="a1"),
    ]
    text = rendered(of_conversation(CHAT, asked), "md")
    assert "- Left out: 2 other versions; the chat itself shows them\n" in text
    assert "### You\n\n*version 2 of 3*\n\nWhy?" in text
    assert "version" not in rendered(of_conversation(CHAT, asked[1:]), "md")


def test_a_voice_session_in_which_only_anothers_agent_answered_names_no_model_of_ours() -> None:
    voice = replace(CHAT, kind="voice")
    assert "some-model" in rendered(of_conversation(voice, [message("assistant", "Hello.")]), "md")
    theirs = [message("assistant", "Hello.", sender_name="parrot")]
    assert "some-model" not in rendered(of_conversation(voice, theirs), "md")
