"""Patterns of calls that a person allowed: what they cover, and above all what they do not."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent_tui.backend.tools.rules import allows, pattern_for
from agent_tui.tool_rules import is_pattern, speaks_of


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
    assert speaks_of("tickets__*", "tickets__find")
    assert speaks_of("run_command(make *)", "run_command")
    assert not speaks_of("tickets__*", "run_command")


@pytest.mark.parametrize(
    "text", ["run_command(make *)", "read_file(a/*)", "calculator", "tickets__find", "tickets__*"]
)
def test_what_can_cover_a_call_is_a_pattern(text: str) -> None:
    assert is_pattern(text)


@pytest.mark.parametrize(
    "text",
    [
        *("", "*", "run_*", "*__find", "tickets__*(x)", "run_command(", "run command", "calculator(2*)"),
        *("tickets__find(x)", "read_file(*a*b*c*d*)"),
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
def test_the_suggested_pattern_covers_its_own_command_and_no_other_with_shell_signs(command: str) -> None:
    pattern = pattern_for("run_command", {"command": command})
    assert runs(pattern, command)
    assert not runs(pattern, f"{command}; rm -rf /")
    assert not runs(pattern, f"{command}\nrm")
    assert not runs(pattern, f"{command} $(rm)")


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("make -n test", "make -n *"),
        ("git log", "git log"),
        ("git log --oneline", "git log --oneline"),
        ("git status --short src", "git status --short *"),
        ("git clean -f build", "git clean -f build"),
        ("uv run pytest", "uv run pytest"),
        ("make test x", "make test x"),
        ("makefoo -n x", "makefoo -n x"),
        ("ls", "ls"),
        ("rm -rf build", "rm -rf build"),
        ("/bin/rm x", "/bin/rm x"),
        ("sudo make install", "sudo make install"),
        ("python3.11 x.py", "python3.11 x.py"),
        ("bash x.sh", "bash x.sh"),
        ("cat a | sh", "cat a | sh"),
        ("ls *.py", "ls [*].py"),
        ("echo 'a b'", "echo 'a b'"),
        ("grep [a] x; ls", "grep [[]a] x; ls"),
    ],
)
def test_a_suggestion_widens_only_what_is_harmless(command: str, pattern: str) -> None:
    assert pattern_for("run_command", {"command": command}) == f"run_command({pattern})"


def test_files_are_suggested_by_folder_and_compared_without_detours() -> None:
    assert pattern_for("write_file", {"path": "src/./a/../b.py"}) == "write_file(src/*)"
    assert pattern_for("write_file", {"path": "a.py"}) == "write_file(a.py)"
    covers = "write_file(src/*)"
    assert allows(covers, "write_file", {"path": "src/deep/x.py"})
    assert allows(covers, "write_file", {"path": "./src//x.py"})
    for path in ("src/../secret", "../src/x", "/src/x", "SRC/x", "srcs/x", "src", "src/\nx", "", 4, None):
        assert not allows(covers, "write_file", {"path": path})
    assert not allows(covers, "patch_file", {"path": "src/x"})
    assert not allows(covers, "write_file", {})


def test_pages_are_suggested_by_site_and_compared_in_one_spelling() -> None:
    assert pattern_for("fetch_url", {"url": "https://Docs.Example.org/a?b#c"}) == (
        "fetch_url(https://docs.example.org/*)"
    )
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


def test_tools_without_a_main_argument_are_allowed_as_a_whole() -> None:
    assert pattern_for("server__tool", {"path": "x"}) == "server__tool"
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
        assert pattern_for("fetch_url", {"url": url}) == ""
    assert pattern_for("write_file", {"path": "../x"}) == ""
    assert pattern_for("run_command", {}) == ""
    assert not allows("", "fetch_url", {"url": "https://example.org/"})


def test_an_absolute_path_has_patterns_of_its_own() -> None:
    pattern = pattern_for("write_file", {"path": "/srv/place/src/a.py"})
    assert pattern == "write_file(/srv/place/src/*)"
    assert allows(pattern, "write_file", {"path": "/srv/place/src/b.py"})
    assert not allows(pattern, "write_file", {"path": "/srv/place/src/../b.py"})
    assert not allows(pattern, "write_file", {"path": "src/b.py"})
