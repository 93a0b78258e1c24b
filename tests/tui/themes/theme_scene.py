"""Everything that a theme colours, on one screen: for its pictures and for the test of its contrasts."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.theme import Theme
from textual.widgets import Input, OptionList, Static

from tests.widgets.apps import Hand
from widgets.status_line import Part, StatusLine
from widgets.transcript.agent_pane import AgentPane

AGENTS = ("#e0a030", "#5b9df5", "", "#2c8f4a", "#b04ad0", "#00ff00", "#101010", "#f0f0f0")
NAMES = ("Mika", "Ada", "老王", "Noor", "Ivo", "Lin", "Tea", "Bo")
WORDS = """# Sessions in PostgreSQL

Short answer: **PostgreSQL**, until *the numbers* say ~~otherwise~~ so. See [the notes](https://example.org/a)
and `SELECT 1` in the `psql` shell.

> You both skip the failure case.
>
> > When the cache is cold **and** a deploy runs.

1. every request misses,
2. the pool is drained,
   - and the health check fails
- [x] measured
- [ ] restarted

| store | p95 | lost |
|:------|----:|------|
| Redis | 0.4 | 1 s |
| PostgreSQL | 1.9 | nothing |

```python
@cache
def load(sid: str, ttl: float = 3.5) -> Session | None:
    # the row may be gone by now
    row = fetch("SELECT data FROM session WHERE sid = ?", sid)
    return None if row is None else Session(len(row), 42)
```

---

```diff
- ttl = 60
+ ttl = 3600
```
"""


class Dialog(ModalScreen[None]):
    """A dialog like those of the program."""

    CSS_PATH = "../../../tui/screens/dialog.tcss"

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog"):
            yield Static("Agents are still running.", classes="title")
            yield Static("p  pause the room and quit")
            yield Static("esc  stay", classes="hint")


class Scene(App[None]):
    """Panes, lines, a list and an input, as the program shows them, with nothing behind them."""

    CSS_PATH = ["../../../tui/app.tcss", "../../../tui/lists/list.tcss"]  # noqa: RUF012 - as Textual wants it
    CSS = """
    Screen { background: $background; color: $foreground; }
    OptionList { height: 6; border: none; background: $background; }
    """
    ENABLE_COMMAND_PALETTE = False

    def __init__(self, theme: Theme, *, agents: int = 3, has_color: bool = True) -> None:
        super().__init__(ansi_color=None if has_color else True)
        self.register_theme(theme)
        self.theme = theme.name
        self.hand = Hand()
        clock = self.hand.clock()
        self.panes = [AgentPane(clock=clock) for _ in range(agents)]
        for pane in self.panes[:-1]:
            pane.canvas.has_divider = True
        self.top, self.bottom = StatusLine(), StatusLine(is_dim=True)

    def compose(self) -> ComposeResult:
        yield self.top
        with Horizontal():
            yield from self.panes
        yield OptionList("Redis or PostgreSQL?", "Name the new service", "Migration plan")
        yield Input("the words", placeholder="Say something to the room…")
        yield self.bottom

    def on_mount(self) -> None:
        """Let everybody speak, in every way there is."""
        self.top.show(["Should sessions live in Redis?"], ["round 2 of 3"], ["● live"])
        self.bottom.show([Part("pause", key="p"), Part("help", key="?")], ["1,284 tokens"], ["✗ refused: no"])
        states = ("● 41 tok/s", "✗ failed", "✓ said")
        for place, pane in enumerate(self.panes):
            agent = place % len(NAMES)
            pane.header(NAMES[agent], "some-model", states[place % len(states)], AGENTS[agent])
            pane.turn_opened("1", "round 1")
            pane.text_added("1", WORDS)
            pane.turn_closed("1", "✗ quota exceeded" if place else "┄ cut at the pause")
        self.panes[0].focus()
        self.hand.turn_until_clean()
