"""The patterns of allowed calls, which the command line reads as well (``agent_tui.tool_rules``)."""

from agent_tui.tool_rules import allows as allows
from agent_tui.tool_rules import pattern_for as pattern_for
from agent_tui.tool_rules import speaks_of as speaks_of
