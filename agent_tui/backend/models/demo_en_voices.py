"""How the demo model's roles speak English (see ``demo_phrases.Voice``)."""

from __future__ import annotations

from agent_tui.backend.models.demo_phrases import Voice

CRITIC_CODE = (
    """\
```text
Half a year later, and it went wrong. Why?
  1. nobody asked the people behind “{plain}”
  2. the trial was too kind
  3. the way back had never been walked
```""",
    """\
```text
claim     : it will work
because   : ……………
unless    : ……………   ← the line we keep leaving empty
```""",
)
CRITIC = Voice(
    openings=(
        "“{task}” – let me begin with what bothers me about it; I can be kinder to the answers.",
        (
            "“{task}” sounds harmless. I want the spot where it can hurt us before we get attached"
            " to an answer."
        ),
        "“{task}” – fine, but somebody has to play the one who is not convinced yet, so let me.",
    ),
    middles=(
        "We are too polite with each other. Let me say where I think we are going wrong.",
        "Round {round}, and I am still not convinced – which is my job, but today it is also my opinion.",
        "I have looked for the sentence on which the others lean; let me take it away for a moment.",
        "Agreement that comes this easily makes me nervous, so here is the other side of it.",
    ),
    lasts=(
        "I came to find the crack, and I can say now which cracks I would live with.",
        "Last round: I stop attacking and say what would be enough for me.",
        "My objections have done their work if the result has become smaller. I think it has.",
    ),
    leads=(
        "The weak spot, as I see it: {theme}.",
        "What I do not quite believe yet: {theme}.",
        "My objection, in a few words: {theme}.",
        "Where this could crack: {theme}.",
    ),
    code=CRITIC_CODE,
)
ENGINEER_CODE = (
    '''\
```python
def first_step(cases: list[str]) -> str:
    """Return the smallest case that could prove us wrong."""
    ours = [case for case in cases if "{plain}" in case]
    return min(ours or cases, key=len)
```''',
    """\
```python
def go(trial: Trial) -> None:
    before = trial.measure()
    with trial.way_back():  # the way out comes first
        trial.run("{plain}")
    if trial.measure() < before:
        raise StopAndTalk("worse than before")
```""",
)
ENGINEER = Voice(
    openings=(
        "“{task}” – I read that as something to be made, run and mended by somebody, so I start at that end.",
        "“{task}” – my first thought goes to the parts: which do we need, which do we have, which break?",
        "“{task}” – let me turn that into something one can hold in one hand and try with the other.",
    ),
    middles=(
        "I have tried to build, in my head, what was said so far. It does not quite fit together.",
        "Round {round}. The talk is good; I would still like to see something that can be switched on.",
        "Part of this I would sign at once. The rest I would have to maintain, so let me object in time.",
        "There is a simpler reading of all this, and it contradicts some of what was said.",
    ),
    lasts=(
        "Enough talk to start building. This is the shape I would give it.",
        "If I had to begin tomorrow morning with what is on the table now, it would look like this.",
        "I have cut everything that I could not explain to whoever repairs it. This is left.",
    ),
    leads=(
        "The part I would build first: {theme}.",
        "Under the hood this is a matter of {theme}.",
        "In practice we will trip over {theme}.",
        "The screw everything hangs on: {theme}.",
    ),
    code=ENGINEER_CODE,
)
WRITER_CODE = (
    """\
```text
What we chose:            (one sentence, no adjectives)
What we gave up for it:
Why:
What {plain} means here:
When we look again:
```""",
    """\
```markdown
# Draft
You wanted to know about {plain}. Here is what changes for you,
what stays as it is, and whom to ask.
```""",
)
WRITER = Voice(
    openings=(
        "“{task}” – before looking for an answer I would like to hear how that sounds outside this room.",
        "“{task}” – somebody chose each of these words, and I would like to know which of them matter.",
        "“{task}” – I will try to put it so plainly that we notice where we do not mean the same.",
    ),
    middles=(
        "I have tried to put everything said so far into one paragraph. It does not hold together yet.",
        "Round {round}: let me read aloud between the lines, because that is where we disagree.",
        "We share the nouns by now. The verbs we do not share, and they are what somebody has to do.",
        "Somebody reading along would ask us to stop and say it again, more slowly.",
    ),
    lasts=(
        "Let me try to say it in words that survive being forwarded.",
        "This is the version I would send, with the adjectives taken out.",
        "If one paragraph of this conversation stays, I would like it to be the next one.",
    ),
    leads=(
        "Read it aloud, and one thing stands out: {theme}.",
        "Between the lines I read: {theme}.",
        "A sentence is missing here, and it is about {theme}.",
        "The reader will stumble over {theme}.",
    ),
    code=WRITER_CODE,
)
RESEARCHER_CODE = (
    """\
```yaml
question: "{plain}"
seen: []      # what one of us has watched
told: []      # what we have from others
guessed: []   # what carries the argument all the same
check_first: the guess that carries most
```""",
    """\
```text
if we see …            then we keep the first answer
if we see the opposite then we drop it
if we see neither      then we asked the wrong question
```""",
)
RESEARCHER = Voice(
    openings=(
        "“{task}” – I would first sort what we know from what we merely believe.",
        "“{task}” – there are smaller questions hidden in that, and each can be looked into on its own.",
        "“{task}” – let me lay out what would have to be found out, and in which order.",
    ),
    middles=(
        "I went through what was said and asked of every sentence: how would we know?",
        "Round {round}. Some of our disagreement is about facts that none of us has looked up.",
        "If two claims in this room cannot both hold, I would rather test them than vote on them.",
        "Let me separate what was shown from what was only said with conviction.",
    ),
    lasts=(
        "What do we know at the end that we did not know at the start? Less than I hoped, but enough.",
        "I sort what is left into three piles: settled, open, and not worth settling.",
        "My summary keeps to what somebody here could defend when asked.",
    ),
    leads=(
        "Worth looking into: {theme}.",
        "The first thing I would try to find out concerns {theme}.",
        "I have no data on it, only a question: {theme}.",
        "What could change my mind: {theme}.",
    ),
    code=RESEARCHER_CODE,
)
PLANNER_CODE = (
    """\
```text
first   the aim in one sentence            everybody
then    the smallest trial                 one of us
then    a look at it, together             everybody
last    yes or no, with the reason         one name
```""",
    """\
```toml
[step]
what = "try it with one case of {plain}"
who = "one name, not a group"
done_when = "somebody else can tell"
if_not = "we stop and talk"
```""",
)
PLANNER = Voice(
    openings=(
        "“{task}” – many of us will nod and nobody will hold a calendar, so let me be that person.",
        "“{task}” – let me put that into steps, so that we can argue about something with edges.",
        "“{task}” – what I need from this room: an aim, an order, and a name beside every step.",
    ),
    middles=(
        "I have tried to lay out in order what was said. It does not line up yet.",
        "Round {round}, and the plan has grown. Let me argue for cutting it.",
        "We disagree about the end and have not talked about the beginning. I would turn that round.",
        "Everything said so far is reasonable; taken together it is too much.",
    ),
    lasts=(
        "Time to close the list. This is what I would put on the wall.",
        "A plan is what is left when the wishes are crossed out. Here it is.",
        "I take stock: what is agreed, who does it, what waits.",
    ),
    leads=(
        "On the calendar it gets a line of its own: {theme}.",
        "Before any of the steps comes {theme}.",
        "The line I would write on the wall: {theme}.",
        "What decides the schedule is {theme}.",
    ),
    code=PLANNER_CODE,
)
TESTER_CODE = (
    """\
```gherkin
Scenario: the bad day
  Given somebody depends on "{plain}"
  And two things break at once
  When nobody from this room can be reached
  Then one page says what to do first
```""",
    """\
```python
ODD = ["nothing at all", "twice", "too late", "by somebody else"]

def test_the_odd_cases_have_a_verdict() -> None:
    for case in ODD:
        assert outcome("{plain}", case) in ("handled", "refused politely")
```""",
)
TESTER = Voice(
    openings=(
        "“{task}” – whatever we answer, I will try to break it, so I may as well begin with the question.",
        "“{task}” – I would like to know beforehand what we will call a failure, or there will be none.",
        "“{task}” – give me the answer that sounds best, and I will look for the Tuesday on which it fails.",
    ),
    middles=(
        "I have poked at what was said. Most of it held; let me show where it gave way.",
        "Round {round}: still no sentence here that could turn out false. I would like one.",
        "Everyone describes the case that works, so I take the other one.",
        "I tried to play it through with an impatient person in the main part. It went differently.",
    ),
    lasts=(
        "I could go on breaking things, but these are the checks I would stop at.",
        "It has not passed everything; it has passed what would stop me from signing.",
        "What I would want to see green before we say yes:",
    ),
    leads=(
        "The case I would try first: {theme}.",
        "What nobody will test unless we say so: {theme}.",
        "If I were to break it, I would begin with {theme}.",
        "On my list of suspects: {theme}.",
    ),
    code=TESTER_CODE,
)
GENERIC_CODE = (
    """\
```toml
[decision]
about = "{plain}"
choice = ""  # by the one who decides
reason = ""
strongest_objection = ""
look_again = "at the first surprise"
```""",
    """\
```text
we keep     : what works today
we try      : one small case of {plain}
we leave out: whatever has no owner
```""",
)
GENERIC = Voice(
    openings=(
        "“{task}” – let me say how I read that, and then what I would do about it.",
        "“{task}” – I have a first answer to it, and I would like to keep it to myself until it has reasons.",
        "“{task}” – I would like to go at it from the side where mistakes are cheapest.",
        "“{task}” – we all feel like answering at once; I would first like to know what is being asked.",
        "“{task}” – let me start with what will happen on a perfectly ordinary day.",
        "“{task}” – I will take a position, so that there is something to disagree with.",
    ),
    middles=(
        "Having read the others I am less sure than before, which I count as progress.",
        "Round {round}. The easy agreement is used up; what is left is the part worth talking about.",
        "Let me take the other side for a moment, even where I like what was said.",
        "Something in the last round came too easily, and I would like to pull at it.",
        "A few sentences I have read twice – not because they are difficult, but because I doubt them.",
        "So far we have been adding. Let me try to take away.",
    ),
    lasts=(
        "Let me say where we stand, as far as I can see.",
        "We will not agree on everything, and we need not. This is what I take away.",
        "To close, the part of it I would put my name to.",
        "If one page went to somebody who was not here, it would say this.",
        "Before we leave, let me settle what can be settled.",
    ),
    leads=(
        "What I keep coming back to is {theme}.",
        "The thing I would settle early: {theme}.",
        "It seems to me that much of this is about {theme}.",
        "A thought about {theme}.",
    ),
    code=GENERIC_CODE,
)

VOICES = {
    "critic": CRITIC,
    "engineer": ENGINEER,
    "writer": WRITER,
    "researcher": RESEARCHER,
    "planner": PLANNER,
    "tester": TESTER,
    "generic": GENERIC,
}
