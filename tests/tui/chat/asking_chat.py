"""A call of a chat that asks."""

from __future__ import annotations

from agent_tui.model import events as ev
from tests.state.chat_events import call, started, status
from tests.tui.chat.one_chat import Chat

ASK = ev.ToolAsk(
    "make -n test", "in the workspace\n60 s at most", pattern="run_command(make -n test)", folder="/code/x"
)
DIFF = ev.ToolAsk(
    "write Makefile", "--- a\n+++ b\n@@ -1 +1 @@\n-old line\n+new line", "diff", "write_file(Makefile)"
)


async def asking(chat: Chat, ask: ev.ToolAsk = ASK) -> str:
    """Let a call ask; what it would do is then in sight for a moment."""
    text = await chat.send(started("a1", "q1"), call(), status("asks", ask=ask))
    chat.time += 1.0
    return text
