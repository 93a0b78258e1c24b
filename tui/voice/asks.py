"""The questions of the agent's tools: follows the log of the session's conversation, beside the session.

Tool steps come twice: from the agent, and from the log. Both use the same id for a call, so it is one row of
the transcript.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from agent_tui.model import events as ev
from agent_tui.model.errors import AgentTuiError, NotFound
from agent_tui.state.conversation import ConversationState
from tui.cli.commands.asking import note_line
from tui.forms.chat import chat_settings
from tui.link import ChatLink
from tui.live.composer import Writing
from tui.live.host import Host
from tui.live.texts import Spot
from tui.screens.localised import localised
from tui.screens.words import say
from tui.voice.feed import VoiceFeed
from tui.voice.session import VoiceSession
from widgets.transcript.transcript import Transcript

if TYPE_CHECKING:
    from agent_tui.model.voice import VoiceEvent


class VoiceAsks:
    """The questions of one voice screen (``approvals.Questions``). ``take`` gets the log's steps as events of
    the session; ``changed`` is called when a question is asked or no longer is, ``restarted`` when the
    session has to begin again: its server and agent ended with the backend, or its log was deleted.
    """

    def __init__(
        self,
        link: ChatLink,
        feed: VoiceFeed,
        composer: Writing,
        host: Host,
        *,
        take: Callable[[VoiceEvent], None],
        changed: Callable[[], None],
        restarted: Callable[[], None],
    ) -> None:
        self.composer = composer
        self._host = host
        self.client = link.client
        self._link = link
        self._feed = feed
        self._take = take
        self._changed = changed
        self._restarted = restarted
        self.state = ConversationState()  # the session's conversation
        self._session: VoiceSession | None = None  # which is followed, or has no conversation that asks
        self._notes_told: set[str] = set()

    async def follow(self, session: VoiceSession | None) -> None:
        """Follow the log of this session until cancelled; guests are not asked."""
        self.state, self._session = ConversationState(), session
        if session is None or not session.asks_in:
            return
        try:
            async with aclosing(await self._link.follow(session.asks_in)) as events:
                url = self._link.url
                async for event in events:
                    if self._link.url != url:
                        self._restarted()
                        break
                    self.state.apply(event)
                    self._forward(event)
                    self._changed()
        except NotFound:
            if self.state.turns:  # an empty log is deleted with its session
                self._host.warn(say("voice.deleted"))
                self._restarted()
        except AgentTuiError as error:
            self._host.warn(localised(error))
        finally:
            self.state, self._session = ConversationState(), None
            self._changed()

    # --- the settings of the conversation --------------------------------------------------------------

    @property
    def why_no_settings(self) -> str:
        """Return why there are none, as a sentence; "" if there are."""
        if self._session is None:
            return say("voice.not_now")
        return "" if self.state.conversation.id else say("chat.agent.settings")

    def open_settings(self) -> None:
        """Open the settings, which are those of a chat, or say why there are none."""
        if not self._host.allows(self.why_no_settings):
            return
        info = self.state.conversation

        async def change(**changed: Any) -> None:
            client = await self.client()
            self.state.apply(ev.ConversationChanged(await client.change(info.id, **changed)))

        self._host.open(chat_settings(info, self._link, change))

    def _forward(self, event: ev.Event) -> None:
        """Pass on the states of calls, of older answers only those that still ask, and the notes of an
        answer, such as that its model takes no tools.
        """
        match event:
            case ev.StepSet(turn_id, step) if step.type == "tool_call" and (step.arguments or step.status):
                self._take(ev.StepSet(turn_id, replace(step, id=call_id(turn_id, step.id), id_ref="")))
            case ev.ToolStatusChanged(turn_id, step_id):
                self._take(replace(event, step_id=call_id(turn_id, step_id)))
            case ev.ConversationLoaded():
                for turn_id, step_id in self.state.asking:
                    if (asks := self.state.step(turn_id, step_id)) is not None:
                        call = ev.Step(
                            call_id(turn_id, step_id),
                            type="tool_call",
                            name=asks.name,
                            arguments=asks.arguments.text,
                            status=asks.status,
                            ask=asks.ask,
                        )
                        self._take(ev.StepSet(turn_id, call))
            case ev.TurnNoted(_, note) if note not in self._notes_told:
                self._notes_told.add(note)  # once per session: the next answers are no different
                if line := note_line(event):
                    self._host.warn(line)
            case _:
                pass

    # --- what approvals want to know -------------------------------------------------------------------

    def place_of(self, spot: Spot) -> tuple[Transcript, str] | None:
        key = self._feed.row_of(call_id(*spot))
        return (self._feed.transcript, key) if key else None

    def go_to_ask(self, spot: Spot) -> None:
        """Do nothing: the only transcript is shown."""

    def focus_words(self) -> None:
        self._feed.transcript.screen.set_focus(self._feed.transcript, scroll_visible=False)


def call_id(turn_id: str, step_id: str) -> str:
    """Return the agent's id for that call of the log (``voice_agent.conversation``)."""
    return f"{turn_id}:{step_id}"
