"""A LiveKit agent without a voice and without an ear, which hands over to one that speaks."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from pathlib import Path

from livekit.agents import Agent, AgentServer, JobContext, ModelSettings, llm

sys.path.insert(0, str(Path(__file__).parents[3]))  # livekit-agents runs this file by its path

from tests.fakes.voice.voice_agent import Voice, new_session


class Speaker(Agent):
    """Has a voice of its own."""

    def __init__(self) -> None:
        super().__init__(instructions="Speak.", tts=Voice())

    async def on_enter(self) -> None:
        await self.session.say("Now you hear me.")


class Mute(Agent):
    """Has none."""

    def __init__(self) -> None:
        super().__init__(instructions="Write.")

    async def on_enter(self) -> None:
        await self.session.say("Welcome to the silence.")

    async def llm_node(
        self, chat_ctx: llm.ChatContext, tools: list[llm.Tool], model_settings: ModelSettings
    ) -> AsyncGenerator[str, None]:
        said = [item.text_content or "" for item in chat_ctx.items if isinstance(item, llm.ChatMessage)]
        if said[-1] == "speak":
            self.session.update_agent(Speaker())
        yield f"You said {said[-1]}."


server = AgentServer(host="127.0.0.1", port=0)


@server.rtc_session()
async def entry(context: JobContext) -> None:
    """Serve the console transport."""
    await new_session(stt=None, tts=None).start(Mute(), room=context.room)
