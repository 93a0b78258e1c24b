"""Tools of MCP servers: transports, offered tools, questions, answers."""
