"""The chat screen: answers with their steps as they come, and what a reader does with them."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agent_tui.model import events as ev
from tests.state.chat_events import call, loaded, message, result, started, status, words
from tests.tui.chat.one_chat import LIVE, opened, said

LONG = (
    ev.Step("step-0", type="tool_call", name="read_file", arguments="{}"),
    ev.Step(
        "step-1",
        type="tool_result",
        id_ref="step-0",
        content="\n".join(f"line {number}" for number in range(1000)),
    ),
)


@pytest.fixture(autouse=True)
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_TUI_DATA", str(tmp_path / "data"))


def row(text: str, part: str) -> str:
    return next(line for line in text.splitlines() if part in line)


async def test_a_stored_chat_shows_who_said_what_and_what_it_took() -> None:
    async with opened(
        *said(1, "What is in it?", "One target.", seconds=12.0, usage=ev.Usage(1000, 902))
    ) as chat:
        text = await chat.text()
        assert "Make" in text.splitlines()[0]
        assert "local · some-model" in text.splitlines()[0]
        assert "✓ ready" in text.splitlines()[0]
        assert "You" in text
        assert row(text, "12 s · 902 tok").split()[:2] == ["default", "model"]
        assert "One target." in text


async def test_an_answer_of_a_server_that_names_no_model_has_the_one_that_is_asked() -> None:
    async with opened() as chat:
        here = f"{ev.LOCAL_ID}a1"
        await chat.send(ev.MessageStored(message(f"{ev.LOCAL_ID}q1", "Look.")))
        text = await chat.send(call(turn_id=here), ev.TurnDone(here, "other"), ev.Unknown("x", "{}"))
        assert "default model" not in text
        assert text.count("some-model") == 2  # above all, and above the answer
        assert "┄ no result received" in row(text, "▾ look")
        assert "1 unknown event kept" in text


async def test_an_empty_chat_says_what_to_do_first() -> None:
    async with opened() as chat:
        assert "Ask something. @ attaches a file, / lists commands." in await chat.text()
        hints = (await chat.press("tab")).splitlines()[-1]
        assert hints.split("●")[0].strip() == "i write · ? help"  # nothing to fold or to copy


async def test_an_answer_is_shown_as_it_comes_each_step_in_its_row() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(started("a1", "q1"), words("I must look", kind="thinking"))
        text = await chat.send(ev.StepAdded("a1", "step-0", " first."))
        assert "◔ thinking" in text.splitlines()[0]
        assert "▾ thinking" in text
        assert "│ I must look first." in text
        text = await chat.send(call(arguments='{"path": "Makefile"}'), status("running"))
        assert "▸ thinking      I must look first." in text  # it is over
        assert "● running" in row(text, "▾ look")
        text = await chat.send(status("running", progress="2 of 5: \x1b[2J half"))
        assert "● running · 2 of 5: ␛[2J half" in row(text, "▾ look")
        text = await chat.send(result("step-1"), status("done", seconds=0.003))
        assert "▸ look          Makefile" in text
        assert "✓ 3 ms · 5 B" in row(text, "▸ look")
        await chat.send(words("It ", "step-3"))
        text = await chat.send(ev.StepAdded("a1", "step-3", "has **one** target."))
        assert "It has one target.▌" in text
        assert "● answering" in text.splitlines()[0]
        text = await chat.send(ev.TurnEnded("a1", "", 7, seconds=2.0), ev.TurnDone("a1", "a1", 7))
        assert "It has one target.▌" not in text
        assert row(text, "2.0 s · 7 tok").startswith(" demo")


async def test_a_running_command_shows_its_last_lines_and_a_low_screen_or_a_folded_step_the_newest() -> None:
    long = "four" * 30
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(started("a1", "q1"), call(arguments='{"command": "make"}'))
        text = await chat.send(status("running", progress=f"one\n  two \x1b[2J\nthree\n{long}"))
        assert [line.strip() for line in text.splitlines() if "│" in line] == [
            "│   two ␛[2J",
            "│ three",
            f"│ {long[:95]}…",
        ]
        assert row(text, "▾ look").endswith("● running")
        await chat.pilot.resize_terminal(80, 12)
        text = await chat.send(status("running", progress="four\nfive"))
        assert "● running · five" in row(text, "▾ look")
        await chat.pilot.resize_terminal(80, 24)
        await chat.press("tab", "space")
        text = await chat.send(status("running", progress="five\nsix"))
        assert "● running · six" in row(text, "▸ look")


async def test_each_word_reaches_the_transcript_once() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(started("a1", "q1"), words(""))
        given: list[str] = []
        transcript = chat.app.chat._transcript
        add = transcript.text_added

        def added(key: str, text: str) -> None:
            given.append(text)
            add(key, text)

        transcript.text_added = added  # type: ignore[method-assign]
        pieces = [f"word{number} " for number in range(200)]
        await chat.send(*(ev.StepAdded("a1", "step-0", piece) for piece in pieces))
        assert "".join(given) == "".join(pieces)
        assert len(given) == len(pieces)


async def test_a_failed_call_stays_open_and_says_why() -> None:
    async with opened(message("q1", "Look.")) as chat:
        failed = ev.Step(
            "step-2",
            type="tool_result",
            id_ref="step-1",
            success=False,
            content='{"success": false, "error": "no such file"}',
        )
        text = await chat.send(
            started("a1", "q1"), call(arguments='{"path": "x"}'), ev.StepSet("a1", failed), status("failed")
        )
        assert "✗ no such file" in row(text, "▾ look")


async def test_what_the_reader_folded_stays_so_whatever_comes_and_after_it_is_loaded_again() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(started("a1", "q1"), words("I must look", kind="thinking"))
        await chat.press("tab")
        assert "▸ thinking" in await chat.press("space")
        assert "▸ thinking" in await chat.send(ev.StepAdded("a1", "step-0", " first."))
        await chat.press("space")
        text = await chat.send(words("Done.", "step-1"), ev.TurnDone("a1", "a1"))
        assert "▾ thinking" in text  # over, and open: the reader opened it
        steps = (ev.Step("step-0", type="thinking", content="I must look first."),)
        stored = message("a1", "", "assistant", parent_id="q1", steps=steps)
        assert "▾ thinking" in await chat.send(loaded(message("q1", "Look."), stored), LIVE)


async def test_all_steps_fold_and_unfold_and_thoughts_alone() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(
            started("a1", "q1"),
            words("Hm.", kind="thinking"),
            call(),
            result("step-1"),
            status("done"),
            words("So.", "step-3"),
            ev.TurnDone("a1", "a1"),
        )
        await chat.press("tab")
        text = await chat.press("F")
        assert "▾ thinking" in text
        assert "▾ look" in text
        text = await chat.press("t")
        assert "▸ thinking" in text
        assert "▾ look" in text
        text = await chat.press("F")
        assert "▸ look" in text


async def test_all_of_a_result_opens_on_a_screen_of_its_own() -> None:
    async with opened(message("q1", "x"), message("a1", role="assistant", steps=LONG)) as chat:
        await chat.press("tab", "space")
        assert "line 3" in await chat.text()
        text = await chat.press("o")
        assert "▼" in text
        assert "new" not in text
        text = await chat.press("end")
        assert "line 999" in text
        assert "read_file" in text.splitlines()[0]
        assert "✓ ready" in await chat.press("escape")


async def test_what_is_opened_whole_can_be_searched() -> None:
    async with opened(message("q1", "x"), message("a1", role="assistant", steps=LONG)) as chat:
        await chat.press("tab", "o", "slash")
        text = await chat.press(*"line 9")
        assert "↓ next · ↑ previous · enter keep · esc close" in text
        text = await chat.press("enter")
        assert "1 of 111" in text
        assert "n next · N previous · esc close" in text
        assert "2 of 111" in await chat.press("n")
        assert "1 of 111" in await chat.press("N")
        text = await chat.press("escape")
        assert "of 111" not in text
        assert "/ find · y copy · esc back" in text
        assert "✓ ready" in await chat.press("escape")


async def test_on_a_narrow_screen_what_is_opened_whole_still_says_how_to_get_back() -> None:
    async with opened(message("q1", "x"), message("a1", role="assistant", steps=LONG), size=(30, 14)) as chat:
        text = await chat.press("tab", "o")
        assert text.splitlines()[-1].strip() == "/ find · y copy · esc back"


async def test_all_of_a_result_is_copied_also_what_is_not_shown() -> None:
    async with opened(message("q1", "x"), message("a1", role="assistant", steps=LONG)) as chat:
        text = await chat.press("tab", "space", "end")
        assert "800 more lines" in text
        transcript = chat.app.chat._transcript
        await chat.press("shift+up")
        assert "line 999" in transcript.reader.message_text()
        assert "more lines" not in transcript.reader.message_text()


async def test_all_of_an_attached_file_is_copied() -> None:
    file = ev.Attachment("long.txt", "\n".join(f"row {number}" for number in range(500)))
    async with opened(message("q1", "x", attachments=(file,))) as chat:
        await chat.press("tab")
        assert "row 499" in chat.app.chat._transcript.reader.message_text()


async def test_what_is_waited_for_says_since_when() -> None:
    async with opened(message("q1", "x")) as chat:
        text = await chat.send(started("a1", "q1"))
        assert text.splitlines()[0].rstrip().endswith("◌ waiting for the model")
        chat.time += 3
        text = await chat.later()
        assert text.splitlines()[0].rstrip().endswith("◌ waiting for the model 3 s")
        text = await chat.send(words("Hm", kind="thinking"))
        assert text.splitlines()[0].rstrip().endswith("◔ thinking")
        chat.time += 75
        text = await chat.later()
        assert text.splitlines()[0].rstrip().endswith("◔ thinking 1 min 15 s")
        text = await chat.send(words("So", "step-1"))
        assert text.splitlines()[0].rstrip().endswith("● answering")
        chat.time += 5
        assert "answering 5 s" not in await chat.later()


async def test_a_model_that_is_loaded_says_since_when_and_one_without_tools_that_it_has_none() -> None:
    async with opened(message("q1", "x")) as chat:
        text = await chat.send(started("a1", "q1"), ev.TurnNoted("a1", "loading"))
        assert text.splitlines()[0].rstrip().endswith("◌ loading the model…")
        chat.time += 41
        text = await chat.later()
        assert text.splitlines()[0].rstrip().endswith("◌ loading the model… 41 s")
        text = await chat.send(ev.TurnNoted("a1", "no_tools"), words("So"))
        assert "this model cannot use tools" in text
        assert text.splitlines()[0].rstrip().endswith("● answering")
        text = await chat.send(ev.TurnNoted("a1", "trimmed", 3))
        assert "this model cannot use tools · 3 earlier messages left out" in text


async def test_an_mcp_server_that_is_waited_for_is_named_and_one_that_is_missing_with_the_reason() -> None:
    async with opened(message("q1", "x")) as chat:
        waits = ev.TurnNoted("a1", "servers_wait", about="slow\x1b[2J")
        text = await chat.send(started("a1", "q1"), waits)
        assert text.splitlines()[0].rstrip().endswith("◌ waiting for MCP server slow␛[2J…")
        missing = ev.TurnNoted("a1", "server_missing", about="slow: it did not start within 15 s")
        text = await chat.send(ev.TurnNoted("a1", "servers_wait"), missing)
        assert "waiting for MCP server" not in text
        assert "MCP server slow: it did not start within 15 s" in text


async def test_what_stays_true_of_an_answer_is_shown_of_a_stored_one_too_and_nothing_of_it_is_cut() -> None:
    fix = "run its command by hand, or correct mcp.slow.command and .args"
    notes = (
        ev.Note("no_tools"),
        ev.Note("shortened", "", 2),
        ev.Note("server_missing", f"slow: gone\x1b[2J; {fix}"),
        ev.Note("loading"),
    )
    answer = message("a1", "So", "assistant", notes=notes, trimmed=3, seconds=2.0)
    async with opened(message("q1", "x"), answer, size=(80, 24)) as chat:
        text = " ".join((await chat.text()).split())
        assert (
            "this model cannot use tools · 3 earlier messages left out · 2 long tool results shortened · "
            f"MCP server slow: gone␛[2J; {fix} So" in text
        )
        assert "loading" not in text


async def test_what_the_folder_tells_the_model_is_said_once_until_that_changes() -> None:
    told, cut = ev.Note("guide", "AGENTS.md", 1234), ev.Note("guide_cut", "AGENTS.md", 32_768)
    stored = [
        (message(f"q{place}", "x"), message(f"a{place}", "So", "assistant", notes=(note,)))
        for place, note in enumerate((told, told, cut))
    ]
    async with opened(*(one for both in stored for one in both)) as chat:
        text = " ".join((await chat.text()).split())
        assert text.count("AGENTS.md included, 1.2 kB") == 1
        assert "AGENTS.md included, only the first 33 kB" in text
        unread = ev.TurnNoted("a9", "guide_unread", about="AGENTS.md: is outside the workspace\x1b[2J")
        text = await chat.send(started("a9", "q2"), unread, words("So"))
        assert "not included: AGENTS.md: is outside the workspace␛[2J" in text


async def test_that_an_mcp_server_is_missing_is_said_once_until_that_changes() -> None:
    gone, ended = ev.Note("server_missing", "slow: gone"), ev.Note("server_missing", "slow: it ended")
    declined = ev.Note("form_declined", "slow: a form nobody saw")
    each = (gone,), (gone, declined), (gone, declined), (ended,), (), (ended,)
    stored = [
        (message(f"q{place}", "x"), message(f"a{place}", "So", "assistant", notes=notes))
        for place, notes in enumerate(each)
    ]
    async with opened(*(one for both in stored for one in both), size=(120, 60)) as chat:
        text = await chat.text()
        assert text.count("MCP server slow: gone") == 1
        assert text.count("MCP server slow: a form nobody saw") == 2  # each was another form
        assert text.count("MCP server slow: it ended") == 2  # it was there in between
        text = await chat.send(started("a9", "q5"), ev.TurnNoted("a9", "server_missing", about=ended.about))
        assert text.count("MCP server slow: it ended") == 2


async def test_an_error_too_long_for_its_row_can_be_unfolded_and_opened() -> None:
    error = f"API Error: {'a fault, ' * 200}\nand [b]its[/] end\x1b[2J"
    async with opened(message("q1", "x"), size=(120, 50)) as chat:
        text = await chat.send(started("a1", "q1"), ev.RunFailed(error))
        assert "✗ API Error: a fault, a fault," in text
        assert "▸ the whole error" in text
        assert "its[/] end" not in text
        await chat.press("tab")
        assert "and [b]its[/] end␛[2J" in await chat.press("F")
        assert "its[/] end" not in await chat.press("F")
        assert "its[/] end" not in await chat.press("t")
        text = await chat.press("o")
        assert text.splitlines()[0].strip() == "the whole error"
        assert "and [b]its[/] end␛[2J" in text
    async with opened(message("q1", "x")) as chat:
        assert "the whole error" not in await chat.send(started("a1", "q1"), ev.RunFailed("API Error: no"))


async def test_only_while_something_is_waited_for_it_is_looked_at_again() -> None:
    async with opened(message("q1", "x")) as chat:
        timer = chat.app.chat._looking
        assert timer is not None
        assert not timer._active.is_set()
        await chat.send(started("a1", "q1"))
        assert timer._active.is_set()
        await chat.send(words("So"))
        assert not timer._active.is_set()


async def test_a_provider_that_limits_the_rate_is_named_and_the_time_counts_down() -> None:
    async with opened(message("q1", "x")) as chat:
        await chat.send(started("a1", "q1"))
        until = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        text = await chat.send(ev.TurnNoted("a1", "rate_limit", until=until, seconds=9.0))
        assert text.splitlines()[0].rstrip().endswith("◌ rate limited, 9 s")
        text = await chat.send(
            ev.TurnNoted("a1", "rate_limit", until=datetime.now(UTC).isoformat(), seconds=9.0)
        )
        assert text.splitlines()[0].rstrip().endswith("◌ waiting for the model")


async def test_tools_that_run_beside_one_another_are_counted_and_then_the_model_is_waited_for() -> None:
    async with opened(message("q1", "x")) as chat:
        await chat.send(started("a1", "q1"), call(), status("running"))
        text = await chat.send(call("step-2"), status("running", "step-2"))
        assert "● running 2 tools" in text.splitlines()[0]
        text = await chat.send(result("step-2", "step-3"), status("done", "step-2"))
        assert "● running look" in text.splitlines()[0]
        text = await chat.send(result("step-1", "step-4"), status("done"))
        assert "◌ waiting for the model" in text.splitlines()[0]


async def test_below_a_call_that_was_cut_the_key_that_copies_copies_the_call() -> None:
    async with opened(message("q1", "x")) as chat:
        await chat.send(started("a1", "q1"), call(), status("running"), result("step-1", success=False))
        await chat.send(status("cut"), ev.TurnEnded("a1", "", 2, interrupted="stop"), ev.RunFailed("Stopped"))
        reader = chat.app.chat._transcript.reader
        assert "found" in reader.message_text()
        await chat.press("tab", "shift+up", "shift+up")  # to the row that only names the model
        assert reader.message_text() == ""


async def test_keys_act_on_what_is_in_sight_after_the_reader_went_on() -> None:
    talk = [m for n in range(20) for m in said(n, f"question {n}", f"answer {n}", f"a{n - 1}" if n else "")]
    async with opened(*talk, size=(80, 16)) as chat:
        await chat.press("tab", "colon", "1", "enter")
        transcript = chat.app.chat._transcript
        assert transcript.reader.message_text() == "question 0"
        await chat.press("pagedown", "pagedown", "pagedown")
        assert transcript.reader.message_text() not in ("question 0", "")
        await chat.press("colon", "1", "enter")
        transcript.follow = True
        await chat.settle()
        assert transcript.reader.message_text() == "answer 19"


async def test_a_call_that_was_stopped_is_cut_and_did_not_fail() -> None:
    async with opened(message("q1", "x")) as chat:
        await chat.send(started("a1", "q1"), call(), status("running"))
        text = await chat.send(result("step-1", success=False), status("cut"))
        assert row(text, "▸ look").rstrip().endswith("┄ cut")


async def test_escape_stops_the_answer_and_says_so_when_that_came_true() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(started("a1", "q1"), words("Half a"))
        text = await chat.press("escape", "escape")
        assert chat.asked == ["stop"]
        assert "◌ stopping…" in text.splitlines()[0]
        text = await chat.send(
            ev.TurnEnded("a1", "", 2, interrupted="stop", seconds=1.0), ev.RunFailed("Stopped")
        )
        assert "┄ stopped by you" in text
        assert "✓ ready" in text.splitlines()[0]


async def test_a_stop_that_is_answered_before_the_answer_ends_leaves_nothing_to_wait_for() -> None:
    async with opened(message("q1", "Look.")) as chat:
        asked = replace(chat.link.calls.info, status="running")  # as it was when it was asked to stop
        chat.link.calls.info = asked
        await chat.send(started("a1", "q1"), words("Half a"))
        await chat.press("escape", "escape")
        await chat.send(ev.TurnEnded("a1", "", 2, interrupted="stop", seconds=1.0), ev.RunFailed("Stopped"))
        assert "✓ ready" in (await chat.text()).splitlines()[0]


async def test_an_answer_that_failed_says_why_even_without_a_word() -> None:
    async with opened(message("q1", "Look.")) as chat:
        text = await chat.send(
            started("a1", "q1"),
            ev.TurnEnded("a1", "", 0, error="API Error: no such model"),
            ev.RunFailed("API Error: no such model"),
        )
        assert "✗ API Error: no such model" in text


async def test_an_answer_cut_in_a_tool_says_so_below_its_steps() -> None:
    async with opened(message("q1", "Look.")) as chat:
        text = await chat.send(
            started("a1", "q1"), call(), status("running"), ev.TurnEnded("a1", "", 0, interrupted="crash")
        )
        assert text.index("look") < text.index("┄ cut when the backend crashed")


async def test_a_finding_in_a_folded_step_unfolds_it() -> None:
    async with opened(message("q1", "Look.")) as chat:
        await chat.send(
            started("a1", "q1"),
            words("a needle here", kind="thinking"),
            words("So.", "step-1"),
            ev.TurnDone("a1", "a1"),
        )
        await chat.press("tab")
        foot = (await chat.press("slash", *"needle")).splitlines()[-1]
        assert foot.startswith(" ↓ next · ↑ previous · enter keep · esc close  ")
        assert "▾ thinking" in await chat.press("enter")


async def test_hostile_words_and_names_are_harmless_and_stay_in_their_rows() -> None:
    nasty = "\x1b]52;c;aGk=\x07\x1b[31m\u202eevil\x00"
    async with opened(message("q1", nasty), title=nasty, model=nasty) as chat:
        step = ev.Step("step-0", type="tool_call", name=f"{nasty}\n\n# head", arguments='{"path": "```"}')
        text = await chat.send(started("a1", "q1"), ev.StepSet("a1", step), words(nasty, "step-1"))
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert text.count("\n") == 29


async def test_no_size_of_the_screen_breaks_it() -> None:
    async with opened(*said(1, "What?", "That."), size=(1, 1)) as chat:
        await chat.send(started("a2", "a1"), call(turn_id="a2"))
        for size in ((1, 1), (20, 5), (40, 10), (200, 60), (50, 14)):
            await chat.resize(*size)
            await chat.press("tab", "space", "F", "tab")
            assert list(chat.app.chat.state.turns) == ["q1", "a1", "a2"], size


async def test_ascii_terminals_get_ascii_signs() -> None:
    async with opened(*said(1, "What?", "That."), is_ascii=True) as chat:
        text = await chat.send(
            started("a2", "a1"), call(turn_id="a2"), ev.ToolStatusChanged("a2", "step-1", "running")
        )
        assert text.isascii()
        assert "v look" in text
