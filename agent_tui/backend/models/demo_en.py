"""How the demo model speaks English: the frames around themes and voices (see ``demo_phrases``)."""

from __future__ import annotations

from agent_tui.backend.models.demo_en_themes import THEMES
from agent_tui.backend.models.demo_en_voices import VOICES
from agent_tui.backend.models.demo_phrases import Phrases, Replies

PHRASES = Phrases(
    space=" ",
    item="- **{theme}**: {text}",
    item_by="- **{theme}** ({name}): {text}",
    run_in="**{theme}.**",
    token=4,
    marks=("“", "”"),
    inner_marks=("‘", "’"),
    no_task="a task without words",
    no_word="this task",
    least=1650,
    most=2150,
    themes=THEMES,
    voices=VOICES,
    replies=Replies(
        question=(
            "{name} asks: “{quote}” {answer}",
            "{name}, you ask: “{quote}” {answer}",
            "Let me take up the question from {name}: “{quote}” {answer}",
            "“{quote}” asks {name}, and that deserves a reply. {answer}",
            "{name} wants to know: “{quote}” Let me try. {answer}",
            "There is an open question from {name}: “{quote}” {answer}",
        ),
        agree=(
            "“{bare}”, says {name}. I agree, and something follows from it. {answer}",
            "I share this with {name}: “{quote}” What follows from it? {answer}",
            "{name} is on to something: “{quote}” {answer}",
            "With {name} I would say “{bare}”, and then go one step further. {answer}",
            "“{quote}” That is from {name}, and it stands. {answer}",
            "I would build on this sentence of yours, {name}: “{quote}” {answer}",
            "I would underline what {name} wrote: “{quote}” {answer}",
            "“{bare}” – let us push off from there, {name}. {answer}",
        ),
        disagree=(
            "{name} says: “{quote}” That goes too far for me. {answer}",
            "I do not see it quite as {name} does (“{bare}”). {answer}",
            "Against “{bare}” I would hold something, {name}. {answer}",
            "“{bare}” – true, {name}, but only half of it. {answer}",
            "{name}, I stumble over “{bare}”. {answer}",
            "“{quote}” I know why {name} says so, and I would still weigh it differently. {answer}",
        ),
        unknown=(
            "{name} says “{bare}”. I would like to hear what follows from that for {word}.",
            "I have read “{bare}” twice, {name}. The direction I like; the pace I would halve.",
            "“{bare}”, says {name}. Suppose that is right: what would we do differently tomorrow?",
            "On “{bare}” I am with {name}, as long as we also say what would prove it wrong.",
            "{name}, before we go on from “{bare}”: is that something you have seen, or a hope?",
            "From “{bare}” I take the first half, {name}, and keep a question mark for the second.",
        ),
        person=(
            "You wrote “{bare}”. I take that as the measure for what we say next.",
            "To your “{bare}”, from outside our little round: that should count for more than our taste.",
            "“{bare}”, you say. Then some of what we discussed can wait.",
            "With your “{bare}” in mind I would go through our points once more.",
        ),
    ),
    disclosures=(
        "(I am the demo model, by the way: I speak from a script, and there is no network behind me.)",
        "(A word about me: this is the demo model reading from a script, no network involved.)",
        "(For the record, I am only the demo model – a script, and no network.)",
        "(What you read here is the demo model following a script; no network was asked.)",
        "(And as the demo model I say all this from a script, without a network.)",
    ),
    choices=(
        (
            "Two names are on the table, **{a}** and **{b}**. I will praise neither yet; first I want to know"
            " what the choice has to be good for."
        ),
        (
            "With **{a}** and **{b}** the interesting thing is not which is better, but what one must"
            " believe to prefer one."
        ),
        "**{a}** or **{b}**: I would take either gladly if somebody showed me what we give up by taking it.",
        "I notice that I lean towards **{pick}**, and I mistrust that, since I have no reason yet.",
        "Whether **{a}** or **{b}** – somebody will have to explain it to those who wanted the other one.",
    ),
    questions=(
        "It is put as a question, so let us first agree on what would count as an answer.",
        "Something like this can be answered in a line or in a year; I would like something in between.",
        "What strikes me is {word}: a good part of what we say will depend on how we read it.",
        "I would not answer yet. I would ask what changes for somebody once it is answered.",
    ),
    assignments=(
        "It is put as an assignment, so somebody expects a result and not an opinion.",
        "There is work in that, and where there is work there is an order in which it hurts least.",
        "What I keep returning to is {word}: if we get that right, the rest may turn out plain.",
        "Before we start: who asked for it, and what will they do with it on the first day?",
    ),
    choice_angles=(
        (
            "Put the other way round: what would make us regret **{a}**, and what **{b}**?"
            " If both lines read the same, the choice matters less than we think."
        ),
        "I would try an exchange: whoever is for **{a}** argues for **{b}** until the others nod.",
        (
            "Suppose **{a}** or **{b}** had been chosen already, by accident: would we undo it?"
            " If not, we are arguing about taste."
        ),
        (
            "Let us name one thing we would miss about **{a}** with **{b}**, and one the other way round."
            " An empty line on either side would settle it."
        ),
        "Perhaps **{a}** and **{b}** come too early: what would tell us that we have to choose at all?",
    ),
    angles=(
        "Let me try the opposite for a moment: what if {word} were not the point, but only where it shows?",
        "If somebody took {word} away from us tonight, what would we try to get back first?",
        "Imagine that it went well. What do we see in front of us, and who tells the story of {word}?",
        "I would like to hear the case against {word} once, made by somebody who likes it.",
        "We may be asking about {word} because it is easy to talk about. What are we not talking about?",
    ),
    leads=(
        "Then there is {theme}.",
        "I would also look at {theme}.",
        "A word on {theme}.",
        "This brings me to {theme}.",
        "Next: {theme}.",
        "Let me add {theme}.",
        "One more thing: {theme}.",
        "And let us not forget {theme}.",
    ),
    proposals=(
        "My proposal: {step}",
        "What helps: {step}",
        "I would do this: {step}",
        "So, quite practically: {step}",
        "A small remedy: {step}",
        "Therefore: {step}",
    ),
    second_thoughts=(
        "I made much of {theme} before. I still mean it, but it need not come first.",
        "On {theme} I would put it more mildly now than I did.",
        "My point about {theme} stands, though I see that it is not the whole story.",
        "I take back half of what I said about {theme}: the half that sounded certain.",
        "What I said about {theme} I would now tie to a condition: only if it stays small.",
    ),
    step_leads=(
        "As steps:",
        "In this order:",
        "If it were up to me, we would go about it like this:",
        "Concretely, and none of it binds us:",
        "What could be done without asking anybody:",
        "The next days, as I imagine them:",
        "Small enough to begin with:",
    ),
    question_leads=(
        "What I would ask before anything is decided:",
        "Questions I cannot answer alone:",
        "What I would like to hear from each of us:",
        "Things I would rather ask today than later:",
        "What is still open for me:",
        "If I could put a few questions to all of you:",
    ),
    sign_leads=(
        "I would believe us if all of this were true:",
        "How I would recognise that it goes well:",
        "A short list to hold against the result:",
        "What I would tick off:",
        "Signs, in no particular order:",
    ),
    table_leads=(
        "In a table, so that the gaps show:",
        "Side by side it looks like this:",
        "In columns, for those who skim:",
        "Let me put that next to each other:",
        "To keep it apart:",
    ),
    table_heads=(
        ("about", "a sign that it works"),
        ("topic", "how we would see it"),
        ("what matters", "good enough when"),
        ("point", "settled when"),
        ("we talk about", "we can tick it off when"),
    ),
    compare_leads=(
        "This table I would like to see filled before we choose; I cannot fill it from here:",
        "The cells are empty on purpose – whoever knows something, please write it in:",
        "Where do we really know the difference? I would begin with empty columns:",
    ),
    code_leads=(
        "Written down, so that one can argue with it:",
        "As a sketch, nothing more:",
        "Put more strictly:",
        "In a form that does not forgive vagueness:",
    ),
    agreed_leads=(
        "What I believe we agree on:",
        "As far as I can see, nobody objects to this:",
        "Out of what each of us brought, this stays:",
        "I would put our names under these lines:",
    ),
    own_leads=(
        "What I take on myself:",
        "My own part in it:",
        "This I can promise from my side:",
        "What you can hold me to:",
    ),
    still_open=(
        "One thing stays open, and I would leave it open on purpose: “{question}”",
        "Not settled, and perhaps not ours to settle: “{question}”",
        "The question I would take home: “{question}”",
        "If there were another round, I would spend it on this: “{question}”",
    ),
    choice_decisions=(
        (
            "If it comes to a vote, mine goes to **{pick}**: as the one we try, not the one we marry."
            " **{other}** stays within reach."
        ),
        (
            "My vote: **{pick}** first. Not because **{other}** is worse – I cannot know that – but because"
            " one of them has to be tried first."
        ),
        "Let us begin with **{pick}**, and write down beforehand what would make us change to **{other}**.",
        "I can live with **{pick}** as a start; what counts is when we would turn to **{other}**.",
        "As far as it is mine to decide: **{pick}**, small, with a way back, and **{other}** not ruled out.",
    ),
    decisions=(
        "My answer, then, is less a sentence than an order: find out, choose, tell, look again.",
        "So I propose to begin small with {word}, in the open, and with a date on which we look again.",
        "I would decide for the plain version of {word} now, and for more when somebody misses it.",
        "I would say yes to a first step about {word}, and save the big yes for after we have seen it.",
        "Settled, from my side: we start with what can be taken back, and {word} gets one owner.",
    ),
    handovers=(
        "{name}, where do you see that differently?",
        "{name}, which of these would you strike out first?",
        "I would be glad if {name} took the opposite side in the next turn.",
        "{name}, which part of this would you not put your name to?",
        "Over to {name}: what did I overlook?",
        "{name}, if one thing I said had to go, which would it be?",
        "I pass this on to {name}, who looks at it from another side.",
        "Does that answer you, {name}, or does it only sound like an answer?",
    ),
    closings=(
        "Something is missing here; who sees what?",
        "I leave it there, so that somebody can disagree.",
        "Take this as a first version; it is meant to be contradicted.",
        "That is where I stand until somebody moves me.",
        "Who takes the other side?",
        "Enough from me for now.",
    ),
    farewells=(
        "Thank you for the objections; they made it smaller, and better.",
        "That is all from me. The rest is for those who do it.",
        "With that I am content, and curious what will surprise us first.",
        "I have no more to add that would make it clearer.",
        "From my side the room can be closed.",
        "If it fails, let it fail early; then this was time well spent.",
    ),
    nothing_left="In round {round} I have nothing to add to what I said, and leave the word to others.",
)
