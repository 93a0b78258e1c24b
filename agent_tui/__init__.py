"""Everything of agent-tui that needs no screen: clients, state and the embedded backend."""

__version__ = "0.1.0"
