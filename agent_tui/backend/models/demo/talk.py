"""What an agent of the demo says in its turn of a room: put together from a script, nothing twice.

A turn has a head that fits the round, a body of blocks that grows until it is long enough, and a last line.
"""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable, Hashable, Sequence
from itertools import chain, cycle, islice, product
from typing import TypeVar

from agent_tui.backend.models.demo.scripts import Theme, find, first_sentence, read, script_for
from agent_tui.backend.models.demo.task import read_task, safe_line
from agent_tui.backend.models.model import ModelRequest

Item = TypeVar("Item", bound=Hashable)

MAX_NAME_CHARACTERS = 40
MAX_EXCERPT_CHARACTERS = 90
MAX_PROMPT_CHARACTERS = 2000
MOST_CHARACTERS = 2380  # of a turn, whatever a script asks for
PERSON = "用户"  # protocols.md §1: the sender name of what a person says
GAP = "\n\n"
# What a body is made of, in order; "form" is the next list, table or code block that suits the role.
PLANS = {
    "opening": ("person", "reply", "framing", "theme", "form", "reply", "theme", "form"),
    "middle": ("person", "against", "theme", "form", "angle", "reply", "theme", "form"),
    "last": ("person", "agreed", "reply", "reply", "decision", "theme", "promise", "open"),
    "only": ("person", "reply", "framing", "theme", "form", "decision", "open"),
}
FILLING = ("theme", "form", "reply", "theme") * 6
FORMS_A_TURN = 2
MAX_AGREED = 4
MAX_LISTED = 3

_PREFIX = re.compile(r"\[(.{1,80}?)\]: ")


def turn_text(request: ModelRequest, seed: int) -> str:
    """Return what the demo model says to ``request``: Markdown, at most ``max_tokens`` tokens long."""
    return _Turn(request, seed).text()


def token_characters(language: str) -> int:
    """Return how many characters the demo gives out as one token."""
    return 2 if language == "zh" else 4


def role_of(name: str, system_prompt: str) -> str:
    """Return the role that a name, else a system prompt speaks of, in any of the three languages."""
    found = find("role", name) or find("role", system_prompt[:MAX_PROMPT_CHARACTERS])
    return (found and found.lastgroup) or "generic"


