"""``rooms export``: everything that was said, in every format, and nothing that a reader would obey."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from agent_tui.model.events import AgentInfo, Message, RoomInfo, Usage
from tests.fakes.servers.rooms_server import LogRoom, LogRoomsServer, OriginalRoomsServer, in_thread, stored
from tests.tui.programs import Home, home_at, one_line, own_environ
from tui.cli.export.document import clean, form_of, moment, of_room
from tui.cli.export.html import page
from tui.cli.export.markdown import markdown, nested

HOSTILE = "\x1b]52;c;aGk=\x07\x9b31m\u202e<script>alert(1)</script>"
FORMATS = ("md", "json", "html", "toml")
# What a page may be made of; a script, a form, a frame or a picture is not among it.
TAGS = {
    *("html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "h5", "h6", "p", "div"),
    *("article", "dl", "dt", "dd", "pre", "code", "blockquote", "ul", "ol", "li", "em", "strong", "s"),
    *("a", "br", "hr", "table", "thead", "tbody", "tr", "th", "td"),
}


class Tags(HTMLParser):
    """Notes every element and attribute of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def message(text: str, number: int = 1, **fields: object) -> Message:
    known = {
        "id": f"m{number}",
        "room_id": "r1",
        "role": "assistant",
        "content": text,
        "text": text,
        "sender_name": "Ada",
        "sender_color": "#10b981",
        "round_number": 1,
        "token_count": 12,
        "created_at": "2026-03-01T12:00:00+00:00",
    }
    return Message(**{**known, **fields})  # type: ignore[arg-type]  # fields by name, checked at run time


ROOM = RoomInfo(
    "r1", "Tea", "Which tea?", "completed", agents=(AgentInfo("a1", "Ada"), AgentInfo("a2", "Bo")), tokens=40
)
TALK = [
    message("Which tea?", 0, role="user", sender_name="用户", round_number=0),
    message("Green.", 1, interrupted="pause"),
    message("Green, I said.", 2, superseded=True),
    message("Black!", 3, sender_name="Bo", error="quota", round_number=2),
    message("Be kind.", 4, role="user", sender_name="", to="a2", round_number=2),
    message("Fine.", 5, usage=Usage(100, 20, 0.52, 0.0123), trimmed=3, round_number=2),
]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with home_at(tmp_path_factory.mktemp("export"), begun=True) as home:
        yield home


# --- the documents ----------------------------------------------------------------------------------------


def test_markdown_has_everything_in_order_with_names_rounds_and_marks() -> None:
    assert markdown(of_room(ROOM, TALK)) == (
        "# Tea\n\n- Room: r1\n- Status: completed\n- Mode: sequential\n- Agents: Ada, Bo\n"
        "- Used: 40 tokens, prompts included\n"
        "\n### You\n\nWhich tea?\n"
        "\n## Round 1\n"
        "\n### Ada\n\n*cut at the pause · about 12 tokens*\n\nGreen.\n"
        "\n### Ada\n\n*retried later · about 12 tokens*\n\nGreen, I said.\n"
        "\n## Round 2\n"
        "\n### Bo\n\n*failed: quota · about 12 tokens*\n\nBlack\\!\n".replace("\\!", "!")
        + "\n### You\n\n*whispered to Bo*\n\nBe kind.\n"
        "\n### Ada\n\n*the 3 oldest messages were not sent to its model · 100 tokens read, 20 written · "
        "$0.0123 · first word after 520 ms*\n\nFine.\n"
    )


@pytest.mark.parametrize(
    ("status", "interrupted", "expected"),
    [
        ("paused", "pause", "paused"),
        ("paused", "budget", "paused – the budget is used up"),
        ("paused", "budget.tokens", "paused – budget.tokens"),
        ("running", "", "running"),
    ],
)
def test_a_room_says_how_it_stands_in_a_persons_words(status: str, interrupted: str, expected: str) -> None:
    room = replace(ROOM, status=status, interrupted=interrupted)
    assert dict(of_room(room, TALK).facts)["Status"] == expected


def test_a_person_who_gave_a_name_is_called_by_it() -> None:
    named = message("Coffee.", 1, role="user", sender_name="Anna")
    unnamed = message("Tea.", 2, role="user", sender_name="用户")
    text = markdown(of_room(ROOM, [named, unnamed]))
    assert "### Anna\n\nCoffee.\n\n### You\n\nTea.\n" in text


def test_a_whisper_names_an_agent_that_left_by_what_it_was_called() -> None:
    here = replace(ROOM, agents=ROOM.agents[:1])
    bo, psst = (
        message("Black!", 3, sender_name="Bo", agent_id="a2"),
        message("Psst.", 4, role="user", to="a2"),
    )
    assert "*whispered to Bo*" in markdown(of_room(here, [bo, psst]))
    assert "*whispered to an agent that left the room*" in markdown(of_room(here, [psst]))


