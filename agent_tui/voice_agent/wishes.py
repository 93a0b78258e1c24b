"""A person's wishes about the session itself, without a model: silence, a recording, another voice."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Wish:
    """A tool of the session's agent, and its arguments."""

    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)


_PLEASE = (
    r"(?:please |could you |can you |would you |will you |i(?:'d| would)? (?:want|like) (?:you )?to |let's |"
    r"hey |ok(?:ay)? |now )*"
)
_THIS = r"(?: (?:this|our|the|my)(?: (?:conversation|talk|session|call|chat|voice))?| us| me| it)?"
_OTHER_VOICE = (
    r"(?:(?:use|take|switch to|change to|speak with|talk with|give me|let me hear) "
    r"(?:another|a different|your other|the other|some other) voice"
    r"|(?:change|switch) (?:your |the )?voices?|speak in (?:another|a different) voice"
    r"|(?:let me )?(?:talk|speak) (?:to|with) (?:somebody|someone) else)"
)
_OF_SPEECH_RU = "(?: (?:этот|наш|эту|нашу))?(?: (?:разговор|беседу|звонок))?"
_OF_SPEECH_ZH = "(?:这(?:次|段|个)|我们的)*(?:对话|谈话|通话)"
_BEFORE = f"(?:{_PLEASE}|(?:пожалуйста )?|(?:请|帮我|现在)*)"
_AFTER = "(?: (?:please|now|for me|from now on|пожалуйста|сейчас)|吧)*"
_WISHES: tuple[tuple[re.Pattern[str], Wish], ...] = tuple(
    (re.compile(f"{_BEFORE}(?:{pattern}){_AFTER}"), Wish(tool))
    for tool, pattern in (
        ("start_recording", rf"(?:start (?:recording|a recording of)|record|begin recording){_THIS}"),
        ("start_recording", f"(?:записывай|запиши)(?:те)?{_OF_SPEECH_RU}|(?:начни|включи)(?:те)? запись"),
        ("start_recording", f"(?:开始)?录音|(?:录下|录制){_OF_SPEECH_ZH}|把?{_OF_SPEECH_ZH}录(?:下来|音)"),
        ("stop_recording", rf"(?:stop|end|finish)(?: the)? recording{_THIS}"),
        ("stop_recording", "(?:останови|выключи|прекрати|закончи)(?:те)? запись"),
        ("stop_recording", "(?:停止|结束|关掉)录音|(?:别|不要)再?录音?了"),
        ("other_voice", _OTHER_VOICE),
        ("other_voice", "(?:говори(?:те)? другим голосом|(?:смени|поменяй)(?:те)? голос)"),
        ("other_voice", "换(?:一?个|一种)?声音|用(?:另一个|另一种|别的)声音(?:说话)?"),
    )
)


def wish(text: str) -> Wish | None:
    """Return the wish in ``text``, ``None`` for everything else, which the model answers."""
    words = " ".join(re.sub(r"[^\w\s']", " ", text.lower().replace("’", "'")).split())
    return next((wanted for pattern, wanted in _WISHES if pattern.fullmatch(words)), None)


_HUSH = (
    r"stop(?: stop)*(?: (?:talking|speaking|now))?|(?:be |keep )?(?:quiet|silent)|shut up|hush|shush|silence"
    r"|(?:that's |that is )?enough|never mind|cancel(?: that)?"
    r"|стоп|хватит|довольно|достаточно|тихо|тише|(?:за|по)?молчи(?:те)?|перестань(?:те)?|останови(?:сь|тесь)"
    r"|停(?:下|下来|一下|止)?|安静(?:一下|一点|点)?|(?:别|不要|不用)再?说(?:话)?了|够了|算了|闭嘴"
)
_HUSH_BEFORE = (
    r"(?:please |no |ok(?:ay)? |hey |all right |alright |thanks |thank you |just |"
    r"пожалуйста |нет |всё |请|好了? ?)*"
)
_HUSH_AFTER = r"(?: (?:please|now|thanks|thank you|for now|пожалуйста|спасибо)|吧|啊| 谢谢)*"
_ALONE = re.compile(f"{_HUSH_BEFORE}(?:{_HUSH}){_HUSH_AFTER}")
_CUTTING_IN = re.compile(
    f"{_HUSH_BEFORE}(?:{_HUSH}|(?:stop|cut|leave) (?:it|that|this)(?: out)?|wait|hold on|hang on"
    "|(?:подо|пого)(?:жди|ди)(?:те)?|等等|等一下)"
    f"{_HUSH_AFTER}"
)


def hushes(text: str, *, cut_in: bool) -> bool:
    """Return whether ``text`` only tells the agent to be silent. ``cut_in``: it was said while the agent was
    speaking, so that "stop it" is about its words and not about a room.
    """
    words = " ".join(re.sub(r"[^\w\s']", " ", text.lower().replace("’", "'")).split())
    return bool((_CUTTING_IN if cut_in else _ALONE).fullmatch(words))


_YES = re.compile(
    r"(?:yes|yeah|yep|yup|sure|of course|ok|okay|fine|alright|all right|i do|i agree|agreed|go ahead|"
    r"please do|"
    r"that's fine|that is fine|no problem|certainly|absolutely|i don't mind|you may|i consent)\b"
    r"|(?:да|конечно|хорошо|ладно|я|соглас(?:ен|на|ны)|можно|разрешаю|записывай(?:те)?|пожалуйста|yes| )+\Z"
    r"|(?:yes|我?同意|是的?|好[的啊吧]?|可以|行|当然|您?你?录吧| )+\Z"
)
_NO = re.compile(r"\b(?:no|nope|not|don't|do not|never|rather not|stop|cancel|нет|не|стоп)\b|[不别否停]|拒绝")
_FINE = re.compile(
    r"(?:\bi )?\b(?:no problem|don't mind|do not mind|why not|(?:я )?не (?:против|возражаю))\b"
    r"|没问题|我?不介意"
)


def agrees(text: str) -> bool | None:
    """Return whether ``text`` is a yes, a no, or neither (``None``): consent is never guessed."""
    words = " ".join(re.sub(r"[^\w\s']", " ", text.lower().replace("’", "'")).split())
    plain = _FINE.sub("yes", words)
    if _NO.search(plain):
        return False
    return True if _YES.match(plain) else None
