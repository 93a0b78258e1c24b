"""What is configured: the file, keys, rules for tools, room files, agent templates."""