def test_an_agent_that_the_demo_speaks_for_is_said_to_be_one() -> None:
    agents = (
        AgentInfo("a1", "Ada", model="wished-for", provider_id="demo"),
        AgentInfo("a2", "Bo", model="m"),
    )
    text = markdown(of_room(replace(ROOM, agents=agents), TALK))
    assert "- Agents: Ada (demo model), Bo (m)\n" in text


def test_the_page_says_the_same_and_is_one_that_needs_nothing_else() -> None:
    text = page(of_room(ROOM, TALK))
    for words in (
        "Round 2",
        "cut at the pause",
        "retried later",
        "failed: quota",
        "whispered to Bo",
        "$0.0123",
    ):
        assert words in text
    places = [text.index(words) for words in ("Which tea?", "Green.", "Green, I said.", "Black!", "Fine.")]
    assert places == sorted(places)
    assert "default-src &#x27;none&#x27;" in text
    assert "prefers-color-scheme: dark" in text
    assert "url(" not in text
    assert "@import" not in text


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("# One\ntext", "#### One\ntext"),
        ("## Two\n\n### Three", "##### Two\n\n###### Three"),
        ("###### Six", "###### Six"),
        ("#hash\n#", "#hash\n####"),
        ("```sh\n# comment\n```\n# One", "```sh\n# comment\n```\n#### One"),
        ("~~~~\n~~~\n# in it\n~~~~", "~~~~\n~~~\n# in it\n~~~~"),
        ("Title\n=====\n\ntext", "#### Title\n\ntext"),
        ("Title\n---\ntext", "##### Title\ntext"),
        ("- item\n---", "- item\n---"),
        ("a\nb\n---", "a\nb\n---"),
        ("| a | b |\n|---|---|", "| a | b |\n|---|---|"),
        ("```\ncut here", "```\ncut here\n```"),
        ("<!-- never ended", "<!-- never ended\n-->"),
    ],
)
def test_a_messages_headings_are_below_its_own_and_code_stays_as_it_is(written: str, expected: str) -> None:
    assert nested(written) == expected


def test_what_a_message_leaves_open_takes_nothing_in() -> None:
    html = MarkdownIt().render(
        markdown(of_room(ROOM, [message("```\nopen"), message("x <!-- y", 2), message("end", 3)]))
    )
    assert html.count("<h3>Ada</h3>") == 3


@pytest.mark.parametrize(
    "opened",
    ["<script>", "<?php", "<![CDATA[", "<!--\n```\n-->", "- ```\n  x\n  ```", "<pre>\n~~~", "<details>\n"],
)
def test_what_no_line_can_close_stands_in_a_fence(opened: str) -> None:
    text = markdown(of_room(ROOM, [message(f"{opened}\nwords"), message("end", 2)]))
    assert f"```\n{opened}" in text
    assert MarkdownIt().render(text).count("<h3>Ada</h3>") == 2


@pytest.mark.parametrize(
    "said", ["<details>\n\nwords\n\n</details>", "`<details>` folds", "```\n<details>\n```"]
)
def test_what_is_folded_and_closed_stays_as_it_was_written(said: str) -> None:
    assert nested(said) == said


def test_names_are_plain_in_headings() -> None:
    text = markdown(of_room(ROOM, [message("x", sender_name="# *A*\n<b>[x](y)")]))
    assert MarkdownIt().render(text).count("<h3># *A* &lt;b&gt;[x](y)</h3>") == 1


PIECES = st.lists(
    st.sampled_from(
        (
            *("<script>", "</div>", "<img src=x onerror=y>", "![p](http://x/y.png)", "<https://x/>"),
            *("[a](javascript:alert(1))", "[a](data:text/html,x)", "[b](http://x 't')", "<style>", "| a |"),
            *('"', "'", "&", "`", "```\n", "# ", "\n", "\u202e", "-->", "<!--", "\x00", "\x1b[31m", "a", " "),
        )
    ),
    max_size=12,
).map("".join)


@given(text=PIECES, name=PIECES)
def test_nothing_in_a_page_runs_loads_or_escapes(text: str, name: str) -> None:
    room = RoomInfo("r1", name, text, agents=(AgentInfo("a1", name),))
    said = [message(text, sender_name=name, sender_color=f'red" onclick="{name}', to="a1", error=text)]
    made = page(of_room(room, said))
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", made)
    for tag, attributes in Tags(made).found:
        assert tag in TAGS
        assert not {"src", "srcset", "onclick", "onerror", "background"} & set(attributes)
        assert re.match(r"https?:|$", attributes.get("href") or "")