class _Turn:
    """One turn in the making.

    Agents of a parallel round cannot hear each other. So that they do not all say the same, each prefers its
    share: of what nobody has said, every n-th, where n is the number of speakers known. In the first round
    nobody knows anybody, and roles begin at different places.
    """

    def __init__(self, request: ModelRequest, seed: int) -> None:
        self._request = request
        self._task = task = read_task(request.task)
        self._script = script_for(task.language, task.line)
        self._texts = self._script.texts
        self._own: frozenset[str] = frozenset()  # phrases that this agent said before
        self._heard: dict[str, frozenset[str]] = {}  # name → phrases that this agent said
        self._latest: dict[str, str] = {}  # name → its last words, the newest at the end
        self._person = ""  # what a person said since this agent's last turn
        self._listen(request)
        self._said = self._own.union(*self._heard.values())
        self._taken: set[str] = set()
        self._addressed: set[str] = set()
        told = [(message.role, message.content) for message in request.messages]
        self._rng = random.Random(
            _number(seed, repr((told, request.speaker, request.task, request.round, request.max_rounds)))
        )
        salt, place = _number(seed, request.task), _number(seed, request.speaker)
        system = next((message.content for message in request.messages if message.role == "system"), "")
        self._role = role_of(request.speaker, system)
        self._voice = self._script.voices[self._role]
        apart = place if self._role == "generic" else list(self._script.voices).index(self._role)
        self._start = salt + (0 if self._latest else apart)
        self._themes = list(self._script.themes)
        random.Random(salt if self._latest else salt + place).shuffle(self._themes)
        self._themes.sort(key=lambda theme: not theme.is_topic)
        speaker = safe_line(request.speaker, MAX_NAME_CHARACTERS)
        speakers = sorted({*self._latest, speaker})
        self._share = speakers.index(speaker), len(speakers)
        first, second = task.options or ("", "")
        pick, other = (first, second) if salt % 2 else (second, first)
        slots = {"a": first, "b": second, "pick": pick, "other": other, "round": str(request.round)}
        self._slots = {"task": task.quote or self._texts["no_task"], **slots}

    def _listen(self, request: ModelRequest) -> None:
        """Take in what the request's messages say; never raises."""
        for message in request.messages:
            words = message.content
            if message.role == "assistant":
                self._own |= self._script.said_in(words, quoted=True)
                self._person = ""
            elif message.role == "user" and words.strip() != request.task.strip():
                prefix = _PREFIX.match(words)
                name = safe_line(prefix[1], MAX_NAME_CHARACTERS) if prefix else PERSON
                words = words[prefix.end() :] if prefix else words
                if name in ("", PERSON):
                    self._person = _excerpt(words)
                    continue
                said = self._script.said_in(words, quoted=False)
                self._heard[name] = self._heard.get(name, frozenset()) | said
                self._latest.pop(name, None)  # to the end
                self._latest[name] = words

    def text(self) -> str:
        """Return the turn."""
        limit = (self._request.max_tokens or 2000) * token_characters(self._task.language)
        limit = min(limit, MOST_CHARACTERS)
        is_first, is_last = self._request.round <= 1, self._request.round >= self._request.max_rounds
        least, most = self._texts["least"], self._texts["most"]
        aim = min(self._rng.randint(least, least if is_last else most), limit * 7 // 8)
        phase = ("only" if is_first else "last") if is_last else "opening" if is_first else "middle"
        blocks = [self._head(phase)]
        names = tuple(self._latest)
        last = self._say(
            "farewell" if is_last else "handover" if names else "closing",
            name=self._rng.choice(names or ("",)),
        )
        size = len(blocks[0]) + len(last)
        forms = read("patterns.toml")["forms"][self._role]
        form = islice(cycle(forms), FORMS_A_TURN * (self._request.round - 1) % len(forms), None)
        for name in chain(PLANS[phase], FILLING):
            if size >= aim and name != "decision":
                continue
            block = self._block(next(form) if name == "form" else name)
            if block and size + len(block) + 2 * len(GAP) <= limit:
                blocks.append(block)
                size += len(GAP) + len(block)
        if not any(blocks):
            return str(self._texts["nothing_left"]).format(**self._slots)
        return _shortened(GAP.join(filter(None, (*blocks, last))), limit)

    def _block(self, name: str) -> str:
        match name:
            case "person":
                return self._say("reply_person", bare=self._nested(self._person)) if self._person else ""
            case "reply" | "against":
                return self._reply(against=name == "against")
            case "theme":
                return self._theme()
            case "agreed":
                return self._agreed()
            case "steps" | "promise":  # who promises may take up what others proposed
                themes = self._fresh("step")
                if name == "promise":
                    at, speakers = self._share
                    themes = sorted(themes, key=lambda theme: not theme.is_topic)[at::speakers]
                steps = [f"{n}. {self._take(theme.step)}" for n, theme in enumerate(themes[:MAX_LISTED], 1)]
                return self._listed(f"{name}_lead", steps)
            case "questions":
                return self._listed("question_lead", [f"- {one}" for one in self._aspects("question")])
            case "open":
                questions = self._aspects("question", 1)
                return self._say("open", question=self._nested(questions[0])) if questions else ""
            case "table":
                rows = [
                    f"| {theme.name} | {self._take(theme.sign)} |"
                    for theme in self._fresh("sign")[:MAX_LISTED]
                ]
                head = self._say("table_head") if rows else ""
                return self._listed("table_lead", [head, "| --- | --- |", *rows]) if head else ""
            case _:  # a debate may have phrases of its own for it, else there are some for this kind of task
                pools = self._script.pools
                return self._say(
                    next(p for p in (f"{name}_topic", f"{name}_{self._task.kind}", name) if p in pools)
                )

    def _head(self, phase: str) -> str:
        if phase == "middle" and not self._latest:
            head = self._say("alone")
        else:
            head = self._say(self._voice[{"only": "opening"}.get(phase, phase)])
        is_new = not any(message.role == "assistant" for message in self._request.messages)
        return self._join(head, self._say("disclosure") if is_new else "")

    # --- taking phrases ----------------------------------------------------------------------------

    def _is_fresh(self, phrase: str) -> bool:
        """Return whether there is such a phrase and this agent has not said it, in this turn or before."""
        return bool(phrase) and phrase not in self._taken and phrase not in self._own

    def _take(self, phrase: str, **slots: str) -> str:
        self._taken.add(phrase)
        return phrase.format(**self._slots, **slots)

    def _say(self, pool: str | Sequence[str], **slots: str) -> str:
        """Take a phrase out of a pool and fill it; empty when this agent has used them all."""
        phrases = self._script.pools[pool] if isinstance(pool, str) else pool
        start = self._start % len(phrases)
        turned = self._in_order([*phrases[start:], *phrases[:start]], lambda phrase: phrase in self._said)
        found = next(filter(self._is_fresh, turned), "")
        return self._take(found, **slots) if found else ""

    def _in_order(
        self,
        items: Sequence[Item],
        is_said: Callable[[Item], bool],
        rank: Callable[[Item], int] = lambda _: 0,
    ) -> list[Item]:
        """Return ``items``, in front what nobody has said, and of that this agent's share by ``rank``."""
        at, speakers = self._share
        unsaid = [item for item in items if not is_said(item)]
        mine = sorted(unsaid[at::speakers], key=rank)
        return list(dict.fromkeys((*mine, *unsaid, *items[at::speakers], *items)))

    def _fresh(self, *aspects: str) -> list[Theme]:
        """Return the themes of which this agent has said none of the ``aspects``: unsaid ones first, of these
        those of the task itself that the role is interested in.
        """
        phrases = {theme: [getattr(theme, aspect) for aspect in aspects] for theme in self._themes}
        ordered = self._in_order(
            self._themes,
            lambda theme: not self._said.isdisjoint(phrases[theme]),
            lambda theme: 2 * (not theme.is_topic) + (self._role not in theme.roles),
        )
        return [theme for theme in ordered if all(map(self._is_fresh, phrases[theme]))]

    def _aspects(self, aspect: str, count: int = MAX_LISTED) -> list[str]:
        return [self._take(getattr(theme, aspect)) for theme in self._fresh(aspect)[:count]]

    def _join(self, *sentences: str) -> str:
        return str(self._texts["space"]).join(filter(None, sentences))

    # --- what is said to others --------------------------------------------------------------------

    def _reply(self, *, against: bool) -> str:
        """Answer what somebody brought up: those first who have no answer yet, the newest words first."""
        ways = [("doubt", "answer"), ("question", "answer"), ("point", "answer")]
        newest_first = [*self._latest][::-1]
        names = sorted(newest_first, key=lambda name: name in self._addressed)
        said = {name: self._script.said_in(words, quoted=False) for name, words in self._latest.items()}
        for raised, reply in [("point", "counter"), *ways] if against else ways:
            for theme, name in product(self._fresh(raised, reply), names):
                phrase = getattr(theme, raised)
                is_kept = raised == "point" and reply == "answer" and theme.counter  # to be contradicted
                if phrase in said[name] and not is_kept:
                    is_quarrel = reply == "counter" or (against and not theme.is_topic)
                    pool = "question" if raised == "question" else "disagree" if is_quarrel else "agree"
                    return self._reply_to(name, phrase, f"reply_{pool}", getattr(theme, reply))
        for name in names:
            if not said[name] and name not in self._addressed:  # another model speaks for it
                self._addressed.add(name)
                return self._say("reply_unknown", name=name, bare=self._nested(_excerpt(self._latest[name])))
        return ""

    def _reply_to(self, name: str, phrase: str, pool: str, reply: str) -> str:
        self._addressed.add(name)
        self._taken.add(phrase)
        quote = self._nested(first_sentence(phrase))
        return self._say(pool, name=name, quote=quote, bare=_bare(quote), answer=self._take(reply))

    def _nested(self, quote: str) -> str:
        return quote.translate(str.maketrans(self._texts["marks"], self._texts["inner_marks"]))

    # --- what is said about the task ---------------------------------------------------------------

    def _theme(self) -> str:
        """Say why a theme matters, and what goes wrong without it or what to do; show what belongs to it."""
        first = "point" if self._fresh("point") else "doubt"
        for theme in self._fresh(first)[:1]:
            rest = [a for a in ("doubt", "step") if a != first and self._is_fresh(getattr(theme, a))]
            second = self._rng.choice(rest) if rest else ""
            said = self._take(getattr(theme, second)) if second else ""
            if second == "step":
                said = self._say("proposal", step=said[0].lower() + said[1:]) or said
            lead = self._say(self._voice["lead"], theme=theme.name) if self._rng.random() < 0.6 else ""
            lead = lead or str(self._texts["run_in"]).format(theme=_capital(theme.name))
            shown = theme.show if self._is_fresh(theme.show) and theme.show not in self._said else ""
            self._taken.add(shown)
            return GAP.join(filter(None, (self._join(lead, self._take(getattr(theme, first)), said), shown)))
        return ""

    def _agreed(self) -> str:
        """List as decisions what others brought up, and who did."""
        items: list[str] = []
        for theme in self._fresh("agreed"):
            by = [name for name, said in self._heard.items() if theme.point in said or theme.doubt in said]
            if by and len(items) < MAX_AGREED:
                slots = {"theme": _capital(theme.name), "name": by[0], "text": self._take(theme.agreed)}
                items.append(str(self._texts["item"]).format(**slots))
        return self._listed("agreed_lead", items)

    def _listed(self, lead: str, items: list[str]) -> str:
        return GAP.join(filter(None, (self._say(lead), "\n".join(items)))) if len(items) > 1 else ""


def _excerpt(text: str) -> str:
    """Return the first sentence of ``text`` as a short line without its full stop, for quoting."""
    line = safe_line(text, 4 * MAX_EXCERPT_CHARACTERS)
    return safe_line(_bare(first_sentence(line)), MAX_EXCERPT_CHARACTERS)


def _bare(sentence: str) -> str:
    return sentence.strip().rstrip(".。")


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _shortened(text: str, limit: int) -> str:
    """Cut at the last sentence that fits; only heads of turns are ever too long, so no fence is open."""
    if len(text) <= limit:
        return text
    cut = max(text.rfind(mark, 0, limit) for mark in (". ", ".\n", "? ", "。", "？"))
    return text[: cut + 1] if cut > limit // 3 else text[:limit]


def _number(seed: int, text: str) -> int:
    """Return a number that depends on both, the same in every process (``hash`` is not)."""
    digest = hashlib.sha256(f"{seed}:{text}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:4], "big")
