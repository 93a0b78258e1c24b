"""What the agent speaks with: text as it can be said, clause by clause, by an offline voice."""