@pytest.mark.parametrize("address", ["smb://h/x", "search-ms:query=x", "//h/x", "src/a.py", "tel:1"])
def test_a_link_that_leads_neither_to_the_web_nor_to_mail_is_text_on_a_page(address: str) -> None:
    made = page(of_room(ROOM, [message(f"[a]({address}) <{address}>"), message("[b](HTTPS://h/)", 2)]))
    assert f"[a]({address})" in made
    assert re.findall('href="([^"]*)"', made) == ["HTTPS://h/"]


def test_a_very_long_message_is_on_the_page_as_it_was_written() -> None:
    assert "# x" * 70_000 in page(of_room(ROOM, [message("# x" * 70_000)]))


def test_a_message_of_nothing_but_brackets_is_not_parsed() -> None:
    assert '<pre class="words">[[[' in page(of_room(ROOM, [message("[" * 100_000)]))


@pytest.mark.parametrize("depth", [15, 300])
@pytest.mark.parametrize("opened", [lambda depth: "> " * depth, lambda depth: "- " * depth])
def test_words_in_deep_quotes_and_lists_are_on_the_page(opened: Callable[[int], str], depth: int) -> None:
    assert "the end" in page(of_room(ROOM, [message(f"{opened(depth)}the end")]))


def test_on_a_page_headings_are_as_large_as_words_and_tables_break_none() -> None:
    style = page(of_room(ROOM, []))
    assert "h4, h5, h6 { font-size: 1rem;" in style  # a browser's own are down to two thirds of that
    assert re.search(r"th, td \{[^}]*overflow-wrap: break-word", style)  # "anywhere": a letter is enough
    assert re.search(r"table \{[^}]*overflow-x: auto", style)


def test_on_a_page_a_persons_line_ends_where_they_ended_it_and_an_agents_as_in_markdown() -> None:
    made = page(of_room(ROOM, [message("one\n  two", role="user"), message("three\nfour")]))
    assert "one<br />\ntwo" in made
    assert "three\nfour" in made


def test_a_footnote_and_a_reference_are_on_the_page_as_they_were_written() -> None:
    said = "Tea[^1], see [2].\n\n[^1]: Green\n[2]: https://example.org/tea"
    made = page(of_room(ROOM, [message(said)]))
    for words in ("Tea[^1], see [2].", "[^1]: Green", "[2]: https://example.org/tea"):
        assert words in made


def test_a_file_keeps_every_letter_but_controls_and_overrides() -> None:
    assert clean("a\x1b[1m\u202eb\r\n\tc\u2028\ud800") == "a\ufffd[1m\ufffdb\n\tc\n\ufffd"
    kept = "می‌خواهم 👩‍👩‍👧 a\u200eb\u00ad"
    assert clean(kept) == kept


# --- the command ------------------------------------------------------------------------------------------


def test_every_format_of_a_room_that_was_run(home: Home) -> None:
    options = ("--task", "Which tea?", "--name", "exported", "--agent", "Ada", "--rounds", "1")
    assert home.main("rooms", "run", *options).returncode == 0
    done = {form: home.main("rooms", "export", "exported", "--format", form) for form in FORMATS}
    assert {(one.returncode, one.stderr) for one in done.values()} == {(0, "")}
    value = json.loads(done["json"].stdout)
    room_id = value["room"]["id"]
    assert value["room"] == home.room(room_id)
    assert value["messages"] == home.api("GET", f"/api/rooms/{room_id}/messages")["messages"]
    assert done["md"].stdout.startswith("# exported\n")
    assert "### Ada" in done["md"].stdout
    assert done["html"].stdout.startswith("<!doctype html>")
    assert home.main("rooms", "export", "exported").stdout == done["md"].stdout


def test_the_ending_of_a_file_names_the_format() -> None:
    rooms = {
        "a.HTML": "html",
        "a.htm": "html",
        "a.json": "json",
        "a.toml": "toml",
        "a.srt": "md",
        "html": "md",
    }
    assert {name: form_of(Path(name), "toml") for name in rooms} == rooms
    chats = {"a.html": "html", "a.srt": "srt", "a.toml": "md", "a.txt": "md"}
    assert {name: form_of(Path(name), "srt") for name in chats} == chats
    assert form_of(None, "toml") == "md"


def test_a_format_that_is_named_counts_more_than_the_ending_of_the_file(home: Home, tmp_path: Path) -> None:
    room_id = home.new_room("Which tea?", name="ended")
    beginnings = {(): "<!doctype html>", ("--format", "md"): "# ended\n", ("--format", "json"): "{"}
    for options, beginning in beginnings.items():
        file = tmp_path / "room.html"
        assert home.main("rooms", "export", room_id, *options, "--out", str(file)).returncode == 0
        assert file.read_text(encoding="utf-8").startswith(beginning)


