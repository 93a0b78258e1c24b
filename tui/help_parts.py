"""What many help pages say."""

from __future__ import annotations

from typing import Final

SERVER: Final = """
Which server (at any place of the command line)
  --url URL               this one, not the one started for you  (AGENT_TUI_URL)
  --token TOKEN           its token                            (AGENT_TUI_TOKEN)
  --backend NAME          [backends.NAME] of the config file; "embedded" is
                          your own backend
"""
