"""The moving picture of the README: a room that talks, is paused in the middle of a word, and goes on.

What the server sends is played, and time is that of the tests: the same words at the same moments always.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from agent_tui.model import events as ev
from pictures.film import Film, Moment
from tests.settling import SettlingLoop, settle, skip_time
from tests.tui.whole_app import Seen, opened_app
from tui.live import following
from tui.room import panes

COLUMNS, ROWS = 108, 25
FRAME_SECONDS: Final = 0.1
LOOK_SECONDS: Final = 0.6  # of virtual time: the headers look at the speed twice a second
KEY_SECONDS: Final = 0.5  # that a key stays to be seen
PAUSED_SECONDS: Final = 2.6
END_SECONDS: Final = 3.0
FRAMES_BEFORE: Final = 17  # of the pause
CHARACTERS: Final = 12  # of each agent in a frame, a few more or less
TASK: Final = "Should sessions live in Redis or PostgreSQL?"
AGENTS: Final = tuple(
    ev.AgentInfo(name.lower(), name, color, "demo", order, provider_id="demo")
    for order, (name, color) in enumerate((("Mika", "#e0a030"), ("Ada", "#5b9df5"), ("Noor", "#9ece6a")))
)
SPEECHES: Final = (
    """\
You both skip the failure case. When the cache is cold **and** a deploy runs:

1. every request misses,
2. the pool is drained,
3. the health check fails,
4. the deploy is rolled back.

> A cache that is needed is a store.

So who restores it at three in the morning? If nobody wants to, that is our answer.""",
    """\
PostgreSQL, until the *numbers* say otherwise.

| store | p95 | lost on kill |
|---|--:|---|
| Redis | 0.4 | 1 s of data |
| PostgreSQL | 1.9 | nothing |

```python
def load(sid: str) -> Session:
    row = one(QUERY, sid)
    return Session(row)
```

Two queries a request are not worth a second system.""",
    """\
Let me write down what we agree on:

- [x] a sign-out survives `kill -9`
- [x] the token is stored as a hash
- [ ] p95 with a **cold** cache

The expiry moves at most once a minute, so the writes shrink to a trickle.

**Decision:** one plain table, behind four functions. Redis gets another hearing when the numbers ask.""",
)


async def moments(folder: Path, patch: pytest.MonkeyPatch) -> list[Moment]:
    """Play the room; return what was to be seen."""
    async with opened_app(folder, size=(COLUMNS, ROWS), theme="dark") as seen:
        played = _Played(seen)
        for module in (following, panes):
            patch.setattr(module, "time", SimpleNamespace(monotonic=lambda: played.now))
        await played.begun()
        await played.spoken(FRAMES_BEFORE)
        await played.paused()
        await played.resumed()
        await played.spoken()
        await played.over()
    return played.moments


class _Played:
    """The room as far as it is played: ``at`` are the characters that each agent has said."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self.moments: list[Moment] = []
        self._at = [0] * len(AGENTS)
        self._cut = [0] * len(AGENTS)
        self._part = 1
        self.now = 0.0  # as far as speeds are concerned

    async def begun(self) -> None:
        """Open the room and let everybody begin."""
        room = ev.RoomInfo(
            "r0", task=TASK, status="running", execution_mode="parallel", max_rounds=3, agents=AGENTS
        )
        await self._seen.send(
            ev.RoomLoaded(room, ()), ev.LinkChanged("live"), ev.ParallelStarted(1, 3, AGENTS)
        )
        await self._seen.send(*(self._starts(n) for n in range(len(AGENTS))))

    async def spoken(self, frames: int = 1000) -> None:
        """Let all go on for so many frames, or until nobody has anything left to say."""
        for frame in range(frames):
            said = [self._says(n, CHARACTERS + (frame * 5 + n * 3) % 7 - 3) for n in range(len(AGENTS))]
            if not any(said):
                return
            await self._sent(*(event for event in said if event))

    async def paused(self) -> None:
        """Press the key, and let the server confirm it."""
        await self._pressed("p")
        cut = [
            ev.TurnEnded(self._turn(n), SPEECHES[n][: self._at[n]], self._at[n] // 4, AGENTS[n].id, "pause")
            for n in range(len(AGENTS))
        ]
        await self._sent(*cut, ev.RunPaused("r0", 1, "pause"), seconds=PAUSED_SECONDS)

    async def resumed(self) -> None:
        """Press it again: everybody goes on where they were cut."""
        await self._pressed("p")
        before = [self._turn(n) for n in range(len(AGENTS))]
        self._part, self._cut = 2, list(self._at)
        starts = [self._starts(n, before[n]) for n in range(len(AGENTS))]
        await self._sent(ev.RunStarted("r0", TASK, resumed=True), ev.ParallelStarted(1, 3, AGENTS), *starts)

    async def over(self) -> None:
        """Show the end for a while."""
        await self._sent(seconds=END_SECONDS)

    def _turn(self, agent: int) -> str:
        return f"{self._part}-{AGENTS[agent].id}"

    def _starts(self, agent: int, continues: str = "") -> ev.TurnStarted:
        one = AGENTS[agent]
        return ev.TurnStarted(
            self._turn(agent), "r0", "assistant", one.name, one.color, 1, one.id, continues=continues
        )

    def _says(self, agent: int, characters: int) -> ev.Event | None:
        """Return the next words of an agent, then its end, then nothing."""
        speech, at = SPEECHES[agent], self._at[agent]
        if at > len(speech):
            return None
        self._at[agent] = at + characters
        if at == len(speech):
            text = speech[self._cut[agent] :]
            return ev.TurnEnded(self._turn(agent), text, len(text) // 4, AGENTS[agent].id)
        self._at[agent] = min(len(speech), at + characters)
        return ev.TextAdded(self._turn(agent), speech[at : at + characters], agent_id=AGENTS[agent].id)

    async def _pressed(self, key: str) -> None:
        await self._seen.pilot.press(key)
        await self._taken(KEY_SECONDS, key)

    async def _sent(self, *events: ev.Event, seconds: float = FRAME_SECONDS) -> None:
        self.now += FRAME_SECONDS
        await self._seen.send(*events)
        await self._taken(seconds)

    async def _taken(self, seconds: float, key: str = "") -> None:
        await settle(LOOK_SECONDS)
        self.moments.append(Moment(self._seen.app.export_screenshot(), seconds, key))


def film() -> str:
    """Return the moving picture as an SVG file."""
    os.environ |= {"LANG": "C.UTF-8", "TZ": "UTC"}
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        skip_time(patch)
        with asyncio.Runner(loop_factory=SettlingLoop) as runner:
            seen = runner.run(moments(Path(folder), patch))
    paused = next(n for n, moment in enumerate(seen) if moment.seconds == PAUSED_SECONDS)
    return Film(COLUMNS, ROWS).svg(seen, "agent-tui rooms", paused)
