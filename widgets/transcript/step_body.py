"""What a step shows, from what is known of it so far. All of a tool comes from outside: it is in fences that
nothing in it ends, and in cells of tables with every sign escaped.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from agent_tui.config.tool_rules import WRITING_TOOLS
from agent_tui.model.inert import inert, inert_line, visible, visible_line
from widgets.markdown.rows import APART
from widgets.transcript.json_text import GOES_ON, ParsedJson, parse, pretty, readable
from widgets.units import UnitWords, counted, duration, size

MAX_LINES: Final = 200
MAX_CHARACTERS: Final = 20_000
BEGINNING_LINES: Final = 20  # of a failure: the rest of what is shown is its end, which says why
BEGINNING_CHARACTERS: Final = 2_000
MAX_COLUMNS: Final = 8
MAX_CELL_CHARACTERS: Final = 120
MAX_ABOUT_CHARACTERS: Final = 120
SHOWN_CHARACTERS: Final = 40  # of what a call is about: more may be cut by the width of the row
MAX_FAILURE_CHARACTERS: Final = 200  # the width of the row cuts it, too
SHORT_FAILURE_CHARACTERS: Final = 20  # the head row always has room for them
MARKS_IN_MARKS: Final = 3  # bold around code, and so on
MORE: Final = "… {more}"
THINKING: Final = "thinking"
RESULT: Final = "result"
EXIT: Final = "exit {code}"
FAILED: Final = "failed"
FILES: Final = {  # what an agent shares: type of the step → what it is called
    "file_offered": "offers a file",
    "file_saved": "saved",
    "file_refused": "file",
}
NOTHING: Final = "nothing"
WORDS: Final = (THINKING, RESULT, *FILES.values(), "more", EXIT, FAILED, NOTHING)
COUNTED: Final = (("row", "rows"), ("more line", "more lines"), ("more row", "more rows"))
# What a call is about is the first of its arguments with one of these names, else its first short text.
MAIN_ARGUMENTS: Final = ("command", "pattern", "query", "expression", "url", "path", "name", "title")
PLACE_ARGUMENTS: Final = ("glob", "path", "folder")  # where something is looked for
_WRITTEN: Final = re.compile(r": \+(\d+) -(\d+) lines, [\d,]+ bytes now\Z")  # the result of an edit
_PUNCTUATION: Final = re.compile(r"([!-/:-@\[-`{-~])")
_FENCE_SIGNS: Final = re.compile(r"^[ \t]*(`+)", re.MULTILINE)
_DIFF: Final = re.compile(r"(?:\A|\n)(?:--- [^\n]*\n\+\+\+ [^\n]*\n)?@@ -[0-9,]+ \+[0-9,]+ @@")
_FILE_NAMES: Final = re.compile(r"--- ([^\n]*)\n\+\+\+ ([^\n]*)\n(?=@@ )")
_NAMED: Final = r"""(?:\A|[\s/"']){}(?:\Z|[\s,"'])"""  # a file, as a word or the end of a path
_BEGINS_A_LINE: Final = re.compile(r"\A\s*(?:(?:#{1,6}|[>*+-])\s+)*")
# Signs of markup come in pairs around words: a product, a glob and __name__ keep theirs.
_MARKED: Final = re.compile(r"(?<![\w*`])(\*{1,3}|_|`{1,3})(?![\s*_])(.+?)(?<!\s)\1(?![\w*`])")


def step_head(
    kind: str,
    *,
    name: str = "",
    arguments: str = "",
    content: str = "",
    result: str | None = None,
    success: bool = True,
    seconds: float | None = None,
) -> tuple[str, str]:
    """Return the title of a step of ``kind`` (thinking, text, tool_call, tool_result or any other), which is
    the kind or tool and, after two spaces, what it is about; and its summary.

    ``content`` is what was thought or said, ``arguments`` those of the call as far as they came, ``result``
    that of the call, once it is there.
    """
    summary = [duration(seconds)] if seconds is not None else []
    match kind:
        case "thinking":
            title = _title(UnitWords.word(THINKING), _first_words(content))
        case "sub_agent":
            title = _title(name, _first_words(content))
        case "file_offered" | "file_saved" | "file_refused":
            title = _title(UnitWords.word(FILES[kind]), name)
        case "text":
            title = ""
        case "tool_call":
            title = _title(name or kind, _about(arguments)[0])
            if result is not None:
                summary = _outcome(result, success, summary, name)
        case "tool_result":
            title = _title(UnitWords.word(RESULT), name)
            summary = _outcome(content if result is None else result, success, summary)
        case _:
            title = _title(kind, name)
    return title, " · ".join(summary)


def step_body(
    kind: str,
    *,
    arguments: str = "",
    content: str = "",
    result: str | None = None,
    success: bool = True,
    newest: str = "",
    limit: str | None = MORE,
) -> str:
    """Return the body of a step as Markdown; ``limit`` says what was left out, without it nothing is. Of a
    failure the end is kept. ``newest`` is what a running call wrote last.
    """
    match kind:
        case "thinking" | "text" | "sub_agent" | "summary":
            return content
        case "tool_call":
            about, is_said = _about(arguments)  # in the head row
            has_more = bool(newest) or result is not None
            pieces = [] if is_said and has_more else [_arguments_body(arguments, limit)]
            pieces += [fenced(newest)] if newest else []
            pieces += [] if result is None else [_result_piece(result, limit, about, success=success)]
            return "\n\n".join(piece for piece in pieces if piece)
        case "tool_result":
            return result_body(content if result is None else result, limit, keeps_end=not success)
        case _:
            text = content or arguments
            return result_body(text, limit) if text else ""


def _result_piece(result: str, limit: str | None, about: str, *, success: bool) -> str:
    """Return the body of a call's result; "" if the head row says all of it, as that it was denied. What is
    copied (without a ``limit``) has it all the same.
    """
    body = result_body(result, limit, about, keeps_end=not success)
    why = "" if success or limit is None else failure(result)
    return "" if why and len(why) <= SHORT_FAILURE_CHARACTERS and body == fenced(why) else body


def _title(name: str, about: str) -> str:
    name, about = inert_line(name) or "step", inert_line(about, MAX_ABOUT_CHARACTERS)
    return f"{name}{APART}{about}" if about else name


def _first_words(text: str) -> str:
    """Return the first line that has words, without signs of markup."""
    for line in text[: 4 * MAX_ABOUT_CHARACTERS].lstrip().split("\n"):
        words = _BEGINS_A_LINE.sub("", line, count=1)
        for _ in range(MARKS_IN_MARKS):
            words = _MARKED.sub(r"\2", words)
        if any(letter.isalnum() for letter in words):
            return inert_line(words.strip(), MAX_ABOUT_CHARACTERS)
    return ""


def _about(arguments: str) -> tuple[str, bool]:
    """Return what a call is about, and whether that is all there is to say of its arguments."""
    parsed = parse(arguments) if arguments.strip() else ParsedJson({})
    if parsed is None or not isinstance(parsed.value, dict):
        return "", False
    given = {str(key): value for key, value in parsed.value.items()}
    main = _main(given)
    if not main:
        return "", parsed.is_whole and not given
    whole = str(given[main])
    text = visible_line(whole, MAX_ABOUT_CHARACTERS)
    is_all = parsed.is_whole and text == whole and len(text) <= SHOWN_CHARACTERS
    if main in ("pattern", "query"):
        where = next((key for key in PLACE_ARGUMENTS if isinstance(given.get(key), str)), "")
        whole = str(given.pop(where)) if where else ""
        place = visible_line(whole, SHOWN_CHARACTERS)
        is_all = is_all and place == whole
        text = f'"{text}"' + (f" in {place}" if place else "")
    elif not parsed.is_whole and parsed.is_string_open and main == list(given)[-1]:
        text += GOES_ON
    return text, is_all and len(given) == 1


def _main(given: Mapping[str, object]) -> str:
    """Return the name of the argument that says most, or ""."""
    for name in MAIN_ARGUMENTS:
        if isinstance(given.get(name), str):
            return name
    return next((key for key, value in given.items() if isinstance(value, str) and "\n" not in value), "")


def _arguments_body(arguments: str, limit: str | None) -> str:
    if not arguments.strip():
        return ""
    parsed = parse(arguments)
    if parsed is None:
        return fenced(visible(arguments), limit=limit)
    return fenced(visible(readable(parsed)), limit=limit) if parsed.value != {} or not parsed.is_whole else ""


def _outcome(result: str, success: bool, times: list[str], tool: str = "") -> list[str]:
    if not success:
        return [failure(result), *times]
    if tool in WRITING_TOOLS and (found := _WRITTEN.search(result)):
        return [*times, f"+{found[1]} −{found[2]}"]
    value = _value(result)
    if isinstance(value, list) and value:
        return [*times, counted(len(value), "row", "rows")]
    return [*times, size(len(result.encode(errors="replace")))]


def failure(result: str, limit: int = MAX_FAILURE_CHARACTERS) -> str:
    """Return why something failed, in a line of at most ``limit`` characters."""
    value = _value(result)
    if isinstance(value, dict):
        if isinstance(error := value.get("error"), str) and error.strip():
            return inert_line(UnitWords.told(error), limit)
        if isinstance(code := value.get("exit_code"), int):
            return UnitWords.word(EXIT).format(code=code)
        return UnitWords.word(FAILED)
    return inert_line(result, limit) or UnitWords.word(FAILED)


def _value(result: str) -> object:
    """Return the value of a result that is JSON, else the text."""
    parsed = parse(result) if result.lstrip()[:1] in ("{", "[") else None
    return parsed.value if parsed is not None and parsed.is_whole else result


def result_body(result: str, limit: str | None = MORE, heading: str = "", *, keeps_end: bool = False) -> str:
    """Return a result as Markdown: a table, a diff, readable JSON, or the text as it is. A file that
    ``heading`` names above it is not named again. ``keeps_end`` as for ``fenced``.
    """
    value = _value(result)
    if isinstance(value, dict):
        rest = {key: own for key, own in value.items() if key != "success"}
        if len(rest) == 1 and isinstance(only := next(iter(rest.values())), str):
            has_failed = value.get("success") is False and "error" in rest
            text = UnitWords.told(only) if has_failed else only
            return text_body(text, limit, heading, keeps_end=keeps_end)
        return fenced(readable(ParsedJson(rest)).rstrip(), limit=limit, keeps_end=keeps_end) if rest else ""
    if isinstance(value, list):
        return _table(value, limit) or fenced(pretty(value), "json", limit=limit)
    return text_body(result, limit, heading, keeps_end=keeps_end)


def text_body(text: str, limit: str | None = MORE, heading: str = "", *, keeps_end: bool = False) -> str:
    """Return a text as Markdown that shows it as it is; a unified diff as one, under its ``heading``."""
    if _DIFF.search(text[:MAX_CHARACTERS]):
        return diff_body(text, heading, limit)
    return fenced(text, limit=limit, keeps_end=keeps_end)


def diff_body(diff: str, heading: str, limit: str | None = MORE) -> str:
    """Return a diff as Markdown, without the name of its one file if ``heading``, above it, has that."""
    names = _FILE_NAMES.findall(diff)
    first = _FILE_NAMES.match(diff)
    if first and len(names) == 1 and re.search(_NAMED.format(re.escape(_file(*names[0]))), heading):
        diff = diff[first.end() :]
    return fenced(diff, "diff", limit=limit)


def _file(old: str, new: str) -> str:
    """Return the name of a diff's file."""
    name = old if new == "/dev/null" else new
    return name.partition("\t")[0].removeprefix("a/" if name is old else "b/")


def fenced(text: str, label: str = "", *, limit: str | None = MORE, keeps_end: bool = False) -> str:
    """Return a text in a fence that nothing in it ends; what is over is left out, and ``limit`` says so.
    With ``keeps_end`` that is from the middle.
    """
    text = inert(text).strip("\n")
    if not text.strip():
        return f"*{UnitWords.word(NOTHING)}*"
    shown, note, end = _limited(text, limit, keeps_end=keeps_end)
    pieces = (_fence(shown, label), note, _fence(end, label) if end else "")
    return "\n\n".join(piece for piece in pieces if piece)


def quoted(text: str, limit: str | None) -> str:
    """Return a text, whose lines break between words, as a quotation that shows it as it is. What is over is
    left out, and ``limit`` says so.
    """
    text = inert(text).strip("\n")
    if not text.strip():
        return f"*{UnitWords.word(NOTHING)}*"
    shown, note, _ = _limited(text, limit, keeps_end=False)
    lines = "\n".join(f"> {escaped(line.strip())}  " for line in shown.split("\n"))
    return "\n\n".join(filter(None, (lines, note)))


def _fence(text: str, label: str) -> str:
    longest = max((len(signs) for signs in _FENCE_SIGNS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{label}\n{text}\n{fence}"


def _limited(text: str, limit: str | None, *, keeps_end: bool) -> tuple[str, str, str]:
    """Return the beginning of a text, what ``limit`` says is left out, and with ``keeps_end`` the end."""
    shown = text if limit is None else _beginning(text, MAX_LINES, MAX_CHARACTERS)
    if limit is None or shown == text:
        return text, "", ""
    end = ""
    if keeps_end:
        shown = _beginning(text, BEGINNING_LINES, BEGINNING_CHARACTERS)
        lines = MAX_LINES - BEGINNING_LINES
        end = "\n".join(text[len(shown) :].rsplit("\n", lines)[-lines:])
        end = end[-(MAX_CHARACTERS - BEGINNING_CHARACTERS) :]
    rest = text[len(shown) : len(text) - len(end)]
    lines = rest.count("\n") - (1 if end else 0)
    more = (
        counted(lines, "more line", "more lines")
        if lines > 0
        else f"{size(len(rest))} {UnitWords.word('more')}"
    )
    return shown, limit.replace("{more}", more), end


def _beginning(text: str, lines: int, characters: int) -> str:
    return "\n".join(text.split("\n", lines)[:lines])[:characters]


def _table(rows: list[object], limit: str | None) -> str:
    """Return a list of objects with the same few names, and short values, as a table; "" if it is none."""
    first = rows[0] if rows else None
    if not isinstance(first, dict) or not 0 < len(first) <= MAX_COLUMNS:
        return ""
    names = list(first)
    if not all(isinstance(row, dict) and list(row) == names and _is_flat(row) for row in rows):
        return ""
    shown = rows if limit is None else rows[:MAX_LINES]
    most = None if limit is None else MAX_CELL_CHARACTERS
    lines = [_table_line([str(name) for name in names], most), "|" + "---|" * len(names)]
    cells = ([_cell(value) for value in row.values()] for row in shown if isinstance(row, dict))
    lines += [_table_line(row, most) for row in cells]
    note = ""
    if limit is not None and len(rows) > len(shown):
        note = "\n\n" + limit.replace("{more}", counted(len(rows) - len(shown), "more row", "more rows"))
    return "\n".join(lines) + note


def _is_flat(row: Mapping[object, object]) -> bool:
    return all(
        isinstance(value, int | float | str | None) and "\n" not in str(value) for value in row.values()
    )


def _cell(value: object) -> str:
    return value if isinstance(value, str) else pretty(value)


def _table_line(cells: list[str], most: int | None) -> str:
    return "| " + " | ".join(escaped(inert_line(cell, most or len(cell))) for cell in cells) + " |"


def escaped(text: str) -> str:
    """Return one line of text as Markdown that shows it as it is."""
    return _PUNCTUATION.sub(r"\\\1", text)
