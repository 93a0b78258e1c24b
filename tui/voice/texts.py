"""The texts of the voice screen: pure functions of a session's state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from agent_tui.model.errors import AgentTuiError
from agent_tui.model.inert import inert, inert_line
from agent_tui.model.voice import TurnTimes
from agent_tui.state.voice import VoiceState
from tui.live import signs
from tui.live.texts import Status
from tui.screens.localised import localised
from tui.screens.words import ordinal_try, say
from tui.voice.endings import ABSENT
from widgets.units import decimal

MAX_DETAIL_CHARACTERS: Final = 200
MAX_NAME_CHARACTERS: Final = 40
SLOW_SECONDS: Final = 1.0  # a slower answer is called slow
_SIGNS: Final = {
    "listening": signs.SPEAKING,
    "user_speaking": signs.SPEAKING,
    "thinking": signs.THINKING,
    "speaking": signs.SPEAKING,
    "ended": signs.DONE,
    "failed": signs.FAILED,
}
TIMED: Final = ("preparing", "connecting", "waiting_agent", "initializing", "thinking")


class Card(NamedTuple):
    """A problem, and the default keys that help, each with what it does."""

    text: str
    keys: tuple[tuple[str, str], ...] = ()
    is_failure: bool = False


@dataclass(frozen=True, slots=True)
class VoiceShown:
    """What only the screen knows: why no session could be opened, and the microphone's state."""

    problem: str = ""  # why no session could be opened
    may_set_up: bool = False  # because something is missing on this machine
    has_signal: bool = True
    may_use_local: bool = True
    asking: str = ""  # what a tool needs of the person, with its sign
    had_input: bool = False  # there was a microphone in this session


def status(state: VoiceState, shown: VoiceShown) -> Status:
    """Return the session's state for the top line."""
    overlays, phase = state.overlays, state.phase
    if shown.problem:
        return Status(f"{signs.FAILED} {say('voice.failed')}")
    if "reconnecting" in overlays:
        attempt = state.link.attempt
        if attempt > 1:
            words = say("voice.reconnecting.try", attempt=ordinal_try(attempt))
        else:
            words = say("voice.reconnecting")
        return Status(f"{signs.WAITING} {words}", "reconnecting")
    if shown.asking:
        return Status(shown.asking)
    if is_absent(state):
        return Status(f"{signs.FAILED} {say('voice.absent')}")
    if phase in ("idle", "preparing"):
        detail = _detail(state)
        return Status(f"{signs.WAITING} {detail or say('voice.preparing')}", "preparing")
    words = say("voice.away" if phase == "listening" and "away" in overlays else f"voice.{phase}")
    return Status(f"{_SIGNS.get(phase, signs.WAITING)} {words}", phase if phase in TIMED else "")


def _detail(state: VoiceState) -> str:
    """Return what the connection says of itself."""
    return localised(inert_line(state.link.detail, MAX_DETAIL_CHARACTERS))


def is_absent(state: VoiceState) -> bool:
    """Whether the agent did not come, and is no longer waited for."""
    return state.phase in ("waiting_agent", "initializing") and state.link.reason in ABSENT


def card(state: VoiceState, shown: VoiceShown) -> Card | None:
    """Return what needs the person's attention, the worst first; ``None`` for nothing."""
    retry, leave = ("r", "voice.card.retry"), ("esc", "voice.card.leave")
    local, text = ("l", "voice.card.local"), ("t", "voice.card.text")
    devices = ("d", "voice.card.devices")
    overlays = state.overlays
    if shown.problem:
        helps = (("s", "voice.card.set_up"), retry, leave) if shown.may_set_up else (retry, leave)
        return Card(shown.problem, helps, is_failure=True)
    if state.is_over:
        detail = _detail(state) or say("voice.card.ended.other")
        return Card(detail, (retry, leave), is_failure=state.phase == "failed")
    if is_absent(state):
        others = (local, shown.may_use_local), (text, "text_only" not in overlays)
        keys = (retry, *(key for key, is_offered in others if is_offered))
        return Card(_detail(state) or say("voice.card.absent"), keys)
    if "agent_left" in overlays:
        return Card(say("voice.card.agent_left"), (retry, local) if shown.may_use_local else (retry,))
    if "not_linked" in overlays:
        mine = any(
            one.is_me and state.heard is not None and one.name == state.heard.name for one in state.people
        )
        why = "heard_left" if state.heard_left else "other_terminal" if mine else "not_linked"
        can_ask = state.agent is None or state.agent.takes_requests
        return Card(
            say(f"voice.card.{why}", name=_name(state)), (("a", "voice.card.listen"),) if can_ask else ()
        )
    sound, is_begun = state.sound, len(state.lines) > 0  # later the microphone's row is enough
    if "no_audio" in overlays and (shown.had_input or not is_begun):
        problem = localised(inert_line(sound.input_problem, MAX_DETAIL_CHARACTERS))
        key = "voice.card.no_audio" if sound.output_problem else "voice.card.no_input"
        return Card(say(key, problem=problem), (devices, text))
    if not shown.has_signal and not is_begun and "muted" not in overlays and "text_only" not in overlays:
        return Card(say("voice.card.no_signal"), (devices,))
    return None


def _name(state: VoiceState) -> str:
    heard = state.heard or state.heard_left
    return inert_line(heard.name or heard.identity, MAX_NAME_CHARACTERS) if heard is not None else ""


def problem(error: AgentTuiError) -> str:
    """Return why there is no session, in lines for a person."""
    return "\n".join(filter(None, (localised(inert(error.title)), localised(inert(error.detail or "")))))


def instead_of_levels(state: VoiceState, has_signal: bool, *, is_open: bool) -> tuple[str, str]:
    """Return what replaces the levels of microphone and agent, "" for nothing."""
    overlays, sound = state.overlays, state.sound
    if not is_open:
        return say("voice.off"), say("voice.off")
    theirs = say("voice.no_output") if sound.output_problem else ""
    if "text_only" in overlays:
        return say("voice.text_only"), say("voice.off")
    if "no_audio" in overlays:
        return say("voice.no_input"), theirs
    if "muted" in overlays:
        return say("voice.muted"), theirs
    return "" if has_signal else say("voice.no_signal"), theirs


def latency(times: TurnTimes) -> list[str]:
    """Return the times of the last turn's parts, the total last, which says when it is slow."""
    parts = [
        say(f"voice.time.{name}", seconds=decimal(seconds, 2))
        for name in ("hearing", "end_of_turn", "model", "voice")
        if (seconds := getattr(times, name)) is not None
    ]
    if times.whole is not None:
        whole = "voice.time.slow" if times.whole >= SLOW_SECONDS else "voice.time.whole"
        parts.append(say(whole, seconds=decimal(times.whole, 2)))
    return [*parts[:-1], say("voice.time.seconds", times=parts[-1])] if parts else []


def connection(state: VoiceState) -> str:
    """Return the quality of the connection, as far as it is known."""
    measured = state.measured
    parts = []
    if measured.round_trip is not None:
        parts.append(say("voice.round_trip", milliseconds=round(measured.round_trip * 1000)))
    if measured.quality in ("poor", "lost"):
        parts.append(f"{signs.FAILED} {say(f'voice.quality.{measured.quality}')}")
    return " · ".join(parts)
