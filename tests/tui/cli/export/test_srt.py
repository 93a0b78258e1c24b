"""A voice session as subtitles."""

from __future__ import annotations

from dataclasses import replace

from agent_tui.model.events import Message, SpeechRecord
from tui.cli.export.srt import subtitles

AT = 1_700_000_000.0


def line(
    role: str, text: str, spoken: SpeechRecord | None = None, interrupted: str = "", at: str = ""
) -> Message:
    name = "" if role == "user" else "agent"
    return Message("m", "c", role, "", text, name, "", 0, 0, at, interrupted=interrupted, spoken=spoken)


def test_each_line_says_who_said_it_when_and_where_it_was_cut() -> None:
    said = [
        line("user", "What rooms\n\nare running?", SpeechRecord(started_at=AT, ended_at=AT + 1.5)),
        line(
            "assistant",
            "Two. Redis or PostgreSQL, and one more.",
            SpeechRecord("Two. Redis", started_at=AT + 2.25, ended_at=AT + 3),
            "interject",
        ),
        line("user", "\x1b[2Jpause it --> now", SpeechRecord(started_at=AT + 2.9, ended_at=AT + 3723.0)),
    ]
    assert subtitles(said) == (
        "1\n00:00:00,000 --> 00:00:01,500\nYou: What rooms\nare running?\n\n"
        "2\n00:00:02,250 --> 00:00:03,000\nagent: Two. Redis…\n\n"
        "3\n00:00:02,900 --> 01:02:03,000\nYou: ␛[2Jpause it → now\n"
    )


def test_a_line_of_which_nobody_noted_the_time_stands_where_it_was_stored_and_ends_before_the_next() -> None:
    said = [
        line("user", "typed " * 20, at="2026-01-01T00:00:00+00:00"),
        line("assistant", "Yes.", at="2026-01-01T00:00:02+00:00"),
        line("assistant", "no time at all", at="yesterday"),
    ]
    assert [block.splitlines()[1] for block in subtitles(said).split("\n\n")] == [
        "00:00:00,000 --> 00:00:02,000",
        "00:00:02,000 --> 00:00:03,000",
    ]


def test_a_name_stays_in_the_line_of_its_words_and_is_inert() -> None:
    name = "Eve\n\n2\n00:00:01,000 --> 00:00:02,000\nBo\x1b[2J"
    said = replace(line("user", "Hi.", SpeechRecord(started_at=AT, ended_at=AT + 1)), sender_name=name)
    assert subtitles([said]) == (
        "1\n00:00:00,000 --> 00:00:01,000\nEve 2 00:00:01,000 → 00:00:02,000 Bo␛[2J: Hi.\n"
    )


def test_nothing_said_is_nothing_written() -> None:
    assert subtitles([]) == ""
