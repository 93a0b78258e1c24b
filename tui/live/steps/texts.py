"""What is said of the steps of an answer, of what tools would do, and which keys answer: pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from agent_tui.config.tool_rules import WRITING_TOOLS, is_exact, spelled_out
from agent_tui.model.events import UNDONE, WAITS, ToolAsk
from agent_tui.model.inert import inert, inert_line, visible, visible_line
from agent_tui.model.tool_forms import ToolForm
from agent_tui.state.steps import StepState
from tui.live import signs
from tui.live.texts import asked_amount, asked_preview, needs
from tui.screens.localised import localised
from tui.screens.words import count, say
from widgets.painter import cropped
from widgets.signs import twin
from widgets.transcript.step_body import MORE, diff_body, escaped, fenced, quoted, step_body
from widgets.transcript.step_body import step_head as head_of
from widgets.units import size
from widgets.wrap import NO_BREAK, PARTED

MAX_NAME_CHARACTERS: Final = 60
MAX_RULE_CHARACTERS: Final = 2_000
MOST_LINES: Final = 3  # of what a running command writes
MOST_LINES_CHARACTERS: Final = 2_000  # all of them
ROWS_FOR_A_LINE: Final = 5  # of the transcript, for each of them
HEAD_CHARACTERS: Final = 400  # of a thought: its first words are in the head row, no more is looked at
OPENS: Final = "chat.open_step"  # the action that opens all of a body
WRITING: Final = ""  # the status of a call whose arguments still come


def is_written(step: StepState) -> bool:
    """Whether it is a call whose arguments still come."""
    return step.type == "tool_call" and step.status == WRITING and step.result is None


def is_folded(step: StepState) -> bool:
    """Say whether a tool's step is folded by itself: once it is over, and not because it failed."""
    if step.type == "tool_call":
        return step.status in ("cut", UNDONE) or (
            step.status == "done" and (step.result is None or step.result.success)
        )
    return step.type != "tool_result" or step.success


