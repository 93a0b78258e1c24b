"""Everything of agent-tui that needs no screen: clients, state and the embedded backend."""

__version__ = "0.1.0"
# The protocol between our programs and their embedded backend; raised when one cannot use the other with the
# number before.
BACKEND_PROTOCOL = 1
# The newest migration of its database (backend/store/migrations); compared as text, so it keeps its zeros.
DATABASE_VERSION = "0020"
