"""Everything of agent-tui that needs no screen: clients, state and the embedded backend."""

__version__ = "0.1.0"
# Between our programs and their embedded backend; raised when a program cannot use a backend of the number
# before, or the other way round.
BACKEND_PROTOCOL = 1
