"""Small rules about words: wishes of the session itself, consent, who may command, languages, assignments."""

from __future__ import annotations

import io
import json
import re
from typing import get_args

import pytest

from agent_tui.config.voice import VoiceAgentConfig
from agent_tui.model.errors import ConfigError
from agent_tui.voice_agent import sentences
from agent_tui.voice_agent.assignment import read_assignment, tell
from agent_tui.voice_agent.languages import LanguageNotice, language_of, mismatch
from agent_tui.voice_agent.people import Owners, TurnOfWords
from agent_tui.voice_agent.sentences import (
    APPROVAL_WORDS,
    KEY_WORDS,
    OUR_WORDS,
    OWNER_WORDS,
    RAN_OUT_WORDS,
)
from agent_tui.voice_agent.talk import VoiceTalk
from agent_tui.voice_agent.wishes import agrees, hushes, wish
from agent_tui.voice_instructions import Language


@pytest.mark.parametrize(
    ("words", "tool"),
    [
        ("Record this conversation, please.", "start_recording"),
        ("Could you start recording now?", "start_recording"),
        ("I'd like you to record us", "start_recording"),
        ("Please stop the recording.", "stop_recording"),
        ("Use another voice.", "other_voice"),
        ("Can you change your voice please", "other_voice"),
        ("Let me talk to someone else.", "other_voice"),
        ("Пожалуйста, запишите этот разговор.", "start_recording"),
        ("Включи запись", "start_recording"),
        ("Остановите запись, пожалуйста.", "stop_recording"),
        ("Смени голос.", "other_voice"),
        ("请开始录音。", "start_recording"),
        ("把这次对话录下来吧", "start_recording"),
        ("停止录音。", "stop_recording"),
        ("请换个声音。", "other_voice"),
        ("Какая запись была первой?", ""),
        ("录音是什么意思？", ""),
        ("What rooms are running?", ""),
        ("What does the record say about recording?", ""),
        ("Stop the first room.", ""),
        ("Tell me about voices.", ""),
    ],
)
def test_wishes_of_the_session_are_told_from_questions(words: str, tool: str) -> None:
    wanted = wish(words)
    assert (wanted.tool if wanted else "") == tool


@pytest.mark.parametrize(
    ("words", "alone", "cutting_in"),
    [
        ("Stop.", True, True),
        ("Okay, stop please.", True, True),
        ("Stop, stop, stop!", True, True),
        ("Stop talking.", True, True),
        ("Be quiet.", True, True),
        ("That's enough, thanks.", True, True),
        ("Never mind.", True, True),
        ("Stop it.", False, True),
        ("Hold on.", False, True),
        ("Stop the room.", False, False),
        ("Stop the first one.", False, False),
        ("Pause.", False, False),
        ("Stop the recording.", False, False),
        ("What rooms are running?", False, False),
        ("", False, False),
        ("Стоп!", True, True),
        ("Пожалуйста, помолчи.", True, True),
        ("Хватит, спасибо.", True, True),
        ("Подожди.", False, True),
        ("Останови первую комнату.", False, False),
        ("停。", True, True),
        ("请安静一下。", True, True),
        ("别说了，谢谢。", True, True),
        ("等一下", False, True),
        ("停第一个房间", False, False),
    ],
)
def test_who_tells_the_agent_to_be_silent_is_told_from_who_asks(
    words: str, alone: bool, cutting_in: bool
) -> None:
    assert hushes(words, cut_in=False) is alone
    assert hushes(words, cut_in=True) is cutting_in


@pytest.mark.parametrize(
    ("words", "agreed"),
    [
        ("Yes.", True),
        ("Sure, go ahead.", True),
        ("I don't mind.", True),
        ("No problem.", True),
        ("No.", False),
        ("Yes, no, wait.", False),
        ("I'd rather not.", False),
        ("Please don't.", False),
        ("Да, конечно.", True),
        ("Я не против.", True),
        ("Нет.", False),
        ("Лучше не надо.", False),
        ("Хорошо бы без записи.", None),
        ("是的。", True),
        ("好的，没问题。", True),
        ("不行。", False),
        ("别录。", False),
        ("好像有点贵", None),
        ("What do you mean?", None),
        ("Maybe.", None),
        ("", None),
    ],
)
def test_consent_is_a_yes_and_never_guessed(words: str, agreed: bool | None) -> None:
    assert agrees(words) is agreed


def test_what_our_agent_says_of_itself_is_in_the_language_that_is_spoken() -> None:
    tables = [value for value in vars(sentences).values() if isinstance(value, dict) and "zh" in value]
    assert len(tables) > 15
    for words in tables:
        for language in ("ru", "zh"):
            assert not re.search("[A-Za-z]", words[language].replace("{name}", "")), words[language]


