"""How the demo model puts one turn together.

A turn has a head that fits the round, a body of blocks that grows until it is long enough, and a last
line. All of it comes out of phrase tables through a ``Picker``, which says nothing twice.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import chain, cycle, islice
from typing import Literal

from agent_tui.backend.models.demo_phrases import Phrases, Theme
from agent_tui.backend.models.demo_pick import Picker
from agent_tui.backend.models.demo_room import Room, bare, excerpt, raised

Phase = Literal["opening", "middle", "last", "only"]
Maker = Callable[[], str]

MOST_CHARACTERS = 2380  # of a turn, whatever a table asks for
GAP = "\n\n"
# What a body is made of, in order; "form" is the next list, table or code block that suits the role.
PLANS: dict[Phase, tuple[str, ...]] = {
    "opening": ("person", "reply", "framing", "theme", "form", "reply", "theme", "form"),
    "middle": ("person", "against", "theme", "form", "angle", "reply", "rethink", "theme", "form"),
    "last": ("person", "agreed", "reply", "decision", "promise", "open"),
    "only": ("person", "reply", "framing", "theme", "form", "decision", "open"),
}
FILLING = ("theme", "form", "reply", "theme") * 6
FORMS = {
    "critic": ("questions", "code", "signs", "table", "steps"),
    "engineer": ("code", "steps", "table", "signs", "questions"),
    "writer": ("questions", "steps", "code", "table", "signs"),
    "researcher": ("table", "questions", "code", "signs", "steps"),
    "planner": ("steps", "table", "code", "questions", "signs"),
    "tester": ("signs", "code", "questions", "table", "steps"),
    "generic": ("steps", "questions", "table", "code", "signs"),
}
FORMS_A_TURN = 2
MAX_AGREED = 4
MAX_PROMISES = 3


class Turn:
    """One turn in the making; ``text`` is all of it."""

    def __init__(self, room: Room, phrases: Phrases, rng: random.Random, *, salt: int, place: int) -> None:
        self._room = room
        self._phrases = phrases
        self._voice = phrases.voices[room.role]
        self._rng = rng
        self._pick = Picker(room, phrases, salt=salt, place=place)
        self._raised = raised(room, phrases)
        self._addressed: set[str] = set()

    def text(self, phase: Phase, round_: int, limit: int) -> str:
        """Return the turn; never more than ``limit`` characters."""
        limit = min(limit, MOST_CHARACTERS)
        aim = min(self._rng.randint(self._phrases.least, self._phrases.most), limit * 7 // 8)
        blocks = [self._head(phase, round_)]
        last = self._close(phase)
        size = len(blocks[0]) + len(last)
        for make in self._makers(phase, round_):
            if size >= aim:
                break
            block = make()
            if block and size + len(GAP) + len(block) + len(GAP) <= limit:
                blocks.append(block)
                size += len(GAP) + len(block)
        if not any(blocks):
            blocks, last = [self._phrases.nothing_left.format(round=round_)], ""
        return _shortened(GAP.join(filter(None, (*blocks, last))), limit)

    def _makers(self, phase: Phase, round_: int) -> Iterator[Maker]:
        forms: dict[str, Maker] = {
            "steps": self._steps,
            "questions": self._questions,
            "signs": self._signs,
            "table": self._table,
            "code": self._code,
        }
        makers: dict[str, Maker] = {
            "person": self._to_person,
            "reply": self._reply,
            "against": lambda: self._reply(against=True),
            "framing": self._framing,
            "angle": self._angle,
            "theme": lambda: self._theme(phase),
            "rethink": self._rethink,
            "agreed": self._agreed,
            "decision": self._decision,
            "promise": self._promise,
            "open": self._open,
        }
        names = FORMS[self._room.role]
        form = islice(cycle(names), FORMS_A_TURN * (round_ - 1) % len(names), None)
        for name in chain(PLANS[phase], FILLING):
            yield forms[next(form)] if name == "form" else makers[name]

    def _join(self, *sentences: str) -> str:
        return self._phrases.space.join(filter(None, sentences))

    # --- first and last words ----------------------------------------------------------------------

    def _head(self, phase: Phase, round_: int) -> str:
        if phase == "last":
            head = self._pick.say(self._voice.lasts)
        elif phase == "middle":
            quarrel = self._pick.say(self._voice.middles, round=str(round_)) if self._room.names else ""
            head = quarrel or self._rethink()
        else:
            head = self._pick.say(self._voice.openings)
        disclosure = "" if self._room.has_spoken else self._pick.say(self._phrases.disclosures)
        return self._join(head, disclosure)

    def _close(self, phase: Phase) -> str:
        if phase in ("last", "only"):
            return self._pick.say(self._phrases.farewells)
        names = self._room.names
        if not names:
            return self._pick.say(self._phrases.closings)
        return self._pick.say(self._phrases.handovers, name=self._rng.choice(names))

    def _framing(self) -> str:
        pools = {
            "choice": self._phrases.choices,
            "question": self._phrases.questions,
            "assignment": self._phrases.assignments,
        }
        return self._pick.say(pools[self._room.task.kind])

    def _angle(self) -> str:
        chosen = self._room.task.kind == "choice"
        return self._pick.say(self._phrases.choice_angles if chosen else self._phrases.angles)

    # --- what is said to others --------------------------------------------------------------------

    def _to_person(self) -> str:
        if not self._room.person:
            return ""
        return self._pick.say(self._phrases.replies.person, bare=self._nested(self._room.person))

    def _reply(self, *, against: bool = False) -> str:
        """Answer what somebody brought up, first those who have no answer yet."""
        themes = [theme for theme in self._pick.themes("answer") if theme in self._raised]
        items = [item for theme in themes for item in self._raised[theme]]
        items = [item for item in items if self._pick.is_fresh(getattr(item.theme, item.aspect))]
        if not items:
            return self._reply_freely()
        # in a quarrel rather what can be contradicted; ``min`` takes the first of equals
        item = min(items, key=lambda it: (it.name in self._addressed, against and it.aspect == "question"))
        self._addressed.add(item.name)
        self._pick.drop(getattr(item.theme, item.aspect))
        replies = self._phrases.replies
        answers_back = replies.disagree if against else replies.agree
        return self._pick.say(
            replies.question if item.aspect == "question" else answers_back,
            name=item.name,
            quote=self._nested(item.quote),
            bare=self._nested(bare(item.quote)),
            answer=self._pick.take_aspect(item.theme, "answer"),
        )

    def _nested(self, quote: str) -> str:
        for outer, inner in zip(self._phrases.marks, self._phrases.inner_marks, strict=True):
            quote = quote.replace(outer, inner)
        return quote

    def _reply_freely(self) -> str:
        """Take up the words of somebody who does not speak from our tables: another model, a person."""
        known = {item.name for items in self._raised.values() for item in items}
        for name, words in reversed(tuple(self._room.latest.items())):
            quoted = excerpt(words)
            if name not in known and name not in self._addressed and quoted:
                self._addressed.add(name)
                return self._pick.say(self._phrases.replies.unknown, name=name, bare=self._nested(quoted))
        return ""

    def _rethink(self) -> str:
        """Come back to a theme that this agent itself brought up before."""
        before = [t for t in self._phrases.themes.values() if t.point in self._room.own]
        if not before:
            return ""
        theme = self._rng.choice(before)
        return self._pick.say(self._phrases.second_thoughts, theme=theme.name)

    # --- what is said about the task ---------------------------------------------------------------

    def _theme(self, phase: Phase) -> str:
        """Say two things about one theme; in a quarrel rather what is wrong and what to do."""
        pairs = [("point", "doubt"), ("doubt", "step"), ("point", "step")]
        self._rng.shuffle(pairs)
        if phase == "middle":
            pairs.sort(key=lambda pair: "doubt" not in pair)
        for first, second in pairs:
            themes = self._pick.themes(first, second)
            if themes:
                theme = themes[0]
                return self._join(self._lead(theme), self._aspect(theme, first), self._aspect(theme, second))
        return ""

    def _lead(self, theme: Theme) -> str:
        name = theme.name
        own = self._rng.random()
        lead = ""
        if own < 0.45:
            lead = self._pick.say(self._voice.leads, theme=name)
        elif own < 0.75:
            lead = self._pick.say(self._phrases.leads, theme=name)
        return lead or self._phrases.run_in.format(theme=_capital(name))

    def _aspect(self, theme: Theme, aspect: str) -> str:
        sentence = self._pick.take_aspect(theme, aspect)
        if aspect != "step":
            return sentence
        lowered = sentence[0].lower() + sentence[1:]
        return self._pick.say(self._phrases.proposals, step=lowered) or sentence

    def _agreed(self) -> str:
        """List what was brought up in the room, by whom, as decisions; the others' before one's own."""
        if not self._room.names:
            return ""
        speakers = [*self._room.heard.items(), ("", self._room.own)]
        found: list[tuple[int, str, Theme]] = []
        for theme in self._pick.themes("agreed"):
            by = [name for name, said in speakers if theme.point in said or theme.doubt in said]
            if by:
                before = sum(name == by[0] for _, name, _ in found)
                found.append((before + (not by[0]), by[0], theme))
        found.sort(key=lambda item: item[0])
        items = []
        for _, name, theme in found[:MAX_AGREED]:
            form = self._phrases.item_by if name else self._phrases.item
            text = self._pick.take_aspect(theme, "agreed")
            items.append(form.format(theme=_capital(theme.name), name=name, text=text))
        return self._listed(self._phrases.agreed_leads, items)

    def _promise(self) -> str:
        """Take on the steps of what this agent itself brought up."""
        themes = self._pick.themes("step")
        themes.sort(key=lambda t: self._room.own.isdisjoint((t.point, t.doubt, t.question)))
        steps = [self._pick.take_aspect(theme, "step") for theme in themes[:MAX_PROMISES]]
        return self._listed(self._phrases.own_leads, _numbered(steps))

    def _decision(self) -> str:
        chosen = self._room.task.kind == "choice"
        return self._pick.say(self._phrases.choice_decisions if chosen else self._phrases.decisions)

    def _open(self) -> str:
        found = self._pick.take_themes("question", 1)
        return self._pick.say(self._phrases.still_open, question=self._nested(found[0][1])) if found else ""

    # --- lists, tables, code -----------------------------------------------------------------------

    def _listed(self, leads: tuple[str, ...], items: list[str]) -> str:
        if len(items) < 2:
            return ""
        return GAP.join(filter(None, (self._pick.say(leads), "\n".join(items))))

    def _steps(self) -> str:
        steps = self._pick.take_themes("step", 3 + self._rng.randint(0, 1))
        return self._listed(self._phrases.step_leads, _numbered([step for _, step in steps]))

    def _questions(self) -> str:
        questions = self._pick.take_themes("question", 3)
        return self._listed(self._phrases.question_leads, [f"- {question}" for _, question in questions])

    def _signs(self) -> str:
        signs = self._pick.take_themes("sign", 3)
        items = [self._phrases.item.format(theme=_capital(theme.name), text=sign) for theme, sign in signs]
        return self._listed(self._phrases.sign_leads, items)

    def _table(self) -> str:
        """Side by side: the two answers with cells to fill, once; else themes and their signs."""
        pair = self._room.task.options
        if pair and all(map(self._pick.is_unsaid, self._phrases.compare_leads)):
            names = [theme.name for theme in self._pick.themes("question")[:4]]
            rows = [
                f"|  | {pair[0]} | {pair[1]} |",
                "| --- | --- | --- |",
                *(f"| {n} | … | … |" for n in names),
            ]
            return self._listed(self._phrases.compare_leads, rows)
        return self._sign_table()

    def _sign_table(self) -> str:
        heads = [head for head in self._phrases.table_heads if self._pick.is_fresh(head[1])]
        if not heads:
            return ""
        left, right = heads[0]
        self._pick.take(right)
        rows = [f"| {theme.name} | {sign} |" for theme, sign in self._pick.take_themes("sign", 3)]
        return self._listed(self._phrases.table_leads, [f"| {left} | {right} |", "| --- | --- |", *rows])

    def _code(self) -> str:
        code = self._pick.say(self._voice.code)
        return GAP.join(filter(None, (self._pick.say(self._phrases.code_leads), code))) if code else ""


def _numbered(items: list[str]) -> list[str]:
    return [f"{number}. {item}" for number, item in enumerate(items, 1)]


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


def _shortened(text: str, limit: int) -> str:
    """Cut at the last sentence that fits; only heads of turns are ever too long, so no fence is open."""
    if len(text) <= limit:
        return text
    cut = max((text.rfind(mark, 0, limit) for mark in (". ", ".\n", "? ", "。", "?")), default=-1)
    return text[: cut + 1] if cut > limit // 3 else text[:limit]
