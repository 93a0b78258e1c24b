"""The agent that people talk with: which turns it answers."""

from __future__ import annotations

import pytest

pytest.importorskip("livekit.agents", reason="the extra voice-agent is not installed")

from livekit.agents import StopResponse, llm

from agent_tui.voice_agent.agents import GuideAgent
from agent_tui.voice_agent.conversation_llm import MAY_ACT
from agent_tui.voice_agent.talk import VoiceTalk

pytestmark = pytest.mark.voice


async def test_a_turn_without_words_is_not_answered() -> None:
    talk = VoiceTalk("demo", lambda: True, lambda _: False)
    guide = GuideAgent(talk)
    for words in ("", " \n"):
        with pytest.raises(StopResponse):
            await guide.on_user_turn_completed(
                llm.ChatContext.empty(), llm.ChatMessage(role="user", content=[words])
            )
    talk.turn.heard(by_owner=True)
    question = llm.ChatMessage(role="user", content=["What rooms are running?"])
    await guide.on_user_turn_completed(llm.ChatContext.empty(), question)
    assert question.extra[MAY_ACT] is True