def test_owners_are_known_by_their_identity_or_where_none_is_named_by_their_token() -> None:
    owners = Owners(["user-ada-"])
    assert owners.has("user-ada-17", {})
    assert not owners.has(
        "somebody", {"agent-tui.owner": "1"}
    )  # of a terminal that somebody else's key signed
    assert Owners([]).has("somebody", {"agent-tui.owner": "1"})
    assert not Owners([]).has("user-bob-1", {"agent-tui.owner": "yes"})
    assert not Owners([]).has("user-ada-17", {})
    assert not Owners([""]).has("user-ada-17", {})  # an empty beginning is nobody's


def test_a_turn_that_a_guest_began_is_no_command_of_the_owner() -> None:
    turn = TurnOfWords()
    assert not turn.take()  # nobody said anything
    turn.heard(by_owner=True)
    assert turn.take()
    turn.heard(by_owner=False)
    turn.heard(by_owner=True)
    assert not turn.take()
    turn.heard(by_owner=True)
    assert turn.take()


def test_a_turn_does_not_begin_with_a_cough_of_earlier() -> None:
    turn = TurnOfWords()
    turn.sounds(100.0)
    turn.is_quiet(101.0)
    turn.sounds(200.0)
    assert turn.began_at == 200.0
    turn.heard(by_owner=True)
    turn.is_quiet(203.0)
    turn.sounds(230.0)  # the same turn: push to talk waits through silence
    assert turn.began_at == 200.0


def test_a_language_that_is_not_heard_or_spoken_is_said_before_anybody_talks() -> None:
    locales = ("de_DE.UTF-8", "zh-CN", "C", "C.UTF-8", "", "fil_PH", "en")
    assert [language_of(locale) for locale in locales] == ["de", "zh", "en", "en", "en", "fil", "en"]
    (notice,) = mismatch("de", hears=("en",), speaks=("en",))
    assert notice.code == "voice.language"
    assert notice.title == "German is not heard or spoken by the models on this machine"
    assert "voice setup" in notice.detail
    assert not notice.spoken
    (deaf,) = mismatch("zh", hears=("en",), speaks=("zh",))
    assert deaf.title == "Chinese is not heard by the models on this machine"
    talk = VoiceTalk("demo", lambda: True, lambda _: False, language="zh", notices=(deaf,))
    assert talk.greeting() == f"你好。{deaf.spoken}可以问我有哪些房间在运行，也可以随便聊。"
    assert deaf.spoken.startswith("这台机器上的模型听不懂中文。")
    missing = LanguageNotice("voice.missing", "the voice joe did not start", "no memory")
    talk = VoiceTalk("demo", lambda: True, lambda _: False, can_hear=False, notices=(missing,))
    assert talk.greeting() == "Hello. The voice joe did not start. no memory. I cannot hear here. Type to me."
    (deaf,) = mismatch("de", hears=("en",), speaks=("de",))
    assert deaf.title.startswith("German is not heard by")
    assert mismatch("de", hears=("en", "de"), speaks=("de",)) == []
    assert mismatch("de", hears=None, speaks=None) == []  # providers
    assert mismatch("en", hears=("en",), speaks=("en",)) == []


@pytest.mark.parametrize("language", get_args(Language))
def test_what_the_agent_says_itself_is_no_part_of_a_models_answer_in_any_language(language: Language) -> None:
    ours = f"{APPROVAL_WORDS[language]}run ls.\n{KEY_WORDS[language]}{OWNER_WORDS[language]}"
    assert OUR_WORDS.sub("", f"One.\n{ours}Two.\n\n{RAN_OUT_WORDS[language]}") == "One.\nTwo.\n\n"


def test_an_assignment_is_read_and_its_secrets_never_show() -> None:
    line = json.dumps(
        {
            "url": "ws://127.0.0.1:1",
            "token": "eyJ-token",
            "backend_token": "secret",
            "owners": ["user-a"],
            "agent": {"stt": "deepgram:nova-3", "turn_detection": "", "end_of_turn": 1},
            "unknown": {"of": "a later version"},
        }
    )
    assignment = read_assignment(line)
    assert assignment.token == "eyJ-token"
    assert assignment.agent == VoiceAgentConfig(stt="deepgram:nova-3", end_of_turn=1)
    assert assignment.owners == ("user-a",)
    assert "eyJ" not in repr(assignment)
    assert "secret" not in repr(assignment)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("not json with a eyJ.secret", "JSON object was expected"),
        ("[]", "no object"),
        ('{"token": 7}', "token"),
        ('{"owners": "me"}', "owners"),
        ('{"agent": []}', "agent"),
        ('{"agent": {"turn_detection": "guess"}}', "turn_detection"),
        ('{"agent": {"end_of_turn": true}}', "end_of_turn"),
    ],
)
def test_what_is_no_assignment_is_refused_by_name(line: str, word: str) -> None:
    with pytest.raises(ConfigError) as refused:
        read_assignment(line)
    assert word in str(refused.value)
    assert "eyJ" not in str(refused.value)


def test_states_are_lines_of_json() -> None:
    out = io.StringIO()
    tell(out, "notice", code="voice.language", title="one", detail="two\nlines")
    (line,) = out.getvalue().splitlines()
    assert json.loads(line) == {
        "state": "notice", "code": "voice.language", "title": "one", "detail": "two\nlines",
    }  # fmt: skip
