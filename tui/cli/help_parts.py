"""What many help pages say."""

from __future__ import annotations

from typing import Final

SERVER: Final = """
Which server (at any place of the command line)
  --url URL               this one, not the one started for you  (AGENT_TUI_URL)
  --token-file FILE       a file with its token                (AGENT_TUI_TOKEN)
  --token TOKEN           its token; others can read it in the list of processes
  --backend NAME          [backends.NAME] of the config file; "embedded" is
                          your own backend
"""
