"""Tools of MCP servers: the ways to a server, what it offers, what it asks, what it answers."""