def test_a_room_written_as_toml_makes_the_same_room_again(home: Home, tmp_path: Path) -> None:
    agents = [{"name": "Ada", "system_prompt": "You\nlike tea.", "color": "#123456"}, {"name": "Bo"}]
    room_id = home.new_room(
        "Which tea?", name="again", max_rounds=7, execution_mode="parallel", agents=agents
    )
    file = tmp_path / "room.toml"
    done = home.main("rooms", "export", room_id, "--format", "toml", "--out", str(file))
    assert (done.returncode, done.stdout) == (0, "")
    made = json.loads(home.main("rooms", "new", "--from", str(file), "--output", "json").stdout)
    first = home.room(room_id)
    for field in ("name", "task", "execution_mode", "max_rounds", "keep_running"):
        assert made[field] == first[field]
    for field in ("name", "color", "model", "provider_id"):
        assert [agent[field] for agent in made["agents"]] == [agent[field] for agent in first["agents"]]
    assert made["agents"][0]["system_prompt"] == "You\nlike tea."


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_words_reach_neither_stdout_nor_a_file(tmp_path: Path, form: str) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    agents = [{"id": "a1", "name": HOSTILE, "color": HOSTILE}]
    said = [stored("m1", HOSTILE, HOSTILE, 1) | {"interrupted": HOSTILE}]
    room = LogRoom("r1", messages=said, agents=agents)
    file = tmp_path / "out"
    with in_thread(LogRoomsServer(room)) as server:
        shown = home.main("rooms", "export", "r1", "--url", server.url, "--format", form)
        kept = home.main("rooms", "export", "r1", "--url", server.url, "--format", form, "--out", str(file))
    assert (shown.returncode, kept.returncode, kept.stdout) == (0, 0, "")
    text = file.read_text(encoding="utf-8")
    assert not set(shown.stdout + kept.stderr + text) & set("\x1b\x07\x9b\u202e")
    assert "52;c;aGk=" in text
    if form == "html":
        assert "<script" not in text


def test_another_server_that_keeps_messages_is_exported(tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    messages = [stored(f"m{n}", f"words {n}", "Ada", n) for n in range(1, 6)]
    with in_thread(LogRoomsServer(LogRoom("r1", messages=messages), page_size=2)) as server:
        done = home.main("rooms", "export", "r1", "--url", server.url)
    assert re.findall(r"words \d", done.stdout) == [f"words {n}" for n in range(1, 6)]


def test_a_server_that_keeps_none_is_one_line_and_code_6(tmp_path: Path) -> None:
    home = Home(tmp_path, own_environ(tmp_path))
    with in_thread(OriginalRoomsServer()) as server:
        done = home.main("rooms", "export", "r1", "--url", server.url)
    assert (done.returncode, done.stdout) == (6, "")
    assert "does not offer the messages of a" in one_line(done.stderr)


def test_a_room_that_is_not_there_is_code_4_and_leaves_the_file_alone(home: Home, tmp_path: Path) -> None:
    file = tmp_path / "kept.md"
    file.write_text("kept", encoding="utf-8")
    done = home.main("rooms", "export", "no-such-room", "--out", str(file))
    assert (done.returncode, done.stdout) == (4, "")
    assert one_line(done.stderr)
    assert file.read_text(encoding="utf-8") == "kept"


def test_a_file_that_cannot_be_written_is_one_line_and_code_2(home: Home, tmp_path: Path) -> None:
    room_id = home.new_room("Which tea?")
    done = home.main("rooms", "export", room_id, "--out", str(tmp_path / "no-such-folder" / "x.md"))
    assert (done.returncode, done.stdout) == (2, "")
    assert "cannot be written" in one_line(done.stderr)
    assert list(tmp_path.iterdir()) == []


def test_times_are_told_to_the_second_and_what_is_none_stays() -> None:
    assert moment("2026-03-01T12:00:00.123456+00:00") == "2026-03-01 12:00:00 UTC"
    assert moment("yesterday") == "yesterday"


def test_a_message_that_was_continued_is_one_in_the_place_of_its_beginning() -> None:
    usage = Usage(10, 4)
    said = (
        message("So far", 1, interrupted="length", usage=usage),
        message("Well.", 2, sender_name="Bo"),
        message(" and on.", 3, continues="m1", usage=usage),
    )
    written = markdown(of_room(RoomInfo("r1", task="Talk", tokens=28), said))
    assert "- Used: 28 tokens, prompts included" in written
    assert "So far and on." in written
    assert "20 tokens read, 8 written" in written
    assert written.index("So far and on.") < written.index("Well.")
    assert "out of tokens" not in written  # it is whole by now
