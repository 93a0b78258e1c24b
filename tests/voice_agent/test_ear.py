"""When what is heard is decoded, and what of it is believed."""

from __future__ import annotations

from itertools import pairwise

import pytest

from agent_tui.voice_agent.hearing.ear import (
    HARD_END_SECONDS,
    LEAD_SECONDS,
    LONGEST_SECONDS,
    RATE,
    SILENCE_SECONDS,
    Act,
    Ear,
)
from agent_tui.voice_agent.hearing.hypothesis import Hypothesis, is_looped, with_known_words

WINDOW_SECONDS = 0.032
WINDOW = bytes(int(RATE * WINDOW_SECONDS) * 2)


def play(
    ear: Ear, seconds: float, *, is_voice: bool, ends_by_silence: bool = True
) -> list[tuple[float, Act]]:
    """Let ``ear`` hear; return what it wants and after how many seconds."""
    acts: list[tuple[float, Act]] = []
    for number in range(1, round(seconds / WINDOW_SECONDS) + 1):
        act = ear.hear(WINDOW, is_voice=is_voice, ends_by_silence=ends_by_silence)
        if act != "nothing":
            acts.append((number * WINDOW_SECONDS, act))
        if act == "over":
            ear.close()
    return acts


@pytest.fixture
def ear() -> Ear:
    listening = Ear(0.5)
    play(listening, 2.0, is_voice=False)
    listening.start()
    return listening


def test_nothing_is_decoded_before_the_detector_is_sure() -> None:
    assert play(Ear(0.5), 5.0, is_voice=True) == []


def test_words_are_asked_for_every_second_while_somebody_speaks(ear: Ear) -> None:
    acts = play(ear, 4.2, is_voice=True)
    assert [act for _, act in acts] == ["interim"] * 4
    gaps = [later - earlier for (earlier, _), (later, _) in pairwise(acts)]
    assert all(0.9 < gap < 1.1 for gap in gaps)


def test_the_end_is_decoded_at_the_first_silence_and_given_away_before_the_turn_ends(ear: Ear) -> None:
    play(ear, 1.0, is_voice=True)
    ((decoded, first), (given, second)) = play(ear, 0.6, is_voice=False)
    assert (first, second) == ("final", "over")
    assert SILENCE_SECONDS <= decoded < SILENCE_SECONDS + 0.05
    assert 0.4 < given < 0.5


def test_no_words_are_asked_for_in_silence(ear: Ear) -> None:
    play(ear, 0.9, is_voice=True)
    assert [act for _, act in play(ear, 0.4, is_voice=False)] == ["final"]
    assert not ear.is_speaking


def test_speech_that_goes_on_makes_the_decode_void_and_the_whole_is_decoded_again(ear: Ear) -> None:
    play(ear, 1.0, is_voice=True)
    play(ear, 0.3, is_voice=False)
    version = ear.version
    play(ear, 0.5, is_voice=True)
    assert ear.version == version + 1
    play(ear, 0.25, is_voice=False)
    assert len(ear.pcm) / RATE / 2 == pytest.approx(LEAD_SECONDS + 1.0 + 0.3 + 0.5 + 0.25, abs=0.15)


def test_what_led_up_to_the_voice_is_decoded_too(ear: Ear) -> None:
    assert len(ear.pcm) / RATE / 2 == pytest.approx(LEAD_SECONDS)


def test_who_holds_a_key_may_think_as_long_as_they_like(ear: Ear) -> None:
    play(ear, 1.0, is_voice=True)
    assert [act for _, act in play(ear, 3.0, is_voice=False, ends_by_silence=False)] == ["final"]
    play(ear, 0.5, is_voice=True, ends_by_silence=False)
    assert ear.flush() == "final"


def test_letting_go_after_a_silence_decodes_nothing_again(ear: Ear) -> None:
    play(ear, 1.0, is_voice=True)
    play(ear, 0.3, is_voice=False, ends_by_silence=False)
    assert ear.flush() == "over"
    assert Ear(0.5).flush() == "over"  # nothing was said at all


def test_a_long_speech_ends_at_its_next_short_pause_and_in_any_case_before_decoders_go_deaf(ear: Ear) -> None:
    play(ear, LONGEST_SECONDS, is_voice=True)
    assert [act for _, act in play(ear, 0.2, is_voice=False)][:2] == ["final", "over"]
    ear.start()
    overs = [at for at, act in play(ear, 40.0, is_voice=True) if act == "over"]
    assert overs
    assert overs[0] <= HARD_END_SECONDS


def test_words_that_could_not_be_decoded_now_are_asked_for_again(ear: Ear) -> None:
    assert play(ear, 0.85, is_voice=True)[-1][1] == "interim"
    ear.ask_again()
    assert play(ear, 0.04, is_voice=True) == [(WINDOW_SECONDS, "interim")]


@pytest.mark.parametrize(
    ("text", "logprob", "no_speech", "seconds", "is_believed"),
    [
        ("What rooms are running?", -0.2, 0.05, 1.5, True),
        ("Yes.", -0.6, 0.3, 0.3, True),
        ("What rooms are running", -1.16, 0.12, 1.15, True),  # a synthetic voice: surely speech
        ("I'm gonna be right back.", -1.5, 0.62, 1.0, False),  # a cough: hardly speech
        ("You", -3.9, 0.95, 0.6, False),  # noise
        ("I'm not going to be able to do", -1.93, 0.9, 1.0, False),
        ("Hello there.", -0.9, 0.9, 1.0, False),  # the decoder itself doubts
        ("one two three four five six seven eight nine ten", -0.2, 0.1, 0.4, False),  # too much
        ("You", -0.3, 0.1, 6.0, False),  # too little
        ("Thank you for watching!", -0.2, 0.1, 1.5, False),  # the caption of a film
        ("[Music]", -0.1, 0.1, 2.0, False),
        ("...", -0.1, 0.1, 2.0, False),
        ("Yes.", -0.1, 0.0, 0.05, False),  # a click
    ],
)
def test_weak_hypotheses_are_dropped(
    text: str, logprob: float, no_speech: float, seconds: float, is_believed: bool
) -> None:
    assert Hypothesis(text, logprob, no_speech).is_plausible(seconds) is is_believed


@pytest.mark.parametrize(
    ("text", "looped"),
    [
        ("Pause the first room. Pause the first room. Pause the first room. P", True),
        ("What rooms are running? What rooms are running?", True),
        ("No no no no no no", True),
        ("Pause the first room and then the second room.", False),
        ("No, no, no.", False),
        ("Row, row, row your boat", False),
        ("", False),
    ],
)
def test_a_decoder_that_goes_in_circles_is_found_out(text: str, looped: bool) -> None:
    assert is_looped(text) is looped


def test_only_known_words_are_taken_from_the_second_look() -> None:
    vocabulary = {"rooms", "pause", "the", "first"}
    assert (
        with_known_words("What runes are open?", "What rooms are open?", vocabulary) == "What rooms are open?"
    )
    assert with_known_words("Rezoom it", "Resume it", vocabulary) == "Rezoom it"
    assert with_known_words("Hum", "Pause the first room.", vocabulary) == "Hum"
