"""A debate of up to sixteen agents as the events of a server: the same words at the same moments always."""

from __future__ import annotations

from agent_tui.model import events as ev

ROOM_ID = "r0"
NAMES = (
    ("Mika", "#e0a030"),
    ("Ada", "#5b9df5"),
    ("老王", "#9ece6a"),
    ("Noor", "#bb9af7"),
    ("Вера", "#2ac3de"),
    ("Juno", "#e59ac2"),
    ("Tomás", "#73daca"),
    ("Ines", "#b4b98c"),
    ("Kofi", "#c8a2ff"),
    ("Yuki 🦊", "#ff9e64"),
    ("Лев", "#7aa2f7"),
    ("Sana", "#4fd6be"),
    ("Otto", "#d0a9e5"),
    ("李雷", "#a9b665"),
    ("Rosa", "#89b482"),
    ("the sixteenth of them, with a very long name", "nonsense"),
)
SPEECHES = (
    """\
You both skip the failure case. When the cache is cold **and** a deploy runs:

1. every request misses,
2. the pool is drained,
3. the health check fails,
   - and stays so until somebody looks

> A cache that is needed is a store.

See [the numbers](https://example.org/numbers).""",
    """\
## Short answer

PostgreSQL, until the *numbers* say otherwise.

| store | p95 ms | lost on kill |
|---|--:|---|
| Redis | 0.4 | 1 s of data |
| PostgreSQL | 1.9 | nothing |

```python
def load(sid: str) -> Session:
    '''Return one session.'''
    return Session(store.get(sid))  # one round trip
```
""",
    """\
两位的分歧其实在一个问题上:会话丢了,**谁受罪?**

- 用户要重新登录 —— 烦,但不致命
- 购物车没了 —— 致命

所以先把会话和购物车分开,再谈用哪个存储。""",
    """\
- [x] measure the pool
- [ ] measure a cold cache
- [ ] write it down

Until then `p95` is a ~~fact~~ guess.""",
    "Сессия весит 2 кБ. Даже миллион сессий – это два гигабайта, и это **не** повод для второго хранилища.",
)


def agents(count: int) -> tuple[ev.AgentInfo, ...]:
    """Return the first ``count`` agents, in the order they speak."""
    return tuple(
        ev.AgentInfo(f"a{order}", name, color, "demo", order, provider_id="demo")
        for order, (name, color) in enumerate(NAMES[:count])
    )


def first_round(count: int) -> list[ev.Event]:
    """Return a loaded room whose first, parallel round was said; the last of several agents failed."""
    cast = agents(count)
    info = ev.RoomInfo(
        ROOM_ID,
        name="Sessions",
        task="Should sessions live in Redis or PostgreSQL?",
        status="running",
        execution_mode="parallel",
        current_round=1,
        max_rounds=3,
        agents=cast,
    )
    events: list[ev.Event] = [
        ev.RoomLoaded(info, ()),
        ev.LinkChanged("live"),
        ev.ParallelStarted(1, 3, cast),
    ]
    events += [_starts(agent, 1) for agent in cast]
    for order, agent in enumerate(cast):
        turn, text = f"1-{agent.id}", SPEECHES[order % len(SPEECHES)]
        events.append(ev.TextAdded(turn, text, agent_id=agent.id))
        if order and order == count - 1:
            events.append(ev.TurnFailed("the model's quota is used up", agent.id, agent.name))
        else:
            events.append(ev.TurnEnded(turn, text, len(text) // 4, agent.id))
    return events


def second_round(count: int) -> list[ev.Event]:
    """Return the beginning of the next round: all but the last of several agents speak, mid-sentence."""
    cast = agents(count)
    events: list[ev.Event] = [ev.ParallelStarted(2, 3, cast)]
    for order, agent in enumerate(cast):
        events.append(_starts(agent, 2))
        if order and order == count - 1:
            continue
        text = SPEECHES[(order + 1) % len(SPEECHES)]
        events.append(ev.TextAdded(f"2-{agent.id}", text[: len(text) * 2 // 3], agent_id=agent.id))
    return events


def paused(count: int) -> list[ev.Event]:
    """Return what comes when the second round is paused: everybody who spoke is cut."""
    cast = agents(count)
    cut = cast[:-1] if count > 1 else cast
    events: list[ev.Event] = []
    for order, agent in enumerate(cut):
        text = SPEECHES[(order + 1) % len(SPEECHES)]
        said = text[: len(text) * 2 // 3]
        events.append(ev.TurnEnded(f"2-{agent.id}", said, len(said) // 4, agent.id, "pause"))
    return [*events, ev.RunPaused(ROOM_ID, 2, "pause")]


def _starts(agent: ev.AgentInfo, round_number: int) -> ev.TurnStarted:
    turn = f"{round_number}-{agent.id}"
    return ev.TurnStarted(turn, ROOM_ID, "assistant", agent.name, agent.color, round_number, agent.id)