def last_lines(step: StepState, height: int, width: int) -> list[str]:
    """Return what the body of a running command shows of its output, in a transcript ``height`` rows high:
    its last lines, cut to ``width`` cells. One line alone is in the head row.
    """
    most = min(MOST_LINES, height // ROWS_FOR_A_LINE)
    if step.status != "running" or step.result is not None or most < 2:
        return []
    lines = inert(step.progress[-MOST_LINES_CHARACTERS:]).split("\n")[-most:]
    return [cropped(line, width) for line in lines] if len(lines) > 1 else []


def step_head(step: StepState, *, has_lines: bool = False) -> tuple[str, str, str]:
    """Return title, summary and sign of a step's row. ``has_lines``: the last lines are below it."""
    if is_written(step) and step.arguments.length > 2 * HEAD_CHARACTERS:
        begun = step.arguments.slice(0, 2 * HEAD_CHARACTERS)
        title, _ = head_of("tool_call", name=step.name, arguments=begun)
        return title, say("step.writing", size=size(step.arguments.length)), signs.THINKING
    if step.type == "summary":
        number = int(step.name[:9]) if step.name.isdecimal() else 0
        about = say("step.summary.size", count=count(step.content.length // 4))
        return say("step.summary", count=count(number)), about, ""
    result = step.result
    is_thought = step.type in ("thinking", "sub_agent")
    title, summary = head_of(
        step.type,
        name=localised(step.name) if step.type == "file_refused" else step.name,
        arguments=step.arguments.text,
        content=step.content.slice(0, HEAD_CHARACTERS) if is_thought else step.content.text,
        result=result.content.text if result is not None else None,
        success=result.success if result is not None else step.success,
        seconds=step.seconds if step.seconds is not None or result is None else result.seconds,
    )
    if step.type != "tool_call":
        return title, summary, "" if step.type != "tool_result" else _outcome_sign(step.success)
    match step.status:
        case "asks":
            return title, needs(step.ask), signs.PAUSED
        case status if status == WAITS:
            return title, say("step.waits"), signs.WAITING
        case "running":
            newest = "" if has_lines else step.progress.rpartition("\n")[2]
            far = inert_line(newest, MAX_NAME_CHARACTERS)
            return title, " · ".join(filter(None, (say("step.running"), far))), signs.SPEAKING
        case "denied" if result is None:
            return title, say("step.denied"), signs.FAILED
        case "unknown" if result is None:
            return title, say("step.no_result"), signs.CUT
        case "unknown":
            return title, say("step.unknown"), signs.FAILED
        case "cut":
            return title, say("step.cut"), signs.CUT
        case status if status == UNDONE:
            return title, say("step.undone"), signs.CUT
        case "" if result is None:
            return title, summary, signs.THINKING
        case _:
            return title, summary, _outcome_sign(result is None or result.success)


def _outcome_sign(success: bool) -> str:
    return signs.DONE if success else signs.FAILED


def step_body_of(
    step: StepState,
    key: Callable[[str], str] | None = None,
    *,
    lines: Sequence[str] = (),
    shows_all: bool = False,
    ascii_only: bool = False,
) -> str:
    """Return the body of a step as Markdown, with the last ``lines`` of what it writes; ``key`` names the
    keys that answer, or open all of it.
    """
    if step.type == "tool_call" and step.status == "asks" and step.ask is not None:
        return asking_body(step.ask, key, shows_all=shows_all, ascii_only=ascii_only)
    return step_body(
        step.type,
        arguments=step.arguments.text,
        content=step.content.text,
        result=step.result.content.text if step.result is not None else None,
        success=step.result.success if step.result is not None else step.success,
        newest="\n".join(lines),
        limit=None if shows_all else limit_of(key, ascii_only=ascii_only),
    )


def limit_of(key: Callable[[str], str] | None, *, ascii_only: bool) -> str:
    """Return what is said where a body ends early, with the key that opens all, where there is one."""
    opens = key(OPENS) if key is not None else ""
    text = say("step.more.opens", press=escaped(opens), more="{more}") if opens else MORE
    return twin(text) if ascii_only else text


def asking_body(
    ask: ToolAsk,
    key: Callable[[str], str] | None = None,
    *,
    shows_all: bool = False,
    ascii_only: bool = False,
) -> str:
    """Return exactly what a tool would do as Markdown, nothing hidden; with ``key`` the keys that answer."""
    limit = None if shows_all else limit_of(None, ascii_only=ascii_only)
    pieces = _call_pieces(ask, limit) if ask.form is None else _form_pieces(ask.form, limit)
    if key is not None:
        pieces.append(_asking_keys(ask, key, ascii_only=ascii_only))
    return "\n\n".join(pieces)


def _call_pieces(ask: ToolAsk, limit: str | None) -> list[str]:
    """Return what a call would do, and the rules that are about it."""
    call, preview = visible(ask.call), asked_preview(ask)
    allows_file = _allows_file(ask)
    pieces = [fenced(call, limit=limit)]
    if not allows_file:  # else it is clear from the row above and the keys below
        pieces.insert(0, say("ask.allow"))
    if preview.strip() and not call.strip().endswith(preview.strip()):
        is_diff = ask.preview_type == "diff"
        pieces.append(diff_body(preview, call, limit) if is_diff else fenced(preview, limit=limit))
    is_file = ask.pattern.partition("(")[0] in WRITING_TOOLS
    if ask.pattern and not allows_file and (is_file or not is_exact(ask.pattern, ask.folder)):
        rule, reach = kept_rule(ask)
        pieces.append(escaped(say("ask.rule", rule=rule, reach=reach)))
    return pieces


def _allows_file(ask: ToolAsk) -> bool:
    """Whether a saved rule would allow exactly the changes of this file."""
    tool, _, file = ask.call.partition(" ")
    is_about_it = tool in WRITING_TOOLS and spelled_out(ask.pattern) == f"{tool}({file})"
    return is_about_it and is_exact(ask.pattern, ask.folder)


def _form_pieces(form: ToolForm, limit: str | None) -> list[str]:
    """Return who asks for what, and which of it is needed."""
    server = visible_line(form.server, MAX_NAME_CHARACTERS)
    pieces = [escaped(say("ask.form", server=server, amount=asked_amount(form)))]
    star = f"{NO_BREAK}*"  # never alone in a row
    named = [f"- {visible_line(field.label, 120)}{star if field.required else ''}" for field in form.fields]
    pieces.append(quoted("\n".join([visible(form.message), *named]), limit))
    if form.asks_for_secret:
        pieces.append(escaped(say("ask.form.secret")))
    return pieces


def kept_rule(ask: ToolAsk) -> tuple[str, str]:
    """Return the rule that "conversation" and "always" keep, and how far it goes, each in a line."""
    if not is_exact(ask.pattern, ask.folder):
        return visible_line(ask.pattern, MAX_RULE_CHARACTERS), say("ask.keep.wide")
    pattern = visible_line(spelled_out(ask.pattern), MAX_RULE_CHARACTERS)
    if ask.pattern.partition("(")[0] in WRITING_TOOLS:
        return pattern, say("ask.keep.file", folder=visible_line(ask.folder))
    if ask.folder:
        return pattern, say("ask.keep.folder", folder=visible_line(ask.folder))
    return pattern, say("ask.keep.exact")


def _asking_keys(ask: ToolAsk, key: Callable[[str], str], *, ascii_only: bool) -> str:
    own: Callable[[str], str] = twin if ascii_only else str
    return own(f"{PARTED} ").join(
        f"**{escaped(name)}**{NO_BREAK}{own(text).replace(' ', NO_BREAK)}"
        for name, text in asking_keys(ask, key).values()
    )


def asking_keys(ask: ToolAsk, key: Callable[[str], str]) -> dict[str, tuple[str, str]]:
    """Return the keys on a card with what they do, by the last part of their ids; none without a key."""
    offers = answers(ask) | ({} if ask.form is not None else {"whole": say("ask.whole")})
    named = {act: (key(f"ask.{act}"), text) for act, text in offers.items()}
    return {act: hint for act, hint in named.items() if hint[0]}


def answers(ask: ToolAsk) -> dict[str, str]:
    """Return what may be decided, by the last part of the id of its key; no rule where none can be kept."""
    if ask.form is not None:
        return {"once": say("ask.fill_in"), "deny": say("ask.decline")}
    kept = ("conversation", "always") if ask.pattern else ()
    file = {"conversation": say("ask.conversation.file")} if _allows_file(ask) else {}
    return {act: say(f"ask.{act}") for act in ("once", *kept, "deny")} | file
