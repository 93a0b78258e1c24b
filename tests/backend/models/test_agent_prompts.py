"""What agents on other servers are told: each thing once, and everything again where they cannot know it."""

from __future__ import annotations

from dataclasses import replace

from agent_tui.backend.models.agent_prompts import SAY_AGAIN, YOUR_TURN, next_prompt
from agent_tui.backend.models.model import AgentSession, ChatMessage, ModelRequest, ToolCall

NEW = AgentSession("far")
ROLE = ChatMessage("system", "You judge.")
TASK = ChatMessage("user", "Redis?")
MINE = ChatMessage("assistant", "Yes.")
ADA = ChatMessage("user", "[Ada]: No.")


def request(*messages: ChatMessage, round_: int = 1, continues: str = "") -> ModelRequest:
    return ModelRequest((ROLE, *messages), "", "Far", "Redis?", round_, 3, continues=continues)


def told(*messages: ChatMessage) -> AgentSession:
    """Return the session of an agent that was told these messages."""
    return replace(next_prompt(request(*messages), NEW).session, id="s1")


def test_a_new_session_is_told_everything_and_its_role_apart() -> None:
    prompt = next_prompt(request(TASK, ADA), NEW)
    assert (prompt.text, prompt.role, prompt.is_new) == ("Redis?\n\n[Ada]: No.", "You judge.", True)
    assert prompt.session.told == 2


def test_a_known_session_is_told_what_is_new_without_its_own_words() -> None:
    prompt = next_prompt(request(TASK, MINE, ADA, round_=2), told(TASK))
    assert (prompt.text, prompt.is_new, prompt.session.id) == ("[Ada]: No.", False, "s1")


def test_nothing_new_is_a_new_turn_or_the_same_once_more() -> None:
    assert next_prompt(request(TASK, MINE, round_=2), told(TASK)).text == YOUR_TURN
    assert next_prompt(request(TASK), told(TASK)).text == SAY_AGAIN


def test_a_cut_answer_is_continued_by_its_last_words() -> None:
    text = next_prompt(request(TASK, MINE, continues="Yes."), told(TASK)).text
    assert text.startswith("[Your last message was cut off. Go on with it")
    assert "Yes." in text
    called = ChatMessage("assistant", "", calls=(ToolCall("c", "look", "{}"),))
    result = ChatMessage("tool", "blue", call_id="c")
    assert "what you did" in next_prompt(request(TASK, called, result), told(TASK)).text


def test_a_conversation_that_began_otherwise_is_told_whole_to_a_new_session() -> None:
    other = ChatMessage("user", "MySQL?")
    prompt = next_prompt(request(other, MINE, ADA, round_=2), told(TASK))
    assert (prompt.is_new, prompt.session.id) == (True, "")
    assert prompt.text == "MySQL?\n\n[Far]: Yes.\n\n[Ada]: No."


def test_who_may_not_have_heard_the_last_words_begins_anew() -> None:
    prompt = next_prompt(request(TASK, MINE, ADA, round_=2), replace(told(TASK), is_sure=False))
    assert prompt.is_new
    assert prompt.text.startswith("Redis?")
