"""What a question to the demo model asks tools for: guesses from patterns, in three languages at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent_tui.backend.models.demo_places import places_in
from agent_tui.backend.models.demo_sums import sums_in

MAX_QUESTION_CHARACTERS = 600  # longer ones ask for nothing that a script could do
MAX_WISHES = 4

_Q, _UNQ = r"[`\"“”«'‘]", r"[`\"”“»'’]"
# A file: with a dot or slash in it, or in quotation marks.
_PATH = (
    rf"(?:{_Q}(?P<quoted>[^`\"“”«»\n]{{1,200}}?){_UNQ}"
    r"|(?P<bare>[\w~-]*[./][\w./~-]*[\w/]|[\w~-]+/|(?:make|docker)file\b|README\b|LICENSE\b))"
)
_PLEASE = r"^\s*(?:(?:please|can you|could you|пожалуйста|请|帮我)[\s,]*)*"


def _compiled(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


_TIME = _compiled(
    r"\bwhat\s+time\b|\bcurrent\s+(?:time|date)\b|\bwhat\s+(?:day|date)\s+is\b|\btime\s+is\s+it\b",
    r"\bwhat(?:[\u0027’]s|\s+is)\s+(?:the\s+)?(?:time|date)(?=\s*(?:[?.!,]|$|\b(?:in|now|there|right|and|at)\b))",
    r"\btime\s+in\s+(?=[A-Z])|几点|现在的?时间|当前时间|时间是多少|(?:今天|现在)是?(?:星期|周几|几号|几月|什么日子|日期)",
    r"который\s+(?:сейчас\s+)?час|сколько\s+(?:сейчас\s+)?времени|како[ей]\s+(?:сейчас\s+|сегодня\s+)+(?:время|день|число)"
    r"|како[ей]\s+(?:время|день|число)\s+(?:сейчас|сегодня)|текущее\s+время",
)
# Where a place is named that is not in the table.
_NOWHERE = _compiled(
    r"\btime\s+(?:is\s+it\s+|now\s+)*in\s+(?P<place>[A-Z][\w.\u0027-]{1,30}(?:\s+[A-Z][\w.\u0027-]{1,30})?)",
    r"(?:час|времени|время)\s+(?:сейчас\s+)?во?\s+(?P<place>[А-ЯЁ][\w-]{1,30})",
    r"(?:现在)(?P<place>(?!是|的|时)[\u4e00-\u9fff]{2,6}?)(?:是)?几点",
)
_LIST = _compiled(
    r"\b(?:list|show)\b[^.?!\n]{0,24}\b(?:files|folders|directory)\b|\b(?:what|which)\s+files\b|^\s*ls\s*$",
    r"列出[^。\n]{0,12}(?:文件|目录)|哪些文件|文件列表",
    r"(?:покажи|перечисли|выведи)(?:те)?[^.?!\n]{0,16}файлы|какие[^.?!\n]{0,20}файлы|список\s+файлов",
)
_FOLDER = _compiled(
    rf"\b(?:in|of|under|inside)\s+(?:the\s+)?(?:folder\s+|directory\s+)?{_PATH}",
    r"\b(?:in|of|under|inside)\s+(?:the\s+)?(?:folder\s+|directory\s+)?(?P<bare>[\w-]+)\s+(?:folder|directory)\b",
    rf"\bв\s+(?:папке\s+|каталоге\s+){_PATH}",
    r"\bв\s+(?:папке|каталоге)\s+(?P<bare>[\w./-]+)",
    r"列出\s*(?P<bare>[A-Za-z0-9_./-]+)",
)
_READ = _compiled(
    rf"{_PLEASE}(?:read|open|cat|show|display|print)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?{_PATH}",
    rf"\bwhat(?:[\u0027’]s|\s+is)\s+in\s+(?:the\s+)?(?:file\s+)?{_PATH}",
    rf"{_PLEASE}(?:读取?|阅读|读一下|打开|查看|显示|看看)(?:一下)?(?:文件)?\s*{_PATH}",
    rf"{_PLEASE}(?:прочитай|прочти|покажи|открой|выведи)(?:те)?\s+(?:файл\s+)?{_PATH}",
)
_WRITE = _compiled(
    rf"{_PLEASE}write\s+(?:to\s+)?(?:the\s+)?(?:file\s+)?{_PATH}\s*[:\uff1a]\s*(?P<content>.+)",
    rf"{_PLEASE}write\s+(?P<content>\S.*?)\s+(?:in)?to\s+(?:the\s+)?(?:file\s+)?{_PATH}",
    rf"{_PLEASE}写入?到?(?:文件)?\s*{_PATH}\s*[:\uff1a]\s*(?P<content>.+)",
    rf"{_PLEASE}(?:把|将)\s*(?P<content>\S.*?)\s*写(?:入|到|进)?(?:文件)?\s*{_PATH}",
    rf"{_PLEASE}(?:запиши|напиши)(?:те)?\s+в\s+(?:файл\s+)?{_PATH}\s*:\s*(?P<content>.+)",
    rf"{_PLEASE}(?:запиши|напиши)(?:те)?\s+(?P<content>\S.*?)\s+в\s+(?:файл\s+)?{_PATH}",
)
_RUN_VERB = rf"{_PLEASE}(?:run|execute|运行|执行|запусти(?:те)?|выполни(?:те)?)\s*"
# Only what looks like a command: in quotation marks, named as one, or one that everybody knows.
_RUN = _compiled(
    rf"{_RUN_VERB}(?:the\s+)?(?:command\s*|命令\s*|команду\s*)?`(?P<command>[^`\n]+)`",
    rf"{_RUN_VERB}(?:the\s+)?(?:command\s*|命令\s*|команду\s*)?{_Q}(?P<command>[^\n]+?){_UNQ}\s*[.?!。]*\s*$",
    rf"{_RUN_VERB}(?:(?:the\s+)?command\s*[:\uff1a]?|命令\s*[:\uff1a]?|команду\s*[:\uff1a]?|[:\uff1a])\s*(?P<command>[^\n]+)",
    rf"{_RUN_VERB}(?P<command>(?:\./\S+|(?:ls|pwd|date|echo|cat|git|make|uname|whoami|df|du|wc|head|tail|sort"
    r"|python3?|pytest|uv|npm|cargo|go|true|false|sleep|env|which)\b(?!\s*[:\uff1a?]))[^\n]*)",
)
_FETCH = _compiled(
    r"\b(?:fetch|get|open|download|read|load)\s+(?:the\s+page\s+)?(?P<url>https?://\S+)",
    r"(?:获取|打开|读取?|抓取|下载|загрузи|открой|прочитай|скачай)(?:те)?\s*(?:страницу\s+|网页)?\s*(?P<url>https?://[^\s,。]+)",
)
_SEARCH = _compiled(
    rf"\bsearch\s+(?:the\s+|all\s+|my\s+)*files\s+for\s+(?:{_Q}(?P<quoted>[^\n]+?){_UNQ}|(?P<bare>\S[^\n]*))",
    rf"\b(?:search|grep|look)\s+for\s+{_Q}(?P<quoted>[^\n]+?){_UNQ}|^\s*grep\s+(?P<bare>\S+)",
    rf"在?文件(?:中|里)?(?:搜索|查找)\s*(?:{_Q}(?P<quoted>[^\n]+?){_UNQ}|(?P<bare>\S+))",
    rf"(?:найди|поищи)(?:те)?\s+в\s+файлах\s+(?:{_Q}(?P<quoted>[^\n]+?){_UNQ}|(?P<bare>\S[^\n]*))",
)
_TOOLS = re.compile(
    r"\b(?:what|which|show|list)\b[^.?!\n]{0,20}\btools\b|\bwhat\s+can\s+you\s+do\b|^\s*(?:help|\?|tools)\s*[?!.]*\s*$"
    r"|(?:什么|哪些)工具|你(?:会|能)(?:做)?(?:什么|些什么)|工具列表|^\s*(?:帮助|工具)\s*$"
    r"|(?:какие|покажи)[^.?!\n]{0,24}инструменты|что\s+ты\s+(?:умеешь|можешь)|^\s*помощь\s*$",
    re.IGNORECASE,
)
_HELLO = re.compile(
    r"^\s*(?:hello|hi|hey|good\s+(?:morning|evening|day)|привет|здравствуй(?:те)?|добрый\s+(?:день|вечер)|你好|您好|嗨)"
    r"[\s,.!?,。!…]*(?:there|demo|всем)?[\s.!?!。]*$",
    re.IGNORECASE,
)
_SPECIAL = re.compile(r"[.^$*+?{}()|\[\]\\]")


@dataclass(frozen=True, slots=True)
class Wish:
    """A call that a question asks for; ``about`` is what of it a person would name. A wish without a tool
    is one for the time of a place that nobody knows the zone of."""

    tool: str
    arguments: Mapping[str, str]
    about: str = ""


def wishes_in(question: str) -> tuple[Wish, ...]:
    """Return what the question asks tools for, in its order; sums and times may come together."""
    text = question[:MAX_QUESTION_CHARACTERS]
    found = _one_wish(text)
    if found is not None:
        return (found,)
    placed = [(at, Wish("calculator", {"expression": sum_}, sum_)) for at, sum_ in sums_in(text)]
    placed += _times(text)
    return tuple(wish for _, wish in sorted(placed, key=lambda one: one[0])[:MAX_WISHES])


def asks_for_tools(question: str) -> bool:
    """Return whether somebody wants to know what there is."""
    return _TOOLS.search(question[:MAX_QUESTION_CHARACTERS]) is not None


def is_hello(question: str) -> bool:
    """Return whether it is a greeting and nothing else."""
    return _HELLO.match(question[:MAX_QUESTION_CHARACTERS]) is not None


def _one_wish(text: str) -> Wish | None:
    """Return a wish that fills the whole question."""
    if found := _first(_WRITE, text):
        content = found["content"].strip().strip("`\"“”«»'‘’")
        return Wish("write_file", {"path": _path(found), "content": f"{content}\n"}, _path(found))
    if found := _first(_RUN, text):
        command = found["command"].strip().strip("`")
        return Wish("run_command", {"command": command}, command)
    if found := _first(_FETCH, text):
        url = found["url"].rstrip(".,;!?)»”\"'")
        return Wish("fetch_url", {"url": url}, url)
    if found := _first(_READ, text):
        return Wish("read_file", {"path": _path(found)}, _path(found))
    if found := _first(_SEARCH, text):
        words = _path(found).strip().rstrip("?.!。")
        return Wish("search_files", {"pattern": _SPECIAL.sub(r"\\\g<0>", words)}, words)
    if _first(_LIST, text):
        folder = _first(_FOLDER, text)
        return Wish("list_files", {"path": _path(folder)} if folder else {}, _path(folder) if folder else "")
    return None


def _times(text: str) -> list[tuple[int, Wish]]:
    asked = _first(_TIME, text)
    if asked is None:
        return []
    if zones := {place.zone: at for at, place in reversed(places_in(text))}:
        return [(at, Wish("current_time", {"zone": zone}, zone)) for zone, at in zones.items()]
    if nowhere := _first(_NOWHERE, text):
        return [(nowhere.start(), Wish("", {}, nowhere["place"]))]
    return [(asked.start(), Wish("current_time", {}))]


def _first(patterns: tuple[re.Pattern[str], ...], text: str) -> re.Match[str] | None:
    return next((found for pattern in patterns if (found := pattern.search(text))), None)


def _path(found: re.Match[str]) -> str:
    named = found.groupdict()
    return named.get("quoted") or (named.get("bare") or "").rstrip("/") or "."
