"""Patterns of calls that a person allowed: what they cover, and above all what they do not."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_tui.backend.tools import rules
from agent_tui.backend.tools.tool import ToolPlace
from agent_tui.config.tool_rules import allows, covers_tool, exact_pattern, is_pattern, spelled_out


def runs(pattern: str, command: str) -> bool:
    return allows(pattern, "run_command", {"command": command})


def test_a_pattern_of_words_covers_commands_of_words() -> None:
    assert runs("run_command(make -n *)", "make -n test")
    assert runs("run_command(make -n *)", "make -n 'a b' c=d")
    assert runs("run_command(make)", "make")
    assert runs("run_command(make ?)", "make a")
    assert runs("run_command(make [ab])", "make b")
    assert runs("run_command", "anything; at all")
    assert not runs("run_command(make -n *)", "make test")
    assert not runs("run_command(make)", "make x")
    assert not runs("run_command(make [ab])", "make c")


def test_a_pattern_may_cover_many_tools_of_one_mcp_server() -> None:
    assert allows("tickets__*", "tickets__find", {"id": 1})
    assert allows("tickets__get-*", "tickets__get-one", {})
    assert not allows("tickets__get-*", "tickets__find", {})
    assert not allows("tickets__*", "ticketsbase__find", {})
    assert not allows("tickets__*", "run_command", {"command": "ls"})
    assert not allows("*", "tickets__find", {})
    assert not allows("run_*", "run_command", {"command": "ls"})
    assert not allows("*__find", "tickets__find", {})
    assert not allows("tickets__*(x)", "tickets__find", {"path": "x"})
    assert covers_tool("tickets__*", "tickets__find")
    assert covers_tool("run_command(make *)", "run_command")
    assert not covers_tool("tickets__*", "run_command")


@pytest.mark.parametrize(
    "text",
    [
        "run_command(make *)",
        "read_file(a/*)",
        "calculator",
        "tickets__find",
        "tickets__*",
        "fetch_url(https://*.org/*)",
    ],
)
def test_what_can_cover_a_call_is_a_pattern(text: str) -> None:
    assert is_pattern(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "run_command(", "run command", "calculator(2*)", "tickets__find(x)", "read_file(*a*b*c*d*)"),
        *("fetch_url(*)", "fetch_url(docs.example.org/*)", "fetch_url(https://docs[.]example.org/*)"),
        *("*", "run_*", "*__find", "tickets__*(x)"),
    ],
)
def test_what_never_covers_one_is_none(text: str) -> None:
    assert not is_pattern(text)


@pytest.mark.parametrize(
    "hidden",
    [
        *(
            "x; rm -rf /",
            "x;rm",
            "x && rm",
            "x & rm",
            "x | sh",
            "x > /etc/passwd",
            "x < y",
            "$(rm)",
            "`rm`",
            "$HOME",
        ),
        *(
            "x\nrm -rf /",
            "x\rrm",
            "(rm)",
            "x)",
            "{rm,-rf}",
            "x \\",
            "x\0y",
            "x\x0brm",
            "x\x85y",
            "x\u2028rm",
            "!rm",
        ),
    ],
)
@pytest.mark.parametrize("pattern", ["make -n *", "*", "make -n x*", "make -n ?*"])
def test_no_wildcard_hides_what_a_shell_would_run_or_redirect(hidden: str, pattern: str) -> None:
    assert not runs(f"run_command({pattern})", f"make -n {hidden}")


def test_what_a_pattern_spells_out_itself_is_allowed() -> None:
    command = "make -n 2>&1 | grep *.py"
    assert runs("run_command(make -n 2>&1 | grep [*].py)", command)
    assert not runs("run_command(make -n 2>&1 | grep [*].py)", f"{command}; rm x")
    assert runs("run_command(echo (a) *)", "echo (a) b")
    assert not runs("run_command(echo (a) *)", "echo (a) (b)")


@given(
    command=st.text(min_size=1, max_size=40)
    | st.lists(
        st.sampled_from(["make", "-n", "rm", "*", "[a]", "?", ";", "'a b'", "x", " "]), min_size=1
    ).map(" ".join)
)
def test_the_exact_pattern_covers_its_own_command_and_no_other(command: str) -> None:
    pattern = exact_pattern("run_command", {"command": command})
    assert runs(pattern, command)
    assert spelled_out(pattern) == f"run_command({command})"
    for more in (" ", "; rm -rf /", "\nrm", " $(rm)", " x", "x"):
        assert not runs(pattern, command + more)
        assert not runs(pattern, more + command)


@pytest.mark.parametrize("command", ["make -n all", "git status --short src", "ls -l src", "ls", "git log x"])
def test_no_command_is_so_harmless_that_the_rule_for_it_covers_another(command: str) -> None:
    assert exact_pattern("run_command", {"command": command}) == f"run_command({command})"


def test_a_pattern_of_files_is_compared_without_detours() -> None:
    covers = "write_file(src/*)"
    assert allows(covers, "write_file", {"path": "src/deep/x.py"})
    assert allows(covers, "write_file", {"path": "./src//x.py"})
    for path in ("src/../secret", "../src/x", "/src/x", "SRC/x", "srcs/x", "src", "src/\nx", "", 4, None):
        assert not allows(covers, "write_file", {"path": path})
    assert not allows(covers, "patch_file", {"path": "src/x"})
    assert not allows(covers, "write_file", {})


def test_the_exact_pattern_of_a_file_is_the_file_itself() -> None:
    assert exact_pattern("write_file", {"path": "src/./a/../b.py"}) == "write_file(src/b.py)"
    assert exact_pattern("write_file", {"path": "src/b.py", "content": "x"}) == "write_file(src/b.py)"


def test_the_exact_pattern_of_a_page_is_the_whole_address() -> None:
    url = "https://Docs.Example.org/a?b=[*]#c"
    pattern = exact_pattern("fetch_url", {"url": url})
    assert spelled_out(pattern) == "fetch_url(https://docs.example.org/a?b=[*])"
    assert allows(pattern, "fetch_url", {"url": url})
    for other in (
        "https://docs.example.org/a",
        "https://docs.example.org/a?b=[x]",
        "https://docs.example.org/",
    ):
        assert not allows(pattern, "fetch_url", {"url": other})


def test_a_pattern_of_pages_is_compared_in_one_spelling() -> None:
    covers = "fetch_url(https://docs.example.org/*)"
    assert allows(covers, "fetch_url", {"url": "https://DOCS.example.org/x?y=z"})
    assert allows(
        "fetch_url(https://docs.example.org/a/*)", "fetch_url", {"url": "https://docs.example.org/a/b"}
    )
    for url in (
        *(
            "https://docs.example.org@evil.org/",
            "https://evil.org/https://docs.example.org/",
            "http://docs.example.org/",
        ),
        *(
            "https://docs.example.org:444/",
            "https://docs.example.org\\@evil.org/",
            "https://docs.example.org.evil.org/",
        ),
    ):
        assert not allows(covers, "fetch_url", {"url": url})
    for url in (
        "https://docs.example.org/a/../b",
        "https://docs.example.org/a/%2e%2e/b",
        "https://docs.example.org/a\t",
    ):
        assert not allows("fetch_url(https://docs.example.org/a/*)", "fetch_url", {"url": url})


@pytest.mark.parametrize(
    ("host", "url", "is_covered"),
    [
        ("*.example.com", "https://docs.example.com/x", True),
        ("*.example.com", "https://evil.com/.example.com/", False),
        ("*.example.com", "https://evil.com/?.example.com/", False),
        ("*.example.com", "https://evil.com#.example.com/", False),
        ("*.example.com", "https://evil.com:80/.example.com/", False),
        ("*.example.com", "https://a.docs.example.com/", False),
        ("*.example.com", "https://example.com/", False),
        ("*.example.com", "https://evil.com\u3002.example.com/", False),
        ("docs?example.com", "https://docs.example.com/", False),
        ("docs.*", "https://docs.evil.com/", False),
        ("example.com*", "https://example.com.evil.com/", False),
        ("example.com*", "https://example.com:444/", False),
        ("*", "https://example.com/", False),
        ("*", "https://localhost/", True),
        ("*.*.example.com", "https://a.docs.example.com/", True),
    ],
)
def test_a_wildcard_in_a_host_stays_within_one_label(host: str, url: str, is_covered: bool) -> None:
    assert allows(f"fetch_url(https://{host}/*)", "fetch_url", {"url": url}) is is_covered


def test_a_pattern_of_a_site_without_a_path_is_its_first_page() -> None:
    assert allows("fetch_url(https://example.com)", "fetch_url", {"url": "https://example.com"})
    assert not allows("fetch_url(https://example.com)", "fetch_url", {"url": "https://example.com/x"})


def test_tools_without_a_main_argument_are_allowed_as_a_whole() -> None:
    assert allows("server__tool", "server__tool", {"anything": 1})
    assert not allows("server__tool(x)", "server__tool", {"path": "x"})
    assert not allows("server__tool", "server__tool2", {})


@pytest.mark.parametrize(
    "pattern", ["", "(", "run_command(", "run command(ls)", "run_command(ls", "*", "run_command()x"]
)
def test_a_pattern_that_is_none_allows_nothing(pattern: str) -> None:
    assert not runs(pattern, "ls")


def test_a_pattern_that_would_take_forever_allows_nothing() -> None:
    assert not runs("run_command(" + "*a" * 50 + ")", "a" * 9_000)
    assert not runs(f"run_command({'a' * 20_000})", "a" * 20_000)
    assert runs("run_command(**a***)", "aaa")
    started = time.process_time()
    assert not runs("run_command(a*a*a*a*b)", "a" * 9_999)
    assert time.process_time() - started < 5  # trying every way would take days


def covers(glob: str, text: str) -> bool:
    """Say what a glob without brackets covers, by trying every way."""
    if not glob:
        return not text
    rest, is_word = glob[1:], bool(text) and text[0] not in ";\n"
    if glob[0] == "*":
        return covers(rest, text) or (is_word and covers(glob, text[1:]))
    return bool(text) and (is_word if glob[0] == "?" else glob[0] == text[0]) and covers(rest, text[1:])


@given(glob=st.text("ab;*?", min_size=1, max_size=7), text=st.text("ab;", min_size=1, max_size=7))
@example("*b;*a", "b;bb;a")
@example("*a*a", "aba")
def test_a_pattern_covers_what_its_signs_say_and_nothing_else(glob: str, text: str) -> None:
    is_one = is_pattern(f"run_command({glob})")
    assert runs(f"run_command({glob})", text) == (is_one and covers(glob, text))


def test_a_call_that_no_pattern_describes_does_not_suggest_to_allow_them_all() -> None:
    for url in ("https://example.org/a/%2e%2e/b", "https://user@example.org/", "https://example.org/a b", ""):
        assert exact_pattern("fetch_url", {"url": url}) == ""
    assert exact_pattern("write_file", {"path": "../x"}) == ""
    assert exact_pattern("run_command", {}) == ""
    assert exact_pattern("server__tool", {"text": "x" * 20_000}) == ""
    assert not allows("", "fetch_url", {"url": "https://example.org/"})


def test_an_absolute_path_has_patterns_of_its_own() -> None:
    pattern = "write_file(/srv/place/src/*)"
    assert allows(pattern, "write_file", {"path": "/srv/place/src/b.py"})
    assert not allows(pattern, "write_file", {"path": "/srv/place/src/../b.py"})
    assert not allows(pattern, "write_file", {"path": "src/b.py"})


def test_the_exact_pattern_of_another_tool_has_all_its_arguments() -> None:
    pattern = exact_pattern("server__tool", {"b": 1, "a": "é*"})
    assert pattern == 'server__tool({"a": "é*", "b": 1})'
    assert exact_pattern("server__tool", {"a": "é*", "b": 1}) == pattern
    assert exact_pattern("server__tool", {"a": "é*", "b": True}) != pattern
    assert exact_pattern("server__tool", {}) == "server__tool"


# --- where a call works -----------------------------------------------------------------------------------


def test_a_rule_for_a_command_holds_in_the_folder_that_it_was_seen_in(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    (tmp_path / "link").symlink_to("one")
    found = [
        rules.exact_rule("run_command", {"command": "make all"}, ToolPlace(tmp_path / name))
        for name in ("one", "link", "two")
    ]
    assert found[0] == found[1] == ("run_command(make all)", str((tmp_path / "one").resolve()))
    assert found[2] != found[0]
    assert rules.exact_rule("run_command", {"command": "make all"}, ToolPlace()) == ("", "")


def test_a_rule_for_a_file_is_for_the_file_that_a_link_leads_to(tmp_path: Path) -> None:
    place = ToolPlace(tmp_path)
    (tmp_path / "notes.txt").symlink_to("Makefile")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "deep").symlink_to("..")
    (tmp_path / "src" / "out").symlink_to("/etc")
    for path in ("notes.txt", "Makefile", "src/deep/notes.txt", str(tmp_path / "Makefile")):
        pattern, _ = rules.exact_rule("write_file", {"path": path}, place)
        assert pattern == "write_file(Makefile)", path
    assert rules.exact_rule("write_file", {"path": "src/out/passwd"}, place)[0] == ""


def test_a_pattern_does_not_cover_what_only_a_link_in_it_leads_to(tmp_path: Path) -> None:
    place = ToolPlace(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "x").symlink_to("../Makefile")
    (tmp_path / "src" / "y").symlink_to("x.py")
    assert rules.allows("write_file(src/*)", "write_file", {"path": "src/y"}, place)
    assert rules.allows("write_file(src/*)", "write_file", {"path": "src/new/z"}, place)
    assert not rules.allows("write_file(src/*)", "write_file", {"path": "src/x"}, place)
    assert rules.allows("write_file", "write_file", {"path": "src/x"}, place)
    absolute = f"write_file({tmp_path}/src/*)"
    assert rules.allows(absolute, "write_file", {"path": f"{tmp_path}/src/a"}, place)


def test_a_list_without_a_path_is_one_of_the_whole_workspace(tmp_path: Path) -> None:
    place = ToolPlace(tmp_path)
    pattern, folder = rules.exact_rule("list_files", {"depth": 1}, place)
    assert (pattern, folder) == ("list_files(.)", str(tmp_path))
    assert rules.allows(pattern, "list_files", {}, place)
    assert rules.allows("list_files(*)", "list_files", {}, place)
    assert not rules.allows(pattern, "list_files", {"path": "src"}, place)
